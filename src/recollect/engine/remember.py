"""Remember: a draft becomes a new memory, a revision, or an echo of a known memory.

`keep_verbatim` stores texts verbatim under topic keys, for callers that must read back what they wrote.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from recollect.admission.classify import detect_importance, detect_kind, rate_salience
from recollect.admission.policy import SecretsPolicy
from recollect.admission.screening import Screened, ScreenedT, screen, screen_value
from recollect.engine.admit import Proposal, admit, check_retry_key, find_known_events, raises_trust
from recollect.engine.dependencies import Dependencies, require_not_future
from recollect.engine.supersession import read_subject
from recollect.errors import Conflict, FieldError, InvalidInput, show
from recollect.model import validation
from recollect.model.draft import Draft, Quarantined, Receipt, Refused
from recollect.model.enums import TRUST_BY_PROVENANCE, Kind, Provenance, Status
from recollect.model.memory import Memory, MemoryId, build_embedded_text
from recollect.model.scope import Scope, as_scope
from recollect.protocols import WriteTransaction
from recollect.text.updates.claims import normalize_subject


class _TitleChanged(Exception):
    """Raised when a text was embedded with an outdated title, so that nothing is written."""


BeforeWrite = Callable[[WriteTransaction], object]
"""Runs first in the transaction; if it raises, nothing is written."""


KEEP_SECRETS_HINT = "to store it unchanged, open the store with settings={'secrets.enabled': False}"
"""The hint in the error when a draft is refused for a secret."""

CheckReceipts = Callable[[Sequence[Receipt]], object]
"""Checks all receipts at the end of the transaction; if it raises, nothing is written."""


def do_nothing(writing: WriteTransaction) -> None:
    """Do nothing before the write."""


def remember_all(
    deps: Dependencies,
    drafts: Sequence[Draft],
    before_write: BeforeWrite = do_nothing,
    *,
    check_verbatim: CheckReceipts | None = None,
) -> list[Receipt]:
    """Remember all drafts, or none; a retry with the same key is answered without the embedder.

    With `check_verbatim`, each draft becomes the next version of its topic, even if another memory says the same, and
    is refused if anything would be redacted. The check sees all receipts before the transaction ends.
    """
    now = deps.now()
    screened = [screen(draft, deps.policy.secrets) for draft in drafts]
    if check_verbatim is not None:
        for draft, one in zip(drafts, screened, strict=True):
            _refuse_redacted(draft, one, deps.policy.secrets)
    verbatim = check_verbatim is not None
    proposed = [None if isinstance(one, Refused) else _propose(deps, one, now, verbatim) for one in screened]
    answers = [_find_answer(deps, one, now) for one in screened]
    new = [one for one, answer in zip(proposed, answers, strict=True) if one is not None and answer is None]
    if not new and before_write is not do_nothing:
        deps.store.write(before_write)
    receipts = iter(_embed_and_write(deps, new, now, before_write, check_verbatim) if new else [])
    return [next(receipts) if answer is None else answer for answer in answers]


def _refuse_redacted(draft: Draft, screened: Screened[Draft] | Refused, policy: SecretsPolicy) -> None:
    """Raise InvalidInput if the draft would be redacted; name the setting that would allow it."""
    match screened:
        case Refused(reason=reason):
            why = f": {reason}"
        case Screened(redacted=()):
            return
        case _:
            why = f": it contains {', '.join(screened.redacted)}; remove that"
    unchecked = screen(draft, replace(policy, enabled=False))
    allowed = isinstance(unchecked, Screened) and not unchecked.redacted
    raise InvalidInput(
        f"{show(draft.topic_key)} of {draft.scope} cannot be stored{why}{f'; {KEEP_SECRETS_HINT}' if allowed else ''}"
    )


def _propose(deps: Dependencies, screened: Screened[Draft], now: datetime, verbatim: bool) -> Proposal:
    draft = screened.value
    memory = _build_memory(deps, draft, now)
    estimated_importance = None
    if memory.importance is None and deps.policy.importance.enabled:
        estimated_importance = detect_importance(memory.text, memory.kind, deps.policy.importance)
    origins = deps.store.get(draft.scope, [MemoryId(id) for id in draft.derived_from]) if draft.derived_from else []
    return Proposal(
        draft,
        memory,
        screened.redacted,
        estimated_importance=estimated_importance,
        # other scopes share these origins with this one
        shared_trusts={one.id: one.trust for one in origins if one.scope != draft.scope},
        is_verbatim=verbatim,
    )


def _find_answer(deps: Dependencies, screened: Screened[Draft] | Refused, now: datetime) -> Receipt | None:
    """Return an answer that does not depend on the scope: a refusal, or the first answer to a retry."""
    if isinstance(screened, Refused):
        return Receipt(None, screened, None)
    draft = screened.value
    record = None if draft.key is None else check_retry_key(deps.store.kept(draft.scope, draft.key), draft, now)
    memories = [] if record is None else deps.store.get(draft.scope, [record.memory])
    if record is None or not memories or raises_trust(draft, memories[0]):
        return None
    return Receipt(memories[0].id, record.verdict, memories[0], screened.redacted)


def _embed_and_write(
    deps: Dependencies,
    proposals: Sequence[Proposal],
    now: datetime,
    before_write: BeforeWrite,
    check_verbatim: CheckReceipts | None,
) -> list[Receipt]:
    """Embed outside the transaction, then write; embed again if a topic's title has changed."""
    _set_texts_to_embed(deps, proposals)
    _set_vectors(deps, proposals)
    if deps.policy.novelty.enabled:
        find_known_events(deps, proposals, now)
    threshold = deps.policy.duplicates.threshold_for(deps.encoder.name)

    def change(writing: WriteTransaction) -> list[Receipt]:
        before_write(writing)
        writing.adopt(deps.encoder)
        receipts = [admit(writing, proposal, deps.policy, threshold, now) for proposal in proposals]
        if any(proposal.missing_text is not None for proposal in proposals):
            raise _TitleChanged
        if check_verbatim is not None:
            check_verbatim(receipts)
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


