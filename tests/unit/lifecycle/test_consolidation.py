"""Which memories can become one: those that agree word by word with the one that speaks for them, and nobody else."""

import json
from collections import Counter
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.tables import table

from recollect.errors import FieldError
from recollect.evaluation.duplicates import shipped_pairs
from recollect.lifecycle.consolidation import (
    MAX_GROUP_MEMORIES,
    Consolidation,
    ConsolidationPolicy,
    find_consolidation,
    raise_importance,
)
from recollect.model.enums import Kind, Provenance
from recollect.model.memory import Memory, MemoryId
from recollect.testing.builders import NOW, a_memory

UNSEEN = Path(__file__).parents[2] / "integration" / "unseen_pairs.jsonl"

WORKS = "User works for Samsung", "User works for Samsung as a designer", "User works for Samsung as a chip designer"

CONTRADICTING = [
    ("The standup begins at 10", "The standup begins at 11"),
    ("The budget is 900 euros", "The budget is 900 dollars"),
    ("The rent is due on 3 May", "The rent is due on 5 May"),
    ("Ana lives in Argentina", "Ana lives in Armenia"),
    ("The gate of the flight is B12", "The gate of the flight is B21"),
    ("User eats meat", "User does not eat meat"),
    ("User loves her new job", "User hates her new job"),
    ("User prefers tabs over spaces", "User prefers spaces over tabs"),
    ("The flag new_checkout is on", "The flag new_checkout is off"),
    ("All tests pass", "Some tests pass"),
    ("The door must be locked", "The door may be locked"),
    ("User takes 5 mg of the drug", "User takes 5 g of the drug"),
    ("User is paid weekly", "User is paid monthly"),
]
"""Two that cannot both be true: numbers, units, dates, names, negation, opposites, order, quantity, modality."""

TURNED = [
    ("User eats meat", "User eats meat when travelling"),
    ("User is a vegetarian", "User's wife is a vegetarian"),
    ("Siti is coming", "User asked whether Siti is coming"),
    ("Fatou is head of the school", "Fatou is deputy head of the school"),
    ("User has learned to sail", "User wants to have learned to sail"),
]
"""Two of which the second has all words of the first, and says something else."""


def decide(
    memories: list[Memory], *, least: int = 3, made: tuple[str, ...] = (), at_odds: bool = False
) -> Consolidation:
    """What becomes of memories that are all near each other."""
    everybody = range(len(memories))
    near = [[other for other in everybody if other != one] for one in everybody]
    return find_consolidation(
        memories, near, least=least, made=[MemoryId(one) for one in made], conflicts=lambda _, __: at_odds
    )


def sayings(*texts: str, **given: Any) -> list[Memory]:
    return [a_memory(f"m{place}", text=text, **given) for place, text in enumerate(texts)]


def test_the_one_that_says_all_that_the_others_say_speaks_for_them() -> None:
    (group,) = decide(sayings(*WORKS)).groups
    assert group.lead.text == WORKS[2]
    assert [one.id for one in group.members] == ["m0", "m1", "m2"]


def test_of_those_that_say_just_the_same_the_newest_speaks() -> None:
    memories = [a_memory(f"m{day}", created_at=NOW - abs(day - 1) * timedelta(days=1)) for day in range(3)]
    (group,) = decide(memories).groups
    assert group.lead.id == "m1"


def test_fewer_than_the_least_stay_and_it_is_said_why() -> None:
    found = decide(sayings(*WORKS[:2], "The dog sleeps all day"))
    assert found.groups == ()
    assert {one.memory.id for one in found.unmerged} == {"m0", "m1", "m2"}
    assert all(one.reason.startswith("too few memories say the same: ") for one in found.unmerged)


@table(("one", "other"), CONTRADICTING)
def test_what_contradicts_is_never_put_together_and_neither_of_the_two_takes_part(one: str, other: str) -> None:
    memories = sayings(one, f"{one}!", f"{one}.", other)
    found = decide(memories)
    assert found.groups == ()
    assert "may contradict what is near it: " in found.unmerged[3].reason


@table(("one", "other"), TURNED)
def test_what_could_turn_a_sentence_is_no_addition_to_it(one: str, other: str) -> None:
    groups = decide(sayings(one, other), least=2).groups
    assert groups == ()


