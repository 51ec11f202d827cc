"""Edit: revise, pin, forget, release and restore a memory; its history keeps every version."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from recollect.admission.classify import rate_salience
from recollect.admission.decision import (
    Admit,
    Precede,
    Quarantine,
    SubjectPosition,
    Supersede,
    decide_within_subject,
    effective_from,
    injection_reason,
)
from recollect.admission.policy import AdmissionPolicy, SaliencePolicy
from recollect.admission.prompt_injection import find_injection
from recollect.admission.screening import screen
from recollect.engine.dependencies import Dependencies, require_not_future
from recollect.engine.supersession import (
    end_memory,
    find_quarantine_refusal,
    find_rivals,
    load_prior_version,
    place_in_subject,
    read_subject,
    status_receipt,
)
from recollect.errors import Conflict, FieldError, NotFound, show
from recollect.lifecycle.rollups import keep_metadata
from recollect.model import validation
from recollect.model.draft import Changed, Receipt, Refused, Unchanged, Updated
from recollect.model.enums import (
    TIMELINE_LEVELS,
    TRUST_BY_PROVENANCE,
    UNINDEXED_LEVELS,
    Kind,
    Provenance,
    Status,
    Trust,
    parse_choice,
)
from recollect.model.memory import Memory, MemoryId, content_hash
from recollect.model.scope import Scope
from recollect.protocols import WriteTransaction

if TYPE_CHECKING:
    from recollect.retrieval.evidence import Vector


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
    """Give a memory a new text; it keeps its id, and its earlier versions stay in its history."""
    now = deps.now()
    require_not_future("at", revision.at, now)
    seen = get_visible(deps, scope, id)
    titled = revision.title is not None
    found = screen(revision if titled else replace(revision, title=seen.title), deps.policy.secrets)
    if isinstance(found, Refused):
        return Receipt(seen.id, found, seen)
    revision, redacted = (found.value if titled else replace(found.value, title=None)), found.redacted
    if revision.vector is not None and len(revision.vector) != deps.encoder.dimensions:
        raise FieldError(f"{len(revision.vector)} dimensions; {deps.encoder} has others", field="vector")
    if (
        revision.vector is not None and seen.level in TIMELINE_LEVELS
    ):  # if it leaves the index and returns, it is embedded again
        raise FieldError(f"{show(seen.id)} is a record of what happened, and has that of its text", field="vector")
    receipt = None
    while receipt is None:
        receipt = _try_revise(deps, scope, get_visible(deps, scope, id), revision, now)
    return replace(receipt, redacted=redacted)


def _try_revise(deps: Dependencies, scope: Scope, seen: Memory, revision: Revision, now: datetime) -> Receipt | None:
    """Revise a memory; return None if its title or text changed during the embedding."""
    policy = deps.policy
    expected = _build_revised(seen, revision, now, policy)
    vector = _resolve_vector(deps, revision, None if expected.reads_like(seen) else expected.embedded_text)

    def change(writing: WriteTransaction) -> Receipt | None:
        writing.adopt(deps.encoder)
        former = get_own(writing, scope, seen.id)
        revised = _build_revised(former, revision, now, policy)
        against = _find_objection(former, revised, revision) if deps.policy.quarantine.enabled else None
        refused = None if revised.hash == former.hash else find_quarantine_refusal(writing, revised)
        if against is not None:
            refused = Refused(against, None if refused is None else refused.other)
        if refused is not None:
            return Receipt(former.id, refused, former)
        if _is_unchanged(revised, former):
            return Receipt(former.id, Unchanged(), former)
        if revision.vector is None and not (former.reads_like(seen) and revised.reads_like(expected)):
            return None
        in_time = revised if revision.at else _date_after_rivals(writing, former, revised, deps.policy)
        return _put_revised(writing, former, in_time, vector, deps.policy, now)

    return write_change(deps, scope, seen.id, change)


def _date_after_rivals(writing: WriteTransaction, former: Memory, revised: Memory, policy: AdmissionPolicy) -> Memory:
    """Return the memory dated no earlier than what it contradicts.

    A revision is the latest statement, even if the clock went back.
    """
    since = max(map(known_since, _find_contradicted(writing, former, revised, policy)), default=known_since(revised))
    if revised.valid_from is not None or since <= known_since(revised):
        return revised
    return revised.changed(observed_at=since, updated_at=since)


def _find_contradicted(
    writing: WriteTransaction, former: Memory, revised: Memory, policy: AdmissionPolicy
) -> list[Memory]:
    """Return the valid memories that the revision contradicts; empty if its claim is unchanged."""
    claims = any(getattr(revised, name) != getattr(former, name) for name in _CLAIM_FIELDS)
    return find_rivals(writing, revised, policy) if claims and revised.status is Status.ACTIVE else []


_CLAIM_FIELDS = ("text", "kind", "subject", "valid_from", "valid_until")
"""A change of one of these fields changes what a memory claims about its subject."""


def _put_revised(
    writing: WriteTransaction,
    former: Memory,
    revised: Memory,
    vector: "Vector | None",
    policy: AdmissionPolicy,
    now: datetime,
) -> Receipt:
    """Write the revision if it may be the truth about its subject; end what it contradicts.

    The receipt names what it ended. The revision is refused if a contradicting memory has higher trust. It raises
    Conflict if one began later: a revision that ends at once would surprise the caller.
    """
    place, moment = SubjectPosition(), max(now, known_since(revised))
    match decide_within_subject(revised, _find_contradicted(writing, former, revised, policy), policy):
        case Quarantine(reason, other):
            return Receipt(former.id, Refused(reason, None if other is None else other.id), former)
        case Precede(newer, _) if effective_from(newer) <= moment:
            named = f"the memory {show(newer.id)} of the subject {show(revised.subject)}"
            held = f"{named} holds since {effective_from(newer)}"
            raise Conflict(f"{held}, which is later; forget it first, or say from when on this does (valid_from)")
        case Precede(newer, ends):
            place = SubjectPosition(ends, newer)
        case Supersede(ends):
            place = SubjectPosition(ends)
        case Admit():
            pass
    kept = writing.put(place_in_subject(writing, revised, place, moment), vector)
    return Receipt(kept.id, Updated(kept.revisions, place.ends[-1].id if place.ends else None), kept)


def _resolve_vector(deps: Dependencies, revision: Revision, text: str | None) -> "Vector | None":
    """Return the given vector, or that of the text; None if there is no new text."""
    from recollect.retrieval.vectors import normalize_vector

    if revision.vector is not None:
        return normalize_vector(revision.vector)
    return None if text is None else deps.embed([text], "memory")[0]


def forget(deps: Dependencies, scope: Scope, id: str, by: Provenance | None) -> Receipt:
    """Stop recalling a memory; its text and history stay. `by` says who asks, if that counts."""

    def change(writing: WriteTransaction) -> Receipt:
        former = get_own(writing, scope, id)
        if former.status is Status.FORGOTTEN:
            return Receipt(former.id, Unchanged(), former)
        against = None if by is None else _find_forget_objection(former, by, deps.policy)
        if against is not None:
            return Receipt(former.id, Refused(against), former)
        kept = writing.put(former.changed(status=Status.FORGOTTEN), None)
        return Receipt(kept.id, Changed(kept.status.value), kept)

    return write_change(deps, scope, id, change)


def _find_forget_objection(former: Memory, by: Provenance, policy: AdmissionPolicy) -> str | None:
    """Return why this caller may not forget the memory: lower trust, or a quarantine."""
    if former.status is Status.QUARANTINED and by is not Provenance.OPERATOR:
        return "it is quarantined; an operator releases or forgets it"
    return _find_trust_objection(former, by) if policy.quarantine.enabled else None


def _find_trust_objection(former: Memory, by: Provenance) -> str | None:
    less = TRUST_BY_PROVENANCE[by].less_than(former.trust)
    return f"what came through {by.value} is trusted less than the memory" if less else None


def set_pinned(deps: Dependencies, scope: Scope, id: str, *, pinned: bool) -> Receipt:
    """Pin a memory, so that every context reserves room for it, or unpin it."""

    def change(writing: WriteTransaction) -> Receipt:
        former = get_own(writing, scope, id)
        if former.pinned is pinned:
            return Receipt(former.id, Unchanged(), former)
        weight = rate_salience(former.text, former.kind, pinned=pinned, policy=deps.policy.salience)
        kept = writing.put(former.changed(pinned=pinned, salience=weight), None)
        return Receipt(kept.id, Changed("pinned" if pinned else "unpinned"), kept)

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
        kept = writing.put(former.changed(valid_until=until), None)
        return Receipt(kept.id, Changed(f"holding until {until.isoformat()}"), kept)

    return write_change(deps, seen.scope, seen.id, change)


def next_version(
    former: Memory,
    text: str,
    at: datetime,
    *,
    kind: Kind | None,
    importance: float | None,
    policy: SaliencePolicy,
    **said: Any,
) -> Memory:
    """Return the memory with a text observed at a moment, and with the fields in `said`.

    Without a kind it keeps its own. Its importance never falls; its salience is computed again. An earlier moment does
    not date it back.
    """
    importances = [one for one in (former.importance, importance) if one is not None]
    kind = kind or former.kind
    at = max(at, known_since(former))
    reads_alike = text == former.text and said.get("title", former.title) == former.title
    return former.changed(
        text=text,
        kind=kind,
        importance=max(importances, default=None),
        salience=rate_salience(text, kind, pinned=said.get("pinned", former.pinned), policy=policy),
        observed_at=at,
        updated_at=at,
        revisions=former.revisions + 1,
        left=former.left if reads_alike or former.level in UNINDEXED_LEVELS else (),
        **said,
    )


def known_since(memory: Memory) -> datetime:
    """Return since when the memory is known to have its present text."""
    return max(memory.created_at, memory.observed_at or memory.created_at, memory.updated_at or memory.created_at)


def require_memory_id(scope: Scope, id: str) -> MemoryId:
    """Return the id, or raise NotFound if no memory can have such an id."""
    if not validation.is_storable(validation.require_text("id", id)):
        raise memory_not_found(scope, id)
    return MemoryId(id)


def memory_not_found(scope: Scope, id: str) -> NotFound:
    """Return the error for an unknown id; it is the same for another scope's memory."""
    return NotFound(f"there is no memory {show(id)} in {scope}")


