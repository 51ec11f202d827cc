"""Erase: remove memories and everything derived from them, and prove that they are gone."""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace

from recollect.admission.policy import AdmissionPolicy
from recollect.engine.dependencies import Dependencies
from recollect.engine.edit import memory_not_found
from recollect.engine.supersession import find_rivals, load_prior_version
from recollect.errors import NotFound, show
from recollect.model import validation
from recollect.model.archive import ErasedRows, ErasureReceipt, Lineage, ResidueSearch
from recollect.model.enums import Status
from recollect.model.memory import Memory, MemoryId
from recollect.model.scope import Scope
from recollect.protocols import SupportsForget, WriteTransaction
from recollect.text import tokenizer


@dataclass(frozen=True, slots=True)
class _EraseResult:
    """What a transaction erased, which memories became active again, and the origins that stay."""

    erased: ErasedRows
    restored: Sequence[MemoryId] = ()
    made_of: Sequence[MemoryId] = ()


def erase_memory(deps: Dependencies, scope: Scope, id: str) -> ErasureReceipt:
    """Erase a memory and what the scope derived from it."""

    def change(writing: WriteTransaction) -> _EraseResult:
        memory = writing.get(scope, MemoryId(id))
        if memory is None:
            raise memory_not_found(scope, id)
        done = _erase_with_descendants(deps.policy, writing, scope, [memory.id])
        origins = [MemoryId(one) for one in memory.derived_from]
        return replace(done, made_of=[one for one in origins if writing.get(scope, one) is not None])

    return _run_erase(deps, scope, change)


def erase_source(deps: Dependencies, scope: Scope, source: str) -> ErasureReceipt:
    """Erase everything from a source and what the scope derived from it."""
    validation.require_id("source", source)

    def change(writing: WriteTransaction) -> _EraseResult:
        done = _erase_with_descendants(deps.policy, writing, scope, _source_origins(writing.lineage(scope), source))
        if not done.erased.ids:
            raise source_not_found(scope, source)
        return done

    return _run_erase(deps, scope, change)


def erase_everything(deps: Dependencies, scope: Scope) -> ErasureReceipt:
    """Erase all memories of exactly this scope, with its contexts."""

    def change(writing: WriteTransaction) -> _EraseResult:
        erased = writing.erase_all(scope)
        if not erased.ids and not erased.contexts:
            raise NotFound(f"there is nothing in {scope}; scopes below it are erased one by one")
        return _EraseResult(erased)

    return _run_erase(deps, scope, change)


def list_memory_and_derived(deps: Dependencies, scope: Scope, id: MemoryId) -> list[MemoryId]:
    """Return the ids that erasing a memory would remove; nothing is written."""
    lineage = deps.store.lineage(scope)
    if all(one.id != id for one in lineage):
        raise memory_not_found(scope, id)
    return _existing_ids(lineage, find_descendants(lineage, [id]))


def list_from_source(deps: Dependencies, scope: Scope, source: str) -> list[MemoryId]:
    """Return the ids that erasing a source would remove; works on a read-only store."""
    lineage = deps.store.lineage(scope)
    return _existing_ids(lineage, find_descendants(lineage, _source_origins(lineage, source)))


def list_in_scope(deps: Dependencies, scope: Scope) -> list[MemoryId]:
    """Return the ids of every memory of exactly this scope."""
    return sorted({one.id for one in deps.store.lineage(scope)})


def _existing_ids(lineage: Sequence[Lineage], ids: Collection[MemoryId]) -> list[MemoryId]:
    """Return the ids that have a memory, sorted; an origin may be the id of something else."""
    return sorted({one.id for one in lineage} & set(ids))


def prove_erased(deps: Dependencies, erasure: ErasureReceipt) -> ErasureReceipt:
    """Search for the erased data again, and return the updated receipt."""
    return _search_erased(deps, replace(erasure, search=ResidueSearch()))


def find_from_source(writing: WriteTransaction, scope: Scope, source: str) -> list[MemoryId]:
    """Return the ids of everything from a source and derived from it.

    The source's own id is included, since memories may be derived from an id that has no memory.
    """
    lineage = writing.lineage(scope)
    return find_descendants(lineage, _source_origins(lineage, source))


def _source_origins(lineage: Sequence[Lineage], source: str) -> list[str]:
    return [source, *(one.id for one in lineage if one.source == source)]


def source_not_found(scope: Scope, source: str) -> NotFound:
    """Return the error for a source from which the scope has nothing."""
    return NotFound(f"nothing in {scope} came from the source {show(source)}")