def _set_texts_to_embed(deps: Dependencies, proposals: Sequence[Proposal]) -> None:
    """Set the text to embed for each proposal, with its own title or its topic's."""
    titles: dict[tuple[Scope, str], str | None] = {}
    for proposal in proposals:
        memory, needs_vector = proposal.memory, proposal.draft.vector is None
        title, topic_key = memory.title, memory.topic_key
        if needs_vector and topic_key is not None and title is None:
            topic = memory.scope, topic_key
            if topic not in titles:
                known = deps.store.topic(*topic)
                titles[topic] = None if known is None else known.title
            title = titles[topic]
        if needs_vector:
            proposal.text = build_embedded_text(title, memory.text, memory.speaker)
        if topic_key is not None and title is not None:
            titles[memory.scope, topic_key] = title


def _set_vectors(deps: Dependencies, proposals: Sequence[Proposal]) -> None:
    """Set each proposal's vector: the draft's own, or the embedder's."""
    from recollect.retrieval.vectors import normalize_vectors

    embedded = deps.embed([one.text for one in proposals if one.text is not None], "memory")
    own_vectors = [one.draft.vector for one in proposals if one.draft.vector is not None]
    for vector in own_vectors:
        if len(vector) != deps.encoder.dimensions:
            raise FieldError(f"has {len(vector)} dimensions; expected a vector of {deps.encoder}", field="vector")
    from_embedder = iter(embedded)
    from_drafts = iter(normalize_vectors(own_vectors) if own_vectors else ())
    for proposal in proposals:
        proposal.vector = next(from_drafts if proposal.text is None else from_embedder)


def _embed_missing(deps: Dependencies, proposals: Sequence[Proposal]) -> None:
    outdated = [(one, one.missing_text) for one in proposals if one.missing_text is not None]
    vectors = deps.embed([text for _, text in outdated], "memory")
    for (proposal, text), vector in zip(outdated, vectors, strict=True):
        proposal.text, proposal.vector, proposal.missing_text = text, vector, None


@dataclass(frozen=True, slots=True)
class TopicKey:
    """A topic key of a scope, under which one text is kept."""

    scope: Scope
    topic_key: str

    def __str__(self) -> str:
        return f"{show(self.topic_key)} of {self.scope}"


def keep_verbatim(
    deps: Dependencies,
    drafts: Sequence[Draft],
    *,
    drop: Sequence[TopicKey],
    caller: Provenance | None,
    seen: Mapping[TopicKey, Memory | None],
    may_quarantine: bool,
) -> list[Receipt]:
    """Store drafts verbatim under their topic keys and forget the keys in `drop`, or do nothing.

    With `caller`, a dropped memory must not have higher trust than the caller. With `may_quarantine`, a draft may be
    stored as quarantined; otherwise it is refused.
    """
    now = deps.now()
    keys = [_key_of(draft) for draft in drafts]

    def prepare(writing: WriteTransaction) -> None:
        for key, memory in seen.items():
            _refuse_changed(key, memory, _get_current(writing, key, now))
        for key in drop:
            if deps.policy.quarantine.enabled:
                _refuse_less_trusted(key, _get_current(writing, key, now), caller)
            _forget_under_key(writing, key)
        for key in keys:
            if _get_current(writing, key, now) is None:
                _forget_under_key(writing, key)  # its validity is over, so the draft becomes a new memory

    def check(receipts: Sequence[Receipt]) -> None:
        for key, receipt in zip(keys, receipts, strict=True):
            if isinstance(receipt.verdict, Quarantined) and not may_quarantine:
                raise InvalidInput(f"{key} cannot be stored: {receipt.reason}; ask the user or an operator to store it")

    return remember_all(deps, drafts, prepare, check_verbatim=check)


