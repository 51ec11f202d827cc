"""Operations on events: record, browse and extract, and list names and topics."""

import hashlib
from typing import Annotated, Any

from pydantic import Field

from recollect.api import schemas
from recollect.api.auth import Caller, Right
from recollect.api.fields import (
    MAX_BATCH_ITEMS,
    Id,
    IdempotencyKey,
    Limit,
    ProvenanceName,
    RoleName,
    ScopePath,
    Text,
    Timestamp,
)
from recollect.api.operation import (
    Effect,
    Operation,
    OperationRequest,
    Toolset,
)
from recollect.api.operations.memories import redact_receipt, redact_receipts, to_receipt
from recollect.engine.engine import Engine
from recollect.engine.events import MAX_AROUND_EVENTS
from recollect.model.conversation import MAX_EXTRACTS, Role
from recollect.model.enums import Provenance
from recollect.model.scope import as_scope


class Turn(OperationRequest):
    """What somebody said, or a tool gave."""

    content: Text
    role: RoleName = Role.USER.value
    speaker: Id | None = None
    at: Timestamp | None = None
    session: Id | None = None
    id: Id | None = Field(None, description="What you know it by: the same again is the same event.")


EVENT_PROVENANCE_HELP = (
    "Through whom all of it came; if left out, the role of each turn tells. A key may be believed less."
)

Turns = Annotated[list[Turn], Field(min_length=1, max_length=MAX_BATCH_ITEMS)]


class Observe(OperationRequest):
    """What happened."""

    scope: ScopePath
    events: Turns = Field(description="What was said or given, in the order in which it happened.")
    provenance: ProvenanceName | None = Field(None, description=EVENT_PROVENANCE_HELP)
    source: Id | None = Field(None, description="The id of what they were read from.")
    key: IdempotencyKey | None = None


class Extract(OperationRequest):
    """A conversation."""

    scope: ScopePath
    turns: Turns = Field(description="The conversation, the latest last.")
    most: Annotated[int, Field(ge=1, le=MAX_EXTRACTS)] | None = Field(None, description="How many memories at most.")
    provenance: ProvenanceName | None = Field(None, description=EVENT_PROVENANCE_HELP)


class Browse(OperationRequest):
    """Where to look: all years, or what is below a key."""

    scope: ScopePath
    key: Id | None = Field(None, description="2026, 2026-03, 2026-W09 or 2026-03-01, or the id of a segment or a grip.")


class Expand(OperationRequest):
    """A grip or a segment."""

    scope: ScopePath
    id: Id = Field(description="The grip or the segment, as browse gives it.")
    around: Annotated[int, Field(ge=0, le=MAX_AROUND_EVENTS)] = Field(
        0, description="Also so many events before and after them, of the same session."
    )


class Entities(OperationRequest):
    """Whose names."""

    scope: ScopePath
    limit: Limit = 100


class Neighbours(OperationRequest):
    """A name, or the id of a memory."""

    scope: ScopePath
    name_or_id: Id = Field(description="A name, as list_entities gives it, or the id of a memory.")
    limit: Limit = 20


class Topics(OperationRequest):
    """Whose topics."""

    scope: ScopePath
    pruned: bool = Field(default=False, description="Also those that were not mentioned for long.")
    limit: Limit = 100


def _to_turns(turns: list[Turn], scope: str, key: str | None = None) -> list[dict[str, Any]]:
    """Return the turns as the engine takes them.

    With a `key`, a turn without an id gets one from the key and its place.
    """
    ids = [one.id if key is None or one.id is not None else f"{key}\0{place}" for place, one in enumerate(turns)]
    return [
        {
            name: value
            for name, value in {**one.to_arguments(), "id": _make_event_id(id, scope)}.items()
            if value is not None
        }
        for one, id in zip(turns, ids, strict=True)
    ]


def _make_event_id(id: str | None, scope: str) -> str | None:
    """Return an id derived from the scope and the caller's id.

    Ids are unique in the whole store, and callers of different scopes may choose the same one.
    """
    if id is None:
        return None
    return f"event-{hashlib.sha256(f'{as_scope(scope)} {id}'.encode(errors='surrogatepass')).hexdigest()[:32]}"


def _resolve_event_provenance(name: str | None, caller: Caller) -> Provenance | None:
    """Return the provenance of all turns, or None to derive it from each turn's role.

    It is given if the request names one, or if the caller is trusted less than the user.
    """
    if name is not None:
        return caller.cap_provenance(Provenance(name))
    capped = caller.cap_provenance(Provenance.DIRECT_USER)
    return None if capped is Provenance.DIRECT_USER else capped


def _observe(engine: Engine, request: Observe, caller: Caller) -> schemas.memories.Receipts:
    provenance = _resolve_event_provenance(request.provenance, caller)
    events = _to_turns(request.events, request.scope, request.key)
    receipts = engine.observe(events, scope=request.scope, provenance=provenance, source=request.source)
    return schemas.memories.Receipts.of(receipts=[to_receipt(engine, one, caller) for one in receipts])


