"""Decide what becomes of a draft, given the related memories of its scope."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from recollect.admission.policy import AdmissionPolicy
from recollect.model.enums import Kind, Status, Trust
from recollect.model.memory import Memory, MemoryId
from recollect.text.updates.parsed_memories import ParsedMemories


@dataclass(frozen=True, slots=True)
class Admit:
    """Store the draft as a new memory."""


@dataclass(frozen=True, slots=True)
class SubjectPosition:
    """The position of a memory among those of its subject, of which one is valid at a time.

    `ends` are the memories whose validity it ends, in order of their beginning; `ended_by` is the one that ends it.
    """

    ends: tuple[Memory, ...] = ()
    ended_by: Memory | None = None


@dataclass(frozen=True, slots=True)
class ReviseMemory:
    """Store the draft as a new revision of a memory.

    The memory is that of its topic, or one with the same text (`restated`).
    """

    memory: Memory
    restated: bool = False
    position: SubjectPosition = SubjectPosition()


@dataclass(frozen=True, slots=True)
class Echo:
    """The memory exists; count a repetition."""

    memory: Memory
    reason: str


@dataclass(frozen=True, slots=True)
class Supersede:
    """Store the draft as the new truth about its subject, ending what was valid before."""

    old: tuple[Memory, ...]


@dataclass(frozen=True, slots=True)
class InsertBefore:
    """Store the draft as valid until the next memory of its subject begins.

    `old` are the memories whose validity it ends.
    """

    newer: Memory
    old: tuple[Memory, ...] = ()


@dataclass(frozen=True, slots=True)
class Reactivate:
    """Reactivate a forgotten or superseded memory that is stated again, and end the memories that replaced it."""

    memory: Memory
    position: SubjectPosition = SubjectPosition()


@dataclass(frozen=True, slots=True)
class KeepInactive:
    """Leave a memory inactive: it was deactivated after the draft was observed."""

    memory: Memory
    since: datetime


@dataclass(frozen=True, slots=True)
class Quarantine:
    """Store the draft in quarantine, hidden until an operator decides."""

    reason: str
    other: Memory | None = None


Decision = Admit | ReviseMemory | Echo | Supersede | InsertBefore | Reactivate | KeepInactive | Quarantine


@dataclass(frozen=True, slots=True, kw_only=True)
class Neighborhood:
    """The memories of a scope that are related to a draft.

    `topic` is the active memory of its topic. `same_text` are memories with the same text, or merged from such, and
    `paraphrases` are memories with the same meaning; both in any status. `same_subject` are the active and superseded
    memories of its subject that have not ended when the draft begins. `inactive_since` has the time when each inactive
    memory became inactive. `forgotten_in_quarantine` has the memories that were forgotten while quarantined, in that
    state. `injection` is the part of the draft's text that reads like instructions to a model, if any. A draft that
    `is_undated` counts as later than all of these memories, even if the clock went back. `parsed` has what
    the texts say, as far as they are parsed.
    """

    topic: Memory | None = None
    same_text: Sequence[Memory] = ()
    paraphrases: Sequence[Memory] = ()
    same_subject: Sequence[Memory] = ()
    inactive_since: Mapping[MemoryId, datetime] = field(default_factory=dict[MemoryId, datetime])
    forgotten_in_quarantine: Mapping[MemoryId, Memory] = field(default_factory=dict[MemoryId, Memory])
    injection: str | None = None
    is_undated: bool = False
    parsed: ParsedMemories = field(default_factory=ParsedMemories)

    def as_quarantined(self, memory: Memory) -> Memory:
        """Return the memory, in its quarantined state if it was forgotten in quarantine."""
        return self.forgotten_in_quarantine.get(memory.id, memory)


def decide(proposed: Memory, neighborhood: Neighborhood, policy: AdmissionPolicy) -> Decision:
    """Decide about a draft: by its topic first, then by its text, then by its subject.

    While the policy has quarantine enabled, a less trusted draft does not change a more trusted memory. If an operator
    quarantined a memory by hand and a model, a tool or a document repeats it, the draft is quarantined too, even if the
    memory was forgotten since.
    """
    if neighborhood.topic is not None:
        return _decide_topic(proposed, neighborhood.topic, neighborhood, policy)
    for others, reason in (
        (neighborhood.same_text, "the same words"),
        (neighborhood.paraphrases, "the same in other words"),
    ):
        for other in others:
            if other.status is Status.ACTIVE:
                return _decide_repeated(proposed, other, reason, neighborhood, policy)
        for other in sorted(others, key=lambda one: (_inactive_since(one, neighborhood), one.id), reverse=True):
            decision = _decide_repeated_inactive(proposed, other, neighborhood, policy)
            if decision is not None:
                return decision
    if neighborhood.injection is not None and policy.quarantine.enabled:
        return Quarantine(injection_reason(neighborhood.injection))
    return decide_within_subject(proposed, neighborhood.same_subject, policy, neighborhood.parsed)


def decide_verbatim(
    proposed: Memory, neighborhood: Neighborhood, policy: AdmissionPolicy
) -> Admit | ReviseMemory | Quarantine:
    """Decide about a draft to store unchanged: a new revision of its topic, or a new memory.

    The same text elsewhere counts as another thing. While quarantine is enabled, a less trusted draft changes nothing
    here either. A draft waits in quarantine if an operator quarantined the same by hand, or if it reads like
    instructions and is new to the topic.
    """
    topic = neighborhood.topic
    new = topic is None or topic.hash != proposed.hash
    if policy.quarantine.enabled and topic is not None and proposed.trust.less_than(topic.trust):
        return Quarantine(LESS_TRUSTED, topic)
    quarantined = _find_known_quarantined(neighborhood, proposed) if new else None
    if quarantined is not None:
        return Quarantine(quarantine_reason(quarantined))
    if new and neighborhood.injection is not None and policy.quarantine.enabled:
        return Quarantine(injection_reason(neighborhood.injection), topic)
    return Admit() if topic is None else ReviseMemory(topic)


def _decide_topic(proposed: Memory, topic: Memory, neighborhood: Neighborhood, policy: AdmissionPolicy) -> Decision:
    """Decide about a draft whose topic has a memory.

    A draft observed before the topic's present text is only an echo.
    """
    if observed_at(proposed) < observed_at(topic):
        return Echo(topic, "its topic has a text that was observed later")
    if topic.hash == proposed.hash:
        return _decide_repeated(proposed, topic, "the same words", neighborhood, policy)
    quarantined = _find_known_quarantined(neighborhood, proposed)
    if quarantined is not None:
        return Quarantine(quarantine_reason(quarantined), quarantined)
    position = _position_of_restated(topic, proposed, neighborhood, policy, restated=False)
    more_trusted = topic if proposed.trust.less_than(topic.trust) else _find_more_trusted(position, proposed)
    if policy.quarantine.enabled and (more_trusted is not None or neighborhood.injection is not None):
        waiting = next(
            (one for one in neighborhood.same_text if _must_wait(neighborhood.as_quarantined(one), proposed)), None
        )
        if waiting is not None:
            return Quarantine(quarantine_reason(waiting), waiting)
        if more_trusted is not None:
            return Quarantine(LESS_TRUSTED, more_trusted)
        return Quarantine(injection_reason(neighborhood.injection), topic)
    return ReviseMemory(topic, position=_without_conflict(position, proposed))


def _decide_repeated(
    proposed: Memory, former: Memory, reason: str, neighborhood: Neighborhood, policy: AdmissionPolicy
) -> Decision:
    """Decide about a draft that repeats an active memory.

    It is an echo, unless it adds information, repeats a memory that is no longer valid (then it is valid again), or
    comes from the user or an operator while the memory comes from a less trusted source.
    """
    if proposed.trust.less_than(former.trust):
        return Echo(former, reason)
    over = former.ended_by(observed_at(proposed))
    if not (over or _adds_information(proposed, former) or is_said_firsthand(proposed, former)):
        return Echo(former, reason)
    position = _position_of_restated(former, proposed, neighborhood, policy, restated=True)
    if _find_more_trusted(position, proposed) is not None:
        return Echo(former, reason)
    return ReviseMemory(former, restated=True, position=position)


def _decide_repeated_inactive(
    proposed: Memory, former: Memory, neighborhood: Neighborhood, policy: AdmissionPolicy
) -> Decision | None:
    if former.status is Status.QUARANTINED:
        return Quarantine(ALREADY_QUARANTINED, former) if _must_wait(former, proposed) else None
    if former.status not in (Status.FORGOTTEN, Status.SUPERSEDED):
        return None
    since = _inactive_since(former, neighborhood)
    if not neighborhood.is_undated and observed_at(proposed) <= since:
        return KeepInactive(former, since)
    if former.id in neighborhood.forgotten_in_quarantine:
        return (
            Quarantine(FORGOTTEN_IN_QUARANTINE, former)
            if _must_wait(neighborhood.forgotten_in_quarantine[former.id], proposed)
            else None
        )
    if proposed.trust.less_than(former.trust) or (neighborhood.injection is not None and policy.quarantine.enabled):
        return None
    state = proposed.with_changes(id=former.id)
    position = _find_position(state, neighborhood.same_subject, policy, neighborhood.parsed)
    return None if _find_more_trusted(position, proposed) is not None else Reactivate(former, position)


def decide_within_subject(
    proposed: Memory, same_subject: Sequence[Memory], policy: AdmissionPolicy, parsed: ParsedMemories
) -> Admit | Supersede | InsertBefore | Quarantine:
    """Decide about a memory among those of its subject, of which one is valid at a time.

    The one that begins later ends the one before, unless that is more trusted.
    """
    position = _find_position(proposed, same_subject, policy, parsed)
    more_trusted = _find_more_trusted(position, proposed)
    if more_trusted is not None and policy.quarantine.enabled:
        return Quarantine(LESS_TRUSTED, more_trusted)
    position = _without_conflict(position, proposed)
    if position.ended_by is not None:
        return InsertBefore(position.ended_by, position.ends)
    return Supersede(position.ends) if position.ends else Admit()


def _position_of_restated(
    former: Memory, proposed: Memory, neighborhood: Neighborhood, policy: AdmissionPolicy, *, restated: bool
) -> SubjectPosition:
    """Return the position of a restated memory among the active ones of its subject."""
    since, until = merge_validity(former, proposed, restated=restated)
    observed = max(observed_at(proposed), observed_at(former))
    state = proposed.with_changes(id=former.id, observed_at=observed, valid_from=since, valid_until=until)
    active = [one for one in neighborhood.same_subject if one.status is Status.ACTIVE]
    return _find_position(state, active, policy, neighborhood.parsed)


def merge_validity(former: Memory, proposed: Memory, *, restated: bool) -> tuple[datetime | None, datetime | None]:
    """Return the validity of a restated memory.

    The new validity counts. If the memory is only `restated`, a bound that the newer observation lacks is taken from
    the older one.
    """
    if not restated or former.status is not Status.ACTIVE or former.ended_by(effective_from(proposed)):
        return proposed.valid_from, proposed.valid_until
    first, second = (former, proposed) if is_older_observation(proposed, former) else (proposed, former)
    since, until = first.valid_from or second.valid_from, first.valid_until or second.valid_until
    return None if since is not None and until is not None and until < since else since, until


def is_said_firsthand(proposed: Memory, former: Memory) -> bool:
    """Return whether the user or an operator repeats a memory of less trusted sources.

    The memory then gets their trust.
    """
    return former.trust.less_than(proposed.trust) and not proposed.trust.less_than(Trust.STATED)


def is_older_observation(proposed: Memory, former: Memory) -> bool:
    """Return whether the draft was observed before the memory; then it only fills empty fields."""
    return observed_at(proposed) < observed_at(former)


def _find_position(
    memory: Memory, same_subject: Sequence[Memory], policy: AdmissionPolicy, parsed: ParsedMemories
) -> SubjectPosition:
    """Return the position of a memory from when it becomes valid.

    A memory whose validity ended earlier has no position. Memories that mean the same, or can be true at the same time,
    do not count.
    """
    begin = effective_from(memory)
    if not policy.truth.supersede or memory.kind is Kind.EVENT or memory.ended_by(begin):
        return SubjectPosition()
    others = [one for one in same_subject if one.id != memory.id and one.kind is not Kind.EVENT]
    others = [one for one in others if parsed.contradict(one, memory)]
    others.sort(key=lambda one: (effective_from(one), one.id))
    before = [one for one in others if effective_from(one) <= begin and not one.ended_by(begin)]
    later = [one for one in others if effective_from(one) > begin and not one.ended_by(effective_from(one))]
    doubtful = [one for one in later if one.trust.less_than(memory.trust)]  # a less trusted memory does not limit it
    return SubjectPosition((*before, *doubtful), next((one for one in later if one not in doubtful), None))


def _find_more_trusted(position: SubjectPosition, proposed: Memory) -> Memory | None:
    """Return the first memory that the draft would end although the memory is more trusted."""
    return next((one for one in position.ends if proposed.trust.less_than(one.trust)), None)


def _without_conflict(position: SubjectPosition, proposed: Memory) -> SubjectPosition:
    """Return the position; if it would end a more trusted memory, it ends none."""
    return position if _find_more_trusted(position, proposed) is None else SubjectPosition((), position.ended_by)


def _inactive_since(memory: Memory, neighborhood: Neighborhood) -> datetime:
    """Return since when the memory is inactive."""
    return neighborhood.inactive_since.get(memory.id, observed_at(memory))


def _must_wait(memory: Memory, proposed: Memory) -> bool:
    """Return whether the draft must wait in quarantine with this memory.

    It must if an operator quarantined the memory by hand and the draft comes from a model, a tool or a document, or if
    the draft is not more trusted than the memory.
    """
    if find_quarantined_by_hand([memory], proposed) is not None:
        return True
    return memory.status is Status.QUARANTINED and not memory.trust.less_than(proposed.trust)


def find_quarantined_by_hand(memories: Iterable[Memory], proposed: Memory) -> Memory | None:
    """Return the first memory that an operator quarantined by hand; the draft waits with it.

    `None` if the draft comes from the user or an operator.
    """
    if not proposed.trust.less_than(Trust.STATED):
        return None
    quarantined = (one for one in memories if one.status is Status.QUARANTINED)
    return next((one for one in quarantined if (one.remark or "").startswith(MANUAL_QUARANTINE_PREFIX)), None)


def _find_known_quarantined(neighborhood: Neighborhood, proposed: Memory) -> Memory | None:
    """Return the first known memory that was quarantined by hand, even if forgotten since."""
    quarantined = find_quarantined_by_hand(
        map(neighborhood.as_quarantined, (*neighborhood.same_text, *neighborhood.paraphrases)), proposed
    )
    return next(
        (
            one
            for one in (*neighborhood.same_text, *neighborhood.paraphrases)
            if quarantined is not None and one.id == quarantined.id
        ),
        None,
    )


def quarantine_reason(other: Memory) -> str:
    """Return why the draft is quarantined with this memory."""
    return ALREADY_QUARANTINED if other.status is Status.QUARANTINED else FORGOTTEN_IN_QUARANTINE


MANUAL_QUARANTINE_PREFIX = "by hand: "
"""The prefix of the remark on a memory that an operator quarantined.

