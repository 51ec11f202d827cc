"""What recollect needs from outside: protocols, and no code."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeVar, runtime_checkable

from recollect.model.archive import ArchiveInfo, ArchiveItem, ImportReport, Stats
from recollect.model.context import ContextRecord, Sign, Usage, Use, Vote
from recollect.model.conversation import ConversationTurn, Extraction, LlmUsage
from recollect.model.draft import IdempotencyRecord
from recollect.model.encoder import ContentRow, EmbeddingBatch, Encoder, VectorRemoval
from recollect.model.enums import Level, Status
from recollect.model.erasure import ErasedRows, Lineage, ResidueSearch
from recollect.model.job_runs import JobOccurrence, JobRecord
from recollect.model.memory import Memory, MemoryId
from recollect.model.scope import Scope
from recollect.model.timeline import Passage, Summary

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from recollect.retrieval.evidence import EvidenceRequest, RecallEvidence, Vector

T = TypeVar("T")

Purpose = Literal["memory", "query"]


class Embedder(Protocol):
    """Turns texts into directions; the same text always into the same one."""

    @property
    def name(self) -> str: ...

    @property
    def dimensions(self) -> int: ...

    def embed(self, texts: Sequence[str], purpose: Purpose) -> "NDArray[Any]":
        """A row of numbers for each text, in their order."""
        ...


class Extractor(Protocol):
    """Understands from a conversation what is worth remembering."""

    @property
    def name(self) -> str: ...

    @property
    def verbatim(self) -> bool:
        """Whether what it gives is in the words of the conversation, so that no model stands between."""
        ...

    def extract(self, turns: Sequence[ConversationTurn], *, most: int) -> Extraction:
        """At most so many memories to be, each with words that occur in the turn it names."""
        ...


class Summarizer(Protocol):
    """Says in few words what a stretch of time was about."""

    @property
    def name(self) -> str: ...

    @property
    def verbatim(self) -> bool:
        """Whether what it says is in the words of the passages, so that no model stands between."""
        ...

    @property
    def spent(self) -> LlmUsage:
        """What was asked of a model until now, if one is asked."""
        ...

    def cost(self, spent: LlmUsage) -> float | None:
        """What so much costs; not told where nobody said the prices."""
        ...

    def summarise(self, passages: Sequence[Passage], *, level: Level, most: int) -> Summary:
        """At most so many points, in the order in which things happened, each citing only what passages cite."""
        ...


@runtime_checkable
class SupportsForget(Protocol):
    """Keeps something of what it was given, and can let go of it."""

    def forget(self) -> None:
        """Keep nothing of what came before."""
        ...


@runtime_checkable
class TracksFailures(Protocol):
    """Knows whether it failed when it was last asked, or is silent, and how often it has failed."""

    @property
    def failing(self) -> bool: ...

    @property
    def failures(self) -> int: ...


class WriteTransaction(Protocol):
    """One transaction of a store: what it reads stays true until it ends, and all it writes is kept, or nothing."""

    @property
    def at(self) -> datetime:
        """When the store takes this in; never earlier than what it took in before.

        A store may tell it, as the number of the commit, for each root by itself: ask for something of a scope first.
        """
        ...

    @property
    def commit(self) -> int:
        """The number of this commit."""
        ...

    def adopt(self, encoder: Encoder) -> None:
        """Make sure that vectors come from this model: the first one is recorded, another one refused."""
        ...

    def get(self, scope: Scope, id: MemoryId) -> Memory | None:
        """The scope's own memory of that id, whatever its status."""
        ...

    def sayings(self, memory: Memory) -> list[Memory]:
        """The memories of its scope that say the same, word for word or in other words, whatever their standing, and
        not about another topic; the active ones first, then those of its own topic, then those that came first.

        At most `limits.MAX_NEIGHBORS` of them.
        """
        ...

    def said_before(self, memory: Memory) -> list[Memory]:
        """The memories of its scope that said the same word for word before they came to say something else, in the
        order in which they came; at most `limits.MAX_NEIGHBORS`.
        """
        ...

    def about(self, scope: Scope, subject: str, after: datetime) -> list[Memory]:
        """The scope's memories of that subject, active or superseded, that have not ended by the moment; the active
        ones first, each in the order in which they began, at most `limits.MAX_NEIGHBORS`.
        """
        ...

    def standing_since(self, memory: Memory) -> datetime | None:
        """When the memory came to have the status it has, by the store's own clock."""
        ...

    def direction(self, memory: Memory) -> "Vector | None":
        """The direction of what the memory says now."""
        ...

    def echoed(self, memory: Memory, at: datetime) -> bool:
        """Whether an echo of the memory is known of just that moment."""
        ...

    def topic(self, scope: Scope, topic_key: str) -> Memory | None:
        """The scope's active memory of that topic."""
        ...

    def kept(self, scope: Scope, key: str) -> IdempotencyRecord | None:
        """What is known of a key of the scope."""
        ...

    def put(self, memory: Memory, vector: "Vector | None") -> Memory:
        """Keep it, as a new version where the id is known; gives it as it is kept.

        Without a vector, a version whose title and text are the same keeps the one it had.
        """
        ...

    def timeline(
        self,
        scope: Scope,
        levels: Sequence[Level],
        *,
        since: datetime | None = None,
        before: datetime | None = None,
        statuses: Sequence[Status] = (Status.ACTIVE,),
    ) -> list[Memory]:
        """As `Store.timeline` has it, and so it stays until this transaction ends."""
        ...

    def touched(self, scope: Scope, level: Level, after: int) -> tuple[list[datetime], int]:
        """As `Store.touched` has it, and so it stays until this transaction ends."""
        ...

    def checkpoint(self, scope: Scope, name: str) -> str | None:
        """How far something got with the scope, as it was last noted."""
        ...

    def set_checkpoint(self, scope: Scope, name: str, value: str) -> None:
        """Note how far something got with the scope, in place of what was noted under that name before."""
        ...

    def keep(self, kept: IdempotencyRecord) -> None:
        """Remember a key, and forget those that are too old."""
        ...

    def record(self, scope: Scope, ids: Sequence[MemoryId], use: Use, at: datetime, context: str | None) -> None:
        """Count one use for each memory that the scope may see; unknown ids are skipped.

        A sign needs a context, and counts once for it and the memory, whoever notes it again.
        """
        ...

    def retract(self, scope: Scope, ids: Sequence[MemoryId], sign: Use, context: str) -> None:
        """Note no longer a sign of those of these memories that the scope may see, in a context."""
        ...

    def vote(self, scope: Scope, votes: Sequence[Vote]) -> None:
        """Take these votes, each in place of what the same principal said before in the same context."""
        ...

    def context(self, scope: Scope, id: str) -> ContextRecord | None:
        """What a context of the scope was made of, as `Store.context` has it."""
        ...

    def trace(self, trace: ContextRecord) -> None:
        """Keep what a context was made of."""
        ...

    def written_by(self, scope: Scope, commit: int) -> list[MemoryId]:
        """The scope's own memories of which that commit wrote a version, in the order of ids."""
        ...

    def before(self, scope: Scope, id: MemoryId, commit: int) -> "tuple[Memory, Vector | None] | None":
        """The scope's own memory as it stood before that commit, with its direction; `None` if it was not there."""
        ...

    def lineage(self, scope: Scope) -> list[Lineage]:
        """What `Store.lineage` tells of the versions that name a source or an origin."""
        ...

    def erase(self, scope: Scope, ids: Sequence[MemoryId]) -> ErasedRows:
        """Remove these memories of the scope: their versions, indexes, usage and keys, and every mention of them."""
        ...

    def erase_all(self, scope: Scope) -> ErasedRows:
        """Remove every memory of exactly that scope, its contexts with their questions, and its name."""
        ...

    def load(self, items: Iterable[ArchiveItem], encoder: Encoder | None) -> ImportReport:
        """Take in an archive whose vectors are of that model.

        A store that never took in anything has it exactly as it was, with its commits; any other takes it in now, and
        skips what it has already. An id that says something else here is a conflict.
        """
        ...


