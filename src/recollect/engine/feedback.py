"""Feedback: which memories of a context helped, and which misled."""

from collections.abc import Sequence

from recollect.admission.screening import clean
from recollect.engine.world import World
from recollect.errors import FieldError, InvalidInput, NotFound, show
from recollect.model import limits
from recollect.model.memory import MemoryId
from recollect.model.scope import Scope
from recollect.model.usage import Use, Vote


def a_context_id(value: str | None) -> str:
    """The id of a context; one that has none was recalled from a store that may only be read."""
    if value is None:
        why = "None is no id: a context of a store that may only be read has none, since nothing of it is kept"
        raise FieldError(f"{why}; recall where the store may be written to", field="context_id")
    return limits.a_text("context_id", value)


def feedback(
    world: World, context: str, *, scope: Scope, helped: Sequence[str], misled: Sequence[str], by: str | None
) -> None:
    """Take one vote for each memory named; a later vote of the same principal on it in this context replaces it."""
    now = world.now()
    principal = str(scope) if by is None else _a_principal(world, by)
    world.store.flush()
    trace = world.store.context(scope, context) if limits.can_be_kept(context) else None
    if trace is None:
        raise NotFound(f"there is no context {show(context)} in {scope}")

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

    if votes:
        world.store.write(lambda writing: writing.vote(scope, votes))


def _a_principal(world: World, by: str) -> str:
    """Who votes; a name is kept as it is, so one that has something to hide is refused."""
    name = limits.an_id("by", by)
    if clean(name, world.policy.secrets) != name:
        raise FieldError("has what is private or looks like a secret; give another name", field="by")
    return name
