"""Admission policy: every threshold and switch, as the user configures them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal, get_args

from recollect.errors import FieldError, InvalidInput, show
from recollect.model import validation

SecretAction = Literal["redact", "refuse"]


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
        for name in ("length_density_weight", "kind_boost", "pinned_boost"):
            validation.require_fraction(name, getattr(self, name))
        if not 1 <= self.full_length <= validation.MAX_COUNT:
            raise InvalidInput(f"full_length is {self.full_length!r}; use a number of characters of at least 1")


DEFAULT_SALIENCE = SaliencePolicy()
"""The default weights."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SecretsPolicy:
    """Whether secrets are detected, and what happens to a draft with a secret."""

    enabled: bool = True
    action: SecretAction = "redact"

    def __post_init__(self) -> None:
        validation.require_flag("enabled", self.enabled)
        if self.action not in get_args(SecretAction):
            raise FieldError(f"{show(self.action)} is not an action for secrets; use redact or refuse", field="action")


DEFAULT_DUPLICATE_THRESHOLD = 0.92
"""The threshold of the seeds, for models without a measured one."""

MEASURED_THRESHOLDS: Mapping[str, float] = MappingProxyType(
    {"all-minilm-l6-v2-m8": 0.85, "wordllama-256": 0.8, "hashing-256": 0.65}
)
"""The thresholds of the bundled models, measured by `recollect admin calibrate` (ADR 0046)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DuplicatesPolicy:
    """The similarity above which a text is a duplicate in other words.

    Thresholds belong to an embedder: `by_embedder` has them by model name, `threshold` is for all others. Without
    either, the measured threshold of the model counts, or else the seeds' 0.92.
    """

    enabled: bool = True
    threshold: float | None = None
    by_embedder: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}), hash=False)

    def __post_init__(self) -> None:
        validation.require_flag("enabled", self.enabled)
        if self.threshold is not None:
            validation.require_fraction("threshold", self.threshold)
        for value in self.by_embedder.values():
            validation.require_fraction("by_embedder", value)

    def threshold_for(self, embedder: str) -> float:
        """Return the threshold for vectors of that model."""
        if embedder in self.by_embedder:
            return self.by_embedder[embedder]
        return (
            MEASURED_THRESHOLDS.get(embedder, DEFAULT_DUPLICATE_THRESHOLD) if self.threshold is None else self.threshold
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class NoveltyPolicy:
    """The similarity above which an event is stored but not indexed (seed 004)."""

    enabled: bool = False
    threshold: float = 0.82

    def __post_init__(self) -> None:
        validation.require_flag("enabled", self.enabled)
        validation.require_fraction("threshold", self.threshold)


@dataclass(frozen=True, slots=True, kw_only=True)
class TruthPolicy:
    """Whether a new truth supersedes the former one, and whether subjects are read from texts."""

    supersede: bool = True
    derive_subject: bool = True

    def __post_init__(self) -> None:
        for name in ("supersede", "derive_subject"):
            validation.require_flag(name, getattr(self, name))


@dataclass(frozen=True, slots=True, kw_only=True)
class QuarantinePolicy:
    """Whether text that reads like instructions, or contradicts more trusted memories, waits."""

    enabled: bool = True

    def __post_init__(self) -> None:
        validation.require_flag("enabled", self.enabled)


@dataclass(frozen=True, slots=True, kw_only=True)
class KindPolicy:
    """Whether the kind of a memory is detected from its text if none is given."""

    detect: bool = False

    def __post_init__(self) -> None:
        validation.require_flag("detect", self.detect)


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportancePolicy:
    """The importance of a text by its words (seed 002).

    It always applies to extracts; if `enabled`, also to every draft without an importance.
    """

    enabled: bool = False
    stated: float = 0.9
    critical: float = 0.85
    business: float = 0.7
    preference: float = 0.55
    casual: float = 0.2

    def __post_init__(self) -> None:
        validation.require_flag("enabled", self.enabled)
        for name in ("stated", "critical", "business", "preference", "casual"):
            validation.require_fraction(name, getattr(self, name))


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfidencePolicy:
    """The confidence of an extract: stated explicitly, implied, or hedged."""

    stated: float = 1.0
    implied: float = 0.7
    uncertain: float = 0.5

    def __post_init__(self) -> None:
        for name in ("stated", "implied", "uncertain"):
            validation.require_fraction(name, getattr(self, name))


@dataclass(frozen=True, slots=True, kw_only=True)
class AdmissionPolicy:
    """All admission policies together."""

    salience: SaliencePolicy = SaliencePolicy()
    secrets: SecretsPolicy = SecretsPolicy()
    duplicates: DuplicatesPolicy = DuplicatesPolicy()
    novelty: NoveltyPolicy = NoveltyPolicy()
    truth: TruthPolicy = TruthPolicy()
    quarantine: QuarantinePolicy = QuarantinePolicy()
    kind: KindPolicy = KindPolicy()
    importance: ImportancePolicy = ImportancePolicy()
    confidence: ConfidencePolicy = ConfidencePolicy()
