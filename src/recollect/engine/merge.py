"""Merge: several memories become one, which is trusted no more than the least of them."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import accumulate, chain
from typing import TypeVar

from recollect.admission.decision import effective_from, injection_reason
from recollect.admission.policy import AdmissionPolicy
from recollect.admission.prompt_injection import find_injection
from recollect.admission.salience import rate_salience
from recollect.admission.screening import screen
from recollect.engine.dependencies import Dependencies
from recollect.engine.edit import get_own, get_visible, known_since, memory_not_owned
from recollect.engine.prior_status import find_quarantine_refusal
from recollect.engine.supersession import find_rivals, read_subject
from recollect.errors import Conflict, FieldError, show
from recollect.model import validation
from recollect.model.memory import MAX_LIST_ITEMS, Kind, Memory, MemoryId, Status
from recollect.model.scope import Scope
from recollect.model.trust import Trust
from recollect.model.verdict import Created, Receipt, Refused
from recollect.protocols import WriteTransaction

T = TypeVar("T")

MIN_MERGED_MEMORIES = 2
"""How many memories can become one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wording:
    """What the one is to say; what is `None` is that of the memory that matters most."""

    text: str | None = None
    title: str | None = None
    kind: Kind | None = None

    def __post_init__(self) -> None:
        if self.text is not None:
            validation.require_content("text", self.text)
        if self.title is not None:
            validation.require_text("title", self.title)


def merge_memories(world: Dependencies, scope: Scope, ids: Iterable[str], wording: Wording) -> Receipt:
    """Make one memory of several, which stay in the store as what it was made of.

    Refused, so that nothing changes, if a new text or title reads like orders to a model and is trusted less than the
    user, or if an operator put the same words into quarantine. A conflict, if another memory holds of its subject.
    """
    names = _check_ids("ids", ids)
    found = screen(wording, world.policy.secrets)
    if isinstance(found, Refused):
        return Receipt(None, found, None)
    wording, redacted = found.value, found.redacted
    id = MemoryId(world.new_id(world.now()))
    receipt = None
    while receipt is None:
        receipt = _try_merge(world, scope, names, wording, id)
    return replace(receipt, redacted=redacted)


def _try_merge(world: Dependencies, scope: Scope, ids: Sequence[str], wording: Wording, id: MemoryId) -> Receipt | None:
    """Merge the memories as they were seen; `None` if one of them changed while the text was embedded."""
    policy = world.policy
    seen = [_check_merge_source(_require_own(scope, get_visible(world, scope, one))) for one in ids]
    expected = build_merged(seen, wording, id, policy)
    known = any(expected.reads_like(one) for one in seen)
    vector = None if known else world.embed([expected.embedded_text], "memory")[0]

    def change(writing: WriteTransaction) -> Receipt | None:
        writing.adopt(world.encoder)
        sources = [_check_merge_source(get_own(writing, scope, one)) for one in ids]
        state = build_merged(sources, wording, id, policy)
        same = next((one for one in sources if state.reads_like(one)), None)
        if same is None and (vector is None or not state.reads_like(expected)):
            return None
        refused = None if same is not None else _find_objection(writing, state, world.policy)
        if refused is not None:
            return Receipt(None, refused, None)
        _refuse_rival(writing, state, world.policy)
        direction = vector if same is None else writing.direction(same)
        for one in sources:
            writing.put(one.changed(status=Status.CONSOLIDATED, superseded_by=id), None)
        kept = writing.put(state, direction)
        return Receipt(kept.id, Created(), kept)

    return world.store.write(change)


def _find_objection(writing: WriteTransaction, state: Memory, policy: AdmissionPolicy) -> Refused | None:
    """What speaks against words that none of the sources has."""
    doubted = state.trust.less_than(Trust.STATED) and policy.quarantine.enabled
    orders = find_injection(state.searched_text) if doubted else None
    if orders is not None:
        return Refused(injection_reason(orders))
    return find_quarantine_refusal(writing, state)


def _refuse_rival(writing: WriteTransaction, state: Memory, policy: AdmissionPolicy) -> None:
    """Of a subject one thing holds at a time: besides those that it is made of, no other may hold when it does."""
    other = next((one for one in find_rivals(writing, state, policy) if one.id not in state.derived_from), None)
    if other is not None:
        holds = f"the memory {show(other.id)} holds of the subject {show(state.subject)}, beside what these would say"
        raise Conflict(f"{holds}; merge it too, or forget it first")


