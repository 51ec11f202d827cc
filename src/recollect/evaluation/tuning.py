"""Tuning: finds the weights and floors that rank best, and measures them on held-out data.

The search uses fixed steps from a fixed start, so the same training sets and profile give the same numbers.
"""

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from recollect.errors import InvalidInput
from recollect.evaluation.measures import MeanDifference, compare_paired
from recollect.evaluation.training_set import (
    HeldOutGroup,
    MeasuredValues,
    TrainingSet,
    TunableNumbers,
    equalize,
    mean_of_means,
)
from recollect.model.format import format_count
from recollect.model.table import Floats
from recollect.protocols import ProgressListener
from recollect.ranking.profile import Profile

WEIGHT_FACTORS = (8.0, 4.0, 2.0, 1.5, 1.2, 1.1)
"""Factors by which a weight is raised or lowered, coarse first; small steps follow."""

FLOOR_CHANGES = (0.4, 0.3, 0.2, 0.1, 0.05, 0.02)
"""Steps by which a floor is raised or lowered in the same rounds."""

GAIN_TOLERANCE = 1e-9
"""Gains up to this size are rounding errors of sums."""

MIN_GAIN = 0.0002
"""The gain that a step needs: less than one query is worth in any folder fit for tuning."""

MIN_WEIGHT = 0.001
"""Lower limit of a weight, so that a signal these folders do not need stays visible."""

MIN_FLOOR_PRODUCT = 0.5
"""Lower limit of the product of all floors; otherwise factors could hide a good memory."""

PARTS_PER_UNIT = 10_000
"""Numbers of a tuned profile are rounded to one part in this many."""

MAX_FOLD_RATIO, MAX_FOLD_DIFFERENCE = 2.0, 0.05
"""Folds disagree on a number if it differs by at least this ratio and this difference.

Any two of five folds are fitted with three fifths of the queries in common, so a real effect is similar in both. A
ratio of two is a whole coarse step, so the search found another optimum. A difference below a twentieth of the score
hardly changes the order, whatever the ratio is.
"""

QueryMasks = tuple[NDArray[np.bool_], ...]
"""For each training set, a mask that selects some of its queries."""

HeldOutGroups = tuple[tuple[int, HeldOutGroup], ...]
"""Groups of queries, each with the index of its training set."""


@dataclass(frozen=True, slots=True)
class TunablePlaces:
    """The terms and factors that tuning may change, by index."""

    terms: tuple[int, ...]
    factors: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Fold:
    """One fold: the held-out groups, the numbers fitted to the others, and their worth here.

    `before` is the worth of the start numbers on the held-out queries, `after` that of the fitted ones.
    """

    held_out_groups: HeldOutGroups
    queries: int
    numbers: TunableNumbers
    before: float
    after: float


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Tuning:
    """The result of tuning: the numbers, and the values of every query before and after.

    `held_out` has the values of each query with the numbers of the fold that held it out: what to expect of unseen
    queries. `after` has the values with the numbers fitted to all queries.
    """

    profile: Profile
    tunable: TunablePlaces
    numbers: TunableNumbers
    folds: tuple[Fold, ...]
    before: MeasuredValues = field(repr=False)
    held_out: MeasuredValues = field(repr=False)
    after: MeasuredValues = field(repr=False)
    gain: MeanDifference
    """The gain on held-out queries; each folder counts the same."""

    @property
    def changed(self) -> bool:
        """Whether any number changed."""
        return self.numbers != TunableNumbers.of(self.profile)

    @property
    def carries_over(self) -> bool:
        """Whether held-out queries gain more than chance may explain."""
        return self.changed and self.gain.interval.low > GAIN_TOLERANCE

    @property
    def untuned_signals(self) -> tuple[str, ...]:
        """Signals without any variation in the data, whose numbers were left unchanged."""
        free = {self.profile.terms[place].signal.name for place in self.tunable.terms}
        free |= {self.profile.factors[place].signal.name for place in self.tunable.factors}
        return tuple(use.signal.name for use in self.profile.uses if use.signal.name not in free)


