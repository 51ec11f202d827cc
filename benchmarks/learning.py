"""Simulated people who know what they want say what helped them: is it learned, and is nothing learned from noise?

scripts/bench learning --contexts 300 --seeds 10 --noise 100
"""

import argparse
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import numpy as np

import recollect
from recollect.evaluation.feedback_data import FeedbackOrigin, PositionBias, tune_on_feedback
from recollect.evaluation.measures import bootstrap_intervals, compare_paired
from recollect.evaluation.training_set import TunableNumbers
from recollect.model.context import TrainingSet
from recollect.model.table import Floats
from recollect.packing.pack import Context
from recollect.protocols import ignore_progress
from recollect.ranking.profile import Profile
from recollect.ranking.profile_toml import parse_profile

SCOPES = ("acme/ana", "acme/ben")
PEOPLE = 5
"""How many people of each scope say what helped."""

MEMORIES = 120
SHOWN = 10
FRESH = 100
"""On how many questions that nobody asked before it is looked at what people get."""

BEGAN = datetime(2026, 3, 2, 9, tzinfo=UTC)

PROFILE = """
about = "{about}"
version = "1"
question = "needed"

[terms]
relevance = {{ weight = {0}, missing = 0.0 }}
recency = {{ weight = {1}, missing = 0.5, half_life = "30d" }}
importance = {{ weight = {2}, missing = 0.5 }}
confidence = {{ weight = {3}, missing = 0.8 }}
"""

START = parse_profile(PROFILE.format(0.6, 0.2, 0.1, 0.1, about="What people are shown by."), name="start")
WANTED = parse_profile(
    PROFILE.format(0.3, 0.05, 0.6, 0.05, about="What people want: what is important."), name="wanted"
)

HARDLY, BLUR = 0.9, 0.05
"""Which share of the memories is of hardly any use for a question, by what people want; and how soon others are."""

SAYS_HELPED, SAYS_MISLED, CHANCE = 0.6, 0.2, 0.3
"""How often somebody who looked at a memory says so; and how often one helps whom nothing helps but by chance."""

SUBJECTS = ("seats", "meals", "hotels", "trains", "invoices", "visas", "luggage", "miles", "gates", "lounges")
DEEDS = ("booked", "changed", "wanted", "paid for", "disliked", "compared", "cancelled", "noted")
THINGS = ("window", "aisle", "late", "early", "cheap", "quiet", "vegan", "direct", "flexible", "corporate", "shared")


@dataclass(frozen=True, slots=True)
class People:
    """Whoever is shown what a real engine recalls and says what helped, if they saw it.

    What stands k-th in the text is looked at with chance k to the power of minus `steepness`. Of those to whom nothing
    `matters`, it is chance what helps.
    """

    seed: int
    steepness: float
    matters: bool = True


