"""Operations that write memories and read single ones."""

from typing import Annotated, Any, TypeVar

from pydantic import Field

from recollect.api import schemas
from recollect.api.auth import Caller, Right
from recollect.api.fields import (
    MAX_BATCH_ITEMS,
    PROVENANCE_HELP,
    Id,
    IdempotencyKey,
    JsonObject,
    KindName,
    Limit,
    Names,
    ProvenanceName,
    ScopePath,
    ShortText,
    StatusName,
    Text,
    Texts,
    Timestamp,
    UnitFloat,
)
from recollect.api.operation import (
    Effect,
    Operation,
    OperationRequest,
    Toolset,
)
from recollect.engine.engine import Engine
from recollect.errors import AccessDenied, NotFound, show
from recollect.model.draft import Receipt
from recollect.model.enums import TRUST_BY_PROVENANCE, Provenance, Status
from recollect.model.memory import Memory
from recollect.model.scope import as_scope

DEFAULT_LIST_LIMIT = 100
"""Default number of memories on one page of a list."""

Vector = Annotated[
    list[float], Field(max_length=16_384, description="A direction to use instead of embedding the text.")
]


class Said(OperationRequest):
    """What is proposed to be remembered, but for whose it is."""

    text: Text = Field(description="One thing worth knowing later, in a sentence that stands on its own.")
    kind: KindName | None = Field(None, description="What sort of memory it is; an observation if not said.")
    title: ShortText | None = Field(None, description="What it is called, in a few words.")
    topic_key: Id | None = Field(
        None,
        description="A name for a text that is kept up to date, such as team-roster; the next under it revises it.",
    )
    subject: Id | None = Field(
        None,
        description="What it is about where one thing holds at a time, such as 'ana: lives in'; the next of that "
        "subject ends it. Found by itself in plain English sentences; in other languages it has to be named.",
    )
    tags: Names = Field(default_factory=list[str], description="Words to find it by.")
    importance: UnitFloat | None = Field(None, description="How much it matters, 0 to 1; judged by rule if not said.")
    confidence: UnitFloat | None = Field(None, description="How sure it is: 1 if it was stated, 0.5 if uncertain.")
    pinned: bool = Field(default=False, description="Keep room for it in every context.")
    shared: bool = Field(default=False, description="Let the scopes below see it too.")
    session: Id | None = None
    speaker: Id | None = Field(None, description="Who said it.")
    at: Timestamp | None = Field(None, description="When it was observed, if not now.")
    valid_from: Timestamp | None = Field(None, description="Since when it holds, if not since it was observed.")
    valid_until: Timestamp | None = Field(None, description="When it stops to hold, if that is known.")
    provenance: ProvenanceName | None = Field(None, description=PROVENANCE_HELP)
    source: Id | None = Field(None, description="The document, tool or import it came from.")
    derived_from: Names = Field(default_factory=list[str], description="Ids of memories it was concluded from.")
    evidence: Texts = Field(default_factory=list[str], description="Quotations that it rests on.")
    metadata: JsonObject | None = None
    vector: Vector | None = None
    key: IdempotencyKey | None = None


class Remember(Said):
    """What is proposed to be remembered."""

    scope: ScopePath


class RememberAll(OperationRequest):
    """Several proposals for one scope, remembered together or not at all."""

    scope: ScopePath
    drafts: Annotated[list[Said], Field(min_length=1, max_length=MAX_BATCH_ITEMS)] = Field(
        description="What to remember, each as remember takes it."
    )


class Named(OperationRequest):
    """A memory, by its id."""

    scope: ScopePath
    id: Id = Field(description="The memory.")


