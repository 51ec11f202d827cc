"""Sabotage: what breaks a ranking on purpose, and the category that must suffer from it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recollect.model.table import Floats, Labels, Rows
from recollect.ranking import signals
from recollect.ranking.curves import Curve, HalfLife
from recollect.ranking.profile import Profile
from recollect.ranking.profile_toml import override_profile
from recollect.retrieval import evidence, snapshot, turn_context
from recollect.text import dates, questions

EXEMPT = {"usefulness"}
"""It reads what users said of memories that they were served, and an evaluation serves none: here it is silent."""


@dataclass(frozen=True, slots=True)
class Sabotage:
    """Something broken, in the profile or in the code, and where it must show."""

    category: str
    profile: Callable[[Profile], Profile] = field(default=lambda profile: profile)
    code: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Names within `inside` and what they are instead."""
    inside: ModuleType | type = turn_context


def without(profile: Profile, signal: str) -> Profile:
    """The profile without the term, whose weight the others take over."""
    return weighing(profile, signal, 0.0)


def weighing(profile: Profile, signal: str, weight: float) -> Profile:
    """The profile with another weight for the term, and the others in proportion."""
    rest = 1.0 - profile.weight(signal)
    weights = {term.signal.name: term.weight * (1.0 - weight) / rest for term in profile.terms}
    weights[signal] = weight
    return override_profile(profile, {"terms": {name: {"weight": one} for name, one in weights.items()}})


def _removed(signal: str) -> Callable[[Profile], Profile]:
    return lambda profile: without(profile, signal)


def _changed(**changes: Any) -> Callable[[Profile], Profile]:
    return lambda profile: override_profile(profile, changes)


def _by_relevance_alone(profile: Profile) -> Profile:
    """No gate is opened by anything but its own signal."""
    return override_profile(profile, {"gates": {gate.signal.name: {"or": None} for gate in profile.gates}})


def _nothing(*_: object) -> tuple[()]:
    return ()


def _never(*_: object) -> bool:
    return False


def _as_it_is(text: str, *_: object) -> str:
    return text


def _falling(*_: object) -> Curve:
    """The fewer words, the better."""
    return HalfLife(4.0)


def _nobody_counts(worth: float) -> Callable[[frozenset[str], Labels], Floats]:
    """What nobody is known to have said is worth so much to whoever is named."""

    def said_by(wanted: frozenset[str], speakers: Labels) -> Floats:
        return np.array([*(float(name in wanted) for name in speakers.names), worth])[speakers.codes]

    return said_by


def _all_in_order(sessions: Labels, created: Floats, _: object, alive: NDArray[np.bool_]) -> Rows:
    """As if all that is in no session were in one."""
    rows = np.flatnonzero(alive)
    return rows[np.lexsort((created[rows], sessions.codes[rows]))]


TERMS = {
    "relevance": Sabotage("history", _removed("relevance")),
    "dated": Sabotage("when", _removed("dated")),
    "addressed": Sabotage("who", _removed("addressed")),
    "thread": Sabotage("thread", _removed("thread")),
    "setting": Sabotage("setting", _removed("setting")),
    "importance": Sabotage("importance", _removed("importance")),
    "substance": Sabotage("chatter", _removed("substance")),
}
"""What breaks each term of `default`."""

FACTORS = {"newest": Sabotage("update", _changed(factors={"newest": None}))}

OTHERS = {
    "what is put right is as good": Sabotage("corrected", _changed(factors={"newest": {"above_inside": None}})),
    "what is alike is the same": Sabotage("alike", _changed(factors={"newest": {"same": None}})),
    "what both arms say counts twice": Sabotage("spelling", _changed(terms={"relevance": {"overlap": 0.0}})),
    "a time alone opens no gate": Sabotage("period", _by_relevance_alone),
    "what nobody said is others'": Sabotage("mixed", inside=evidence, code={"_match_speakers": _nobody_counts(0.0)}),
    "what nobody said is theirs": Sabotage("mixed", inside=evidence, code={"_match_speakers": _nobody_counts(1.0)}),
    "notes are one conversation": Sabotage("mixed", inside=snapshot, code={"order_by_session": _all_in_order}),
    "words are not heard": Sabotage("context", _changed(terms={"relevance": {"lexical_share": 0.0, "overlap": 0.0}})),
    "meaning is not heard": Sabotage("meaning", _changed(terms={"relevance": {"lexical_share": 1.0, "overlap": 0.0}})),
    "memories are heard alone": Sabotage("context", _changed(hearing="alone")),
    "what is new leads": Sabotage("history", lambda profile: weighing(profile, "thread", 0.4)),
    "the gate is too narrow": Sabotage("meaning", _changed(gates={"relevance": 0.4})),
    "turns lend no words": Sabotage(
        "context", code={"QUESTION_WEIGHT": 0.0, "STATEMENT_WEIGHT": 0.0, "EARLIER_TURN_WEIGHT": 0.0}
    ),
    "turns lend no nearness": Sabotage("context", code={"PREVIOUS_TURN_SHARE": 0.0}),
    "long turns lend everything": Sabotage("long-replies", code={"MAX_LENT_WORDS": 1e9}),
    "short turns are preferred": Sabotage("chatter", inside=signals.Substance, code={"curve": property(_falling)}),
    "no date is read": Sabotage("when", inside=dates, code={"find_time_spans": _nothing}),
    "what came before a date is as near": Sabotage("when", inside=dates, code={"EARLY_WEIGHT": 0.0}),
    "nobody is named": Sabotage("who", inside=questions, code={"find_named_speakers": _nothing}),
    "questions keep their side": Sabotage("meaning", inside=questions, code={"rephrase_as_speaker": _as_it_is}),
    "nobody asks for themselves": Sabotage("long-replies", inside=questions, code={"is_first_person": _never}),
}
