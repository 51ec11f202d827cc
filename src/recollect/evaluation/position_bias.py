"""Places: how much less a memory is looked at, the further down it stands."""

from dataclasses import dataclass
from typing import Self

import numpy as np

from recollect.model.table import Floats, Rows

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
