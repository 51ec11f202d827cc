"""Edit: revise, pin, forget, release and restore a memory; its history keeps every version."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from recollect.admission import changes, duplicates, supersession
from recollect.admission.classify import rate_salience
from recollect.admission.decision import (
    Admit,
    InsertBefore,
    Quarantine,
    SubjectPosition,
    Supersede,
    decide_within_subject,
    effective_from,
    find_quarantined_by_hand,
    injection_reason,
    quarantine_reason,
)
from recollect.admission.policy import AdmissionPolicy
from recollect.admission.prompt_injection import find_injection
from recollect.admission.screening import screen
from recollect.engine.dependencies import Dependencies, require_not_future
from recollect.errors import Conflict, FieldError, NotFound, show
from recollect.lifecycle.rollups import keep_metadata
from recollect.model import changeset, validation
from recollect.model.draft import Changed, Receipt, Refused, Unchanged, Updated
from recollect.model.enums import (
    TIMELINE_LEVELS,
    TRUST_BY_PROVENANCE,
    Kind,
    Provenance,
    Status,
    Trust,
    parse_choice,
)
from recollect.model.memory import Memory, MemoryId, content_hash
from recollect.model.scope import Scope
from recollect.protocols import WriteTransaction
from recollect.text.index_entry import index_memory
from recollect.text.updates.parsed_memories import ParsedMemories

if TYPE_CHECKING:
    from recollect.retrieval.vectors import Vector


T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Revision:
    """The new values of a memory; `None` leaves a field unchanged.

    If the memory's validity was over, the revision starts a new one without an end, unless one is given. A new text has
    the provenance of a model unless another is given.
    """

    text: str
    title: str | None = None
    kind: Kind | None = None
    tags: tuple[str, ...] | None = None
    importance: float | None = None
    confidence: float | None = None
    at: datetime | None = None
    valid_from: datetime | None = None
    valid_until: datetime | None = None
    metadata: dict[str, Any] | None = None
    provenance: Provenance | None = None
    vector: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        validation.require_content("text", self.text)
        for name, check in _FIELD_CHECKS.items():
            value = getattr(self, name)
            if value is not None:
                object.__setattr__(self, name, check(name, value))


_FIELD_CHECKS: Mapping[str, Callable[[str, Any], Any]] = {
    "kind": partial(parse_choice, choices=Kind),
    "provenance": partial(parse_choice, choices=Provenance),
    "tags": validation.require_several,
    "importance": validation.require_fraction,
    **dict.fromkeys(("at", "valid_from", "valid_until"), validation.require_moment),
    "vector": validation.require_vector,
}
"""Fields checked when a revision is made; `Memory` checks the others."""


def revise(deps: Dependencies, scope: Scope, id: str, revision: Revision) -> Receipt:
    """Give a memory a new text; its id stays, and so do its earlier versions in its history."""
    now = deps.now()
    require_not_future("at", revision.at, now)
    current = get_visible(deps, scope, id)
    has_title = revision.title is not None
    screened = screen(revision if has_title else replace(revision, title=current.title), deps.policy.secrets)
    if isinstance(screened, Refused):
        return Receipt(current.id, screened, current)
    revision, redacted = (screened.value if has_title else replace(screened.value, title=None)), screened.redacted
    if revision.vector is not None and len(revision.vector) != deps.encoder.dimensions:
        raise FieldError(f"has {len(revision.vector)} dimensions; expected a vector of {deps.encoder}", field="vector")
    if revision.vector is not None and current.level in TIMELINE_LEVELS:
        # a record that returns to the index is embedded again from its text
        raise FieldError(f"cannot be set on the timeline record {show(current.id)}; omit it", field="vector")
    receipt = None
    while receipt is None:
        receipt = _try_revise(deps, scope, get_visible(deps, scope, id), revision, now)
    return replace(receipt, redacted=redacted)


def _try_revise(deps: Dependencies, scope: Scope, current: Memory, revision: Revision, now: datetime) -> Receipt | None:
    """Revise a memory; return None if its title or text changed during the embedding."""
    policy = deps.policy
    expected = _build_revised(current, revision, now, policy)
    vector = _resolve_vector(deps, revision, None if expected.reads_like(current) else expected.embedded_text)
    index = index_memory(expected)

    def change(writing: WriteTransaction) -> Receipt | None:
        writing.apply(changeset.Changeset(encoder=deps.encoder))
        former = get_own(writing, scope, current.id)
        revised = _build_revised(former, revision, now, policy)
        objection = _find_objection(former, revised, revision) if deps.policy.quarantine.enabled else None
        refused = None if revised.hash == former.hash else find_quarantine_refusal(writing, revised, index)
        if objection is not None:
            refused = Refused(objection, None if refused is None else refused.other)
        if refused is not None:
            return Receipt(former.id, refused, former)
        if _is_unchanged(revised, former):
            return Receipt(former.id, Unchanged(), former)
        if revision.vector is None and not (former.reads_like(current) and revised.reads_like(expected)):
            return None
        dated = revised if revision.at else _date_after_rivals(writing, former, revised, deps.policy)
        return _put_revised(writing, former, dated, vector, index, deps.policy, now)

    return write_change(deps, scope, current.id, change)


def _date_after_rivals(writing: WriteTransaction, former: Memory, revised: Memory, policy: AdmissionPolicy) -> Memory:
    """Return the memory dated no earlier than the memories that it contradicts.

    A revision is the latest statement, even if the clock went back.
    """
    since = max(
        map(changes.known_since, _find_contradicted(writing, former, revised, policy)),
        default=changes.known_since(revised),
    )
    if revised.valid_from is not None or since <= changes.known_since(revised):
        return revised
    return revised.with_changes(observed_at=since, updated_at=since)


def _find_contradicted(
    writing: WriteTransaction, former: Memory, revised: Memory, policy: AdmissionPolicy
) -> list[Memory]:
    """Return the valid memories that the revision contradicts; empty if its claim is unchanged."""
    claim_changed = any(getattr(revised, name) != getattr(former, name) for name in _CLAIM_FIELDS)
    return find_rivals(writing, revised, policy) if claim_changed and revised.status is Status.ACTIVE else []


_CLAIM_FIELDS = ("text", "kind", "subject", "valid_from", "valid_until")
"""A change of one of these fields changes what a memory claims about its subject."""


def _put_revised(
    writing: WriteTransaction,
    former: Memory,
    revised: Memory,
    vector: "Vector | None",
    index: changeset.IndexEntry,
    policy: AdmissionPolicy,
    now: datetime,
) -> Receipt:
    """Write the revision and end the memories that it contradicts.

    The receipt names the last memory that it ended. The revision is refused if a memory that it contradicts has higher
    trust. It raises Conflict if one began later, since the revision would be ended at once.
    """
    position, commit_time = SubjectPosition(), max(now, changes.known_since(revised))
    contradicted = _find_contradicted(writing, former, revised, policy)
    match decide_within_subject(revised, contradicted, policy, ParsedMemories()):
        case Quarantine(reason, other):
            return Receipt(former.id, Refused(reason, None if other is None else other.id), former)
        case InsertBefore(newer, _) if effective_from(newer) <= commit_time:
            rival = f"memory {show(newer.id)} of the same subject {show(revised.subject)}"
            problem = f"{rival} is valid since {effective_from(newer)}, which is later"
            raise Conflict(f"{problem}; forget it first, or set valid_from")
        case InsertBefore(newer, ends):
            position = SubjectPosition(ends, newer)
        case Supersede(ends):
            position = SubjectPosition(ends)
        case Admit():
            pass
    state, ended = supersession.place_in_subject(revised, position, commit_time)
    for one in ended:
        writing.put(one)
    stored = writing.put(state, vector, index)
    return Receipt(stored.id, Updated(stored.revisions, position.ends[-1].id if position.ends else None), stored)


def _resolve_vector(deps: Dependencies, revision: Revision, text: str | None) -> "Vector | None":
    """Return the given vector, or that of the text; None if there is no new text."""
    from recollect.retrieval.vectors import normalize_vector

    if revision.vector is not None:
        return normalize_vector(revision.vector)
    return None if text is None else deps.embed([text], "memory")[0]


def forget(deps: Dependencies, scope: Scope, id: str, caller: Provenance | None) -> Receipt:
    """Stop recalling a memory; its text and history stay. The trust of `caller` is checked, if given."""

    def change(writing: WriteTransaction) -> Receipt:
        former = get_own(writing, scope, id)
        if former.status is Status.FORGOTTEN:
            return Receipt(former.id, Unchanged(), former)
        objection = None if caller is None else _find_forget_objection(former, caller, deps.policy)
        if objection is not None:
            return Receipt(former.id, Refused(objection), former)
        stored = writing.put(former.with_changes(status=Status.FORGOTTEN), None)
        return Receipt(stored.id, Changed(stored.status.value), stored)

    return write_change(deps, scope, id, change)


def _find_forget_objection(former: Memory, caller: Provenance, policy: AdmissionPolicy) -> str | None:
    """Return why this caller may not forget the memory: lower trust, or a quarantine."""
    if former.status is Status.QUARANTINED and caller is not Provenance.OPERATOR:
        return "it is quarantined; only an operator may release or forget it"
    return _find_trust_objection(former, caller) if policy.quarantine.enabled else None


def _find_trust_objection(former: Memory, caller: Provenance) -> str | None:
    is_less_trusted = TRUST_BY_PROVENANCE[caller].less_than(former.trust)
    return f"{caller.value} has lower trust than the memory" if is_less_trusted else None


def set_pinned(deps: Dependencies, scope: Scope, id: str, *, pinned: bool) -> Receipt:
    """Pin a memory, so that every context reserves room for it, or unpin it."""

    def change(writing: WriteTransaction) -> Receipt:
        former = get_own(writing, scope, id)
        if former.pinned is pinned:
            return Receipt(former.id, Unchanged(), former)
        salience = rate_salience(former.text, former.kind, pinned=pinned, policy=deps.policy.salience)
        stored = writing.put(former.with_changes(pinned=pinned, salience=salience), None)
        return Receipt(stored.id, Changed("pinned" if pinned else "unpinned"), stored)

    return write_change(deps, scope, id, change)


def hold(deps: Dependencies, seen: Memory, until: datetime) -> Receipt:
    """Set the end of a memory's validity, if it is unchanged since it was read and still valid."""
    now = deps.now()

    def change(writing: WriteTransaction) -> Receipt:
        former = get_own(writing, seen.scope, seen.id)
        changed = former.revisions != seen.revisions or former.status is not Status.ACTIVE or former.ended_by(now)
        if changed or former.superseded_by is not None or former.valid_until == until:
            return Receipt(former.id, Unchanged(), former)
        validation.require_validity_period(former.valid_from, until)
        stored = writing.put(former.with_changes(valid_until=until), None)
        return Receipt(stored.id, Changed(f"valid until {until.isoformat()}"), stored)

    return write_change(deps, seen.scope, seen.id, change)


