"""The life of memories through the public API, on a real file."""

import threading
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import recollect
from recollect.model.draft import IDEMPOTENCY_KEY_LIFETIME, Changed, Created, Reinforced, Unchanged, Updated
from recollect.model.validation import MAX_TEXT_BYTES
from recollect.ranking.why import Barred, Gated, Ranked, Unpacked
from recollect.retrieval.eligibility import Barrier
from recollect.testing.builders import ManualClock

ANA = "acme/ana"
SEAT = "Ana prefers window seats"
QUESTION = "which seat should I book for Ana?"


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(datetime(2026, 1, 15, 12, tzinfo=UTC))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "agent.db"


@pytest.fixture
def memory(path: Path, clock: ManualClock) -> Iterator[recollect.Engine]:
    with recollect.open(path, embedder="hashing", clock=clock) as engine:
        yield engine


def found(ranking: recollect.Ranking) -> list[str]:
    return [scored.memory.text for scored in ranking]


def test_what_was_remembered_comes_back_with_its_reason(memory: recollect.Engine) -> None:
    receipt = memory.remember(SEAT, scope=ANA, kind="preference", importance=0.7)
    memory.remember("The cafeteria opens at nine", scope=ANA)
    context = memory.recall(QUESTION, scope=ANA, tokens=800)
    assert context.packed[0].memory == receipt.memory
    assert SEAT in context.text
    assert float(context.packed[0].score) == context.packed[0].explanation.score
    assert context.ranking.exact


def test_a_store_keeps_everything_for_the_next_one_who_opens_it(path: Path, clock: ManualClock) -> None:
    everything: dict[str, Any] = {
        "kind": "preference",
        "title": "Seats",
        "topic_key": "seat",
        "tags": ("travel", "äöü 漢字"),
        "importance": 0.7,
        "confidence": 0.9,
        "pinned": True,
        "shared": True,
        "session": "s-1",
        "speaker": "ana",
        "at": clock() - timedelta(days=3),
        "valid_from": clock() - timedelta(days=4),
        "valid_until": clock() + timedelta(days=4),
        "provenance": "direct_user",
        "source": "chat-7",
        "derived_from": ("m-0",),
        "evidence": ("window, please",),
        "metadata": {"deep": {"er": [1, None, "ü"]}},
    }
    with recollect.open(path, embedder="hashing", clock=clock) as memory:
        receipt = memory.remember(SEAT, scope=ANA, **everything)
    with recollect.open(path, clock=clock) as memory:
        assert memory.admin.embedder == "hashing-256"
        kept = memory.get(receipt.id, scope=ANA)
        assert kept == receipt.memory
        for name in everything:
            if name != "at":
                assert getattr(kept, name) == everything[name], name
        assert (kept.created_at, kept.observed_at, kept.updated_at) == (everything["at"],) * 3
        assert (kept.recorded_at, kept.revisions, kept.status) == (clock(), 1, recollect.Status.ACTIVE)
        assert found(memory.search(QUESTION, scope=ANA)) == [SEAT]


def test_the_same_words_are_reinforced_and_others_are_created(memory: recollect.Engine) -> None:
    first = memory.remember(SEAT, scope=ANA)
    again = memory.remember("  Ana prefers\nwindow seats ", scope=ANA)
    other = memory.remember(SEAT, scope="acme/ben")
    assert (first.verdict, again.verdict, other.verdict) == (Created(), Reinforced(first.id), Created())
    assert (again.id, memory.contexts.usage(first.id, scope=ANA).echoed) == (first.id, 1)
    assert len(memory.memories(scope=ANA)) == 1


def test_a_topic_has_one_memory_whose_text_changes_and_whose_importance_never_falls(memory: recollect.Engine) -> None:
    first = memory.remember(SEAT, scope=ANA, topic_key="seat", importance=0.8)
    second = memory.remember("Ana prefers aisle seats", scope=ANA, topic_key="seat", importance=0.2)
    assert second.verdict == Updated(2)
    assert (second.id, second.memory.importance, second.memory.revisions) == (first.id, 0.8, 2)
    assert [one.text for one in memory.history(first.id, scope=ANA)] == [SEAT, "Ana prefers aisle seats"]
    assert found(memory.search("seats", scope=ANA)) == ["Ana prefers aisle seats"]
    assert memory.remember("Ana prefers aisle seats", scope=ANA, topic_key="seat").verdict == Reinforced(first.id)


def test_a_key_makes_a_retry_harmless_for_thirty_days(memory: recollect.Engine, clock: ManualClock) -> None:
    first = memory.remember(SEAT, scope=ANA, key="k-1")
    memory.forget(first.id, scope=ANA)
    again = memory.remember(SEAT, scope=ANA, key="k-1")
    assert (again.id, again.verdict) == (first.id, Created())
    with pytest.raises(recollect.Conflict, match="retry key 'k-1' was used for a different call"):
        memory.remember("other", scope=ANA, key="k-1")
    assert memory.remember(SEAT, scope="acme/ben", key="k-1").id != first.id
    clock.now += IDEMPOTENCY_KEY_LIFETIME + timedelta(seconds=1)
    assert memory.remember("other", scope=ANA, key="k-1").verdict == Created()


def test_all_drafts_are_remembered_or_none(memory: recollect.Engine) -> None:
    receipts = memory.remember_all(
        [{"text": "one"}, recollect.Draft(text="two", scope=recollect.Scope.parse("acme/ben"))], scope=ANA
    )
    assert [one.memory.scope for one in receipts] == [recollect.Scope.parse(ANA), recollect.Scope.parse("acme/ben")]
    memory.remember("taken", scope=ANA, key="k")
    with pytest.raises(recollect.Conflict):
        memory.remember_all([{"text": "three"}, {"text": "four", "key": "k"}], scope=ANA)
    assert {one.text for one in memory.memories(scope=ANA)} == {"one", "taken"}
    assert memory.remember_all([]) == []


