"""Tuning: the weights and floors of a profile that find most in some material, and what that is worth elsewhere.

Everything is a search by fixed steps from fixed beginnings: the same material and profile give the same numbers.
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
from recollect.evaluation.runner import ProgressCallback
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
from recollect.ranking.profile import Profile

WEIGHT_FACTORS = (8.0, 4.0, 2.0, 1.5, 1.2, 1.1)
"""By how much a weight is raised and lowered, coarse steps first: where little is found, small ones find no more."""

FLOOR_CHANGES = (0.4, 0.3, 0.2, 0.1, 0.05, 0.02)
"""By how much a floor is, at the same time."""

GAIN_TOLERANCE = 1e-9
"""What is no gain but the rounding of sums."""

MIN_GAIN = 0.0002
"""What a step must gain to be taken: less than a single query's worth on any folder large enough to tune with."""

MIN_WEIGHT = 0.001
"""Below this no weight is lowered: a signal that these folders do not need stays in sight."""

MIN_FLOOR_PRODUCT = 0.5
"""Below this all floors together are not lowered: faults that multiply would make a good memory vanish."""

PARTS_PER_UNIT = 10_000
"""In what parts of 1 the numbers of a tuned profile are written."""

MAX_FOLD_RATIO, MAX_FOLD_DIFFERENCE = 2.0, 0.05
"""How many times as high, and by how much higher, a number is in one fold than in another if it is not settled.

Any two of five folds are fitted with three fifths of the queries in common, so what the queries really tell comes out
much alike. Twice as high in one as in the other is a whole coarse step, and says that the search went elsewhere; by
less than a twentieth of the score it hardly changes who comes first, however many times as high it is.
"""

QueryMasks = tuple[NDArray[np.bool_], ...]
"""Some queries of every material: whether each is among them."""

HeldOutGroups = tuple[tuple[int, HeldOutGroup], ...]
"""Some groups of queries, each with the number of its material."""


@dataclass(frozen=True, slots=True)
class TunablePlaces:
    """Which terms and which factors tuning may change, by their places."""

    terms: tuple[int, ...]
    factors: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Fold:
    """Some groups that were held out, the numbers that the others gave, and what these and the first ones are worth."""

    held_out_groups: HeldOutGroups
    queries: int
    numbers: TunableNumbers
    before: float
    after: float


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Tuning:
    """What tuning came to: the numbers before and after, and every query by either.

    `held_out` has each query by the numbers of the fold in which it was not looked at: what to expect of queries that
    nobody has seen. `after` has them by the numbers that were fitted to all of them.
    """

    profile: Profile
    tunable: TunablePlaces
    numbers: TunableNumbers
    folds: tuple[Fold, ...]
    before: MeasuredValues = field(repr=False)
    held_out: MeasuredValues = field(repr=False)
    after: MeasuredValues = field(repr=False)
    gain: MeanDifference
    """What the queries that were held out gained, each folder counting alike."""

    @property
    def changed(self) -> bool:
        """Whether any number is another than before."""
        return self.numbers != TunableNumbers.of(self.profile)

    @property
    def carries_over(self) -> bool:
        """Whether what was found does good where it was not looked for, by more than chance may do."""
        return self.changed and self.gain.interval.low > GAIN_TOLERANCE

    @property
    def untuned_signals(self) -> tuple[str, ...]:
        """The signals that nothing tells anything of, whose numbers were left alone."""
        free = {self.profile.terms[place].signal.name for place in self.tunable.terms}
        free |= {self.profile.factors[place].signal.name for place in self.tunable.factors}
        return tuple(use.signal.name for use in self.profile.uses if use.signal.name not in free)