class Revise(Named):
    """What a memory is to say from now on; what is not given stays as it was."""

    text: Text = Field(description="What it says from now on, whole.")
    title: ShortText | None = Field(None, description="What it is called, in a few words.")
    kind: KindName | None = Field(None, description="What sort of memory it is.")
    tags: Names | None = Field(None, description="Words to find it by, in place of those it has.")
    importance: UnitFloat | None = Field(None, description="How much it matters, 0 to 1.")
    confidence: UnitFloat | None = Field(None, description="How sure it is: 1 if it was stated, 0.5 if uncertain.")
    at: Timestamp | None = Field(None, description="When that was observed, if not now.")
    valid_from: Timestamp | None = Field(None, description="Since when it holds.")
    valid_until: Timestamp | None = Field(None, description="When it stops to hold, if that is known.")
    metadata: JsonObject | None = None
    provenance: ProvenanceName | None = Field(None, description=PROVENANCE_HELP)
    vector: Vector | None = None


class ListMemories(OperationRequest):
    """Which memories to list; `after` is the last id of the page before."""

    scope: ScopePath
    below: bool = Field(default=False, description="Also those of the scopes below.")
    statuses: Annotated[list[StatusName], Field(min_length=1, max_length=len(Status))] = Field(
        default_factory=lambda: [Status.ACTIVE.value],
        description="Only those that are one of these; what is quarantined takes the right admin.",
    )
    limit: Limit = DEFAULT_LIST_LIMIT
    after: Id | None = Field(None, description="The next of the page before; leave it out for the first page.")


def resolve_provenance(name: str | None, caller: Caller) -> Provenance:
    """Return the provenance of a write, capped by the caller's; by default MODEL_INFERENCE."""
    return caller.cap_provenance(Provenance.MODEL_INFERENCE if name is None else Provenance(name))


def to_receipt(engine: Engine, receipt: Receipt, caller: Caller) -> schemas.memories.Receipt:
    """Return a receipt for the caller, without the memory if it is quarantined from the caller.

    That holds even if the caller has sent the same text.
    """
    hidden = {"memory": None} if receipt.kept and _is_hidden(engine, receipt.memory, caller) else {}
    return schemas.memories.Receipt.of(receipt, **hidden)


ReceiptAnswer = TypeVar("ReceiptAnswer", bound=schemas.memories.Receipt)


def redact_receipt(answer: ReceiptAnswer) -> ReceiptAnswer:
    """Remove the memory and the reason, which may quote another memory.

    The reason of a refusal is about the draft alone, and stays.
    """
    quotes = answer.verdict != "refused" and "reason" in answer.model_fields_set
    return answer.model_copy(update={"memory": None, **({"reason": None} if quotes else {})})


def redact_receipts(answer: schemas.memories.Receipts) -> schemas.memories.Receipts:
    """Redact each receipt."""
    return answer.model_copy(update={"receipts": [redact_receipt(one) for one in answer.receipts]})


def _to_draft(proposal: Said, caller: Caller) -> dict[str, Any]:
    return {**proposal.to_arguments(), "provenance": resolve_provenance(proposal.provenance, caller)}


def _remember(engine: Engine, request: Remember, caller: Caller) -> schemas.memories.Receipt:
    (receipt,) = engine.remember_all([_to_draft(request, caller)])
    return to_receipt(engine, receipt, caller)


def _remember_all(engine: Engine, request: RememberAll, caller: Caller) -> schemas.memories.Receipts:
    drafts = [_to_draft(one, caller) for one in request.drafts]
    receipts = engine.remember_all(drafts, scope=request.scope)
    return schemas.memories.Receipts.of(receipts=[to_receipt(engine, one, caller) for one in receipts])


def _revise(engine: Engine, request: Revise, caller: Caller) -> schemas.memories.Receipt:
    _require_readable(engine, engine.get(request.id, scope=request.scope), caller)
    changes = {**request.to_arguments("id", "text"), "provenance": resolve_provenance(request.provenance, caller)}
    return to_receipt(engine, engine.revise(request.id, request.text, **changes), caller)


def require_trust(memory: Memory, caller: Caller) -> None:
    """Raise AccessDenied if the caller is trusted less than the memory."""
    if TRUST_BY_PROVENANCE[caller.provenance].less_than(memory.trust):
        problem = f"memory {show(memory.id)} is trusted more than {show(caller.name)}"
        raise AccessDenied(f"{problem}; only a writer with at least its trust can change it")


