"""The shortest store that keeps the contract: everything in dictionaries, and gone with the process."""

import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TypeVar

import numpy as np

from recollect.errors import RecollectError
from recollect.evidence import analysis, lexical
from recollect.evidence.similarity import cosines
from recollect.model.archive import Content, Imported, Inventory, Item, Saved, SavedUse, SavedVote, said
from recollect.model.candidate import Candidate
from recollect.model.eligibility import Barrier, as_it_was, barrier, revised_since
from recollect.model.encoder import Encoder
from recollect.model.erasure import Erased, Lineage, Search
from recollect.model.kept import KEPT_FOR, Kept
from recollect.model.memory import Memory, MemoryId, Status
from recollect.model.probe import Found, Probe, Vector
from recollect.model.scope import Scope
from recollect.model.stats import MOST_SCOPES, Stats
from recollect.model.table import Table
from recollect.model.trace import Trace
from recollect.model.usage import UNUSED, Usage, Use, Vote, tally_votes, without_names
from recollect.ports import Writing
from recollect.stores.moments import recorded
from recollect.stores.refusals import (
    USES,
    VOICES,
    context_taken,
    id_taken,
    refuse_other_model,
    refuse_other_use,
    refuse_strange_vector,
    said_already,
    says_something_else,
    topic_taken,
)

T = TypeVar("T")
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

    def topic(self, scope: Scope, topic_key: str) -> Memory | None:
        """The scope's active memory of that topic."""
        for versions in self.versions.values():
            memory = versions[-1].memory
            if memory.scope == scope and memory.status is Status.ACTIVE and memory.topic_key == topic_key:
                return memory
        return None

    def usage(self, id: MemoryId, until: Commit) -> Usage:
        """What had happened to the memory until that commit."""
        uses = [one for one in self.happened if one.memory == id and one.commit <= until]
        votes = {(v.context, v.by): v for v, commit in self.votes if v.memory == id and commit <= until}
        helped, misled = tally_votes(list(votes.values()))
        served = [one.at for one in uses if one.use is Use.SERVED]
        echoed = [one.at for one in uses if one.use is Use.ECHOED]
        return Usage(
            served=len(served),
            helped=helped,
            misled=misled,
            echoed=len(echoed),
            last_served_at=max(served, default=None),
            last_echoed_at=max(echoed, default=None),
        )

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


def _inside(scope: Scope, outer: Scope | None) -> bool:
    """Whether it is the outer scope or below it, or whether nobody asked for less than all."""
    return outer is None or scope.within(outer)


def sees(scope: Scope, memory: Memory) -> bool:
    """Whether the memory is the scope's own, or shared by one of its ancestors."""
    return memory.scope == scope or (memory.shared and scope.within(memory.scope))