def find_replacement(deps: Dependencies, scope: Scope, memory: Memory) -> Memory | None:
    """Return the memory that replaced this one, or None if none did or it is not visible."""
    if memory.superseded_by is None:
        return None
    try:
        return get_visible(deps, scope, memory.superseded_by)
    except NotFound:  # it was erased since, or is not shared
        return None


def get_visible(deps: Dependencies, scope: Scope, id: str) -> Memory:
    """Return a memory by id, or raise NotFound if the scope may not see it."""
    found = deps.store.get(scope, [require_memory_id(scope, id)])
    if not found:
        raise memory_not_found(scope, id)
    return found[0]


def write_change(deps: Dependencies, scope: Scope, id: str, change: Callable[[WriteTransaction], T]) -> T:
    """Run the change in a transaction; explain if the memory belongs to another scope."""
    try:
        return deps.store.write(change)
    except NotFound:
        others = get_visible(deps, scope, id)
        if others.scope == scope:
            raise
        raise memory_not_owned(scope, others) from None


def memory_not_owned(scope: Scope, memory: Memory) -> NotFound:
    """Return the error for a memory that the scope may see but not change."""
    whose = f"the memory {show(memory.id)} is not of {scope} but of {memory.scope}, which shares it"
    return NotFound(f"{whose}; give that scope to change it")


