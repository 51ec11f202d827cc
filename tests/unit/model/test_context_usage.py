"""Usage: what votes come to."""

from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from recollect.model.context import (
    MAX_COUNTED_VOTES,
    NO_USAGE,
    Usage,
    Use,
    Vote,
    anonymize_votes,
    count_votes,
    select_counted_votes,
    select_current_votes,
)
from recollect.model.memory import MemoryId
from recollect.testing import NOW
from tests.tables import table


def a_vote(place: int, use: Use, by: str = "ana") -> Vote:
    return Vote(context=f"c-{place:04}", memory=MemoryId("m"), by=by, use=use, at=NOW + timedelta(seconds=place))


@table(("helped", "misled"), [(1, 0), (0, 1), (3, 1)])
def test_usefulness_is_the_share_of_help_with_one_vote_of_each_added(helped: int, misled: int) -> None:
    assert Usage(helped=helped, misled=misled).usefulness == (helped + 1) / (helped + misled + 2)


def test_nobody_knows_the_usefulness_of_what_nobody_judged() -> None:
    assert NO_USAGE.usefulness is None


def test_of_one_principal_only_the_newest_few_count() -> None:
    old = [a_vote(place, Use.MISLED) for place in range(10_000)]
    new = [a_vote(10_000 + place, Use.HELPED) for place in range(MAX_COUNTED_VOTES - 1)]
    assert count_votes([*old, *new]) == (MAX_COUNTED_VOTES - 1, 1)


def test_every_principal_is_heard() -> None:
    assert count_votes([a_vote(0, Use.HELPED, by=name) for name in ("ana", "bob", "eva")]) == (3, 0)


def test_nothing_comes_of_no_votes() -> None:
    assert count_votes([]) == (0, 0)


votes = st.lists(
    st.builds(
        Vote,
        context=st.sampled_from(["x", "y", "z", "erased 1"]),
        memory=st.just(MemoryId("a")),
        by=st.sampled_from(["ana", "ben", "erased 1", "erased 2"]),
        use=st.sampled_from([Use.HELPED, Use.MISLED]),
        at=st.just(NOW),
    ),
    max_size=12,
)


@given(votes, st.sets(st.sampled_from(["x", "y"])))
def test_votes_without_names_are_as_many_and_say_the_same_and_no_longer_by_whom(
    cast: list[Vote], contexts: set[str]
) -> None:
    left = anonymize_votes(cast, contexts, "ana")
    assert [(one.use, one.at, one.memory) for one in left] == [(one.use, one.at, one.memory) for one in cast]
    assert not any(one.by == "ana" or one.context in contexts for one in left)
    assert len(select_current_votes(left)) == len(select_current_votes(cast))
    kept = [one for one in cast if one.by != "ana" and one.context not in contexts]
    assert [one for one, was in zip(left, cast, strict=True) if one == was] == kept


@given(votes)
def test_all_that_are_named_no_more_have_one_say_and_everybody_else_the_same(cast: list[Vote]) -> None:
    left = anonymize_votes(cast, (), "ana")
    before, after = select_counted_votes(select_current_votes(cast)), select_counted_votes(select_current_votes(left))
    nameless = [one for one in select_current_votes(left) if one.by != "ben"]
    assert [one for one in after if one.by == "ben"] == [one for one in before if one.by == "ben"]
    assert [one for one in after if one.by != "ben"] == nameless[: -MAX_COUNTED_VOTES - 1 : -1]
    assert anonymize_votes(left, (), "ana") == left


def test_the_newest_are_those_that_come_last_whatever_their_clocks_said() -> None:
    ahead = [a_vote(1_000 + place, Use.HELPED) for place in range(MAX_COUNTED_VOTES)]
    assert count_votes([*ahead, a_vote(0, Use.MISLED)]) == (MAX_COUNTED_VOTES - 1, 1)


def test_a_vote_stands_where_it_was_last_cast() -> None:
    first, again = a_vote(0, Use.HELPED), a_vote(0, Use.MISLED)
    others = [a_vote(place, Use.HELPED) for place in range(1, MAX_COUNTED_VOTES + 1)]
    assert select_current_votes([first, *others, again]) == [*others, again]
    assert count_votes(select_current_votes([first, *others, again])) == (MAX_COUNTED_VOTES - 1, 1)