class DictionaryStore:
    """Keeps everything in dictionaries: the plain, slow truth that other stores are held to."""

    read_only = False

    def __init__(self, clock: Callable[[], datetime]) -> None:
        self._clock = clock
        self._lock = threading.RLock()
        self._state = State()
        self._open = True

    def encoder(self) -> Encoder | None:
        return self._checked().encoder

    def gather(self, probe: Probe) -> Found:
        state = self._checked()
        refuse_other_model(state.encoder, probe.encoder)
        until = state.until(probe.known_at)
        seen = [state.then(one, probe, until) for one in state.visible(probe.scope, until)]
        barriers = [barrier(one.memory, probe.at, present=probe.present) for one in seen]
        eligible = np.flatnonzero([one is None for one in barriers])
        shares = _shares(seen, eligible.tolist(), probe.terms)
        candidates = [
            _candidate(one, state.usage(one.memory.id, until), probe.vector, shares.get(row))
            for row, one in enumerate(seen)
        ]
        return Found(
            table=Table.of(candidates),
            rows=eligible,
            pinned=np.array([row for row in eligible.tolist() if seen[row].memory.pinned], dtype=np.intp),
            barred=Counter[Barrier](one for one in barriers if one is not None),
            commit=until,
            memories=lambda rows: [self._unless_erased(seen[row]) for row in rows],
        )

    def get(self, scope: Scope, ids: Sequence[MemoryId], *, known_at: datetime | None = None) -> list[Memory]:
        state = self._checked()
        found = [state.known(id, state.until(known_at)) for id in ids]
        return [one.memory for one in found if one is not None and sees(scope, one.memory)]

    def usage(self, scope: Scope, ids: Sequence[MemoryId]) -> list[Usage]:
        state = self._checked()
        seen = {memory.id for memory in self.get(scope, ids)}
        return [state.usage(id, len(state.recorded)) if id in seen else UNUSED for id in ids]

    def history(self, scope: Scope, id: MemoryId) -> list[Memory]:
        versions = [one.memory for one in self._checked().versions.get(id, ())]
        return [one for one in versions if sees(scope, one)] if versions and sees(scope, versions[-1]) else []

    def memories(self, scope: Scope, *, below: bool, statuses: Sequence[Status]) -> Iterator[Memory]:
        state = self._checked()
        for id in sorted(state.versions):
            memory = state.versions[id][-1].memory
            inside = memory.scope.within(scope) if below else memory.scope == scope
            if inside and memory.status in statuses:
                yield memory

    def topic(self, scope: Scope, topic_key: str) -> Memory | None:
        return self._checked().topic(scope, topic_key)

    def context(self, scope: Scope, id: str) -> Trace | None:
        trace = self._checked().traces.get(id)
        return trace if trace is not None and trace.scope == scope else None

    def kept(self, scope: Scope, key: str) -> Kept | None:
        return self._checked().kept.get((scope, key))

    def write(self, change: Callable[[Writing], T]) -> T:
        with self._lock:
            draft = self._checked().copy()
            result = change(DictionaryWriting(draft, self._clock()))
            self._state = draft
            return result

    def stats(self, scope: Scope | None, *, below: bool) -> Stats:
        state = self._checked()

        def inside(one: Scope) -> bool:
            return scope is None or one == scope or (below and one.within(scope))

        found = {id: versions for id, versions in state.versions.items() if inside(versions[-1].memory.scope)}
        present = [versions[-1] for versions in found.values()]
        scopes = Counter(one.memory.scope for one in present)
        usages = [state.usage(id, len(state.recorded)) for id in found]
        return Stats(
            memories=len(found),
            statuses=dict(sorted(Counter(one.memory.status for one in present).items())),
            kinds=dict(sorted(Counter(one.memory.kind for one in present).items())),
            scopes=len(scopes),
            largest=tuple(sorted(scopes.items(), key=lambda one: (-one[1], str(one[0])))[:MOST_SCOPES]),
            versions=sum(map(len, found.values())),
            contexts=sum(inside(trace.scope) for trace in state.traces.values()),
            uses={use: sum(getattr(one, use.value) for one in usages) for use in Use},
            unembedded=sum(one.vector is None and one.memory.status is Status.ACTIVE for one in present),
            encoder=state.encoder,
            analyser=analysis.VERSION,
            schema=0,
            bytes=0,
        )

    def export(self, scope: Scope | None) -> tuple[Inventory, Iterator[Item]]:
        state = self._checked().copy()
        saved = [
            state.saved(id) for id, versions in state.versions.items() if _inside(versions[-1].memory.scope, scope)
        ]
        traces = [trace for _, trace in sorted(state.traces.items()) if _inside(trace.scope, scope)]
        _, until = max((stamp for memory in saved for stamp in memory.stamps), default=(0, None))
        inventory = Inventory(
            encoder=state.encoder,
            analyser=analysis.VERSION,
            scope=scope,
            memories=len(saved),
            contexts=len(traces),
            until=until,
        )
        return inventory, iter([*saved, *traces])

    def scrub(self, pieces: Set[bytes]) -> Search:
        self._checked()
        return Search()

    def later(self, change: Callable[[Writing], object]) -> None:
        self.write(change)

    def flush(self) -> None:
        self._checked()

    def close(self) -> None:
        self._open = False

    def _unless_erased(self, version: Version) -> Memory | None:
        kept = self._checked().versions.get(version.memory.id, ())
        said = [one.memory.text for one in kept if one.commit == version.commit]
        return version.memory if version.memory.text in said else None

    def _checked(self) -> State:
        if not self._open:
            raise RecollectError("this store is closed")
        return self._state