class NumberSearch:
    """What numbers are worth over several folders; the same numbers are looked at once.

    With `restraint`, so much is taken off for numbers that have nothing in common with the first ones.
    """

    def __init__(self, folders: Sequence[TrainingSet], start: TunableNumbers, restraint: float = 0.0) -> None:
        self._folders = folders
        self._start = start
        self._restraint = restraint
        self._known: dict[TunableNumbers, MeasuredValues] = {}

    @property
    def all_queries(self) -> QueryMasks:
        """All queries of all folders."""
        return tuple(np.ones(len(one.groups), dtype=np.bool_) for one in self._folders)

    def values(self, numbers: TunableNumbers) -> MeasuredValues:
        """What every query comes to by these numbers."""
        if numbers not in self._known:
            measured = [one.measure(numbers) for one in self._folders]
            self._known[numbers] = MeasuredValues({name: tuple(one[name] for one in measured) for name in measured[0]})
        return self._known[numbers]

    def worth(self, numbers: TunableNumbers, among: QueryMasks) -> float:
        """What these queries come to by these numbers, each folder counting alike; folders without any do not count."""
        values = self.values(numbers).worth
        return mean_of_means([one[wanted] for one, wanted in zip(values, among, strict=True)])

    def penalized_worth(self, numbers: TunableNumbers, among: QueryMasks) -> float:
        """The same, less what going so far from the first numbers costs."""
        return self.worth(numbers, among) - self._restraint * numbers.distance_to(self._start)


def tune(
    folders: Sequence[TrainingSet], profile: Profile, *, folds: int, tell: ProgressCallback, restraint: float = 0.0
) -> Tuning:
    """Fit the profile to the folders without each fold in turn, and then to all of them."""
    start, free = TunableNumbers.of(profile), find_tunable(folders, profile)
    search = NumberSearch(folders, start, restraint)
    dealt = deal_folds([one.groups for one in folders], folds)
    kept_out = [_select_queries(folders, held) for held in dealt]
    fitted: list[TunableNumbers] = []
    tell(0, len(dealt) + 1)
    for out in kept_out:
        others = tuple(~one for one in out)
        fitted.append(fit_numbers(partial(search.penalized_worth, among=others), start, free))
        tell(len(fitted), len(dealt) + 1)
    whole = fit_numbers(partial(search.penalized_worth, among=search.all_queries), start, free)
    numbers = start if whole == start else round_numbers(whole)
    tell(len(dealt) + 1, len(dealt) + 1)

    before, held_out = search.values(start), _join_folds([search.values(found) for found in fitted], kept_out)
    return Tuning(
        profile=profile,
        tunable=free,
        numbers=numbers,
        folds=tuple(
            Fold(
                held_out_groups=held,
                queries=sum(int(np.count_nonzero(one)) for one in out),
                numbers=found,
                before=search.worth(start, out),
                after=search.worth(found, out),
            )
            for held, found, out in zip(dealt, fitted, kept_out, strict=True)
        ),
        before=before,
        held_out=held_out,
        after=search.values(numbers),
        gain=compare_paired(equalize(before.worth).tolist(), equalize(held_out.worth).tolist()),
    )


def find_tunable(folders: Sequence[TrainingSet], profile: Profile) -> TunablePlaces:
    """The terms that count and the factors which tell candidates of one query apart, in any folder."""
    varied = [any(said) for said in zip(*(one.find_varied_signals() for one in folders), strict=True)]
    terms = [place for place, term in enumerate(profile.terms) if term.weight > 0.0 and varied[place]]
    factors = [place for place in range(len(profile.factors)) if varied[len(profile.terms) + place]]
    return TunablePlaces(tuple(terms), tuple(factors))


def deal_folds(groups: Sequence[Sequence[HeldOutGroup]], folds: int) -> list[HeldOutGroups]:
    """The groups of each folder's queries, whole and dealt into so many folds, or fewer where there are fewer groups.

    The largest are dealt first, each to the fold that has least of its folder.
    """
    sizes = {(place, group): size for place, some in enumerate(groups) for group, size in Counter(some).items()}
    if len(sizes) < 2:
        raise InvalidInput(
            f"the queries are of {format_count(len(sizes), 'scope')}, "
            "and some must be held out whole; tune with more scopes"
        )
    dealt: list[list[tuple[int, HeldOutGroup]]] = [[] for _ in range(min(folds, len(sizes)))]
    loads = [Counter[int]() for _ in dealt]
    for place, group in sorted(sizes, key=lambda one: (-sizes[one], one[0], str(one[1]))):
        emptiest = min(range(len(dealt)), key=lambda fold: (loads[fold][place], loads[fold].total(), fold))
        dealt[emptiest].append((place, group))
        loads[emptiest][place] += sizes[place, group]
    return [tuple(sorted(held, key=lambda one: (one[0], str(one[1])))) for held in dealt if held]


