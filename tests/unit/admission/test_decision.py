"""What becomes of a draft, case by case, and what is so whatever comes."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from itertools import permutations
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st
from tests.tables import table

from recollect.admission.decision import (
    Admit,
    Echo,
    InsertBefore,
    KeepInactive,
    Neighborhood,
    Quarantine,
    Reactivate,
    ReviseMemory,
    SubjectPosition,
    Supersede,
    decide,
    decide_verbatim,
    effective_from,
    observed_at,
)
from recollect.admission.policy import AdmissionPolicy, QuarantinePolicy, TruthPolicy
from recollect.engine.dependencies import Dependencies
from recollect.engine.engine import Engine
from recollect.ids import make_id_generator, new_marker
from recollect.model.enums import TRUST_BY_PROVENANCE, Kind, Provenance, Status, Trust
from recollect.model.memory import Memory, MemoryId
from recollect.packing.tokens import Estimate
from recollect.providers.hashing import HashingEmbedder
from recollect.ranking.profiles import builtin_profile
from recollect.retrieval.eligibility import find_barrier, version_at
from recollect.testing.builders import NOW, SCOPE, ManualClock, a_memory
from recollect.testing.reference_store import ReferenceStore

DAY = timedelta(days=1)
POLICY = AdmissionPolicy()
LENIENT = AdmissionPolicy(quarantine=QuarantinePolicy(enabled=False))
STATIC = AdmissionPolicy(truth=TruthPolicy(supersede=False))

USER, MODEL, DOCUMENT, STRANGER = (
    Provenance.DIRECT_USER,
    Provenance.MODEL_INFERENCE,
    Provenance.DOCUMENT,
    Provenance.TOOL_EXTERNAL,
)


def day(number: float) -> datetime:
    return NOW + number * DAY


def on(number: float, id: str = "new", **given: Any) -> Memory:
    """A memory that was observed on that day, and says so by its id."""
    return a_memory(id, **{"text": f"said by {id}", "created_at": day(number), "observed_at": day(number), **given})


def home(number: float, id: str = "new", **given: Any) -> Memory:
    """A memory of that day about where Ana lives."""
    return on(number, id, **{"subject": "ana: lives in", **given})


# ── what is news, and what is said again ───────────────────────────────────────────────────────────────────────────


def test_what_nothing_is_known_of_is_admitted() -> None:
    assert decide(on(1), Neighborhood(), POLICY) == Admit()


@table(("known", "reason"), [("same_text", "the same words"), ("paraphrases", "the same in other words")])
def test_what_says_the_same_is_an_echo_that_says_how(known: str, reason: str) -> None:
    old = on(1, "old")
    given: dict[str, Any] = {known: [old]}
    assert decide(on(2), Neighborhood(**given), POLICY) == Echo(old, reason)


def test_the_same_words_come_before_the_same_in_other_words() -> None:
    twin, alike = on(1, "twin"), on(0, "alike")
    assert decide(on(2), Neighborhood(same_text=[twin], paraphrases=[alike]), POLICY) == Echo(twin, "the same words")


def test_one_that_stands_comes_before_one_that_was_put_away() -> None:
    stands, away = on(0, "a"), on(1, "b", status=Status.FORGOTTEN)
    assert decide(on(2), Neighborhood(same_text=[away, stands]), POLICY) == Echo(stands, "the same words")


@table(
    "more",
    [
        {"pinned": True},
        {"shared": True},
        {"importance": 0.9},
        {"confidence": 0.9},
        {"title": "Seats"},
        {"topic_key": "seat"},
        {"subject": "ana: sits"},
        {"tags": ("travel",)},
        {"metadata": {"row": 7}},
        {"valid_from": day(3)},
        {"valid_until": day(9)},
    ],
    ids=lambda more: next(iter(more)),
)
def test_the_same_again_with_something_new_restates_the_memory(more: dict[str, Any]) -> None:
    old = on(1, "old")
    assert decide(on(2, **more), Neighborhood(same_text=[old]), POLICY) == ReviseMemory(old, restated=True)
    assert decide(on(2, **more), Neighborhood(same_text=[replace(old, **more)]), POLICY) == Echo(
        replace(old, **more), "the same words"
    )


def test_what_was_said_before_adds_what_is_lacking_and_changes_nothing() -> None:
    old = on(3, "old", tags=("travel",))
    assert decide(on(2, tags=("food",)), Neighborhood(same_text=[old]), POLICY) == Echo(old, "the same words")
    assert decide(on(2, title="Seats"), Neighborhood(same_text=[old]), POLICY) == ReviseMemory(old, restated=True)
    assert decide(on(3, tags=("food",)), Neighborhood(same_text=[old]), POLICY) == ReviseMemory(old, restated=True)


def test_less_importance_is_nothing_new() -> None:
    old = on(1, "old", importance=0.8)
    assert decide(on(2, importance=0.3), Neighborhood(same_text=[old]), POLICY) == Echo(old, "the same words")


def test_the_same_again_after_the_time_for_which_it_held_makes_it_hold_again() -> None:
    old = on(1, "old", valid_until=day(5))
    assert decide(on(4), Neighborhood(same_text=[old]), POLICY) == Echo(old, "the same words")
    assert decide(on(5), Neighborhood(same_text=[old]), POLICY) == ReviseMemory(old, restated=True)


@table("more", [{"pinned": True}, {"valid_until": day(9)}, {"importance": 1.0}])
def test_whoever_is_trusted_less_adds_nothing(more: dict[str, Any]) -> None:
    old = on(1, "old", provenance=USER)
    assert decide(on(2, provenance=MODEL, **more), Neighborhood(same_text=[old]), POLICY) == Echo(old, "the same words")
    ended = replace(old, valid_until=day(1))
    assert decide(on(2, provenance=MODEL, **more), Neighborhood(same_text=[ended]), POLICY) == Echo(
        ended, "the same words"
    )


# ── what was put away ──────────────────────────────────────────────────────────────────────────────────────────────


@table("status", [Status.FORGOTTEN, Status.SUPERSEDED])
@table("known", ["same_text", "paraphrases"])
def test_what_was_put_away_comes_back_only_if_it_was_said_after_that(status: Status, known: str) -> None:
    old = on(1, "old", status=status)
    given: dict[str, Any] = {known: [old], "inactive_since": {old.id: day(5)}}
    assert decide(on(4), Neighborhood(**given), POLICY) == KeepInactive(old, day(5))
    assert decide(on(5), Neighborhood(**given), POLICY) == KeepInactive(old, day(5))
    assert decide(on(5.01), Neighborhood(**given), POLICY) == Reactivate(old)


def test_what_was_put_away_nobody_knows_when_counts_from_when_it_was_observed() -> None:
    old = on(3, "old", status=Status.FORGOTTEN)
    assert decide(on(3), Neighborhood(same_text=[old]), POLICY) == KeepInactive(old, day(3))
    assert decide(on(4), Neighborhood(same_text=[old]), POLICY) == Reactivate(old)


@table("status", [Status.CONSOLIDATED, Status.COMPLETED, Status.ARCHIVED])
def test_what_is_over_and_done_does_not_stand_in_the_way(status: Status) -> None:
    assert decide(on(2), Neighborhood(same_text=[on(1, "old", status=status)]), POLICY) == Admit()


@table("status", [Status.FORGOTTEN, Status.SUPERSEDED])
def test_whoever_is_trusted_less_does_not_bring_back_what_was_put_away(status: Status) -> None:
    old = on(1, "old", status=status, provenance=USER)
    assert decide(on(9, provenance=STRANGER), Neighborhood(same_text=[old]), POLICY) == Admit()
    assert decide(on(0, provenance=STRANGER), Neighborhood(same_text=[old]), POLICY) == KeepInactive(old, day(1))


def test_what_is_brought_back_ends_what_took_its_place() -> None:
    rome, milan = home(1, "rome", status=Status.SUPERSEDED, valid_until=day(2)), home(2, "milan")
    known = Neighborhood(same_text=[rome], same_subject=[milan, rome], inactive_since={rome.id: day(2)})
    assert decide(home(5), known, POLICY) == Reactivate(rome, SubjectPosition((milan,)))


def test_what_is_brought_back_for_a_time_that_is_over_ends_when_the_next_one_began() -> None:
    rome = home(1, "rome", status=Status.SUPERSEDED, valid_until=day(2), superseded_by="milan")
    milan = home(2, "milan", status=Status.SUPERSEDED, valid_until=day(6), superseded_by="paris")
    paris = home(6, "paris")
    known = Neighborhood(same_text=[rome], same_subject=[paris, rome, milan], inactive_since={rome.id: day(2)})
    assert decide(home(4), known, POLICY) == Reactivate(rome, SubjectPosition((milan,), paris))


def test_what_would_end_what_is_trusted_more_is_not_brought_back() -> None:
    rome = home(1, "rome", status=Status.SUPERSEDED, valid_until=day(2))
    milan = home(2, "milan", provenance=USER)
    known = Neighborhood(same_text=[rome], same_subject=[milan], inactive_since={rome.id: day(2)})
    assert decide(home(5), known, POLICY) == Quarantine("it contradicts a memory that is trusted more", milan)


def test_nothing_is_ended_by_what_is_brought_back_where_subjects_do_not_count() -> None:
    rome, milan = home(1, "rome", status=Status.SUPERSEDED, valid_until=day(2)), home(2, "milan")
    assert decide(home(5), Neighborhood(same_text=[rome], same_subject=[milan]), STATIC) == Reactivate(rome)


def test_the_same_words_as_what_waits_for_release_wait_with_it() -> None:
    old = on(1, "old", status=Status.QUARANTINED, provenance=DOCUMENT)
    waits = Quarantine("it waits for release already", old)
    assert decide(on(2, provenance=STRANGER), Neighborhood(same_text=[old]), POLICY) == waits
    assert decide(on(2, provenance=DOCUMENT), Neighborhood(same_text=[old]), POLICY) == waits
    assert decide(on(2, provenance=USER), Neighborhood(same_text=[old]), POLICY) == Admit()


@table("known", ["same_text", "paraphrases"])
def test_what_an_operator_put_apart_waits_unless_the_user_says_it(known: str) -> None:
    held = on(1, "held", status=Status.QUARANTINED, provenance=STRANGER, remark="by hand: nobody said that")
    given: dict[str, Any] = {known: [held]}
    for by in Provenance:
        below = TRUST_BY_PROVENANCE[by].less_than(Trust.STATED)
        expected = Quarantine("it waits for release already", held) if below else Admit()
        assert decide(on(2, provenance=by), Neighborhood(**given), POLICY) == expected
        assert decide(on(2, provenance=by), Neighborhood(**given), LENIENT) == expected
        topic = on(1, "topic", topic_key="seat", provenance=STRANGER)
        revised = decide(on(2, topic_key="seat", provenance=by), Neighborhood(topic=topic, **given), POLICY)
        assert revised == (expected if below else ReviseMemory(topic))


@table("known", ["same_text", "paraphrases"])
def test_what_an_operator_put_apart_and_forgot_waits_unless_the_user_says_it(known: str) -> None:
    gone = on(1, "gone", status=Status.FORGOTTEN, provenance=STRANGER)
    stood = gone.with_changes(status=Status.QUARANTINED, remark="by hand: nobody said that")
    given: dict[str, Any] = {known: [gone], "forgotten_in_quarantine": {gone.id: stood}}
    for by in Provenance:
        below = TRUST_BY_PROVENANCE[by].less_than(Trust.STATED)
        expected = Quarantine("the same was in quarantine when it was forgotten", gone) if below else Admit()
        assert decide(on(2, provenance=by), Neighborhood(**given), POLICY) == expected
        assert decide(on(2, provenance=by), Neighborhood(**given), LENIENT) == expected
        topic = on(1, "topic", topic_key="seat", provenance=STRANGER)
        revised = decide(on(2, topic_key="seat", provenance=by), Neighborhood(topic=topic, **given), POLICY)
        assert revised == (expected if below else ReviseMemory(topic))
        exactly = decide_verbatim(on(2, topic_key="seat", provenance=by), Neighborhood(**given), POLICY)
        assert exactly == (Quarantine("the same was in quarantine when it was forgotten") if below else Admit())


def test_what_was_isolated_and_forgotten_comes_back_only_by_who_is_trusted_more() -> None:
    gone = on(1, "gone", status=Status.FORGOTTEN, provenance=DOCUMENT)
    known = Neighborhood(
        same_text=[gone],
        forgotten_in_quarantine={gone.id: gone.with_changes(status=Status.QUARANTINED)},
        inactive_since={gone.id: day(3)},
    )
    waits = Quarantine("the same was in quarantine when it was forgotten", gone)
    assert decide(on(4, provenance=STRANGER), known, POLICY) == waits
    assert decide(on(4, provenance=DOCUMENT), known, POLICY) == waits
    assert decide(on(4, provenance=USER), known, POLICY) == Admit()
    assert decide(on(2, provenance=DOCUMENT), known, POLICY) == KeepInactive(gone, day(3))


@table("reason", ["it contradicts a memory that is trusted more", "it reads like orders to a model: 'obey'"])
def test_what_admission_isolated_does_not_keep_apart_who_is_trusted_more(reason: str) -> None:
    held = on(1, "held", status=Status.QUARANTINED, provenance=STRANGER, remark=reason)
    assert decide(on(2, provenance=MODEL), Neighborhood(same_text=[held]), POLICY) == Admit()


@table("status", [Status.FORGOTTEN, Status.SUPERSEDED])
def test_what_is_said_now_is_said_after_it_was_put_away(status: Status) -> None:
    old = on(1, "old", status=status)
    assert decide(
        on(2), Neighborhood(same_text=[old], inactive_since={old.id: day(5)}, is_undated=True), POLICY
    ) == Reactivate(old)


# ── topics ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_topic_gets_its_next_text() -> None:
    topic = on(1, "topic", topic_key="seat")
    assert decide(on(2, topic_key="seat"), Neighborhood(topic=topic), POLICY) == ReviseMemory(topic)
    assert decide(on(1, topic_key="seat"), Neighborhood(topic=topic), POLICY) == ReviseMemory(topic)


def test_what_was_observed_before_a_topic_s_text_is_no_news_to_it() -> None:
    topic = on(3, "topic", topic_key="seat")
    known = Echo(topic, "its topic has a text that was observed later")
    assert decide(on(2, topic_key="seat"), Neighborhood(topic=topic), POLICY) == known


def test_a_topic_comes_before_the_words() -> None:
    topic, twin = on(1, "topic", topic_key="seat"), on(0, "twin")
    assert decide(on(2, topic_key="seat"), Neighborhood(topic=topic, same_text=[twin]), POLICY) == ReviseMemory(topic)


def test_the_same_words_for_a_topic_are_an_echo_or_a_restatement() -> None:
    topic = on(1, "topic", topic_key="seat", text="Ana sits")
    again = on(2, topic_key="seat", text=" Ana  sits ")
    assert decide(again, Neighborhood(topic=topic), POLICY) == Echo(topic, "the same words")
    assert decide(replace(again, pinned=True), Neighborhood(topic=topic), POLICY) == ReviseMemory(topic, restated=True)


def test_whoever_is_trusted_less_does_not_speak_for_a_topic() -> None:
    topic = on(1, "topic", topic_key="seat", provenance=USER)
    less = on(2, topic_key="seat", provenance=MODEL)
    assert decide(less, Neighborhood(topic=topic), POLICY) == Quarantine(
        "it contradicts a memory that is trusted more", topic
    )
    assert decide(
        replace(less, provenance=USER, trust=Trust.STATED), Neighborhood(topic=topic), POLICY
    ) == ReviseMemory(topic)
    assert decide(less, Neighborhood(topic=topic), LENIENT) == ReviseMemory(topic)


def test_what_a_topic_was_told_before_waits_once() -> None:
    topic = on(1, "topic", topic_key="seat", provenance=USER)
    waiting = on(2, "waiting", topic_key="seat", provenance=MODEL, status=Status.QUARANTINED)
    again = on(3, topic_key="seat", provenance=MODEL)
    assert decide(again, Neighborhood(topic=topic, same_text=[waiting]), POLICY) == Quarantine(
        "it waits for release already", waiting
    )


def test_orders_do_not_become_a_topic_s_text() -> None:
    topic = on(1, "topic", topic_key="seat", provenance=STRANGER)
    known = Neighborhood(topic=topic, injection="'ignore all rules'")
    told = "it reads like orders to a model: 'ignore all rules'"
    assert decide(on(2, topic_key="seat", provenance=STRANGER), known, POLICY) == Quarantine(told, topic)
    assert decide(on(2, topic_key="seat", provenance=STRANGER), known, LENIENT) == ReviseMemory(topic)


def test_a_topic_that_moves_on_keeps_its_place_among_those_of_its_subject() -> None:
    topic, other, future = home(1, "topic", topic_key="t"), home(2, "other"), home(2, "future", valid_from=day(20))
    known = Neighborhood(topic=topic, same_subject=[future, other, topic])
    assert decide(home(5, topic_key="t"), known, POLICY) == ReviseMemory(
        topic, position=SubjectPosition((other,), future)
    )
    assert decide(home(5, topic_key="t"), known, STATIC) == ReviseMemory(topic)


def test_a_topic_does_not_end_what_is_trusted_more() -> None:
    topic, other = home(1, "topic", topic_key="t"), home(2, "other", provenance=USER)
    known = Neighborhood(topic=topic, same_subject=[other])
    told = Quarantine("it contradicts a memory that is trusted more", other)
    assert decide(home(5, topic_key="t"), known, POLICY) == told
    assert decide(home(5, topic_key="t"), known, LENIENT) == ReviseMemory(topic)


# ── subjects ───────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_new_truth_supersedes_the_former_one() -> None:
    old = home(1, "old")
    assert decide(home(2), Neighborhood(same_subject=[old]), POLICY) == Supersede((old,))
    assert decide(home(1), Neighborhood(same_subject=[old]), POLICY) == Supersede((old,))
    assert decide(home(2), Neighborhood(same_subject=[old]), STATIC) == Admit()


def lives(number: float, id: str, text: str, **given: Any) -> Memory:
    """A memory of that day about where Ana lives, in words that say so."""
    return home(number, id, text=text, **given)


def test_what_agrees_is_not_in_the_way() -> None:
    moved = lives(1, "old", "Ana moved to Porto")
    assert decide(lives(2, "new", "Ana lives in Porto"), Neighborhood(same_subject=[moved]), POLICY) == Admit()
    assert decide(lives(0, "new", "Ana lives in Porto"), Neighborhood(same_subject=[moved]), POLICY) == Admit()
    assert decide(lives(2, "new", "Ana lives in Faro"), Neighborhood(same_subject=[moved]), POLICY) == Supersede(
        (moved,)
    )
    assert decide(
        lives(2, "new", "Ana lives in Porto", subject="x"),
        Neighborhood(same_subject=[moved.with_changes(subject="x")]),
        POLICY,
    ) == (Supersede((moved.with_changes(subject="x"),)))


@table(
    ("subject", "one", "same", "other"),
    [
        ("ana: whether be vegetarian", "Ana is a vegetarian", "Ana is vegetarian", "Ana is not vegetarian"),
        ("user: whether feel about cilantro", "User hates cilantro", "I can't stand cilantro", "I love cilantro"),
        ("user: is married or not", "User is not married", "User is single", "User is married"),
    ],
)
def test_of_whether_it_holds_only_the_other_side_ends_it(subject: str, one: str, same: str, other: str) -> None:
    known = on(1, "old", text=one, subject=subject, provenance=USER)
    for text, expected in ((same, Admit()), (other, Supersede((known,)))):
        assert (
            decide(on(2, text=text, subject=subject, provenance=USER), Neighborhood(same_subject=[known]), POLICY)
            == expected
        )


def test_a_denial_ends_what_it_denies_and_nothing_else() -> None:
    lisbon, porto = lives(1, "lisbon", "Ana lives in Lisbon"), lives(1, "porto", "Ana lives in Porto")
    denial = lives(2, "new", "Ana no longer lives in Lisbon")
    assert decide(denial, Neighborhood(same_subject=[lisbon]), POLICY) == Supersede((lisbon,))
    assert decide(denial, Neighborhood(same_subject=[porto]), POLICY) == Admit()
    assert decide(lisbon, Neighborhood(same_subject=[denial]), POLICY) == InsertBefore(denial)
    assert decide(lives(3, "again", "Ana lives in Lisbon"), Neighborhood(same_subject=[denial]), POLICY) == Supersede(
        (denial,)
    )
    assert decide(lives(3, "next", "Ana lives in Porto"), Neighborhood(same_subject=[denial]), POLICY) == Admit()


def test_a_denial_by_who_is_trusted_less_waits_only_if_it_denies_what_is_known() -> None:
    known = Neighborhood(same_subject=[lives(1, "old", "Ana lives in Lisbon", provenance=USER)])
    denial = lives(2, "new", "Ana no longer lives in Lisbon", provenance=DOCUMENT)
    assert isinstance(decide(denial, known, POLICY), Quarantine)
    assert decide(lives(2, "new", "Ana no longer lives in Porto", provenance=DOCUMENT), known, POLICY) == Admit()


def test_what_held_before_precedes_what_holds() -> None:
    newer = home(3, "newer")
    assert decide(home(2), Neighborhood(same_subject=[newer]), POLICY) == InsertBefore(newer)
    assert decide(home(5, valid_from=day(1)), Neighborhood(same_subject=[newer]), POLICY) == InsertBefore(newer)
    assert decide(home(2), Neighborhood(same_subject=[newer]), STATIC) == Admit()


def test_what_held_between_two_ends_the_one_and_is_ended_by_the_other() -> None:
    active, future = home(1, "active"), home(1, "future", valid_from=day(20))
    assert decide(home(5), Neighborhood(same_subject=[active, future]), POLICY) == InsertBefore(future, (active,))
    past = replace(active, status=Status.SUPERSEDED, valid_until=day(9), superseded_by=MemoryId("present"))
    present = home(9, "present")
    assert decide(home(5), Neighborhood(same_subject=[present, past]), POLICY) == InsertBefore(present, (past,))
    assert decide(home(10), Neighborhood(same_subject=[present, past]), POLICY) == Supersede((present,))


def test_what_was_replaced_before_stays_replaced_by_what_replaced_it() -> None:
    first = home(1, "first", valid_until=day(3), superseded_by="second")  # which began when nobody wrote
    second = home(1, "second", valid_from=day(3))
    assert decide(home(5), Neighborhood(same_subject=[first, second]), POLICY) == Supersede((second,))


def test_the_first_that_follows_is_the_one_that_ends_it() -> None:
    third, second = home(9, "third"), home(5, "second", status=Status.SUPERSEDED, valid_until=day(9))
    never = home(4, "never", status=Status.SUPERSEDED, valid_until=day(4))
    assert decide(home(2), Neighborhood(same_subject=[third, never, second]), POLICY) == InsertBefore(second)


def test_whoever_is_trusted_less_does_not_supersede() -> None:
    old, less = home(1, "old", provenance=USER), home(2, provenance=DOCUMENT)
    assert decide(less, Neighborhood(same_subject=[old]), POLICY) == Quarantine(
        "it contradicts a memory that is trusted more", old
    )
    assert decide(less, Neighborhood(same_subject=[old]), LENIENT) == Admit()
    former = replace(old, status=Status.SUPERSEDED, valid_until=day(9))
    assert decide(less, Neighborhood(same_subject=[home(9, "now", provenance=USER), former]), POLICY) == Quarantine(
        "it contradicts a memory that is trusted more", former
    )


def test_events_neither_supersede_nor_are_superseded() -> None:
    assert decide(home(2, kind=Kind.EVENT), Neighborhood(same_subject=[home(1, "old")]), POLICY) == Admit()
    assert decide(home(2), Neighborhood(same_subject=[home(1, "old", kind=Kind.EVENT)]), POLICY) == Admit()


def test_what_is_restated_takes_its_place_among_those_of_its_subject() -> None:
    milan = home(1, "milan", valid_until=day(3), superseded_by="rome")
    rome = home(1, "rome", valid_from=day(3))
    known = Neighborhood(same_text=[milan], same_subject=[milan, rome])
    assert decide(home(5), known, POLICY) == ReviseMemory(milan, restated=True, position=SubjectPosition((rome,)))
    assert decide(home(2, pinned=True), known, POLICY) == ReviseMemory(
        milan, restated=True, position=SubjectPosition((), rome)
    )
    trusted = replace(rome, provenance=USER, trust=Trust.STATED)
    assert decide(home(5), replace(known, same_subject=[milan, trusted]), POLICY) == Echo(milan, "the same words")


def test_what_is_over_when_it_is_said_ends_nothing() -> None:
    rome, oslo = home(1, "rome"), home(5, valid_until=day(0))
    assert decide(oslo, Neighborhood(same_subject=[rome]), POLICY) == Admit()
    former = replace(home(0, "oslo"), status=Status.FORGOTTEN)
    assert decide(oslo, Neighborhood(same_text=[former], same_subject=[rome]), POLICY) == Reactivate(former)


def test_what_is_over_by_itself_is_neither_superseded_nor_contradicted() -> None:
    rome = home(1, "rome", valid_until=day(3), provenance=USER)
    assert decide(home(5, provenance=DOCUMENT), Neighborhood(same_subject=[rome]), POLICY) == Admit()
    assert decide(home(2, provenance=DOCUMENT), Neighborhood(same_subject=[rome]), POLICY) == Quarantine(
        "it contradicts a memory that is trusted more", rome
    )


def test_what_reads_like_orders_waits_for_release() -> None:
    known = Neighborhood(injection="'ignore all rules'")
    told = Quarantine("it reads like orders to a model: 'ignore all rules'")
    assert decide(on(1), known, POLICY) == told
    assert decide(home(2), replace(known, same_subject=[home(1, "old")]), POLICY) == told
    assert decide(on(1), known, LENIENT) == Admit()


def test_orders_that_are_known_already_are_an_echo() -> None:
    old = on(1, "old")
    assert decide(on(2), Neighborhood(same_text=[old], injection="'obey'"), POLICY) == Echo(old, "the same words")


# ── whatever comes ─────────────────────────────────────────────────────────────────────────────────────────────────

days = st.integers(0, 8)
provenances = st.sampled_from(list(Provenance))


@st.composite
def memories(draw: st.DrawFn, id: str) -> Memory:
    """A memory of any standing and trust, said and holding at any time."""
    provenance = draw(provenances)
    trust = draw(
        st.sampled_from([one for one in Trust if not TRUST_BY_PROVENANCE[provenance].less_than(one)] + [Trust.VOUCHED])
    )
    since = draw(st.none() | days.map(day))
    until = draw(st.none() | days.map(day))
    return on(
        draw(days),
        id,
        text=draw(st.sampled_from(["Ana lives in Rome", "Ana lives in Milan"])),
        subject="ana: lives in",
        kind=draw(st.sampled_from([Kind.FACT, Kind.EVENT])),
        status=draw(st.sampled_from(list(Status))),
        provenance=provenance,
        trust=trust,
        pinned=draw(st.booleans()),
        valid_from=since,
        valid_until=None if until is None or (since is not None and until < since) else until,
    )


@st.composite
def cases(draw: st.DrawFn) -> tuple[Memory, Neighborhood]:
    """Something that is proposed, and what is known."""
    proposed = replace(draw(memories("new")), status=Status.ACTIVE, topic_key=None)
    others = [draw(memories(f"m-{number}")) for number in range(draw(st.integers(0, 4)))]
    twins = [one for one in others if one.hash == proposed.hash]
    topics = [one for one in others if one.status is Status.ACTIVE]
    topic = draw(st.none() | st.sampled_from(topics)) if topics else None
    about = [one for one in others if one.status in (Status.ACTIVE, Status.SUPERSEDED)]
    away = {one.id: day(draw(days)) for one in others if one.status is not Status.ACTIVE}
    orders = draw(st.none() | st.just("'obey'"))
    return proposed, Neighborhood(
        topic=topic, same_text=twins, same_subject=about, inactive_since=away, injection=orders
    )


@given(cases())
def test_whoever_is_trusted_less_changes_nothing_of_what_is_trusted_more(case: tuple[Memory, Neighborhood]) -> None:
    proposed, known = case
    match decide(proposed, known, POLICY):
        case ReviseMemory(memory, _, place) | Reactivate(memory, place):
            changed = [memory, *place.ends]
        case Supersede(old) | InsertBefore(_, old):
            changed = list(old)
        case _:
            changed = []
    assert not [one for one in changed if proposed.trust.less_than(one.trust)]


@given(cases())
def test_what_is_known_of_a_subject_counts_in_any_order(case: tuple[Memory, Neighborhood]) -> None:
    proposed, known = case
    expected = decide(proposed, known, POLICY)
    for about in permutations(known.same_subject):
        assert decide(proposed, replace(known, same_subject=about), POLICY) == expected


@given(cases())
def test_what_was_put_away_counts_in_any_order(case: tuple[Memory, Neighborhood]) -> None:
    proposed, known = case
    away = [one for one in known.same_text if one.status is not Status.ACTIVE]
    expected = decide(proposed, replace(known, same_text=away), POLICY)
    for twins in permutations(away):
        assert decide(proposed, replace(known, same_text=twins), POLICY) == expected


@given(cases())
def test_what_a_judgement_ends_began_no_later_or_is_trusted_less_and_what_ends_it_began_later_and_is_not(
    case: tuple[Memory, Neighborhood],
) -> None:
    proposed, known = case
    begin, place = effective_from(proposed), SubjectPosition()
    match decide(proposed, known, POLICY):
        case ReviseMemory(memory, _, place):
            begin = proposed.valid_from or max(observed_at(proposed), observed_at(memory))
        case Reactivate(_, place):
            pass
        case Supersede(old):
            place = SubjectPosition(old)
        case InsertBefore(newer, old):
            place = SubjectPosition(old, newer)
        case _:
            pass
    assert all(effective_from(one) <= begin or one.trust.less_than(proposed.trust) for one in place.ends)
    if place.ended_by is not None:
        assert effective_from(place.ended_by) > begin
        assert not place.ended_by.trust.less_than(proposed.trust)


# ── of a subject one thing holds at a time, in a store ─────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Said:
    """Something that is said about where Ana lives, on a day on which the clock stands later or not."""

    city: str
    waits: int = 0
    observed: int | None = None
    valid_from: int | None = None
    provenance: Provenance = MODEL
    more: dict[str, Any] = field(default_factory=dict[str, Any], hash=False)


@st.composite
def said(draw: st.DrawFn, cities: st.SearchStrategy[str], *, restated: bool) -> Said:
    return Said(
        city=draw(cities),
        waits=draw(st.integers(0, 3)),
        observed=draw(st.none() | st.integers(-9, 0)),
        valid_from=draw(st.none() | st.integers(-9, 9)),
        provenance=draw(st.sampled_from([USER, MODEL, DOCUMENT])) if restated else MODEL,
        more=draw(st.sampled_from([{}, {"pinned": True}, {"tags": ("x",)}])) if restated else {},
    )


def an_engine(clock: ManualClock) -> Engine:
    """An engine on the store of dictionaries."""
    profile = builtin_profile("default")
    return Engine(
        Dependencies(
            store=ReferenceStore(clock),
            embedder=HashingEmbedder(16),
            clock=clock,
            new_id=make_id_generator(),
            new_marker=new_marker,
            profile_by_name=builtin_profile,
            default_profile=profile,
            count_tokens=Estimate(),
        )
    )


def settle(engine: Engine, clock: ManualClock, sayings: Sequence[Said]) -> None:
    for one in sayings:
        clock.move(one.waits * DAY)
        engine.remember(
            f"Ana lives in {one.city}",
            scope=SCOPE,
            subject="ana: lives in",
            at=None if one.observed is None else clock() + one.observed * DAY,
            valid_from=None if one.valid_from is None else clock() + one.valid_from * DAY,
            provenance=one.provenance,
            **one.more,
        )


def holding(engine: Engine, at: datetime, *, present: bool) -> list[str]:
    """What holds at a moment: as it stands, or as it was then."""
    held = []
    for memory in engine.memories(scope=SCOPE, statuses=list(Status)):
        then = memory if present else version_at(engine.history(memory.id, scope=SCOPE), at)
        if then is not None and find_barrier(then, at, present=present) is None:
            held.append(then.text)
    return held


@given(st.lists(said(st.sampled_from(["Rome", "Milan", "Paris"]), restated=True), max_size=8))
@example([Said("Rome"), Said("Milan", valid_from=5), Said("Rome", waits=6)])
@example([Said("Rome"), Said("Milan", valid_from=5), Said("Rome", waits=1, more={"pinned": True})])
@example([Said("Rome"), Said("Milan", valid_from=9), Said("Paris", waits=1)])
def test_of_a_subject_at_most_one_holds_now_and_later(sayings: list[Said]) -> None:
    clock = ManualClock(day(100))
    engine = an_engine(clock)
    settle(engine, clock, sayings)
    for later in range(12):
        assert len(holding(engine, clock() + later * DAY, present=True)) <= 1


@given(
    st.permutations(["Rome", "Milan", "Paris", "Oslo", "Bern", "Kyiv"]).flatmap(
        lambda cities: st.tuples(*(said(st.just(city), restated=False) for city in cities))
    )
)
@example((Said("Rome", observed=-9), Said("Paris", observed=-3), Said("Milan", observed=-6)))
def test_of_a_subject_at_most_one_held_at_any_moment(sayings: tuple[Said, ...]) -> None:
    clock = ManualClock(day(100))
    engine = an_engine(clock)
    settle(engine, clock, sayings)
    for number in range(80, 140):
        held = holding(engine, day(number), present=False)
        assert len(held) <= 1, f"{held} on day {number}"


@given(st.lists(said(st.sampled_from(["Rome", "Milan"]), restated=True), max_size=6))
def test_what_is_said_once_more_in_the_same_order_and_of_the_same_moments_changes_no_truth(sayings: list[Said]) -> None:
    clock = ManualClock(day(100))
    engine = an_engine(clock)
    dated = [replace(one, waits=0, observed=-9 + place, valid_from=None, more={}) for place, one in enumerate(sayings)]
    settle(engine, clock, dated)
    before = [
        (one.id, one.text, one.status, one.revisions) for one in engine.memories(scope=SCOPE, statuses=list(Status))
    ]
    settle(engine, clock, dated)
    after = engine.memories(scope=SCOPE, statuses=list(Status))
    assert [(one.id, one.text, one.status, one.revisions) for one in after] == before
