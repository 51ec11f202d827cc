"""Tuning from feedback: a training set made of recorded contexts and the votes on them.

The module weighs votes, estimates how attention falls with position (position bias, fitted as a conditional logit),
builds the training set, and tunes the profile, in this order. Memories that helped should rank first. A vote on a low
place counts for more, because fewer readers look there.
"""

import hashlib
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal, Self

import numpy as np

from recollect.errors import InvalidInput
from recollect.evaluation.training_set import (
    JudgedRows,
    TrainingSetSummary,
    TunableNumbers,
    find_varied_rows,
    score_candidates,
)
from recollect.evaluation.tuning import Tuning, tune
from recollect.model.context import (
    ShownMemory,
    SkipReason,
    TrainingExample,
    TrainingSet,
    Use,
    Vote,
    select_counted_votes,
)
from recollect.model.format import format_count, make_printable
from recollect.model.memory import MemoryId
from recollect.model.table import Floats, Rows
from recollect.protocols import ProgressListener
from recollect.ranking.profile import Profile
from recollect.ranking.tuning_report_check import WORTH_MEASURE
from recollect.text.tokenizer import tokenize

WORTH_BY_USE: Mapping[Use, float] = {Use.HELPED: 1.0, Use.MISLED: -1.0, Use.QUOTED: 0.5}
"""The worth of one vote; a quote is weaker evidence than an explicit vote.

`followed` is missing, because it applies to all memories of a context and says nothing about their order.
"""

MAX_VOTES_PER_VOICE = 100
"""Cap on the total weight of one voice's votes; above it each of its votes counts less.

The cap is higher if even the voice with the fewest votes has more than this.
"""


@dataclass(frozen=True, slots=True)
class WeighedVotes:
    """The summed worth of votes by context and memory, positive or negative.

    It also has the number of votes of each use, and the number of principals that voted.
    """

    worth_by_memory: Mapping[tuple[str, MemoryId], float]
    count_by_use: Mapping[Use, int]
    principals: int


def weigh_votes(experiences: Sequence[TrainingExample]) -> WeighedVotes:
    """Weigh all votes and quotes for the memories that these contexts showed.

    Only the newest few votes of one voice on a memory count, as for its usefulness. All votes of one voice together
    count for at most a hundred votes, so that it does not outweigh all others. Each principal is a voice, and so are
    the quotes of a scope. Quotes never lower the weight of a vote.
    """
    votes = select_counted_votes(_sort_votes(vote for one in experiences for vote in _shown_votes(one)))
    quotes = select_counted_votes(_sort_votes(quote for one in experiences for quote in _quotes_as_votes(one)))
    principals, quoting_scopes = (Counter(vote.by for vote in some) for some in (votes, quotes))
    all_counts = [*principals.values(), *quoting_scopes.values()]
    worth: dict[tuple[str, MemoryId], float] = {}
    for weighed, weights in (
        (votes, _vote_weights(principals, [*principals.values()])),
        (quotes, _vote_weights(quoting_scopes, all_counts)),
    ):
        for vote in weighed:
            key = (vote.context, vote.memory)
            worth[key] = worth.get(key, 0.0) + WORTH_BY_USE[vote.use] * weights[vote.by]
    return WeighedVotes(worth, Counter(vote.use for vote in (*votes, *quotes)), len(principals))


def _sort_votes(votes: Iterable[Vote]) -> list[Vote]:
    """Sort votes, oldest first, ties by context; the votes of an example have no fixed order."""
    return sorted(votes, key=lambda vote: (vote.at, vote.context))


def _vote_weights(count_by_voice: Mapping[str, int], all_counts: Sequence[int]) -> dict[str, float]:
    """Return the weight of one vote of each voice; `all_counts` has the number of votes of every voice.

    It is min(1, cap / votes of the voice). The cap is MAX_VOTES_PER_VOICE, or the smallest number of votes of any voice
    if that is larger.
    """
    cap = max(MAX_VOTES_PER_VOICE, min(all_counts, default=0))
    return {voice: min(1.0, cap / count) for voice, count in count_by_voice.items()}