Stores keep it and it is compared later, so its words must not change.
"""


def injection_reason(orders: str | None) -> str:
    """Return the reason for a text that reads like instructions to a model."""
    return f"{_INJECTION_PREFIX}{orders}"


_INJECTION_PREFIX = "it reads like orders to a model: "
ALREADY_QUARANTINED = "it waits for release already"
FORGOTTEN_IN_QUARANTINE = "the same was in quarantine when it was forgotten"
LESS_TRUSTED = "it contradicts a memory that is trusted more"


def observed_at(memory: Memory) -> datetime:
    """Return when the present text was observed."""
    return memory.observed_at or memory.created_at


def effective_from(memory: Memory) -> datetime:
    """Return from when the memory is valid: by default, from its observation."""
    return memory.valid_from or observed_at(memory)


def _adds_information(proposed: Memory, former: Memory) -> bool:
    """Return whether the draft adds something other than text.

    For example a pin, sharing, a higher importance, another value in one of the compared fields, or a new origin beside
    all known ones.
    """
    is_more_important = (proposed.importance or 0.0) > (former.importance or 0.0)
    values = [(getattr(proposed, name), getattr(former, name)) for name in _COMPARED_FIELDS]
    if is_older_observation(proposed, former):
        values = [(new, old) for new, old in values if old in _EMPTY_VALUES]
    is_changed = any(new not in _EMPTY_VALUES and new != old for new, old in values)
    has_more_sources = set(proposed.derived_from) > set(former.derived_from) > set()
    return (
        is_more_important
        or is_changed
        or has_more_sources
        or (proposed.pinned and not former.pinned)
        or (proposed.shared and not former.shared)
    )


_COMPARED_FIELDS = ("title", "topic_key", "subject", "tags", "confidence", "valid_from", "valid_until", "metadata")
"""The fields in which a draft may add information."""

_EMPTY_VALUES: tuple[object, ...] = (None, (), {})
"""The values of an unset field."""
