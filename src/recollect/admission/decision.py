"""Judgement: what becomes of a draft, given what its scope already knows."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from recollect.admission.policy import Policy
from recollect.model.memory import Kind, Memory, MemoryId, Status
from recollect.model.trust import Trust
from recollect.text.paraphrase_key import same_in_meaning
from recollect.text.updates.claims import agree


@dataclass(frozen=True, slots=True)
class Admit:
    """It is news: store it."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a memory stands among those of its subject, of which one holds at a time: those that it ends, in the order
    in which they began, and the one that ends it.
    """

    ends: tuple[Memory, ...] = ()
    ended_by: Memory | None = None


@dataclass(frozen=True, slots=True)
class Revise:
    """It is the new state of a memory: of its topic, or of one that said the same and is `restated`."""

    memory: Memory
    restated: bool = False
    place: Place = Place()


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
    place: Place = Place()


@dataclass(frozen=True, slots=True)
class Leave:
    """It was put away after this was said, and stays so."""

    memory: Memory
    since: datetime


@dataclass(frozen=True, slots=True)
class Isolate:
    """It is kept where nobody is told of it, until an operator says otherwise."""

    reason: str
    other: Memory | None = None


Judgement = Admit | Revise | Echo | Supersede | Precede | Reactivate | Leave | Isolate


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What a scope knows that has to do with a draft.

    `topic` is the active memory of its topic, `twins` are those that say the same word for word and `alike` those that
    say it in other words, whatever their standing; `about` are the active ones of its subject, and those that were
    superseded. `away` tells since when one that is not active is not; `apart` are those that were quarantined when they
    were forgotten, as they stood then. `orders` is what of its text reads like orders to a model, if anything does.
    What is `undated` is said now, and so later than all of that, whatever the clock says.
    """

    topic: Memory | None = None
    twins: Sequence[Memory] = ()
    alike: Sequence[Memory] = ()
    about: Sequence[Memory] = ()
    away: Mapping[MemoryId, datetime] = field(default_factory=dict[MemoryId, datetime])
    apart: Mapping[MemoryId, Memory] = field(default_factory=dict[MemoryId, Memory])
    orders: str | None = None
    undated: bool = False

    def stood(self, memory: Memory) -> Memory:
        """The memory, as it stood in quarantine if it was forgotten there."""
        return self.apart.get(memory.id, memory)


def judge(proposed: Memory, known: Known, policy: Policy) -> Judgement:
    """What becomes of what is proposed: its topic comes before its words, its words before its subject.

    Whoever is trusted less changes nothing of what comes from somebody who is trusted more. And what an operator put
    into quarantine by hand does not come back because a model, a tool or a document says it once more: it waits, also
    if the former was forgotten since. Only the user, who has words of their own, and an operator say it anew.
    """
    if known.topic is not None:
        return _of_topic(proposed, known.topic, known, policy)
    for others, reason in ((known.twins, "the same words"), (known.alike, "the same in other words")):
        for other in others:
            if other.status is Status.ACTIVE:
                return _again(proposed, other, reason, known, policy)
        for other in sorted(others, key=lambda one: (_away(one, known), one.id), reverse=True):
            judgement = _again_after_it_was_put_away(proposed, other, known, policy)
            if judgement is not None:
                return judgement
    if known.orders is not None and policy.quarantine.enabled:
        return Isolate(reads_like_orders(known.orders))
    return among(proposed, known.about, policy)


def judge_kept(proposed: Memory, known: Known, policy: Policy) -> Admit | Revise | Isolate:
    """What becomes of what is to be kept just as it is: the next state of its topic, or a memory of its own.

    What says the same elsewhere is another thing. Whoever is trusted less changes nothing here either, and what an
    operator put into quarantine by hand waits, as does what reads like orders and was not said of the topic before.
    """
    topic = known.topic
    new = topic is None or topic.hash != proposed.hash
    if policy.quarantine.enabled and topic is not None and proposed.trust.less_than(topic.trust):
        return Isolate(LESS_TRUSTED, topic)
    apart = _kept_apart(known, proposed) if new else None
    if apart is not None:
        return Isolate(why_apart(apart))
    if new and known.orders is not None and policy.quarantine.enabled:
        return Isolate(reads_like_orders(known.orders), topic)
    return Admit() if topic is None else Revise(topic)