@pytest.mark.parametrize(
    ("given", "error", "problem"),
    [
        ({"text": " "}, recollect.errors.FieldError, "field 'text': is blank"),
        ({"text": "x" * (MAX_TEXT_BYTES + 1)}, recollect.errors.FieldError, "at most 1048576 bytes"),
        ({"text": "a\0"}, recollect.errors.FieldError, "NUL"),
        ({"scope": ""}, recollect.errors.ScopeError, "the scope is empty"),
        ({"kind": "factt"}, recollect.errors.FieldError, "did you mean 'fact'"),
        (
            {"at": datetime(2026, 1, 15, 12, 0, 1, tzinfo=UTC)},
            recollect.errors.FieldError,
            "field 'at': .* in the future",
        ),
        ({"at": datetime(2026, 1, 1)}, recollect.errors.FieldError, "no time zone"),
        ({"importance": 2}, recollect.errors.FieldError, "field 'importance'"),
        ({"vector": [0.0] * 256}, recollect.errors.FieldError, "no direction"),
        ({"vector": [1.0] * 255}, recollect.errors.FieldError, "has 255 dimensions; expected a vector of hashing-256"),
        ({"vector": [float("inf")] * 256}, recollect.errors.FieldError, "not a finite number"),
        ({"metadata": {"a": float("nan")}}, recollect.errors.FieldError, "field 'metadata'"),
    ],
)
def test_what_cannot_be_is_refused_and_nothing_is_kept(
    memory: recollect.Engine, given: dict[str, Any], error: type[Exception], problem: str
) -> None:
    with pytest.raises(error, match=problem):
        memory.remember(**{"text": SEAT, "scope": ANA, **given})
    assert memory.memories(scope="acme", below=True) == []


def test_a_scope_sees_its_own_and_what_its_ancestors_share_and_nothing_else(memory: recollect.Engine) -> None:
    memory.remember("seat of ana", scope="acme/ana")
    memory.remember("seat the team shares", scope="acme", shared=True)
    memory.remember("seat the team keeps", scope="acme")
    memory.remember("seat of ben", scope="acme/ben", shared=True)
    memory.remember("seat of the labs", scope="acme-labs", shared=True)
    memory.remember("seat of a part of ana", scope="acme/ana/part", shared=True)
    assert set(found(memory.search("seat", scope="acme/ana"))) == {"seat of ana", "seat the team shares"}
    assert set(found(memory.search("seat", scope="acme"))) == {"seat the team shares", "seat the team keeps"}
    assert {one.text for one in memory.memories(scope="acme", below=True)} == {
        "seat of ana",
        "seat the team shares",
        "seat the team keeps",
        "seat of ben",
        "seat of a part of ana",
    }


def test_an_id_of_another_scope_is_answered_like_one_that_does_not_exist(memory: recollect.Engine) -> None:
    secret = memory.remember("the secret of ben", scope="acme/ben").id
    for ask in (
        lambda id: memory.get(id, scope=ANA),
        lambda id: memory.history(id, scope=ANA),
        lambda id: memory.contexts.usage(id, scope=ANA),
        lambda id: memory.why(id, "secret", scope=ANA),
        lambda id: memory.forget(id, scope=ANA),
        lambda id: memory.restore(id, scope=ANA),
        lambda id: memory.pin(id, scope=ANA),
        lambda id: memory.revise(id, "mine now", scope=ANA),
    ):
        answers = []
        for id in (secret, "0" * 36):
            with pytest.raises(recollect.NotFound) as caught:
                ask(id)
            answers.append(str(caught.value).replace(id, "ID"))
        assert answers[0] == answers[1]


def test_a_shared_memory_is_seen_below_but_changed_only_where_it_is(memory: recollect.Engine) -> None:
    shared = memory.remember("the team meets on Mondays", scope="acme", shared=True).id
    assert memory.get(shared, scope=ANA).text == "the team meets on Mondays"
    with pytest.raises(recollect.NotFound):
        memory.forget(shared, scope=ANA)
    assert memory.forget(shared, scope="acme").verdict == Changed("forgotten")
    assert found(memory.search("meets", scope=ANA)) == []


def test_forgetting_pinning_and_revising_are_versions_and_can_be_undone(
    memory: recollect.Engine, clock: ManualClock
) -> None:
    id = memory.remember(SEAT, scope=ANA).id
    clock.move(timedelta(hours=1))
    assert memory.pin(id, scope=ANA).verdict == Changed("pinned")
    assert memory.pin(id, scope=ANA).verdict == Unchanged()
    assert memory.unpin(id, scope=ANA).verdict == Changed("unpinned")
    assert memory.forget(id, scope=ANA).verdict == Changed("forgotten")
    assert memory.forget(id, scope=ANA).verdict == Unchanged()
    assert found(memory.search(QUESTION, scope=ANA)) == []
    assert memory.restore(id, scope=ANA).verdict == Changed("active")
    assert found(memory.search(QUESTION, scope=ANA)) == [SEAT]
    revised = memory.revise(id, "Ana prefers aisle seats", scope=ANA, importance=0.4, tags=("travel",))
    assert revised.verdict == Updated(2)
    assert memory.revise(id, "Ana  prefers aisle seats", scope=ANA).verdict == Unchanged()
    history = memory.history(id, scope=ANA)
    assert [(one.text, one.pinned, one.status.value, one.revisions) for one in history] == [
        (SEAT, False, "active", 1),
        (SEAT, True, "active", 1),
        (SEAT, False, "active", 1),
        (SEAT, False, "forgotten", 1),
        (SEAT, False, "active", 1),
        ("Ana prefers aisle seats", False, "active", 2),
    ]
    assert history[0].updated_at == history[4].updated_at == clock() - timedelta(hours=1)
    assert history[5].updated_at == clock()
    assert (history[5].tags, history[5].importance) == (("travel",), 0.4)
    with pytest.raises(TypeError, match="no argument 'knid'"):
        memory.revise(id, "x", scope=ANA, knid="fact")


