"""Stats: how much a store, or a part of it, holds."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from recollect.model.encoder import Encoder
from recollect.model.format import format_count
from recollect.model.memory import Kind, Status
from recollect.model.scope import Scope
from recollect.model.usage import Use

MAX_NAMED_SCOPES = 10
"""How many of the largest scopes are named."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stats:
    """What there is: memories by status, by kind and by scope, and what happened to them.

    `scopes` is how many scopes have memories, and `largest` names those with most. `versions` counts every memory as
    often as it was written, `unembedded` the active ones that no question can be near to, since they have no vector.
    `bytes` is the size of all files of the store, whichever part was asked about; 0 if it has none.
    """

    memories: int
    statuses: Mapping[Status, int] = field(hash=False)
    kinds: Mapping[Kind, int] = field(hash=False)
    scopes: int
    largest: tuple[tuple[Scope, int], ...]
    versions: int
    contexts: int
    uses: Mapping[Use, int] = field(hash=False)
    unembedded: int
    encoder: Encoder | None
    analyser: str
    schema: int
    bytes: int

    def __repr__(self) -> str:
        memories = f"{format_count(self.memories, 'memory', 'memories')} of {format_count(self.scopes, 'scope')}"
        versions, contexts = format_count(self.versions, "version"), format_count(self.contexts, "context")
        return f"<Stats: {memories}, {versions}, {contexts}, {format_count(self.bytes, 'byte')}>"