def _of_topic(proposed: Memory, topic: Memory, known: Known, policy: Policy) -> Judgement:
    """What was observed before a topic's present text is no news to it."""
    if observed(proposed) < observed(topic):
        return Echo(topic, "its topic has a text that was observed later")
    if topic.hash == proposed.hash:
        return _again(proposed, topic, "the same words", known, policy)
    apart = _kept_apart(known, proposed)
    if apart is not None:
        return Isolate(why_apart(apart), apart)
    place = _place_of(topic, proposed, known.about, policy, restated=False)
    against = topic if proposed.trust.less_than(topic.trust) else _trusted_more(place, proposed)
    if policy.quarantine.enabled and (against is not None or known.orders is not None):
        waiting = next((one for one in known.twins if _waits(known.stood(one), proposed)), None)
        if waiting is not None:
            return Isolate(why_apart(waiting), waiting)
        if against is not None:
            return Isolate(LESS_TRUSTED, against)
        return Isolate(reads_like_orders(known.orders), topic)
    return Revise(topic, place=_unopposed(place, proposed))


def _again(proposed: Memory, former: Memory, reason: str, known: Known, policy: Policy) -> Judgement:
    """The same again is an echo, unless it comes with something that the memory does not have yet, or after the time
    for which it held: then it holds again; or from the user or an operator, where only others said it.
    """
    if proposed.trust.less_than(former.trust):
        return Echo(former, reason)
    over = former.ended_by(observed(proposed))
    if not (over or _says_more(proposed, former) or says_it_itself(proposed, former)):
        return Echo(former, reason)
    place = _place_of(former, proposed, known.about, policy, restated=True)
    if _trusted_more(place, proposed) is not None:
        return Echo(former, reason)
    return Revise(former, restated=True, place=place)


def _again_after_it_was_put_away(proposed: Memory, former: Memory, known: Known, policy: Policy) -> Judgement | None:
    if former.status is Status.QUARANTINED:
        return Isolate(WAITS, former) if _waits(former, proposed) else None
    if former.status not in (Status.FORGOTTEN, Status.SUPERSEDED):
        return None
    since = _away(former, known)
    if not known.undated and observed(proposed) <= since:
        return Leave(former, since)
    if former.id in known.apart:
        return Isolate(FORGOTTEN_APART, former) if _waits(known.apart[former.id], proposed) else None
    if proposed.trust.less_than(former.trust) or (known.orders is not None and policy.quarantine.enabled):
        return None
    place = _place(proposed.changed(id=former.id), known.about, policy)
    return None if _trusted_more(place, proposed) is not None else Reactivate(former, place)


def among(proposed: Memory, about: Sequence[Memory], policy: Policy) -> Admit | Supersede | Precede | Isolate:
    """What becomes of a memory among those of its subject, of which one holds at a time: what begins later ends what
    began before, unless that is trusted more.
    """
    place = _place(proposed, about, policy)
    against = _trusted_more(place, proposed)
    if against is not None and policy.quarantine.enabled:
        return Isolate(LESS_TRUSTED, against)
    place = _unopposed(place, proposed)
    if place.ended_by is not None:
        return Precede(place.ended_by, place.ends)
    return Supersede(place.ends) if place.ends else Admit()


def _place_of(former: Memory, proposed: Memory, about: Sequence[Memory], policy: Policy, *, restated: bool) -> Place:
    """The place of a memory that is said anew: among what holds or will, for what held before is past."""
    since, until = holding(former, proposed, restated=restated)
    known = max(observed(proposed), observed(former))
    state = proposed.changed(id=former.id, observed_at=known, valid_from=since, valid_until=until)
    return _place(state, [one for one in about if one.status is Status.ACTIVE], policy)


def holding(former: Memory, proposed: Memory, *, restated: bool) -> tuple[datetime | None, datetime | None]:
    """From when and until when a memory holds that is said anew: as is said now, and if it is only `restated`, as
    before where nothing is; of two moments for which it was said, what was said of the later one counts.
    """
    if not restated or former.status is not Status.ACTIVE or former.ended_by(begins(proposed)):
        return proposed.valid_from, proposed.valid_until
    first, second = (former, proposed) if told_before(proposed, former) else (proposed, former)
    since, until = first.valid_from or second.valid_from, first.valid_until or second.valid_until
    return None if since is not None and until is not None and until < since else since, until


def says_it_itself(proposed: Memory, former: Memory) -> bool:
    """Whether the user or an operator says what only somebody said who is trusted less: from then on it is theirs."""
    return former.trust.less_than(proposed.trust) and not proposed.trust.less_than(Trust.STATED)


def told_before(proposed: Memory, known: Memory) -> bool:
    """Whether it was observed before what is known; then it adds what is lacking, and changes nothing."""
    return observed(proposed) < observed(known)


