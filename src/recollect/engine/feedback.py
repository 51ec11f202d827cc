"""Feedback: which memories of a context helped, which misled, and which speak for themselves."""

from collections.abc import Sequence
from datetime import datetime

from recollect.admission.screening import clean
from recollect.engine.dependencies import World
from recollect.errors import FieldError, InvalidInput, NotFound, show
from recollect.model import validation
from recollect.model.context_record import Trace
from recollect.model.memory import Memory, MemoryId
from recollect.model.scope import Scope
from recollect.model.usage import Noted, Use, Vote
from recollect.protocols import Writing
from recollect.retrieval.eligibility import as_it_was, revised_since
from recollect.text.citations import quoted, quotes_every

COPIED = "it is the context pasted back"
EVERY = "it quotes every memory of the context, which prefers none"
"""Why nothing of an answer is noted that has words of memories."""


def a_context_id(value: str | None) -> str:
    """The id of a context; one that has none was recalled from a store that may only be read."""
    if value is None:
        why = "None is no id: a context of a store that may only be read has none, since nothing of it is kept"
        raise FieldError(f"{why}; recall where the store may be written to", field="context_id")
    return validation.a_text("context_id", value)


def feedback(
    world: World,
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
    principal = str(scope) if by is None else _a_principal(world, by)
    said = None if answer is None else _an_answer(world, answer)
    world.store.settle()
    trace = found_context(
        world.store.context(scope, context) if validation.can_be_kept(context) else None, scope, context
    )
    copied = answer is not None and trace.marker in answer  # which nothing has but the context itself
    memories = [] if said is None or copied else _as_packed(world, trace)

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
    quotes, every = _quotes(said or "", memories, "\n".join(trace.question))

    if votes or quotes:
        world.store.write(lambda writing: _note(writing, scope, context, votes, quotes, now))
    return Noted(len(votes), tuple(quotes), COPIED if copied else every)


def followed(writing: Writing, scope: Scope, contexts: Sequence[str], at: datetime) -> None:
    """Note of every memory handed over in these contexts of the scope that success followed, once for each context.

    Contexts are kept soon after they are made: have the store flushed before the transaction.
    """
    for context in contexts:
        trace = found_context(_kept(writing, scope, context), scope, context)
        writing.record(scope, [placed.id for placed in trace.packed], Use.FOLLOWED, at, context)


def refuse_stranger(writing: Writing, scope: Scope, contexts: Sequence[str]) -> None:
    """Refuse if one of these is no context of the scope."""
    for context in contexts:
        found_context(_kept(writing, scope, context), scope, context)


def not_followed(writing: Writing, scope: Scope, contexts: Sequence[str]) -> None:
    """Note no longer that success followed these contexts."""
    for context in contexts:
        trace = found_context(_kept(writing, scope, context), scope, context)
        writing.retract(scope, [placed.id for placed in trace.packed], Use.FOLLOWED, context)


def still_there(writing: Writing, scope: Scope, contexts: Sequence[str]) -> list[str]:
    """Those of these contexts of the scope of which it is still known what they were made of."""
    return [one for one in contexts if _kept(writing, scope, one) is not None]


def _quotes(said: str, memories: Sequence[Memory], question: str) -> tuple[list[MemoryId], str | None]:
    """Which of the memories the answer quotes; none if it quotes every one, and then that this is why."""
    texts = [one.searched_text for one in memories]
    found = [memories[place].id for place in quoted(said, texts, question)]
    return found, EVERY if not found and quotes_every(said, texts, question) else None


def _kept(writing: Writing, scope: Scope, context: str) -> Trace | None:
    return writing.context(scope, context) if validation.can_be_kept(context) else None


def _note(
    writing: Writing, scope: Scope, context: str, votes: Sequence[Vote], quotes: Sequence[MemoryId], at: datetime
) -> None:
    """Keep what was said and found of a context, unless that was erased meanwhile."""
    found_context(writing.context(scope, context), scope, context)
    writing.vote(scope, votes)
    writing.record(scope, quotes, Use.QUOTED, at, context)


def found_context(trace: Trace | None, scope: Scope, context: str) -> Trace:
    """The context that was asked for; refused if there is none, or it is another scope's, in the same words."""
    if trace is None:
        raise NotFound(f"there is no context {show(context)} in {scope}")
    return trace


def _as_packed(world: World, trace: Trace) -> list[Memory]:
    """The memories of a context as they were when it was made, as far as they are there."""
    present = world.store.get(trace.scope, [placed.id for placed in trace.packed])
    return [one if _unchanged(one, trace) else _then(world, one, trace) for one in present]


def _unchanged(memory: Memory, trace: Trace) -> bool:
    return (memory.commit or 0) <= trace.commit and not revised_since(memory, trace.at)


def _then(world: World, memory: Memory, trace: Trace) -> Memory:
    """The memory by what was known when the context was made; as it is, where that cannot be told any more."""
    versions = world.store.history(trace.scope, memory.id)
    known = [one for one in versions if (one.commit or 0) <= trace.commit]
    if not known:
        return memory
    was = known[-1] if trace.at == trace.made_at else as_it_was(known, trace.at)
    return was or known[-1]


def _an_answer(world: World, answer: str) -> str:
    """What was answered, without what is private or secret, which no memory has either."""
    if not validation.a_clean_text("answer", answer).strip():
        raise FieldError("is blank; give what was answered, or leave it out", field="answer")
    return clean(validation.a_content("answer", answer), world.policy.secrets)


def _a_principal(world: World, by: str) -> str:
    """Who votes; a name is kept as it is, so one that has something to hide is refused."""
    name = validation.an_id("by", by)
    if clean(name, world.policy.secrets) != name:
        raise FieldError("has what is private or looks like a secret; give another name", field="by")
    return name
