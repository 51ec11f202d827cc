"""Remember: drafts become memories, revisions, or echoes of what is known already."""

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, assert_never

from recollect.admission.judgement import Admit, Echo, Judgement, Revise, judge
from recollect.admission.salience import salience
from recollect.engine.world import World, not_later
from recollect.errors import Conflict, FieldError, show
from recollect.model.draft import Draft
from recollect.model.kept import KEPT_FOR, Kept
from recollect.model.memory import Kind, Memory, MemoryId
from recollect.model.usage import Use
from recollect.model.verdict import Created, Receipt, Reinforced, Updated
from recollect.ports import Writing

if TYPE_CHECKING:
    from recollect.model.probe import Vector


def remember_all(world: World, drafts: Sequence[Draft]) -> list[Receipt]:
    """Remember all of the drafts, or none."""
    now = world.now()
    proposals = [_proposal(world, draft, now) for draft in drafts]
    vectors = _vectors(world, drafts, proposals)

    def change(writing: Writing) -> list[Receipt]:
        if proposals:
            writing.adopt(world.encoder)
        return [
            _settle(writing, draft, memory, vector, now)
            for draft, memory, vector in zip(drafts, proposals, vectors, strict=True)
        ]

    return world.store.write(change) if drafts else []


def _proposal(world: World, draft: Draft, now: datetime) -> Memory:
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


def _vectors(world: World, drafts: Sequence[Draft], proposals: Sequence[Memory]) -> "list[Vector]":
    """A direction for each draft: the one it brought, or the embedder's."""
    from recollect.evidence.similarity import direction

    lacking = [place for place, draft in enumerate(drafts) if draft.vector is None]
    embedded = world.embed([proposals[place].searched_text for place in lacking], "memory")
    made = dict(zip(lacking, embedded, strict=True))
    dimensions = world.encoder.dimensions
    for draft in drafts:
        if draft.vector is not None and len(draft.vector) != dimensions:
            model = world.encoder
            raise FieldError(f"{len(draft.vector)} dimensions; the vectors of {model} are asked for", field="vector")
    return [made[place] if draft.vector is None else direction(draft.vector) for place, draft in enumerate(drafts)]


def _settle(writing: Writing, draft: Draft, memory: Memory, vector: "Vector", now: datetime) -> Receipt:
    """Decide about one draft by what the scope knows in this transaction, and write that."""
    if draft.key is not None and (known := _retried(writing, draft, now)) is not None:
        return known
    if draft.id is not None and writing.get(draft.scope, draft.id) is not None:
        raise Conflict(f"there is a memory {show(draft.id)} already; revise it, or leave the id out")
    topic = None if draft.topic_key is None else writing.topic(draft.scope, draft.topic_key)
    judgement = judge(memory, topic=topic, twin=writing.twin(draft.scope, memory.hash))
    receipt = _carried_out(writing, judgement, draft, memory, vector)
    if draft.key is not None:
        verdict, body = receipt.verdict, draft.body
        kept = Kept(scope=draft.scope, key=draft.key, body=body, memory=receipt.id, verdict=verdict, at=now)
        writing.keep(kept)
    return receipt


def _carried_out(writing: Writing, judgement: Judgement, draft: Draft, memory: Memory, vector: "Vector") -> Receipt:
    match judgement:
        case Admit():
            kept = writing.put(memory, vector)
            return Receipt(kept.id, Created(), kept)
        case Revise(former):
            kept = writing.put(revision(former, memory, draft.kind), vector)
            return Receipt(kept.id, Updated(kept.revisions), kept)
        case Echo(twin):
            writing.record(memory.scope, [twin.id], Use.ECHOED, memory.created_at, None)
            return Receipt(twin.id, Reinforced(twin.id), twin)
        case _ as unknown:
            assert_never(unknown)


def _retried(writing: Writing, draft: Draft, now: datetime) -> Receipt | None:
    """The receipt that the same call got before under its key."""
    kept = writing.kept(draft.scope, draft.key or "")
    if kept is None or now - kept.at > KEPT_FOR:
        return None
    if kept.body != draft.body:
        raise Conflict(f"the key {show(draft.key)} was used for something else; give every proposal a key of its own")
    memory = writing.get(draft.scope, kept.memory)
    return None if memory is None else Receipt(memory.id, kept.verdict, memory)


def revision(former: Memory, proposed: Memory, kind: Kind | None) -> Memory:
    """The next version of a memory: what describes it stays where nothing is said, and importance never falls.

    What vouches for a text and how long it holds are the new text's alone.
    """
    importances = [one for one in (former.importance, proposed.importance) if one is not None]
    return former.changed(
        text=proposed.text,
        title=proposed.title or former.title,
        kind=kind or former.kind,
        topic_key=proposed.topic_key or former.topic_key,
        tags=proposed.tags or former.tags,
        session=proposed.session or former.session,
        speaker=proposed.speaker or former.speaker,
        shared=former.shared or proposed.shared,
        pinned=former.pinned or proposed.pinned,
        importance=max(importances, default=None),
        confidence=former.confidence if proposed.confidence is None else proposed.confidence,
        salience=proposed.salience,
        observed_at=proposed.observed_at,
        updated_at=proposed.updated_at,
        valid_from=proposed.valid_from,
        valid_until=proposed.valid_until,
        provenance=proposed.provenance,
        source=proposed.source,
        evidence=proposed.evidence,
        derived_from=proposed.derived_from,
        metadata=proposed.metadata or former.metadata,
        revisions=former.revisions + 1,
    )
