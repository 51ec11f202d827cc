"""The state of the reference store: dictionaries of memories and uses, and reads from them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from recollect.model.archive import ArchivedContent, ArchivedMemory, ArchivedUse, ArchivedVote, Lineage
from recollect.model.context import ContextRecord, Usage, Use, Vote, count_votes, select_current_votes
from recollect.model.draft import IdempotencyRecord
from recollect.model.encoder import Encoder
from recollect.model.enums import Index, Level, Status
from recollect.model.memory import Memory, MemoryId
from recollect.model.scope import Scope
from recollect.retrieval.eligibility import View, version_at, was_revised_since
from recollect.retrieval.vectors import Vector

CommitNumber = int

IdsByTopic = Mapping[str | None, MemoryId]
"""The active memories with the same text, by topic."""


@dataclass(frozen=True, slots=True)
class MemoryVersion:
    """A memory as of one commit, with its vector."""

    memory: Memory
    vector: Vector | None
    commit: CommitNumber


@dataclass(frozen=True, slots=True)
class RecordedUse:
    """A use of a memory, with the commit that recorded it."""

    memory: MemoryId
    use: Use
    at: datetime
    context: str | None
    commit: CommitNumber


@dataclass(slots=True)
class ReferenceState:
    """Everything the store has recorded. Only the holder of the lock changes it in place."""

    encoder: Encoder | None = None
    commit_times: list[datetime] = field(default_factory=list[datetime])
    versions: dict[MemoryId, tuple[MemoryVersion, ...]] = field(
        default_factory=dict[MemoryId, tuple[MemoryVersion, ...]]
    )
    ids_by_text: dict[tuple[Scope, str], IdsByTopic] = field(default_factory=dict[tuple[Scope, str], IdsByTopic])
    uses: list[RecordedUse] = field(default_factory=list[RecordedUse])
    votes: list[tuple[Vote, CommitNumber]] = field(default_factory=list[tuple[Vote, CommitNumber]])
    traces: dict[str, ContextRecord] = field(default_factory=dict[str, ContextRecord])
    idempotency_keys: dict[tuple[Scope, str], IdempotencyRecord] = field(
        default_factory=dict[tuple[Scope, str], IdempotencyRecord]
    )
    checkpoints: dict[tuple[Scope, str], str] = field(default_factory=dict[tuple[Scope, str], str])

    def copy(self) -> "ReferenceState":
        return ReferenceState(
            self.encoder,
            list(self.commit_times),
            dict(self.versions),
            dict(self.ids_by_text),
            list(self.uses),
            list(self.votes),
            dict(self.traces),
            dict(self.idempotency_keys),
            dict(self.checkpoints),
        )

    def find_version(self, id: MemoryId, until: CommitNumber) -> MemoryVersion | None:
        """Return the memory as of that commit."""
        versions = [one for one in self.versions.get(id, ()) if one.commit <= until]
        return versions[-1] if versions else None

    def list_visible(self, scope: Scope, until: CommitNumber) -> list[MemoryVersion]:
        """Return every memory that the scope may see, as of that commit, ordered by id."""
        found = [self.find_version(id, until) for id in sorted(self.versions)]
        return [one for one in found if one is not None and can_see(scope, one.memory)]

    def list_versions(self, view: View, until: CommitNumber) -> list[MemoryVersion]:
        """Return every memory of the view as it was at the view's moment, as known after a commit."""
        return [self.version_at(one, view, until) for one in self.list_visible(view.scope, until)]

    def version_at(self, version: MemoryVersion, view: View, until: CommitNumber) -> MemoryVersion:
        """Return the memory as it was at the view's moment, as far as was known then.

        If the memory has not been revised since, the version itself is returned.
        """
        known = [one for one in self.versions[version.memory.id] if one.commit <= until]
        seen = [one for one in known if can_see(view.scope, one.memory)]
        was = None if view.present else version_at([one.memory for one in seen], view.at)
        if was is None or not was_revised_since(version.memory, view.at):
            return version
        source = next(one for one in reversed(seen) if one.memory.updated_at == was.updated_at)
        return MemoryVersion(was, source.vector, source.commit)

    def has_dropped_vector(self, version: MemoryVersion, until: CommitNumber) -> bool:
        """Return whether a version lost its vector after that commit.

        This happens when a later version with the same text is removed from the vector index.
        """
        if version.vector is not None or Index.VECTOR in version.memory.left:
            return False
        later = [one for one in self.versions[version.memory.id] if one.commit > version.commit]
        text = version.memory.searched_text
        left = (one for one in later if Index.VECTOR in one.memory.left and one.memory.searched_text == text)
        return next((one.commit > until for one in left), False)

    def find_topic(self, scope: Scope, topic_key: str) -> Memory | None:
        """Return the scope's active memory with that topic key."""
        for versions in self.versions.values():
            memory = versions[-1].memory
            if memory.scope == scope and memory.status is Status.ACTIVE and memory.topic_key == topic_key:
                return memory
        return None

    def list_memories(
        self, scope: Scope, statuses: Sequence[Status], after: MemoryId | None, *, below: bool
    ) -> Iterator[Memory]:
        """Yield the memories of a scope after an id, in order of ids; with those `below`, if asked."""
        for id in sorted(one for one in self.versions if after is None or one > after):
            memory = self.versions[id][-1].memory
            inside = memory.scope.within(scope) if below else memory.scope == scope
            if inside and memory.status in statuses:
                yield memory

    def list_lineage(self, scope: Scope) -> list[Lineage]:
        """Return the sources of every memory of the scope, as each of its versions names them."""
        memories = (one.memory for versions in self.versions.values() for one in versions)
        return [Lineage(one.id, one.source, one.derived_from) for one in memories if one.scope == scope]

    def list_timeline(
        self,
        scope: Scope,
        levels: Sequence[Level],
        since: datetime | None,
        before: datetime | None,
        statuses: Sequence[Status],
    ) -> list[Memory]:
        """Return the scope's own records of these levels in a period, ordered by time and id."""
        present = (versions[-1].memory for versions in self.versions.values())
        found = [
            one
            for one in present
            if one.scope == scope
            and one.level in levels
            and one.status in statuses
            and (since is None or one.created_at >= since)
            and (before is None or one.created_at < before)
        ]
        return sorted(found, key=lambda one: (one.created_at, one.id))

    def find_changes(self, scope: Scope, level: Level, after: int) -> tuple[list[datetime], int]:
        """Return the times of the scope's records of a level that were written after a commit.

        The second value is the last commit that wrote one.
        """
        present = (versions[-1] for versions in self.versions.values())
        found = [
            one for one in present if one.memory.scope == scope and one.memory.level is level and one.commit > after
        ]
        return sorted({one.memory.created_at for one in found}), max((one.commit for one in found), default=after)

    def count_usage(self, id: MemoryId, until: CommitNumber) -> Usage:
        """Return how the memory had been used as of that commit."""
        uses = [one for one in self.uses if one.memory == id and one.commit <= until]
        votes = select_current_votes(vote for vote, commit in self.votes if vote.memory == id and commit <= until)
        helped, misled = count_votes(votes)
        at = {sort: [one.at for one in uses if one.use is sort] for sort in Use}
        return Usage(
            served=len(at[Use.SERVED]),
            helped=helped,
            misled=misled,
            echoed=len(at[Use.ECHOED]),
            quoted=len(at[Use.QUOTED]),
            followed=len(at[Use.FOLLOWED]),
            last_served_at=max(at[Use.SERVED], default=None),
            last_echoed_at=max(at[Use.ECHOED], default=None),
        )

    def find_context(self, scope: Scope, id: str) -> ContextRecord | None:
        """Return the record of a context of the scope."""
        trace = self.traces.get(id)
        return trace if trace is not None and trace.scope == scope else None

    def is_in_contexts(self, scope: Scope, contexts: Sequence[str], memory: MemoryId, context: str) -> bool:
        """Return whether a context is one of `contexts`, in this scope, and may see the memory."""
        if context not in contexts or self.find_context(scope, context) is None:
            return False
        return can_see(scope, self.versions[memory][-1].memory)

    def export_memory(self, id: MemoryId) -> ArchivedMemory:
        """Return everything that is stored about a memory."""
        versions = [(one.memory, _archive_content(one)) for one in self.versions[id]]
        contents = list(dict.fromkeys(content for _, content in versions))
        return ArchivedMemory(
            contents=tuple(contents),
            versions=tuple((memory, contents.index(content)) for memory, content in versions),
            uses=tuple(
                ArchivedUse(one.use, one.at, one.context, one.commit, self.commit_times[one.commit - 1])
                for one in self.uses
                if one.memory == id
            ),
            votes=tuple(
                ArchivedVote(vote, commit, self.commit_times[commit - 1])
                for vote, commit in self.votes
                if vote.memory == id
            ),
            keys=tuple(
                kept
                for _, kept in sorted(self.idempotency_keys.items(), key=lambda one: one[0][1])
                if kept.memory == id
            ),
        )

    def find_commit(self, known_at: datetime | None) -> CommitNumber:
        """Return the last commit at that time, or the last of all if no time is given."""
        if known_at is None:
            return len(self.commit_times)
        return max((number for number, at in enumerate(self.commit_times, start=1) if at <= known_at), default=0)


def _archive_content(version: MemoryVersion) -> ArchivedContent:
    vector = None if version.vector is None else version.vector.astype("<f4").tobytes()
    return ArchivedContent(version.memory.title, version.memory.text, vector)


def can_see(scope: Scope, memory: Memory) -> bool:
    """Return whether the scope owns the memory, or one of its ancestors shares it."""
    return memory.scope == scope or (memory.shared and scope.within(memory.scope))
