"""Learning: the numbers of a profile that rank best what was said to have helped, in contexts that were recorded."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from recollect.errors import InvalidInput
from recollect.evaluation.feedback_data import FeedbackTrainingSet, build_feedback_training_set, estimate_position_bias
from recollect.evaluation.position_bias import PositionBias
from recollect.evaluation.runner import ProgressCallback
from recollect.evaluation.training_set import TrainingSetSummary, TunableNumbers
from recollect.evaluation.tuning import Tuning, tune
from recollect.evaluation.votes import WeighedVotes, weigh_votes
from recollect.model.format import format_count, make_printable
from recollect.model.scope import Scope
from recollect.model.training_example import SkipReason, TrainingSet
from recollect.ranking.profile import Profile
from recollect.ranking.tuning_report_check import WORTH_MEASURE

MIN_QUESTIONS = 30
"""Of how many questions something must be known: with fewer, an interval promises more than it holds."""

LEFT_OUT_DESCRIPTIONS: Mapping[SkipReason, str] = {
    SkipReason.OTHER_STORE: "made in another store",
    SkipReason.ONLY_FOLLOWED: "of which only success is known, and not what led to it",
    SkipReason.HAS_QUESTION: "with a question, which the profile does not take",
    SkipReason.NO_QUESTION: "without a question, which the profile needs",
    SkipReason.OTHER_PROFILE: "ranked by another profile",
    SkipReason.UNRECORDED: "that cannot be asked again without asking a model",
}
"""Which contexts were left out, in words."""

OTHER_PROFILE_REMEDY = (
    "contexts of another profile teach nothing about this one: give feedback on contexts that it makes, or begin with "
    "the other one"
)
"""What to do where contexts are left out that another profile ranked."""

MAX_NAMED_SCOPES = 3
"""How many scopes are named where there are more."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FeedbackOrigin:
    """What was learned: the tuning, from which contexts, and what was made of what was said.

    Of `unplaced_contexts` contexts it is not known what stood where; from those `left_out` nothing could be learned.
    """

    held_by: ClassVar[Literal["question"]] = "question"
    measure: ClassVar[str] = "what helped, by its place,"
    remedy: ClassVar[str] = "gather more feedback"

    tuning: Tuning
    training_set: FeedbackTrainingSet
    contexts: int
    unplaced_contexts: int
    left_out: Mapping[SkipReason, int]
    votes: WeighedVotes
    position_bias: PositionBias
    seed: int

    def describe_amount(self, sources: Sequence[TrainingSetSummary]) -> str:
        """How much there is of what it was learned from, in words."""
        questions, scopes = sum(one.queries for one in sources), sum(one.scopes for one in sources)
        contexts = format_count(self.contexts, "context")
        return f"{format_count(questions, 'question')} in {contexts} of {format_count(scopes, 'scope')}"


def tune_on_feedback(
    experiences: TrainingSet,
    profile: Profile,
    *,
    folds: int,
    seed: int,
    tell: ProgressCallback,
    places: PositionBias | None = None,
) -> FeedbackOrigin:
    """Fit the profile to what was said of what these contexts showed, each question held out once.

    Numbers that have nothing in common with the present ones must be better by one standard error of what these are
    worth: the more is known, the less. Without `places`, how steeply attention falls is found from what was said.
    """
    told = sorted(experiences.examples, key=lambda one: one.sort_key)
    heard = weigh_votes(told)
    found = estimate_position_bias(told, heard) if places is None else places
    material = build_feedback_training_set(told, heard, found, profile, seed=seed)
    if len(material.groups) < MIN_QUESTIONS:
        raise _too_few_questions_error(experiences, len(material.groups))
    values = material.measure(TunableNumbers.of(profile))[WORTH_MEASURE]
    error = float(np.std(values, ddof=1)) / math.sqrt(len(values))
    spoken_of = {context for context, _ in heard.worth_by_memory}
    return FeedbackOrigin(
        tuning=tune([material], profile, folds=folds, tell=tell, restraint=error),
        training_set=material,
        contexts=len(spoken_of),
        unplaced_contexts=sum(not one.has_all_places for one in told if one.context in spoken_of),
        left_out=experiences.skipped,
        votes=heard,
        position_bias=found,
        seed=seed,
    )


def describe_left_out(left_out: Mapping[SkipReason, int]) -> Iterator[str]:
    """How many contexts were left out and why, in words, reason by reason."""
    return (
        f"{format_count(count, 'context')} {LEFT_OUT_DESCRIPTIONS[why]}"
        for why in SkipReason
        if (count := left_out.get(why, 0))
    )


def _too_few_questions_error(experiences: TrainingSet, questions: int) -> InvalidInput:
    left_out = ", ".join(describe_left_out(experiences.skipped))
    asked, scopes = format_count(questions, "question"), _name_scopes(experiences.scopes)
    told = f"there is feedback on what was shown for {asked} in {scopes}"
    remedy = OTHER_PROFILE_REMEDY if experiences.skipped.get(SkipReason.OTHER_PROFILE) else "give more"
    return InvalidInput(
        f"{told}{f' (left out: {left_out})' if left_out else ''}, and fewer than {MIN_QUESTIONS} cannot tell better "
        f"weights from chance; {remedy}, or name more scopes"
    )


def _name_scopes(scopes: Sequence[Scope]) -> str:
    names = [make_printable(str(one)) for one in scopes[:MAX_NAMED_SCOPES]]
    return ", ".join(names) + (f" and {len(scopes) - MAX_NAMED_SCOPES} more" if len(scopes) > MAX_NAMED_SCOPES else "")