class Life:
    """Two scopes with their memories in an engine of their own, and the people who ask."""

    def __init__(self, people: People) -> None:
        self._people = people
        self._dice = np.random.default_rng(people.seed)
        self._now = BEGAN
        settings = {"truth": {"derive_subject": False}}
        self.engine = recollect.open(":memory:", embedder="hashing", clock=lambda: self._now, settings=settings)
        for scope in SCOPES:
            self.engine.remember_all([self._draft(number) for number in range(MEMORIES)], scope=scope)

    def _draft(self, number: int) -> dict[str, object]:
        dice = self._dice
        words = " ".join(dice.choice(THINGS, 3, replace=False))
        return {
            "text": f"{dice.choice(DEEDS)} {words} {dice.choice(SUBJECTS)}, note {number}",
            "kind": "fact",  # of one kind, so that the text goes by rank: what is seen first is what ranked first
            "importance": float(dice.choice([0.2, 0.5, 0.55, 0.7, 0.9])),
            "confidence": float(dice.choice([0.5, 0.7, 0.8, 1.0])),
            "at": BEGAN - timedelta(days=int(dice.integers(1, 120))),
        }

    def question(self) -> str:
        """Something to ask, which is hardly ever asked twice."""
        dice = self._dice
        words = " ".join(dice.choice(THINGS, 2, replace=False))
        return f"who {dice.choice(DEEDS)} {words} {' or '.join(dice.choice(SUBJECTS, 2, replace=False))}?"

    def ask(self, contexts: int, profile: Profile = START) -> None:
        """Have so many contexts made by a profile and judged, an hour after each other."""
        for number in range(contexts):
            self._now += timedelta(hours=1)
            scope, budget = SCOPES[number % len(SCOPES)], recollect.Budget(4_000, items=SHOWN)
            context = self.engine.recall(self.question(), scope=scope, profile=profile, tokens=budget)
            self._judge(context, self.useful(context.ranking), scope)

    def useful(self, ranking: recollect.Ranking) -> dict[str, float]:
        """How likely each memory helps, of all that there are, by what people would have had them ranked by."""
        if not self._people.matters:
            return {scored.id: CHANCE for scored in ranking}
        weights = np.array([term.weight for term in WANTED.terms])
        worth = np.array([scored.explanation.opinions for scored in ranking]) @ weights
        chances = 1.0 / (1.0 + np.exp((np.quantile(worth, HARDLY) - worth) / BLUR))
        return {scored.id: float(chance) for scored, chance in zip(ranking, chances, strict=True)}

    def _judge(self, context: Context, useful: dict[str, float], scope: str) -> None:
        """Somebody reads the text from its beginning, and says what they find."""
        dice, said = self._dice, dict[bool, list[str]]({True: [], False: []})
        read = sorted(context.packed, key=lambda scored: context.text.index(scored.memory.text))
        for place, scored in enumerate(read, start=1):
            looked, helps, speaks = dice.random(3)
            helped = helps < useful[scored.id]
            if looked < place**-self._people.steepness and speaks < (SAYS_HELPED if helped else SAYS_MISLED):
                said[bool(helped)].append(scored.id)
        by = f"{scope} {dice.integers(PEOPLE)}"
        if any(said.values()):
            self.engine.feedback(context.id or "", scope=scope, helped=said[True], misled=said[False], by=by)

    def learned(self, places: PositionBias | None = None, start: Profile = START) -> FeedbackOrigin:
        """What is learned from all that was said, beginning with a profile; places are found, unless they are given."""
        told = TrainingSet.merge(
            [self.engine.contexts.training_examples(scope=scope, profile=start) for scope in SCOPES]
        )
        return tune_on_feedback(told, start, folds=5, seed=0, report_progress=ignore_progress, places=places)

    def content(self, profiles: Sequence[Profile]) -> list[Floats]:
        """nDCG of what each profile shows for fresh questions, by how likely each memory helps."""
        asked = [(self.question(), SCOPES[number % len(SCOPES)]) for number in range(FRESH)]
        wanted = [
            self.useful(self.engine.search(question, scope=scope, profile=START, limit=MEMORIES))
            for question, scope in asked
        ]

        def gained(profile: Profile, question: str, scope: str, useful: dict[str, float]) -> float:
            ranking = self.engine.search(question, scope=scope, profile=profile, limit=SHOWN)
            discounts = 1.0 / np.log2(np.arange(2, SHOWN + 2))
            best = np.sort(list(useful.values()))[::-1][:SHOWN]
            return float(np.array([useful[scored.id] for scored in ranking]) @ discounts / (best @ discounts))

        return [
            np.array([gained(profile, *one, useful) for one, useful in zip(asked, wanted, strict=True)])
            for profile in profiles
        ]