def _require_changeable(engine: Engine, request: Named, caller: Caller) -> None:
    """Raise if the caller may not read the memory or is trusted less than it.

    The answer to a change shows the memory, so a quarantined one needs the right to read it.
    """
    require_trust(_require_readable(engine, engine.get(request.id, scope=request.scope), caller), caller)


def _forget(engine: Engine, request: Named, caller: Caller) -> schemas.memories.Receipt:
    _require_changeable(engine, request, caller)
    return schemas.memories.Receipt.of(engine.forget(request.id, scope=request.scope))


def _restore(engine: Engine, request: Named, _: Caller) -> schemas.memories.Receipt:
    return schemas.memories.Receipt.of(engine.restore(request.id, scope=request.scope))


def _pin(engine: Engine, request: Named, caller: Caller) -> schemas.memories.Receipt:
    _require_changeable(engine, request, caller)
    return schemas.memories.Receipt.of(engine.pin(request.id, scope=request.scope))


def _unpin(engine: Engine, request: Named, caller: Caller) -> schemas.memories.Receipt:
    _require_changeable(engine, request, caller)
    return schemas.memories.Receipt.of(engine.unpin(request.id, scope=request.scope))


def _is_hidden(engine: Engine, memory: Memory, caller: Caller) -> bool:
    """Return whether the memory is quarantined and the caller is not an admin.

    A forgotten memory counts as quarantined if it was quarantined before.
    """
    if memory.status not in (Status.QUARANTINED, Status.FORGOTTEN) or caller.has_right(Right.ADMIN, memory.scope):
        return False
    if memory.status is Status.QUARANTINED:
        return True
    try:
        versions = engine.history(memory.id, scope=memory.scope)
    except NotFound:  # erased since it was read
        return True
    former = next((one.status for one in reversed(versions) if one.status is not Status.FORGOTTEN), None)
    return former is Status.QUARANTINED


def _require_readable(engine: Engine, memory: Memory, caller: Caller) -> Memory:
    """Return the memory; raise NotFound if it is hidden from the caller."""
    if _is_hidden(engine, memory, caller):
        raise NotFound(f"memory {show(memory.id)} is quarantined; it can be read once an operator releases it")
    return memory


def _find_replacement(engine: Engine, memory: Memory, scope: str, caller: Caller) -> Memory | None:
    """Return the memory that replaced this one, if the caller may read it."""
    replacement = engine.items.replacement(memory, scope=scope)
    return None if replacement is None or _is_hidden(engine, replacement, caller) else replacement


def _get(engine: Engine, request: Named, caller: Caller) -> schemas.memories.Shown:
    memory = _require_readable(engine, engine.get(request.id, scope=request.scope), caller)
    usage = engine.contexts.usage(memory.id, scope=request.scope)
    replacement = _find_replacement(engine, memory, request.scope, caller)
    return schemas.memories.Shown.of(memory, usage=usage, replacement=replacement)


def _history(engine: Engine, request: Named, caller: Caller) -> schemas.memories.Versions:
    versions = engine.history(request.id, scope=request.scope)
    _require_readable(engine, versions[-1], caller)
    replacement = _find_replacement(engine, versions[-1], request.scope, caller)
    return schemas.memories.Versions.of(id=request.id, versions=versions, replacement=replacement)


def _list(engine: Engine, request: ListMemories, caller: Caller) -> schemas.memories.Memories:
    if Status.QUARANTINED in request.statuses:
        caller.require_right(Right.ADMIN, as_scope(request.scope))
    memories = engine.memories(
        **request.to_arguments("limit"), limit=request.limit + 1
    )  # one more shows whether there is a next page
    page = memories[: request.limit]
    visible = [one for one in page if not _is_hidden(engine, one, caller)]
    next_id = page[-1].id if len(memories) > len(page) else None
    return schemas.memories.Memories.of(scope=request.scope, memories=visible, next=next_id)