ProgressListener = Callable[[int, int], None]
"""Told how much is done, and of how much."""


class Store(Protocol):
    """Keeps memories and finds candidates. It brings evidence; it never ranks. Safe to use from many threads."""

    @property
    def read_only(self) -> bool:
        """Whether nothing can be written to it, and whoever tries is refused."""
        ...

    @property
    def takes_writes(self) -> bool:
        """Whether it did not fail when something was last to be written, by whoever waits for it or later."""
        ...

    def encoder(self) -> Encoder | None:
        """The model its vectors come from, once there are any."""
        ...

    def speakers(self, probe: "EvidenceRequest") -> frozenset[str]:
        """Everyone who said something that may be recalled for the probe; what it asks about makes no difference."""
        ...

    def mentions(self, probe: "EvidenceRequest") -> Mapping[MemoryId, Sequence[str]]:
        """Every memory that may be recalled for the probe with the names that it mentions, sorted."""
        ...

    def gather(self, probe: "EvidenceRequest") -> "RecallEvidence":
        """Evidence for every memory that the scope may see; never a shortlist."""
        ...

    def get(self, scope: Scope, ids: Sequence[MemoryId], *, known_at: datetime | None = None) -> list[Memory]:
        """Those of them that the scope may see, in the order asked; the others are skipped."""
        ...

    def usage(self, scope: Scope, ids: Sequence[MemoryId]) -> list[Usage]:
        """What happened to each of these, in their order; nothing, for those that the scope may not see."""
        ...

    def votes(self, scope: Scope, contexts: Sequence[str]) -> list[Vote]:
        """The votes that stand in these contexts, as far as they are exactly that scope's, on memories that it may see;
        in the order of context, memory and principal.
        """
        ...

    def signs(self, scope: Scope, contexts: Sequence[str]) -> list[Sign]:
        """The signs that were noted in these contexts, as far as they are exactly that scope's, of memories that it may
        see; in the order of context, memory and use.
        """
        ...

    def history(self, scope: Scope, id: MemoryId) -> list[Memory]:
        """Every version of the scope's memory, the oldest first; none if there is no such memory."""
        ...

    def memories(
        self,
        scope: Scope,
        *,
        below: bool,
        statuses: Sequence[Status],
        after: MemoryId | None = None,
        limit: int | None = None,
    ) -> Iterator[Memory]:
        """The memories of the scope, with those of the scopes below it if asked, in the order of ids; only those whose
        ids come after one, if it is given, whether or not there is such a memory.

        With a limit, the first so many, all as they are at one moment; how many come behind them makes no difference.
        """
        ...

    def lineage(self, scope: Scope) -> list[Lineage]:
        """Where every memory of exactly that scope comes from, as each of its versions says it, also if it names no
        source and no origin; the same of several versions perhaps once.
        """
        ...

    def topic(self, scope: Scope, topic_key: str) -> Memory | None:
        """The scope's active memory of that topic."""
        ...

    def timeline(
        self,
        scope: Scope,
        levels: Sequence[Level],
        *,
        since: datetime | None = None,
        before: datetime | None = None,
        statuses: Sequence[Status] = (Status.ACTIVE,),
    ) -> list[Memory]:
        """The scope's own records of these levels, `created_at` within [since, before), in order of time and id."""
        ...

    def touched(self, scope: Scope, level: Level, after: int) -> tuple[list[datetime], int]:
        """The moments, each once and in order, of the scope's own records of that level, whatever their standing, of
        which a later commit than that one wrote the present version; and the last of these commits, or the one given.
        """
        ...

    def checkpoint(self, scope: Scope, name: str) -> str | None:
        """How far something got with the scope, as it was last noted; nothing after anything of it was erased."""
        ...

    def context(self, scope: Scope, id: str) -> ContextRecord | None:
        """What a context of the scope was made of."""
        ...

    def contexts(self, scope: Scope) -> Iterator[ContextRecord]:
        """What every context of exactly that scope was made of, the oldest first and then by id."""
        ...

    def kept(self, scope: Scope, key: str) -> IdempotencyRecord | None:
        """What was remembered under the scope's key, if it has been used."""
        ...

    def scopes(self, scope: Scope | None) -> list[Scope]:
        """Every scope that has memories, in order: of the whole store, or this one and those below it."""
        ...

    def stats(self, scope: Scope | None, *, below: bool) -> Stats:
        """How much there is of the scope, with the scopes below it if asked, or of the whole store."""
        ...

    def export(self, scope: Scope | None) -> tuple[ArchiveInfo, Iterator[ArchiveItem]]:
        """All that is known of the scope and those below it, or of all: memories in the order they came, then contexts.

        All of it is as it was at one moment. Read it to the end, or close it.
        """
        ...

    def scrub(self, scope: Scope, pieces: Set[bytes]) -> ResidueSearch:
        """Look for bytes that were erased of a scope in every file of the store that can have them, after making sure
        that none lies about; forgets what is kept in memory.
        """
        ...

    def write(self, change: Callable[[WriteTransaction], T]) -> T:
        """Run the change as one transaction; what it gives is given once it is durable.

        It may be run again from the beginning, if nothing of the first time was kept: a server may go away meanwhile.
        """
        ...

    def later(self, change: Callable[[WriteTransaction], object]) -> None:
        """Run the change soon, together with others, at the latest when the store is closed."""
        ...

    def settle(self) -> None:
        """Wait until what was to be done later is done, or has failed."""
        ...

    def flush(self) -> None:
        """The same; raises if any of it has failed since somebody was told so."""
        ...

    def close(self) -> None:
        """Let go of the store; what was to be done later is done before, and raises like `flush`."""
        ...