def _extract(engine: Engine, request: Extract, caller: Caller) -> schemas.events.Extracted:
    provenance = _resolve_event_provenance(request.provenance, caller)
    result = engine.extract(
        _to_turns(request.turns, request.scope), scope=request.scope, most=request.most, provenance=provenance
    )
    answer = schemas.events.Extracted.of([(result.receipts, result.extraction)], redacted=result.redacted)
    receipts = [to_receipt(engine, one, caller) for one in result.receipts]
    extracts = [
        extract.model_copy(update={"memory": receipt.memory})
        for extract, receipt in zip(answer.extracts, receipts, strict=True)
    ]
    return answer.model_copy(update={"extracts": extracts})


def _redact_extracts(answer: schemas.events.Extracted) -> schemas.events.Extracted:
    """Redact the receipt of each extracted memory."""
    return answer.model_copy(update={"extracts": [redact_receipt(one) for one in answer.extracts]})


def _browse(engine: Engine, request: Browse, _: Caller) -> schemas.events.Outlook:
    return schemas.events.Outlook.of(engine.timeline.browse(request.key, scope=request.scope))


def _expand(engine: Engine, request: Expand, _: Caller) -> schemas.events.Expansion:
    return schemas.events.Expansion.of(engine.timeline.expand(request.id, scope=request.scope, around=request.around))


def _entities(engine: Engine, request: Entities, _: Caller) -> schemas.events.Entities:
    return schemas.events.Entities.of(scope=request.scope, entities=engine.topics.entities(**request.to_arguments()))


def _neighbors(engine: Engine, request: Neighbours, _: Caller) -> schemas.events.Neighbours:
    neighbors = engine.neighbors(request.name_or_id, **request.to_arguments("name_or_id"))
    return schemas.events.Neighbours.of(neighbors)


def _topics(engine: Engine, request: Topics, _: Caller) -> schemas.events.Topics:
    return schemas.events.Topics.of(scope=request.scope, topics=engine.topics.list(**request.to_arguments()))


OPERATIONS: tuple[Operation[Any, Any], ...] = (
    Operation(
        name="observe",
        title="Observe",
        about=(
            "Keep what happened word for word as events: messages, results of tools. Use it for the record of a "
            "conversation; for one thing worth knowing, use remember. With the same key, ids or dates the same again "
            "changes nothing."
        ),
        right=Right.WRITE,
        effect=Effect.ADDS,
        repeatable=False,
        request=Observe,
        answer=schemas.memories.Receipts,
        run=_observe,
        toolset=Toolset.OPERATOR,
        redact=redact_receipts,
    ),
    Operation(
        name="extract",
        title="Extract memories",
        about=(
            "Remember what a conversation leaves behind, each with the words it rests on. Call it when a conversation "
            "ends and nobody has picked out what matters. The same again changes nothing."
        ),
        right=Right.WRITE,
        effect=Effect.ADDS,
        repeatable=True,
        request=Extract,
        answer=schemas.events.Extracted,
        run=_extract,
        toolset=Toolset.OPERATOR,
        redact=_redact_extracts,
    ),
    Operation(
        name="browse",
        title="Browse what happened",
        about="Walk through what happened by years, months, weeks and days, down to segments.",
        right=Right.READ,
        effect=Effect.NONE,
        repeatable=True,
        request=Browse,
        answer=schemas.events.Outlook,
        run=_browse,
        toolset=Toolset.OPERATOR,
    ),
    Operation(
        name="expand",
        title="Expand to the events",
        about="The events that a grip or a segment rests on, word for word, with those around them.",
        right=Right.READ,
        effect=Effect.NONE,
        repeatable=True,
        request=Expand,
        answer=schemas.events.Expansion,
        run=_expand,
        toolset=Toolset.OPERATOR,
    ),
    Operation(
        name="list_entities",
        title="List names",
        about="The names that memories mention, the most mentioned first.",
        right=Right.READ,
        effect=Effect.NONE,
        repeatable=True,
        request=Entities,
        answer=schemas.events.Entities,
        run=_entities,
        toolset=Toolset.OPERATOR,
    ),
    Operation(
        name="get_neighbours",
        title="Follow a name",
        about="What is linked to a name or to a memory: other names, and memories with the name that links them.",
        right=Right.READ,
        effect=Effect.NONE,
        repeatable=True,
        request=Neighbours,
        answer=schemas.events.Neighbours,
        run=_neighbors,
        toolset=Toolset.OPERATOR,
    ),
    Operation(
        name="list_topics",
        title="List topics",
        about="What the memories of a scope are about, the most important first.",
        right=Right.READ,
        effect=Effect.NONE,
        repeatable=True,
        request=Topics,
        answer=schemas.events.Topics,
        run=_topics,
        toolset=Toolset.OPERATOR,
    ),
)
