"""Commits of several roots, each counted by itself, become those of one store."""

from hypothesis import given
from hypothesis import strategies as st

from recollect.stores.postgres.store import number_commits


def test_numbers_that_do_not_clash_stay() -> None:
    assert number_commits([]) is None
    assert number_commits([("a", 1, 10), ("a", 2, 20)]) is None
    assert number_commits([("a", 1, 10), ("b", 2, 15), ("a", 3, 20)]) is None
    assert number_commits([("a", 1, 10), ("b", 1, 10)]) is None  # one commit that wrote to both


def test_those_that_clash_are_numbered_anew_in_the_order_of_recording() -> None:
    assert number_commits([("a", 1, 30), ("b", 1, 10), ("b", 2, 40)]) == {("b", 1): 1, ("a", 1): 2, ("b", 2): 3}


@given(st.dictionaries(st.tuples(st.sampled_from("abc"), st.integers(1, 9)), st.integers(0, 20)))
def test_within_a_root_the_order_stays_whatever_its_clock_did(commits: dict[tuple[str, int], int]) -> None:
    new = number_commits((root, number, at) for (root, number), at in commits.items())
    if new is None:
        return
    assert sorted(new.values()) == list(range(1, len(commits) + 1))
    for root in "abc":
        there = [new[place] for place in sorted(commits) if place[0] == root]
        assert there == sorted(there)
