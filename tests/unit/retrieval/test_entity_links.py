"""Linking: what names tell, and that columns say what the formulas say, to the last bit."""

import math
from random import Random

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from recollect.retrieval.entity_links import (
    HOP_WEIGHT,
    MAX_SHARED_MEMORIES,
    MIN_SHARED_LIMIT,
    EntityIndex,
    EntityLink,
    can_link,
    link_memories,
    match_names,
    rarity,
)
from tests.tables import table

NAMES = ["ana", "ana souza", "ana lima", "access bank", "rio", "lima", "nasa", "x"]
memories = st.lists(st.lists(st.sampled_from(NAMES), max_size=4, unique=True), min_size=1, max_size=30)


def index(mentioned: list[list[str]]) -> EntityIndex:
    numbers = {name: number for number, name in enumerate(reversed(NAMES))}
    pairs = [(row, numbers[name]) for row, names in enumerate(mentioned) for name in names]
    rows, codes = np.array(pairs, dtype=np.intp).reshape(-1, 2).T
    return EntityIndex.of(len(mentioned), numbers, rows, codes)


@given(
    memories,
    st.lists(st.sampled_from([*NAMES, "souza", "bank", "nobody"]), max_size=4),
    st.randoms(use_true_random=False),
)
def test_columns_say_what_the_formula_says(mentioned: list[list[str]], asked: list[str], chance: Random) -> None:
    open = np.array([chance.random() < 0.8 for _ in mentioned])
    for eligible in (None, open):
        here = {row: names for row, names in enumerate(mentioned) if eligible is None or eligible[row]}
        expected = {row: (link.value, link.path) for row, link in link_memories(here, asked).items()}
        found = index(mentioned).link_rows(asked, eligible)
        values, labels = found or (np.full(len(mentioned), np.nan), None)
        paths = [None] * len(mentioned) if labels is None else labels.tolist()
        assert {row: (value, paths[row]) for row, value in enumerate(values.tolist()) if value == value} == expected
        assert [row for row, path in enumerate(paths) if path is not None] == sorted(expected)
        assert all(0.0 < value <= 1.0 for value, _ in expected.values())
        assert index(mentioned).names_by_row(eligible) == {row: sorted(names) for row, names in here.items()}


def test_a_name_tells_everything_if_one_memory_has_it_and_nothing_if_all_have() -> None:
    assert [rarity(1, count) for count in (1, 2, 1000)] == [1.0, 1.0, 1.0]
    assert [rarity(count, count) for count in (2, 1000)] == [0.0, 0.0]
    assert rarity(10, 1000) == math.log(100) / math.log(1000)
    assert [can_link(times, 10_000) for times in (1, 2, MAX_SHARED_MEMORIES, MAX_SHARED_MEMORIES + 1)] == [
        False,
        True,
        True,
        False,
    ]
    assert [can_link(times, 10) for times in (MIN_SHARED_LIMIT, MIN_SHARED_LIMIT + 1)] == [True, False]
    assert [can_link(times, 100) for times in (10, 11)] == [True, False]


def test_a_memory_counts_by_what_it_has_of_the_names_of_a_question() -> None:
    mentioned = {0: ["ana", "rio"], 1: ["ana"], 2: ["rio"], 3: ["rio"], 4: []}
    ana, rio = rarity(2, 5), rarity(3, 5)
    total = math.fsum([ana, rio])
    both = link_memories(mentioned, ["ana", "rio", "nobody"])
    assert both[0] == EntityLink(ana * ana / total + rio * rio / total, "ana")
    assert both[1] == EntityLink(ana * ana / total, "ana")
    assert link_memories(mentioned, ["ana"])[1] == EntityLink(ana * ana / ana, "ana")
    assert (
        link_memories(mentioned, ["nobody"])
        == link_memories({}, ["ana"])
        == link_memories({0: ["ana"], 1: ["ana"]}, ["ana"])
        == {}
    )


def test_one_memory_leads_to_another_by_a_name_that_few_mention() -> None:
    mentioned = {0: ["ana", "access bank"], 1: ["access bank"], 2: ["rio"], 3: []}
    found = link_memories(mentioned, ["ana"])
    assert found == {0: EntityLink(1.0, "ana"), 1: EntityLink(HOP_WEIGHT * 1.0 * rarity(2, 4), "ana", "access bank")}
    assert found[1].path == "ana → access bank"
    common = {row: ["access bank"] for row in range(MIN_SHARED_LIMIT)} | {9: ["ana", "access bank"]}
    assert link_memories(common, ["ana"]) == {9: EntityLink(1.0, "ana")}


@table(
    ("asked", "known", "found"),
    [
        (["ana"], ["ana souza", "rio"], ["ana souza"]),
        (["ana"], ["ana souza", "ana lima"], []),
        (["ana"], ["ana", "ana souza"], ["ana", "ana souza"]),
        (["ana souza", "ana", "souza"], ["ana souza", "ana lima"], ["ana souza"]),
        (["the", "of"], ["the bank of rio"], []),
        (["an"], ["ana souza"], []),
    ],
)
def test_a_word_means_the_only_name_that_has_it(asked: list[str], known: list[str], found: list[str]) -> None:
    several = [name for name in known if " " in name]
    assert match_names(asked, known.count, lambda word: [name for name in several if word in name.split()]) == found
