"""Erase: memories go for good, with all that was made of them, and it is proved that they are gone."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from recollect.engine.change import not_there
from recollect.engine.world import World
from recollect.errors import NotFound, show
from recollect.evidence import analysis
from recollect.model import limits
from recollect.model.erasure import Erased, Erasure, Lineage, Search
from recollect.model.memory import MemoryId
from recollect.model.scope import Scope
from recollect.ports import Forgetful, Writing


def erase_memory(world: World, scope: Scope, id: str) -> Erasure:
    """Erase a memory, and what the scope derived from it."""

    def change(writing: Writing) -> Erased:
        if writing.get(scope, MemoryId(id)) is None:
            raise not_there(scope, id)
        return writing.erase(scope, descent(writing.lineage(scope), [id]))

    return _erasure(world, scope, change)


def erase_source(world: World, scope: Scope, source: str) -> Erasure:
    """Erase what came from a source, and what the scope derived from it."""
    limits.an_id("source", source)

    def change(writing: Writing) -> Erased:
        erased = writing.erase(scope, came_from(writing, scope, source))
        if not erased.ids:
            raise nothing_came(scope, source)
        return erased

    return _erasure(world, scope, change)


def erase_everything(world: World, scope: Scope) -> Erasure:
    """Erase all memories of exactly that scope, with the contexts that were made for it."""

    def change(writing: Writing) -> Erased:
        erased = writing.erase_all(scope)
        if not erased.ids and not erased.contexts:
            raise NotFound(f"there is nothing in {scope}; scopes below it are erased one by one")
        return erased

    return _erasure(world, scope, change)


def prove_erased(world: World, erasure: Erasure) -> Erasure:
    """The receipt after looking once more."""
    return _proved(world, replace(erasure, search=Search()))


def came_from(writing: Writing, scope: Scope, source: str) -> list[MemoryId]:
    """What came to the scope from a source, and all that was derived from it; the source's own id is among them, as
    something may have been derived from it that has no memory.
    """
    lineage = writing.lineage(scope)
    return descent(lineage, [source, *(one.id for one in lineage if one.source == source)])


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


def _erasure(world: World, scope: Scope, change: Callable[[Writing], Erased]) -> Erasure:
    world.store.flush()  # traces that are still to be written may name what is erased
    erased = world.store.write(change)
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
        pieces=erased.pieces,
    )
    return _proved(world, receipt)


def _proved(world: World, erasure: Erasure) -> Erasure:
    """The receipt with what a search found; what was looked for is let go of as soon as it is proved to be gone."""
    analysis.forget()
    if isinstance(world.embedder, Forgetful):
        world.embedder.forget()
    search = world.store.scrub(erasure.scope, erasure.pieces)
    copies = [f"{copy}, which somebody was making beside the store: a backup or an export" for copy in search.copies]
    proved = replace(erasure, search=search, out_of_reach=(*search.out_of_reach, *copies))
    return replace(proved, pieces=frozenset[bytes]()) if proved.proven else proved