class DictionaryWriting:
    """One change of a copy of the state, which takes its place if the change comes to its end.

    It is a commit from its first write on; a change that only reads is none.
    """

    def __init__(self, state: State, now: datetime) -> None:
        self._state = state
        self._at = recorded(now, state.recorded[-1] if state.recorded else None)
        self._commit = len(state.recorded) + 1

    @property
    def at(self) -> datetime:
        return self._at

    @property
    def commit(self) -> int:
        return self._commit

    def _written(self) -> State:
        """The state, to be written to."""
        if len(self._state.recorded) < self._commit:
            self._state.recorded.append(self._at)
        return self._state

    def adopt(self, encoder: Encoder) -> None:
        if self._state.encoder is None:
            self._written().encoder = encoder
        refuse_other_model(self._state.encoder, encoder)

    def get(self, scope: Scope, id: MemoryId) -> Memory | None:
        found = self._state.known(id, self.commit)
        return found.memory if found is not None and found.memory.scope == scope else None

    def twin(self, scope: Scope, hash: str, topic_key: str | None = None) -> Memory | None:
        here = self._state.said.get((scope, hash), {})
        id = here.get(topic_key, here.get(None))
        if id is None and topic_key is None and here:
            id = min(here.values(), key=list(self._state.versions).index)
        return None if id is None else self.get(scope, id)

    def topic(self, scope: Scope, topic_key: str) -> Memory | None:
        return self._state.topic(scope, topic_key)

    def kept(self, scope: Scope, key: str) -> Kept | None:
        return self._state.kept.get((scope, key))

    def put(self, memory: Memory, vector: Vector | None) -> Memory:
        refuse_strange_vector(vector, self._state.encoder)
        former = self._state.known(memory.id, self.commit)
        if former is not None and former.memory.scope != memory.scope:
            raise id_taken(memory.id)
        active = memory.status is Status.ACTIVE
        twin = self._saying(memory) if active else None
        if twin is not None and twin != memory.id:
            raise said_already(twin)
        topic = self.topic(memory.scope, memory.topic_key) if active and memory.topic_key is not None else None
        if topic is not None and topic.id != memory.id:
            raise topic_taken(topic.id, memory.topic_key or "")
        if former is not None:
            self._unsay(former.memory)
            if vector is None and former.memory.searched_text == memory.searched_text:
                vector = former.vector
        state = self._written()
        if active:
            self._say(memory)
        kept = memory.recorded(self.at, self.commit)
        earlier = state.versions.get(memory.id, ())
        state.versions[memory.id] = (*earlier, Version(kept, vector, self.commit))
        return kept

    def _saying(self, memory: Memory) -> MemoryId | None:
        """Which active memory of the same topic says the same."""
        return self._state.said.get((memory.scope, memory.hash), {}).get(memory.topic_key)

    def _say(self, memory: Memory) -> None:
        place = memory.scope, memory.hash
        self._state.said[place] = {**self._state.said.get(place, {}), memory.topic_key: memory.id}

    def _unsay(self, memory: Memory) -> None:
        if memory.status is Status.ACTIVE:
            place = memory.scope, memory.hash
            others = {topic: id for topic, id in self._state.said[place].items() if topic != memory.topic_key}
            self._state.said[place] = others

    def keep(self, kept: Kept) -> None:
        state = self._written()
        state.kept = {
            place: one for place, one in state.kept.items() if one.scope != kept.scope or kept.at - one.at <= KEPT_FOR
        }
        state.kept[kept.scope, kept.key] = kept

    def record(self, scope: Scope, ids: Sequence[MemoryId], use: Use, at: datetime, context: str | None) -> None:
        refuse_other_use(use, USES)
        for id in ids:
            found = self._state.known(id, self.commit)
            if found is not None and sees(scope, found.memory):
                self._written().happened.append(Happened(id, use, at, context, self.commit))

    def vote(self, scope: Scope, votes: Sequence[Vote]) -> None:
        for vote in votes:
            refuse_other_use(vote.use, VOICES)
            found = self._state.known(vote.memory, self.commit)
            if found is not None and sees(scope, found.memory):
                self._written().votes.append((vote, self.commit))

    def trace(self, trace: Trace) -> None:
        self._written().traces[trace.id] = trace

    def load(self, items: Iterable[Item], encoder: Encoder | None) -> Imported:
        exact = not self._state.recorded
        if exact:
            self._state.encoder = encoder
        elif encoder is not None:
            self.adopt(encoder)
        there: dict[Commit, datetime] = {}

        def as_there(commit: Commit, recorded_at: datetime) -> tuple[Commit, datetime]:
            there[commit] = recorded_at
            return commit, recorded_at

        memories = contexts = skipped = 0
        for item in items:
            if isinstance(item, Trace):
                here = self._state.traces.get(item.id)
                if here is not None and here != item:
                    raise context_taken(item.id)
                self._state.traces[item.id] = item
                contexts, skipped = contexts + (here is None), skipped + (here is not None)
            elif self._is_here(item):
                skipped += 1
            else:
                self._take_in(item, as_there if exact else self._as_of_now)
                memories += 1
        for commit in range(
            1, max(there, default=0) + 1
        ):  # those that took in nothing of this were at some time before
            moment = there.get(commit, self._state.recorded[-1] if self._state.recorded else min(there.values()))
            self._state.recorded.append(moment)
        return Imported(memories=memories, contexts=contexts, skipped=skipped)

    def _is_here(self, saved: Saved) -> bool:
        present = saved.present
        versions = [one.memory for one in self._state.versions.get(present.id, ())]
        if versions and versions[-1].scope != present.scope:
            raise id_taken(present.id)
        if versions and said(versions) != said([memory for memory, _ in saved.versions]):
            raise says_something_else(present.id)
        return bool(versions)

    def _as_of_now(self, commit: Commit, recorded_at: datetime) -> tuple[Commit, datetime]:
        """This commit, whichever it was elsewhere."""
        self._written()
        return self._commit, self._at

    def _take_in(self, saved: Saved, stamping: Callable[[Commit, datetime], tuple[Commit, datetime]]) -> None:
        """Keep a memory that is new here, by the commits it had or by this one."""
        present = saved.present
        if present.status is Status.ACTIVE:
            if (twin := self._saying(present)) is not None:
                raise said_already(twin)
            topic = None if present.topic_key is None else self.topic(present.scope, present.topic_key)
            if topic is not None:
                raise topic_taken(topic.id, present.topic_key or "")
            self._say(present)
        versions = []
        for memory, place in saved.versions:
            commit, recorded_at = stamping(memory.commit or 0, memory.recorded_at or memory.created_at)
            vector = _vector(saved.contents[place].vector)
            versions.append(Version(memory.changed(recorded_at=recorded_at, commit=commit), vector, commit))
        self._state.versions[present.id] = tuple(versions)
        for use in saved.uses:
            commit, _ = stamping(use.commit, use.recorded_at)
            self._state.happened.append(Happened(present.id, use.use, use.at, use.context, commit))
        self._state.votes += [(one.vote, stamping(one.commit, one.recorded_at)[0]) for one in saved.votes]
        for kept in saved.keys:
            self._state.kept.setdefault((kept.scope, kept.key), kept)

    def lineage(self, scope: Scope) -> list[Lineage]:
        said = [one.memory for id, versions in self._state.versions.items() for one in versions if self.get(scope, id)]
        return [Lineage(one.id, one.source, one.derived_from) for one in said if one.source or one.derived_from]

    def erase_all(self, scope: Scope) -> Erased:
        asked = {id for id, trace in self._state.traces.items() if trace.scope == scope}
        state = self._written() if asked else self._state
        state.traces = {id: trace for id, trace in state.traces.items() if trace.scope != scope}
        self._unname(scope, asked)
        erased = self.erase(scope, list(state.versions))
        return replace(erased, contexts=erased.contexts + len(asked))

    def _unname(self, scope: Scope, contexts: Set[str]) -> None:
        """What the scope did with memories of its ancestors stays done, and no longer says by whom."""
        state = self._state
        above = {id for id, versions in state.versions.items() if versions[-1].memory.scope in scope.ancestors}
        state.happened = [
            replace(one, context=None) if one.memory in above and one.context in contexts else one
            for one in state.happened
        ]
        for id in above:
            places = [place for place, (vote, _) in enumerate(state.votes) if vote.memory == id]
            left = without_names([state.votes[place][0] for place in places], contexts, str(scope))
            for place, vote in zip(places, left, strict=True):
                if vote != state.votes[place][0]:
                    self._written().votes[place] = (vote, state.votes[place][1])

    def erase(self, scope: Scope, ids: Sequence[MemoryId]) -> Erased:
        gone = {id for id in ids if self.get(scope, id) is not None}
        versions = sum(len(self._state.versions[id]) for id in gone)
        left = {id: trace.without(gone) for id, trace in self._state.traces.items()}
        contexts = sum(trace != self._state.traces[id] for id, trace in left.items())
        state = self._written() if gone else self._state
        for id in gone:
            self._unsay(state.versions.pop(id)[-1].memory)
        state.happened = [one for one in state.happened if one.memory not in gone]
        state.votes = [(vote, commit) for vote, commit in state.votes if vote.memory not in gone]
        state.kept = {at: one for at, one in state.kept.items() if one.memory not in gone}
        state.traces = left
        return Erased(ids=tuple(sorted(gone)), versions=versions, contexts=contexts)