def test_two_active_memories_never_say_the_same(memory: recollect.Engine) -> None:
    first = memory.remember(SEAT, scope=ANA).id
    second = memory.remember("Ana likes to sit at the aisle", scope=ANA).id
    with pytest.raises(recollect.Conflict, match="already has the same text"):
        memory.revise(second, SEAT, scope=ANA)
    memory.forget(first, scope=ANA)
    memory.revise(second, SEAT, scope=ANA)
    with pytest.raises(recollect.Conflict, match="already has the same text"):
        memory.restore(first, scope=ANA)


def test_as_of_asks_what_was_so_and_known_at_what_was_known(memory: recollect.Engine, clock: ManualClock) -> None:
    start = clock()
    memory.remember("Ana flies from Porto", scope=ANA, valid_until=start + timedelta(days=10))
    clock.move(timedelta(days=20))
    id = memory.remember("Ana flies from Lisbon", scope=ANA, valid_from=start + timedelta(days=10)).id
    told = clock.now
    clock.move(timedelta(days=1))
    memory.revise(id, "Ana flies from Faro", scope=ANA)
    assert found(memory.search("flies", scope=ANA)) == ["Ana flies from Faro"]
    assert found(memory.search("flies", scope=ANA, as_of=start)) == ["Ana flies from Porto"]
    assert found(memory.search("flies", scope=ANA, known_at=told)) == ["Ana flies from Lisbon"]
    assert found(memory.search("flies", scope=ANA, known_at=start)) == ["Ana flies from Porto"]
    assert found(memory.search("flies", scope=ANA, known_at=start - timedelta(days=1))) == []
    late: list[dict[str, Any]] = [{"as_of": clock() + timedelta(1)}, {"known_at": clock() + timedelta(1)}]
    for wrong in late:
        with pytest.raises(recollect.errors.FieldError, match="in the future"):
            memory.search("flies", scope=ANA, **wrong)
    with pytest.raises(recollect.errors.FieldError, match="field 'as_of'"):
        memory.search("flies", scope=ANA, as_of=clock(), known_at=told)


def test_as_of_before_a_revision_the_memory_says_what_it_said_then(
    memory: recollect.Engine, clock: ManualClock
) -> None:
    then = clock()
    id = memory.remember(SEAT, scope=ANA, topic_key="seat", kind="preference").id
    memory.remember("the team meets on Mondays", scope="acme")
    clock.move(timedelta(days=3))
    revised = memory.remember("Ana prefers aisle seats", scope=ANA, topic_key="seat").memory
    assert (revised.kind, revised.updated_at) == (recollect.Kind.PREFERENCE, clock())
    (scored,) = memory.search("seats", scope=ANA, as_of=then)
    assert (scored.memory.text, scored.memory.id) == (SEAT, id)
    assert memory.why(id, "seats", scope=ANA, as_of=then).fate == Ranked(1)
    assert f'date="{then.date()}"' in memory.recall("seats", scope=ANA, as_of=then).text
    assert f'date="{clock().date()}"' in memory.recall("seats", scope=ANA).text
    clock.move(timedelta(days=1))
    memory.forget(id, scope=ANA)
    assert memory.search("seats", scope=ANA, as_of=then).scored == ()


def test_a_ranking_of_then_comes_back_bit_for_bit(memory: recollect.Engine, clock: ManualClock) -> None:
    ids = [memory.remember(f"seat number {n}", scope=ANA, importance=n / 10).id for n in range(8)]
    context = memory.recall("seat number 3", scope=ANA)
    memory.feedback(context.id or "", scope=ANA, helped=ids[:2], misled=ids[2:3])
    then = clock()
    before = memory.search("seat number 3", scope=ANA)
    clock.move(timedelta(days=5))
    memory.revise(ids[3], "a seat no more", scope=ANA)
    memory.forget(ids[4], scope=ANA)
    memory.remember("seat number 9", scope=ANA)
    context = memory.recall("seat number 3", scope=ANA)
    memory.feedback(context.id or "", scope=ANA, misled=ids[:2], by="someone")
    after = memory.search("seat number 3", scope=ANA, as_of=then, known_at=then)
    assert [(one.id, float(one.score), one.explanation) for one in after] == [
        (one.id, float(one.score), one.explanation) for one in before
    ]
    assert found(memory.search("seat number 3", scope=ANA)) != found(before)


def test_only_what_was_packed_counts_as_served(memory: recollect.Engine, clock: ManualClock) -> None:
    short = memory.remember("Ana likes tea", scope=ANA).id
    long = memory.remember("Ana likes coffee " + "and cake " * 200, scope=ANA).id
    memory.search("what does Ana like?", scope=ANA)
    memory.why(short, "what does Ana like?", scope=ANA)
    context = memory.recall("what does Ana like?", scope=ANA, tokens=200)
    assert ([one.id for one in context.packed], [one.scored.id for one in context.omitted]) == ([short], [long])
    memory.recall("what does Ana like?", scope=ANA, tokens=200, known_at=clock())
    brief = memory.brief(scope=ANA, tokens=200)
    assert [one.id for one in brief.packed] == [short]
    usage = memory.contexts.usage(short, scope=ANA)
    assert (usage.served, usage.last_served_at) == (2, clock())
    assert memory.contexts.usage(long, scope=ANA).served == 0


