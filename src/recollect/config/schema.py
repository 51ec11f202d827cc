"""Settings: everything that a store is opened with, each section checked by itself."""

from dataclasses import dataclass, field, fields
from typing import Literal, get_args

from recollect.admission.policy import (
    AdmissionPolicy,
    ConfidencePolicy,
    DuplicatesPolicy,
    ImportancePolicy,
    KindPolicy,
    NoveltyPolicy,
    QuarantinePolicy,
    SecretsPolicy,
    TruthPolicy,
)
from recollect.admission.salience import SaliencePolicy
from recollect.config.zones import require_time_zone
from recollect.errors import FieldError, show, suggest
from recollect.lifecycle.consolidation import ConsolidationPolicy
from recollect.lifecycle.episode_retention import EpisodicPolicy
from recollect.lifecycle.policy import LifecyclePolicy
from recollect.lifecycle.schedule import SchedulerPolicy
from recollect.lifecycle.sessions import SessionsPolicy
from recollect.lifecycle.topics import TopicsPolicy
from recollect.model import validation
from recollect.model.extraction import MAX_EXTRACTS

MAX_WAIT_SECONDS = 86_400.0
"""How many seconds anything is waited for at most: a day."""

MAX_ATTEMPTS = 100

MAX_PORT = 65_535
"""The last port there is."""

MAX_BODY_BYTES = 1_073_741_824
"""How large a request may be allowed to be: a gibibyte."""

MAX_THREADS = 1_024

MAX_WAITING_REQUESTS = 1_000_000

ExtractorName = Literal["phrases", "llm"]


def _require_optional_text(field: str, value: str | None) -> None:
    if value is not None:
        validation.require_text(field, value)


def _require_secret(field: str, value: str | None) -> None:
    """Refuse what is no text, without a word of what it is."""
    if value is not None and not isinstance(value, str):
        raise FieldError(f"{type(value).__name__} is no text", field=field)


def _require_wait(field: str, value: float) -> None:
    if not 0.0 < validation.require_number(field, value) <= MAX_WAIT_SECONDS:
        raise FieldError(f"{show(value)} is no number of seconds up to a day", field=field)


def _require_range(field: str, value: int, most: int) -> None:
    if not 1 <= validation.require_count(field, value) <= most:
        raise FieldError(f"{show(value)} is not within 1..{most}", field=field)