OPERATIONS: tuple[Operation[Any, Any], ...] = (
    Operation(
        name="remember",
        title="Remember",
        about=(
            "Keep one thing worth knowing in later conversations: a preference, a decision, a fact, how something is "
            "done, what went wrong. Say it in one sentence that stands on its own, with names instead of pronouns. "
            "What is known already is only counted as said again, and a new truth about a subject replaces the old "
            "one; the verdict tells. Never give passwords or keys."
        ),
        right=Right.WRITE,
        effect=Effect.ADDS,
        repeatable=True,
        request=Remember,
        answer=schemas.memories.Receipt,
        run=_remember,
        toolset=Toolset.CORE,
        redact=redact_receipt,
    ),
    Operation(
        name="remember_all",
        title="Remember several",
        about="Keep several things at once, all of them or none. Use it instead of many single calls.",
        right=Right.WRITE,
        effect=Effect.ADDS,
        repeatable=True,
        request=RememberAll,
        answer=schemas.memories.Receipts,
        run=_remember_all,
        toolset=Toolset.OPERATOR,
        redact=redact_receipts,
    ),
    Operation(
        name="revise",
        title="Revise a memory",
        about=(
            "Give a memory a new text when it is wrong or incomplete and its id is known. Its history keeps what it "
            "said before. For something new, use remember."
        ),
        right=Right.WRITE,
        effect=Effect.ADDS,
        repeatable=True,
        request=Revise,
        answer=schemas.memories.Receipt,
        run=_revise,
        toolset=Toolset.CORE,
        redact=redact_receipt,
    ),
    Operation(
        name="forget",
        title="Forget a memory",
        about=(
            "Recall a memory no more, when the user asks to forget it. Nothing is erased: an operator can restore it."
        ),
        right=Right.WRITE,
        effect=Effect.ADDS,
        repeatable=True,
        request=Named,
        answer=schemas.memories.Receipt,
        run=_forget,
        toolset=Toolset.CORE,
        redact=redact_receipt,
    ),
    Operation(
        name="restore",
        title="Restore a memory",
        about="Bring back a memory that was forgotten or put away; what took its place holds no longer.",
        right=Right.ADMIN,
        effect=Effect.ADDS,
        repeatable=True,
        request=Named,
        answer=schemas.memories.Receipt,
        run=_restore,
        toolset=Toolset.OPERATOR,
        redact=redact_receipt,
    ),
    Operation(
        name="pin",
        title="Pin a memory",
        about="Keep room for a memory in every context, for what must never be overlooked. Use it rarely.",
        right=Right.WRITE,
        effect=Effect.ADDS,
        repeatable=True,
        request=Named,
        answer=schemas.memories.Receipt,
        run=_pin,
        toolset=Toolset.OPERATOR,
        redact=redact_receipt,
    ),
    Operation(
        name="unpin",
        title="Unpin a memory",
        about="Let a pinned memory compete with the others again, once it need not be in every context any more.",
        right=Right.WRITE,
        effect=Effect.ADDS,
        repeatable=True,
        request=Named,
        answer=schemas.memories.Receipt,
        run=_unpin,
        toolset=Toolset.OPERATOR,
        redact=redact_receipt,
    ),
    Operation(
        name="get_memory",
        title="Look at a memory",
        about=(
            "All that is known of one memory by its id: its text, where it comes from, and how it was used. Use it "
            "before you rely on a memory that matters, or change it."
        ),
        right=Right.READ,
        effect=Effect.NONE,
        repeatable=True,
        request=Named,
        answer=schemas.memories.Shown,
        run=_get,
        toolset=Toolset.CORE,
    ),
    Operation(
        name="get_history",
        title="Look at the versions of a memory",
        about=(
            "Every version of one memory, the oldest first: what it said before, and what took its place. Use it when "
            "asked how or when something changed."
        ),
        right=Right.READ,
        effect=Effect.NONE,
        repeatable=True,
        request=Named,
        answer=schemas.memories.Versions,
        run=_history,
        toolset=Toolset.OPERATOR,
    ),
    Operation(
        name="list_memories",
        title="List memories",
        about="The memories of a scope, page by page in the order of ids. To find something, use search or recall.",
        right=Right.READ,
        effect=Effect.NONE,
        repeatable=True,
        request=ListMemories,
        answer=schemas.memories.Memories,
        run=_list,
        toolset=Toolset.OPERATOR,
    ),
)
