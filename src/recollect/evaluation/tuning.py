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
from recollect.evaluation.intervals import Difference, compare
from recollect.evaluation.runner import Tell
from recollect.evaluation.training_set import Group, Material, Numbers, Values, alike, mean
from recollect.model.format import counted
from recollect.model.table import Floats
from recollect.ranking.profile import Profile

STEPS = (8.0, 4.0, 2.0, 1.5, 1.2, 1.1)
"""By how much a weight is raised and lowered, coarse steps first: where little is found, small ones find no more."""

FLOOR_STEPS = (0.4, 0.3, 0.2, 0.1, 0.05, 0.02)
"""By how much a floor is, at the same time."""

DUST = 1e-9
"""What is no gain but the rounding of sums."""

LEAST_GAIN = 0.0002
"""What a step must gain to be taken: less than a single query's worth on any folder large enough to tune with."""

LEAST_WEIGHT = 0.001
"""Below this no weight is lowered: a signal that these folders do not need stays in sight."""

LEAST_PRODUCT = 0.5
"""Below this all floors together are not lowered: faults that multiply would make a good memory vanish."""

DIGITS = 10_000
"""In what parts of 1 the numbers of a tuned profile are written."""

WIDE_SHARE, WIDE_STEP = 2.0, 0.05
"""How many times as high, and by how much higher, a number is in one fold than in another if it is not settled.

Any two of five folds are fitted with three fifths of the queries in common, so what the queries really tell comes out
much alike. Twice as high in one as in the other is a whole coarse step, and says that the search went elsewhere; by
less than a twentieth of the score it hardly changes who comes first, however many times as high it is.
"""

Among = tuple[NDArray[np.bool_], ...]
"""Some queries of every material: whether each is among them."""

Held = tuple[tuple[int, Group], ...]
"""Some groups of queries, each with the number of its material."""


@dataclass(frozen=True, slots=True)
class Free:
    """Which terms and which factors tuning may change, by their places."""

    terms: tuple[int, ...]
    factors: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Fold:
    """Some groups that were held out, the numbers that the others gave, and what these and the first ones are worth."""

    held: Held
    queries: int
    numbers: Numbers
    before: float
    after: float


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Tuning:
    """What tuning came to: the numbers before and after, and every query by either.

    `held_out` has each query by the numbers of the fold in which it was not looked at: what to expect of queries that
    nobody has seen. `after` has them by the numbers that were fitted to all of them.
    """

    profile: Profile
    free: Free
    numbers: Numbers
    folds: tuple[Fold, ...]
    before: Values = field(repr=False)
    held_out: Values = field(repr=False)
    after: Values = field(repr=False)
    gained: Difference
    """What the queries that were held out gained, each folder counting alike."""

    @property
    def changed(self) -> bool:
        """Whether any number is another than before."""
        return self.numbers != Numbers.of(self.profile)

    @property
    def carries_over(self) -> bool:
        """Whether what was found does good where it was not looked for, by more than chance may do."""
        return self.changed and self.gained.interval.low > DUST

    @property
    def said_nothing_of(self) -> tuple[str, ...]:
        """The signals that nothing tells anything of, whose numbers were left alone."""
        free = {self.profile.terms[place].signal.name for place in self.free.terms}
        free |= {self.profile.factors[place].signal.name for place in self.free.factors}
        return tuple(use.signal.name for use in self.profile.uses if use.signal.name not in free)


class Search:
    """What numbers are worth over several folders; the same numbers are looked at once.

    With `restraint`, so much is taken off for numbers that have nothing in common with the first ones.
    """

    def __init__(self, folders: Sequence[Material], start: Numbers, restraint: float = 0.0) -> None:
        self._folders = folders
        self._start = start
        self._restraint = restraint
        self._known: dict[Numbers, Values] = {}

    @property
    def everyone(self) -> Among:
        """All queries of all folders."""
        return tuple(np.ones(len(one.groups), dtype=np.bool_) for one in self._folders)

    def values(self, numbers: Numbers) -> Values:
        """What every query comes to by these numbers."""
        if numbers not in self._known:
            measured = [one.measured(numbers) for one in self._folders]
            self._known[numbers] = Values({name: tuple(one[name] for one in measured) for name in measured[0]})
        return self._known[numbers]

    def worth(self, numbers: Numbers, among: Among) -> float:
        """What these queries come to by these numbers, each folder counting alike; folders without any do not count."""
        values = self.values(numbers).worth
        return mean([one[wanted] for one, wanted in zip(values, among, strict=True)])

    def restrained(self, numbers: Numbers, among: Among) -> float:
        """The same, less what going so far from the first numbers costs."""
        return self.worth(numbers, among) - self._restraint * numbers.apart(self._start)


