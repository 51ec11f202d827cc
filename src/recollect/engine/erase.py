"""Erase: memories go for good, with all that was made of them, and it is proved that they are gone."""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace

from recollect.admission.policy import Policy
from recollect.engine.dependencies import World
from recollect.engine.edit import not_there
from recollect.engine.prior_status import as_it_stood
from recollect.engine.supersession import rivals
from recollect.errors import NotFound, show
from recollect.model import validation
from recollect.model.erasure import Erased, Erasure, Lineage, Search
from recollect.model.memory import Memory, MemoryId, Status
from recollect.model.scope import Scope
from recollect.protocols import Forgetful, Writing
from recollect.text import tokenizer


@dataclass(frozen=True, slots=True)
class _Done:
    """What a transaction erased, who holds again for it, and of what that was made which stays."""

    erased: Erased
    restored: Sequence[MemoryId] = ()
    made_of: Sequence[MemoryId] = ()


def erase_memory(world: World, scope: Scope, id: str) -> Erasure:
    """Erase a memory, and what the scope derived from it."""

    def change(writing: Writing) -> _Done:
        memory = writing.get(scope, MemoryId(id))
        if memory is None:
            raise not_there(scope, id)
        done = _erased(world.policy, writing, scope, [memory.id])
        origins = [MemoryId(one) for one in memory.derived_from]
        return replace(done, made_of=[one for one in origins if writing.get(scope, one) is not None])

    return _erasure(world, scope, change)


def erase_source(world: World, scope: Scope, source: str) -> Erasure:
    """Erase what came from a source, and what the scope derived from it."""
    validation.an_id("source", source)

    def change(writing: Writing) -> _Done:
        done = _erased(world.policy, writing, scope, _named(writing.lineage(scope), source))
        if not done.erased.ids:
            raise nothing_came(scope, source)
        return done

    return _erasure(world, scope, change)


def erase_everything(world: World, scope: Scope) -> Erasure:
    """Erase all memories of exactly that scope, with the contexts that were made for it."""

    def change(writing: Writing) -> _Done:
        erased = writing.erase_all(scope)
        if not erased.ids and not erased.contexts:
            raise NotFound(f"there is nothing in {scope}; scopes below it are erased one by one")
        return _Done(erased)

    return _erasure(world, scope, change)


def all_of(world: World, scope: Scope, id: MemoryId) -> list[MemoryId]:
    """The memory and what the scope derived from it, which is what erasing it removes; nothing is written."""
    lineage = world.store.lineage(scope)
    if all(one.id != id for one in lineage):
        raise not_there(scope, id)
    return _there(lineage, descent(lineage, [id]))


def all_from(world: World, scope: Scope, source: str) -> list[MemoryId]:
    """What came from a source and what the scope derived from it; a store that is only read can be asked too."""
    lineage = world.store.lineage(scope)
    return _there(lineage, descent(lineage, _named(lineage, source)))


def all_in(world: World, scope: Scope) -> list[MemoryId]:
    """Every memory of exactly that scope."""
    return sorted({one.id for one in world.store.lineage(scope)})


def _there(lineage: Sequence[Lineage], ids: Collection[MemoryId]) -> list[MemoryId]:
    """Those of the ids that have a memory, in order: something may have been derived from what has none."""
    return sorted({one.id for one in lineage} & set(ids))


def prove_erased(world: World, erasure: Erasure) -> Erasure:
    """The receipt after looking once more."""
    return _proved(world, replace(erasure, search=Search()))


def came_from(writing: Writing, scope: Scope, source: str) -> list[MemoryId]:
    """What came to the scope from a source, and all that was derived from it; the source's own id is among them, as
    something may have been derived from it that has no memory.
    """
    lineage = writing.lineage(scope)
    return descent(lineage, _named(lineage, source))


def _named(lineage: Sequence[Lineage], source: str) -> list[str]:
    return [source, *(one.id for one in lineage if one.source == source)]


def nothing_came(scope: Scope, source: str) -> NotFound:
    """What is said of a source from which the scope has nothing."""
    return NotFound(f"nothing in {scope} came from the source {show(source)}")


