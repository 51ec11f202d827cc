"""Curves, which map a quantity to 0..1, and fusions, which combine evidence into one relevance.

A curve is `exact` if it uses only sums, products, quotients and comparisons: every implementation gives the same bits.
"""

import math
from dataclasses import dataclass
from typing import Any, ClassVar

from recollect.errors import ProfileError
from recollect.model.candidate import Candidate


@dataclass(frozen=True, slots=True)
class Clamp:
    """The number itself, clamped to 0..1."""

    exact: ClassVar[bool] = True

    def __call__(self, quantity: float) -> float:
        return min(max(quantity, 0.0), 1.0)


@dataclass(frozen=True, slots=True)
class HalfLife:
    """1 at zero, ½ after one half-life, ¼ after two."""

    exact: ClassVar[bool] = False

    half: float

    def __post_init__(self) -> None:
        _require_positive("half_life", self.half)

    def __call__(self, quantity: float) -> float:
        return math.exp2(-(quantity / self.half))


@dataclass(frozen=True, slots=True)
class ExponentialDecay:
    """exp(-rate × quantity), for a source that gives λ instead of a half-life."""

    exact: ClassVar[bool] = False

    rate: float

    def __post_init__(self) -> None:
        _require_positive("rate_per_day", self.rate)

    def __call__(self, quantity: float) -> float:
        return math.exp(-(self.rate * quantity))


@dataclass(frozen=True, slots=True)
class LinearSaturation:
    """A straight line from 0 up to 1 at the cap; 1 above it."""

    exact: ClassVar[bool] = True

    cap: float

    def __post_init__(self) -> None:
        _require_positive("cap", self.cap)

    def __call__(self, quantity: float) -> float:
        return min(quantity / self.cap, 1.0)


@dataclass(frozen=True, slots=True)
class HyperbolicDecay:
    """1 / (1 + rate × quantity): 1 at zero, falling ever more slowly."""

    exact: ClassVar[bool] = True

    rate: float

    def __post_init__(self) -> None:
        _require_positive("rate", self.rate)

    def __call__(self, quantity: float) -> float:
        return 1.0 / (1.0 + self.rate * quantity)


Curve = Clamp | HalfLife | ExponentialDecay | LinearSaturation | HyperbolicDecay


def _require_positive(option: str, value: float) -> None:
    if not 0.0 < value < math.inf:
        raise ProfileError(f"{option} is {value!r}; give a finite number above 0")


MAX_LEXICAL_STRENGTH = 16
"""The highest `lexical_strength` that a profile may set."""


class _EvidenceReader:
    """Reads the evidence fields of a query from a candidate."""

    __slots__ = ()

    @property
    def evidence_fields(self) -> tuple[str, ...]:
        """The evidence fields that are read."""
        return ("similarity", "lexical")

    def missing_fields(self, candidate: Candidate) -> tuple[str, ...]:
        """Return the evidence fields that the candidate lacks."""
        return tuple(field for field in self.evidence_fields if getattr(candidate, field) is None)

    def read_evidence(self, candidate: Candidate) -> tuple[float, float] | None:
        """Return similarity and lexical match within 0..1; `None` if both are missing.

        If only one of them is missing, it is 0.
        """
        if len(self.missing_fields(candidate)) == len(self.evidence_fields):
            return None
        return min(max(candidate.similarity or 0.0, 0.0), 1.0), candidate.lexical or 0.0


@dataclass(frozen=True, slots=True)
class NoisyOr(_EvidenceReader):
    """Relevance by similarity or by terms: s + (1 - s) · (1 - (1 - l)ⁿ).

    Either kind of evidence is enough, and missing evidence counts 0. The lexical match (l) is applied
    `lexical_strength` times (n), because its values are lower than those of the similarity (s). The rule reads one
    candidate alone, so a relevance of 0.6 means the same for every query. It uses sums and products in a fixed order,
    so the columns give the same bits.
    """

    lexical_strength: int

    def __post_init__(self) -> None:
        if not 0 <= self.lexical_strength <= MAX_LEXICAL_STRENGTH:
            raise ProfileError(
                f"lexical_strength is {self.lexical_strength!r}; give a whole number within 0..{MAX_LEXICAL_STRENGTH}"
            )

    def __call__(self, candidate: Candidate) -> float | None:
        """Return the candidate's own relevance, else the fused one; `None` without evidence."""
        evidence = self.read_evidence(candidate)
        if candidate.relevance is not None or evidence is None:
            return candidate.relevance
        (similarity, lexical), doubt = evidence, 1.0
        for _ in range(self.lexical_strength):
            doubt *= 1.0 - lexical
        return min(similarity + (1.0 - similarity) * (1.0 - doubt), 1.0)

    @property
    def evidence_fields(self) -> tuple[str, ...]:
        return ("similarity", "lexical") if self.lexical_strength else ("similarity",)


@dataclass(frozen=True, slots=True)
class Blend(_EvidenceReader):
    """Weighted relevance: (a · s + b · l - o · s · l) / (1 - o), with a + b = 1.

    Similarity (s) and lexical match (l) partly measure the same, so `overlap` (o) subtracts some of their product;
    full evidence of both is still 1. Like `NoisyOr`, it reads one candidate alone, and the columns give the same bits.
    """

    lexical_share: float
    overlap: float = 0.0

    def __post_init__(self) -> None:
        if not 0.0 <= self.lexical_share <= 1.0:
            raise ProfileError(f"lexical_share is {self.lexical_share!r}; give a number within 0..1")
        max_overlap = min(self.lexical_share, 1.0 - self.lexical_share)
        if not 0.0 <= self.overlap <= max_overlap:
            raise ProfileError(
                f"overlap is {self.overlap!r}; give at most {max_overlap:g}, or more evidence would count less"
            )

    def __call__(self, candidate: Candidate) -> float | None:
        """Return the candidate's own relevance, else the blended one; `None` without evidence."""
        evidence = self.read_evidence(candidate)
        if candidate.relevance is not None or evidence is None:
            return candidate.relevance
        similarity, lexical = evidence
        mixed: float = self.blend(similarity, lexical)
        return min(mixed, 1.0)

    def blend(self, similarity: Any, lexical: Any) -> Any:
        """Apply the formula to numbers or to columns."""
        both = (1.0 - self.lexical_share) * similarity + self.lexical_share * lexical
        return (both - self.overlap * (similarity * lexical)) / (1.0 - self.overlap)


Fusion = NoisyOr | Blend
"""A rule that combines the evidence into one relevance."""
