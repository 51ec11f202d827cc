"""Shown: recorded contexts as material, where a ranking is worth what the memories that helped gain by their places.

Words: what was said of memories that were shown, and how much of it counts.

Places: how much less a memory is looked at, the further down it stands.

Learning: the numbers of a profile that rank best what was said to have helped, in contexts that were recorded.
"""

import hashlib
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal, Self

import numpy as np

from recollect.errors import InvalidInput
from recollect.evaluation.runner import ProgressCallback
from recollect.evaluation.training_set import (
    JudgedRows,
    TrainingSetSummary,
    TunableNumbers,
    find_varied_rows,
    score_candidates,
)
from recollect.evaluation.tuning import Tuning, tune
from recollect.model.context import Use, Vote, select_counted_votes
from recollect.model.format import format_count, make_printable
from recollect.model.memory import MemoryId
from recollect.model.scope import Scope
from recollect.model.table import Floats, Rows
from recollect.model.training_example import ShownMemory, SkipReason, TrainingExample, TrainingSet
from recollect.ranking.profile import Profile
from recollect.ranking.tuning_report_check import WORTH_MEASURE
from recollect.text.tokenizer import tokenize

WORTH_BY_USE: Mapping[Use, float] = {Use.HELPED: 1.0, Use.MISLED: -1.0, Use.QUOTED: 0.5}
"""What one word is worth: a sign speaks less clearly than somebody who says so.

That success followed is said of all that a context shows alike, so it says nothing of which should come first.
"""

MAX_VOTES_PER_VOICE = 100
"""What one voice said in more words than this, and than some other did, counts for as many, each for less."""


@dataclass(frozen=True, slots=True)
class WeighedVotes:
    """What all words on a memory in a context are worth together, for it or, below zero, against it; how many there are
    of each use, and how many principals voted.
    """

    worth_by_memory: Mapping[tuple[str, MemoryId], float]
    count_by_use: Mapping[Use, int]
    principals: int


def weigh_votes(experiences: Sequence[TrainingExample]) -> WeighedVotes:
    """What counts of all that was said of what these contexts show.

    Of one voice the newest few words on a memory count, as for its usefulness. All that it said counts for no more than
    a hundred words, in however many contexts, so that it does not drown all others. Principals are voices, and so are
    the signs of a scope; but however many signs there are, no vote counts for less.
    """
    votes = select_counted_votes(_sort_votes(vote for one in experiences for vote in _shown_votes(one)))
    signs = select_counted_votes(_sort_votes(sign for one in experiences for sign in _quoted_signs(one)))
    principals, others = (Counter(word.by for word in words) for words in (votes, signs))
    everyone = [*principals.values(), *others.values()]
    said: dict[tuple[str, MemoryId], float] = {}
    for words, shares in (
        (votes, _vote_weights(principals, [*principals.values()])),
        (signs, _vote_weights(others, everyone)),
    ):
        for word in words:
            at = (word.context, word.memory)
            said[at] = said.get(at, 0.0) + WORTH_BY_USE[word.use] * shares[word.by]
    return WeighedVotes(said, Counter(word.use for word in (*votes, *signs)), len(principals))


def _sort_votes(words: Iterable[Vote]) -> list[Vote]:
    """The words, the oldest first, ties by context; an experience has its votes in no order of their own."""
    return sorted(words, key=lambda word: (word.at, word.context))


def _vote_weights(voices: Mapping[str, int], beside: Sequence[int]) -> dict[str, float]:
    """What one word of each voice counts for, beside voices of so many words: where all are loud, all of it does."""
    most = max(MAX_VOTES_PER_VOICE, min(beside, default=0))
    return {voice: min(1.0, most / words) for voice, words in voices.items()}


def _shown_votes(one: TrainingExample) -> Iterator[Vote]:
    """The votes on what was shown and is a candidate."""
    shown = {showing.memory for showing in one.shown}
    return (vote for vote in one.votes if vote.memory in shown)


def _quoted_signs(one: TrainingExample) -> Iterator[Vote]:
    """A word for each memory that was shown, quoted, and voted on by nobody; all of a scope are of one voice."""
    quoted = {sign.memory for sign in one.signs if sign.use is Use.QUOTED}
    voted = {vote.memory for vote in one.votes}
    for memory in sorted(({showing.memory for showing in one.shown} & quoted) - voted):
        yield Vote(context=one.context, memory=memory, by=f"quoted {one.scope}", use=Use.QUOTED, at=one.made_at)


MAX_STEEPNESS = 2.0
"""At most so steep: at the second place a quarter of the first."""

MAX_INVERSE_PROPENSITY = 10.0
"""For how many words at the first place one further down counts at most, however rarely anybody looks there."""

POSITION_PENALTY = 4.0
"""How strongly it is doubted that places matter at all, as a penalty on the square of the steepness, halved.

It is worth a few dozen words: with fewer, what was said is taken as it is, which favours the ranking as it is.
"""

SIGNAL_PENALTY = 1.0
"""The same of what signals say: with few words they explain little."""

GRADIENT_TOLERANCE = 1e-9
"""How steep it may still be, for each word that was said, where it counts as the top."""