class Reembedding(Protocol):
    """A store on its way to another model; whoever reads and writes with the present one goes on meanwhile.

    What was kept stays kept if it is interrupted. It is apart from `Store` because a store is open for one model.
    """

    def begin(self, encoder: Encoder) -> Encoder | None:
        """Take in vectors of this model from now on, beside those there are; gives the present model."""
        ...

    def lacking(self, limit: int) -> EmbeddingBatch:
        """The next contents, of present and former versions alike, that lack a vector of the new model; none when all
        were looked at.
        """
        ...

    def fill(self, contents: Sequence[ContentRow], vectors: "NDArray[np.float32]") -> int:
        """Keep a vector for each content, but for those erased meanwhile; says how many are new."""
        ...

    def finish(self, embed: "Callable[[Sequence[ContentRow]], NDArray[np.float32] | None]", most: int) -> int | None:
        """Make the new model the present one if at most so many contents still lack a vector, which they get in the
        same transaction; says how many did. Otherwise it does nothing: more are lacking, or `embed`, which may take
        no longer than others can wait, gave none.

        Whoever has the store open with another model is refused from then on; what was begun with one is called off.
        """
        ...

    def remove(self, limit: int) -> VectorRemoval:
        """Remove some vectors of the models that have had their day."""
        ...


