"""Learning: the numbers of a profile that rank best what was said to have helped, in contexts that were recorded."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from recollect.errors import InvalidInput
from recollect.evaluation.feedback_data import Shown, find_places, shown
from recollect.evaluation.position_bias import Places
from recollect.evaluation.runner import Tell
from recollect.evaluation.training_set import Numbers, Source
from recollect.evaluation.tuning import Tuning, tune
from recollect.evaluation.votes import Words, hear
from recollect.model.format import counted, printable
from recollect.model.scope import Scope
from recollect.model.training_example import Experiences, LeftOut
from recollect.ranking.profile import Profile
from recollect.ranking.tuning_report_check import WORTH

LEAST = 30
"""Of how many questions something must be known: with fewer, an interval promises more than it holds."""

WHY: Mapping[LeftOut, str] = {
    LeftOut.ELSEWHERE: "made in another store",
    LeftOut.FOLLOWED: "of which only success is known, and not what led to it",
    LeftOut.ASKED: "with a question, which the profile does not take",
    LeftOut.UNASKED: "without a question, which the profile needs",
    LeftOut.OTHERWISE: "ranked by another profile",
    LeftOut.UNRECORDED: "that cannot be asked again without asking a model",
}
"""Which contexts were left out, in words."""

OF_ANOTHER = (
    "contexts of another profile teach nothing about this one: give feedback on contexts that it makes, or begin with "
    "the other one"
)
"""What to do where contexts are left out that another profile ranked."""

NAMED = 3
"""How many scopes are named where there are more."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Learned:
    """What was learned: the tuning, from which contexts, and what was made of what was said.

    Of `unplaced` contexts it is not known what stood where; from those `left_out` nothing could be learned.
    """

    held_by: ClassVar[Literal["question"]] = "question"
    measure: ClassVar[str] = "what helped, by its place,"
    remedy: ClassVar[str] = "gather more feedback"

    tuning: Tuning
    material: Shown
    contexts: int
    unplaced: int
    left_out: Mapping[LeftOut, int]
    heard: Words
    places: Places
    seed: int

    def amount(self, sources: Sequence[Source]) -> str:
        """How much there is of what it was learned from, in words."""
        questions, scopes = sum(one.queries for one in sources), sum(one.scopes for one in sources)
        contexts = counted(self.contexts, "context")
        return f"{counted(questions, 'question')} in {contexts} of {counted(scopes, 'scope')}"


def learn(
    experiences: Experiences,
    profile: Profile,
    *,
    folds: int,
    seed: int,
    tell: Tell,
    places: Places | None = None,
) -> Learned:
    """Fit the profile to what was said of what these contexts showed, each question held out once.

    Numbers that have nothing in common with the present ones must be better by one standard error of what these are
    worth: the more is known, the less. Without `places`, how steeply attention falls is found from what was said.
    """
    told = sorted(experiences.told, key=lambda one: one.when)
    heard = hear(told)
    found = find_places(told, heard) if places is None else places
    material = shown(told, heard, found, profile, seed=seed)
    if len(material.groups) < LEAST:
        raise _too_few(experiences, len(material.groups))
    values = material.measured(Numbers.of(profile))[WORTH]
    error = float(np.std(values, ddof=1)) / math.sqrt(len(values))
    spoken_of = {context for context, _ in heard.said}
    return Learned(
        tuning=tune([material], profile, folds=folds, tell=tell, restraint=error),
        material=material,
        contexts=len(spoken_of),
        unplaced=sum(not one.placed for one in told if one.context in spoken_of),
        left_out=experiences.left_out,
        heard=heard,
        places=found,
        seed=seed,
    )


def omissions(left_out: Mapping[LeftOut, int]) -> Iterator[str]:
    """How many contexts were left out and why, in words, reason by reason."""
    return (f"{counted(count, 'context')} {WHY[why]}" for why in LeftOut if (count := left_out.get(why, 0)))


def _too_few(experiences: Experiences, questions: int) -> InvalidInput:
    left_out = ", ".join(omissions(experiences.left_out))
    told = f"there is feedback on what was shown for {counted(questions, 'question')} in {_named(experiences.scopes)}"
    remedy = OF_ANOTHER if experiences.left_out.get(LeftOut.OTHERWISE) else "give more"
    return InvalidInput(
        f"{told}{f' (left out: {left_out})' if left_out else ''}, and fewer than {LEAST} cannot tell better weights "
        f"from chance; {remedy}, or name more scopes"
    )


def _named(scopes: Sequence[Scope]) -> str:
    names = [printable(str(one)) for one in scopes[:NAMED]]
    return ", ".join(names) + (f" and {len(scopes) - NAMED} more" if len(scopes) > NAMED else "")
