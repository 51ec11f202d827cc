"""The enumerations of the model: indexes, levels, provenance, trust, kinds and statuses."""

from collections.abc import Iterable, Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import TypeVar

from recollect.errors import FieldError, show, show_name, suggest


class Index(StrEnum):
    """The indexes that find a memory: text search and vector search."""

    TEXT = "text"
    VECTOR = "vector"


class Level(StrEnum):
    """The level of a record; plain memories have none.

    The first seven are records of what happened, from the finest to the coarsest; the others are the actions and
    episodes of tasks, and sessions.
    """

    EVENT = "event"
    SEGMENT = "segment"
    GRIP = "grip"
    DAY = "day"
    WEEK = "week"
    MONTH = "month"
    YEAR = "year"
    ACTION = "action"
    EPISODE = "episode"
    SESSION = "session"


PLAIN_LEVEL_NAME = "plain"
"""The name for the level of memories that have no level."""

RECALL_LEVELS: frozenset[Level | None] = frozenset({None, Level.EVENT})
"""The default levels of a recall: plain memories and events."""

BRIEF_LEVELS: frozenset[Level | None] = frozenset({None})
"""The default levels without a query: plain memories, without the events."""

TIMELINE_LEVELS = (Level.EVENT, Level.SEGMENT, Level.GRIP, Level.DAY, Level.WEEK, Level.MONTH, Level.YEAR)
"""The levels of the timeline; the others belong to tasks and sessions."""

UNINDEXED_LEVELS = (Level.ACTION, Level.SESSION)
"""The levels that are in no index; a caller loads them by their episode or session."""

CALENDAR_LEVELS = (Level.DAY, Level.WEEK, Level.MONTH, Level.YEAR)
"""The levels that stand for a calendar period."""


def parse_level(field: str, value: str) -> Level | None:
    """Parse a level name, `None` for plain memories; the error suggests the nearest known name."""
    if value == PLAIN_LEVEL_NAME:
        return None
    try:
        return Level(value)
    except ValueError:
        known = [PLAIN_LEVEL_NAME, *(level.value for level in Level)]
        raise FieldError(
            f"{show(value)} is not a valid level; {suggest(show_name(value), known)}", field=field
        ) from None


class Provenance(StrEnum):
    """Where a memory came from."""

    DIRECT_USER = "direct_user"
    MODEL_INFERENCE = "model_inference"
    TOOL_INTERNAL = "tool_internal"
    TOOL_EXTERNAL = "tool_external"
    DOCUMENT = "document"
    IMPORT = "import"
    OPERATOR = "operator"


class Trust(StrEnum):
    """How far a memory can be relied on, from the least to the most.

    In this order: external content, secondhand content, inferred by a model or one of its own tools, stated by the
    user, vouched for by an operator.
    """

    EXTERNAL = "external"
    SECONDHAND = "secondhand"
    INFERRED = "inferred"
    STATED = "stated"
    VOUCHED = "vouched"

    @property
    def level(self) -> int:
        """The rank of the trust, from 0; the texts themselves would compare alphabetically."""
        return _TRUST_LEVELS[self]

    def less_than(self, other: "Trust") -> bool:
        """Whether this is less trust than the other."""
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
"""The trust of a memory by its provenance, if it is not made of other memories."""


def lowest_trust(trusts: Iterable[Trust]) -> Trust:
    """Return the lowest trust; `EXTERNAL` for none, because nothing vouches for it."""
    return min(trusts, key=lambda one: one.level, default=Trust.EXTERNAL)


ChoiceT = TypeVar("ChoiceT", bound=StrEnum)


class Kind(StrEnum):
    """The closed list of kinds of memory."""

    PROFILE = "profile"
    PREFERENCE = "preference"
    DECISION = "decision"
    PATTERN = "pattern"
    DISCOVERY = "discovery"
    SUMMARY = "summary"
    FACT = "fact"
    ENTITY = "entity"
    LEARNING = "learning"
    PROCEDURE = "procedure"
    CONSTRAINT = "constraint"
    DEFINITION = "definition"
    OBSERVATION = "observation"
    TASK = "task"
    CORRECTION = "correction"
    EVENT = "event"


class Status(StrEnum):
    """The status of a memory: only active ones are recalled, and superseded ones as of a time when they were valid."""

    ACTIVE = "active"
    SUPERSEDED = "superseded"
    CONSOLIDATED = "consolidated"
    COMPLETED = "completed"
    ARCHIVED = "archived"
    QUARANTINED = "quarantined"
    FORGOTTEN = "forgotten"


def require_choice(field: str, value: ChoiceT, choices: type[ChoiceT]) -> ChoiceT:
    """Return the value, or raise FieldError if it is not a member; a plain string is refused."""
    if not isinstance(value, choices):
        name = choices.__name__
        raise FieldError(f"{show(value)} is not a valid {name.lower()}; give one of recollect.{name}", field=field)
    return value


def require_kind(field: str, value: Kind) -> Kind:
    """Return the kind, or raise FieldError if it is not a `Kind`."""
    return require_choice(field, value, Kind)


def parse_choice(field: str, value: str, choices: type[ChoiceT]) -> ChoiceT:
    """Parse the name of a choice from outside; the error suggests the nearest known name."""
    try:
        return choices(value)
    except ValueError:
        what = choices.__name__.lower()
        raise FieldError(
            f"{show(value)} is not a valid {what}; {suggest(show_name(value), [one.value for one in choices])}",
            field=field,
        ) from None  # the cause would only repeat the message
