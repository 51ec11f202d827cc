"""Judgement: what becomes of a draft, given what its scope already knows."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from recollect.admission.policy import AdmissionPolicy
from recollect.model.enums import Kind, Status, Trust
from recollect.model.memory import Memory, MemoryId
from recollect.text.paraphrase import have_same_meaning
from recollect.text.updates.claims import are_compatible


@dataclass(frozen=True, slots=True)
class Admit:
    """It is news: store it."""


@dataclass(frozen=True, slots=True)
class SubjectPosition:
    """Where a memory stands among those of its subject, of which one holds at a time: those that it ends, in the order
    in which they began, and the one that ends it.
    """

    ends: tuple[Memory, ...] = ()
    ended_by: Memory | None = None


@dataclass(frozen=True, slots=True)
class ReviseMemory:
    """It is the new state of a memory: of its topic, or of one that said the same and is `restated`."""

    memory: Memory
    restated: bool = False
    position: SubjectPosition = SubjectPosition()


@dataclass(frozen=True, slots=True)
class Echo:
    """It is known already."""

    memory: Memory
    reason: str


@dataclass(frozen=True, slots=True)
class Supersede:
    """It is the new truth about its subject: what held before does so no longer."""

    old: tuple[Memory, ...]


@dataclass(frozen=True, slots=True)
class Precede:
    """It holds until the memory of its subject that follows it; what held when it began did so only until then."""

    newer: Memory
    old: tuple[Memory, ...] = ()


@dataclass(frozen=True, slots=True)
class Reactivate:
    """It was put away, and was said again since; what took its place holds no longer."""

    memory: Memory
    position: SubjectPosition = SubjectPosition()


@dataclass(frozen=True, slots=True)
class LeaveInactive:
    """It was put away after this was said, and stays so."""

    memory: Memory
    since: datetime


@dataclass(frozen=True, slots=True)
class Quarantine:
    """It is kept where nobody is told of it, until an operator says otherwise."""

    reason: str
    other: Memory | None = None


Decision = Admit | ReviseMemory | Echo | Supersede | Precede | Reactivate | LeaveInactive | Quarantine


@dataclass(frozen=True, slots=True, kw_only=True)
class Neighborhood:
    """What a scope knows that has to do with a draft.

    `topic` is the active memory of its topic, `same_text` are those that say the same word for word and `paraphrases`
    those that say it in other words, whatever their standing; `about` are the active ones of its subject, and those
    that were superseded. `inactive_since` tells since when one that is not active is not; `apart` are those that were
    quarantined when they were forgotten, as they stood then. `orders` is what of its text reads like orders to a
    model, if anything does. What is `is_undated` is said now, and so later than all of that, whatever the clock says.
    """

    topic: Memory | None = None
    same_text: Sequence[Memory] = ()
    paraphrases: Sequence[Memory] = ()
    same_subject: Sequence[Memory] = ()
    inactive_since: Mapping[MemoryId, datetime] = field(default_factory=dict[MemoryId, datetime])
    forgotten_in_quarantine: Mapping[MemoryId, Memory] = field(default_factory=dict[MemoryId, Memory])
    injection: str | None = None
    is_undated: bool = False

    def as_quarantined(self, memory: Memory) -> Memory:
        """The memory, as it stood in quarantine if it was forgotten there."""
        return self.forgotten_in_quarantine.get(memory.id, memory)


def decide(proposed: Memory, known: Neighborhood, policy: AdmissionPolicy) -> Decision:
    """What becomes of what is proposed: its topic comes before its words, its words before its subject.

    Whoever is trusted less changes nothing of what comes from somebody who is trusted more. And what an operator put
    into quarantine by hand does not come back because a model, a tool or a document says it once more: it waits, also
    if the former was forgotten since. Only the user, who has words of their own, and an operator say it anew.
    """
    if known.topic is not None:
        return _decide_topic(proposed, known.topic, known, policy)
    for others, reason in ((known.same_text, "the same words"), (known.paraphrases, "the same in other words")):
        for other in others:
            if other.status is Status.ACTIVE:
                return _decide_repeated(proposed, other, reason, known, policy)
        for other in sorted(others, key=lambda one: (_inactive_since(one, known), one.id), reverse=True):
            judgement = _decide_repeated_inactive(proposed, other, known, policy)
            if judgement is not None:
                return judgement
    if known.injection is not None and policy.quarantine.enabled:
        return Quarantine(injection_reason(known.injection))
    return decide_within_subject(proposed, known.same_subject, policy)


def decide_exact(proposed: Memory, known: Neighborhood, policy: AdmissionPolicy) -> Admit | ReviseMemory | Quarantine:
    """What becomes of what is to be kept just as it is: the next state of its topic, or a memory of its own.

    What says the same elsewhere is another thing. Whoever is trusted less changes nothing here either, and what an
    operator put into quarantine by hand waits, as does what reads like orders and was not said of the topic before.
    """
    topic = known.topic
    new = topic is None or topic.hash != proposed.hash
    if policy.quarantine.enabled and topic is not None and proposed.trust.less_than(topic.trust):
        return Quarantine(LESS_TRUSTED, topic)
    apart = _find_known_quarantined(known, proposed) if new else None
    if apart is not None:
        return Quarantine(quarantine_reason(apart))
    if new and known.injection is not None and policy.quarantine.enabled:
        return Quarantine(injection_reason(known.injection), topic)
    return Admit() if topic is None else ReviseMemory(topic)


def _decide_topic(proposed: Memory, topic: Memory, known: Neighborhood, policy: AdmissionPolicy) -> Decision:
    """What was observed before a topic's present text is no news to it."""
    if observed_at(proposed) < observed_at(topic):
        return Echo(topic, "its topic has a text that was observed later")
    if topic.hash == proposed.hash:
        return _decide_repeated(proposed, topic, "the same words", known, policy)
    apart = _find_known_quarantined(known, proposed)
    if apart is not None:
        return Quarantine(quarantine_reason(apart), apart)
    place = _position_of_restated(topic, proposed, known.same_subject, policy, restated=False)
    against = topic if proposed.trust.less_than(topic.trust) else _find_more_trusted(place, proposed)
    if policy.quarantine.enabled and (against is not None or known.injection is not None):
        waiting = next((one for one in known.same_text if _must_wait(known.as_quarantined(one), proposed)), None)
        if waiting is not None:
            return Quarantine(quarantine_reason(waiting), waiting)
        if against is not None:
            return Quarantine(LESS_TRUSTED, against)
        return Quarantine(injection_reason(known.injection), topic)
    return ReviseMemory(topic, position=_without_conflict(place, proposed))


