"""Settings: everything a store is opened with, and the options that make them up.

Each section is a dataclass that checks itself. An `Option` describes one setting and reads it from a file, a mapping or
a text. Time zones come from this machine or the package tzdata.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from datetime import tzinfo
from types import MappingProxyType, NoneType
from typing import Any, Literal, get_args, get_origin, get_type_hints
from zoneinfo import ZoneInfo

from recollect.admission.policy import (
    AdmissionPolicy,
    ConfidencePolicy,
    DuplicatesPolicy,
    ImportancePolicy,
    KindPolicy,
    NoveltyPolicy,
    QuarantinePolicy,
    SaliencePolicy,
    SecretsPolicy,
    TruthPolicy,
)
from recollect.errors import FieldError, show, show_name, suggest
from recollect.lifecycle.consolidation import ConsolidationPolicy
from recollect.lifecycle.episodes import EpisodicPolicy
from recollect.lifecycle.policy import NEVER, LifecyclePolicy, RetentionDays
from recollect.lifecycle.schedule import SchedulerPolicy
from recollect.lifecycle.sessions import SessionsPolicy
from recollect.lifecycle.topics import TopicsPolicy
from recollect.model import validation
from recollect.model.conversation import MAX_EXTRACTS


def require_time_zone(field: str, name: str) -> tzinfo:
    """Return the time zone with that name, or raise FieldError."""
    try:
        return ZoneInfo(validation.require_text(field, name))
    except (OSError, ValueError, KeyError) as error:  # KeyError: a name in no list
        problem = f"{show(name)} is not a time zone; use a name such as 'Europe/Lisbon'"
        raise FieldError(problem, field=field) from error


MAX_WAIT_SECONDS = 86_400.0
"""The longest timeout, in seconds: a day."""

MAX_ATTEMPTS = 100

MAX_PORT = 65_535
"""The highest port number."""

MAX_BODY_BYTES = 1_073_741_824
"""The largest request that may be allowed, in bytes: a gibibyte."""

MAX_THREADS = 1_024

MAX_WAITING_REQUESTS = 1_000_000

ExtractorName = Literal["phrases", "llm"]


def _require_optional_text(field: str, value: str | None) -> None:
    if value is not None:
        validation.require_text(field, value)


def _require_secret(field: str, value: str | None) -> None:
    """Raise FieldError if the value is not a string, without showing it."""
    if value is not None and not isinstance(value, str):
        raise FieldError(f"{type(value).__name__} is not a string", field=field)


def _require_wait(field: str, value: float) -> None:
    if not 0.0 < validation.require_number(field, value) <= MAX_WAIT_SECONDS:
        raise FieldError(f"{show(value)} is not a number of seconds up to a day", field=field)


def _require_range(field: str, value: int, most: int) -> None:
    if not 1 <= validation.require_count(field, value) <= most:
        raise FieldError(f"{show(value)} is not within 1..{most}", field=field)


def _describe_missing(name: str, example: str) -> str:
    variable = f"RECOLLECT_EXTRACTION_{name.upper()}"
    return f"is not set, but the extractor 'llm' needs it; set it to {example}, here or in {variable}"


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageDecay:
    """How much less a memory counts each time it was served, in the profiles of seed 004."""

    enabled: bool = True
    decay_factor: float = 0.15

    def __post_init__(self) -> None:
        validation.require_flag("enabled", self.enabled)
        if validation.require_number("decay_factor", self.decay_factor) <= 0.0:
            problem = f"{show(self.decay_factor)} is not above 0; set enabled = false to turn the decay off"
            raise FieldError(problem, field="decay_factor")


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractionSettings:
    """Which extractor is used, how many memories it makes, and how its model is called.

    Prices are for a million tokens. The key is not in the repr.
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
            problem = f"{show(self.extractor)} is not an extractor; {suggest(str(self.extractor), known)}"
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
                raise FieldError(f"{show(price)} is not a price; use a number of at least 0", field=name)

    def require_endpoint(self) -> tuple[str, str]:
        """Return the address and the model, or raise FieldError if settings are missing.

        Prices must be set both or not at all.
        """
        if (self.price_prompt is None) is not (self.price_completion is None):
            lacking = "price_prompt" if self.price_prompt is None else "price_completion"
            raise FieldError("is not set, but the other price is; set both or neither", field=f"extraction.{lacking}")
        if self.address is None:
            raise FieldError(_describe_missing("address", "https://host/v1"), field="extraction.address")
        if self.model is None:
            raise FieldError(_describe_missing("model", "the name that the server gives it"), field="extraction.model")
        return self.address, self.model


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerSettings:
    """Where `recollect serve` listens, who may connect, its limits, and its MCP tools.

    Hosts, origins and toolsets are separated by commas. Files without a path are in the user's configuration folder.
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
            raise FieldError("is empty; use an address to listen on, such as 127.0.0.1", field="host")
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
    """What a store is opened with: the embedder, timeouts, the cache, and every policy.

    Fields have defaults. `load_settings` reads other values from a file and the environment.
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
            value, section = getattr(self, one.name), type(one.default)
            if one.name in SECTION_NAMES and not isinstance(value, section):
                what = f"is not a {section.__name__}; to set part of a section, pass `open` a mapping"
                raise FieldError(f"{show(value)} {what}", field=one.name)
        require_time_zone("lifecycle.time_zone", self.lifecycle.time_zone)

    @property
    def policy(self) -> AdmissionPolicy:
        """The admission policy made of these settings."""
        return AdmissionPolicy(**{one.name: getattr(self, one.name) for one in fields(AdmissionPolicy)})