def require_memory_id(scope: Scope, id: str) -> MemoryId:
    """Return the id, or raise NotFound if no memory can have such an id."""
    if not validation.is_storable(validation.require_text("id", id)):
        raise memory_not_found(scope, id)
    return MemoryId(id)


def memory_not_found(scope: Scope, id: str) -> NotFound:
    """Return the error for an unknown id, which is also the error for another scope's memory."""
    return NotFound(f"there is no memory {show(id)} in {scope}")


def find_replacement(deps: Dependencies, scope: Scope, memory: Memory) -> Memory | None:
    """Return the memory that replaced this one, or None if none did or it is not visible."""
    if memory.superseded_by is None:
        return None
    try:
        return get_visible(deps, scope, memory.superseded_by)
    except NotFound:  # it was erased, or is not shared
        return None


def get_visible(deps: Dependencies, scope: Scope, id: str) -> Memory:
    """Return a memory by id, or raise NotFound if the scope may not see it."""
    memories = deps.store.get(scope, [require_memory_id(scope, id)])
    if not memories:
        raise memory_not_found(scope, id)
    return memories[0]


def write_change(deps: Dependencies, scope: Scope, id: str, change: Callable[[WriteTransaction], T]) -> T:
    """Run the change in a transaction; raise a clear error if the memory belongs to another scope."""
    try:
        return deps.store.write(change)
    except NotFound:
        memory = get_visible(deps, scope, id)
        if memory.scope == scope:
            raise
        raise memory_not_owned(scope, memory) from None


