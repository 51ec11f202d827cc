"""Contexts that tests make up: by hand, or shown to simulated users who know what they want."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import numpy as np

from recollect.model.context import ShownMemory, Sign, TrainingExample, TrainingSet, Use, Vote
from recollect.model.memory import MemoryId
from recollect.model.scope import Scope
from recollect.model.table import Floats
from recollect.ranking.profile import Profile
from recollect.ranking.profile_toml import parse_profile

ANA = Scope.parse("acme/ana")
BEGAN = datetime(2026, 1, 5, 9, tzinfo=UTC)

PROFILE = """
about = "Rank by words, and by little else."
version = "1"
question = "needed"

[terms]
lexical = { weight = 0.6, missing = 0.0 }
recency = { weight = 0.2, missing = 0.5, half_life = "30d" }
importance = { weight = 0.1, missing = 0.5 }
confidence = { weight = 0.1, missing = 0.8 }
"""

WANTED = (0.3, 0.05, 0.6, 0.05)
"""What simulated users would have these weights be: what is important, before what has the words."""


def profile(name: str = "plain") -> Profile:
    """The profile by which simulated users are shown memories."""
    return parse_profile(PROFILE, name=name)


def a_vote(context: str, memory: str, use: Use = Use.HELPED, *, by: str = "acme/ana", minutes: int = 0) -> Vote:
    """A vote, cast so many minutes after all began."""
    at = BEGAN + timedelta(minutes=minutes)
    return Vote(context=context, memory=MemoryId(memory), by=by, use=use, at=at)


def an_experience(
    context: str = "c",
    opinions: Sequence[Sequence[float]] = ((0.9, 0.5, 0.1),),
    *,
    shown: Sequence[int] = (0, 1),
    votes: Sequence[Vote] = (),
    signs: Sequence[Sign] = (),
    question: tuple[str, ...] = ("which seat?",),
    scope: Scope = ANA,
    days: int = 0,
    name: str = "m",
) -> TrainingExample:
    """A context with opinions by signal, in which these were shown in this order, called m0, m1 and so on."""
    return TrainingExample(
        context=context,
        scope=scope,
        question=question,
        made_at=BEGAN + timedelta(days=days),
        opinions=np.array(opinions, dtype=np.float64),
        shown=tuple(ShownMemory(MemoryId(f"{name}{one}"), place, one) for place, one in enumerate(shown, start=1)),
        votes=tuple(votes),
        signs=tuple(signs),
    )


def told(experiences: Sequence[TrainingExample]) -> TrainingSet:
    """These contexts, as they are looked at for a scope."""
    return TrainingSet(scopes=(ANA,), told=tuple(experiences))


@dataclass(frozen=True, slots=True, kw_only=True)
class Users:
    """People who look at what stands k-th with chance k to the power of minus `steepness`, and say what they find.

    What they find useful goes by `wanted`, if there is anything that they want; else it is chance. They are shown what
    is best `by` these weights.
    """

    steepness: float = 1.0
    wanted: tuple[float, ...] | None = WANTED
    by: tuple[float, ...] = (0.6, 0.2, 0.1, 0.1)
    candidates: int = 60
    shown: int = 10

    def asked(self, seed: int, contexts: int) -> list[TrainingExample]:
        """So many contexts, each with what somebody says of it."""
        dice = np.random.default_rng(seed)
        return [self._asked(dice, number) for number in range(contexts)]

    def _asked(self, dice: np.random.Generator, number: int) -> TrainingExample:
        opinions = self.opinions(dice)
        best = np.argsort(-(np.array(self.by) @ opinions), kind="stable")[: self.shown]
        useful = self.useful(opinions)
        context, name = f"c{number}", f"m{number}-"
        votes: list[Vote] = []
        for place, one in enumerate(best.tolist(), start=1):
            if dice.random() < place**-self.steepness:
                helps = dice.random() < useful[one]
                if dice.random() < (0.6 if helps else 0.2):
                    votes.append(a_vote(context, f"{name}{one}", Use.HELPED if helps else Use.MISLED))
        asked = (f"question {number}",)
        return an_experience(context, opinions.tolist(), shown=best.tolist(), votes=votes, question=asked, name=name)

    def opinions(self, dice: np.random.Generator) -> Floats:
        """What four signals say of candidates."""
        size = self.candidates
        stated = [dice.choice(some, size) for some in ((0.2, 0.5, 0.55, 0.7, 0.9), (0.5, 0.7, 0.8, 1.0))]
        return np.array([dice.beta(1.5, 4.0, size), dice.random(size), *stated])

    def useful(self, opinions: Floats) -> Floats:
        """How likely each of the candidates helps: about the best tenth do, by what is wanted."""
        if self.wanted is None:
            return np.full(opinions.shape[1], 0.3)
        worth = np.array(self.wanted) @ opinions
        return 1.0 / (1.0 + np.exp((np.quantile(worth, 0.9) - worth) / 0.05))

    def content(self, numbers: tuple[float, ...], seed: int, questions: int) -> Floats:
        """nDCG@10 of weights on fresh questions, by how useful each memory truly is."""
        dice = np.random.default_rng(seed)
        return np.array([self._content(self.opinions(dice), numbers) for _ in range(questions)])

    def _content(self, opinions: Floats, numbers: tuple[float, ...]) -> float:
        useful = self.useful(opinions)
        discounts = 1.0 / np.log2(np.arange(2, self.shown + 2))
        order = np.argsort(-(np.array(numbers) @ opinions), kind="stable")[: self.shown]
        return float(useful[order] @ discounts / (np.sort(useful)[::-1][: self.shown] @ discounts))
