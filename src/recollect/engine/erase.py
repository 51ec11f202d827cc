"""Erase: remove memories and everything derived from them, and prove that they are gone."""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace

from recollect.admission.policy import AdmissionPolicy
from recollect.engine.dependencies import Dependencies
from recollect.engine.edit import find_rivals, load_prior_version, memory_not_found, query_duplicates
from recollect.errors import NotFound, show
from recollect.model import validation
from recollect.model.archive import ErasedRows, ErasureReceipt, Lineage, ResidueSearch
from recollect.model.enums import Status
from recollect.model.memory import Memory, MemoryId
from recollect.model.scope import Scope
from recollect.protocols import SupportsForget, WriteTransaction
from recollect.text import tokenizer
from recollect.text.index_entry import index_memory

USAGE = "give exactly one of id=, source= and everything=True"


@dataclass(frozen=True, slots=True)
class _EraseResult:
    """What a transaction erased, which memories became active again, and which origins stay."""

    erased: ErasedRows
    restored: Sequence[MemoryId] = ()
    made_of: Sequence[MemoryId] = ()


def erase_memory(deps: Dependencies, scope: Scope, id: str) -> ErasureReceipt:
    """Erase a memory and what the scope derived from it."""

    def change(writing: WriteTransaction) -> _EraseResult:
        memory = writing.get(scope, MemoryId(id))
        if memory is None:
            raise memory_not_found(scope, id)
        result = _erase_with_descendants(deps.policy, writing, scope, [memory.id])
        origins = [MemoryId(one) for one in memory.derived_from]
        return replace(result, made_of=[one for one in origins if writing.get(scope, one) is not None])

    return _run_erase(deps, scope, change)


def erase_source(deps: Dependencies, scope: Scope, source: str) -> ErasureReceipt:
    """Erase everything from a source and what the scope derived from it."""
    validation.require_id("source", source)

    def change(writing: WriteTransaction) -> _EraseResult:
        result = _erase_with_descendants(deps.policy, writing, scope, _source_origins(writing.lineage(scope), source))
        if not result.erased.ids:
            raise source_not_found(scope, source)
        return result

    return _run_erase(deps, scope, change)


def erase_everything(deps: Dependencies, scope: Scope) -> ErasureReceipt:
    """Erase all memories of exactly this scope, with its contexts."""

    def change(writing: WriteTransaction) -> _EraseResult:
        erased = writing.erase_all(scope)
        if not erased.ids and not erased.contexts:
            raise NotFound(f"{scope} is empty; erase the scopes below it one by one")
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
    """Return the ids of existing memories, sorted; an origin may be the id of something else."""
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
    descendants = dict.fromkeys(MemoryId(origin) for origin in origins)
    waiting = list(descendants)
    while waiting:
        found = [child for child in children.get(waiting.pop(), ()) if child not in descendants]
        descendants |= dict.fromkeys(found)
        waiting += found
    return list(descendants)


def _erase_with_descendants(
    policy: AdmissionPolicy, writing: WriteTransaction, scope: Scope, origins: Collection[str]
) -> _EraseResult:
    """Erase the origins with their descendants.

    A memory that was merged into an erased descendant becomes active again. One that was merged into an origin itself
    stays consolidated, since it may say the same.
    """
    lineage = writing.lineage(scope)
    to_erase = dict.fromkeys(find_descendants(lineage, origins))
    derived = to_erase.keys() - origins
    merged_ids = {
        MemoryId(part)
        for memory in lineage
        if memory.id in derived
        for part in memory.derived_from
        if part not in to_erase
    }
    merged = [writing.get(scope, part) for part in sorted(merged_ids)]
    consolidated = [memory for memory in merged if memory is not None and _is_recalled_by_successor(writing, memory)]

    erased, restored = writing.erase(scope, list(to_erase)), list[MemoryId]()
    for memory in consolidated:
        former = _restore_status(writing, memory)
        if _can_be_restored(policy, writing, former, restored):
            restored.append(writing.put(former, None).id)
    return _EraseResult(erased, restored)


def _is_recalled_by_successor(writing: WriteTransaction, memory: Memory) -> bool:
    """Return whether the memory is consolidated and recalled through an active successor.

    It is not if a successor in the chain was reworded since: then the new text counts instead.
    """
    current, seen = memory, set[MemoryId]()
    while current.status is Status.CONSOLIDATED and current.superseded_by is not None and current.id not in seen:
        seen.add(current.id)
        successor = writing.get(current.scope, current.superseded_by)
        if successor is None or successor.searched_text != _load_first_version(writing, successor).searched_text:
            return False
        current = successor
    return bool(seen) and current.status is Status.ACTIVE


def _load_first_version(writing: WriteTransaction, memory: Memory) -> Memory:
    """Return the first version of the memory."""
    while (earlier := writing.version(memory.scope, memory.id, before=memory.commit or 0)) is not None:
        memory, _ = earlier
    return memory


def _restore_status(writing: WriteTransaction, memory: Memory) -> Memory:
    """Return the memory with its status from before it was consolidated."""
    prior = load_prior_version(writing, memory, {Status.CONSOLIDATED})
    superseded_by = None if prior.superseded_by == memory.superseded_by else prior.superseded_by
    return memory.with_changes(status=prior.status, superseded_by=superseded_by, remark=prior.remark)


def _can_be_restored(
    policy: AdmissionPolicy, writing: WriteTransaction, memory: Memory, restored: Collection[MemoryId]
) -> bool:
    """Return whether no other memory has taken this one's text, topic or subject.

    Memories restored in the same transaction do not count, unless they have exactly the same text.
    """
    neighbors = writing.neighbors(query_duplicates(memory, index_memory(memory)))
    duplicates = [one for one in neighbors.duplicates if one.status is Status.ACTIVE]
    if any(one.hash == memory.hash or one.id not in restored for one in duplicates):
        return False
    return memory.status is Status.ACTIVE and neighbors.topic is None and not find_rivals(writing, memory, policy)


def _run_erase(deps: Dependencies, scope: Scope, change: Callable[[WriteTransaction], _EraseResult]) -> ErasureReceipt:
    deps.store.settle()  # queued context records may name what is erased
    result = deps.store.write(change)
    erased = result.erased
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
        restored=tuple(result.restored),
        made_of=tuple(result.made_of),
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
    copies = [f"{copy}, a backup or an export that was being written next to the store" for copy in search.copies]
    receipt = replace(erasure, search=search, out_of_reach=(*search.out_of_reach, *copies))
    return replace(receipt, pieces=frozenset[bytes]()) if receipt.proven else receipt