SECTION_NAMES = tuple(one.name for one in fields(Settings) if hasattr(type(one.default), "__dataclass_fields__"))
"""The settings that are tables in a file."""

PREFIX = "RECOLLECT_"
"""The prefix of all environment variables."""

BOOLEAN_WORDS: Mapping[str, bool] = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}
"""The words for true and false in a text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """A setting: its section, name, type and default."""

    section: str | None
    name: str
    hint: Any
    default: Any
    secret: bool

    @property
    def path(self) -> str:
        """Its path in a file: section and name."""
        return self.name if self.section is None else f"{self.section}.{self.name}"

    @property
    def variable(self) -> str:
        """The name of its environment variable."""
        return PREFIX + self.path.upper().replace(".", "_")

    @property
    def type(self) -> Any:
        """Its type when set, without `None`."""
        parts = [one for one in get_args(self.hint) if one is not NoneType]
        return parts[0] if NoneType in get_args(self.hint) else self.hint

    @property
    def is_table(self) -> bool:
        """Whether it is a table of names and values, which a single text cannot give."""
        return get_origin(self.type) is Mapping

    def check(self, value: object) -> Any:
        """Return the value from a file or a mapping, or raise FieldError for a wrong type."""
        if value is None and NoneType in get_args(self.hint):
            return None
        if self.secret and not isinstance(value, str):  # its value is not shown
            raise FieldError(f"{type(value).__name__} is not a string", field=self.path)
        checked_type = self.type if self.type in VALUE_CHECKS else get_origin(self.type)
        return VALUE_CHECKS[checked_type](self.path, value)

    def read(self, text: str) -> Any:
        """Parse a text from the environment or the command line."""
        if self.is_table:
            raise FieldError("is a table, which a single value cannot set; set it in a file", field=self.path)
        try:
            value = TEXT_PARSERS.get(self.type, str)(text)
        except ValueError as error:
            raise FieldError(f"{show(text)} is not a number", field=self.path) from error
        except KeyError as error:
            problem = f"{show(text)} is not a boolean; use true, false, 1, 0, yes or no"
            raise FieldError(problem, field=self.path) from error
        return self.check(value)


def _parse_bool(text: str) -> bool:
    return BOOLEAN_WORDS[text.strip().lower()]


def _require_int(path: str, value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise FieldError(f"{show(value)} is not a whole number", field=path)
    return value


def _require_numbers(path: str, value: object) -> Mapping[str, float]:
    if not isinstance(value, Mapping):
        raise FieldError(f"{show(value)} is not a table of names and numbers", field=path)
    numbers = {validation.require_text(path, name): number for name, number in value.items()}
    return MappingProxyType(
        {name: validation.require_number(f"{path}.{name}", number) for name, number in numbers.items()}
    )


def _require_days(path: str, value: object) -> int | str:
    if value == NEVER:
        return NEVER
    if isinstance(value, bool) or not isinstance(value, int):
        raise FieldError(f"{show(value)} is not a whole number of days or {show(NEVER)}", field=path)
    return value


def _parse_days(text: str) -> int | str:
    return NEVER if text.strip() == NEVER else int(text)


TEXT_PARSERS: Mapping[Any, Callable[[str], Any]] = {
    bool: _parse_bool,
    float: float,
    int: int,
    RetentionDays: _parse_days,
}
"""The parsers by type; other types keep the text."""

VALUE_CHECKS: Mapping[Any, Callable[[str, Any], Any]] = {
    bool: validation.require_flag,
    float: validation.require_number,
    int: _require_int,
    str: validation.require_text,
    Literal: validation.require_text,
    Mapping: _require_numbers,
    RetentionDays: _require_days,
}
"""The type checks; each section checks the values itself."""

DEFAULT_SETTINGS = Settings()


def _walk_sections(section: Any, path: str | None = None) -> Iterator[tuple[str | None, Any]]:
    """Yield a dataclass and every section in it, with paths, outer ones first."""
    yield path, section
    for one in fields(section):
        value = getattr(section, one.name)
        if is_dataclass(value):
            yield from _walk_sections(value, one.name if path is None else f"{path}.{one.name}")


SECTION_DEFAULTS: Mapping[str | None, Any] = dict(_walk_sections(DEFAULT_SETTINGS))
"""The default of every section by path, nested ones included; the path of the top is `None`."""


def _find_options() -> Iterator[Option]:
    for section, default in SECTION_DEFAULTS.items():
        hints = get_type_hints(type(default))
        for one in fields(default):
            value = getattr(default, one.name)
            if not is_dataclass(value):
                # fields hidden in the repr are secrets
                yield Option(section=section, name=one.name, hint=hints[one.name], default=value, secret=not one.repr)


OPTIONS: Mapping[str, Option] = {option.path: option for option in _find_options()}
"""Every option by path."""


def flatten_settings(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of a nested mapping by path; raise FieldError for unknown ones."""
    return dict(_flatten_section(None, document))


