"""Rankings: scored candidates, best first, of one profile and one moment.

A ranking has a proof: how many candidates were scored and whether that is exact. `merge` joins rankings of one scheme
by score; `fuse` joins rankings of different schemes by rank.
"""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from enum import StrEnum
from typing import overload

from recollect.errors import InvalidInput, SchemesDiffer
from recollect.model.candidate import Candidate
from recollect.model.format import format_left_out, make_printable, shorten
from recollect.model.memory import Memory, MemoryId
from recollect.ranking.explanation import Explanation
from recollect.ranking.profile import Profile


class Exact(StrEnum):
    """Whether a ranking must be exact, or may use an approximate index and say so."""

    REQUIRED = "required"
    PREFERRED = "preferred"


class StopReason(StrEnum):
    """Why no other candidate was scored."""

    EVERY = "every"
    BOUND = "bound"
    INDEX = "index"
    CUT = "cut"


STOP_DESCRIPTIONS: Mapping[StopReason, str] = {
    StopReason.EVERY: "every eligible memory was scored",
    StopReason.BOUND: "no other memory could be among the best, even with the highest similarity",
    StopReason.INDEX: "no other memory could be among the best, unless the approximate index missed a nearer one",
    StopReason.CUT: "it was merged from rankings of different candidates",
}


@dataclass(frozen=True, slots=True)
class Proof:
    """How many eligible candidates were scored, and why that was enough."""

    stopped: StopReason
    scanned: int
    eligible: int

    @classmethod
    def scan(cls, eligible: int) -> "Proof":
        """Return the proof that all candidates were scored."""
        return cls(StopReason.EVERY, eligible, eligible)

    @property
    def exact(self) -> bool:
        """Whether no other candidate can be among the best."""
        return self.stopped in (StopReason.EVERY, StopReason.BOUND)

    @property
    def why(self) -> str:
        return STOP_DESCRIPTIONS[self.stopped]

    def __str__(self) -> str:
        exact = "exact" if self.exact else "not exact"
        return f"{exact}, {self.scanned:,} of {self.eligible:,} scored: {self.why}"


PRUNED = "unseen"
"""The exclusion reason of candidates that cannot be among the best and were not scored."""

MAX_LISTED = 20
"""How many candidates the text form of a ranking lists."""


@dataclass(frozen=True, slots=True)
class Scheme:
    """The profile and the moment that a score was computed for; scores of two schemes cannot be compared."""

    profile: Profile
    at: datetime

    def __str__(self) -> str:
        return f"{self.profile.name} {self.profile.version} at {self.at.isoformat()}"

    def __repr__(self) -> str:
        return f"<Scheme {self}>"