def _decide_repeated(
    proposed: Memory, former: Memory, reason: str, known: Neighborhood, policy: AdmissionPolicy
) -> Decision:
    """The same again is an echo, unless it comes with something that the memory does not have yet, or after the time
    for which it held: then it holds again; or from the user or an operator, where only others said it.
    """
    if proposed.trust.less_than(former.trust):
        return Echo(former, reason)
    over = former.ended_by(observed_at(proposed))
    if not (over or _adds_information(proposed, former) or is_said_firsthand(proposed, former)):
        return Echo(former, reason)
    place = _position_of_restated(former, proposed, known.same_subject, policy, restated=True)
    if _find_more_trusted(place, proposed) is not None:
        return Echo(former, reason)
    return ReviseMemory(former, restated=True, position=place)


def _decide_repeated_inactive(
    proposed: Memory, former: Memory, known: Neighborhood, policy: AdmissionPolicy
) -> Decision | None:
    if former.status is Status.QUARANTINED:
        return Quarantine(ALREADY_QUARANTINED, former) if _must_wait(former, proposed) else None
    if former.status not in (Status.FORGOTTEN, Status.SUPERSEDED):
        return None
    since = _inactive_since(former, known)
    if not known.is_undated and observed_at(proposed) <= since:
        return LeaveInactive(former, since)
    if former.id in known.forgotten_in_quarantine:
        return (
            Quarantine(FORGOTTEN_IN_QUARANTINE, former)
            if _must_wait(known.forgotten_in_quarantine[former.id], proposed)
            else None
        )
    if proposed.trust.less_than(former.trust) or (known.injection is not None and policy.quarantine.enabled):
        return None
    place = _find_position(proposed.changed(id=former.id), known.same_subject, policy)
    return None if _find_more_trusted(place, proposed) is not None else Reactivate(former, place)