def get_own(writing: WriteTransaction, scope: Scope, id: str) -> Memory:
    """Return the scope's own memory with this id, whatever its status."""
    found = writing.get(scope, require_memory_id(scope, id))
    if found is None:
        raise memory_not_found(scope, id)
    return found


def _build_revised(former: Memory, revision: Revision, now: datetime, policy: AdmissionPolicy) -> Memory:
    since = known_since(former)
    if revision.at is not None and revision.at < since:
        known = f"{since.isoformat()}, since when the present text is known"
        raise FieldError(f"{revision.at.isoformat()} is before {known}; give a later moment, or none", field="at")
    said: dict[str, Any] = {
        name: value
        for name in ("title", "tags", "confidence", "valid_from", "valid_until", "metadata")
        if (value := getattr(revision, name)) is not None
    }
    if "metadata" in said and former.level is not None:
        said["metadata"] = keep_metadata(said["metadata"], former)
    at = revision.at or now
    if revision.valid_until is None and former.ended_by(max(at, revision.valid_from or at)):
        said |= {"valid_until": None} | ({"superseded_by": None} if former.status is Status.ACTIVE else {})
    validation.require_validity_period(
        said.get("valid_from", former.valid_from), said.get("valid_until", former.valid_until)
    )
    text = former.text if content_hash(revision.text) == content_hash(former.text) else revision.text
    if text != former.text or said.get("title", former.title) != former.title:
        said |= _derive_reworded_trust(former, revision.provenance or Provenance.MODEL_INFERENCE)
    if (
        former.status is Status.SUPERSEDED
        and revision.valid_until is not None
        and not former.ended_by(revision.valid_until)
    ):
        instead = f"it was superseded by {show(former.superseded_by)}"
        raise FieldError(f"{revision.valid_until.isoformat()}, but {instead}; restore it first", field="valid_until")
    kind, importance = revision.kind, revision.importance
    state = next_version(former, text, at, kind=kind, importance=importance, policy=policy.salience, **said)
    if state.searched_text == former.searched_text or former.subject != read_subject(former, policy):
        return state
    return state.changed(subject=read_subject(state, policy))  # the former subject was read from the former text


