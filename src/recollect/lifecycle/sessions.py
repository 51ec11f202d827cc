"""Sessions: how they are stored in memories, when they end, and their default summary.

A session is a memory in no index. Its text is the summary, once there is one; everything else is in its metadata.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from recollect.errors import FieldError, show
from recollect.model import validation
from recollect.model.conversation import Session
from recollect.model.enums import TRUST_BY_PROVENANCE, Index, Kind, Level, Provenance, Status
from recollect.model.format import format_count, shorten
from recollect.model.memory import Memory, MemoryId
from recollect.model.scope import Scope

SESSION_METADATA_FIELDS = ("last_active_at", "ended_at", "summarised")
"""The metadata fields of a session."""

NO_SUMMARY_TEXT = "(no summary)"
"""The text of a session without a summary."""

SESSION_LEFT_INDEXES = tuple(Index)
"""The indexes that a session is not in."""

MAX_SUMMARY_CHARS = 16_384
"""How many characters a summary may have; five summaries are shown at each session start."""

MAX_NAMED_MEMORIES = 5
"""How many memories of a session its default summary names."""

MAX_INACTIVITY_HOURS = 24.0 * 3650
"""The longest inactivity in hours before a session ends."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionsPolicy:
    """After how long without activity a session ends."""

    inactivity_hours: float = 24.0

    def __post_init__(self) -> None:
        if not 0.0 < validation.require_number("inactivity_hours", self.inactivity_hours) <= MAX_INACTIVITY_HOURS:
            problem = f"{show(self.inactivity_hours)} is not above 0 and at most {MAX_INACTIVITY_HOURS:g}"
            raise FieldError(problem, field="inactivity_hours")

    @property
    def inactivity(self) -> timedelta:
        """The inactivity as a timedelta."""
        return timedelta(hours=self.inactivity_hours)


def require_inactivity(field: str, value: timedelta) -> timedelta:
    """Return the inactivity; raise FieldError unless it is positive and not too long."""
    if not isinstance(value, timedelta):
        raise FieldError(f"{show(value)} is not a timedelta; pass one such as timedelta(hours=24)", field=field)
    if not timedelta() < value <= timedelta(hours=MAX_INACTIVITY_HOURS):
        raise FieldError(f"{value} is not above 0 and at most {MAX_INACTIVITY_HOURS:g} hours", field=field)
    return value


def require_summary(field: str, value: str) -> str:
    """Return the summary; raise FieldError if it is blank, or too long to be shown repeatedly."""
    if len(validation.require_content(field, value)) > MAX_SUMMARY_CHARS:
        problem = f"has {len(value)} characters; at most {MAX_SUMMARY_CHARS} are allowed"
        raise FieldError(f"{problem}; shorten it, and save the rest as observations", field=field)
    return value


def start_session(id: MemoryId, scope: Scope, at: datetime, by: Provenance = Provenance.MODEL_INFERENCE) -> Memory:
    """Create a session; its trust is that of its creator until a summary is set."""
    return Memory(
        id=id,
        scope=scope,
        text=NO_SUMMARY_TEXT,
        created_at=at,
        observed_at=at,
        updated_at=at,
        kind=Kind.SUMMARY,
        level=Level.SESSION,
        left=SESSION_LEFT_INDEXES,
        provenance=by,
        metadata={"last_active_at": at.isoformat(), "summarised": False},
    )


def touch_session(session: Memory, now: datetime) -> Memory:
    """Return the session with activity now.

    The current clock is used even if the stored time is later, because the stored time may be wrong.
    """
    metadata = {**session.metadata, "last_active_at": now.isoformat()}
    return session.with_changes(metadata=metadata, updated_at=max(now, session.created_at))


def set_summary(session: Memory, summary: str, by: Provenance) -> Memory:
    """Return the session with a summary, and with the trust of the summary's author."""
    metadata = {**session.metadata, "summarised": True}
    return session.with_changes(text=summary, metadata=metadata, provenance=by, trust=TRUST_BY_PROVENANCE[by])


def end_session(session: Memory, at: datetime) -> Memory:
    """Return the session as ended at that time, or at its start if that is later."""
    metadata = {**session.metadata, "ended_at": max(at, session.created_at).isoformat()}
    status = Status.COMPLETED if session.status is Status.ACTIVE else session.status
    return session.with_changes(metadata=metadata, status=status)


def read_last_active_at(session: Memory) -> datetime:
    """Return the time of its last activity."""
    return _read_moment(session.metadata.get("last_active_at")) or session.created_at


def read_ended_at(session: Memory) -> datetime | None:
    """Return when it ended, if it has."""
    return _read_moment(session.metadata.get("ended_at"))


def is_inactive(session: Memory, inactivity: timedelta, now: datetime) -> bool:
    """Return whether it had no activity for that long; a clock that was set back never ends it."""
    return now - read_last_active_at(session) >= inactivity


def read_session(memory: Memory, saved: Sequence[str] = ()) -> Session:
    """Read a session from its memory.

    `saved` are titles of memories saved in it, for the default summary of a session that ended without one.
    """
    has_summary, ended_at = memory.metadata.get("summarised") is True, read_ended_at(memory)
    default_summary = None if ended_at is None else compose_summary(saved)
    return Session(
        id=memory.id,
        scope=memory.scope,
        started_at=memory.created_at,
        last_active_at=read_last_active_at(memory),
        ended_at=ended_at,
        summary=memory.text if has_summary else default_summary,
        summarised=has_summary,
        status=memory.status,
    )


def compose_summary(titles: Sequence[str]) -> str:
    """Compose the default summary: how many memories were saved, and how the first few begin."""
    if not titles:
        return "It ended without a summary, and nothing that was saved in it is left."
    names = "; ".join(shorten(one) for one in titles[:MAX_NAMED_MEMORIES])
    more = f"; and {len(titles) - MAX_NAMED_MEMORIES} more" if len(titles) > MAX_NAMED_MEMORIES else ""
    return f"It ended without a summary. Saved in it: {format_count(len(titles), 'observation')}: {names}{more}"


def _read_moment(stored: object) -> datetime | None:
    """Read a stored time; `None` if it is missing, or a manual edit broke it."""
    try:
        return validation.require_moment("noted", datetime.fromisoformat(stored)) if isinstance(stored, str) else None
    except ValueError:
        return None
