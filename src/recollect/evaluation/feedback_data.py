"""Shown: recorded contexts as material, where a ranking is worth what the memories that helped gain by their places."""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from recollect.evaluation.features import JudgedRows
from recollect.evaluation.position_bias import PositionBias, fit_position_bias
from recollect.evaluation.training_set import TrainingSetSummary, TunableNumbers, find_varied_rows, score_candidates
from recollect.evaluation.votes import WeighedVotes
from recollect.model.table import Floats, Rows
from recollect.model.training_example import ShownMemory, TrainingExample
from recollect.ranking.profile import Profile
from recollect.ranking.tuning_report_check import WORTH_MEASURE
from recollect.text.tokenizer import tokenize

FEEDBACK_NAME = "feedback"
"""What this material is called in a report."""

VotedShowing = tuple[ShownMemory, float]
"""A memory that was shown, and what was said of it is worth."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FeedbackTrainingSet:
    """The candidates of contexts, and of those that were shown what each counts for.

    There is a list of candidates, from one start to the next, for what speaks for memories of a context, and one for
    what speaks against some. In the first are all candidates: what helped should come before everything else, also
    before what nobody was shown. In the second are only those down to the last that somebody spoke of: that one misled
    says that others which were looked at should have come first, and nothing of those that nobody may have seen. So
    nothing is gained by showing what is unknown in place of what is known.

    `counts` is what each of the judged gains at the first place, and `queries` of which question it is; `groups` says
    which questions there are, by a key that has none of their words.
    """

    source: TrainingSetSummary
    groups: tuple[str, ...]
    min_score: float
    opinions: Floats
    starts: Rows
    rivals: JudgedRows
    counts: Floats
    queries: Rows

    def measure(self, numbers: TunableNumbers) -> dict[str, Floats]:
        """What every question gains by these numbers: on average 1 if all that helped is first and nothing misled."""
        said, judged = score_candidates(self.opinions, numbers), self.rivals.judged
        gained = self.counts / np.log2(self.rivals.places(said) + 1.0)
        gained[said[judged] < self.min_score] = 0.0
        most = np.abs(self.counts).sum() / len(self.groups)
        return {WORTH_MEASURE: np.bincount(self.queries, gained, minlength=len(self.groups)) / most}

    def find_varied_signals(self) -> list[bool]:
        """Whether each term, and then each factor, says different things of two candidates of any one context."""
        return find_varied_rows(self.opinions, self.starts)


def estimate_position_bias(experiences: Sequence[TrainingExample], heard: WeighedVotes) -> PositionBias:
    """How steeply attention falls from place to place, by what was said of what these contexts show; those of which the
    places are not known say nothing of it.
    """
    placed = [one for one in experiences if one.has_all_places]
    rows = [(number, one, showing) for number, one in enumerate(placed) for showing in one.shown]
    words = np.array([heard.worth_by_memory.get((one.context, showing.memory), 0.0) for _, one, showing in rows])
    return fit_position_bias(
        np.array([number for number, *_ in rows], dtype=np.intp),
        np.array([showing.place for *_, showing in rows], dtype=np.intp),
        np.array([one.signal_values[:, showing.candidate] for _, one, showing in rows], dtype=np.float64).T,
        np.abs(words),
    )


def build_feedback_training_set(
    experiences: Sequence[TrainingExample], heard: WeighedVotes, places: PositionBias, profile: Profile, *, seed: int
) -> FeedbackTrainingSet:
    """The contexts as material for the profile; the seed decides in which folds their questions come to be."""
    numbers: dict[str, int] = {}
    opinions: list[Floats] = []
    counts: list[Floats] = []
    queries: list[int] = []
    for one in experiences:
        words = [(showing, heard.worth_by_memory.get((one.context, showing.memory))) for showing in one.shown]
        said = [(showing, worth) for showing, worth in words if worth is not None]
        for candidates, worth in _candidate_lists(one, said, places):
            opinions.append(one.signal_values[:, candidates])
            counts.append(worth)
            queries.append(numbers.setdefault(_question_key(one, seed), len(numbers)))
    starts = np.cumsum([0, *(len(one) for one in counts)], dtype=np.intp)
    worth = np.concatenate([np.zeros(0), *counts])
    rivals = JudgedRows.of((worth != 0.0).astype(np.float64), starts)
    return FeedbackTrainingSet(
        source=_summarize_feedback(experiences, heard, len(numbers)),
        groups=tuple(numbers),
        min_score=profile.min_score,
        opinions=np.ascontiguousarray(np.hstack([np.zeros((len(profile.uses), 0)), *opinions])),
        starts=starts,
        rivals=rivals,
        counts=worth[rivals.judged],
        queries=np.array(queries, dtype=np.intp)[rivals.queries],
    )


def _candidate_lists(
    one: TrainingExample, said: Sequence[VotedShowing], places: PositionBias
) -> Iterator[tuple[Rows, Floats]]:
    """Which candidates what was said for memories of a context is about, and what was said against some, with what
    each of the candidates counts for; a list of which nothing was said is left out.
    """
    everyone = np.arange(one.signal_values.shape[1])
    looked_at = _examined_candidates(one, said)
    counts = np.zeros(len(everyone))
    for showing, value in said:
        times = 1.0 if showing.place is None else places.inverse_propensities(np.array([showing.place])).item()
        counts[showing.candidate] = value * times
    for candidates, worth in ((everyone, np.maximum(counts, 0.0)), (looked_at, np.minimum(counts, 0.0)[looked_at])):
        if worth.any():
            yield candidates, worth


def _examined_candidates(one: TrainingExample, said: Sequence[VotedShowing]) -> Rows:
    """Who stands no further down than the last that somebody spoke of; where nobody knows places, who was spoken of."""
    last = max((showing.place or 0 for showing, _ in said), default=0)
    spoken_of = {showing.candidate for showing, _ in said}
    above = {showing.candidate for showing in one.shown if showing.place is not None and showing.place <= last}
    return np.array(sorted(spoken_of | above), dtype=np.intp)


def _question_key(one: TrainingExample, seed: int) -> str:
    """A key that contexts have in common which were asked the same, whoever asked: by the terms of the question.

    Without a question, or a term in it, it is the day that they have in common.
    """
    asked = " ".join(tokenize("\n".join(one.question))) or f"{one.made_at.date()}"
    return hashlib.sha256(f"{seed}\n{asked}".encode("utf-8", "surrogatepass")).hexdigest()


def _summarize_feedback(
    experiences: Sequence[TrainingExample], heard: WeighedVotes, questions: int
) -> TrainingSetSummary:
    said = sorted((context, memory, worth) for (context, memory), worth in heard.worth_by_memory.items())
    spoken_of = {context for context, *_ in said}
    return TrainingSetSummary(
        name=FEEDBACK_NAME,
        digest=hashlib.sha256(repr(said).encode()).hexdigest(),
        memories=len({memory for _, memory, _ in said}),
        queries=questions,
        judgments=len(said),
        scopes=len({one.scope for one in experiences if one.context in spoken_of}),
    )