def _shown_votes(one: TrainingExample) -> Iterator[Vote]:
    """Yield the votes on memories that were shown."""
    shown = {showing.memory for showing in one.shown}
    return (vote for vote in one.votes if vote.memory in shown)


def _quotes_as_votes(one: TrainingExample) -> Iterator[Vote]:
    """Yield one vote for each shown memory that was quoted and has no explicit vote.

    All quotes of a scope belong to one voice.
    """
    quoted = {sign.memory for sign in one.signs if sign.use is Use.QUOTED}
    voted = {vote.memory for vote in one.votes}
    for memory in sorted(({showing.memory for showing in one.shown} & quoted) - voted):
        yield Vote(context=one.context, memory=memory, by=f"quoted {one.scope}", use=Use.QUOTED, at=one.made_at)


MAX_STEEPNESS = 2.0
"""Largest steepness: the second place gets a quarter of the attention of the first."""

MAX_INVERSE_PROPENSITY = 10.0
"""Cap on how many votes at the first place a vote at a lower place counts for."""

POSITION_PENALTY = 4.0
"""Penalty on half the squared steepness, which assumes that places do not matter.

It weighs as much as a few dozen votes. With fewer votes, little bias is corrected, which favors the existing ranking.
"""

SIGNAL_PENALTY = 1.0
"""Penalty on half the squared slope of each signal: with few votes they explain little."""

GRADIENT_TOLERANCE = 1e-9
"""Largest gradient, for each vote, at which the optimum counts as found."""

MAX_NEWTON_STEPS, MAX_STEP_HALVINGS = 100, 60
"""Maximum number of Newton steps, and of halvings of a step that leads down; always enough."""


@dataclass(frozen=True, slots=True)
class PositionBias:
    """Position bias: how steeply attention falls from place to place.

    A reader looks at place k as often as at the first place, times k to the power of minus `steepness`.
    """

    steepness: float = 0.0

    def propensities(self, places: Rows) -> Floats:
        """Return how often each place is looked at, relative to the first place."""
        return np.asarray(places, dtype=np.float64) ** -self.steepness

    def inverse_propensities(self, places: Rows) -> Floats:
        """Return how many votes at the first place one vote at each place counts for."""
        return np.minimum(1.0 / self.propensities(places), MAX_INVERSE_PROPENSITY)


@dataclass(frozen=True, slots=True, eq=False)
class ConditionalLogit:
    """A conditional logit model of which shown memories got votes.

    For each shown memory it has the number of its context, its features, and the weight of its votes. The first feature
    is minus the logarithm of the place. A vote is a choice among the memories of a context; the probability of each is
    proportional to the exponential of its features times their slopes. `penalties` has the penalty of each slope.
    """

    contexts: Rows
    features: Floats
    weights: Floats
    penalties: Floats

    @classmethod
    def of(cls, contexts: Rows, places: Rows, opinions: Floats, weights: Floats) -> Self:
        """Build the model from contexts with votes; `opinions` has a row of values for each signal."""
        total = np.bincount(contexts, weights)
        rows = np.flatnonzero(total[contexts] > 0.0)
        return cls(
            contexts=np.unique(contexts[rows], return_inverse=True)[1],
            features=np.vstack([-np.log(places[rows]), opinions[:, rows]]),
            weights=weights[rows],
            penalties=np.append(POSITION_PENALTY, np.full(len(opinions), SIGNAL_PENALTY)),
        )

    def log_likelihood(self, slopes: Floats) -> float:
        """Return the penalized log-likelihood of the votes; it has a single maximum."""
        return float(self.weights @ self._log_probabilities(slopes) - self.penalties @ slopes**2 / 2.0)

    def gradient(self, slopes: Floats) -> Floats:
        """Return the gradient of the log-likelihood, which is zero at the maximum."""
        uphill: Floats = self.features @ (self.weights - self._expected_weights(slopes)) - self.penalties * slopes
        return uphill

    def newton_step(self, slopes: Floats) -> Floats:
        """Return the Newton step to the maximum of the local quadratic approximation."""
        expected, chances = self._expected_weights(slopes), np.exp(self._log_probabilities(slopes))
        means = np.array([np.bincount(self.contexts, chances * one) for one in self.features])
        centered = self.features - means[:, self.contexts]
        curvature = (centered * expected) @ centered.T + np.diag(self.penalties)
        return np.asarray(np.linalg.solve(curvature, self.gradient(slopes)), dtype=np.float64)

    def _log_probabilities(self, slopes: Floats) -> Floats:
        """Return the log-probability of each memory being chosen in its context."""
        heights = slopes @ self.features
        tops = np.full(int(self.contexts.max()) + 1, -np.inf)
        np.maximum.at(tops, self.contexts, heights)
        powers = np.exp(heights - tops[self.contexts])
        chances: Floats = heights - (tops + np.log(np.bincount(self.contexts, powers)))[self.contexts]
        return chances

    def _expected_weights(self, slopes: Floats) -> Floats:
        """Return the weight of votes expected for each memory."""
        total = np.asarray(np.bincount(self.contexts, self.weights), dtype=np.float64)
        expected: Floats = np.exp(self._log_probabilities(slopes)) * total[self.contexts]
        return expected


