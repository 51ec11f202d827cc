"""Remember: a draft becomes a new memory, a revision, or an echo of a known memory.

It is screened and proposed, compared with the stored memories like it, decided about, and committed. `keep_verbatim`
stores texts verbatim under topic keys, for callers that must read back what they wrote.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import chain
from typing import Any

from recollect.admission import duplicates, supersession
from recollect.admission.changes import AdmissionResult, changes_for
from recollect.admission.decision import decide, decide_verbatim
from recollect.admission.policy import SecretsPolicy
from recollect.admission.proposal import Proposal, TitleChanged, propose
from recollect.admission.screening import Screened, ScreenedT, screen, screen_value
from recollect.engine.dependencies import Dependencies, require_not_future
from recollect.engine.novelty import find_known_events
from recollect.errors import Conflict, FieldError, InvalidInput, show
from recollect.model import changeset, validation
from recollect.model.draft import Draft, Quarantined, Receipt, Refused, Superseded
from recollect.model.enums import TRUST_BY_PROVENANCE, Provenance, Status
from recollect.model.memory import Memory, MemoryId
from recollect.model.scope import Scope, as_scope
from recollect.protocols import WriteTransaction
from recollect.text.updates.parsed_memories import ParsedMemories

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
    now, parsed = deps.now(), ParsedMemories()
    screened = [screen(draft, deps.policy.secrets) for draft in drafts]
    if check_verbatim is not None:
        for draft, one in zip(drafts, screened, strict=True):
            _refuse_redacted(draft, one, deps.policy.secrets)
    results: list[Receipt | Proposal] = [
        Receipt(None, one, None)
        if isinstance(one, Refused)
        else propose(
            one,
            deps.policy,
            id=one.value.id or MemoryId(deps.new_id(now)),
            at=require_not_future("at", one.value.at, now),
            parsed=parsed,
            is_verbatim=check_verbatim is not None,
        )
        for one in screened
    ]
    results = _look_up(deps, results, now)
    new = [one for one in results if isinstance(one, Proposal)]
    receipts = iter(_embed_and_commit(deps, new, now, before_write, check_verbatim) if new else [])
    if not new and before_write is not do_nothing:
        deps.store.write(before_write)
    return [one if isinstance(one, Receipt) else next(receipts) for one in results]


def _look_up(deps: Dependencies, results: Sequence[Receipt | Proposal], now: datetime) -> list[Receipt | Proposal]:
    """Read what proposals need before they are embedded: answers to retries, titles of topics, memories to compare.

    The transaction looks the neighbors up again, since another writer may have changed them.
    """
    queries = [one.early_query if isinstance(one, Proposal) else None for one in results]
    found = iter(deps.store.neighbors([query for query in queries if query is not None]))
    titles: dict[tuple[Scope, str], str | None] = {}
    by_subject: dict[tuple[Scope, str], Memory] = {}
    prepared = list[Receipt | Proposal]()
    for one, query in zip(results, queries, strict=True):
        if isinstance(one, Receipt):
            prepared.append(one)
            continue
        neighbors = changeset.Neighbors() if query is None else next(found)
        if one.memory.subject is not None:  # it may contradict stored memories and earlier drafts
            earlier = by_subject.setdefault((one.memory.scope, one.memory.subject), one.memory)
            stored = chain(*neighbors.same_subject.values())
            one.parse_memories([*stored, *([] if earlier is one.memory else [earlier])])
        title = one.memory.title
        if query is not None and query.topic_key is not None:  # a draft without a title gets that of its topic
            topic = query.scope, query.topic_key
            stored_title = None if neighbors.topic is None else neighbors.topic.title
            title = titles[topic] = title or titles.get(topic, stored_title)
        prepared.append(_answer_retry(one, neighbors, now) or one.with_title(title))
    return prepared


def _answer_retry(proposal: Proposal, neighbors: changeset.Neighbors, now: datetime) -> Receipt | None:
    """Return the first answer to a call that is repeated with its idempotency key."""
    draft, stored = proposal.draft, neighbors.retried_memory
    record = duplicates.check_retry_key(neighbors.retried, draft, now)
    if record is None or stored is None or duplicates.raises_trust(draft, stored):
        return None
    return Receipt(stored.id, record.verdict, stored, proposal.redacted)


def _embed(deps: Dependencies, proposals: Sequence[Proposal]) -> list[Proposal]:
    """Return the proposals with their vectors: the draft's own, or the embedder's."""
    from recollect.retrieval.vectors import normalize_vectors

    embedded = deps.embed([one.embedded_text for one in proposals if one.embedded_text is not None], "memory")
    own_vectors = [one.draft.vector for one in proposals if one.draft.vector is not None]
    for vector in own_vectors:
        if len(vector) != deps.encoder.dimensions:
            raise FieldError(f"has {len(vector)} dimensions; expected a vector of {deps.encoder}", field="vector")
    from_embedder = iter(embedded)
    from_drafts = iter(normalize_vectors(own_vectors) if own_vectors else ())
    return [replace(one, vector=next(from_drafts if one.embedded_text is None else from_embedder)) for one in proposals]


def _embed_and_commit(
    deps: Dependencies,
    proposals: Sequence[Proposal],
    now: datetime,
    before_write: BeforeWrite,
    check_verbatim: CheckReceipts | None,
) -> list[Receipt]:
    """Embed all proposals and write them in one transaction; embed again if a topic's title has changed."""
    proposals = find_known_events(deps, _embed(deps, proposals), now)

    def change(writing: WriteTransaction) -> list[tuple[Receipt, AdmissionResult | None]]:
        before_write(writing)
        writing.apply(changeset.Changeset(encoder=deps.encoder))
        written = list[tuple[Receipt, AdmissionResult | None]]()
        batch = set[MemoryId]()
        for proposal in proposals:  # each sees what the earlier ones have written
            written.append(_decide_and_write(deps, writing, proposal, now, batch))
            batch.add(written[-1][0].id)
        if check_verbatim is not None:
            check_verbatim([receipt for receipt, _ in written])
        return written

    while True:
        try:
            return [_with_quotes(receipt, outcome) for receipt, outcome in deps.store.write(change)]
        except TitleChanged as error:
            (again,) = _embed(deps, [error.proposal.with_title(error.state.title)])
            proposals = [again if one is error.proposal else one for one in proposals]


