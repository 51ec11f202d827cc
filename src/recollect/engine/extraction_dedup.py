"""Heard: what is said in a conversation that was heard of it before."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from recollect.admission.screening import redact_text
from recollect.engine.dependencies import Dependencies
from recollect.model.draft import Draft
from recollect.model.idempotency import IdempotencyRecord
from recollect.model.memory import Kind, Memory, MemoryId, Status
from recollect.model.verdict import Receipt, Refused, Unchanged
from recollect.protocols import WriteTransaction


@dataclass(frozen=True, slots=True)
class _KnownMemory:
    """A memory with the same words as a draft, and since when it has its status.

    `is_same_saying` tells whether the draft comes from the same call, or from the same moment.
    """

    memory: Memory
    status_since: datetime | None
    is_same_saying: bool


def answer_known_drafts(world: Dependencies, drafts: Sequence[Draft]) -> list[Receipt | None]:
    """What is answered to each draft that was heard before, whatever became of it since; nothing to what is new.

    What is told again of its moment is the same saying. Of a turn without a date nothing says when it was said: it is
    new only if nothing that is known can have come from it. So it is not if a memory with its words rests on the same
    quote of the same session, or was ever echoed, which may have been by this turn. A model puts the same in other
    words each time: then it is the quote that tells.
    """
    if not drafts:
        return []
    wanted = [_make_lookup_memory(world, draft) for draft in drafts]

    def look(writing: WriteTransaction) -> list[list[_KnownMemory]]:
        return [_load_sayings(writing, draft, memory) for draft, memory in zip(drafts, wanted, strict=True)]

    known = world.store.write(look)
    answers = [_make_answer(world, draft, found) for draft, found in zip(drafts, known, strict=True)]
    reworded = {} if world.extractor.verbatim or all(answers) else _load_by_quote(world, drafts)
    return [answer or _answer_reworded(draft, reworded) for draft, answer in zip(drafts, answers, strict=True)]


def _make_lookup_memory(world: Dependencies, draft: Draft) -> Memory:
    """A memory with the words that the draft would be kept with."""
    return Memory(
        id=MemoryId("wanted"),
        scope=draft.scope,
        text=redact_text(draft.text, world.policy.secrets),
        created_at=world.now(),
        kind=draft.kind or Kind.OBSERVATION,
        speaker=draft.speaker,
    )


def _load_sayings(writing: WriteTransaction, draft: Draft, memory: Memory) -> list[_KnownMemory]:
    """What says the same, the active ones first; and the memory that the same call made before."""
    kept: IdempotencyRecord | None = None if draft.key is None else writing.kept(draft.scope, draft.key)
    made = None if kept is None else writing.get(draft.scope, kept.memory)
    saying = (*writing.sayings(memory), *writing.said_before(memory), *([] if made is None else [made]))
    found = {one.id: one for one in saying}
    return [
        _KnownMemory(
            one,
            one.valid_until if one.status is Status.SUPERSEDED else writing.standing_since(one),
            made is one or (draft.at is not None and writing.echoed(one, draft.at)),
        )
        for one in found.values()
    ]


def _make_answer(world: Dependencies, draft: Draft, known: Sequence[_KnownMemory]) -> Receipt | None:
    heard = next((one for one in known if one.is_same_saying or _comes_from_draft(world, draft, one.memory)), None)
    if heard is None:
        return None
    active = next((one for one in known if one.memory.status is Status.ACTIVE), heard)
    memory = active.memory
    match memory.status:
        case Status.QUARANTINED:
            return None  # how long it waits depends on who says it
        case Status.FORGOTTEN | Status.SUPERSEDED if draft.at is not None:
            return None  # whether it was said since is told by its date
        case Status.FORGOTTEN | Status.SUPERSEDED:
            when = "" if active.status_since is None else f" on {active.status_since.isoformat(timespec='seconds')}"
            reason = f"it was {memory.status.value}{when}, and nothing says that this was said since"
            return Receipt(memory.id, Refused(f"{reason}: the turn has no date", memory.id), memory)
        case _:
            return Receipt(memory.id, Unchanged(), memory)


def _comes_from_draft(world: Dependencies, draft: Draft, memory: Memory) -> bool:
    """Whether a version of the memory comes from the draft's saying, as far as one can tell."""
    versions = world.store.history(draft.scope, memory.id)
    if draft.at is not None:
        return any(draft.at in (one.created_at, one.observed_at) for one in versions)
    (usage,) = world.store.usage(draft.scope, [memory.id])
    return usage.echoed > 0 or any((one.evidence, one.session) == (draft.evidence, draft.session) for one in versions)


_Quote = tuple[tuple[str, ...], str | None, str | None]


def _load_by_quote(world: Dependencies, drafts: Sequence[Draft]) -> dict[_Quote, list[Memory]]:
    """The memories of any standing that rest on the same words of the same speaker and session as a draft does."""
    wanted = {_quote_of(draft) for draft in drafts if draft.at is not None or draft.session is not None}
    found: dict[_Quote, list[Memory]] = {}
    for scope in {draft.scope for draft in drafts} if wanted else ():
        for one in world.store.memories(scope, below=False, statuses=list(Status)):
            if _quote_of(one) in wanted:
                found.setdefault(_quote_of(one), []).append(one)
    return found


def _quote_of(said: Draft | Memory) -> _Quote:
    return said.evidence, said.session, said.speaker


def _answer_reworded(draft: Draft, known: Mapping[_Quote, Sequence[Memory]]) -> Receipt | None:
    """What is answered if the same saying was understood in other words before, at that moment if it has one."""
    same = [
        one
        for one in known.get(_quote_of(draft), ())
        if one.scope == draft.scope and draft.at in (None, one.created_at, one.observed_at)
    ]
    if not same:
        return None
    memory = next((one for one in same if one.status is Status.ACTIVE), same[0])
    if memory.status is Status.ACTIVE:
        return Receipt(memory.id, Unchanged(), memory)
    reason = f"the same words were understood before, and what they left is {memory.status.value}"
    return Receipt(memory.id, Refused(reason, memory.id), memory)