class StoreImport(Protocol):
    """A store that takes in all of another one as it is, commits and all, part by part; nobody uses it meanwhile.

    What was taken stays if it is interrupted. It is apart from `Store` because a store that is not whole is not open.
    """

    def begin(self, source: str, inventory: ArchiveInfo) -> int:
        """Be ready for what the inventory of the source says; gives how many of its items are here already. A store
        that has anything else is refused; what came of an inventory that is no longer true is let go of first.
        """
        ...

    def take(self, items: Sequence[ArchiveItem]) -> None:
        """Keep the next items, all in one transaction."""
        ...

    def received(self) -> tuple[ArchiveInfo, Iterator[ArchiveItem]]:
        """All that is here, as `Store.export` gives it. Read it to the end, or close it."""
        ...

    def reject(self) -> None:
        """What came is not what was to come: the next time it begins anew."""
        ...

    def finish(self) -> None:
        """Be a store from now on."""
        ...


class JobStore(Protocol):
    """When jobs fell due and what became of it, for all schedulers of a store, who share nothing else.

    It is apart from `Store` because jobs are those of the whole store, and of no scope. Moments are those of cron,
    which are the same whatever a clock says.
    """

    def entry(self, job: str) -> JobRecord | None:
        """What is known of the job, if anybody ever asked for it."""
        ...

    def claim(
        self, job: str, due_at: datetime | None, *, by: str, at: datetime, until: datetime
    ) -> JobOccurrence | None:
        """What is to be run now, if it is given to whoever asks: what others began and did not end, or what fell due at
        that moment. Nothing while somebody else is at it or the job is paused; a job that was never seen begins now.
        """
        ...

    def renew(self, ours: JobOccurrence, until: datetime) -> bool:
        """Keep an occurrence that is ours until then; says whether it still is."""
        ...

    def finish(self, ours: JobOccurrence) -> bool:
        """Keep what became of an occurrence that is ours, or that it was interrupted; says whether it still was."""
        ...

    def pause(self, job: str, at: datetime) -> None:
        """Let nothing of the job begin."""
        ...

    def resume(self, job: str, at: datetime) -> None:
        """Let the job begin again, with what falls due from now on."""
        ...

    def close(self) -> None:
        """Let go of the store."""
        ...


@runtime_checkable
class SupportsBackup(Protocol):
    """What a store on a disk can do besides."""

    def backup(self, path: Path, progress: ProgressListener) -> None:
        """Copy the store as it is at one moment to a new file, while others go on reading and writing."""
        ...
