"""Settings: everything that a store is opened with, each section checked by itself."""

from dataclasses import dataclass, field, fields
from typing import Literal, get_args

from recollect.admission.policy import (
    ConfidencePolicy,
    DuplicatesPolicy,
    ImportancePolicy,
    KindPolicy,
    NoveltyPolicy,
    Policy,
    QuarantinePolicy,
    SecretsPolicy,
    TruthPolicy,
)
from recollect.admission.salience import SaliencePolicy
from recollect.config.zones import a_zone
from recollect.errors import FieldError, remedy, show
from recollect.lifecycle.consolidation import ConsolidationPolicy
from recollect.lifecycle.episode_retention import EpisodicPolicy
from recollect.lifecycle.policy import LifecyclePolicy
from recollect.lifecycle.schedule import SchedulerPolicy
from recollect.lifecycle.sessions import SessionsPolicy
from recollect.lifecycle.topics import TopicsPolicy
from recollect.model import validation
from recollect.model.extraction import MOST_EXTRACTED

LONGEST_WAIT = 86_400.0
"""How many seconds anything is waited for at most: a day."""

MOST_ATTEMPTS = 100

MOST_PORTS = 65_535
"""The last port there is."""

MOST_BYTES = 1_073_741_824
"""How large a request may be allowed to be: a gibibyte."""

MOST_THREADS = 1_024

MOST_WAITING = 1_000_000

ExtractorName = Literal["phrases", "llm"]


def _a_name(field: str, value: str | None) -> None:
    if value is not None:
        validation.a_text(field, value)


def _a_secret(field: str, value: str | None) -> None:
    """Refuse what is no text, without a word of what it is."""
    if value is not None and not isinstance(value, str):
        raise FieldError(f"{type(value).__name__} is no text", field=field)


def _a_wait(field: str, value: float) -> None:
    if not 0.0 < validation.a_number(field, value) <= LONGEST_WAIT:
        raise FieldError(f"{show(value)} is no number of seconds up to a day", field=field)


def _within(field: str, value: int, most: int) -> None:
    if not 1 <= validation.a_count(field, value) <= most:
        raise FieldError(f"{show(value)} is not within 1..{most}", field=field)


def _needed(name: str, example: str) -> str:
    variable = f"RECOLLECT_EXTRACTION_{name.upper()}"
    return f"is not set, and the extractor 'llm' needs it; write {example} there, or into {variable}"


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageDecay:
    """How much less a memory counts for each time it was served, in the profiles of seed 004."""

    enabled: bool = True
    decay_factor: float = 0.15

    def __post_init__(self) -> None:
        validation.a_flag("enabled", self.enabled)
        if validation.a_number("decay_factor", self.decay_factor) <= 0.0:
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
    most: int = MOST_EXTRACTED
    timeout: float = 60.0
    attempts: int = 4
    price_prompt: float | None = None
    price_completion: float | None = None

    def __post_init__(self) -> None:
        known = get_args(ExtractorName)
        if self.extractor not in known:
            problem = f"{show(self.extractor)} is no extractor; {remedy(str(self.extractor), known)}"
            raise FieldError(problem, field="extractor")
        for name in ("address", "model"):
            _a_name(name, getattr(self, name))
        _a_secret("key", self.key)
        _within("most", self.most, MOST_EXTRACTED)
        _a_wait("timeout", self.timeout)
        _within("attempts", self.attempts, MOST_ATTEMPTS)
        for name in ("price_prompt", "price_completion"):
            price = getattr(self, name)
            if price is not None and validation.a_number(name, price) < 0.0:
                raise FieldError(f"{show(price)} is no price; give one of at least 0", field=name)

    def endpoint(self) -> tuple[str, str]:
        """The address and the model to ask; refused if either is not set, or one price without the other."""
        if (self.price_prompt is None) is not (self.price_completion is None):
            lacking = "price_prompt" if self.price_prompt is None else "price_completion"
            raise FieldError("is not set, and the other price is; give both, or none", field=f"extraction.{lacking}")
        if self.address is None:
            raise FieldError(_needed("address", "https://host/v1"), field="extraction.address")
        if self.model is None:
            raise FieldError(_needed("model", "the name that the server knows it by"), field="extraction.model")
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
        if not validation.a_text("host", self.host).strip():
            raise FieldError("is empty; give an address to listen at, such as 127.0.0.1", field="host")
        for name in ("port", "grpc_port"):
            if not 0 <= validation.a_count(name, getattr(self, name)) <= MOST_PORTS:
                raise FieldError(f"{show(getattr(self, name))} is not within 0..{MOST_PORTS}", field=name)
        for name in ("keys", "token_file", "hosts", "origins"):
            _a_name(name, getattr(self, name))
        _within("body_bytes", self.body_bytes, MOST_BYTES)
        for name in ("seconds", "drain_seconds"):
            _a_wait(name, getattr(self, name))
        _within("threads", self.threads, MOST_THREADS)
        if not 0 <= validation.a_count("waiting", self.waiting) <= MOST_WAITING:
            raise FieldError(f"{show(self.waiting)} is not within 0..{MOST_WAITING}", field="waiting")
        validation.a_flag("scheduler", self.scheduler)
        validation.a_text("tools", self.tools)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What a store is opened with: which embedder, how long to wait, how much to keep in memory, and every policy.

    What is not given here has its default. `settings` reads what is not given to it from a file and the environment.
    """

    embedder: str | None = None
    embedder_key: str | None = field(default=None, repr=False)
    busy_timeout: float = validation.BUSY_TIMEOUT
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
        _a_name("embedder", self.embedder)
        _a_secret("embedder_key", self.embedder_key)
        _a_wait("busy_timeout", self.busy_timeout)
        validation.a_count("cache_bytes", self.cache_bytes)
        for one in fields(self):
            given, wanted = getattr(self, one.name), type(one.default)
            if one.name in SECTIONS and not isinstance(given, wanted):
                what = f"is no {wanted.__name__}; to say some of a section, give `open` a mapping"
                raise FieldError(f"{show(given)} {what}", field=one.name)
        a_zone("lifecycle.time_zone", self.lifecycle.time_zone)

    @property
    def policy(self) -> Policy:
        """What admission goes by."""
        return Policy(**{one.name: getattr(self, one.name) for one in fields(Policy)})


SECTIONS = tuple(one.name for one in fields(Settings) if hasattr(type(one.default), "__dataclass_fields__"))
"""The settings that are tables of their own in a file."""