def memory_not_owned(scope: Scope, memory: Memory) -> NotFound:
    """Return the error for a memory that the scope may see but not change."""
    problem = f"memory {show(memory.id)} belongs to {memory.scope}, which shares it with {scope}"
    return NotFound(f"{problem}; use scope {memory.scope} to change it")


def get_own(writing: WriteTransaction, scope: Scope, id: str) -> Memory:
    """Return the scope's own memory with this id, whatever its status."""
    memory = writing.get(scope, require_memory_id(scope, id))
    if memory is None:
        raise memory_not_found(scope, id)
    return memory


def _build_revised(former: Memory, revision: Revision, now: datetime, policy: AdmissionPolicy) -> Memory:
    since = changes.known_since(former)
    if revision.at is not None and revision.at < since:
        problem = f"{revision.at.isoformat()} is before {since.isoformat()}, the time of the present text"
        raise FieldError(f"{problem}; give a later time, or none", field="at")
    fields: dict[str, Any] = {
        name: value
        for name in ("title", "tags", "confidence", "valid_from", "valid_until", "metadata")
        if (value := getattr(revision, name)) is not None
    }
    if "metadata" in fields and former.level is not None:
        fields["metadata"] = keep_metadata(fields["metadata"], former)
    at = revision.at or now
    if revision.valid_until is None and former.ended_by(max(at, revision.valid_from or at)):
        fields |= {"valid_until": None} | ({"superseded_by": None} if former.status is Status.ACTIVE else {})
    validation.require_validity_period(
        fields.get("valid_from", former.valid_from), fields.get("valid_until", former.valid_until)
    )
    text = former.text if content_hash(revision.text) == content_hash(former.text) else revision.text
    if text != former.text or fields.get("title", former.title) != former.title:
        fields |= _derive_reworded_trust(former, revision.provenance or Provenance.MODEL_INFERENCE)
    if (
        former.status is Status.SUPERSEDED
        and revision.valid_until is not None
        and not former.ended_by(revision.valid_until)
    ):
        problem = f"cannot be extended: the memory was superseded by {show(former.superseded_by)}"
        raise FieldError(f"{problem}; restore it first", field="valid_until")
    kind, importance = revision.kind, revision.importance
    revised = changes.next_version(former, text, at, kind=kind, importance=importance, policy=policy.salience, **fields)
    if revised.searched_text == former.searched_text or former.subject != supersession.read_subject(former, policy):
        return revised
    return revised.with_changes(
        subject=supersession.read_subject(revised, policy)
    )  # the former subject was read from the former text


