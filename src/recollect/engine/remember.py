"""Remember: drafts become memories, revisions, or echoes of what is known already."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime

from recollect.admission.importance import importance_of
from recollect.admission.kind import kind_of
from recollect.admission.policy import Policy, SecretsPolicy
from recollect.admission.salience import salience_of
from recollect.admission.screening import Screened, screen
from recollect.engine.admit import Proposal, own_word, retried, settle
from recollect.engine.dependencies import World, not_later
from recollect.engine.novelty import find_known_events
from recollect.engine.supersession import read_subject
from recollect.errors import FieldError, InvalidInput, show
from recollect.model.draft import Draft
from recollect.model.memory import Kind, Memory, MemoryId, embedded
from recollect.model.scope import Scope
from recollect.model.trust import TRUST, Trust
from recollect.model.verdict import Receipt, Refused
from recollect.protocols import Writing
from recollect.text.updates.claims import normal_subject


class _Lacking(Exception):
    """Something was embedded without the title that it is searched with, so nothing is to be written."""


First = Callable[[Writing], object]
"""What is done first in a transaction: if it raises anything, nothing is written."""


KEEPS_SECRETS = "to keep what looks like a secret, open the store with settings={'secrets.enabled': False}"
"""The way out for whoever is refused for one."""

Look = Callable[[Sequence[Receipt]], object]
"""Who sees all receipts before anything is written: if it raises anything, nothing is."""


def nothing_first(writing: Writing) -> None:
    """There is nothing to look at first."""


def remember_all(
    world: World, drafts: Sequence[Draft], first: First = nothing_first, *, exactly: Look | None = None
) -> list[Receipt]:
    """Remember all of the drafts, or none; what is said again under its key is answered without the embedder.

    What is to be kept `exactly` is the next state of its topic, whatever else says the same, and refused if anything
    would be taken out of it.
    """
    now = world.now()
    screened = [screen(draft, world.policy.secrets) for draft in drafts]
    if exactly is not None:
        for draft, one in zip(drafts, screened, strict=True):
            _refuse_cut(draft, one, world.policy.secrets)
    as_given = exactly is not None
    proposed = [None if isinstance(one, Refused) else _proposal(world, one, now, as_given) for one in screened]
    answers = [_answered(world, one, now) for one in screened]
    new = [one for one, answer in zip(proposed, answers, strict=True) if one is not None and answer is None]
    if not new and first is not nothing_first:
        world.store.write(first)
    receipts = iter(_remember(world, new, now, first, exactly) if new else [])
    return [next(receipts) if answer is None else answer for answer in answers]


def _refuse_cut(draft: Draft, screened: Screened[Draft] | Refused, policy: SecretsPolicy) -> None:
    """Refuse what could not be given back as it is, with the setting under which it could."""
    match screened:
        case Refused(reason=reason):
            why = f": {reason}"
        case Screened(redacted=()):
            return
        case _:
            why = f", for it has what may not be ({', '.join(screened.redacted)}); take that out"
    unchecked = screen(draft, replace(policy, enabled=False))
    could_be = isinstance(unchecked, Screened) and not unchecked.redacted
    raise InvalidInput(
        f"{show(draft.topic_key)} of {draft.scope} is not kept{why}{f'; {KEEPS_SECRETS}' if could_be else ''}"
    )


def _proposal(world: World, screened: Screened[Draft], now: datetime, exactly: bool) -> Proposal:
    draft = screened.value
    memory = _memory(world, draft, now)
    worth, shared = _worth(memory, world.policy), _trust_of_shared(world, draft)
    return Proposal(draft, memory, screened.redacted, worth=worth, shared=shared, exactly=exactly)


def _answered(world: World, screened: Screened[Draft] | Refused, now: datetime) -> Receipt | None:
    """What is answered without a look at what the scope knows: that it is refused, or what the same call got before
    under its key.
    """
    if isinstance(screened, Refused):
        return Receipt(None, screened, None)
    draft = screened.value
    kept = None if draft.key is None else retried(world.store.kept(draft.scope, draft.key), draft, now)
    found = [] if kept is None else world.store.get(draft.scope, [kept.memory])
    if kept is None or not found or own_word(draft, found[0]):
        return None
    return Receipt(found[0].id, kept.verdict, found[0], screened.redacted)


def _remember(
    world: World, proposals: Sequence[Proposal], now: datetime, first: First, exactly: Look | None
) -> list[Receipt]:
    """Embed outside of the transaction; once more if a title that a topic hands down was another than it seemed."""
    _find_texts(world, proposals)
    _bring_vectors(world, proposals)
    if world.policy.novelty.enabled:
        find_known_events(world, proposals, now)
    threshold = world.policy.duplicates.above(world.encoder.name)

    def change(writing: Writing) -> list[Receipt]:
        first(writing)
        writing.adopt(world.encoder)
        receipts = [settle(writing, proposal, world.policy, threshold, now) for proposal in proposals]
        if any(proposal.lacking is not None for proposal in proposals):
            raise _Lacking
        if exactly is not None:
            exactly(receipts)
        return receipts

    while True:
        try:
            return world.store.write(change)
        except _Lacking:
            _embed_what_lacks(world, proposals)


def _memory(world: World, draft: Draft, now: datetime) -> Memory:
    """The memory that the draft would become if it were news."""
    at, policy = not_later("at", draft.at, now), world.policy
    kind = draft.kind or (kind_of(draft.text) if policy.kind.detect else None) or Kind.OBSERVATION
    memory = Memory(
        id=draft.id or MemoryId(world.new_id(now)),
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
        subject=None if draft.subject is None else normal_subject(draft.subject),
        shared=draft.shared,
        pinned=draft.pinned,
        importance=draft.importance,
        confidence=draft.confidence,
        salience=salience_of(draft.text, kind, pinned=draft.pinned, policy=policy.salience),
        valid_from=draft.valid_from,
        valid_until=draft.valid_until,
        provenance=draft.provenance,
        trust=TRUST[draft.provenance],
        source=draft.source,
        evidence=draft.evidence,
        derived_from=draft.derived_from,
        metadata=draft.metadata or {},
    )
    subject = read_subject(memory, policy) if memory.subject is None else None
    return memory if subject is None else memory.changed(subject=subject)


def _worth(memory: Memory, policy: Policy) -> float | None:
    """How important its words say it is, where that is asked for and nobody said it."""
    if memory.importance is not None or not policy.importance.enabled:
        return None
    return importance_of(memory.text, memory.kind, policy.importance)


def _trust_of_shared(world: World, draft: Draft) -> dict[str, Trust]:
    """How far those of its origins are trusted that the scope sees because others share them."""
    found = world.store.get(draft.scope, [MemoryId(id) for id in draft.derived_from]) if draft.derived_from else []
    return {one.id: one.trust for one in found if one.scope != draft.scope}


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
    from recollect.retrieval.vectors import directions

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