@table(
    "differing",
    [
        {"kind": Kind.FACT},
        {"speaker": "Ben"},
        {"provenance": Provenance.TOOL_EXTERNAL},
        {"shared": True},
        {"valid_until": NOW + timedelta(days=1)},
        {"subject": "ana: works at"},
        {"pinned": True},
        {"topic_key": "work"},
    ],
)
def test_who_stands_otherwise_is_not_spoken_for(differing: dict[str, Any]) -> None:
    memories = [*sayings(*WORKS[:2]), a_memory("m2", text=WORKS[2], **differing)]
    found = decide(memories)
    assert found.groups == ()
    assert found.unmerged[2].reason


def test_two_of_one_subject_that_cannot_both_be_true_are_left_whatever_their_words() -> None:
    found = decide(sayings(*WORKS, subject="user: works at"), at_odds=True)
    assert found.groups == ()
    assert {one.reason for one in found.unmerged} == {
        "may contradict what is near it: both are of the subject 'user: works at'"
    }


def labelled(path: Path | None) -> list[tuple[str, str, str]]:
    """Pairs that somebody labelled: the two texts, and whether they are the same, an update, or something else."""
    if path is None:
        return [(one.old, one.new, one.label) for one in shipped_pairs()]
    found = map(json.loads, path.read_text(encoding="utf-8").splitlines())
    return [(one["old"], one["new"], one["label"]) for one in found]


@table(("path", "same", "others"), [(None, 90, 5), (UNSEEN, 24, 1)], ids=["ours", "unseen"])
def test_of_all_labelled_pairs_no_update_is_put_together(path: Path | None, same: int, others: int) -> None:
    """Also where they are not near each other. In each of the others, one text says all of the other, and more."""
    taken = Counter(label for old, new, label in labelled(path) if decide(sayings(old, new), least=2).groups)
    assert taken["update"] == 0
    assert taken["same"] >= same
    assert taken["other"] <= others


def test_nothing_is_passed_on_so_whoever_is_spoken_for_is_near_the_one_that_speaks() -> None:
    memories = sayings(*["The office opens early in the morning"] * 5)
    chain = [[1], [0, 2], [1, 3], [2, 4], [3]]
    found = find_consolidation(memories, chain, least=3, made=(), conflicts=lambda _, __: False)
    for group in found.groups:
        lead = memories.index(group.lead)
        assert {memories.index(one) for one in group.others} <= set(chain[lead])
    assert len(found.groups) == 1


def test_what_was_made_of_others_speaks_for_more_and_is_not_spoken_for() -> None:
    (group,) = decide(sayings(*WORKS), made=("m2",)).groups
    assert group.lead.id == "m2"
    assert decide(sayings(*WORKS), made=("m0",)).groups == ()


def test_no_more_become_one_than_a_memory_can_name_and_the_rest_is_told() -> None:
    found = decide(sayings(*["The office opens early"] * (MAX_GROUP_MEMORIES + 2)))
    assert [len(group.members) for group in found.groups] == [MAX_GROUP_MEMORIES]
    assert {one.reason for one in found.unmerged} == {
        f"more than {MAX_GROUP_MEMORIES} memories say the same; the next run continues"
    }


@table(
    ("importances", "made", "expected"),
    [
        ((0.2, 0.5), (), 0.5 + 0.1),
        ((0.95, 0.5), (), 1.0),
        ((None, None), (), 0.5 + 0.1),
        ((0.6, 0.5), ("m0",), 0.5 + 0.1),
        ((0.6, 0.2), ("m0",), 0.6),
        ((0.6, 0.6), ("m0", "m1"), 0.6),
    ],
)
def test_the_one_is_more_important_than_any_of_them_and_only_once(
    importances: tuple[float | None, ...], made: tuple[str, ...], expected: float
) -> None:
    memories = [a_memory(f"m{place}", importance=one) for place, one in enumerate(importances)]
    assert raise_importance(memories, [MemoryId(one) for one in made]) == expected


@given(st.lists(st.sampled_from([*WORKS, *(text for pair in CONTRADICTING[:4] for text in pair)]), max_size=9))
def test_each_memory_is_in_one_group_or_left_or_near_too_few(texts: list[str]) -> None:
    memories = sayings(*texts)
    found = decide(memories)
    named = [one.id for group in found.groups for one in group.members] + [one.memory.id for one in found.unmerged]
    assert sorted(named) == sorted(set(named))
    assert len(named) == (len(memories) if len(memories) >= 3 else 0)


@table("given", [{"threshold": 0.0}, {"threshold": 1.5}, {"least": 1}, {"least": 65}, {"more_than": -1}])
def test_a_policy_that_makes_no_sense_is_refused(given: dict[str, Any]) -> None:
    with pytest.raises(FieldError):
        ConsolidationPolicy(**given)
