"""Figures: what a profile came to over all queries of a folder, and over those of a category."""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta

from recollect.evaluation.intervals import Difference, Interval, bootstrap, compare
from recollect.evaluation.judgments import Query
from recollect.evaluation.measures import Twins, names, quantile, recall, scores

CURVE = 50
"""Up to which k the curve of recall goes."""

USUAL = 10
"""The k that queries are sorted by, if it is asked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What came of one query: ids of the folder, one for each memory that was found, best first, and how long it took.

    `twins` are the judged ids that are found where another one is, with that one, and `replaced` those whose words a
    later memory had replaced by then, which are not found. `tokens` is the budget with which
    packing in rank order has packed every judged memory that is within reach, `None` if none is; `complete` if that is
    all that was judged.
    """

    query: Query
    found: tuple[str, ...]
    tokens: int | None
    complete: bool
    took: timedelta
    exact: bool = True
    twins: Twins = field(default_factory=dict[str, str], hash=False)
    replaced: tuple[str, ...] = ()

    def scores(self, ks: Sequence[int]) -> dict[str, float]:
        """Every measure of what was found, by its name."""
        return scores(self.found, self.query.grades, ks, self.twins)

    def place(self, id: str) -> int | None:
        """The place at which a judged memory was found, from 1; none if it was not."""
        ranked = self.twins.get(id, id)
        return self.found.index(ranked) + 1 if ranked in self.found else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Tokens:
    """The budgets that queries need, over the `reached` of them that have any judged memory within reach.

    `complete` counts those whose judged memories are all within reach.
    """

    median: int | None
    p95: int | None
    reached: int
    complete: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """The means of all measures with their intervals, the tokens needed and the time taken."""

    queries: int
    means: Mapping[str, float] = field(hash=False)
    intervals: Mapping[str, Interval] = field(hash=False)
    tokens: Tokens
    p50: timedelta
    p95: timedelta


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """All that is to be said of one profile: the figures, those of each category, and each query's own measures.

    `k` is the one that queries are sorted by, and the only one where there is no room for all. `curve` is the mean
    recall among the first 1, 2, 3, ….
    """

    profile: str
    version: str
    depth: int
    ks: tuple[int, ...]
    answers: tuple[Answer, ...]
    scores: tuple[Mapping[str, float], ...] = field(hash=False)
    whole: Figures
    categories: Mapping[str, Figures] = field(hash=False)
    curve: tuple[float, ...]

    @property
    def k(self) -> int:
        return USUAL if USUAL in self.ks else self.ks[-1]

    @property
    def category_means(self) -> dict[str, float]:
        """Every measure as the mean over categories, each of which counts the same however many queries it has."""
        categories = self.categories.values()
        return {name: statistics.fmean(one.means[name] for one in categories) for name in self.whole.means}

    @property
    def exact(self) -> bool:
        return all(answer.exact for answer in self.answers)

    def worst(self, most: int) -> list[Answer]:
        """The answers that found least, the least first."""

        def order(place: int) -> tuple[float, float, float, str]:
            values = self.scores[place]
            return (
                values[f"recall@{self.k}"],
                values[f"ndcg@{self.k}"],
                values["mrr"],
                self.answers[place].query.id,
            )

        places = sorted(range(len(self.answers)), key=order)
        lacking = [place for place in places if self.scores[place][f"recall@{self.k}"] < 1.0]
        return [self.answers[place] for place in lacking[:most]]


def outcome(profile: str, version: str, depth: int, answers: Sequence[Answer], ks: Sequence[int]) -> Outcome:
    """What the answers come to."""
    each = [answer.scores(ks) for answer in answers]
    categories = sorted({answer.query.category for answer in answers})

    def of(category: str) -> Figures:
        places = [place for place, answer in enumerate(answers) if answer.query.category == category]
        return _figures([answers[place] for place in places], [each[place] for place in places], ks)

    return Outcome(
        profile=profile,
        version=version,
        depth=depth,
        ks=tuple(ks),
        answers=tuple(answers),
        scores=tuple(each),
        whole=_figures(answers, each, ks),
        categories={category: of(category) for category in categories},
        curve=tuple(
            statistics.fmean(recall(answer.found, answer.query.grades, k, answer.twins) for answer in answers)
            for k in range(1, min(CURVE, depth) + 1)
        ),
    )


def _figures(answers: Sequence[Answer], each: Sequence[Mapping[str, float]], ks: Sequence[int]) -> Figures:
    measured = names(ks)
    intervals = bootstrap([[values[name] for name in measured] for values in each])
    took = [answer.took / timedelta(microseconds=1) for answer in answers]
    return Figures(
        queries=len(answers),
        means={name: statistics.fmean(values[name] for values in each) for name in measured},
        intervals=dict(zip(measured, intervals, strict=True)),
        tokens=_tokens(answers),
        p50=timedelta(microseconds=quantile(took, 0.5)),
        p95=timedelta(microseconds=quantile(took, 0.95)),
    )


def _tokens(answers: Sequence[Answer]) -> Tokens:
    needed = [answer.tokens for answer in answers if answer.tokens is not None]
    return Tokens(
        median=quantile(needed, 0.5) if needed else None,
        p95=quantile(needed, 0.95) if needed else None,
        reached=len(needed),
        complete=sum(answer.complete for answer in answers),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """What the second of two profiles gains over the first, measure by measure, on the same queries."""

    one: str
    other: str
    differences: Mapping[str, Difference] = field(hash=False)


def comparison(one: Outcome, other: Outcome) -> Comparison:
    """The two outcomes, query by query; any@k says nothing that recall@k does not."""
    compared = [name for name in names(one.ks) if not name.startswith("any")]
    differences = {
        name: compare([values[name] for values in one.scores], [values[name] for values in other.scores])
        for name in compared
    }
    return Comparison(one=one.profile, other=other.profile, differences=differences)
