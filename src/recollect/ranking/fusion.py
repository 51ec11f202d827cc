"""Fusion: evidence on several scales → one relevance."""

from dataclasses import dataclass

from recollect.errors import ProfileError
from recollect.model.candidate import Candidate

STRONGEST = 16


@dataclass(frozen=True, slots=True)
class Either:
    """Relevant by meaning, or else by words: s + (1 - s) · (1 - (1 - l)ⁿ).

    The arms are witnesses of whom one is enough; the words are heard `lexical_strength` times, for a share
    of the question's words runs lower than a cosine. The rule looks at one candidate alone, so a relevance
    of 0.6 means the same for every question; an arm that found nothing counts 0. It uses sums and products
    in one order only, so that columns repeat it to the bit.
    """

    lexical_strength: int

    def __post_init__(self) -> None:
        if not 0 <= self.lexical_strength <= STRONGEST:
            raise ProfileError(
                f"lexical_strength is {self.lexical_strength!r}; give a whole number within 0..{STRONGEST}"
            )

    def __call__(self, candidate: Candidate) -> float | None:
        """The candidate's own relevance if it brings one, else the fused; `None` without evidence."""
        if candidate.relevance is not None:
            return candidate.relevance
        if len(self.silent(candidate)) == len(self.arms):
            return None
        similarity = min(max(candidate.similarity or 0.0, 0.0), 1.0)
        doubt, lexical = 1.0, candidate.lexical or 0.0
        for _ in range(self.lexical_strength):
            doubt *= 1.0 - lexical
        return min(similarity + (1.0 - similarity) * (1.0 - doubt), 1.0)

    @property
    def arms(self) -> tuple[str, ...]:
        """The arms that are heard."""
        return ("similarity", "lexical") if self.lexical_strength else ("similarity",)

    def silent(self, candidate: Candidate) -> tuple[str, ...]:
        """The arms that found nothing for this candidate."""
        return tuple(arm for arm in self.arms if getattr(candidate, arm) is None)