def _find_objection(former: Memory, revised: Memory, revision: Revision) -> str | None:
    """Return why a new text is refused: the caller has lower trust, or the text instructs a model."""
    objection = None if revision.provenance is None else _find_trust_objection(former, revision.provenance)
    if objection is not None:
        return objection
    if revised.searched_text == former.searched_text:
        return None
    injection = find_injection(revised.searched_text) if revised.trust.less_than(Trust.STATED) else None
    return None if injection is None else injection_reason(injection)


def _derive_reworded_trust(former: Memory, provenance: Provenance) -> dict[str, Any]:
    """Return the trust fields of a reworded memory.

    An operator vouches for their own words. Any other caller builds on the former text, and the memory is no longer
    vouched for.
    """
    origin_trust = TRUST_BY_PROVENANCE[former.provenance] if former.trust is Trust.VOUCHED else former.trust
    return changes.derive_trust_fields(
        former,
        provenance,
        TRUST_BY_PROVENANCE[provenance],
        max_trust=None if provenance is Provenance.OPERATOR else origin_trust,
    )


def _is_unchanged(revised: Memory, former: Memory) -> bool:
    """Return whether the revision only repeats the memory."""
    bookkeeping = ("observed_at", "updated_at", "revisions", "salience")
    return revised.with_changes(**{name: getattr(former, name) for name in bookkeeping}) == former