MAX_NEWTON_STEPS, MAX_STEP_HALVINGS = 100, 60
"""How many steps are made at most, and how often one that leads down is halved: enough for whatever was said."""


@dataclass(frozen=True, slots=True)
class PositionBias:
    """How steeply attention falls: at place k a memory is looked at k to the power of minus `steepness` as often."""

    steepness: float = 0.0

    def propensities(self, places: Rows) -> Floats:
        """How often each place is looked at, for every time that the first one is."""
        return np.asarray(places, dtype=np.float64) ** -self.steepness

    def inverse_propensities(self, places: Rows) -> Floats:
        """For how many words at the first place one at each of these counts."""
        return np.minimum(1.0 / self.propensities(places), MAX_INVERSE_PROPENSITY)


@dataclass(frozen=True, slots=True, eq=False)
class ConditionalLogit:
    """Whom somebody spoke of: of each that was shown the number of its context, what tells it apart, and how much was
    said of it.

    The first of the traits is the place, as minus its logarithm. Whom somebody says something of is taken as a choice
    among those of the context, each as likely as the exponential of its traits times their slopes (a conditional
    logit); slopes are doubted, each as strongly as `penalties` says.
    """

    contexts: Rows
    features: Floats
    weights: Floats
    penalties: Floats

    @classmethod
    def of(cls, contexts: Rows, places: Rows, opinions: Floats, said: Floats) -> Self:
        """Those of the contexts of which anything was said; `opinions` has a row for each signal."""
        total = np.bincount(contexts, said)
        rows = np.flatnonzero(total[contexts] > 0.0)
        return cls(
            contexts=np.unique(contexts[rows], return_inverse=True)[1],
            features=np.vstack([-np.log(places[rows]), opinions[:, rows]]),
            weights=said[rows],
            penalties=np.append(POSITION_PENALTY, np.full(len(opinions), SIGNAL_PENALTY)),
        )

    def log_likelihood(self, slopes: Floats) -> float:
        """How well the slopes explain the choices, as a logarithm, less what is doubted of them; there is one top."""
        return float(self.weights @ self._log_probabilities(slopes) - self.penalties @ slopes**2 / 2.0)

    def gradient(self, slopes: Floats) -> Floats:
        """Which way the likelihood rises, and how steeply: nowhere at the top."""
        uphill: Floats = self.features @ (self.weights - self._expected_weights(slopes)) - self.penalties * slopes
        return uphill

    def newton_step(self, slopes: Floats) -> Floats:
        """The way to where the top would be if the likelihood were bent everywhere as it is here (Newton's)."""
        expected, chances = self._expected_weights(slopes), np.exp(self._log_probabilities(slopes))
        means = np.array([np.bincount(self.contexts, chances * one) for one in self.features])
        centred = self.features - means[:, self.contexts]
        curvature = (centred * expected) @ centred.T + np.diag(self.penalties)
        return np.asarray(np.linalg.solve(curvature, self.gradient(slopes)), dtype=np.float64)

    def _log_probabilities(self, slopes: Floats) -> Floats:
        """How likely each is chosen in its context by these slopes, as a logarithm."""
        heights = slopes @ self.features
        tops = np.full(int(self.contexts.max()) + 1, -np.inf)
        np.maximum.at(tops, self.contexts, heights)
        powers = np.exp(heights - tops[self.contexts])
        chances: Floats = heights - (tops + np.log(np.bincount(self.contexts, powers)))[self.contexts]
        return chances

    def _expected_weights(self, slopes: Floats) -> Floats:
        """How much would be said of each by these slopes."""
        total = np.asarray(np.bincount(self.contexts, self.weights), dtype=np.float64)
        expected: Floats = np.exp(self._log_probabilities(slopes)) * total[self.contexts]
        return expected


def fit_coefficients(choices: ConditionalLogit) -> Floats:
    """The slopes that explain the choices best: uphill step by step, each halved as long as it leads down.

    A whole step may go too far, and the next one further still: with many shown, or a few that stand out.
    """
    slopes = np.zeros(len(choices.features))
    level = GRADIENT_TOLERANCE * float(choices.weights.sum())
    for _ in range(MAX_NEWTON_STEPS):
        if np.abs(choices.gradient(slopes)).max() <= level:
            break
        step, reached = choices.newton_step(slopes), choices.log_likelihood(slopes)
        parts = (step * 0.5**halved for halved in range(MAX_STEP_HALVINGS))
        slopes = next((there for part in parts if choices.log_likelihood(there := slopes + part) >= reached), slopes)
    return slopes


def fit_position_bias(contexts: Rows, places: Rows, opinions: Floats, said: Floats) -> PositionBias:
    """How steep it is, by the memories that were shown: of which context each is, its place, and how much was said.

    So that what ranks first is better is not mistaken for its being seen first: like opinions at different places tell
    the two apart. `opinions` has a row for each signal.
    """
    if not said.any():
        return PositionBias()
    steepness, *_ = fit_coefficients(ConditionalLogit.of(contexts, places, opinions, said))
    return PositionBias(float(np.clip(steepness, 0.0, MAX_STEEPNESS)))


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