def find_descendants(lineage: Sequence[Lineage], origins: Iterable[str]) -> list[MemoryId]:
    """Return the origins and everything derived from them, directly or indirectly."""
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


def _erase_with_descendants(
    policy: AdmissionPolicy, writing: WriteTransaction, scope: Scope, origins: Collection[str]
) -> _EraseResult:
    """Erase the origins with their descendants.

    A memory that was merged into an erased descendant becomes active again. One that was merged into an origin itself
    stays consolidated, since it may say the same.
    """
    lineage = writing.lineage(scope)
    gone = dict.fromkeys(find_descendants(lineage, origins))
    made = gone.keys() - origins
    parts = {MemoryId(part) for one in lineage if one.id in made for part in one.derived_from if part not in gone}
    others = [writing.get(scope, part) for part in sorted(parts)]
    silent = [one for one in others if one is not None and _is_recalled_by_successor(writing, one)]

    erased, restored = writing.erase(scope, list(gone)), list[MemoryId]()
    for one in silent:
        back = _restore_status(writing, one)
        if _can_be_restored(policy, writing, back, restored):
            restored.append(writing.put(back, None).id)
    return _EraseResult(erased, restored)


def _is_recalled_by_successor(writing: WriteTransaction, memory: Memory) -> bool:
    """Return whether the memory is consolidated and recalled through an active successor.

    It is not if a successor in the chain was reworded since: then the new text counts instead.
    """
    one, seen = memory, set[MemoryId]()
    while one.status is Status.CONSOLIDATED and one.superseded_by is not None and one.id not in seen:
        seen.add(one.id)
        behind = writing.get(one.scope, one.superseded_by)
        if behind is None or behind.searched_text != _load_first_version(writing, behind).searched_text:
            return False
        one = behind
    return bool(seen) and one.status is Status.ACTIVE


def _load_first_version(writing: WriteTransaction, memory: Memory) -> Memory:
    """Return the first version of the memory."""
    while (earlier := writing.before(memory.scope, memory.id, memory.commit or 0)) is not None:
        memory, _ = earlier
    return memory


def _restore_status(writing: WriteTransaction, memory: Memory) -> Memory:
    """Return the memory with its status from before it was consolidated."""
    stood = load_prior_version(writing, memory, {Status.CONSOLIDATED})
    by = None if stood.superseded_by == memory.superseded_by else stood.superseded_by
    return memory.changed(status=stood.status, superseded_by=by, remark=stood.remark)


def _can_be_restored(
    policy: AdmissionPolicy, writing: WriteTransaction, back: Memory, restored: Collection[MemoryId]
) -> bool:
    """Return whether no other memory has taken this one's text, topic or subject.

    Memories restored in the same transaction do not count, unless they have exactly the same text.
    """
    said = [one for one in writing.sayings(back) if one.status is Status.ACTIVE]
    if any(one.hash == back.hash or one.id not in restored for one in said):
        return False
    taken = back.topic_key is not None and writing.topic(back.scope, back.topic_key) is not None
    return back.status is Status.ACTIVE and not taken and not find_rivals(writing, back, policy)


def _run_erase(deps: Dependencies, scope: Scope, change: Callable[[WriteTransaction], _EraseResult]) -> ErasureReceipt:
    deps.store.settle()  # queued context records may name what is erased
    done = deps.store.write(change)
    erased = done.erased
    receipt = ErasureReceipt(
        scope=scope,
        ids=erased.ids,
        versions=erased.versions,
        vectors=erased.vectors,
        uses=erased.uses,
        votes=erased.votes,
        keys=erased.keys,
        checkpoints=erased.checkpoints,
        contexts=erased.contexts,
        search=ResidueSearch(),
        restored=tuple(done.restored),
        made_of=tuple(done.made_of),
        pieces=erased.pieces,
    )
    return _search_erased(deps, receipt)


def _search_erased(deps: Dependencies, erasure: ErasureReceipt) -> ErasureReceipt:
    """Search for the erased data, and return the receipt with the result.

    The search patterns are dropped from the receipt once the data is proved gone.
    """
    tokenizer.clear_caches()
    if isinstance(deps.embedder, SupportsForget):
        deps.embedder.forget()
    search = deps.store.scrub(erasure.scope, erasure.pieces)
    copies = [f"{copy}, a backup or an export that was being made beside the store" for copy in search.copies]
    proved = replace(erasure, search=search, out_of_reach=(*search.out_of_reach, *copies))
    return replace(proved, pieces=frozenset[bytes]()) if proved.proven else proved