def restore(deps: Dependencies, scope: Scope, id: str) -> Receipt:
    """Restore a memory: a forgotten one to its former status, any other to active.

    A memory that was not superseded may be ended at once, by a rival that began later. The caller acts as an operator,
    so this may end memories with higher trust; the receipt names the last memory that it ended.
    """
    now = deps.now()

    def change(writing: WriteTransaction) -> Receipt:
        former = get_own(writing, scope, id)
        if former.status is Status.ACTIVE and former.superseded_by is None:
            return Receipt(former.id, Unchanged(), former)
        if former.status is Status.QUARANTINED:
            raise Conflict(f"memory {show(former.id)} is quarantined; only an operator may release it")
        if former.status is Status.FORGOTTEN:
            prior = load_prior_version(writing, former, {Status.FORGOTTEN})
            restored = former.with_changes(status=prior.status, remark=prior.remark)
            return _put_among_rivals(writing, restored, now, find_rivals(writing, restored, deps.policy))
        if former.status in (Status.SUPERSEDED, Status.ACTIVE):
            return _reinstate(deps, writing, former, now)
        restored = former.with_changes(status=Status.ACTIVE, superseded_by=None, remark=None)
        return _put_among_rivals(writing, restored, now, find_rivals(writing, restored, deps.policy))

    return write_change(deps, scope, id, change)


def release(deps: Dependencies, scope: Scope, id: str) -> Receipt:
    """Release a quarantined memory to its place among the memories of its subject or topic.

    Only one of them is valid at a time: it ends those that began earlier, and one that began later ends it.
    """
    now = deps.now()

    def change(writing: WriteTransaction) -> Receipt:
        former = get_own(writing, scope, id)
        if former.status is not Status.QUARANTINED:
            raise Conflict(
                f"memory {show(former.id)} is {former.status.value}; only a quarantined memory can be released"
            )
        prior = load_prior_version(writing, former, {Status.QUARANTINED, Status.FORGOTTEN})
        released = former.with_changes(status=prior.status, remark=prior.remark)
        topic = writing.neighbors(changeset.NeighborQuery(scope=scope, topic_key=released.topic_key)).topic
        rivals = find_rivals(writing, released, deps.policy)
        if topic is not None and topic.id != released.id:
            rivals.append(topic)
        return _put_among_rivals(writing, released, now, rivals)

    return write_change(deps, scope, id, change)


def _put_among_rivals(writing: WriteTransaction, memory: Memory, now: datetime, rivals: Sequence[Memory]) -> Receipt:
    """Write a memory among its rivals: it ends earlier ones, and a later one ends it."""
    if memory.status is not Status.ACTIVE:
        return supersession.status_receipt(writing.put(memory, None))
    ordered = sorted({one.id: one for one in rivals}.values(), key=lambda one: (effective_from(one), one.id))
    earlier = [one for one in ordered if effective_from(one) <= effective_from(memory)]
    for one in earlier:
        writing.put(supersession.end_memory(one, memory, now), None)
    later = next((one for one in ordered if effective_from(one) > effective_from(memory)), None)
    return supersession.status_receipt(
        writing.put(memory if later is None else supersession.end_memory(memory, later, now), None), earlier
    )