def test_feedback_moves_usefulness_and_only_for_what_was_handed_over(memory: recollect.Engine) -> None:
    id = memory.remember(SEAT, scope=ANA).id
    other = memory.remember("xyzzy", scope=ANA).id
    context = memory.recall(QUESTION, scope=ANA)
    assert context.id
    memory.feedback(context.id, scope=ANA, helped=[id])
    memory.feedback(context.id, scope=ANA, helped=[id])
    memory.feedback(context.id, scope=ANA, misled=[id], by="ben")
    usage = memory.contexts.usage(id, scope=ANA)
    assert (usage.helped, usage.misled, usage.usefulness) == (1, 1, 2 / 4)
    memory.feedback(context.id, scope=ANA, misled=[id])
    assert memory.contexts.usage(id, scope=ANA).usefulness == 1 / 4
    (part,) = [part for part in memory.search(QUESTION, scope=ANA)[0].explanation.parts if part.signal == "usefulness"]
    assert (part.value, part.assumed) == (1 / 4, False)
    for problem, name, scope, handed in (
        ("there is no context", "nope", ANA, id),
        ("in acme/ben", context.id, "acme/ben", id),
        ("is not in the context", context.id, ANA, other),
    ):
        with pytest.raises(recollect.NotFound, match=problem):
            memory.feedback(name, scope=scope, helped=[handed])
    with pytest.raises(recollect.InvalidInput, match="have both helped and misled"):
        memory.feedback(context.id, scope=ANA, helped=[id], misled=[id])
    with pytest.raises(recollect.errors.FieldError, match=r"field 'helped': .* is not a list"):
        memory.feedback(context.id, scope=ANA, helped=id)


def test_what_helped_comes_before_what_is_as_good_otherwise(memory: recollect.Engine) -> None:
    ids = [memory.remember(text, scope=ANA).id for text in (SEAT, "window seats prefers Ana")]
    first, second = [one.id for one in memory.search(QUESTION, scope=ANA) if one.id in ids]
    context = memory.recall(QUESTION, scope=ANA)
    memory.feedback(context.id or "", scope=ANA, helped=[second], misled=[first])
    assert [one.id for one in memory.search(QUESTION, scope=ANA) if one.id in ids] == [second, first]


def test_many_votes_in_one_context_are_one_and_in_many_contexts_five(memory: recollect.Engine) -> None:
    id = memory.remember(SEAT, scope=ANA).id
    context = memory.recall(QUESTION, scope=ANA)
    for _ in range(100):
        memory.feedback(context.id or "", scope=ANA, helped=[id])
    assert memory.contexts.usage(id, scope=ANA).helped == 1
    for _ in range(8):
        another = memory.recall(QUESTION, scope=ANA)
        memory.feedback(another.id or "", scope=ANA, helped=[id])
    assert memory.contexts.usage(id, scope=ANA).helped == 5


def test_a_pinned_memory_is_in_every_context_that_has_room_for_it(memory: recollect.Engine) -> None:
    pinned = memory.remember("qqqq zzzz", scope=ANA, pinned=True).id
    memory.remember(SEAT, scope=ANA)
    assert pinned not in [one.id for one in memory.search(QUESTION, scope=ANA)]
    context = memory.recall(QUESTION, scope=ANA)
    assert pinned in [one.id for one in context.packed]
    assert isinstance(memory.why(pinned, QUESTION, scope=ANA).fate, Ranked)
    memory.unpin(pinned, scope=ANA)
    assert isinstance(memory.why(pinned, QUESTION, scope=ANA).fate, Gated)
    assert pinned not in [one.id for one in memory.recall(QUESTION, scope=ANA).packed]


def test_why_says_at_which_step_a_memory_fell(memory: recollect.Engine, clock: ManualClock) -> None:
    id = memory.remember(SEAT, scope=ANA).id
    assert memory.why(id, QUESTION, scope=ANA).fate == Ranked(1)
    assert isinstance(memory.why(id, QUESTION, scope=ANA, tokens=20).fate, Unpacked)
    early = clock() - timedelta(days=1)
    assert memory.why(id, QUESTION, scope=ANA, as_of=early).fate == Barred(
        Barrier.NOT_YET_KNOWN, recollect.Status.ACTIVE
    )
    narrow = memory.why(id, QUESTION, scope=ANA, kinds=["fact"]).fate
    assert narrow == Barred(Barrier.KIND, recollect.Status.ACTIVE)
    assert memory.why(id, QUESTION, scope=ANA, kinds=["fact", "observation"]).fate == Ranked(1)
    memory.forget(id, scope=ANA)
    assert memory.why(id, QUESTION, scope=ANA).fate == Barred(Barrier.STATUS, recollect.Status.FORGOTTEN)


def test_a_question_may_be_the_last_turns_of_a_conversation(memory: recollect.Engine) -> None:
    memory.remember(SEAT, scope=ANA)
    turns: list[Any] = ["hello", {"role": "user", "content": "a window"}, {"text": "seat?"}]
    assert found(memory.search(turns, scope=ANA)) == [SEAT]
    last = ["the aisle", "or", "in front"]
    whole, cut = (memory.search(query, scope=ANA) for query in ([*["window seat"] * 9, *last], last))
    assert [float(one.score) for one in whole] == [float(one.score) for one in cut]


@pytest.mark.parametrize("query", ["", "  \n", [], [""], [{"content": " "}]])
def test_an_empty_question_is_refused_with_the_remedy(memory: recollect.Engine, query: Any) -> None:
    with pytest.raises(recollect.errors.FieldError, match="field 'query': is empty; ask something, or use `brief`"):
        memory.search(query, scope=ANA)