def get_kept(deps: Dependencies, scope: Scope, topic_key: str) -> Memory | None:
    """Return the scope's active memory with this topic key, if it is valid now."""
    if not validation.is_storable(validation.require_text("topic_key", topic_key)):
        return None
    memory = deps.store.topic(scope, topic_key)
    return None if memory is None or memory.ended_by(deps.now()) else memory


def screen_or_raise(deps: Dependencies, value: ScreenedT) -> ScreenedT:
    """Return the value with placeholders for what may not be stored."""
    screened = screen_value(value, deps.policy.secrets)
    if isinstance(screened, Refused):
        raise InvalidInput(f"{screened.reason}; {KEEP_SECRETS_HINT}")
    return screened.value


def read_keys(given: Iterable[tuple[str | Scope, str]]) -> list[TopicKey]:
    """Convert pairs of a scope and a topic key."""
    pairs = validation.require_several("drop", given)
    return [_read_key("drop", *_require_tuple("drop", pair, "scope", "topic_key")) for pair in pairs]


def read_seen_versions(given: Iterable[tuple[str | Scope, str, Memory | None]]) -> dict[TopicKey, Memory | None]:
    """Convert triples of a scope, a topic key and the memory that was read there, or None."""
    memories: dict[TopicKey, Memory | None] = {}
    for triple in validation.require_several("seen", given):
        scope, topic_key, memory = _require_tuple("seen", triple, "scope", "topic_key", "memory")
        if memory is not None and not isinstance(memory, Memory):
            raise FieldError(f"{show(memory)} is not a memory; pass what `kept` returned", field="seen")
        memories[_read_key("seen", scope, topic_key)] = memory
    return memories


def _require_tuple(field: str, value: object, *names: str) -> Sequence[Any]:
    """Return the value, or raise FieldError unless it is a tuple or list of as many items as names."""
    if not isinstance(value, tuple | list) or len(value) != len(names):
        raise FieldError(f"{show(value)} is not a tuple ({', '.join(names)})", field=field)
    return value


def _read_key(field: str, scope: str | Scope, topic_key: str) -> TopicKey:
    return TopicKey(as_scope(scope), validation.require_id(field, topic_key))


def _key_of(draft: Draft) -> TopicKey:
    if draft.topic_key is None:
        raise FieldError("is missing; give the key to store the text under", field="topic_key")
    if draft.subject is not None:
        raise FieldError("cannot be combined with a topic key; omit it", field="subject")
    if draft.key is not None:
        raise FieldError("is not needed, since repeating the call is harmless; omit it", field="key")
    return TopicKey(draft.scope, draft.topic_key)


def _get_current(writing: WriteTransaction, key: TopicKey, now: datetime) -> Memory | None:
    memory = writing.topic(key.scope, key.topic_key)
    return None if memory is None or memory.ended_by(now) else memory


def _forget_under_key(writing: WriteTransaction, key: TopicKey) -> None:
    memory = writing.topic(key.scope, key.topic_key)
    if memory is not None:
        writing.put(memory.changed(status=Status.FORGOTTEN), None)


def _refuse_less_trusted(key: TopicKey, memory: Memory | None, caller: Provenance | None) -> None:
    """Raise InvalidInput if the caller has lower trust than the memory under this key."""
    if memory is not None and caller is not None and TRUST_BY_PROVENANCE[caller].less_than(memory.trust):
        problem = f"{caller.value} has lower trust than the memory"
        raise InvalidInput(f"{key} was not dropped: {problem}; ask the user or an operator to drop it")


def _refuse_changed(key: TopicKey, seen: Memory | None, current: Memory | None) -> None:
    if _version_of(seen) != _version_of(current):
        raise Conflict(f"{key} has changed since it was read; read it again")


def _version_of(memory: Memory | None) -> tuple[str, int] | None:
    return None if memory is None else (memory.id, memory.revisions)
