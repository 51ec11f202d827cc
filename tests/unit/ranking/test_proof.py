"""What a proof says: whether it is exact, of how many, and why."""

from dataclasses import replace

from recollect.cli import formatting
from recollect.ranking.result import STOP_DESCRIPTIONS, Proof, StopReason
from recollect.testing import a_memory, a_ranking
from tests.tables import table


@table(
    ("stopped", "exact"),
    [(StopReason.EVERY, True), (StopReason.BOUND, True), (StopReason.INDEX, False), (StopReason.CUT, False)],
)
def test_it_is_exact_unless_an_index_or_another_ranking_was_taken_at_its_word(stopped: StopReason, exact: bool) -> None:
    proof = Proof(stopped, 12, 3_400)
    assert proof.exact is exact
    assert str(proof) == f"{'exact' if exact else 'not exact'}, 12 of 3,400 scored: {STOP_DESCRIPTIONS[stopped]}"


def test_every_reason_is_said_in_words() -> None:
    assert STOP_DESCRIPTIONS.keys() == set(StopReason)


def test_people_are_told_of_it_where_not_all_were_looked_at() -> None:
    every = a_ranking([a_memory("a")])
    assert formatting.tally_ranking(every) == "1 ranked"
    some = replace(every, proof=Proof(StopReason.INDEX, 1, 9), excluded={"unseen": 8})
    assert formatting.tally_ranking(some) == f"1 ranked, left out: 8 by unseen; {some.proof}"