def _find_objection(former: Memory, revised: Memory, revision: Revision) -> str | None:
    """Return why a new text is refused: its source has lower trust, or it instructs a model."""
    less = None if revision.provenance is None else _find_trust_objection(former, revision.provenance)
    if less is not None:
        return less
    if revised.searched_text == former.searched_text:
        return None
    orders = find_injection(revised.searched_text) if revised.trust.less_than(Trust.STATED) else None
    return None if orders is None else injection_reason(orders)


def derive_trust_fields(former: Memory, by: Provenance, trust: Trust, *, upto: Trust | None) -> dict[str, Any]:
    """Return the provenance and trust of a memory's next state.

    The trust is that of the caller, and at most `upto` if the state builds on the former one.
    """
    if upto is not None and upto.less_than(trust):
        by, trust = former.provenance, upto
    unvouched = trust.less_than(former.trust) and former.trust is Trust.VOUCHED and former.status is Status.ACTIVE
    return {"provenance": by, "trust": trust, "remark": None if unvouched else former.remark}


def _derive_reworded_trust(former: Memory, by: Provenance) -> dict[str, Any]:
    """Return the trust fields of a reworded memory.

    An operator vouches for their own words. Any other caller builds on the former text, and it is no longer vouched
    for.
    """
    came = TRUST_BY_PROVENANCE[former.provenance] if former.trust is Trust.VOUCHED else former.trust
    return derive_trust_fields(former, by, TRUST_BY_PROVENANCE[by], upto=None if by is Provenance.OPERATOR else came)


def _is_unchanged(revised: Memory, former: Memory) -> bool:
    """Return whether the revision only repeats the memory."""
    counted = ("observed_at", "updated_at", "revisions", "salience")
    return revised.changed(**{name: getattr(former, name) for name in counted}) == former