def decide_within_subject(
    proposed: Memory, about: Sequence[Memory], policy: AdmissionPolicy
) -> Admit | Supersede | Precede | Quarantine:
    """What becomes of a memory among those of its subject, of which one holds at a time: what begins later ends what
    began before, unless that is trusted more.
    """
    place = _find_position(proposed, about, policy)
    against = _find_more_trusted(place, proposed)
    if against is not None and policy.quarantine.enabled:
        return Quarantine(LESS_TRUSTED, against)
    place = _without_conflict(place, proposed)
    if place.ended_by is not None:
        return Precede(place.ended_by, place.ends)
    return Supersede(place.ends) if place.ends else Admit()


def _position_of_restated(
    former: Memory, proposed: Memory, about: Sequence[Memory], policy: AdmissionPolicy, *, restated: bool
) -> SubjectPosition:
    """The place of a memory that is said anew: among what holds or will, for what held before is past."""
    since, until = merge_validity(former, proposed, restated=restated)
    known = max(observed_at(proposed), observed_at(former))
    state = proposed.changed(id=former.id, observed_at=known, valid_from=since, valid_until=until)
    return _find_position(state, [one for one in about if one.status is Status.ACTIVE], policy)


def merge_validity(former: Memory, proposed: Memory, *, restated: bool) -> tuple[datetime | None, datetime | None]:
    """From when and until when a memory holds that is said anew: as is said now, and if it is only `restated`, as
    before where nothing is; of two moments for which it was said, what was said of the later one counts.
    """
    if not restated or former.status is not Status.ACTIVE or former.ended_by(effective_from(proposed)):
        return proposed.valid_from, proposed.valid_until
    first, second = (former, proposed) if is_older_observation(proposed, former) else (proposed, former)
    since, until = first.valid_from or second.valid_from, first.valid_until or second.valid_until
    return None if since is not None and until is not None and until < since else since, until


def is_said_firsthand(proposed: Memory, former: Memory) -> bool:
    """Whether the user or an operator says what only somebody said who is trusted less: from then on it is theirs."""
    return former.trust.less_than(proposed.trust) and not proposed.trust.less_than(Trust.STATED)


def is_older_observation(proposed: Memory, known: Memory) -> bool:
    """Whether it was observed before what is known; then it adds what is lacking, and changes nothing."""
    return observed_at(proposed) < observed_at(known)


def _find_position(memory: Memory, about: Sequence[Memory], policy: AdmissionPolicy) -> SubjectPosition:
    """The place of a memory from when it begins; what is over before it is said has none. What says the same, if only
    in the words of somebody else, is not in its way, nor is what can be true beside it.
    """
    begin = effective_from(memory)
    if not policy.truth.supersede or memory.kind is Kind.EVENT or memory.ended_by(begin):
        return SubjectPosition()
    others = [one for one in about if one.id != memory.id and one.kind is not Kind.EVENT]
    others = [one for one in others if not (have_same_meaning(one.text, memory.text) or are_compatible(one, memory))]
    others.sort(key=lambda one: (effective_from(one), one.id))
    before = [one for one in others if effective_from(one) <= begin and not one.ended_by(begin)]
    later = [one for one in others if effective_from(one) > begin and not one.ended_by(effective_from(one))]
    doubtful = [one for one in later if one.trust.less_than(memory.trust)]  # whoever is trusted less comes to nothing
    return SubjectPosition((*before, *doubtful), next((one for one in later if one not in doubtful), None))


