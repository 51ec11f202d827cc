"""Changes: what one transaction writes, and what it looks up about a memory before."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING

from recollect.model.context import ContextRecord, Use, Vote
from recollect.model.draft import IdempotencyRecord
from recollect.model.encoder import Encoder
from recollect.model.memory import Memory, MemoryId
from recollect.model.scope import Scope

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vector = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class IndexEntry:
    """What a store keeps of a memory's text, so that searches and duplicate lookups find it.

    It is computed before a transaction, because other writers wait while one is open.
    """

    searched_text: str
    hash: str
    paraphrase_key: str
    terms: Mapping[str, int] = field(hash=False)
    names: tuple[str, ...]

    def describes(self, memory: Memory) -> bool:
        """Whether it was computed from the title, text, speaker and kind of this memory."""
        return self.searched_text == memory.searched_text and self.hash == memory.hash


@dataclass(frozen=True, slots=True, eq=False)
class Put:
    """A new memory, or the next version of one.

    Without a vector, a version with the same title and text keeps the former vector.
    """

    memory: Memory
    vector: "Vector | None" = None
    index: IndexEntry | None = None


@dataclass(frozen=True, slots=True)
class MemoryUses:
    """One use of each of some memories; those that the scope may not see are skipped."""

    scope: Scope
    ids: tuple[MemoryId, ...]
    use: Use
    at: datetime
    context: str | None = None


@dataclass(frozen=True, slots=True)
class ScopeVotes:
    """Votes on memories that the scope may see; each replaces the principal's earlier vote in the same context."""

    scope: Scope
    votes: tuple[Vote, ...]


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """How far a job of a scope has come; erasing anything of the scope removes it."""

    scope: Scope
    name: str
    value: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Changeset:
    """What one step of a transaction writes, in the order of the fields.

    `encoder` is the model of the vectors: it is recorded if the store has none, and refused if the store has another.
    Uses that are signs need a context, and count once per context and memory; `retracted` takes such signs back.
    """

    encoder: Encoder | None = None

    puts: tuple[Put, ...] = ()
    keys: tuple[IdempotencyRecord, ...] = ()
    uses: tuple[MemoryUses, ...] = ()
    retracted: tuple[MemoryUses, ...] = ()
    votes: tuple[ScopeVotes, ...] = ()
    contexts: tuple[ContextRecord, ...] = ()
    checkpoints: tuple[Checkpoint, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class NeighborQuery:
    """What to look up about a memory: the stored memories with its id, text, topic or subject.

    `paraphrase_key` finds other wordings. `since` is when the memory begins to be valid; memories of the subject that
    had ended by then are left out. `stated_at` is the time of a repetition that may be known already. `origins` are
    the ids that the memory is derived from. `shared` adds duplicates that parent scopes share, `former` adds memories
    whose earlier versions had this text.
    """

    scope: Scope
    id: MemoryId | None = None
    hash: str | None = None
    paraphrase_key: str = ""
    topic_key: str | None = None
    subject: str | None = None
    since: datetime | None = None
    retry_key: str | None = None
    stated_at: datetime | None = None
    origins: tuple[str, ...] = ()
    shared: bool = False
    former: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Neighbors:
    """The stored memories that a query found; each lookup returns at most `validation.MAX_NEIGHBORS`.

    `retried` is the record of the retry key, and `retried_memory` its memory. `duplicates` are the scope's memories
    with the same text or paraphrase key, in any status, without those of another topic: active ones first, then those
    of the query's own topic, then the oldest. `shared_duplicates` are the active ones that parent scopes share.
    `former_duplicates` had the text in an earlier version. `same_subject` has the active and superseded memories of the
    query's subject, and of those of its topic and duplicates, active ones first, then by when they began. `origins`
    are visible to the scope. `merged_into` has the memory that a consolidated one was merged into, step by step.
    `before_forgotten` has the last version of a forgotten memory before it was forgotten. `vectors` has those of
    duplicates in other words, `status_since` the time of the present status of inactive duplicates, by the store's
    clock, and `echoed` the memories of which an echo is recorded for exactly the moment. `taken_topics` are the topic
    keys of inactive duplicates that an active memory has by now.
    """

    retried: IdempotencyRecord | None = None
    retried_memory: Memory | None = None
    same_id: Memory | None = None
    topic: Memory | None = None
    duplicates: tuple[Memory, ...] = ()
    shared_duplicates: tuple[Memory, ...] = ()
    former_duplicates: tuple[Memory, ...] = ()
    same_subject: Mapping[str, tuple[Memory, ...]] = field(default_factory=dict[str, tuple[Memory, ...]])
    origins: Mapping[str, Memory] = field(default_factory=dict[str, Memory])
    merged_into: Mapping[MemoryId, Memory] = field(default_factory=dict[MemoryId, Memory])
    before_forgotten: Mapping[MemoryId, Memory] = field(default_factory=dict[MemoryId, Memory])
    vectors: "Mapping[MemoryId, Vector]" = field(default_factory=dict[MemoryId, "Vector"])
    status_since: Mapping[MemoryId, datetime] = field(default_factory=dict[MemoryId, datetime])
    echoed: frozenset[MemoryId] = frozenset()
    taken_topics: frozenset[str | None] = frozenset()
