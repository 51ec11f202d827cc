"""A context that was made again says at a prompt whether it is what it was."""

from recollect.model.context import DifferenceKind, ReplayDifference
from recollect.packing.budget import Budget
from recollect.packing.pack import Replay, pack
from recollect.packing.prompt import Prompt
from recollect.testing import a_memory, a_ranking
from tests.unit.packing.counters import Letters


def test_it_is_identical_if_nothing_differs() -> None:
    context = pack(a_ranking([a_memory("a")]), Budget(2_000), Prompt("0123456789abcdef", Letters()))
    same, other = (
        Replay(context, ()),
        Replay(context, (ReplayDifference(DifferenceKind.ERASED), ReplayDifference(DifferenceKind.TEXT))),
    )
    assert (same.identical, repr(same)) == (True, "<Replay of None: identical>")
    assert (other.identical, repr(other)) == (False, "<Replay of None: 2 differences>")
