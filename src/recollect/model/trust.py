"""Trust: how far a memory can be relied on, by where it and all that it was made of came from."""

from collections.abc import Iterable, Mapping
from enum import StrEnum
from types import MappingProxyType


class Provenance(StrEnum):
    """Through whom a memory came."""

    DIRECT_USER = "direct_user"
    MODEL_INFERENCE = "model_inference"
    TOOL_INTERNAL = "tool_internal"
    TOOL_EXTERNAL = "tool_external"
    DOCUMENT = "document"
    IMPORT = "import"
    OPERATOR = "operator"


class Trust(StrEnum):
    """From the least to the most: what a stranger said, what came at second hand, what a model or a tool of ours
    concluded, what the user said, and what an operator vouches for.
    """

    EXTERNAL = "external"
    SECONDHAND = "secondhand"
    INFERRED = "inferred"
    STATED = "stated"
    VOUCHED = "vouched"

    @property
    def level(self) -> int:
        """How much it is, from 0 on; texts would compare by their letters."""
        return _TRUST_LEVELS[self]

    def less_than(self, other: "Trust") -> bool:
        """Whether it is less than the other."""
        return self.level < other.level


_TRUST_LEVELS: Mapping[Trust, int] = MappingProxyType({trust: level for level, trust in enumerate(Trust)})

TRUST_BY_PROVENANCE: Mapping[Provenance, Trust] = MappingProxyType(
    {
        Provenance.TOOL_EXTERNAL: Trust.EXTERNAL,
        Provenance.DOCUMENT: Trust.SECONDHAND,
        Provenance.IMPORT: Trust.SECONDHAND,
        Provenance.TOOL_INTERNAL: Trust.INFERRED,
        Provenance.MODEL_INFERENCE: Trust.INFERRED,
        Provenance.DIRECT_USER: Trust.STATED,
        Provenance.OPERATOR: Trust.VOUCHED,
    }
)
"""What a memory is trusted that came through whom, and was made of nothing else."""


def lowest_trust(trusts: Iterable[Trust]) -> Trust:
    """The least of them; of none it is the least there is, as nobody stands for it."""
    return min(trusts, key=lambda one: one.level, default=Trust.EXTERNAL)
