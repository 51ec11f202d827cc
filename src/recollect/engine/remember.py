"""Remember: drafts become new memories, revisions, or echoes of known ones.

`keep_exact` stores texts verbatim under topic keys, for callers that must read back what they wrote.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from recollect.admission.classify import detect_importance, detect_kind, rate_salience
from recollect.admission.policy import AdmissionPolicy, SecretsPolicy
from recollect.admission.screening import Screened, ScreenedT, screen, screen_value
from recollect.engine.admit import Proposal, admit, check_retry_key, find_known_events, raises_trust
from recollect.engine.dependencies import Dependencies, require_not_future
from recollect.engine.supersession import read_subject
from recollect.errors import Conflict, FieldError, InvalidInput, show
from recollect.model import validation
from recollect.model.draft import Draft, Quarantined, Receipt, Refused
from recollect.model.enums import TRUST_BY_PROVENANCE, Kind, Provenance, Status, Trust
from recollect.model.memory import Memory, MemoryId, build_embedded_text
from recollect.model.scope import Scope, as_scope
from recollect.protocols import WriteTransaction
from recollect.text.updates.claims import normalize_subject


class _TitleChanged(Exception):
    """Raised when a text was embedded without its present title, so that nothing is written."""


BeforeWrite = Callable[[WriteTransaction], object]
"""Runs first in the transaction; if it raises, nothing is written."""


KEEP_SECRETS_HINT = "to keep what looks like a secret, open the store with settings={'secrets.enabled': False}"
"""The hint in the error when a draft is refused for a secret."""

CheckReceipts = Callable[[Sequence[Receipt]], object]
"""Checks all receipts at the end of the transaction; if it raises, nothing is written."""


def do_nothing_first(writing: WriteTransaction) -> None:
    """Do nothing before the write."""


def remember_all(
    deps: Dependencies,
    drafts: Sequence[Draft],
    first: BeforeWrite = do_nothing_first,
    *,
    exactly: CheckReceipts | None = None,
) -> list[Receipt]:
    """Remember all drafts, or none; a retry with the same key is answered without the embedder.

    With `exactly`, each draft becomes the next state of its topic, even if another memory says the same, and is refused
    if anything would be redacted.
    """
    now = deps.now()
    screened = [screen(draft, deps.policy.secrets) for draft in drafts]
    if exactly is not None:
        for draft, one in zip(drafts, screened, strict=True):
            _refuse_redacted(draft, one, deps.policy.secrets)
    as_given = exactly is not None
    proposed = [None if isinstance(one, Refused) else _propose(deps, one, now, as_given) for one in screened]
    answers = [_find_answer(deps, one, now) for one in screened]
    new = [one for one, answer in zip(proposed, answers, strict=True) if one is not None and answer is None]
    if not new and first is not do_nothing_first:
        deps.store.write(first)
    receipts = iter(_embed_and_write(deps, new, now, first, exactly) if new else [])
    return [next(receipts) if answer is None else answer for answer in answers]


def _refuse_redacted(draft: Draft, screened: Screened[Draft] | Refused, policy: SecretsPolicy) -> None:
    """Raise InvalidInput if the draft would be redacted; name the setting that would allow it."""
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
        f"{show(draft.topic_key)} of {draft.scope} is not kept{why}{f'; {KEEP_SECRETS_HINT}' if could_be else ''}"
    )


def _propose(deps: Dependencies, screened: Screened[Draft], now: datetime, exactly: bool) -> Proposal:
    draft = screened.value
    memory = _build_memory(deps, draft, now)
    worth, shared = _estimate_importance(memory, deps.policy), _load_shared_trusts(deps, draft)
    return Proposal(
        draft, memory, screened.redacted, estimated_importance=worth, shared_trusts=shared, is_exact=exactly
    )


def _find_answer(deps: Dependencies, screened: Screened[Draft] | Refused, now: datetime) -> Receipt | None:
    """Return an answer that needs no look at the scope: a refusal, or the retry's first answer."""
    if isinstance(screened, Refused):
        return Receipt(None, screened, None)
    draft = screened.value
    kept = None if draft.key is None else check_retry_key(deps.store.kept(draft.scope, draft.key), draft, now)
    found = [] if kept is None else deps.store.get(draft.scope, [kept.memory])
    if kept is None or not found or raises_trust(draft, found[0]):
        return None
    return Receipt(found[0].id, kept.verdict, found[0], screened.redacted)


