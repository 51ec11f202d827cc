"""Salience: how much a memory stands out, computed once, when it is written."""

from dataclasses import dataclass

from recollect.errors import InvalidInput
from recollect.model import validation
from recollect.model.enums import Kind

STANDING_KINDS = frozenset({Kind.PREFERENCE, Kind.PROCEDURE, Kind.CONSTRAINT, Kind.DEFINITION})
"""The kinds that stand out by themselves: they say how things should be, not how they were."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SaliencePolicy:
    """The weights of length, kind and pin (seed 004).

    The weight of the length is reached at `full_length` characters; longer texts get no more. If it is not `enabled`,
    memories have no salience.
    """

    enabled: bool = True
    length_density_weight: float = 0.45
    kind_boost: float = 0.20
    pinned_boost: float = 0.20
    full_length: int = 500

    def __post_init__(self) -> None:
        validation.require_flag("enabled", self.enabled)
        for field in ("length_density_weight", "kind_boost", "pinned_boost"):
            validation.require_fraction(field, getattr(self, field))
        if not 1 <= self.full_length <= validation.MAX_COUNT:
            raise InvalidInput(f"full_length is {self.full_length!r}; give a number of characters, at least 1")


DEFAULT_SALIENCE = SaliencePolicy()
"""The default policy."""


def rate_salience(text: str, kind: Kind, *, pinned: bool, policy: SaliencePolicy) -> float | None:
    """Return the salience of a memory with this text; `None` if salience is disabled."""
    return compute_salience(text, kind, pinned=pinned, policy=policy) if policy.enabled else None


def compute_salience(text: str, kind: Kind, *, pinned: bool, policy: SaliencePolicy = DEFAULT_SALIENCE) -> float:
    """Return the salience within 0..1; the length counts characters, not bytes."""
    density = min(len(text) / policy.full_length, 1.0)
    boost = policy.kind_boost if kind in STANDING_KINDS else 0.0
    pin = policy.pinned_boost if pinned else 0.0
    return min(density * policy.length_density_weight + boost + pin, 1.0)
