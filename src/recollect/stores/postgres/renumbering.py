"""Renumbering: commits of several roots, each counted by itself, as those of one store."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from recollect.model.archive import ArchivedMemory, ArchiveItem
from recollect.model.context_record import ContextRecord
from recollect.model.frozen_copy import copy_with

CommitNumbers = Mapping[tuple[str, int], int]
"""For a root and the number of a commit there, its number among those of all roots."""


def number_commits(commits: Iterable[tuple[str, int, int]]) -> CommitNumbers | None:
    """New numbers for these commits, each given with its root and when it was recorded; `None` if they need none.

    They need none if no two roots have a commit of one number that was recorded at different moments. The new ones are
    in the order of recording, and within a root in the order they have.
    """
    moments: dict[int, set[int]] = defaultdict(set)
    latest: dict[str, int] = defaultdict(int)
    order: list[tuple[int, str, int]] = []
    for root, number, recorded_at in sorted(commits):
        moments[number].add(recorded_at)
        latest[root] = max(latest[root], recorded_at)  # a clock may have gone back
        order.append((latest[root], root, number))
    if all(len(found) == 1 for found in moments.values()):
        return None
    return {(root, number): place for place, (_, root, number) in enumerate(sorted(order), 1)}


def renumber_items(items: Iterator[ArchiveItem], numbers: CommitNumbers) -> Iterator[ArchiveItem]:
    """The items with the new numbers."""
    for item in items:
        yield _renumber_context(item, numbers) if isinstance(item, ContextRecord) else _renumber_memory(item, numbers)


def _renumber_context(trace: ContextRecord, numbers: CommitNumbers) -> ContextRecord:
    if trace.elsewhere:  # its commit is none of these
        return trace
    return replace(trace, commit=numbers.get((trace.scope.parts[0], trace.commit), trace.commit))


def _renumber_memory(saved: ArchivedMemory, numbers: CommitNumbers) -> ArchivedMemory:
    root = saved.current.scope.parts[0]
    return replace(
        saved,
        versions=tuple(
            (copy_with(memory, commit=numbers[root, memory.commit or 0]), content) for memory, content in saved.versions
        ),
        uses=tuple(replace(use, commit=numbers[root, use.commit]) for use in saved.uses),
        votes=tuple(replace(vote, commit=numbers[root, vote.commit]) for vote in saved.votes),
    )