@pytest.mark.parametrize("query", [7, None, {"content": "x"}, [7], [{"role": "user"}], b"seat"])
def test_what_is_no_question_is_refused(memory: recollect.Engine, query: Any) -> None:
    with pytest.raises(recollect.errors.FieldError, match="field 'query'"):
        memory.recall(query, scope=ANA)


@pytest.mark.parametrize(
    "query",
    ['"', "seat*", "NEAR(seat window)", "-seat", "seat AND", "seat OR window NOT", "^seat", "text:seat", "((", "'; --"],
)
def test_full_text_syntax_is_only_words(memory: recollect.Engine, query: str) -> None:
    memory.remember(SEAT, scope=ANA)
    ranking = memory.search(query, scope=ANA, profile="search")
    words = {"seat", "window"} & set(query.replace("(", " ").replace("*", " ").replace("-", " ").lower().split())
    assert (ranking[0].explanation.parts[0].value > 0.0) == bool(words or "seat" in query)


@pytest.mark.parametrize("text", ["漢字の席", "مقعد النافذة", "🪑🪟", "𝓼𝓮𝓪𝓽", "\U000f0000", "ﷺ", "a\u0301" * 50])
def test_every_plane_of_unicode_comes_back_as_it_went_in(memory: recollect.Engine, text: str) -> None:
    receipt = memory.remember(text, scope=ANA)
    assert memory.get(receipt.id, scope=ANA).text == text
    assert found(memory.search(text, scope=ANA, profile="three-signal", limit=1)) == [text]


def test_a_text_of_a_mebibyte_is_remembered_and_found(memory: recollect.Engine) -> None:
    text = ("seat " * 250_000)[:MAX_TEXT_BYTES]
    memory.remember(text, scope=ANA)
    assert found(memory.search("seat", scope=ANA)) == [text]


def test_kinds_narrow_the_answer_but_not_the_statistics_of_words(memory: recollect.Engine) -> None:
    memory.remember("the seat is taken", scope=ANA, kind="fact")
    memory.remember("a seat by the window", scope=ANA, kind="preference")
    whole = {one.id: one for one in memory.search("window seat", scope=ANA, profile="search")}
    narrow = memory.search("window seat", scope=ANA, profile="search", kinds=["fact"])
    assert found(narrow) == ["the seat is taken"]
    assert float(narrow[0].score) == float(whole[narrow[0].id].score)
    with pytest.raises(recollect.errors.FieldError, match="field 'kinds'"):
        memory.search("seat", scope=ANA, kinds=["facts"])


def test_ten_thousand_memories_of_another_scope_change_no_score(memory: recollect.Engine) -> None:
    for number in range(20):
        memory.remember(f"seat {number} by the window", scope=ANA)
    before = [(one.id, float(one.score)) for one in memory.search("window seat 7", scope=ANA)]
    vector = [1.0] * 256
    memory.remember_all([{"text": f"window seat 7 {n}", "vector": vector} for n in range(10_000)], scope="acme/ben")
    assert [(one.id, float(one.score)) for one in memory.search("window seat 7", scope=ANA)] == before


def test_a_store_sees_what_another_one_wrote_at_the_next_recall(path: Path, clock: ManualClock) -> None:
    with (
        recollect.open(path, embedder="hashing", clock=clock) as one,
        recollect.open(path, embedder="hashing", clock=clock) as other,
    ):
        id = one.remember(SEAT, scope=ANA).id
        assert found(other.search(QUESTION, scope=ANA)) == [SEAT]
        other.revise(id, "Ana prefers aisle seats", scope=ANA)
        assert found(one.search(QUESTION, scope=ANA)) == ["Ana prefers aisle seats"]
        one.forget(id, scope=ANA)
        assert found(other.search(QUESTION, scope=ANA)) == []


def test_another_model_than_the_stores_is_refused_with_the_remedy(path: Path) -> None:
    with recollect.open(path, embedder="hashing") as memory:
        memory.remember(SEAT, scope=ANA)
    with pytest.raises(recollect.errors.EmbedderMismatch, match=r"from hashing-256 \(256 dimensions\).*re-embed"):
        recollect.open(path, embedder="wordllama")


class Broken:
    """An embedder that gives whatever it is told to."""

    name = "broken"
    dimensions = 2

    def __init__(self, gives: Any) -> None:
        self.gives = gives

    def embed(self, texts: Any, purpose: str) -> Any:
        return self.gives


@pytest.mark.parametrize(
    ("gives", "problem"),
    [
        ([[1.0, 2.0, 3.0]], r"shape \(1, 3\)"),
        ([], r"shape \(0,\)"),
        ([[0.0, 0.0]], "all zeros"),
        ([[float("nan"), 1.0]], "not a finite number"),
    ],
)
def test_an_embedder_that_lies_is_noticed_and_nothing_is_kept(path: Path, gives: Any, problem: str) -> None:
    with recollect.open(path, embedder=Broken(np.array(gives))) as memory:
        with pytest.raises(recollect.ProviderError, match=f"broken.* (gave|returned) .*{problem}"):
            memory.remember(SEAT, scope=ANA)
        assert memory.memories(scope=ANA) == []