def _reinstate(deps: Dependencies, writing: WriteTransaction, former: Memory, now: datetime) -> Receipt:
    """Undo the replacement of a memory: it is valid again, and its replacement is ended."""
    until = _find_original_end(writing, former)
    restored = former.with_changes(status=Status.ACTIVE, superseded_by=None, valid_until=until, remark=None)
    successor = None if former.superseded_by is None else writing.get(former.scope, former.superseded_by)
    rivals = [*find_rivals(writing, restored, deps.policy), *([] if successor is None else [successor])]
    ended = {one.id: one for one in rivals if one.status is Status.ACTIVE}
    for one in ended.values():
        writing.put(supersession.end_memory(one, restored, now), None)
    return supersession.status_receipt(writing.put(restored, None), list(ended.values()))


def _find_original_end(writing: WriteTransaction, former: Memory) -> datetime | None:
    """Return the end of validity from before the replacement, unless it has changed since."""
    replaced, earlier = former, writing.version(former.scope, former.id, before=former.commit or 0)
    while earlier is not None and earlier[0].superseded_by is not None:
        replaced, earlier = earlier[0], writing.version(former.scope, former.id, before=earlier[0].commit or 0)
    if former.valid_until != replaced.valid_until:
        return former.valid_until
    return None if earlier is None else earlier[0].valid_until


def find_rivals(writing: WriteTransaction, memory: Memory, policy: AdmissionPolicy) -> list[Memory]:
    """Return the other active memories of the subject that are valid at the same time, by start."""
    if memory.subject is None or not supersession.is_exclusive(memory, policy):
        return []
    query = changeset.NeighborQuery(scope=memory.scope, subject=memory.subject, since=effective_from(memory))
    return supersession.filter_overlapping(memory, writing.neighbors(query).same_subject.get(memory.subject, ()))


def load_prior_version(writing: WriteTransaction, memory: Memory, statuses: Collection[Status]) -> Memory:
    """Return the last version without one of these statuses; if there is none, the memory as active."""
    version = memory
    while version.status in statuses:
        earlier = writing.version(version.scope, version.id, before=version.commit or 0)
        if earlier is None:
            return memory.with_changes(status=Status.ACTIVE, remark=None)
        version, _ = earlier
    return version


def get_vector(writing: WriteTransaction, memory: Memory) -> "Vector | None":
    """Return the vector of the memory's present text."""
    version = writing.version(memory.scope, memory.id)
    return None if version is None else version[1]


def query_duplicates(memory: Memory, index: changeset.IndexEntry) -> changeset.NeighborQuery:
    """Return the query for the memories of the scope that say the same; records of events and periods have none."""
    hash = None if memory.level is not None else index.hash
    return changeset.NeighborQuery(
        scope=memory.scope, hash=hash, paraphrase_key=index.paraphrase_key, topic_key=memory.topic_key
    )


def find_quarantine_refusal(writing: WriteTransaction, proposed: Memory, index: changeset.IndexEntry) -> Refused | None:
    """Return a refusal if an operator quarantined the same text, even if that was forgotten later."""
    index = index if index.describes(proposed) else index_memory(proposed)
    neighbors = writing.neighbors(query_duplicates(proposed, index))
    former = [duplicates.as_before_forgotten(one, neighbors) for one in neighbors.duplicates]
    quarantined = find_quarantined_by_hand(former, proposed)
    duplicate = next(
        (one for one in neighbors.duplicates if quarantined is not None and one.id == quarantined.id), None
    )
    return None if duplicate is None else Refused(quarantine_reason(duplicate), duplicate.id)