class Score(float):
    """A number within 0..1 that compares only with plain numbers and scores of its own scheme."""

    __slots__ = ("_scheme",)
    _scheme: Scheme

    def __new__(cls, value: float, scheme: Scheme) -> "Score":
        score = super().__new__(cls, value)
        score._scheme = scheme
        return score

    @property
    def scheme(self) -> Scheme:
        """The profile and the moment of the score; read-only."""
        return self._scheme

    def __reduce__(self) -> tuple[type["Score"], tuple[float, Scheme]]:
        return Score, (float(self), self.scheme)

    def _require_same_scheme(self, other: object) -> None:
        if isinstance(other, Score) and other.scheme != self.scheme:
            raise SchemesDiffer(
                f"a score of {self.scheme} cannot be compared with one of {other.scheme}; "
                "merge their rankings with recollect.fuse"
            )

    def __lt__(self, other: float) -> bool:
        self._require_same_scheme(other)
        return super().__lt__(other)

    def __le__(self, other: float) -> bool:
        self._require_same_scheme(other)
        return super().__le__(other)

    def __gt__(self, other: float) -> bool:
        self._require_same_scheme(other)
        return super().__gt__(other)

    def __ge__(self, other: float) -> bool:
        self._require_same_scheme(other)
        return super().__ge__(other)

    def __eq__(self, other: object) -> bool:
        self._require_same_scheme(other)
        return super().__eq__(other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = float.__hash__


@dataclass(frozen=True, slots=True)
class Scored:
    """A candidate with its explanation and the score that follows from it."""

    candidate: Candidate
    explanation: Explanation
    score: Score

    @classmethod
    def of(cls, candidate: Candidate, explanation: Explanation, scheme: Scheme) -> "Scored":
        return cls(candidate, explanation, Score(explanation.score, scheme))

    def __str__(self) -> str:
        memory, text = self.candidate.memory, ""
        if memory is not None:
            ends = memory.valid_until
            until = "" if ends is None else f"[until {ends.astimezone(UTC).date().isoformat()}] "
            text = f"  {until}{shorten(memory.text)}"
        return f"{float(self.score):.3f}  {make_printable(self.id)}{text}"

    def __repr__(self) -> str:
        return f"<Scored {self}>"

    @property
    def id(self) -> MemoryId:
        return self.candidate.id

    @property
    def memory(self) -> Memory:
        """The candidate's memory; refused if the candidate was ranked without one."""
        if self.candidate.memory is None:
            raise InvalidInput(f"candidate {self.id!r} was ranked without its memory, so it has no text")
        return self.candidate.memory


def format_listing(heading: str, scored: Sequence[Scored]) -> str:
    """Return the heading and a line for each of the first candidates."""
    lines = [f"{place:>3}. {one}" for place, one in enumerate(scored[:MAX_LISTED], start=1)]
    more = [f"     … and {len(scored) - MAX_LISTED} more"] if len(scored) > MAX_LISTED else []
    return "\n".join([heading, *lines, *more])


def order_exclusions(profile: Profile, counts: Mapping[str, int]) -> dict[str, int]:
    """Return the counts of exclusions in the order of the steps, without zeros."""
    steps = [*(f"gate:{gate.signal.name}" for gate in profile.gates), "min_score", "limit", PRUNED]
    return {step: counts[step] for step in steps if counts.get(step, 0) > 0}


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranking:
    """Candidates sorted by score, best first, then by id.

    `excluded` counts the candidates that are left out, by reason: "gate:relevance", "min_score", "limit". `proof`
    says how many were scored, and why that was enough. `rows` are the candidates' rows in the table that was ranked,
    until their memories are loaded.
    """

    scheme: Scheme
    scored: tuple[Scored, ...]
    proof: Proof
    excluded: Mapping[str, int] = field(default_factory=dict[str, int])
    rows: tuple[int, ...] = field(default=(), compare=False)

    def with_memories(self, memories: Sequence[Memory | None]) -> "Ranking":
        """Return the ranking with the memories of its rows, without those that were erased meanwhile."""
        scored = tuple(
            replace(one, candidate=one.candidate.with_memory(memory))
            for one, memory in zip(self.scored, memories, strict=True)
            if memory is not None
        )
        return replace(self, scored=scored, rows=())

    def __repr__(self) -> str:
        exact = "" if self.exact else ", not exact"
        return format_listing(
            f"<Ranking of {len(self)} by {self.scheme}{exact}{format_left_out(self.excluded)}>", self.scored
        )

    @property
    def exact(self) -> bool:
        """Whether these are proven to be the best of all eligible candidates."""
        return self.proof.exact

    @property
    def profile(self) -> str:
        return self.scheme.profile.name

    @property
    def version(self) -> str:
        return self.scheme.profile.version

    @property
    def at(self) -> datetime:
        return self.scheme.at

    def __iter__(self) -> Iterator[Scored]:
        return iter(self.scored)

    def __len__(self) -> int:
        return len(self.scored)

    @overload
    def __getitem__(self, index: int) -> Scored: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Scored, ...]: ...
    def __getitem__(self, index: int | slice) -> Scored | tuple[Scored, ...]:
        return self.scored[index]


RANK_CONSTANT = 60
"""The constant of rank fusion; with a larger one, the first places differ less.

The value is that of its authors (Cormack, Clarke and Büttcher 2009).
"""


@dataclass(frozen=True, slots=True)
class Fused:
    """A candidate with its place in each ranking, or `None`, and the score of these places."""

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
        """Σ 1 / (constant + place); a measure of places, not of relevance."""
        return math.fsum(1.0 / (self.constant + place) for place in self.places if place is not None)


def merge(*rankings: Ranking) -> Ranking:
    """Merge rankings that share a profile and a moment; a memory may be in several.

    The result is exact if no ranking was cut short and the profile scores each candidate alone.
    """
    if not rankings:
        raise InvalidInput("no rankings to merge; give at least one")
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
    complete = not excluded["limit"] and not excluded[PRUNED] and not first.scheme.profile.set_signals
    return Ranking(
        scheme=first.scheme,
        scored=tuple(sorted(scored.values(), key=lambda one: (-one.score, one.id))),
        proof=first.proof if len(rankings) == 1 else _merge_proofs([one.proof for one in rankings], complete=complete),
        excluded=order_exclusions(first.scheme.profile, excluded),
    )


def _merge_proofs(proofs: Sequence[Proof], *, complete: bool) -> Proof:
    """Return the proof of the merged ranking."""
    stopped = StopReason.EVERY if complete and all(proof.exact for proof in proofs) else StopReason.CUT
    return Proof(stopped, sum(one.scanned for one in proofs), sum(one.eligible for one in proofs))


def fuse(*rankings: Ranking, constant: int = RANK_CONSTANT) -> tuple[Fused, ...]:
    """Sort the candidates of several rankings by reciprocal rank fusion, then by id.

    This joins rankings of different profiles, whose scores cannot be compared.
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
