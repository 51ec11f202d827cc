"""Dictionaries: all that a store in memory knows, and what is read of it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from recollect.model.archive import Content, Saved, SavedUse, SavedVote
from recollect.model.context_record import Trace
from recollect.model.encoder import Encoder
from recollect.model.erasure import Lineage
from recollect.model.idempotency import Kept
from recollect.model.index import Index
from recollect.model.level import Level
from recollect.model.memory import Memory, MemoryId, Status
from recollect.model.scope import Scope
from recollect.model.usage import Usage, Use, Vote, standing, tally_votes
from recollect.retrieval.eligibility import as_it_was, revised_since
from recollect.retrieval.evidence import Probe, Vector

Commit = int

Sayings = Mapping[str | None, MemoryId]
"""The active memories that say the same, by their topics."""


@dataclass(frozen=True, slots=True)
class Version:
    """A memory as it was from one commit on, and its direction."""

    memory: Memory
    vector: Vector | None
    commit: Commit


@dataclass(frozen=True, slots=True)
class Happened:
    """A use of a memory, by the commit that took it in."""

    memory: MemoryId
    use: Use
    at: datetime
    context: str | None
    commit: Commit


@dataclass(slots=True)
class State:
    """All that the store knows; nothing in it is ever changed in place but by whoever holds the lock."""

    encoder: Encoder | None = None
    recorded: list[datetime] = field(default_factory=list[datetime])
    versions: dict[MemoryId, tuple[Version, ...]] = field(default_factory=dict[MemoryId, tuple[Version, ...]])
    said: dict[tuple[Scope, str], Sayings] = field(default_factory=dict[tuple[Scope, str], Sayings])
    happened: list[Happened] = field(default_factory=list[Happened])
    votes: list[tuple[Vote, Commit]] = field(default_factory=list[tuple[Vote, Commit]])
    traces: dict[str, Trace] = field(default_factory=dict[str, Trace])
    kept: dict[tuple[Scope, str], Kept] = field(default_factory=dict[tuple[Scope, str], Kept])
    checkpoints: dict[tuple[Scope, str], str] = field(default_factory=dict[tuple[Scope, str], str])

    def copy(self) -> "State":
        return State(
            self.encoder,
            list(self.recorded),
            dict(self.versions),
            dict(self.said),
            list(self.happened),
            list(self.votes),
            dict(self.traces),
            dict(self.kept),
            dict(self.checkpoints),
        )

    def known(self, id: MemoryId, until: Commit) -> Version | None:
        """The memory as it was after that commit."""
        versions = [one for one in self.versions.get(id, ()) if one.commit <= until]
        return versions[-1] if versions else None

    def visible(self, scope: Scope, until: Commit) -> list[Version]:
        """Every memory that the scope may see, as it was after that commit, in the order of ids."""
        found = [self.known(id, until) for id in sorted(self.versions)]
        return [one for one in found if one is not None and sees(scope, one.memory)]

    def then(self, version: Version, probe: Probe, until: Commit) -> Version:
        """What the memory was at the probe's moment, by all that was known; itself if it has not been revised since."""
        known = [one for one in self.versions[version.memory.id] if one.commit <= until]
        seen = [one for one in known if sees(probe.scope, one.memory)]
        was = None if probe.present else as_it_was([one.memory for one in seen], probe.at)
        if was is None or not revised_since(version.memory, probe.at):
            return version
        source = next(one for one in reversed(seen) if one.memory.updated_at == was.updated_at)
        return Version(was, source.vector, source.commit)

    def departed(self, version: Version, until: Commit) -> bool:
        """Whether the version lost its direction after that commit, when one that says the same left the index."""
        if version.vector is not None or Index.VECTOR in version.memory.left:
            return False
        later = [one for one in self.versions[version.memory.id] if one.commit > version.commit]
        said = version.memory.searched_text
        left = (one for one in later if Index.VECTOR in one.memory.left and one.memory.searched_text == said)
        return next((one.commit > until for one in left), False)

    def topic(self, scope: Scope, topic_key: str) -> Memory | None:
        """The scope's active memory of that topic."""
        for versions in self.versions.values():
            memory = versions[-1].memory
            if memory.scope == scope and memory.status is Status.ACTIVE and memory.topic_key == topic_key:
                return memory
        return None

    def listed(
        self, scope: Scope, statuses: Sequence[Status], after: MemoryId | None, *, below: bool
    ) -> Iterator[Memory]:
        """The memories of the scope, with those below it if asked, that come after an id, in order."""
        for id in sorted(one for one in self.versions if after is None or one > after):
            memory = self.versions[id][-1].memory
            inside = memory.scope.within(scope) if below else memory.scope == scope
            if inside and memory.status in statuses:
                yield memory

    def lineage(self, scope: Scope) -> list[Lineage]:
        """Where every memory of the scope comes from, as each of its versions says it."""
        said = (one.memory for versions in self.versions.values() for one in versions)
        return [Lineage(one.id, one.source, one.derived_from) for one in said if one.scope == scope]

    def timeline(
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

    def touched(self, scope: Scope, level: Level, after: int) -> tuple[list[datetime], int]:
        """The moments of the scope's records of a level that later commits wrote, and the last of these commits."""
        present = (versions[-1] for versions in self.versions.values())
        found = [
            one for one in present if one.memory.scope == scope and one.memory.level is level and one.commit > after
        ]
        return sorted({one.memory.created_at for one in found}), max((one.commit for one in found), default=after)

    def usage(self, id: MemoryId, until: Commit) -> Usage:
        """What had happened to the memory until that commit."""
        uses = [one for one in self.happened if one.memory == id and one.commit <= until]
        votes = standing(vote for vote, commit in self.votes if vote.memory == id and commit <= until)
        helped, misled = tally_votes(votes)
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

    def context(self, scope: Scope, id: str) -> Trace | None:
        """What a context of the scope was made of."""
        trace = self.traces.get(id)
        return trace if trace is not None and trace.scope == scope else None

    def asked(self, scope: Scope, contexts: Sequence[str], memory: MemoryId, context: str) -> bool:
        """Whether that is one of these contexts, and the scope's, and it may see the memory."""
        if context not in contexts or self.context(scope, context) is None:
            return False
        return sees(scope, self.versions[memory][-1].memory)

    def saved(self, id: MemoryId) -> Saved:
        """All that is known of a memory."""
        versions = [(one.memory, _content(one)) for one in self.versions[id]]
        contents = list(dict.fromkeys(content for _, content in versions))
        return Saved(
            contents=tuple(contents),
            versions=tuple((memory, contents.index(content)) for memory, content in versions),
            uses=tuple(
                SavedUse(one.use, one.at, one.context, one.commit, self.recorded[one.commit - 1])
                for one in self.happened
                if one.memory == id
            ),
            votes=tuple(
                SavedVote(vote, commit, self.recorded[commit - 1]) for vote, commit in self.votes if vote.memory == id
            ),
            keys=tuple(kept for _, kept in sorted(self.kept.items(), key=lambda one: one[0][1]) if kept.memory == id),
        )

    def until(self, known_at: datetime | None) -> Commit:
        """The last commit that was known then."""
        if known_at is None:
            return len(self.recorded)
        return max((number for number, at in enumerate(self.recorded, start=1) if at <= known_at), default=0)


def _content(version: Version) -> Content:
    vector = None if version.vector is None else version.vector.astype("<f4").tobytes()
    return Content(version.memory.title, version.memory.text, vector)


def sees(scope: Scope, memory: Memory) -> bool:
    """Whether the memory is the scope's own, or shared by one of its ancestors."""
    return memory.scope == scope or (memory.shared and scope.within(memory.scope))