def fit_numbers(worth: Callable[[TunableNumbers], float], start: TunableNumbers, free: TunablePlaces) -> TunableNumbers:
    """The numbers to which small changes, one at a time, lead from the start, as long as each gains enough."""
    best, reached = start, worth(start)
    for step in range(len(WEIGHT_FACTORS)):
        moved = True
        while moved:
            moved = False
            for near in _neighbor_changes(free, step):
                tried = max((other for change in near if (other := change(best)) is not None), key=worth, default=best)
                found = worth(tried)
                if found - reached >= MIN_GAIN:
                    best, reached, moved = tried, found, True
    return best


NumberChange = Callable[[TunableNumbers], TunableNumbers | None]
"""Gives other numbers, or none where these are at an end."""


def _neighbor_changes(free: TunablePlaces, step: int) -> list[tuple[NumberChange, NumberChange]]:
    """The two ways in which each number can be changed by this step."""
    by, off = WEIGHT_FACTORS[step], FLOOR_CHANGES[step]
    weights = [(_scale_weight(free, place, by), _scale_weight(free, place, 1.0 / by)) for place in free.terms]
    return [*weights, *((_shift_floor(place, -off), _shift_floor(place, off)) for place in free.factors)]


def _scale_weight(free: TunablePlaces, place: int, by: float) -> NumberChange:
    """One weight times so much, with all that may change adding up to what they did."""

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
    """One floor higher or lower by so much."""

    def change(numbers: TunableNumbers) -> TunableNumbers | None:
        floors = list(numbers.floors)
        floors[place] = min(max(floors[place] + by, 0.0), 1.0)
        lower = by < 0.0 and math.prod(floors) < MIN_FLOOR_PRODUCT
        return None if lower or floors[place] == numbers.floors[place] else replace(numbers, floors=tuple(floors))

    return change


def round_numbers(numbers: TunableNumbers) -> TunableNumbers:
    """The numbers to four digits, the weights adding up to 1 in these: what is left goes to who lost most."""
    shares = [weight * PARTS_PER_UNIT for weight in numbers.weights]
    whole = [math.floor(share + PART_TOLERANCE) for share in shares]
    lost = sorted(range(len(shares)), key=lambda place: (whole[place] - shares[place], place))
    for place in lost[: PARTS_PER_UNIT - sum(whole)]:
        whole[place] += 1
    return TunableNumbers(
        tuple(share / PARTS_PER_UNIT for share in whole),
        tuple(round(floor * PARTS_PER_UNIT) / PARTS_PER_UNIT for floor in numbers.floors),
    )


PART_TOLERANCE = 1e-6
"""How far below a whole number of parts a share may be that is meant to be one."""


def folds_agree(folds: Sequence[float]) -> bool:
    """Whether the folds found about the same for one number."""
    low, high = min(folds), max(folds)
    return high < MAX_FOLD_RATIO * low or high - low < MAX_FOLD_DIFFERENCE


def _select_queries(folders: Sequence[TrainingSet], held: HeldOutGroups) -> QueryMasks:
    """Which queries of each folder are of these groups."""
    wanted = set(held)
    return tuple(
        np.array([(place, group) in wanted for group in one.groups], dtype=np.bool_)
        for place, one in enumerate(folders)
    )


def _join_folds(values: Sequence[MeasuredValues], among: Sequence[QueryMasks]) -> MeasuredValues:
    """Every query by the values of the fold that it is among."""

    def join(each: Sequence[tuple[Floats, ...]]) -> tuple[Floats, ...]:
        return tuple(
            np.sum([np.where(wanted, one, 0.0) for one, wanted in zip(folds, wanteds, strict=True)], axis=0)
            for folds, wanteds in zip(zip(*each, strict=True), zip(*among, strict=True), strict=True)
        )

    return MeasuredValues({name: join([one.measures[name] for one in values]) for name in values[0].measures})
