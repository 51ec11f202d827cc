"""Index: by what a memory is found when somebody asks.

Level: how coarse a record of what happened is, from an event to a whole year; and of what was done, and sessions.

Trust: how far a memory can be relied on, by where it and all that it was made of came from.
"""

from collections.abc import Iterable, Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import TypeVar

from recollect.errors import FieldError, show, show_name, suggest


class Index(StrEnum):
    """The ways to find a memory: by its words, and by its direction."""

    TEXT = "text"
    VECTOR = "vector"


class Level(StrEnum):
    """The levels of what happened, the finest first, of what was done, and of sessions; other memories have none."""

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
"""What memories are called that are no record of what happened."""

RECALL_LEVELS: frozenset[Level | None] = frozenset({None, Level.EVENT})
"""What is recalled where nothing else is said: plain memories and events, each in its own words."""

BRIEF_LEVELS: frozenset[Level | None] = frozenset({None})
"""The same without a question: what is known, and not all that was said."""

TIMELINE_LEVELS = (Level.EVENT, Level.SEGMENT, Level.GRIP, Level.DAY, Level.WEEK, Level.MONTH, Level.YEAR)
"""The levels of what happened; the others are of what was done for a task, and of sessions."""

UNINDEXED_LEVELS = (Level.ACTION, Level.SESSION)
"""The levels that are in no index: who wants them asks for them by what they are of."""

CALENDAR_LEVELS = (Level.DAY, Level.WEEK, Level.MONTH, Level.YEAR)
"""The levels that are of a time of the calendar."""


def parse_level(field: str, value: str) -> Level | None:
    """The level of that name, none of which plain memories have; refused with the nearest known one."""
    if value == PLAIN_LEVEL_NAME:
        return None
    try:
        return Level(value)
    except ValueError:
        known = [PLAIN_LEVEL_NAME, *(level.value for level in Level)]
        raise FieldError(f"{show(value)} is no level; {suggest(show_name(value), known)}", field=field) from None


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
    """Where a memory stands: only active ones are recalled, superseded ones as of a time when they still held."""

    ACTIVE = "active"
    SUPERSEDED = "superseded"
    CONSOLIDATED = "consolidated"
    COMPLETED = "completed"
    ARCHIVED = "archived"
    QUARANTINED = "quarantined"
    FORGOTTEN = "forgotten"


def require_choice(field: str, value: ChoiceT, choices: type[ChoiceT]) -> ChoiceT:
    """The value; refused if it is none of the choices, a text that names one among them."""
    if not isinstance(value, choices):
        name = choices.__name__
        raise FieldError(f"{show(value)} is no {name.lower()}; give one of recollect.{name}", field=field)
    return value


def require_kind(field: str, value: Kind) -> Kind:
    """The kind; refused if it is none."""
    return require_choice(field, value, Kind)


def parse_choice(field: str, value: str, choices: type[ChoiceT]) -> ChoiceT:
    """The choice of that name, as a caller outside writes it; refused with the nearest known one."""
    try:
        return choices(value)
    except ValueError:
        what = choices.__name__.lower()
        raise FieldError(
            f"{show(value)} is no {what}; {suggest(show_name(value), [one.value for one in choices])}", field=field
        ) from None  # it would say the same in Python's words