def build_merged(
    sources: Sequence[Memory],
    wording: Wording,
    id: MemoryId,
    policy: AdmissionPolicy,
    *,
    led_by: MemoryId | None = None,
) -> Memory:
    """The memory that says what the sources said: as important as any of them, as sure and as trusted as the least.

    A new text is about what it says, or about what somebody said that all of them are about. It holds whenever one of
    them does. The one that leads speaks for all where they differ: the most important of them, and of these the newest,
    if it is not said. It is shared only if all of them were: nobody is to see more than before.
    """
    ranked = sorted(sources, key=lambda one: (one.id == led_by, _lead_priority(one)), reverse=True)
    lead, least_trusted = ranked[0], min(ranked, key=lambda one: one.trust.level)
    text, kind = wording.text or lead.text, wording.kind or lead.kind
    pinned = any(one.pinned for one in sources)
    speaker = lead.speaker if wording.text is None else _common_value(one.speaker for one in sources)
    topic_key = _first_known(one.topic_key for one in ranked)
    since = known_since(lead) if wording.text is None else max(known_since(one) for one in sources)
    memory = Memory(
        id=id,
        scope=lead.scope,
        text=text,
        title=wording.title or lead.title,
        kind=kind,
        level=_common_value(one.level for one in sources),
        tags=_union(one.tags for one in ranked),
        session=_common_value(one.session for one in sources),
        speaker=speaker,
        topic_key=topic_key,
        subject=lead.subject,
        shared=all(one.shared for one in sources),
        pinned=pinned,
        importance=_choose_known(max, (one.importance for one in sources)),
        confidence=_choose_known(min, (one.confidence for one in sources)),
        salience=rate_salience(text, kind, pinned=pinned, policy=policy.salience),
        created_at=min(one.created_at for one in sources),
        observed_at=since,
        updated_at=since,
        valid_from=min(sources, key=effective_from).valid_from,
        valid_until=_latest_end(sources),
        provenance=least_trusted.provenance,
        trust=least_trusted.trust,
        source=_common_value(one.source for one in sources),
        evidence=_fit_quotes(_union(one.evidence for one in ranked)),
        derived_from=tuple(one.id for one in sources),
        metadata=lead.metadata,
        indexed=any(one.indexed for one in sources),
    )
    return memory if wording.text is None else memory.changed(subject=_merged_subject(sources, memory, policy))


def _merged_subject(sources: Sequence[Memory], memory: Memory, policy: AdmissionPolicy) -> str | None:
    """What a new text is about: what it says, unless somebody said what all of the sources are about."""
    common = _common_value(one.subject for one in sources)
    given = common is not None and common not in [read_subject(one, policy) for one in sources]
    return common if given or not policy.truth.derive_subject else read_subject(memory, policy)


def _check_ids(field: str, ids: Iterable[str]) -> tuple[str, ...]:
    names = tuple(validation.require_text(field, one) for one in validation.require_several(field, ids))
    if len(names) < MIN_MERGED_MEMORIES:
        named = f"{show(names[0])} alone is" if names else "none is"
        raise FieldError(f"{named} too few to become one; name at least {MIN_MERGED_MEMORIES} memories", field=field)
    if len(names) > MAX_LIST_ITEMS:
        raise FieldError(f"{len(names)} of them; at most {MAX_LIST_ITEMS} become one at a time", field=field)
    twice = next((one for place, one in enumerate(names) if one in names[:place]), None)
    if twice is not None:
        raise FieldError(f"{show(twice)} is there twice; name each memory once", field=field)
    return names


def _require_own(scope: Scope, memory: Memory) -> Memory:
    if memory.scope != scope:
        raise memory_not_owned(scope, memory)
    return memory


def _check_merge_source(memory: Memory) -> Memory:
    if memory.status is not Status.ACTIVE:
        raise Conflict(f"the memory {show(memory.id)} is {memory.status.value}; only active ones are merged")
    return memory


def _lead_priority(memory: Memory) -> tuple[float, datetime, str]:
    """By what one of several speaks for all: how important, how new, and if all that is equal, the later id."""
    importance = -1.0 if memory.importance is None else memory.importance
    return importance, known_since(memory), memory.id


def _latest_end(sources: Sequence[Memory]) -> datetime | None:
    """Until when any of them holds; without an end if one has none."""
    ends = [one.valid_until for one in sources if one.valid_until is not None]
    return max(ends) if len(ends) == len(sources) else None


def _union(lists: Iterable[tuple[str, ...]]) -> tuple[str, ...]:
    """What is in any of them, once, as many as a memory may have."""
    return tuple(dict.fromkeys(chain.from_iterable(lists)))[:MAX_LIST_ITEMS]


def _fit_quotes(quotes: tuple[str, ...]) -> tuple[str, ...]:
    """The first of the quotes, as many as fit together."""
    lengths = accumulate(len(one.encode()) for one in quotes)
    return tuple(quote for quote, length in zip(quotes, lengths, strict=True) if length <= validation.MAX_TEXT_BYTES)


def _common_value(values: Iterable[T]) -> T | None:
    """What all of them have, if it is the same."""
    found = set(values)
    return found.pop() if len(found) == 1 else None


def _first_known(values: Iterable[T | None]) -> T | None:
    return next((one for one in values if one is not None), None)


def _choose_known(choose: Callable[[list[float]], float], values: Iterable[float | None]) -> float | None:
    known = [one for one in values if one is not None]
    return choose(known) if known else None
