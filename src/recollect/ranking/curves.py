"""Curves: the arithmetic of a signal, a quantity → 0..1.

A curve is `exact` if sums, products and comparisons make it: every engine then gives the same bits.

Fusion: evidence on several scales → one relevance.
"""

import math
from dataclasses import dataclass
from typing import Any, ClassVar

from recollect.errors import ProfileError
from recollect.model.candidate import Candidate


@dataclass(frozen=True, slots=True)
class Clamp:
    """The number itself, held within 0..1."""

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
    """exp(-rate × quantity): the literal λ of a source that names no half-life."""

    exact: ClassVar[bool] = False

    rate: float

    def __post_init__(self) -> None:
        _require_positive("rate_per_day", self.rate)

    def __call__(self, quantity: float) -> float:
        return math.exp(-(self.rate * quantity))


@dataclass(frozen=True, slots=True)
class LinearSaturation:
    """A straight line from 0 to 1 at the cap, and 1 from there on."""

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


class _EvidenceReader:
    """What a question finds by, and which of that found nothing."""

    __slots__ = ()

    @property
    def evidence_fields(self) -> tuple[str, ...]:
        """The arms that are heard."""
        return ("similarity", "lexical")

    def missing_fields(self, candidate: Candidate) -> tuple[str, ...]:
        """The arms that found nothing for this candidate."""
        return tuple(arm for arm in self.evidence_fields if getattr(candidate, arm) is None)

    def read_evidence(self, candidate: Candidate) -> tuple[float, float] | None:
        """What both arms found, held within 0..1, and 0 where one found nothing; `None` if none did."""
        if len(self.missing_fields(candidate)) == len(self.evidence_fields):
            return None
        return min(max(candidate.similarity or 0.0, 0.0), 1.0), candidate.lexical or 0.0


@dataclass(frozen=True, slots=True)
class NoisyOr(_EvidenceReader):
    """Relevant by meaning, or else by words: s + (1 - s) · (1 - (1 - l)ⁿ).

    The arms are witnesses of whom one is enough; the words are heard `lexical_strength` times, for a share
    of the question's words runs lower than a cosine. The rule looks at one candidate alone, so a relevance
    of 0.6 means the same for every question; an arm that found nothing counts 0. It uses sums and products
    in one order only, so that columns repeat it to the bit.
    """

    lexical_strength: int

    def __post_init__(self) -> None:
        if not 0 <= self.lexical_strength <= MAX_LEXICAL_STRENGTH:
            raise ProfileError(
                f"lexical_strength is {self.lexical_strength!r}; give a whole number within 0..{MAX_LEXICAL_STRENGTH}"
            )

    def __call__(self, candidate: Candidate) -> float | None:
        """The candidate's own relevance if it brings one, else the fused; `None` without evidence."""
        found = self.read_evidence(candidate)
        if candidate.relevance is not None or found is None:
            return candidate.relevance
        (similarity, lexical), doubt = found, 1.0
        for _ in range(self.lexical_strength):
            doubt *= 1.0 - lexical
        return min(similarity + (1.0 - similarity) * (1.0 - doubt), 1.0)

    @property
    def evidence_fields(self) -> tuple[str, ...]:
        return ("similarity", "lexical") if self.lexical_strength else ("similarity",)


@dataclass(frozen=True, slots=True)
class Blend(_EvidenceReader):
    """Relevant by meaning and by words, each by its share: (a · s + b · l - o · s · l) / (1 - o), with a + b = 1.

    What both say is partly the same, so `overlap` takes some of it off; full evidence of both arms is still 1. Like
    `NoisyOr` it looks at one candidate alone, and columns repeat it to the bit.
    """

    lexical_share: float
    overlap: float = 0.0

    def __post_init__(self) -> None:
        if not 0.0 <= self.lexical_share <= 1.0:
            raise ProfileError(f"lexical_share is {self.lexical_share!r}, not within 0..1")
        most = min(self.lexical_share, 1.0 - self.lexical_share)
        if not 0.0 <= self.overlap <= most:
            raise ProfileError(f"overlap is {self.overlap!r}; give at most {most:g}, or more evidence would count less")

    def __call__(self, candidate: Candidate) -> float | None:
        """The candidate's own relevance if it brings one, else the blended; `None` without evidence."""
        found = self.read_evidence(candidate)
        if candidate.relevance is not None or found is None:
            return candidate.relevance
        similarity, lexical = found
        mixed: float = self.blend(similarity, lexical)
        return min(mixed, 1.0)

    def blend(self, similarity: Any, lexical: Any) -> Any:
        """The formula, of numbers or of columns of them."""
        both = (1.0 - self.lexical_share) * similarity + self.lexical_share * lexical
        return (both - self.overlap * (similarity * lexical)) / (1.0 - self.overlap)


Fusion = NoisyOr | Blend
"""Any rule that makes one relevance of the evidence."""