def _place(memory: Memory, about: Sequence[Memory], policy: Policy) -> Place:
    """The place of a memory from when it begins; what is over before it is said has none. What says the same, if only
    in the words of somebody else, is not in its way, nor is what can be true beside it.
    """
    begin = begins(memory)
    if not policy.truth.supersede or memory.kind is Kind.EVENT or memory.ended_by(begin):
        return Place()
    others = [one for one in about if one.id != memory.id and one.kind is not Kind.EVENT]
    others = [one for one in others if not (same_in_meaning(one.text, memory.text) or agree(one, memory))]
    others.sort(key=lambda one: (begins(one), one.id))
    before = [one for one in others if begins(one) <= begin and not one.ended_by(begin)]
    later = [one for one in others if begins(one) > begin and not one.ended_by(begins(one))]
    doubtful = [one for one in later if one.trust.less_than(memory.trust)]  # whoever is trusted less comes to nothing
    return Place((*before, *doubtful), next((one for one in later if one not in doubtful), None))


def _trusted_more(place: Place, proposed: Memory) -> Memory | None:
    """The first of those that it would end that is trusted more."""
    return next((one for one in place.ends if proposed.trust.less_than(one.trust)), None)


def _unopposed(place: Place, proposed: Memory) -> Place:
    """The place of what may stand beside those that are trusted more, and then ends none."""
    return place if _trusted_more(place, proposed) is None else Place((), place.ended_by)


def _away(memory: Memory, known: Known) -> datetime:
    """Since when it is put away."""
    return known.away.get(memory.id, observed(memory))


def _waits(memory: Memory, proposed: Memory) -> bool:
    """Whether it waits for release, and would not be trusted more for what is proposed, or was put there by hand."""
    if kept_apart([memory], proposed) is not None:
        return True
    return memory.status is Status.QUARANTINED and not memory.trust.less_than(proposed.trust)


def kept_apart(sayings: Iterable[Memory], proposed: Memory) -> Memory | None:
    """The first of those that say the same which an operator put into quarantine, so that what is proposed waits with
    it; none if it comes from the user or an operator.
    """
    if not proposed.trust.less_than(Trust.STATED):
        return None
    held = (one for one in sayings if one.status is Status.QUARANTINED)
    return next((one for one in held if (one.remark or "").startswith(BY_HAND)), None)


def _kept_apart(known: Known, proposed: Memory) -> Memory | None:
    """The same of what is known, also if it was forgotten since."""
    found = kept_apart(map(known.stood, (*known.twins, *known.alike)), proposed)
    return next((one for one in (*known.twins, *known.alike) if found is not None and one.id == found.id), None)


def why_apart(other: Memory) -> str:
    """Why words are not taken that are kept apart, by where the memory that says them is."""
    return WAITS if other.status is Status.QUARANTINED else FORGOTTEN_APART


BY_HAND = "by hand: "
"""What is remarked of a memory that an operator put into quarantine begins so."""


def reads_like_orders(orders: str | None) -> str:
    """What is said of words that do."""
    return f"{_ORDERS}{orders}"


_ORDERS = "it reads like orders to a model: "
WAITS = "it waits for release already"
FORGOTTEN_APART = "the same was in quarantine when it was forgotten"
LESS_TRUSTED = "it contradicts a memory that is trusted more"


def observed(memory: Memory) -> datetime:
    """When its present text was observed."""
    return memory.observed_at or memory.created_at


def begins(memory: Memory) -> datetime:
    """From when on it holds: what says nothing of that holds from when it was observed."""
    return memory.valid_from or observed(memory)


def _says_more(proposed: Memory, known: Memory) -> bool:
    """Whether anything but the words is new: a pin, a share, a higher importance, another date, title or topic, or
    one more origin beside all that are known.
    """
    raised = (proposed.importance or 0.0) > (known.importance or 0.0)
    given = [(getattr(proposed, name), getattr(known, name)) for name in _SAID]
    if told_before(proposed, known):
        given = [(new, old) for new, old in given if old in _NOTHING]
    changed = any(new not in _NOTHING and new != old for new, old in given)
    more = set(proposed.derived_from) > set(known.derived_from) > set()
    return raised or changed or more or (proposed.pinned and not known.pinned) or (proposed.shared and not known.shared)


_SAID = ("title", "topic_key", "subject", "tags", "confidence", "valid_from", "valid_until", "metadata")
"""What a proposal may say beside its words, and be heard for."""

_NOTHING: tuple[object, ...] = (None, (), {})
"""How a memory has it that nothing was said."""