def tune(folders: Sequence[Material], profile: Profile, *, folds: int, tell: Tell, restraint: float = 0.0) -> Tuning:
    """Fit the profile to the folders without each fold in turn, and then to all of them."""
    start, free = Numbers.of(profile), changeable(folders, profile)
    search = Search(folders, start, restraint)
    dealt = deal([one.groups for one in folders], folds)
    kept_out = [_among(folders, held) for held in dealt]
    fitted: list[Numbers] = []
    tell(0, len(dealt) + 1)
    for out in kept_out:
        others = tuple(~one for one in out)
        fitted.append(fit(partial(search.restrained, among=others), start, free))
        tell(len(fitted), len(dealt) + 1)
    whole = fit(partial(search.restrained, among=search.everyone), start, free)
    numbers = start if whole == start else rounded(whole)
    tell(len(dealt) + 1, len(dealt) + 1)

    before, held_out = search.values(start), _joined([search.values(found) for found in fitted], kept_out)
    return Tuning(
        profile=profile,
        free=free,
        numbers=numbers,
        folds=tuple(
            Fold(
                held=held,
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
        gained=compare(alike(before.worth).tolist(), alike(held_out.worth).tolist()),
    )


def changeable(folders: Sequence[Material], profile: Profile) -> Free:
    """The terms that count and the factors which tell candidates of one query apart, in any folder."""
    varied = [any(said) for said in zip(*(one.varied() for one in folders), strict=True)]
    terms = [place for place, term in enumerate(profile.terms) if term.weight > 0.0 and varied[place]]
    factors = [place for place in range(len(profile.factors)) if varied[len(profile.terms) + place]]
    return Free(tuple(terms), tuple(factors))


def deal(groups: Sequence[Sequence[Group]], folds: int) -> list[Held]:
    """The groups of each folder's queries, whole and dealt into so many folds, or fewer where there are fewer groups.

    The largest are dealt first, each to the fold that has least of its folder.
    """
    sizes = {(place, group): size for place, some in enumerate(groups) for group, size in Counter(some).items()}
    if len(sizes) < 2:
        raise InvalidInput(
            f"the queries are of {counted(len(sizes), 'scope')}, and some must be held out whole; tune with more scopes"
        )
    dealt: list[list[tuple[int, Group]]] = [[] for _ in range(min(folds, len(sizes)))]
    loads = [Counter[int]() for _ in dealt]
    for place, group in sorted(sizes, key=lambda one: (-sizes[one], one[0], str(one[1]))):
        emptiest = min(range(len(dealt)), key=lambda fold: (loads[fold][place], loads[fold].total(), fold))
        dealt[emptiest].append((place, group))
        loads[emptiest][place] += sizes[place, group]
    return [tuple(sorted(held, key=lambda one: (one[0], str(one[1])))) for held in dealt if held]


def fit(worth: Callable[[Numbers], float], start: Numbers, free: Free) -> Numbers:
    """The numbers to which small changes, one at a time, lead from the start, as long as each gains enough."""
    best, reached = start, worth(start)
    for step in range(len(STEPS)):
        moved = True
        while moved:
            moved = False
            for near in _neighbours(free, step):
                tried = max((other for change in near if (other := change(best)) is not None), key=worth, default=best)
                found = worth(tried)
                if found - reached >= LEAST_GAIN:
                    best, reached, moved = tried, found, True
    return best


Change = Callable[[Numbers], Numbers | None]
"""Gives other numbers, or none where these are at an end."""


def _neighbours(free: Free, step: int) -> list[tuple[Change, Change]]:
    """The two ways in which each number can be changed by this step."""
    by, off = STEPS[step], FLOOR_STEPS[step]
    weights = [(_weighted(free, place, by), _weighted(free, place, 1.0 / by)) for place in free.terms]
    return [*weights, *((_floored(place, -off), _floored(place, off)) for place in free.factors)]


def _weighted(free: Free, place: int, by: float) -> Change:
    """One weight times so much, with all that may change adding up to what they did."""

    def change(numbers: Numbers) -> Numbers | None:
        total = math.fsum(numbers.weights[one] for one in free.terms)
        raised = {one: numbers.weights[one] * (by if one == place else 1.0) for one in free.terms}
        scale = total / math.fsum(raised.values())
        if len(raised) < 2 or min(raised.values()) * scale < LEAST_WEIGHT:
            return None
        weights = [raised[one] * scale if one in raised else old for one, old in enumerate(numbers.weights)]
        return replace(numbers, weights=tuple(weights))

    return change


def _floored(place: int, by: float) -> Change:
    """One floor higher or lower by so much."""

    def change(numbers: Numbers) -> Numbers | None:
        floors = list(numbers.floors)
        floors[place] = min(max(floors[place] + by, 0.0), 1.0)
        lower = by < 0.0 and math.prod(floors) < LEAST_PRODUCT
        return None if lower or floors[place] == numbers.floors[place] else replace(numbers, floors=tuple(floors))

    return change


def rounded(numbers: Numbers) -> Numbers:
    """The numbers to four digits, the weights adding up to 1 in these: what is left goes to who lost most."""
    shares = [weight * DIGITS for weight in numbers.weights]
    whole = [math.floor(share + ROUNDING) for share in shares]
    lost = sorted(range(len(shares)), key=lambda place: (whole[place] - shares[place], place))
    for place in lost[: DIGITS - sum(whole)]:
        whole[place] += 1
    return Numbers(
        tuple(share / DIGITS for share in whole), tuple(round(floor * DIGITS) / DIGITS for floor in numbers.floors)
    )


ROUNDING = 1e-6
"""How far below a whole number of parts a share may be that is meant to be one."""


def is_settled(folds: Sequence[float]) -> bool:
    """Whether the folds found about the same for one number."""
    low, high = min(folds), max(folds)
    return high < WIDE_SHARE * low or high - low < WIDE_STEP


def _among(folders: Sequence[Material], held: Held) -> Among:
    """Which queries of each folder are of these groups."""
    wanted = set(held)
    return tuple(
        np.array([(place, group) in wanted for group in one.groups], dtype=np.bool_)
        for place, one in enumerate(folders)
    )


def _joined(values: Sequence[Values], among: Sequence[Among]) -> Values:
    """Every query by the values of the fold that it is among."""

    def join(each: Sequence[tuple[Floats, ...]]) -> tuple[Floats, ...]:
        return tuple(
            np.sum([np.where(wanted, one, 0.0) for one, wanted in zip(folds, wanteds, strict=True)], axis=0)
            for folds, wanteds in zip(zip(*each, strict=True), zip(*among, strict=True), strict=True)
        )

    return Values({name: join([one.measures[name] for one in values]) for name in values[0].measures})