def _find_more_trusted(place: SubjectPosition, proposed: Memory) -> Memory | None:
    """The first of those that it would end that is trusted more."""
    return next((one for one in place.ends if proposed.trust.less_than(one.trust)), None)


def _without_conflict(place: SubjectPosition, proposed: Memory) -> SubjectPosition:
    """The place of what may stand beside those that are trusted more, and then ends none."""
    return place if _find_more_trusted(place, proposed) is None else SubjectPosition((), place.ended_by)


def _inactive_since(memory: Memory, known: Neighborhood) -> datetime:
    """Since when it is put away."""
    return known.inactive_since.get(memory.id, observed_at(memory))


def _must_wait(memory: Memory, proposed: Memory) -> bool:
    """Whether it waits for release, and would not be trusted more for what is proposed, or was put there by hand."""
    if find_quarantined_by_hand([memory], proposed) is not None:
        return True
    return memory.status is Status.QUARANTINED and not memory.trust.less_than(proposed.trust)


def find_quarantined_by_hand(sayings: Iterable[Memory], proposed: Memory) -> Memory | None:
    """The first of those that say the same which an operator put into quarantine, so that what is proposed waits with
    it; none if it comes from the user or an operator.
    """
    if not proposed.trust.less_than(Trust.STATED):
        return None
    held = (one for one in sayings if one.status is Status.QUARANTINED)
    return next((one for one in held if (one.remark or "").startswith(MANUAL_QUARANTINE_PREFIX)), None)


def _find_known_quarantined(known: Neighborhood, proposed: Memory) -> Memory | None:
    """The same of what is known, also if it was forgotten since."""
    found = find_quarantined_by_hand(map(known.as_quarantined, (*known.same_text, *known.paraphrases)), proposed)
    return next(
        (one for one in (*known.same_text, *known.paraphrases) if found is not None and one.id == found.id), None
    )


def quarantine_reason(other: Memory) -> str:
    """Why words are not taken that are kept apart, by where the memory that says them is."""
    return ALREADY_QUARANTINED if other.status is Status.QUARANTINED else FORGOTTEN_IN_QUARANTINE


MANUAL_QUARANTINE_PREFIX = "by hand: "
"""What is remarked of a memory that an operator put into quarantine begins so."""


def injection_reason(orders: str | None) -> str:
    """What is said of words that do."""
    return f"{_INJECTION_PREFIX}{orders}"


_INJECTION_PREFIX = "it reads like orders to a model: "
ALREADY_QUARANTINED = "it waits for release already"
FORGOTTEN_IN_QUARANTINE = "the same was in quarantine when it was forgotten"
LESS_TRUSTED = "it contradicts a memory that is trusted more"


def observed_at(memory: Memory) -> datetime:
    """When its present text was observed."""
    return memory.observed_at or memory.created_at


def effective_from(memory: Memory) -> datetime:
    """From when on it holds: what says nothing of that holds from when it was observed."""
    return memory.valid_from or observed_at(memory)


def _adds_information(proposed: Memory, known: Memory) -> bool:
    """Whether anything but the words is new: a pin, a share, a higher importance, another date, title or topic, or
    one more origin beside all that are known.
    """
    raised = (proposed.importance or 0.0) > (known.importance or 0.0)
    given = [(getattr(proposed, name), getattr(known, name)) for name in _COMPARED_FIELDS]
    if is_older_observation(proposed, known):
        given = [(new, old) for new, old in given if old in _EMPTY_VALUES]
    changed = any(new not in _EMPTY_VALUES and new != old for new, old in given)
    more = set(proposed.derived_from) > set(known.derived_from) > set()
    return raised or changed or more or (proposed.pinned and not known.pinned) or (proposed.shared and not known.shared)


_COMPARED_FIELDS = ("title", "topic_key", "subject", "tags", "confidence", "valid_from", "valid_until", "metadata")
"""What a proposal may say beside its words, and be heard for."""

_EMPTY_VALUES: tuple[object, ...] = (None, (), {})
"""How a memory has it that nothing was said."""
