"""Checks and conflict errors that every store uses for writes.

`next_commit_time`, at the end, decides when a commit counts as recorded.
"""

from collections.abc import Collection
from datetime import datetime

from recollect.errors import Conflict, EmbedderMismatch, FieldError, InvalidInput, show
from recollect.model import validation
from recollect.model.context import SIGN_USES, Use
from recollect.model.encoder import Encoder
from recollect.model.memory import MemoryId
from recollect.model.validation import MAX_CLOCK_LEAD
from recollect.retrieval.evidence import Vector

COUNTED_USES = frozenset({Use.SERVED, Use.ECHOED}) | SIGN_USES
"""Uses that are counted when they happen: signs once per context, the others every time."""

VOTE_USES = frozenset({Use.HELPED, Use.MISLED})
"""Uses that a vote may carry."""


def refuse_other_encoder(recorded: Encoder | None, given: Encoder | None) -> None:
    """Raise EmbedderMismatch if the store has vectors of another model.

    Vectors of two models are never compared.
    """
    if recorded is not None and given is not None and recorded != given:
        raise EmbedderMismatch(
            f"the vectors of this store are of {recorded}, not of {given}; open it again without naming an embedder, "
            "or run `recollect admin re-embed --embedder NAME`"
        )


def refuse_mismatched_vector(vector: Vector | None, encoder: Encoder | None) -> None:
    """Raise an error unless the vector has the shape of the store's model."""
    if vector is None:
        return
    if encoder is None:
        raise InvalidInput("the model of the vector is not known; call `adopt` with the model before `put`")
    if vector.shape != (encoder.dimensions,):
        raise FieldError(f"numbers of shape {vector.shape}; the vectors of {encoder} are asked for", field="vector")


def refuse_invalid_checkpoint(name: str, value: str) -> None:
    """Raise an error unless the checkpoint has a valid name and a text any store can keep."""
    validation.require_id("name", name)
    validation.require_clean_text("value", value)


def refuse_unsupported_use(use: Use, allowed: Collection[Use]) -> None:
    """Raise FieldError if the use is not allowed here.

    Counted uses and votes are recorded by different methods; neither accepts the other.
    """
    if use not in allowed:
        known = " or ".join(sorted(one.value for one in allowed))
        raise FieldError(f"{show(use.value)} is said elsewhere; here it is {known}", field="use")


def refuse_sign_without_context(use: Use, context: str | None) -> None:
    """Raise FieldError if a sign has no context; signs are counted once per context."""
    if use in SIGN_USES and context is None:
        raise FieldError(f"is missing; what was {use.value} is a memory of a context", field="context")


def id_taken_error(id: MemoryId) -> Conflict:
    """Return the error for an id that belongs to a memory of another scope."""
    return Conflict(f"the id {show(id)} is taken; leave it out, and one is made")


def history_differs_error(id: MemoryId) -> Conflict:
    """Return the error for an archived memory whose id exists here with a different history."""
    return Conflict(f"the memory {show(id)} is here already and says something else; erase it first, or leave it out")


def context_taken_error(id: str) -> Conflict:
    """Return the error for an archived context whose id exists here with different content."""
    return Conflict(f"the context {show(id)} is here already and is made of something else")


def duplicate_text_error(twin: MemoryId) -> Conflict:
    """Return the error for a second active memory of a scope with the same text."""
    return Conflict(f"the memory {show(twin)} says the same already; forget one of the two first")


def topic_taken_error(other: MemoryId, topic_key: str) -> Conflict:
    """Return the error for a second active memory of a topic."""
    return Conflict(f"the topic {show(topic_key)} has the memory {show(other)} already; forget one of the two first")


def next_commit_time(now: datetime, last: datetime | None) -> datetime:
    """Return the time to record for a commit: never before the last commit.

    A last commit that is too far ahead (by more than `MAX_CLOCK_LEAD`) is ignored: its clock was wrong, and following
    it would hide every later write until that date.
    """
    return now if last is None or last - now > MAX_CLOCK_LEAD else max(now, last)
