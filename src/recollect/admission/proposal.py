"""Proposal: everything about a draft that is computed before a transaction.

All language work ends here: screening, kind, importance, subject, keys, terms, names and instructions to a model.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING

from recollect.admission.classify import detect_importance, detect_kind, rate_salience
from recollect.admission.decision import effective_from
from recollect.admission.policy import AdmissionPolicy
from recollect.admission.prompt_injection import find_injection
from recollect.admission.screening import Screened
from recollect.admission.supersession import read_subject
from recollect.model import changeset
from recollect.model.draft import Draft
from recollect.model.enums import TRUST_BY_PROVENANCE, Kind, Trust
from recollect.model.memory import Memory, MemoryId
from recollect.text.index_entry import index_memory
from recollect.text.updates import claims
from recollect.text.updates.parsed_memories import ParsedMemories

if TYPE_CHECKING:
    from recollect.retrieval.vectors import Vector


class TitleChanged(Exception):
    """Raised when a proposal is to be stored under another title than the one that was embedded with its text."""

    def __init__(self, proposal: "Proposal", state: Memory) -> None:
        super().__init__(state.title)
        self.proposal = proposal
        self.state = state


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Proposal:
    """A draft without secrets, the memory it would become if it were new, and what was computed from its text.

    `embedded_text` is the text of the vector, or None if the draft has its own vector. `similar_event` is the memory
    that an event is too similar to, with the similarity; with `similar_in_batch`, that memory is from the same call and
    counts only if it is stored. `redacted` names what was removed from the draft, and
    `injection` is the part that reads like instructions to a model. `estimated_importance` is estimated from the text.
    With `is_verbatim`, the proposal is the next version of its topic, even if another memory says the same.
    """

    draft: Draft
    memory: Memory
    index: changeset.IndexEntry
    redacted: tuple[str, ...] = ()
    estimated_importance: float | None = None
    injection: str | None = None
    is_verbatim: bool = False
    embedded_text: str | None = None
    vector: "Vector | None" = None
    similar_event: tuple[MemoryId, float] | None = None
    similar_in_batch: bool = False
    parsed: ParsedMemories = field(default_factory=ParsedMemories)

    @property
    def query(self) -> changeset.NeighborQuery:
        """What to look up before the draft is decided about."""
        draft, memory = self.draft, self.memory
        return changeset.NeighborQuery(
            scope=memory.scope,
            id=memory.id,
            hash=self.index.hash,
            paraphrase_key=self.index.paraphrase_key,
            topic_key=draft.topic_key,
            subject=memory.subject,
            since=effective_from(memory),
            retry_key=draft.key,
            stated_at=draft.at,
            origins=memory.derived_from,
            shared=memory.trust.less_than(Trust.STATED) or bool(memory.derived_from),
        )

    @property
    def early_query(self) -> changeset.NeighborQuery | None:
        """What to look up before embedding: an earlier call with the key, the topic, and the subject to compare with.

        A draft with none of these needs no lookup before the transaction.
        """
        draft, memory = self.draft, self.memory
        if draft.key is None and draft.topic_key is None and memory.subject is None:
            return None
        return changeset.NeighborQuery(
            scope=memory.scope,
            topic_key=draft.topic_key,
            subject=memory.subject,
            since=effective_from(memory),
            retry_key=draft.key,
        )

    def parse_memories(self, others: Iterable[Memory]) -> None:
        """Parse the memories that it may contradict, so that the transaction does not have to."""
        for one in others:
            self.parsed.parse(self.memory)
            self.parsed.parse(one)

    def resolve_vector(self, state: Memory, former: Memory | None) -> "Vector | None":
        """Return the vector of a memory's next version, or None if its present vector stays.

        Raises TitleChanged if this version's text is not the one that was embedded.
        """
        has_own_vector = self.embedded_text is None
        if former is not None and state.reads_like(former) and not (has_own_vector and state.text == self.draft.text):
            return None
        if not has_own_vector and self.embedded_text != state.embedded_text:
            raise TitleChanged(self, state)
        return self.vector

    def with_title(self, title: str | None) -> "Proposal":
        """Return the proposal with the index entry and the embedded text that it has under this title."""
        titled = self.memory if title == self.memory.title else self.memory.with_changes(title=title)
        return replace(
            self,
            index=self.index if self.index.describes(titled) else index_memory(titled),
            embedded_text=titled.embedded_text if self.draft.vector is None else None,
        )


def propose(
    screened: Screened[Draft],
    policy: AdmissionPolicy,
    *,
    id: MemoryId,
    at: datetime,
    parsed: ParsedMemories,
    is_verbatim: bool = False,
) -> Proposal:
    """Compute everything about a draft that does not depend on the store."""
    draft = screened.value
    memory = _build_memory(draft, policy, id, at)
    importance = injection = None
    if memory.importance is None and policy.importance.enabled:
        importance = detect_importance(memory.text, memory.kind, policy.importance)
    if memory.trust.less_than(Trust.STATED) or memory.derived_from:  # its trust may be lower than its provenance's
        injection = find_injection(memory.searched_text) or find_injection(memory.speaker or "")
    return Proposal(
        draft=draft,
        memory=memory,
        index=index_memory(memory),
        redacted=screened.redacted,
        estimated_importance=importance,
        injection=injection,
        is_verbatim=is_verbatim,
        parsed=parsed,
    )


def _build_memory(draft: Draft, policy: AdmissionPolicy, id: MemoryId, at: datetime) -> Memory:
    """Return the memory that the draft would become if it were new."""
    kind = draft.kind or (detect_kind(draft.text) if policy.kind.detect else None) or Kind.OBSERVATION
    memory = Memory(
        id=id,
        scope=draft.scope,
        text=draft.text,
        created_at=at,
        observed_at=at,
        updated_at=at,
        kind=kind,
        title=draft.title,
        tags=draft.tags,
        session=draft.session,
        speaker=draft.speaker,
        topic_key=draft.topic_key,
        subject=None if draft.subject is None else claims.normalize_subject(draft.subject),
        shared=draft.shared,
        pinned=draft.pinned,
        importance=draft.importance,
        confidence=draft.confidence,
        salience=rate_salience(draft.text, kind, pinned=draft.pinned, policy=policy.salience),
        valid_from=draft.valid_from,
        valid_until=draft.valid_until,
        provenance=draft.provenance,
        trust=TRUST_BY_PROVENANCE[draft.provenance],
        source=draft.source,
        evidence=draft.evidence,
        derived_from=draft.derived_from,
        metadata=draft.metadata or {},
    )
    subject = read_subject(memory, policy) if memory.subject is None else None
    return memory if subject is None else memory.with_changes(subject=subject)
