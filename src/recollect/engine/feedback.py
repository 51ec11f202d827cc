"""Feedback: which memories of a context helped, which misled, and which speak for themselves."""

from collections.abc import Sequence
from datetime import datetime

from recollect.admission.screening import redact_text
from recollect.engine.dependencies import Dependencies
from recollect.errors import FieldError, InvalidInput, NotFound, show
from recollect.model import validation
from recollect.model.context_record import ContextRecord
from recollect.model.memory import Memory, MemoryId
from recollect.model.scope import Scope
from recollect.model.usage import Noted, Use, Vote
from recollect.protocols import WriteTransaction
from recollect.retrieval.eligibility import version_at, was_revised_since
from recollect.text.citations import find_quoted_texts, quotes_all_texts

COPIED_REASON = "it is the context pasted back"
QUOTES_ALL_REASON = "it quotes every memory of the context, which prefers none"
"""Why nothing of an answer is noted that has words of memories."""


def require_context_id(value: str | None) -> str:
    """The id of a context; one that has none was recalled from a store that may only be read."""
    if value is None:
        why = "None is no id: a context of a store that may only be read has none, since nothing of it is kept"
        raise FieldError(f"{why}; recall where the store may be written to", field="context_id")
    return validation.require_text("context_id", value)


def record_feedback(
    world: Dependencies,
    context: str,
    *,
    scope: Scope,
    helped: Sequence[str],
    misled: Sequence[str],
    by: str | None,
    answer: str | None,
) -> Noted:
    """Take one vote for each memory named; a later vote of the same principal on it in this context replaces it.

    What the answer quotes is noted beside that, once for the context, unless the answer is the context itself; the
    answer is not kept.
    """
    now = world.now()
    principal = str(scope) if by is None else _check_principal(world, by)
    said = None if answer is None else _screen_answer(world, answer)
    world.store.settle()
    trace = require_context(
        world.store.context(scope, context) if validation.is_storable(context) else None, scope, context
    )
    copied = answer is not None and trace.marker in answer  # which nothing has but the context itself
    memories = [] if said is None or copied else _load_as_packed(world, trace)

    handed = {placed.id for placed in trace.packed}
    both = next((id for id in helped if id in set(misled)), None)
    if both is not None:
        raise InvalidInput(f"the memory {show(both)} cannot both have helped and misled")
    stranger = next((id for id in (*helped, *misled) if id not in handed), None)
    if stranger is not None:
        raise NotFound(f"the memory {show(stranger)} was not handed over in the context {show(context)}")
    voices = [*((id, Use.HELPED) for id in helped), *((id, Use.MISLED) for id in misled)]
    votes = [
        Vote(context=context, memory=MemoryId(id), by=principal, use=use, at=now) for id, use in dict(voices).items()
    ]
    quotes, every = _find_quoted(said or "", memories, "\n".join(trace.question))

    if votes or quotes:
        world.store.write(lambda writing: _write_feedback(writing, scope, context, votes, quotes, now))
    return Noted(len(votes), tuple(quotes), COPIED_REASON if copied else every)


def record_success(writing: WriteTransaction, scope: Scope, contexts: Sequence[str], at: datetime) -> None:
    """Note of every memory handed over in these contexts of the scope that success followed, once for each context.

    Contexts are kept soon after they are made: have the store flushed before the transaction.
    """
    for context in contexts:
        trace = require_context(_load_context(writing, scope, context), scope, context)
        writing.record(scope, [placed.id for placed in trace.packed], Use.FOLLOWED, at, context)


def require_known_contexts(writing: WriteTransaction, scope: Scope, contexts: Sequence[str]) -> None:
    """Refuse if one of these is no context of the scope."""
    for context in contexts:
        require_context(_load_context(writing, scope, context), scope, context)


def retract_success(writing: WriteTransaction, scope: Scope, contexts: Sequence[str]) -> None:
    """Note no longer that success followed these contexts."""
    for context in contexts:
        trace = require_context(_load_context(writing, scope, context), scope, context)
        writing.retract(scope, [placed.id for placed in trace.packed], Use.FOLLOWED, context)


def filter_known_contexts(writing: WriteTransaction, scope: Scope, contexts: Sequence[str]) -> list[str]:
    """Those of these contexts of the scope of which it is still known what they were made of."""
    return [one for one in contexts if _load_context(writing, scope, one) is not None]


def _find_quoted(said: str, memories: Sequence[Memory], question: str) -> tuple[list[MemoryId], str | None]:
    """Which of the memories the answer quotes; none if it quotes every one, and then that this is why."""
    texts = [one.searched_text for one in memories]
    found = [memories[place].id for place in find_quoted_texts(said, texts, question)]
    return found, QUOTES_ALL_REASON if not found and quotes_all_texts(said, texts, question) else None


def _load_context(writing: WriteTransaction, scope: Scope, context: str) -> ContextRecord | None:
    return writing.context(scope, context) if validation.is_storable(context) else None


def _write_feedback(
    writing: WriteTransaction,
    scope: Scope,
    context: str,
    votes: Sequence[Vote],
    quotes: Sequence[MemoryId],
    at: datetime,
) -> None:
    """Keep what was said and found of a context, unless that was erased meanwhile."""
    require_context(writing.context(scope, context), scope, context)
    writing.vote(scope, votes)
    writing.record(scope, quotes, Use.QUOTED, at, context)


def require_context(trace: ContextRecord | None, scope: Scope, context: str) -> ContextRecord:
    """The context that was asked for; refused if there is none, or it is another scope's, in the same words."""
    if trace is None:
        raise NotFound(f"there is no context {show(context)} in {scope}")
    return trace


def _load_as_packed(world: Dependencies, trace: ContextRecord) -> list[Memory]:
    """The memories of a context as they were when it was made, as far as they are there."""
    present = world.store.get(trace.scope, [placed.id for placed in trace.packed])
    return [one if _is_unchanged(one, trace) else _version_when_packed(world, one, trace) for one in present]


def _is_unchanged(memory: Memory, trace: ContextRecord) -> bool:
    return (memory.commit or 0) <= trace.commit and not was_revised_since(memory, trace.at)


def _version_when_packed(world: Dependencies, memory: Memory, trace: ContextRecord) -> Memory:
    """The memory by what was known when the context was made; as it is, where that cannot be told any more."""
    versions = world.store.history(trace.scope, memory.id)
    known = [one for one in versions if (one.commit or 0) <= trace.commit]
    if not known:
        return memory
    was = known[-1] if trace.at == trace.made_at else version_at(known, trace.at)
    return was or known[-1]


def _screen_answer(world: Dependencies, answer: str) -> str:
    """What was answered, without what is private or secret, which no memory has either."""
    if not validation.require_clean_text("answer", answer).strip():
        raise FieldError("is blank; give what was answered, or leave it out", field="answer")
    return redact_text(validation.require_content("answer", answer), world.policy.secrets)


def _check_principal(world: Dependencies, by: str) -> str:
    """Who votes; a name is kept as it is, so one that has something to hide is refused."""
    name = validation.require_id("by", by)
    if redact_text(name, world.policy.secrets) != name:
        raise FieldError("has what is private or looks like a secret; give another name", field="by")
    return name