def _embed_and_write(
    deps: Dependencies, proposals: Sequence[Proposal], now: datetime, first: BeforeWrite, exactly: CheckReceipts | None
) -> list[Receipt]:
    """Embed outside the transaction, then write; embed again if a topic's title has changed."""
    _set_texts_to_embed(deps, proposals)
    _set_vectors(deps, proposals)
    if deps.policy.novelty.enabled:
        find_known_events(deps, proposals, now)
    threshold = deps.policy.duplicates.threshold_for(deps.encoder.name)

    def change(writing: WriteTransaction) -> list[Receipt]:
        first(writing)
        writing.adopt(deps.encoder)
        receipts = [admit(writing, proposal, deps.policy, threshold, now) for proposal in proposals]
        if any(proposal.missing_text is not None for proposal in proposals):
            raise _TitleChanged
        if exactly is not None:
            exactly(receipts)
        return receipts

    while True:
        try:
            return deps.store.write(change)
        except _TitleChanged:
            _embed_missing(deps, proposals)


def _build_memory(deps: Dependencies, draft: Draft, now: datetime) -> Memory:
    """Return the memory that the draft would become if it were new."""
    at, policy = require_not_future("at", draft.at, now), deps.policy
    kind = draft.kind or (detect_kind(draft.text) if policy.kind.detect else None) or Kind.OBSERVATION
    memory = Memory(
        id=draft.id or MemoryId(deps.new_id(now)),
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
        subject=None if draft.subject is None else normalize_subject(draft.subject),
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
    return memory if subject is None else memory.changed(subject=subject)


def _estimate_importance(memory: Memory, policy: AdmissionPolicy) -> float | None:
    """Estimate the importance from the text, if that is enabled and none was given."""
    if memory.importance is not None or not policy.importance.enabled:
        return None
    return detect_importance(memory.text, memory.kind, policy.importance)


def _load_shared_trusts(deps: Dependencies, draft: Draft) -> dict[str, Trust]:
    """Return the trust of the draft's origins that other scopes share with this one."""
    found = deps.store.get(draft.scope, [MemoryId(id) for id in draft.derived_from]) if draft.derived_from else []
    return {one.id: one.trust for one in found if one.scope != draft.scope}


def _set_texts_to_embed(deps: Dependencies, proposals: Sequence[Proposal]) -> None:
    """Set the text that each proposal is searched by, with its own title or its topic's."""
    titles: dict[tuple[Scope, str], str | None] = {}
    for one in proposals:
        title, topic_key = one.memory.title, one.memory.topic_key
        if one.draft.vector is None and topic_key is not None and title is None:
            topic = one.memory.scope, topic_key
            if topic not in titles:
                known = deps.store.topic(*topic)
                titles[topic] = None if known is None else known.title
            title = titles[topic]
        if one.draft.vector is None:
            one.text = build_embedded_text(title, one.memory.text, one.memory.speaker)
        if topic_key is not None and title is not None:
            titles[one.memory.scope, topic_key] = title


def _set_vectors(deps: Dependencies, proposals: Sequence[Proposal]) -> None:
    """Set each proposal's vector: the draft's own, or the embedder's."""
    from recollect.retrieval.vectors import normalize_vectors

    embedded = deps.embed([one.text for one in proposals if one.text is not None], "memory")
    given = [one.draft.vector for one in proposals if one.draft.vector is not None]
    dimensions = deps.encoder.dimensions
    for vector in given:
        if len(vector) != dimensions:
            model = deps.encoder
            raise FieldError(f"{len(vector)} dimensions; the vectors of {model} are asked for", field="vector")
    made, brought = iter(embedded), iter(normalize_vectors(given) if given else ())
    for one in proposals:
        one.vector = next(brought if one.text is None else made)


def _embed_missing(deps: Dependencies, proposals: Sequence[Proposal]) -> None:
    wrong = [(one, one.missing_text) for one in proposals if one.missing_text is not None]
    for (one, text), vector in zip(wrong, deps.embed([text for _, text in wrong], "memory"), strict=True):
        one.text, one.vector, one.missing_text = text, vector, None


@dataclass(frozen=True, slots=True)
class TopicKey:
    """A topic key of a scope, under which one text is kept."""

    scope: Scope
    topic_key: str

    def __str__(self) -> str:
        return f"{show(self.topic_key)} of {self.scope}"


def keep_exact(
    deps: Dependencies,
    drafts: Sequence[Draft],
    *,
    drop: Sequence[TopicKey],
    by: Provenance | None,
    seen: Mapping[TopicKey, Memory | None],
    apart: bool,
) -> list[Receipt]:
    """Store drafts verbatim under their topic keys and forget the keys in `drop`, or do nothing.

    With `by`, a dropped memory must not have higher trust than this provenance.
    """
    now = deps.now()
    keys = [_key_of(draft) for draft in drafts]

    def first(writing: WriteTransaction) -> None:
        for key, memory in seen.items():
            _refuse_changed(key, memory, _get_current(writing, key, now))
        for key in drop:
            _refuse_less_trusted(key, _get_current(writing, key, now), by if deps.policy.quarantine.enabled else None)
            _forget_under_key(writing, key)
        for key in keys:
            if _get_current(writing, key, now) is None:
                _forget_under_key(writing, key)  # its validity is over, so the draft is a new memory

    def look(receipts: Sequence[Receipt]) -> None:
        for key, receipt in zip(keys, receipts, strict=True):
            if isinstance(receipt.verdict, Quarantined) and not apart:
                raise InvalidInput(f"{key} is not kept, for {receipt.reason}; have the user or an operator say it")

    return remember_all(deps, drafts, first, exactly=look)


def get_kept(deps: Dependencies, scope: Scope, topic_key: str) -> Memory | None:
    """Return the scope's active memory with this topic key, if it is valid now."""
    if not validation.is_storable(validation.require_text("topic_key", topic_key)):
        return None
    found = deps.store.topic(scope, topic_key)
    return None if found is None or found.ended_by(deps.now()) else found


def screen_or_raise(deps: Dependencies, value: ScreenedT) -> ScreenedT:
    """Return the value with placeholders for what may not be stored."""
    found = screen_value(value, deps.policy.secrets)
    if isinstance(found, Refused):
        raise InvalidInput(f"{found.reason}; {KEEP_SECRETS_HINT}")
    return found.value


def read_keys(given: Iterable[tuple[str | Scope, str]]) -> list[TopicKey]:
    """Convert pairs of a scope and a topic key."""
    return [_read_key("drop", *_require_parts("drop", one, 2)) for one in validation.require_several("drop", given)]


def read_seen_versions(given: Iterable[tuple[str | Scope, str, Memory | None]]) -> dict[TopicKey, Memory | None]:
    """Convert triples of a scope, a topic key and the memory that was read there, or None."""
    found: dict[TopicKey, Memory | None] = {}
    for one in validation.require_several("seen", given):
        scope, topic_key, memory = _require_parts("seen", one, 3)
        if memory is not None and not isinstance(memory, Memory):
            raise FieldError(f"{show(memory)} is no memory; give what `get_kept` gave", field="seen")
        found[_read_key("seen", scope, topic_key)] = memory
    return found


def _require_parts(field: str, given: object, count: int) -> Sequence[Any]:
    if not isinstance(given, tuple | list) or len(given) != count:
        raise FieldError(f"{show(given)} does not name {count} things, a scope and a topic key first", field=field)
    return given


def _read_key(field: str, scope: str | Scope, topic_key: str) -> TopicKey:
    return TopicKey(as_scope(scope), validation.require_id(field, topic_key))


def _key_of(draft: Draft) -> TopicKey:
    if draft.topic_key is None:
        raise FieldError("is missing; what is kept has a key", field="topic_key")
    if draft.subject is not None:
        raise FieldError(f"{show(draft.subject)}, but what is kept has a key instead; leave it out", field="subject")
    if draft.key is not None:
        raise FieldError(f"{show(draft.key)}, but to keep the same again is harmless; leave it out", field="key")
    return TopicKey(draft.scope, draft.topic_key)


def _get_current(writing: WriteTransaction, key: TopicKey, now: datetime) -> Memory | None:
    found = writing.topic(key.scope, key.topic_key)
    return None if found is None or found.ended_by(now) else found


def _forget_under_key(writing: WriteTransaction, key: TopicKey) -> None:
    found = writing.topic(key.scope, key.topic_key)
    if found is not None:
        writing.put(found.changed(status=Status.FORGOTTEN), None)


def _refuse_less_trusted(key: TopicKey, held: Memory | None, by: Provenance | None) -> None:
    """Raise InvalidInput if the caller has lower trust than the memory under this key."""
    if held is not None and by is not None and TRUST_BY_PROVENANCE[by].less_than(held.trust):
        less = f"what comes through {by.value} is trusted less than it"
        raise InvalidInput(f"{key} is not dropped, for {less}; have the user or an operator do it")


def _refuse_changed(key: TopicKey, seen: Memory | None, found: Memory | None) -> None:
    if _version_of(seen) != _version_of(found):
        raise Conflict(f"{key} has changed since it was looked at; look again")


def _version_of(memory: Memory | None) -> tuple[str, int] | None:
    return None if memory is None else (memory.id, memory.revisions)