class NumberSearch:
    """Computes and caches the worth of numbers over several training sets.

    `restraint` is the penalty on numbers that have nothing in common with the start.
    """

    def __init__(self, folders: Sequence[TrainingSet], start: TunableNumbers, restraint: float = 0.0) -> None:
        self._folders = folders
        self._start = start
        self._restraint = restraint
        self._known: dict[TunableNumbers, MeasuredValues] = {}

    @property
    def all_queries(self) -> QueryMasks:
        """A mask with all queries of all training sets."""
        return tuple(np.ones(len(one.groups), dtype=np.bool_) for one in self._folders)

    def values(self, numbers: TunableNumbers) -> MeasuredValues:
        """Return the values of every query with these numbers."""
        if numbers not in self._known:
            measured = [one.measure(numbers) for one in self._folders]
            self._known[numbers] = MeasuredValues({name: tuple(one[name] for one in measured) for name in measured[0]})
        return self._known[numbers]

    def worth(self, numbers: TunableNumbers, among: QueryMasks) -> float:
        """Return the worth of numbers on some queries; each folder counts the same.

        Folders without any of the queries do not count.
        """
        values = self.values(numbers).worth
        return mean_of_means([one[mask] for one, mask in zip(values, among, strict=True)])

    def penalized_worth(self, numbers: TunableNumbers, among: QueryMasks) -> float:
        """Return the worth, less the penalty for the distance from the start."""
        return self.worth(numbers, among) - self._restraint * numbers.distance_to(self._start)


def tune(
    folders: Sequence[TrainingSet],
    profile: Profile,
    *,
    folds: int,
    report_progress: ProgressListener,
    restraint: float = 0.0,
) -> Tuning:
    """Fit the profile once without each fold, and then to all queries."""
    start, free = TunableNumbers.of(profile), find_tunable(folders, profile)
    search = NumberSearch(folders, start, restraint)
    fold_groups = deal_folds([one.groups for one in folders], folds)
    masks = [_select_queries(folders, groups) for groups in fold_groups]
    fitted: list[TunableNumbers] = []
    report_progress(0, len(fold_groups) + 1)
    for mask in masks:
        others = tuple(~one for one in mask)
        fitted.append(fit_numbers(partial(search.penalized_worth, among=others), start, free))
        report_progress(len(fitted), len(fold_groups) + 1)
    final = fit_numbers(partial(search.penalized_worth, among=search.all_queries), start, free)
    numbers = start if final == start else round_numbers(final)
    report_progress(len(fold_groups) + 1, len(fold_groups) + 1)

    before, held_out = search.values(start), _join_folds([search.values(one) for one in fitted], masks)
    return Tuning(
        profile=profile,
        tunable=free,
        numbers=numbers,
        folds=tuple(
            Fold(
                held_out_groups=groups,
                queries=sum(int(np.count_nonzero(one)) for one in mask),
                numbers=fold_numbers,
                before=search.worth(start, mask),
                after=search.worth(fold_numbers, mask),
            )
            for groups, fold_numbers, mask in zip(fold_groups, fitted, masks, strict=True)
        ),
        before=before,
        held_out=held_out,
        after=search.values(numbers),
        gain=compare_paired(equalize(before.worth).tolist(), equalize(held_out.worth).tolist()),
    )


def find_tunable(folders: Sequence[TrainingSet], profile: Profile) -> TunablePlaces:
    """Return the terms with a weight, and the factors, that vary within a query of any folder."""
    varied = [any(flags) for flags in zip(*(one.find_varied_signals() for one in folders), strict=True)]
    terms = [place for place, term in enumerate(profile.terms) if term.weight > 0.0 and varied[place]]
    factors = [place for place in range(len(profile.factors)) if varied[len(profile.terms) + place]]
    return TunablePlaces(tuple(terms), tuple(factors))


def deal_folds(groups: Sequence[Sequence[HeldOutGroup]], folds: int) -> list[HeldOutGroups]:
    """Deal whole groups of queries into folds; fewer folds if there are fewer groups.

    The largest groups are dealt first, each to the fold that has least of its folder.
    """
    sizes = {(place, group): size for place, some in enumerate(groups) for group, size in Counter(some).items()}
    if len(sizes) < 2:
        raise InvalidInput(
            f"the queries have only {format_count(len(sizes), 'scope')}, "
            "and whole scopes are held out; tune with more scopes"
        )
    fold_groups: list[list[tuple[int, HeldOutGroup]]] = [[] for _ in range(min(folds, len(sizes)))]
    loads = [Counter[int]() for _ in fold_groups]
    for place, group in sorted(sizes, key=lambda one: (-sizes[one], one[0], str(one[1]))):
        emptiest = min(range(len(fold_groups)), key=lambda fold: (loads[fold][place], loads[fold].total(), fold))
        fold_groups[emptiest].append((place, group))
        loads[emptiest][place] += sizes[place, group]
    return [tuple(sorted(groups, key=lambda one: (one[0], str(one[1])))) for groups in fold_groups if groups]