def measure(steepness: float, contexts: int, seeds: int) -> None:
    """What people get before and after, over several lives; and if nobody made up for places."""
    rows: dict[str, list[Floats]] = {name: [] for name in ("before", "after", "uncorrected")}
    written, found, weights = {"after": 0, "uncorrected": 0}, list[float](), list[tuple[float, ...]]()
    began = time.perf_counter()
    for seed in range(seeds):
        life = Life(People(seed, steepness))
        life.ask(contexts)
        ways = {"after": life.learned(), "uncorrected": life.learned(PositionBias())}
        for name, one in ways.items():
            written[name] += one.tuning.carries_over
        profiles = [START, *(one.tuning.numbers.apply_to(START) for one in ways.values())]
        for name, values in zip(rows, life.content(profiles), strict=True):
            rows[name].append(values)
        found.append(ways["after"].position_bias.steepness)
        weights.append(ways["after"].tuning.numbers.weights)
        life.engine.close()
    before, after, uncorrected = (np.concatenate(rows[name]) for name in rows)
    gain, more = compare_paired(before.tolist(), after.tolist()), compare_paired(uncorrected.tolist(), after.tolist())
    told = ", ".join(f"{one:.2f}" for one in np.mean(weights, axis=0))
    print(
        f"steepness {steepness:g}, {contexts} contexts, {seeds} seeds: "
        f"nDCG@{SHOWN} {_shown(before)} -> {_shown(after)}, "
        f"gain {gain.mean:+.3f} [{gain.interval.low:+.3f}, {gain.interval.high:+.3f}]; "
        f"over uncorrected {more.mean:+.3f} [{more.interval.low:+.3f}, {more.interval.high:+.3f}]; "
        f"written {written['after']}/{seeds} (uncorrected {written['uncorrected']}/{seeds}); "
        f"steepness found {np.mean(found):.2f} ± {np.std(found):.2f}; weights {told}; "
        f"{(time.perf_counter() - began) / seeds:.1f} s a seed",
        flush=True,
    )


def again(steepness: float, contexts: int, seeds: int) -> None:
    """What people get and which weights there are after learning once, and after as many contexts more once more.

    What would not be written is not used: then the profile stays as it is.
    """
    rows: dict[str, list[Floats]] = {name: [] for name in ("before", "once", "twice")}
    weights: dict[str, list[tuple[float, ...]]] = {name: [] for name in rows}
    written = {"once": 0, "twice": 0}
    for seed in range(seeds):
        life, profiles = Life(People(seed, steepness)), [START]
        for name in written:
            life.ask(contexts, profiles[-1])
            tuning = life.learned(start=profiles[-1]).tuning
            written[name] += tuning.carries_over
            profiles.append(tuning.numbers.apply_to(profiles[-1]) if tuning.carries_over else profiles[-1])
        for name, profile, values in zip(rows, profiles, life.content(profiles), strict=True):
            rows[name].append(values)
            weights[name].append(TunableNumbers.of(profile).weights)
        life.engine.close()
    for name, several in weights.items():
        told = ", ".join(f"{one:.2f}" for one in np.mean(several, axis=0))
        print(
            f"again, steepness {steepness:g}, {contexts} contexts each, {seeds} seeds: {name} "
            f"nDCG@{SHOWN} {_shown(np.concatenate(rows[name]))}; weights {told}; "
            f"written {written.get(name, 0)}/{seeds}",
            flush=True,
        )


def noise(steepness: float, contexts: int, seeds: int) -> None:
    """How often anything would be written, and how far weights went, where what helps is chance."""
    written, apart = 0, list[float]()
    for seed in range(seeds):
        life = Life(People(1_000 + seed, steepness, matters=False))
        life.ask(contexts)
        tuning = life.learned().tuning
        written += tuning.carries_over
        apart.append(tuning.numbers.distance_to(TunableNumbers.of(START)) if tuning.carries_over else 0.0)
        life.engine.close()
    print(
        f"noise, steepness {steepness:g}, {contexts} contexts: written {written} of {seeds}, "
        f"of the weights {np.mean(apart):.3f} went elsewhere",
        flush=True,
    )


def _shown(values: Floats) -> str:
    (interval,) = bootstrap_intervals(values[:, None].tolist())
    return f"{values.mean():.3f} [{interval.low:.3f}, {interval.high:.3f}]"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--contexts", type=int, default=300, help="how many contexts are made and judged")
    parser.add_argument("--seeds", type=int, default=3, help="over how many lives")
    parser.add_argument("--noise", type=int, default=10, help="over how many lives in which what helps is chance")
    parser.add_argument("--again", type=int, default=2, help="over how many lives it is learned once more")
    wanted = parser.parse_args()
    for steepness in (0.0, 1.0, 1.5) if wanted.seeds else ():
        measure(steepness, wanted.contexts, wanted.seeds)
    if wanted.again:
        again(1.0, wanted.contexts, wanted.again)
    for steepness in (0.0, 1.0) if wanted.noise else ():
        noise(steepness, wanted.contexts, wanted.noise)


if __name__ == "__main__":
    main()
