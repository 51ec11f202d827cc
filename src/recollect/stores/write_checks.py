"""Refusals: what no store takes in, said alike by all of them.

Moments: when a store says it took something in.
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
"""What is counted when it happens: signs once for a context, the others each time."""

VOTE_USES = frozenset({Use.HELPED, Use.MISLED})
"""What a vote may say."""


def refuse_other_encoder(recorded: Encoder | None, given: Encoder | None) -> None:
    """Vectors of two models are never compared."""
    if recorded is not None and given is not None and recorded != given:
        raise EmbedderMismatch(
            f"the vectors of this store are of {recorded}, not of {given}; open it again without naming an embedder, "
            "or run `recollect admin re-embed --embedder NAME`"
        )


def refuse_mismatched_vector(vector: Vector | None, encoder: Encoder | None) -> None:
    """A vector is kept only if it can be the store's model's."""
    if vector is None:
        return
    if encoder is None:
        raise InvalidInput("a vector of nobody knows which model; have the store adopt the model before it is put")
    if vector.shape != (encoder.dimensions,):
        raise FieldError(f"numbers of shape {vector.shape}; the vectors of {encoder} are asked for", field="vector")


def refuse_invalid_checkpoint(name: str, value: str) -> None:
    """A checkpoint is kept only if every store could keep it: it has a name, and a text that can be written down."""
    validation.require_id("name", name)
    validation.require_clean_text("value", value)


def refuse_unsupported_use(use: Use, allowed: Collection[Use]) -> None:
    """Uses are counted as they happen, and votes say whether it helped; neither is the other."""
    if use not in allowed:
        known = " or ".join(sorted(one.value for one in allowed))
        raise FieldError(f"{show(use.value)} is said elsewhere; here it is {known}", field="use")


def refuse_sign_without_context(use: Use, context: str | None) -> None:
    """A sign is of a context, or nobody could tell it from the next."""
    if use in SIGN_USES and context is None:
        raise FieldError(f"is missing; what was {use.value} is a memory of a context", field="context")


def id_taken_error(id: MemoryId) -> Conflict:
    """What is said of an id that another scope's memory has."""
    return Conflict(f"the id {show(id)} is taken; leave it out, and one is made")


def history_differs_error(id: MemoryId) -> Conflict:
    """What is said of a memory of an archive whose id is here with another history."""
    return Conflict(f"the memory {show(id)} is here already and says something else; erase it first, or leave it out")


def context_taken_error(id: str) -> Conflict:
    """What is said of a context of an archive whose id is here, made of something else."""
    return Conflict(f"the context {show(id)} is here already and is made of something else")


def duplicate_text_error(twin: MemoryId) -> Conflict:
    """What is said of a second active memory of a scope with the same words."""
    return Conflict(f"the memory {show(twin)} says the same already; forget one of the two first")


def topic_taken_error(other: MemoryId, topic_key: str) -> Conflict:
    """What is said of a second active memory of a topic."""
    return Conflict(f"the topic {show(topic_key)} has the memory {show(other)} already; forget one of the two first")


def next_commit_time(now: datetime, last: datetime | None) -> datetime:
    """When what comes now is recorded: not before the last commit, unless that came by a clock far ahead.

    If it were followed for ever, nothing written since would be known at any moment of this life.
    """
    return now if last is None or last - now > MAX_CLOCK_LEAD else max(now, last)