def restore(deps: Dependencies, scope: Scope, id: str) -> Receipt:
    """Restore a memory: a forgotten one to its former status, any other to active.

    One that was not superseded may be ended at once, by a rival that began later.

    This is an operator's action, and may end memories with higher trust; the receipt says what it ended.
    """
    now = deps.now()

    def change(writing: WriteTransaction) -> Receipt:
        former = get_own(writing, scope, id)
        if former.status is Status.ACTIVE and former.superseded_by is None:
            return Receipt(former.id, Unchanged(), former)
        if former.status is Status.QUARANTINED:
            raise Conflict(f"the memory {show(former.id)} is quarantined; an operator releases it, or leaves it there")
        if former.status is Status.FORGOTTEN:
            stood = load_prior_version(writing, former, {Status.FORGOTTEN})
            back = former.changed(status=stood.status, remark=stood.remark)
            return _put_among_rivals(writing, back, now, find_rivals(writing, back, deps.policy))
        if former.status in (Status.SUPERSEDED, Status.ACTIVE):
            return _reinstate(deps, writing, former, now)
        back = former.changed(status=Status.ACTIVE, superseded_by=None, remark=None)
        return _put_among_rivals(writing, back, now, find_rivals(writing, back, deps.policy))

    return write_change(deps, scope, id, change)


def release(deps: Dependencies, scope: Scope, id: str) -> Receipt:
    """Release a quarantined memory to its place among those of its subject or topic.

    Only one of them is valid at a time: it ends those that began earlier, and is ended by one that began later.
    """
    now = deps.now()

    def change(writing: WriteTransaction) -> Receipt:
        former = get_own(writing, scope, id)
        if former.status is not Status.QUARANTINED:
            raise Conflict(
                f"the memory {show(former.id)} is {former.status.value}; only what is quarantined is released"
            )
        stood = load_prior_version(writing, former, {Status.QUARANTINED, Status.FORGOTTEN})
        free = former.changed(status=stood.status, remark=stood.remark)
        topic = None if free.topic_key is None else writing.topic(scope, free.topic_key)
        others = [*find_rivals(writing, free, deps.policy), *([] if topic is None or topic.id == free.id else [topic])]
        return _put_among_rivals(writing, free, now, others)

    return write_change(deps, scope, id, change)


def _put_among_rivals(writing: WriteTransaction, free: Memory, now: datetime, others: Sequence[Memory]) -> Receipt:
    """Write a memory among its rivals: it ends earlier ones, and a later one ends it."""
    if free.status is not Status.ACTIVE:
        return status_receipt(writing.put(free, None))
    known = sorted({one.id: one for one in others}.values(), key=lambda one: (effective_from(one), one.id))
    before = [one for one in known if effective_from(one) <= effective_from(free)]
    for one in before:
        writing.put(end_memory(one, free, now), None)
    later = next((one for one in known if effective_from(one) > effective_from(free)), None)
    return status_receipt(writing.put(free if later is None else end_memory(free, later, now), None), before)


def _reinstate(deps: Dependencies, writing: WriteTransaction, former: Memory, now: datetime) -> Receipt:
    """Undo the replacement of a memory: it is valid as before, and its replacement is not."""
    until = _find_original_end(writing, former)
    back = former.changed(status=Status.ACTIVE, superseded_by=None, valid_until=until, remark=None)
    named = None if former.superseded_by is None else writing.get(former.scope, former.superseded_by)
    others = [*find_rivals(writing, back, deps.policy), *([] if named is None else [named])]
    instead_of = {one.id: one for one in others if one.status is Status.ACTIVE}
    for one in instead_of.values():
        writing.put(end_memory(one, back, now), None)
    return status_receipt(writing.put(back, None), list(instead_of.values()))


def _find_original_end(writing: WriteTransaction, former: Memory) -> datetime | None:
    """Return the end of validity from before the replacement, unless it was changed since."""
    replaced, earlier = former, writing.before(former.scope, former.id, former.commit or 0)
    while earlier is not None and earlier[0].superseded_by is not None:
        replaced, earlier = earlier[0], writing.before(former.scope, former.id, earlier[0].commit or 0)
    if former.valid_until != replaced.valid_until:
        return former.valid_until
    return None if earlier is None else earlier[0].valid_until