def _vector(value: bytes | None) -> Vector | None:
    return None if value is None else np.frombuffer(value, dtype="<f4").astype(np.float32)


def _shares(seen: Sequence[Version], eligible: Sequence[int], terms: Sequence[str]) -> dict[int, float]:
    counts = {row: analysis.counts(seen[row].memory.searched_text) for row in eligible}
    statistics = lexical.statistics(terms, counts.values())
    shares = {row: lexical.share(terms, counts[row], statistics) for row in eligible}
    return {row: share for row, share in shares.items() if share is not None}


def _candidate(version: Version, usage: Usage, question: Vector | None, lexical: float | None) -> Candidate:
    memory, vector = version.memory, version.vector
    similarity = None
    if question is not None and vector is not None:
        similarity = float(cosines(vector[None, :], question)[0])
    return Candidate(
        id=memory.id,
        kind=memory.kind,
        similarity=similarity,
        lexical=lexical,
        created_at=memory.created_at,
        updated_at=memory.updated_at,
        last_accessed_at=usage.last_served_at,
        valid_from=memory.valid_from,
        importance=memory.importance,
        usefulness=usage.usefulness,
        confidence=memory.confidence,
        salience=memory.salience,
        served=usage.served,
        revisions=memory.revisions,
        vector=None if vector is None else tuple(vector.astype(np.float64).tolist()),
    )
