"""Memories as turns: who said something, in which session and when, tells a question what it means."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import recollect
from recollect.factory import re_embed
from recollect.providers.hashing import HashingEmbedder
from recollect.retrieval.vectors import cosines, normalize_vector
from tests.tables import table

SCOPE = "talks/one"
DAY = timedelta(days=1)
BEGUN = datetime(2025, 5, 1, 9, tzinfo=UTC)


def nearness(text: str, question: str, dimensions: int = 256) -> float:
    """The cosine of a text and a question, by the embedder of these tests."""
    embedder = HashingEmbedder(dimensions)
    (memory,), (asked,) = embedder.embed([text], "memory"), embedder.embed([question], "query")
    return float(cosines(normalize_vector(memory)[None, :], normalize_vector(asked))[0])


def said(engine: recollect.Engine, *turns: tuple[str, str], session: str = "s", begun: datetime = BEGUN) -> None:
    """Remember what was said, in this order, a minute apart."""
    for place, (speaker, text) in enumerate(turns):
        at = begun + timedelta(minutes=place)
        engine.remember(text, scope=SCOPE, speaker=speaker, session=session, at=at)


def parts(engine: recollect.Engine, question: str, **given: Any) -> dict[str, dict[str, float]]:
    """What every signal says of every memory, by its text."""
    found = engine.search(question, scope=SCOPE, limit=50, **given)
    return {one.memory.text: {part.signal: part.value for part in one.explanation.parts} for one in found}


def similarity(engine: recollect.Engine, id: str, question: str, **given: Any) -> float | None:
    found = engine.search(question, scope=SCOPE, limit=50, overrides={"gates": None}, **given)
    return next(one.candidate.similarity for one in found if one.id == id)


def test_a_question_is_put_the_way_the_person_would_put_it_whom_it_names() -> None:
    with recollect.open(":memory:", embedder="hashing") as engine:
        id = engine.remember("I painted a sunrise", scope=SCOPE, speaker="Ana").id
        engine.remember("I painted a fence", scope=SCOPE, speaker="Ben")
        asked, put = "What did Ana paint?", "What did I paint?"
        assert similarity(engine, id, asked) == nearness("I painted a sunrise", put)
        assert similarity(engine, id, asked, profile="five-signal") == nearness("I painted a sunrise", asked)


def test_who_is_named_is_heard_before_others_and_nobody_where_all_are() -> None:
    with recollect.open(":memory:", embedder="hashing") as engine:
        said(engine, ("Ana", "I painted a sunrise"), ("Ben", "I painted a fence"))
        named = parts(engine, "What did Ana paint, painted Ana a sunrise?")
        assert {text: one["addressed"] for text, one in named.items()} == {
            "I painted a sunrise": 1.0,
            "I painted a fence": 0.0,
        }
        found = engine.search("What have Ana and Ben painted?", scope=SCOPE)
        assert all(part.assumed for one in found for part in one.explanation.parts if part.signal == "addressed")


def test_what_has_no_speaker_may_be_theirs_who_are_named() -> None:
    with recollect.open(":memory:", embedder="hashing") as engine:
        said(engine, ("Ana", "I painted the sunrise"), ("Ben", "I painted the fence"))
        engine.remember("The boat was painted", scope=SCOPE)
        found = parts(engine, "What of painted things is Ana's, what has Ana painted?")
        assert {text: one["addressed"] for text, one in found.items()} == {
            "I painted the sunrise": 1.0,
            "The boat was painted": 0.5,
            "I painted the fence": 0.0,
        }


def test_in_the_first_person_the_users_own_words_are_asked_for() -> None:
    with recollect.open(":memory:", embedder="hashing") as engine:
        said(engine, ("user", "I fly from Porto airport"), ("assistant", "Porto airport has many flights"))
        found = parts(engine, "Which airport do I fly from?")
        assert [found[text]["addressed"] for text in sorted(found)] == [1.0, 0.0]
        found = parts(engine, "Which airport has flights?")
        assert {one["addressed"] for one in found.values()} == {0.0}


@table(
    ("question", "days"),
    [("What about boats on 8 May 2025?", 0), ("What boats were there in April?", 7), ("Boats on 10 May?", 2 * 2)],
)
def test_a_day_that_is_named_counts_by_how_far_it_is(question: str, days: int) -> None:
    with recollect.open(":memory:", embedder="hashing") as engine:
        said(engine, ("Ana", "boats in the harbour"), begun=datetime(2025, 5, 8, tzinfo=UTC))
        (found,) = parts(engine, question, as_of=datetime(2025, 6, 1, tzinfo=UTC)).values()
        assert found["dated"] == 2.0 ** (-days / 7.0)


def test_a_question_that_names_a_time_finds_what_is_of_that_time_whatever_it_is_about() -> None:
    with recollect.open(":memory:", embedder="hashing") as engine:
        said(engine, ("Ana", "Rosa moved to Porto"), begun=datetime(2025, 3, 12, tzinfo=UTC))
        said(engine, ("Ana", "the boiler was mended"), session="t", begun=datetime(2025, 4, 28, tzinfo=UTC))
        asked = engine.search("What happened in March?", scope=SCOPE, as_of=datetime(2025, 6, 1, tzinfo=UTC))
        assert [one.memory.text for one in asked] == ["Rosa moved to Porto"]
        assert asked.excluded == {"gate:relevance": 1}
        assert "dated 1.000 × 0.155 (on a date in the question)" in str(asked[0].explanation)


def test_who_and_when_are_read_from_the_question_also_where_memories_are_heard_alone() -> None:
    with recollect.open(":memory:", embedder="hashing") as engine:
        said(engine, ("Ana", "boats in the harbour"), ("Ben", "boats at sea"), begun=datetime(2025, 5, 8, tzinfo=UTC))
        given = {"as_of": datetime(2025, 6, 1, tzinfo=UTC), "overrides": {"hearing": "alone"}}
        found = parts(engine, "What did Ana say of boats on 8 May?", **given)
        assert [(one["addressed"], one["dated"]) for _, one in sorted(found.items())] == [(0.0, 1.0), (1.0, 1.0)]
        (first, _) = engine.search("What did Ana say of boats on 8 May?", scope=SCOPE, profile="search")
        assert (first.candidate.addressed, first.candidate.days_off) == (None, None)


def test_an_answer_is_found_by_the_question_before_it() -> None:
    with recollect.open(":memory:", embedder="hashing") as engine:
        said(engine, ("Ana", "Where is the boat moored?"), ("Ben", "Right beside the lighthouse"))
        said(engine, ("Ana", "How was lunch?"), ("Ben", "Quite good, thanks"), session="t", begun=BEGUN + DAY)
        heard = [one.memory.text for one in engine.search("boat moored", scope=SCOPE)]
        alone = [one.memory.text for one in engine.search("boat moored", scope=SCOPE, overrides={"hearing": "alone"})]
        assert "Right beside the lighthouse" in heard[:2]
        assert "Right beside the lighthouse" not in alone


def test_what_comes_later_changes_nothing_for_an_earlier_moment() -> None:
    questions = ["What did May paint?", "Where is it?", "What did I say in June?"]
    with recollect.open(":memory:", embedder="hashing") as engine:
        said(engine, ("Ana", "May is when I painted"), ("Ben", "Where is it?"), ("Ana", "It is in the hall"))
        then = BEGUN + DAY
        before = [_facts(engine, question, then) for question in questions]
        said(engine, ("May", "I painted as well"), ("user", "It is here"), ("Ana", "Is it?"), begun=BEGUN + 2 * DAY)
        assert [_facts(engine, question, then) for question in questions] == before
        assert _facts(engine, questions[0], BEGUN + 3 * DAY) != before[0]


def _facts(engine: recollect.Engine, question: str, as_of: datetime) -> Sequence[object]:
    found = engine.search(question, scope=SCOPE, as_of=as_of, limit=50)
    return [(one.id, float(one.score), one.explanation) for one in found]


TEXT, BARE = "Ana: the harbour is closed", "the harbour is closed"


def test_a_direction_is_that_of_what_was_said_without_the_name_before_it() -> None:
    with recollect.open(":memory:", embedder="hashing") as engine:
        id = engine.remember(TEXT, scope=SCOPE, speaker="Ana").id
        assert similarity(engine, id, "harbour") == nearness(BARE, "harbour")
        named = engine.remember("Ops:Rio: the crane is down", scope=SCOPE, speaker="Ops:Rio").id
        assert similarity(engine, named, "crane") == nearness("the crane is down", "crane")
        other = engine.remember("Note: the pier is open", scope=SCOPE, speaker="Ana").id
        assert similarity(engine, other, "pier") == nearness("Note: the pier is open", "pier")
        engine.revise(id, "Ana: the harbour is open again", scope=SCOPE)
        assert similarity(engine, id, "harbour") == nearness("the harbour is open again", "harbour")
        engine.revise(id, "the harbour is open again", scope=SCOPE)
        assert similarity(engine, id, "harbour") == nearness("the harbour is open again", "harbour")


def test_another_model_and_another_store_embed_the_same_of_a_memory(tmp_path: Path) -> None:
    with recollect.open(tmp_path / "one.db", embedder="hashing") as engine:
        id = engine.remember(TEXT, scope=SCOPE, speaker="Ana").id
        engine.revise(id, "Ana: it is open", scope=SCOPE)
        lines = list(engine.export())
    with recollect.open(tmp_path / "two.db", embedder=HashingEmbedder(64)) as other:
        assert other.import_(lines).re_embedded is not None
        assert similarity(other, id, "open") == nearness("it is open", "open", 64)
    re_embed(tmp_path / "one.db", embedder=HashingEmbedder(128))
    with recollect.open(tmp_path / "one.db", embedder=HashingEmbedder(128)) as engine:
        assert similarity(engine, id, "open") == nearness("it is open", "open", 128)
        known = engine.memories(scope=SCOPE)
        assert [one.text for one in known] == ["Ana: it is open"]


def test_a_context_tells_who_said_what_so_that_an_i_has_a_name() -> None:
    with recollect.open(":memory:", embedder="hashing") as engine:
        said(
            engine, ("Ana", "I went to the lake"), ("Ben", "I went to the lake too"), ("Ben", "Ben: the lake was cold")
        )
        text = engine.recall("Who went to the lake?", scope=SCOPE).text
    lines = text.splitlines()
    heads = {body: head for head, body in pairwise(lines) if head.startswith("<memory-")}
    assert heads["I went to the lake"].endswith(' date="2025-05-01" speaker="Ana">')
    assert heads["I went to the lake too"].endswith(' date="2025-05-01" speaker="Ben">')
    assert heads["Ben: the lake was cold"].endswith(' date="2025-05-01">')
