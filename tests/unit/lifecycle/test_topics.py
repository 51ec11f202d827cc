"""How much a topic matters, what it is called, and that it keeps its id while most of its memories stay."""

import math
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.tables import table

from recollect.lifecycle.topics import MIN_IMPORTANCE, TopicAssignments, TopicsPolicy, label_memories
from recollect.model.memory import MemoryId
from recollect.model.scope import Scope
from recollect.testing.builders import a_memory

POLICY = TopicsPolicy()
DAY = timedelta(days=1)
ANA = Scope.parse("acme/ana")


@table(
    ("days", "expected"),
    [
        (-5, 2 * math.log(4)),
        (0, 2 * math.log(4)),
        (1, 2 * math.log(4) * 2 ** (-1 / 30)),
        (4, 1.5 * math.log(4) * 2 ** (-4 / 30)),
        (7, math.log(4) * 2 ** (-7 / 30)),
        (30, math.log(4) / 2),
        (60, math.log(4) / 4),
        (10_000, MIN_IMPORTANCE),
    ],
)
def test_importance_is_halved_in_thirty_days_and_doubled_within_one(days: int, expected: float) -> None:
    assert POLICY.compute_importance(3, days * DAY) == pytest.approx(expected, rel=1e-12)


@given(st.integers(2, 10_000), st.timedeltas(-1000 * DAY, 100_000 * DAY), st.timedeltas(timedelta(0), 1000 * DAY))
def test_later_is_never_more_and_more_memories_are_never_less(count: int, since: timedelta, more: timedelta) -> None:
    now = POLICY.compute_importance(count, since)
    assert (
        MIN_IMPORTANCE
        <= POLICY.compute_importance(count, since + more)
        <= now
        <= POLICY.compute_importance(count + 1, since)
    )
    assert math.isfinite(now)


def test_it_is_pruned_after_ninety_days_and_not_on_the_ninetieth() -> None:
    assert not POLICY.is_pruned(90 * DAY)
    assert POLICY.is_pruned(90 * DAY + timedelta(microseconds=1))
    assert not POLICY.is_pruned(-DAY)


def ids(*names: str) -> list[MemoryId]:
    return [MemoryId(name) for name in names]


def regrouped(former: TopicAssignments, *groups: list[MemoryId]) -> dict[str, str]:
    """The id of each group, by the names of its members in a row."""
    return {"".join(members): id for id, members in former.regroup(ANA, groups).topics.items()}


EMPTY = TopicAssignments("t", {})
BEFORE = EMPTY.regroup(ANA, [ids("a", "b", "c"), ids("k", "l", "m", "n")])
FIRST, SECOND = BEFORE.topics


def test_the_same_again_is_the_same_and_reads_as_it_was_noted() -> None:
    assert BEFORE.regroup(ANA, [ids("k", "l", "m", "n"), ids("a", "b", "c")]).to_json() == BEFORE.to_json()
    assert TopicAssignments.read(BEFORE.to_json()) == BEFORE


def test_who_joins_or_leaves_leaves_it_the_same_topic_while_most_stay() -> None:
    again = regrouped(BEFORE, ids("b", "c", "x", "y", "z"), ids("l", "m", "n"))
    assert again == {"bcxyz": FIRST, "lmn": SECOND}


def test_of_one_that_falls_apart_the_larger_part_is_the_same_and_the_other_is_new() -> None:
    apart = regrouped(BEFORE, ids("k"), ids("l", "m", "n"))
    assert apart["lmn"] == SECOND
    assert apart["k"] not in (FIRST, SECOND)


def test_two_that_become_one_are_the_one_of_which_there_is_more() -> None:
    assert regrouped(BEFORE, ids("a", "b", "c", "k", "l", "m", "n")) == {"abcklmn": SECOND}


def test_without_a_note_it_has_the_same_id_by_its_oldest_memory_in_this_scope_alone() -> None:
    assert regrouped(EMPTY, ids("a", "q", "r")) == {"aqr": FIRST}
    assert FIRST not in EMPTY.regroup(Scope.parse("acme/ben"), [ids("a", "b", "c")]).topics


@given(
    st.lists(st.lists(st.integers(0, 25), min_size=1, max_size=6), max_size=6),
    st.lists(st.lists(st.integers(0, 25), min_size=1, max_size=6), max_size=6),
)
def test_every_group_has_one_id_and_nobody_is_lost(before: list[list[int]], after: list[list[int]]) -> None:
    former = EMPTY.regroup(ANA, _disjoint(before))
    groups = _disjoint(after)
    topics = former.regroup(ANA, groups).topics
    assert sorted(topics.values()) == sorted(map(tuple, groups))


def _disjoint(given: list[list[int]]) -> list[list[MemoryId]]:
    """Groups of which each has only members that none before it has."""
    met = set[int]()
    groups = list[list[MemoryId]]()
    for group in given:
        new = [one for one in dict.fromkeys(group) if one not in met]
        met.update(new)
        groups += [ids(*map(str, new))] if new else []
    return groups


def named(*texts: str, **more: str) -> tuple[str, tuple[str, ...]]:
    said = datetime(2026, 3, 2, tzinfo=UTC)
    return label_memories(
        [a_memory(f"m{place}", text=text, created_at=said, **more) for place, text in enumerate(texts)]
    )


def test_a_label_is_what_the_memories_have_in_common() -> None:
    label, keywords = named(
        "The ski trip to Zermatt costs 5,400 USD", "Ana books the ski trip in May", "A guide for the ski trip"
    )
    assert label.startswith("Ski trip")
    assert keywords[0] == "ski trip"


def test_who_says_all_of_it_is_not_what_it_is_about() -> None:
    label, _ = named("Ana: the vet saw Bruno", "Ana: the vet wants Bruno back", "Ana: the vet is far", speaker="Ana")
    assert "Ana" not in label
    assert "vet" in label.lower()


@table("text", ["???", "🙂🙂", "12 12", "\u200bx", "the of and"])
def test_memories_that_tell_nothing_have_a_label_all_the_same(text: str) -> None:
    label, _ = named(text, text, text)
    assert label.strip()
