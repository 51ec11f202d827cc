"""Remember: drafts become memories, revisions, or echoes of what is known already."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, assert_never

from recollect.admission.judgement import Admit, Echo, Judgement, Revise, judge
from recollect.admission.salience import salience
from recollect.engine.change import known_since, next_version
from recollect.engine.world import World, not_later
from recollect.errors import Conflict, FieldError, show
from recollect.model.draft import Draft
from recollect.model.kept import KEPT_FOR, Kept
from recollect.model.memory import Kind, Memory, MemoryId, embedded
from recollect.model.scope import Scope
from recollect.model.usage import Use
from recollect.model.verdict import Created, Receipt, Reinforced, Updated
from recollect.ports import Writing

if TYPE_CHECKING:
    from recollect.model.probe import Vector


@dataclass(slots=True)
class Proposal:
    """A draft, the memory that it would become if it were news, and the direction of the text that is to be embedded.

    A draft that brought a vector has no such text. `lacking` is the one that should have been embedded.
    """

    draft: Draft
    memory: Memory
    text: str | None = None
    vector: "Vector | None" = None
    lacking: str | None = None

    def vector_of(self, state: Memory, former: Memory | None) -> "Vector | None":
        """The direction of a memory's next state; none if it is searched by what it was, and keeps the one it has."""
        if self.text is not None and former is not None and state.reads_like(former):
            return None
        if self.text not in (None, state.embedded_text):
            self.lacking = state.embedded_text
        return self.vector


class _Lacking(Exception):
    """Something was embedded without the title that it is searched with, so nothing is to be written."""


def remember_all(world: World, drafts: Sequence[Draft]) -> list[Receipt]:
    """Remember all of the drafts, or none; what is said again under its key is answered without the embedder."""
    now = world.now()
    proposals = [Proposal(draft, _memory(world, draft, now)) for draft in drafts]
    answers = [_answered(world, draft, now) for draft in drafts]
    new = [proposal for proposal, answer in zip(proposals, answers, strict=True) if answer is None]
    receipts = iter(_remember(world, new, now) if new else [])
    return [next(receipts) if answer is None else answer for answer in answers]


def _remember(world: World, proposals: Sequence[Proposal], now: datetime) -> list[Receipt]:
    """Embed outside of the transaction; once more if a title that a topic hands down was another than it seemed."""
    _find_texts(world, proposals)
    _bring_vectors(world, proposals)

    def change(writing: Writing) -> list[Receipt]:
        writing.adopt(world.encoder)
        receipts = [_settle(writing, proposal, now) for proposal in proposals]
        if any(proposal.lacking is not None for proposal in proposals):
            raise _Lacking
        return receipts

    while True:
        try:
            return world.store.write(change)
        except _Lacking:
            _embed_what_lacks(world, proposals)


def _memory(world: World, draft: Draft, now: datetime) -> Memory:
    """The memory that the draft would become if it were news."""
    at = not_later("at", draft.at, now)
    return Memory(
        id=draft.id or MemoryId(world.new_id(now)),
        scope=draft.scope,
        text=draft.text,
        created_at=at,
        observed_at=at,
        updated_at=at,
        kind=draft.kind or Kind.OBSERVATION,
        title=draft.title,
        tags=draft.tags,
        session=draft.session,
        speaker=draft.speaker,
        topic_key=draft.topic_key,
        shared=draft.shared,
        pinned=draft.pinned,
        importance=draft.importance,
        confidence=draft.confidence,
        salience=salience(draft.text, draft.kind or Kind.OBSERVATION, pinned=draft.pinned),
        valid_from=draft.valid_from,
        valid_until=draft.valid_until,
        provenance=draft.provenance,
        source=draft.source,
        evidence=draft.evidence,
        derived_from=draft.derived_from,
        metadata=draft.metadata or {},
    )


def _find_texts(world: World, proposals: Sequence[Proposal]) -> None:
    """What each will be searched by: with its own title, or else the one that its topic has by now."""
    titles: dict[tuple[Scope, str], str | None] = {}
    for one in proposals:
        title, topic_key = one.memory.title, one.memory.topic_key
        if one.draft.vector is None and topic_key is not None and title is None:
            topic = one.memory.scope, topic_key
            if topic not in titles:
                known = world.store.topic(*topic)
                titles[topic] = None if known is None else known.title
            title = titles[topic]
        if one.draft.vector is None:
            one.text = embedded(title, one.memory.text, one.memory.speaker)
        if topic_key is not None and title is not None:
            titles[one.memory.scope, topic_key] = title


