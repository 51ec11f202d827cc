"""Merging rankings: of one scheme by score, of different schemes by rank."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from recollect.errors import InvalidInput, SchemesDiffer
from recollect.model.memory import MemoryId
from recollect.ranking.proof import Proof, StopReason
from recollect.ranking.result import PRUNED, Ranking, Scored, order_exclusions

RANK_CONSTANT = 60
"""How flat the top of a rank fusion is; the value of its authors (Cormack, Clarke and Büttcher 2009)."""


@dataclass(frozen=True, slots=True)
class Fused:
    """A candidate with its place in each ranking (`None` where it is not in) and what the places give."""

    scored: Scored
    places: tuple[int | None, ...]
    constant: int = RANK_CONSTANT

    def __repr__(self) -> str:
        return f"<Fused {self.score:.4f} from places {self.places}: {self.scored}>"

    @property
    def id(self) -> MemoryId:
        return self.scored.id

    @property
    def score(self) -> float:
        """Σ 1 / (constant + place): it says nothing about relevance, only about places."""
        return math.fsum(1.0 / (self.constant + place) for place in self.places if place is not None)


def merge(*rankings: Ranking) -> Ranking:
    """One ranking of several that share a profile and a moment; the same memory may be in more than one.

    It is exact if no ranking was cut short and the profile looks at one candidate at a time.
    """
    if not rankings:
        raise InvalidInput("there is nothing to merge; give at least one ranking")
    first = rankings[0]
    for other in rankings[1:]:
        if other.scheme != first.scheme:
            raise SchemesDiffer(
                f"scores of {first.scheme} and of {other.scheme} are on different scales; "
                "merge them by rank, with recollect.fuse"
            )
    scored = {one.id: one for ranking in rankings for one in ranking}
    for ranking in rankings:
        for one in ranking:
            if one.score != scored[one.id].score:
                raise InvalidInput(f"{one.id!r} has two scores; rank all candidates together instead")
    excluded = sum((Counter(ranking.excluded) for ranking in rankings), Counter[str]())
    whole = not excluded["limit"] and not excluded[PRUNED] and not first.scheme.profile.set_signals
    return Ranking(
        scheme=first.scheme,
        scored=tuple(sorted(scored.values(), key=lambda one: (-one.score, one.id))),
        proof=first.proof if len(rankings) == 1 else _merge_proofs([one.proof for one in rankings], whole=whole),
        excluded=order_exclusions(first.scheme.profile, excluded),
    )


def _merge_proofs(proofs: Sequence[Proof], *, whole: bool) -> Proof:
    """What several rankings looked at."""
    stopped = StopReason.EVERY if whole and all(proof.exact for proof in proofs) else StopReason.CUT
    return Proof(stopped, sum(one.scanned for one in proofs), sum(one.eligible for one in proofs))


def fuse(*rankings: Ranking, constant: int = RANK_CONSTANT) -> tuple[Fused, ...]:
    """The candidates of several rankings by their places (reciprocal rank fusion), then by id.

    This is how lists of different profiles come together; their scores never do.
    """
    if constant < 1:
        raise InvalidInput(f"the rank constant is {constant!r}; give at least 1")
    places = [{one.id: place for place, one in enumerate(r, start=1)} for r in rankings]
    first_seen: dict[MemoryId, Scored] = {}
    for ranking in rankings:
        for one in ranking:
            first_seen.setdefault(one.id, one)
    fused = [Fused(one, tuple(p.get(id) for p in places), constant) for id, one in first_seen.items()]
    return tuple(sorted(fused, key=lambda one: (-one.score, one.id)))
