"""Usage: what votes come to."""

from datetime import timedelta

import pytest

from recollect.model.memory import MemoryId
from recollect.model.usage import UNUSED, VOTES_THAT_COUNT, Usage, Use, Vote, tally_votes
from recollect.testing import NOW


def a_vote(place: int, use: Use, by: str = "ana") -> Vote:
    return Vote(context=f"c-{place:04}", memory=MemoryId("m"), by=by, use=use, at=NOW + timedelta(seconds=place))


@pytest.mark.parametrize(("helped", "misled"), [(1, 0), (0, 1), (3, 1)])
def test_usefulness_is_the_share_of_help_with_one_vote_of_each_added(helped: int, misled: int) -> None:
    assert Usage(helped=helped, misled=misled).usefulness == (helped + 1) / (helped + misled + 2)


def test_nobody_knows_the_usefulness_of_what_nobody_judged() -> None:
    assert UNUSED.usefulness is None


def test_of_one_principal_only_the_newest_few_count() -> None:
    old = [a_vote(place, Use.MISLED) for place in range(10_000)]
    new = [a_vote(10_000 + place, Use.HELPED) for place in range(VOTES_THAT_COUNT - 1)]
    assert tally_votes([*new, *old]) == (VOTES_THAT_COUNT - 1, 1)


def test_every_principal_is_heard() -> None:
    assert tally_votes([a_vote(0, Use.HELPED, by=name) for name in ("ana", "bob", "eva")]) == (3, 0)


def test_nothing_comes_of_no_votes() -> None:
    assert tally_votes([]) == (0, 0)