def _bring_vectors(world: World, proposals: Sequence[Proposal]) -> None:
    """A direction for each: the one that its draft brought, or the embedder's."""
    from recollect.evidence.similarity import directions

    embedded = world.embed([one.text for one in proposals if one.text is not None], "memory")
    given = [one.draft.vector for one in proposals if one.draft.vector is not None]
    dimensions = world.encoder.dimensions
    for vector in given:
        if len(vector) != dimensions:
            model = world.encoder
            raise FieldError(f"{len(vector)} dimensions; the vectors of {model} are asked for", field="vector")
    made, brought = iter(embedded), iter(directions(given) if given else ())
    for one in proposals:
        one.vector = next(brought if one.text is None else made)


def _embed_what_lacks(world: World, proposals: Sequence[Proposal]) -> None:
    wrong = [(one, one.lacking) for one in proposals if one.lacking is not None]
    for (one, text), vector in zip(wrong, world.embed([text for _, text in wrong], "memory"), strict=True):
        one.text, one.vector, one.lacking = text, vector, None


def _settle(writing: Writing, proposal: Proposal, now: datetime) -> Receipt:
    """Decide about one draft by what the scope knows in this transaction, and write that."""
    draft, memory = proposal.draft, proposal.memory
    before = None if draft.key is None else _retried(writing.kept(draft.scope, draft.key), draft, now)
    known = None if before is None else writing.get(draft.scope, before.memory)
    if before is not None and known is not None:  # by a call that wrote while this one had its text embedded
        return Receipt(known.id, before.verdict, known)
    if draft.id is not None and writing.get(draft.scope, draft.id) is not None:
        raise Conflict(f"there is a memory {show(draft.id)} already; revise it, or leave the id out")
    topic = None if draft.topic_key is None else writing.topic(draft.scope, draft.topic_key)
    if draft.at is None and topic is not None and memory.created_at < (since := known_since(topic)):
        memory = memory.changed(created_at=since, observed_at=since, updated_at=since)  # what is said now is the latest
    judgement = judge(memory, topic=topic, twin=writing.twin(draft.scope, memory.hash, draft.topic_key))
    receipt = _carried_out(writing, judgement, proposal, memory)
    if draft.key is not None:
        verdict, body = receipt.verdict, draft.body
        kept = Kept(scope=draft.scope, key=draft.key, body=body, memory=receipt.id, verdict=verdict, at=now)
        writing.keep(kept)
    return receipt


def _carried_out(writing: Writing, judgement: Judgement, proposal: Proposal, memory: Memory) -> Receipt:
    match judgement:
        case Admit():
            kept = writing.put(memory, proposal.vector_of(memory, None))
            return Receipt(kept.id, Created(), kept)
        case Revise(former):
            state = _next_state(former, memory, proposal.draft.kind)
            kept = writing.put(state, proposal.vector_of(state, former))
            return Receipt(kept.id, Updated(kept.revisions), kept)
        case Echo(twin):
            writing.record(memory.scope, [twin.id], Use.ECHOED, memory.created_at, None)
            return Receipt(twin.id, Reinforced(twin.id), twin)
        case _ as unknown:
            assert_never(unknown)


def _answered(world: World, draft: Draft, now: datetime) -> Receipt | None:
    """The receipt that the same call got before under its key, if there is one to be read."""
    kept = None if draft.key is None else _retried(world.store.kept(draft.scope, draft.key), draft, now)
    found = [] if kept is None else world.store.get(draft.scope, [kept.memory])
    return Receipt(found[0].id, kept.verdict, found[0]) if kept is not None and found else None


def _retried(kept: Kept | None, draft: Draft, now: datetime) -> Kept | None:
    """What is kept of the same call; nothing if that was too long ago, and another call is refused."""
    if kept is None or now - kept.at > KEPT_FOR:
        return None
    if kept.body != draft.body:
        raise Conflict(f"the key {show(draft.key)} was used for something else; give every proposal a key of its own")
    return kept


def _next_state(former: Memory, proposed: Memory, kind: Kind | None) -> Memory:
    """The memory that says what is proposed: what describes it stays where nothing is said.

    What vouches for a text and how long it holds are the new text's alone.
    """
    return next_version(
        former,
        former.text if former.hash == proposed.hash else proposed.text,
        proposed.created_at,
        kind=kind,
        importance=proposed.importance,
        title=proposed.title or former.title,
        topic_key=proposed.topic_key or former.topic_key,
        tags=proposed.tags or former.tags,
        session=proposed.session or former.session,
        speaker=proposed.speaker or former.speaker,
        shared=former.shared or proposed.shared,
        pinned=former.pinned or proposed.pinned,
        confidence=former.confidence if proposed.confidence is None else proposed.confidence,
        valid_from=proposed.valid_from,
        valid_until=proposed.valid_until,
        provenance=proposed.provenance,
        source=proposed.source,
        evidence=proposed.evidence,
        derived_from=proposed.derived_from,
        metadata=proposed.metadata or former.metadata,
    )