def _decide_and_write(
    deps: Dependencies, writing: WriteTransaction, proposal: Proposal, now: datetime, batch: set[MemoryId]
) -> tuple[Receipt, AdmissionResult | None]:
    """Decide about one draft by the memories that this transaction sees, and write the result."""
    draft, policy = proposal.draft, deps.policy
    neighbors = writing.neighbors(proposal.query)
    retried = _answer_retry(proposal, neighbors, now)
    if retried is not None:  # another call wrote it while this one was embedding
        return retried, None
    if draft.id is not None and neighbors.same_id is not None:
        raise Conflict(f"memory {show(draft.id)} already exists; revise it, or omit the id")
    threshold = policy.duplicates.threshold_for(deps.encoder.name)
    memory, neighborhood = duplicates.match_neighbors(proposal, neighbors, policy, threshold)
    decision = (decide_verbatim if proposal.is_verbatim else decide)(memory, neighborhood, policy)
    changes, outcome = changes_for(decision, proposal, memory, neighbors, policy, now, batch)
    stored = writing.apply(changes)
    memory = stored[-1] if stored else outcome.memory
    return Receipt(memory.id, outcome.verdict, memory, proposal.redacted), outcome


def _with_quotes(receipt: Receipt, outcome: AdmissionResult | None) -> Receipt:
    """Say in the verdict how a memory differs from the one that it replaces."""
    if outcome is None or outcome.replaced is None or not isinstance(receipt.verdict, Superseded):
        return receipt
    return replace(receipt, verdict=supersession.quote_difference(receipt.verdict, outcome.replaced, receipt.memory))


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
    (neighbors,) = deps.store.neighbors([changeset.NeighborQuery(scope=scope, topic_key=topic_key)])
    memory = neighbors.topic
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
    memory = writing.neighbors(changeset.NeighborQuery(scope=key.scope, topic_key=key.topic_key)).topic
    return None if memory is None or memory.ended_by(now) else memory


def _forget_under_key(writing: WriteTransaction, key: TopicKey) -> None:
    memory = writing.neighbors(changeset.NeighborQuery(scope=key.scope, topic_key=key.topic_key)).topic
    if memory is not None:
        writing.put(memory.with_changes(status=Status.FORGOTTEN), None)


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