def flatten_setting(path: str, value: Any) -> dict[str, Any]:
    """Return a setting, or the settings of a section, named by its path."""
    if path in SECTION_DEFAULTS:
        return dict(_flatten_section(path, _require_table(path, value)))
    return {path: _get_option(path, path, OPTIONS).check(value)}


def _flatten_section(section: str | None, table: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    known = [one.name for one in fields(SECTION_DEFAULTS[section])]
    for name, value in table.items():
        path = show_name(name) if section is None else f"{section}.{show_name(name)}"
        if name in known and path in SECTION_DEFAULTS:
            yield from _flatten_section(path, _require_table(path, value))
        else:
            what = "section" if isinstance(value, Mapping) and section is None else "setting"
            yield path, _get_option(path, name, known, what).check(value)


def build_settings(values: Mapping[str, Any]) -> Settings:
    """Build the settings from values by path; an error names the path."""
    settings: Settings = _build_section(None, values)
    return settings


def _build_section(section: str | None, values: Mapping[str, Any]) -> Any:
    sections = {one: _build_section(path, values) for path, one in _child_sections(section)}
    own = {OPTIONS[path].name: value for path, value in values.items() if OPTIONS[path].section == section}
    if section is None:
        return Settings(**own, **sections)
    try:
        return type(SECTION_DEFAULTS[section])(**own, **sections)
    except FieldError as error:
        raise FieldError(error.problem, field=f"{section}.{error.field}") from error
    except ValueError as error:
        raise FieldError(str(error), field=section) from error


def _child_sections(section: str | None) -> list[tuple[str, str]]:
    """Return the sections directly inside a section, as (path, name)."""
    start = "" if section is None else f"{section}."
    paths = [path for path in SECTION_DEFAULTS if path is not None and path.startswith(start)]
    return [(path, name) for path in paths if "." not in (name := path.removeprefix(start))]


def _require_table(path: str, value: object) -> Mapping[str, Any]:
    section = type(SECTION_DEFAULTS[path])
    if isinstance(value, section):  # a section of a `Settings` object
        return {one.name: getattr(value, one.name) for one in fields(section)}
    if not isinstance(value, Mapping):
        name = next(one.name for one in OPTIONS.values() if one.section == path)
        raise FieldError(f"{show(value)} is not a table; write {name} = … under [{path}]", field=path)
    return value


def _get_option(path: str, name: object, known: Collection[str], what: str = "setting") -> Option:
    """Return the option, or raise FieldError without its value, which may be a misspelled key."""
    if name not in known:
        raise FieldError(f"unknown {what}; {suggest(show_name(name), known)}", field=path)
    return OPTIONS[path]