def fit_coefficients(choices: ConditionalLogit) -> Floats:
    """Return the slopes that explain the votes best, by Newton steps with halving.

    With many shown memories or a few outliers, a whole step may go too far, and the next one even further.
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


def fit_position_bias(contexts: Rows, places: Rows, opinions: Floats, weights: Floats) -> PositionBias:
    """Estimate the position bias from shown memories: their contexts, places and votes.

    `opinions` has a row of values for each signal. They keep quality apart from visibility: memories with similar
    values at different places show the effect of the place alone.
    """
    if not weights.any():
        return PositionBias()
    steepness, *_ = fit_coefficients(ConditionalLogit.of(contexts, places, opinions, weights))
    return PositionBias(float(np.clip(steepness, 0.0, MAX_STEEPNESS)))


FEEDBACK_NAME = "feedback"
"""The name of this training set in a report."""

VotedShowing = tuple[ShownMemory, float]
"""A shown memory, and the worth of the votes on it."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FeedbackTrainingSet:
    """The candidates of contexts, and the weight of each that was voted on.

    A context has one list of candidates for its positive votes and one for its negative votes; `starts` has the first
    row of each list. The positive list has all candidates: a memory that helped should rank above all others, shown or
    not. The negative list ends at the last place that got a vote: if a memory misled, the others that the reader looked
    at should have ranked higher, but nothing is known about those below. So replacing known memories with unknown ones
    gains nothing.
    `counts` is the gain of each judged candidate at the first place, and `queries` the question it belongs to. `groups`
    has a key for each question, which contains none of its text.
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
        """Return the gain of every question: on average 1 if all memories that helped are first.

        Misleading memories lower it.
        """
        scores, judged = score_candidates(self.opinions, numbers), self.rivals.judged
        gains = self.counts / np.log2(self.rivals.places(scores) + 1.0)
        gains[scores[judged] < self.min_score] = 0.0
        best = np.abs(self.counts).sum() / len(self.groups)
        return {WORTH_MEASURE: np.bincount(self.queries, gains, minlength=len(self.groups)) / best}

    def find_varied_signals(self) -> list[bool]:
        """Return whether each term, and then each factor, varies within any one context."""
        return find_varied_rows(self.opinions, self.starts)


def estimate_position_bias(experiences: Sequence[TrainingExample], votes: WeighedVotes) -> PositionBias:
    """Estimate how attention falls with position, from the votes on these contexts.

    Contexts without known places are left out.
    """
    placed = [one for one in experiences if one.has_all_places]
    rows = [(number, one, showing) for number, one in enumerate(placed) for showing in one.shown]
    worth = np.array([votes.worth_by_memory.get((one.context, showing.memory), 0.0) for _, one, showing in rows])
    return fit_position_bias(
        np.array([number for number, *_ in rows], dtype=np.intp),
        np.array([showing.place for *_, showing in rows], dtype=np.intp),
        np.array([one.opinions[:, showing.candidate] for _, one, showing in rows], dtype=np.float64).T,
        np.abs(worth),
    )


def build_feedback_training_set(
    experiences: Sequence[TrainingExample], votes: WeighedVotes, places: PositionBias, profile: Profile, *, seed: int
) -> FeedbackTrainingSet:
    """Build the training set; the seed decides which fold each question goes to."""
    numbers: dict[str, int] = {}
    opinions: list[Floats] = []
    counts: list[Floats] = []
    queries: list[int] = []
    for one in experiences:
        showings = [(showing, votes.worth_by_memory.get((one.context, showing.memory))) for showing in one.shown]
        voted = [(showing, worth) for showing, worth in showings if worth is not None]
        for candidates, worth in _candidate_lists(one, voted, places):
            opinions.append(one.opinions[:, candidates])
            counts.append(worth)
            queries.append(numbers.setdefault(_question_key(one, seed), len(numbers)))
    starts = np.cumsum([0, *(len(one) for one in counts)], dtype=np.intp)
    worth = np.concatenate([np.zeros(0), *counts])
    rivals = JudgedRows.of((worth != 0.0).astype(np.float64), starts)
    return FeedbackTrainingSet(
        source=_summarize_feedback(experiences, votes, len(numbers)),
        groups=tuple(numbers),
        min_score=profile.min_score,
        opinions=np.ascontiguousarray(np.hstack([np.zeros((len(profile.uses), 0)), *opinions])),
        starts=starts,
        rivals=rivals,
        counts=worth[rivals.judged],
        queries=np.array(queries, dtype=np.intp)[rivals.queries],
    )


def _candidate_lists(
    one: TrainingExample, voted: Sequence[VotedShowing], bias: PositionBias
) -> Iterator[tuple[Rows, Floats]]:
    """Yield the candidates for positive votes and for negative votes, with their weights.

    A list without votes is left out.
    """
    everything = np.arange(one.opinions.shape[1])
    examined = _examined_candidates(one, voted)
    counts = np.zeros(len(everything))
    for showing, value in voted:
        times = 1.0 if showing.place is None else bias.inverse_propensities(np.array([showing.place])).item()
        counts[showing.candidate] = value * times
    for candidates, worth in ((everything, np.maximum(counts, 0.0)), (examined, np.minimum(counts, 0.0)[examined])):
        if worth.any():
            yield candidates, worth


def _examined_candidates(one: TrainingExample, voted: Sequence[VotedShowing]) -> Rows:
    """Return the candidates down to the last place that got a vote.

    If places are not known, it returns only those with votes.
    """
    last = max((showing.place or 0 for showing, _ in voted), default=0)
    with_votes = {showing.candidate for showing, _ in voted}
    above = {showing.candidate for showing in one.shown if showing.place is not None and showing.place <= last}
    return np.array(sorted(with_votes | above), dtype=np.intp)


def _question_key(one: TrainingExample, seed: int) -> str:
    """Return a key that contexts share if their questions have the same terms.

    The caller does not matter. Contexts without a question, or without a term in it, share a key if they are of the
    same day.
    """
    terms = " ".join(tokenize("\n".join(one.question))) or f"{one.made_at.date()}"
    return hashlib.sha256(f"{seed}\n{terms}".encode("utf-8", "surrogatepass")).hexdigest()


def _summarize_feedback(
    experiences: Sequence[TrainingExample], votes: WeighedVotes, questions: int
) -> TrainingSetSummary:
    rows = sorted((context, memory, worth) for (context, memory), worth in votes.worth_by_memory.items())
    contexts = {context for context, *_ in rows}
    return TrainingSetSummary(
        name=FEEDBACK_NAME,
        digest=hashlib.sha256(repr(rows).encode()).hexdigest(),
        memories=len({memory for _, memory, _ in rows}),
        queries=questions,
        judgments=len(rows),
        scopes=len({one.scope for one in experiences if one.context in contexts}),
    )


MIN_QUESTIONS = 30
"""Minimum number of questions; with fewer, a confidence interval is too narrow."""

LEFT_OUT_DESCRIPTIONS: Mapping[SkipReason, str] = {
    SkipReason.OTHER_STORE: "made in another store",
    SkipReason.ONLY_FOLLOWED: "with only an outcome, which does not say which memories led to it",
    SkipReason.HAS_QUESTION: "with a question, which the profile does not use",
    SkipReason.NO_QUESTION: "without a question, which the profile needs",
    SkipReason.OTHER_PROFILE: "ranked by another profile",
    SkipReason.UNRECORDED: "that cannot be replayed without a language model",
}
"""Why contexts were left out, in words."""

OTHER_PROFILE_REMEDY = (
    "contexts of another profile say nothing about this one: give feedback on contexts of this profile, or tune the "
    "other one"
)
"""The remedy if contexts were left out because another profile ranked them."""

MAX_NAMED_SCOPES = 3
"""Maximum number of scopes named in a message."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FeedbackOrigin:
    """The result of tuning on feedback: the tuning, its contexts and the weighed votes.

    `unplaced_contexts` counts contexts without known places. `left_out` counts contexts that were not used, by reason.
    """

    held_by: ClassVar[Literal["question"]] = "question"
    measure: ClassVar[str] = "the worth of votes by place"
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
        """Describe how much feedback the tuning is based on."""
        questions, scopes = sum(one.queries for one in sources), sum(one.scopes for one in sources)
        contexts = format_count(self.contexts, "context")
        return f"{format_count(questions, 'question')} in {contexts} of {format_count(scopes, 'scope')}"