def test_many_threads_may_use_one_engine(memory: recollect.Engine) -> None:
    problems: list[BaseException] = []

    def work(name: int) -> None:
        try:
            for number in range(10):
                memory.remember(f"seat {name} {number}", scope=ANA)
                assert memory.search(f"seat {name} {number}", scope=ANA, limit=1)
                memory.recall("seat", scope=ANA)
        except BaseException as problem:
            problems.append(problem)

    threads = [threading.Thread(target=work, args=(name,)) for name in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert problems == []
    assert len(memory.memories(scope=ANA)) == 60


def test_a_closed_engine_says_so(path: Path) -> None:
    memory = recollect.open(path, embedder="hashing")
    memory.close()
    memory.close()
    with pytest.raises(recollect.RecollectError, match="this engine is closed"):
        memory.search("x", scope=ANA)


def test_a_throw_away_store_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with recollect.open(":memory:", embedder="hashing") as memory:
        memory.remember(SEAT, scope=ANA)
        assert found(memory.search(QUESTION, scope=ANA)) == [SEAT]
    assert list(tmp_path.iterdir()) == []


def test_an_address_of_anything_else_is_no_store() -> None:
    with pytest.raises(recollect.InvalidInput, match="is not a store"):
        recollect.open("mysql://localhost/memory")


def test_nothing_is_found_in_an_empty_store_and_a_scope_nobody_wrote_to(memory: recollect.Engine) -> None:
    assert memory.search("seat", scope=ANA).scored == ()
    context = memory.recall("seat", scope=ANA)
    assert (context.text, context.packed, context.omitted) == ("", (), ())
    assert memory.brief(scope=ANA).packed == ()
    memory.remember(SEAT, scope="acme/ben")
    assert memory.search("seat", scope=ANA).scored == ()


def test_a_wrong_clock_is_noticed(path: Path) -> None:
    with (
        recollect.open(path, embedder="hashing", clock=lambda: datetime(2026, 1, 1)) as memory,
        pytest.raises(recollect.errors.FieldError, match="field 'clock'"),
    ):
        memory.remember(SEAT, scope=ANA)


def test_time_that_goes_back_leaves_the_order_of_what_was_recorded(
    memory: recollect.Engine, clock: ManualClock
) -> None:
    first = memory.remember("one", scope=ANA).memory
    clock.move(timedelta(hours=-3))
    second = memory.remember("two", scope=ANA).memory
    assert first.recorded_at is not None
    assert second.recorded_at == first.recorded_at
    assert (first.commit or 0) < (second.commit or 0)
    assert sorted([first.id, second.id]) == [first.id, second.id]


def test_what_was_just_written_is_recalled_although_the_clock_went_back(
    memory: recollect.Engine, clock: ManualClock
) -> None:
    known = memory.remember(SEAT, scope=ANA).id
    written = clock.now
    clock.move(timedelta(seconds=-5))
    assert [one.id for one in memory.search("seats", scope=ANA)] == [known]
    assert isinstance(memory.why(known, "seats", scope=ANA).fate, recollect.types.Ranked)
    assert list(memory.search("seats", scope=ANA, as_of=clock.now)) == []
    clock.move(timedelta(seconds=5))
    assert [one.id for one in memory.search("seats", scope=ANA, as_of=written)] == [known]


def test_a_clock_that_was_far_ahead_hides_nothing_and_takes_no_key_of_others(
    memory: recollect.Engine, clock: ManualClock
) -> None:
    first = memory.remember("one", scope=ANA, key="k")
    ages = timedelta(days=60_000)
    clock.move(ages)
    memory.remember("wrong", scope="evil", key="k")
    clock.move(timedelta(days=1) - ages)
    memory.remember("two", scope=ANA)
    clock.move(timedelta(hours=1))
    assert {one.memory.text for one in memory.search("one two", scope=ANA, known_at=clock.now)} == {"one", "two"}
    assert memory.remember("one", scope=ANA, key="k").verdict == first.verdict


def test_a_megabyte_of_marks_is_remembered_and_told_apart(memory: recollect.Engine) -> None:
    marks = "a" + "\u0301\u0316" * 240_000
    for text in (marks, marks + "\u0301"):
        assert memory.remember(text, scope=ANA).verdict == recollect.types.Created()
    assert memory.remember(marks, scope=ANA).verdict != recollect.types.Created()


def test_metadata_that_is_nested_too_deep_is_refused(memory: recollect.Engine) -> None:
    deep: Any = []
    for _ in range(975):
        deep = [deep]
    wide: Any = []
    for _ in range(30):
        wide = [wide, wide]
    for nested, told in ((deep, "32 levels"), (wide, "too many parts")):
        with pytest.raises(recollect.errors.FieldError, match=told):
            memory.remember(SEAT, scope=ANA, metadata={"a": nested})
    shallow: dict[str, Any] = {}
    for _ in range(31):
        shallow = {"a": shallow}
    assert memory.remember(SEAT, scope=ANA, metadata=shallow).memory.metadata == shallow


def test_an_embedder_that_is_not_there_makes_no_file(path: Path) -> None:
    with pytest.raises(recollect.RecollectError, match="minlm"):
        recollect.open(path, embedder="minlm")
    assert not path.exists()


class Foreign:
    """A model that only the one who wrote the store has."""

    name = "foreign-model"
    dimensions = 3

    def embed(self, texts: Any, purpose: str) -> Any:
        return np.ones((len(texts), 3))


def test_a_store_can_be_read_without_its_model_and_what_needs_it_says_so(path: Path, tmp_path: Path) -> None:
    with recollect.open(path, embedder=Foreign()) as memory:
        id = memory.remember(SEAT, scope=ANA).id
    with recollect.open(path) as memory:
        assert memory.get(id, scope=ANA).text == SEAT
        assert memory.brief(scope=ANA).packed[0].id == id
        assert memory.stats().memories == 1
        assert len(list(memory.export())) == 4
        memory.admin.backup(tmp_path / "copy.db")
        assert memory.forget(id, scope=ANA).verdict == Changed("forgotten")
        for call in (lambda: memory.search("seat", scope=ANA), lambda: memory.remember("more", scope=ANA)):
            with pytest.raises(recollect.ProviderError, match=r"foreign-model.*recollect admin re-embed"):
                call()


def test_a_first_memory_that_is_refused_binds_the_store_to_no_model(path: Path) -> None:
    odd: list[dict[str, Any]] = [{"text": " "}, {"text": "x", "importance": 2}, {"text": "x", "at": datetime.max}]
    with recollect.open(path, embedder="hashing") as engine:
        for draft in odd:
            with pytest.raises(recollect.errors.FieldError):
                engine.remember(**draft, scope=ANA)
        with pytest.raises(recollect.Conflict):
            engine.remember_all([{"text": "one", "id": "a"}, {"text": "two", "id": "a"}], scope=ANA)
    with recollect.open(path, embedder="wordllama") as engine:
        engine.remember(SEAT, scope=ANA)
        assert engine.admin.embedder == "wordllama-256"


@pytest.mark.parametrize("moment", [datetime(2026, 1, 1), "2026-01-01", date(2026, 1, 1)], ids=repr)
def test_a_moment_that_is_none_is_refused_with_one_that_is(moment: Any, memory: recollect.Engine) -> None:
    told = r"field 'as_of': .* give an aware datetime, such as datetime\(2026, 1, 31, 9, tzinfo=UTC\)"
    with pytest.raises(recollect.errors.FieldError, match=told):
        memory.search(QUESTION, scope=ANA, as_of=moment)


def test_an_engine_says_what_it_is(memory: recollect.Engine, path: Path) -> None:
    assert repr(memory) == f"<recollect.Engine of {path}, hashing-256>"
    memory.close()
    assert repr(memory) == f"<recollect.Engine of {path}, closed>"


def test_a_new_state_of_a_topic_has_its_own_dates_and_its_own_origin(
    memory: recollect.Engine, clock: ManualClock
) -> None:
    first: dict[str, Any] = {
        "valid_until": clock() + timedelta(days=5),
        "source": "chat-1",
        "evidence": ("from Porto",),
    }
    memory.remember("Ana flies from Porto", scope=ANA, topic_key="airport", **first)
    clock.move(timedelta(days=6))
    revised = memory.remember("Ana flies from Lisbon", scope=ANA, topic_key="airport", source="chat-2").memory
    assert found(memory.search("flies", scope=ANA)) == ["Ana flies from Lisbon"]
    assert (revised.valid_until, revised.source, revised.evidence) == (None, "chat-2", ())


def test_what_is_said_again_after_its_end_holds_again_and_did_not_between(
    memory: recollect.Engine, clock: ManualClock
) -> None:
    start = clock()
    first = memory.remember("Ana flies from Porto", scope=ANA, valid_until=start + timedelta(days=5)).id
    clock.move(timedelta(days=9))
    assert found(memory.search("flies", scope=ANA)) == []
    late = memory.remember("Ana flies from Porto", scope=ANA, at=start + timedelta(days=4))
    assert late.verdict == Reinforced(first)  # it was so then, which says nothing of now
    assert found(memory.search("flies", scope=ANA)) == []
    again = memory.remember("Ana flies from Porto", scope=ANA)
    assert (again.id, again.verdict, again.memory.valid_until) == (first, Updated(2), None)
    assert found(memory.search("flies", scope=ANA)) == ["Ana flies from Porto"]
    between = start + timedelta(days=7)
    assert found(memory.search("flies", scope=ANA, as_of=between)) == []
    assert found(memory.search("flies", scope=ANA, as_of=start + timedelta(days=1))) == ["Ana flies from Porto"]


@pytest.mark.parametrize("text", ["Ana flies from Porto", "Ana flies from Faro"])
def test_a_revision_after_the_end_of_a_memory_holds(memory: recollect.Engine, clock: ManualClock, text: str) -> None:
    end = clock() + timedelta(days=5)
    id = memory.remember("Ana flies from Porto", scope=ANA, valid_until=end).id
    clock.move(timedelta(days=9))
    memory.revise(id, text, scope=ANA)
    assert found(memory.search("flies", scope=ANA)) == [text]
    clock.move(timedelta(days=9))
    closed = memory.revise(id, text, scope=ANA, valid_until=clock() - timedelta(days=1)).memory
    assert closed.valid_until == clock.now - timedelta(days=1)
    begun = memory.revise(id, text, scope=ANA, valid_from=clock() - timedelta(hours=1)).memory
    assert (begun.valid_from, begun.valid_until) == (clock.now - timedelta(hours=1), None)


def test_nothing_is_taken_in_that_would_not_hold_for_a_moment(memory: recollect.Engine, clock: ManualClock) -> None:
    now = clock()
    for end in (now, now - timedelta(seconds=1)):
        with pytest.raises(recollect.errors.FieldError, match=r"field 'valid_until': .* is not after valid_from"):
            memory.remember(SEAT, scope=ANA, valid_from=now, valid_until=end)
    id = memory.remember(SEAT, scope=ANA, valid_from=now).id
    with pytest.raises(recollect.errors.FieldError, match=r"field 'valid_until': .* is not after"):
        memory.revise(id, SEAT, scope=ANA, valid_until=now)


def test_who_would_change_what_another_scope_shares_is_told_whose_it_is(memory: recollect.Engine) -> None:
    id = memory.remember("No deploys on Fridays", scope="acme", shared=True).id
    changes: list[Callable[[], object]] = [
        lambda: memory.revise(id, "No deploys at all", scope=ANA),
        lambda: memory.forget(id, scope=ANA),
        lambda: memory.pin(id, scope=ANA),
    ]
    for change in changes:
        with pytest.raises(recollect.NotFound, match="belongs to acme, which shares it with acme/ana; use scope acme"):
            change()
    with pytest.raises(recollect.NotFound, match="there is no memory 'other' in acme/ana"):
        memory.forget("other", scope=ANA)


def test_what_was_observed_before_a_topics_present_text_is_no_news(
    memory: recollect.Engine, clock: ManualClock
) -> None:
    newer = memory.remember("Ana flies from Lisbon", scope=ANA, topic_key="airport").id
    before = clock() - timedelta(days=9)
    late = memory.remember("Ana flies from Porto", scope=ANA, topic_key="airport", at=before)
    assert late.verdict == Reinforced(newer, "its topic has a text that was observed later")
    assert found(memory.search("flies", scope=ANA)) == ["Ana flies from Lisbon"]


def test_a_topic_has_one_active_memory(memory: recollect.Engine) -> None:
    first = memory.remember("Ana flies from Porto", scope=ANA, topic_key="airport").id
    memory.forget(first, scope=ANA)
    second = memory.remember("Ana flies from Lisbon", scope=ANA, topic_key="airport").id
    assert second != first
    with pytest.raises(recollect.Conflict, match="the topic 'airport' already has the memory"):
        memory.restore(first, scope=ANA)
    memory.remember("Ana flies from Faro", scope=ANA)
    assert memory.remember("Ana flies from Faro", scope=ANA, topic_key="airport").id == second


def test_two_topics_may_have_the_same_value(memory: recollect.Engine) -> None:
    drafts = [{"text": "yes", "topic_key": topic} for topic in ("smokes", "drinks")]
    assert [receipt.verdict for receipt in memory.remember_all(drafts, scope=ANA)] == [recollect.types.Created()] * 2
    memory.remember("no", scope=ANA, topic_key="smokes")
    memory.remember("yes", scope=ANA, topic_key="smokes")
    assert sorted((one.topic_key, one.text) for one in memory.memories(scope=ANA)) == [
        ("drinks", "yes"),
        ("smokes", "yes"),
    ]


@pytest.mark.parametrize(
    "more",
    [
        {"pinned": True},
        {"shared": True},
        {"importance": 0.9},
        {"title": "Seats"},
        {"topic_key": "seat"},
        {"tags": ("travel",)},
        {"valid_until": datetime(2027, 1, 1, tzinfo=UTC)},
        {"metadata": {"a": 1}},
    ],
    ids=lambda more: next(iter(more)),
)
def test_the_same_words_with_something_new_are_a_revision(memory: recollect.Engine, more: dict[str, Any]) -> None:
    first = memory.remember(SEAT, scope=ANA, importance=0.5).id
    again = memory.remember(SEAT, scope=ANA, **more)
    assert (again.id, again.verdict) == (first, Updated(2))
    assert all(getattr(again.memory, name) == value for name, value in more.items())
    assert memory.remember(SEAT, scope=ANA, **more).verdict == Reinforced(first)
    assert memory.remember(SEAT, scope=ANA, importance=0.2).verdict == Reinforced(first)


def test_a_pinned_memory_has_one_score_however_deep_recall_looks(memory: recollect.Engine, clock: ManualClock) -> None:
    vector = [1.0] * 256
    for number, pinned in ((1, True), (2, False), (3, False)):
        clock.move(timedelta(days=1))
        memory.remember(f"window seat, please, {number}", scope=ANA, pinned=pinned, vector=vector)
    deep, shallow = (memory.recall("window seat", scope=ANA, depth=depth) for depth in (200, 1))
    scores = [{one.id: float(one.score) for one in context.ranking if one.memory.pinned} for context in (deep, shallow)]
    assert scores[0] == scores[1]
    (id,) = scores[0]
    assert memory.why(id, "window seat", scope=ANA, depth=1).explanation.score == scores[0][id]


def test_what_is_left_out_is_counted_by_reason(memory: recollect.Engine, clock: ManualClock) -> None:
    memory.forget(memory.remember("seat one", scope=ANA).id, scope=ANA)
    memory.remember("seat two", scope=ANA, valid_until=clock() + timedelta(days=1))
    memory.remember("seat three", scope=ANA, kind="fact")
    memory.remember("seat four", scope=ANA)
    clock.move(timedelta(days=2))
    ranking = memory.search("seat", scope=ANA, kinds=["fact"], profile="three-signal")
    assert (found(ranking), dict(ranking.excluded)) == (
        ["seat three"],
        {"status": 1, "no_longer_valid": 1, "kind": 1},
    )


def test_a_retry_that_says_the_same_in_other_words_of_python_is_the_same(memory: recollect.Engine) -> None:
    there = datetime(2027, 1, 1, 2, tzinfo=timezone(timedelta(hours=2)))
    first = memory.remember(SEAT, scope=ANA, key="k", valid_until=there, metadata={})
    again = memory.remember(SEAT, scope=ANA, key="k", valid_until=there.astimezone(UTC))
    assert again.id == first.id
    mixed: dict[Any, Any] = {1: "a", "b": 2}
    assert memory.remember("other", scope=ANA, key="m", metadata=mixed).memory.metadata == {"1": "a", "b": 2}


def test_a_vector_may_be_an_array(memory: recollect.Engine) -> None:
    array: Any = np.ones(256, dtype=np.float32)
    assert memory.remember(SEAT, scope=ANA, vector=array).verdict == Created()


def test_statuses_go_by_their_names(memory: recollect.Engine) -> None:
    id = memory.remember(SEAT, scope=ANA).id
    memory.forget(id, scope=ANA)
    assert [one.id for one in memory.memories(scope=ANA, statuses=["forgotten"])] == [id]
    with pytest.raises(recollect.errors.FieldError, match="field 'statuses'"):
        memory.memories(scope=ANA, statuses=["gone"])
