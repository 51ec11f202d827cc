"""Dictionaries: all that a store in memory knows, and what is read of it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from recollect.model.archive import ArchivedContent, ArchivedMemory, ArchivedUse, ArchivedVote
from recollect.model.context import ContextRecord, Usage, Use, Vote, count_votes, select_current_votes
from recollect.model.draft import IdempotencyRecord
from recollect.model.encoder import Encoder
from recollect.model.enums import Index, Level, Status
from recollect.model.erasure import Lineage
from recollect.model.memory import Memory, MemoryId
from recollect.model.scope import Scope
from recollect.retrieval.eligibility import version_at, was_revised_since
from recollect.retrieval.evidence import EvidenceRequest, Vector

CommitNumber = int

IdsByTopic = Mapping[str | None, MemoryId]
"""The active memories that say the same, by their topics."""


@dataclass(frozen=True, slots=True)
class MemoryVersion:
    """A memory as it was from one commit on, and its direction."""

    memory: Memory
    vector: Vector | None
    commit: CommitNumber


@dataclass(frozen=True, slots=True)
class RecordedUse:
    """A use of a memory, by the commit that took it in."""

    memory: MemoryId
    use: Use
    at: datetime
    context: str | None
    commit: CommitNumber


@dataclass(slots=True)
class ReferenceState:
    """All that the store knows; nothing in it is ever changed in place but by whoever holds the lock."""

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
        """The memory as it was after that commit."""
        versions = [one for one in self.versions.get(id, ()) if one.commit <= until]
        return versions[-1] if versions else None

    def list_visible(self, scope: Scope, until: CommitNumber) -> list[MemoryVersion]:
        """Every memory that the scope may see, as it was after that commit, in the order of ids."""
        found = [self.find_version(id, until) for id in sorted(self.versions)]
        return [one for one in found if one is not None and can_see(scope, one.memory)]

    def version_at(self, version: MemoryVersion, probe: EvidenceRequest, until: CommitNumber) -> MemoryVersion:
        """What the memory was at the probe's moment, by all that was known; itself if it has not been revised since."""
        known = [one for one in self.versions[version.memory.id] if one.commit <= until]
        seen = [one for one in known if can_see(probe.scope, one.memory)]
        was = None if probe.present else version_at([one.memory for one in seen], probe.at)
        if was is None or not was_revised_since(version.memory, probe.at):
            return version
        source = next(one for one in reversed(seen) if one.memory.updated_at == was.updated_at)
        return MemoryVersion(was, source.vector, source.commit)

    def has_dropped_vector(self, version: MemoryVersion, until: CommitNumber) -> bool:
        """Whether the version lost its direction after that commit, when one that says the same left the index."""
        if version.vector is not None or Index.VECTOR in version.memory.left:
            return False
        later = [one for one in self.versions[version.memory.id] if one.commit > version.commit]
        said = version.memory.searched_text
        left = (one for one in later if Index.VECTOR in one.memory.left and one.memory.searched_text == said)
        return next((one.commit > until for one in left), False)

    def find_topic(self, scope: Scope, topic_key: str) -> Memory | None:
        """The scope's active memory of that topic."""
        for versions in self.versions.values():
            memory = versions[-1].memory
            if memory.scope == scope and memory.status is Status.ACTIVE and memory.topic_key == topic_key:
                return memory
        return None

    def list_memories(
        self, scope: Scope, statuses: Sequence[Status], after: MemoryId | None, *, below: bool
    ) -> Iterator[Memory]:
        """The memories of the scope, with those below it if asked, that come after an id, in order."""
        for id in sorted(one for one in self.versions if after is None or one > after):
            memory = self.versions[id][-1].memory
            inside = memory.scope.within(scope) if below else memory.scope == scope
            if inside and memory.status in statuses:
                yield memory

    def list_lineage(self, scope: Scope) -> list[Lineage]:
        """Where every memory of the scope comes from, as each of its versions says it."""
        said = (one.memory for versions in self.versions.values() for one in versions)
        return [Lineage(one.id, one.source, one.derived_from) for one in said if one.scope == scope]

    def list_timeline(
        self,
        scope: Scope,
        levels: Sequence[Level],
        since: datetime | None,
        before: datetime | None,
        statuses: Sequence[Status],
    ) -> list[Memory]:
        """The scope's own records of these levels within a stretch of time, in order of time and id."""
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
        """The moments of the scope's records of a level that later commits wrote, and the last of these commits."""
        present = (versions[-1] for versions in self.versions.values())
        found = [
            one for one in present if one.memory.scope == scope and one.memory.level is level and one.commit > after
        ]
        return sorted({one.memory.created_at for one in found}), max((one.commit for one in found), default=after)

    def count_usage(self, id: MemoryId, until: CommitNumber) -> Usage:
        """What had happened to the memory until that commit."""
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
        """What a context of the scope was made of."""
        trace = self.traces.get(id)
        return trace if trace is not None and trace.scope == scope else None

    def is_in_contexts(self, scope: Scope, contexts: Sequence[str], memory: MemoryId, context: str) -> bool:
        """Whether that is one of these contexts, and the scope's, and it may see the memory."""
        if context not in contexts or self.find_context(scope, context) is None:
            return False
        return can_see(scope, self.versions[memory][-1].memory)

    def export_memory(self, id: MemoryId) -> ArchivedMemory:
        """All that is known of a memory."""
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
        """The last commit that was known then."""
        if known_at is None:
            return len(self.commit_times)
        return max((number for number, at in enumerate(self.commit_times, start=1) if at <= known_at), default=0)


def _archive_content(version: MemoryVersion) -> ArchivedContent:
    vector = None if version.vector is None else version.vector.astype("<f4").tobytes()
    return ArchivedContent(version.memory.title, version.memory.text, vector)


def can_see(scope: Scope, memory: Memory) -> bool:
    """Whether the memory is the scope's own, or shared by one of its ancestors."""
    return memory.scope == scope or (memory.shared and scope.within(memory.scope))