def tune_on_feedback(
    experiences: TrainingSet,
    profile: Profile,
    *,
    folds: int,
    seed: int,
    report_progress: ProgressListener,
    places: PositionBias | None = None,
) -> FeedbackOrigin:
    """Fit the profile to the votes on these contexts, with each question held out once.

    Numbers that have nothing in common with the present ones must be better by one standard error of the present worth,
    which is smaller with more feedback. Without `places`, the position bias is estimated from the votes.
    """
    examples = sorted(experiences.told, key=lambda one: one.sort_key)
    votes = weigh_votes(examples)
    bias = estimate_position_bias(examples, votes) if places is None else places
    training_set = build_feedback_training_set(examples, votes, bias, profile, seed=seed)
    if len(training_set.groups) < MIN_QUESTIONS:
        raise _too_few_questions_error(experiences, len(training_set.groups))
    values = training_set.measure(TunableNumbers.of(profile))[WORTH_MEASURE]
    error = float(np.std(values, ddof=1)) / math.sqrt(len(values))
    contexts = {context for context, _ in votes.worth_by_memory}
    return FeedbackOrigin(
        tuning=tune([training_set], profile, folds=folds, report_progress=report_progress, restraint=error),
        training_set=training_set,
        contexts=len(contexts),
        unplaced_contexts=sum(not one.has_all_places for one in examples if one.context in contexts),
        left_out=experiences.left_out,
        votes=votes,
        position_bias=bias,
        seed=seed,
    )


def describe_left_out(left_out: Mapping[SkipReason, int]) -> Iterator[str]:
    """Yield how many contexts were left out, reason by reason."""
    return (
        f"{format_count(count, 'context')} {LEFT_OUT_DESCRIPTIONS[why]}"
        for why in SkipReason
        if (count := left_out.get(why, 0))
    )


def _too_few_questions_error(experiences: TrainingSet, questions: int) -> InvalidInput:
    left_out = ", ".join(describe_left_out(experiences.left_out))
    scopes = ", ".join(make_printable(str(one)) for one in experiences.scopes[:MAX_NAMED_SCOPES])
    if len(experiences.scopes) > MAX_NAMED_SCOPES:
        scopes += f" and {len(experiences.scopes) - MAX_NAMED_SCOPES} more"
    counted = format_count(questions, "question")
    amount = f"there is feedback on {counted} in {scopes}{f' (left out: {left_out})' if left_out else ''}"
    remedy = OTHER_PROFILE_REMEDY if experiences.left_out.get(SkipReason.OTHER_PROFILE) else "give more"
    return InvalidInput(f"{amount}, but tuning needs at least {MIN_QUESTIONS}; {remedy}, or name more scopes")