def descent(lineage: Sequence[Lineage], origins: Iterable[str]) -> list[MemoryId]:
    """The origins, all that names one of them as what it was derived from, all that names one of those, and so on."""
    children: dict[str, list[MemoryId]] = {}
    for one in lineage:
        for origin in one.derived_from:
            children.setdefault(origin, []).append(one.id)
    found = dict.fromkeys(MemoryId(origin) for origin in origins)
    waiting = list(found)
    while waiting:
        new = [child for child in children.get(waiting.pop(), ()) if child not in found]
        found |= dict.fromkeys(new)
        waiting += new
    return list(found)


def _erased(policy: Policy, writing: Writing, scope: Scope, origins: Collection[str]) -> _Done:
    """Erase the origins with their descent. What was recalled through a memory that goes with them holds again; what
    an origin itself spoke for stays put away, for it may say the same.
    """
    lineage = writing.lineage(scope)
    gone = dict.fromkeys(descent(lineage, origins))
    made = gone.keys() - origins
    parts = {MemoryId(part) for one in lineage if one.id in made for part in one.derived_from if part not in gone}
    others = [writing.get(scope, part) for part in sorted(parts)]
    silent = [one for one in others if one is not None and _is_spoken_for(writing, one)]

    erased, restored = writing.erase(scope, list(gone)), list[MemoryId]()
    for one in silent:
        back = _as_before(writing, one)
        if _has_room(policy, writing, back, restored):
            restored.append(writing.put(back, None).id)
    return _Done(erased, restored)


def _is_spoken_for(writing: Writing, memory: Memory) -> bool:
    """Whether the memory is put away, and is recalled through the one that holds at the end; that it is not if one of
    those between was given other words since, which are what holds in place of its own.
    """
    one, seen = memory, set[MemoryId]()
    while one.status is Status.CONSOLIDATED and one.superseded_by is not None and one.id not in seen:
        seen.add(one.id)
        behind = writing.get(one.scope, one.superseded_by)
        if behind is None or behind.searched_text != _as_it_came(writing, behind).searched_text:
            return False
        one = behind
    return bool(seen) and one.status is Status.ACTIVE


def _as_it_came(writing: Writing, memory: Memory) -> Memory:
    """The first version of the memory."""
    while (earlier := writing.before(memory.scope, memory.id, memory.commit or 0)) is not None:
        memory, _ = earlier
    return memory


def _as_before(writing: Writing, memory: Memory) -> Memory:
    """The memory, standing as it did before it was put away."""
    stood = as_it_stood(writing, memory, {Status.CONSOLIDATED})
    by = None if stood.superseded_by == memory.superseded_by else stood.superseded_by
    return memory.changed(status=stood.status, superseded_by=by, remark=stood.remark)


def _has_room(policy: Policy, writing: Writing, back: Memory, restored: Collection[MemoryId]) -> bool:
    """Whether no other memory says the same by now, or something else of its topic or its subject; those that are back
    already stood beside it, but for one in the very same words.
    """
    said = [one for one in writing.sayings(back) if one.status is Status.ACTIVE]
    if any(one.hash == back.hash or one.id not in restored for one in said):
        return False
    taken = back.topic_key is not None and writing.topic(back.scope, back.topic_key) is not None
    return back.status is Status.ACTIVE and not taken and not rivals(writing, back, policy)


def _erasure(world: World, scope: Scope, change: Callable[[Writing], _Done]) -> Erasure:
    world.store.settle()  # traces that are still to be written may name what is erased
    done = world.store.write(change)
    erased = done.erased
    receipt = Erasure(
        scope=scope,
        ids=erased.ids,
        versions=erased.versions,
        vectors=erased.vectors,
        uses=erased.uses,
        votes=erased.votes,
        keys=erased.keys,
        checkpoints=erased.checkpoints,
        contexts=erased.contexts,
        search=Search(),
        restored=tuple(done.restored),
        made_of=tuple(done.made_of),
        pieces=erased.pieces,
    )
    return _proved(world, receipt)


def _proved(world: World, erasure: Erasure) -> Erasure:
    """The receipt with what a search found; what was looked for is let go of as soon as it is proved to be gone."""
    tokenizer.forget()
    if isinstance(world.embedder, Forgetful):
        world.embedder.forget()
    search = world.store.scrub(erasure.scope, erasure.pieces)
    copies = [f"{copy}, which somebody was making beside the store: a backup or an export" for copy in search.copies]
    proved = replace(erasure, search=search, out_of_reach=(*search.out_of_reach, *copies))
    return replace(proved, pieces=frozenset[bytes]()) if proved.proven else proved