def fit_numbers(worth: Callable[[TunableNumbers], float], start: TunableNumbers, free: TunablePlaces) -> TunableNumbers:
    """Hill-climb from the start, one number at a time, while each change gains enough."""
    best, best_worth = start, worth(start)
    for step in range(len(WEIGHT_FACTORS)):
        improved = True
        while improved:
            improved = False
            for changes in _neighbor_changes(free, step):
                neighbors = (other for change in changes if (other := change(best)) is not None)
                candidate = max(neighbors, key=worth, default=best)
                candidate_worth = worth(candidate)
                if candidate_worth - best_worth >= MIN_GAIN:
                    best, best_worth, improved = candidate, candidate_worth, True
    return best


NumberChange = Callable[[TunableNumbers], TunableNumbers | None]
"""Returns changed numbers, or None if a limit is reached."""


def _neighbor_changes(free: TunablePlaces, step: int) -> list[tuple[NumberChange, NumberChange]]:
    """Return the two changes of each number for this step, one in each direction."""
    by, off = WEIGHT_FACTORS[step], FLOOR_CHANGES[step]
    weights = [(_scale_weight(free, place, by), _scale_weight(free, place, 1.0 / by)) for place in free.terms]
    return [*weights, *((_shift_floor(place, -off), _shift_floor(place, off)) for place in free.factors)]


def _scale_weight(free: TunablePlaces, place: int, by: float) -> NumberChange:
    """Return a change that multiplies one weight and keeps the sum of the tunable weights."""

    def change(numbers: TunableNumbers) -> TunableNumbers | None:
        total = math.fsum(numbers.weights[one] for one in free.terms)
        raised = {one: numbers.weights[one] * (by if one == place else 1.0) for one in free.terms}
        scale = total / math.fsum(raised.values())
        if len(raised) < 2 or min(raised.values()) * scale < MIN_WEIGHT:
            return None
        weights = [raised[one] * scale if one in raised else old for one, old in enumerate(numbers.weights)]
        return replace(numbers, weights=tuple(weights))

    return change


def _shift_floor(place: int, by: float) -> NumberChange:
    """Return a change that raises or lowers one floor."""

    def change(numbers: TunableNumbers) -> TunableNumbers | None:
        floors = list(numbers.floors)
        floors[place] = min(max(floors[place] + by, 0.0), 1.0)
        lower = by < 0.0 and math.prod(floors) < MIN_FLOOR_PRODUCT
        return None if lower or floors[place] == numbers.floors[place] else replace(numbers, floors=tuple(floors))

    return change


def round_numbers(numbers: TunableNumbers) -> TunableNumbers:
    """Round the numbers to four digits; the rounded weights add up to 1.

    The remainder of the sum goes to the weights that lost most by rounding.
    """
    shares = [weight * PARTS_PER_UNIT for weight in numbers.weights]
    parts = [math.floor(share + PART_TOLERANCE) for share in shares]
    by_loss = sorted(range(len(shares)), key=lambda place: (parts[place] - shares[place], place))
    for place in by_loss[: PARTS_PER_UNIT - sum(parts)]:
        parts[place] += 1
    return TunableNumbers(
        tuple(part / PARTS_PER_UNIT for part in parts),
        tuple(round(floor * PARTS_PER_UNIT) / PARTS_PER_UNIT for floor in numbers.floors),
    )


PART_TOLERANCE = 1e-6
"""How far below a whole number of parts a share may be and still count as whole."""


def folds_agree(folds: Sequence[float]) -> bool:
    """Return whether the folds found about the same number."""
    low, high = min(folds), max(folds)
    return high < MAX_FOLD_RATIO * low or high - low < MAX_FOLD_DIFFERENCE


def _select_queries(folders: Sequence[TrainingSet], groups: HeldOutGroups) -> QueryMasks:
    """Return a mask of the queries that are in these groups."""
    selected = set(groups)
    return tuple(
        np.array([(place, group) in selected for group in one.groups], dtype=np.bool_)
        for place, one in enumerate(folders)
    )


def _join_folds(values: Sequence[MeasuredValues], among: Sequence[QueryMasks]) -> MeasuredValues:
    """Return the values of every query, taken from the fold that holds it out."""

    def join(each: Sequence[tuple[Floats, ...]]) -> tuple[Floats, ...]:
        return tuple(
            np.sum([np.where(mask, one, 0.0) for one, mask in zip(folds, masks, strict=True)], axis=0)
            for folds, masks in zip(zip(*each, strict=True), zip(*among, strict=True), strict=True)
        )

    return MeasuredValues({name: join([one.measures[name] for one in values]) for name in values[0].measures})