def _describe_missing(name: str, example: str) -> str:
    variable = f"RECOLLECT_EXTRACTION_{name.upper()}"
    return f"is not set, and the extractor 'llm' needs it; write {example} there, or into {variable}"


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageDecay:
    """How much less a memory counts for each time it was served, in the profiles of seed 004."""

    enabled: bool = True
    decay_factor: float = 0.15

    def __post_init__(self) -> None:
        validation.require_flag("enabled", self.enabled)
        if validation.require_number("decay_factor", self.decay_factor) <= 0.0:
            problem = f"{show(self.decay_factor)} is not above 0; enabled = false takes the decay out"
            raise FieldError(problem, field="decay_factor")


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractionSettings:
    """Who makes memories of a conversation, how many of them, and how a model behind an address is asked.

    Prices are for a million tokens. The key is in no repr.
    """

    extractor: ExtractorName = "phrases"
    address: str | None = None
    model: str | None = None
    key: str | None = field(default=None, repr=False)
    most: int = MAX_EXTRACTS
    timeout: float = 60.0
    attempts: int = 4
    price_prompt: float | None = None
    price_completion: float | None = None

    def __post_init__(self) -> None:
        known = get_args(ExtractorName)
        if self.extractor not in known:
            problem = f"{show(self.extractor)} is no extractor; {suggest(str(self.extractor), known)}"
            raise FieldError(problem, field="extractor")
        for name in ("address", "model"):
            _require_optional_text(name, getattr(self, name))
        _require_secret("key", self.key)
        _require_range("most", self.most, MAX_EXTRACTS)
        _require_wait("timeout", self.timeout)
        _require_range("attempts", self.attempts, MAX_ATTEMPTS)
        for name in ("price_prompt", "price_completion"):
            price = getattr(self, name)
            if price is not None and validation.require_number(name, price) < 0.0:
                raise FieldError(f"{show(price)} is no price; give one of at least 0", field=name)

    def require_endpoint(self) -> tuple[str, str]:
        """The address and the model to ask; refused if either is not set, or one price without the other."""
        if (self.price_prompt is None) is not (self.price_completion is None):
            lacking = "price_prompt" if self.price_prompt is None else "price_completion"
            raise FieldError("is not set, and the other price is; give both, or none", field=f"extraction.{lacking}")
        if self.address is None:
            raise FieldError(_describe_missing("address", "https://host/v1"), field="extraction.address")
        if self.model is None:
            raise FieldError(
                _describe_missing("model", "the name that the server knows it by"), field="extraction.model"
            )
        return self.address, self.model


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerSettings:
    """Where `recollect serve` listens, whom it lets in, how much it takes at once, and what it offers over MCP.

    Names of hosts, origins and toolsets are separated by commas. Without a path, files are beside the configuration of
    the user.
    """

    host: str = "127.0.0.1"
    port: int = 8765
    grpc_port: int = 8766
    keys: str | None = None
    token_file: str | None = None
    hosts: str | None = None
    origins: str | None = None
    body_bytes: int = 8_388_608
    seconds: float = 30.0
    threads: int = 8
    waiting: int = 256
    drain_seconds: float = 20.0
    scheduler: bool = True
    tools: str = "core"

    def __post_init__(self) -> None:
        if not validation.require_text("host", self.host).strip():
            raise FieldError("is empty; give an address to listen at, such as 127.0.0.1", field="host")
        for name in ("port", "grpc_port"):
            if not 0 <= validation.require_count(name, getattr(self, name)) <= MAX_PORT:
                raise FieldError(f"{show(getattr(self, name))} is not within 0..{MAX_PORT}", field=name)
        for name in ("keys", "token_file", "hosts", "origins"):
            _require_optional_text(name, getattr(self, name))
        _require_range("body_bytes", self.body_bytes, MAX_BODY_BYTES)
        for name in ("seconds", "drain_seconds"):
            _require_wait(name, getattr(self, name))
        _require_range("threads", self.threads, MAX_THREADS)
        if not 0 <= validation.require_count("waiting", self.waiting) <= MAX_WAITING_REQUESTS:
            raise FieldError(f"{show(self.waiting)} is not within 0..{MAX_WAITING_REQUESTS}", field="waiting")
        validation.require_flag("scheduler", self.scheduler)
        validation.require_text("tools", self.tools)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What a store is opened with: which embedder, how long to wait, how much to keep in memory, and every policy.

    What is not given here has its default. `settings` reads what is not given to it from a file and the environment.
    """

    embedder: str | None = None
    embedder_key: str | None = field(default=None, repr=False)
    busy_timeout: float = validation.BUSY_TIMEOUT_SECONDS
    cache_bytes: int = validation.CACHE_BYTES
    salience: SaliencePolicy = SaliencePolicy()
    usage_decay: UsageDecay = UsageDecay()
    novelty: NoveltyPolicy = NoveltyPolicy()
    duplicates: DuplicatesPolicy = DuplicatesPolicy()
    truth: TruthPolicy = TruthPolicy()
    secrets: SecretsPolicy = SecretsPolicy()
    quarantine: QuarantinePolicy = QuarantinePolicy()
    kind: KindPolicy = KindPolicy()
    importance: ImportancePolicy = ImportancePolicy()
    confidence: ConfidencePolicy = ConfidencePolicy()
    extraction: ExtractionSettings = ExtractionSettings()
    lifecycle: LifecyclePolicy = LifecyclePolicy()
    consolidation: ConsolidationPolicy = ConsolidationPolicy()
    topics: TopicsPolicy = TopicsPolicy()
    episodic: EpisodicPolicy = EpisodicPolicy()
    sessions: SessionsPolicy = SessionsPolicy()
    scheduler: SchedulerPolicy = SchedulerPolicy()
    server: ServerSettings = ServerSettings()

    def __post_init__(self) -> None:
        _require_optional_text("embedder", self.embedder)
        _require_secret("embedder_key", self.embedder_key)
        _require_wait("busy_timeout", self.busy_timeout)
        validation.require_count("cache_bytes", self.cache_bytes)
        for one in fields(self):
            given, wanted = getattr(self, one.name), type(one.default)
            if one.name in SECTION_NAMES and not isinstance(given, wanted):
                what = f"is no {wanted.__name__}; to say some of a section, give `open` a mapping"
                raise FieldError(f"{show(given)} {what}", field=one.name)
        require_time_zone("lifecycle.time_zone", self.lifecycle.time_zone)

    @property
    def policy(self) -> AdmissionPolicy:
        """What admission goes by."""
        return AdmissionPolicy(**{one.name: getattr(self, one.name) for one in fields(AdmissionPolicy)})


SECTION_NAMES = tuple(one.name for one in fields(Settings) if hasattr(type(one.default), "__dataclass_fields__"))
"""The settings that are tables of their own in a file."""
