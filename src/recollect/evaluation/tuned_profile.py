"""Tuned: a profile with new numbers, and the report that tells how well they did, without a word of the data."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, ClassVar, Literal

from recollect.errors import InvalidInput
from recollect.evaluation import votes
from recollect.evaluation.intervals import Difference, Interval, bootstrap, compare
from recollect.evaluation.judgments import Judgements
from recollect.evaluation.learning import Learned
from recollect.evaluation.report_json import difference, interval
from recollect.evaluation.training_set import Material, Numbers, Source, Values, alike, mean
from recollect.evaluation.tuning import Tuning, is_settled
from recollect.model.format import counted, printable
from recollect.model.table import Floats
from recollect.model.training_example import LeftOut
from recollect.ranking.profile import Factor, Profile, Term
from recollect.ranking.tuning_report_check import (
    CARRIES_OVER,
    FIGURES,
    FINGERPRINT,
    FOLDERS,
    FOLDS,
    NUMBERS,
    WORTH,
    fingerprint,
)

ENDING = ".report.json"
"""How the name of a report ends; it begins like that of the profile."""


@dataclass(frozen=True, slots=True)
class Figure:
    """A mean over queries, and how sure it is."""

    mean: float
    interval: Interval


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One measure of one folder, or of all of them alike: before, where it was held out, and fitted to all."""

    measure: str
    folder: str | None
    before: Figure
    held_out: Figure
    after: Figure
    gained: Difference
    """What was gained where it was held out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Number:
    """A weight or floor of a signal: before, after and in each fold; whether the folders tell anything of it."""

    signal: str
    what: Literal["weight", "floor"]
    before: float
    after: float
    folds: tuple[float, ...]
    tuned: bool

    @property
    def settled(self) -> bool:
        """Whether the folds found about the same."""
        return is_settled(self.folds)


@dataclass(frozen=True, slots=True)
class Judged:
    """It was tuned to folders of judgements: what is to be found is looked for among the best `k`."""

    held_by: ClassVar[Literal["scope"]] = "scope"
    remedy: ClassVar[str] = "judge more queries, of more scopes,"

    k: int

    @property
    def measure(self) -> str:
        """What was tuned for, in words."""
        return f"the mean of recall@{self.k} and nDCG@{self.k}"

    def amount(self, sources: Sequence[Source]) -> str:
        """How much there is in the folders, in words."""
        queries, scopes = sum(one.queries for one in sources), sum(one.scopes for one in sources)
        return f"{counted(queries, 'query', 'queries')} of {counted(scopes, 'scope')}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Tuned:
    """What was tuned, from what, with what and when: the profile that came of it, and all that a report tells."""

    profile: Profile
    tuning: Tuning
    folders: tuple[Material, ...]
    rows: tuple[Row, ...]
    origin: Judged | Learned
    embedder: str
    made_at: datetime
    versions: Mapping[str, str] = field(hash=False)

    @property
    def sources(self) -> tuple[Source, ...]:
        """What is told of the folders, or of the feedback."""
        return tuple(one.source for one in self.folders)

    @property
    def amount(self) -> str:
        """Of what it was tuned on there is how much, in words."""
        return f"{', '.join(printable(one.name) for one in self.sources)}: {self.origin.amount(self.sources)}"

    @property
    def comments(self) -> tuple[str, ...]:
        """What the file of the profile begins with."""
        start, whole, origin = self.tuning.profile, self.rows[0], self.origin
        went = f"went from {whole.before.mean:.4f} to {whole.held_out.mean:.4f}"
        return (
            f"Tuned from {start.name} {start.version} on {self.amount}.",
            f"Held out by {origin.held_by}, {origin.measure} {went}.",
            f"{self.profile.report} tells all of it; change a number here, and it tells of another profile.",
        )


def tuned(
    tuning: Tuning,
    folders: Sequence[Material],
    *,
    name: str,
    origin: Judged | Learned,
    embedder: str,
    made_at: datetime,
    versions: Mapping[str, str],
) -> Tuned:
    """The profile with its new numbers under this name, and all that is to be told of it."""
    return Tuned(
        profile=tuning.numbers.put_into(successor(tuning.profile, name)),
        tuning=tuning,
        folders=tuple(folders),
        rows=tuple(_rows(tuning, folders)),
        origin=origin,
        embedder=embedder,
        made_at=made_at,
        versions=versions,
    )


def successor(profile: Profile, name: str) -> Profile:
    """The profile as the next version of itself, under this name and with a report; refused where that cannot be."""
    return replace(profile, name=name, version=next_version(profile), report=f"{name}{ENDING}")


def next_version(profile: Profile) -> str:
    """The version after the profile's: the next number, or what it is and .1."""
    said = profile.version.split("+")[0]
    return str(int(said) + 1) if re.fullmatch(r"[0-9]+", said) else f"{said}.1"


def file_stem(profile: Profile) -> str:
    """What a tuned profile is called if nobody says: the name and the version, as far as a name can have it."""
    version = re.sub(r"[^a-z0-9]+", "-", next_version(profile).lower()).strip("-")
    return f"{profile.name}-{version}"


def refuse_twice(folders: Sequence[Judgements]) -> None:
    """Refuse folders that a report could not tell apart."""
    names = [one.folder.resolve().name for one in folders]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise InvalidInput(f"two folders are called {twice!r}; name each once, or rename one")


def document(tuned: Tuned) -> dict[str, Any]:
    """The report as JSON; full precision, nothing rounded."""
    tuning, start = tuned.tuning, tuned.tuning.profile
    return {
        "profile": tuned.profile.name,
        "version": tuned.profile.version,
        FINGERPRINT: fingerprint(tuned.profile),
        "from": {"profile": start.name, "version": start.version, FINGERPRINT: fingerprint(start)},
        "made_at": tuned.made_at.isoformat(),
        "versions": dict(tuned.versions),
        "embedder": tuned.embedder,
        "k": tuned.origin.k if isinstance(tuned.origin, Judged) else None,
        CARRIES_OVER: tuning.carries_over,
        FOLDERS: [_folder(one) for one in tuned.sources],
        "feedback": _feedback(tuned.origin) if isinstance(tuned.origin, Learned) else None,
        FIGURES: [_row(row) for row in tuned.rows],
        FOLDS: [
            {
                f"{tuned.origin.held_by}s": len(fold.held),
                "queries": fold.queries,
                "before": fold.before,
                "after": fold.after,
            }
            for fold in tuning.folds
        ],
        NUMBERS: [_number(one) for one in numbers(tuning)],
    }


def numbers(tuning: Tuning) -> tuple[Number, ...]:
    """Every weight and then every floor, in the profile's order."""
    profile = tuning.profile
    weights = _each(tuning, "weight", profile.terms, lambda numbers: numbers.weights)
    return (*weights, *_each(tuning, "floor", profile.factors, lambda numbers: numbers.floors))


def _each(
    tuning: Tuning,
    what: Literal["weight", "floor"],
    uses: Sequence[Term | Factor],
    read: Callable[[Numbers], tuple[float, ...]],
) -> Iterator[Number]:
    """The numbers of these terms or factors, which `read` takes out of all."""
    before, after = read(Numbers.of(tuning.profile)), read(tuning.numbers)
    folds = [read(fold.numbers) for fold in tuning.folds]
    for place, use in enumerate(uses):
        yield Number(
            signal=use.signal.name,
            what=what,
            before=before[place],
            after=after[place],
            folds=tuple(one[place] for one in folds),
            tuned=use.signal.name not in tuning.said_nothing_of,
        )


def _number(number: Number) -> dict[str, Any]:
    return {
        "signal": number.signal,
        "number": number.what,
        "before": number.before,
        "after": number.after,
        "folds": list(number.folds),
        "tuned": number.tuned,
        "settled": number.settled,
    }


def _folder(source: Source) -> dict[str, Any]:
    return {
        "folder": source.name,
        "digest": source.digest,
        "memories": source.memories,
        "queries": source.queries,
        "judgements": source.judgements,
        "scopes": source.scopes,
    }


def _feedback(learned: Learned) -> dict[str, Any]:
    return {
        "contexts": learned.contexts,
        "unplaced": learned.unplaced,
        "left_out": {why.value: learned.left_out.get(why, 0) for why in LeftOut},
        "principals": learned.heard.principals,
        "uses": {use.value: learned.heard.uses.get(use, 0) for use in votes.WORTH_OF},
        "steepness": learned.places.steepness,
        "seed": learned.seed,
    }


def _row(row: Row) -> dict[str, Any]:
    return {
        "measure": row.measure,
        "folder": row.folder,
        **{
            name: {"mean": one.mean, "interval": interval(one.interval)}
            for name, one in (("before", row.before), ("held_out", row.held_out), ("after", row.after))
        },
        "gained": difference(row.gained),
    }


def _rows(tuning: Tuning, folders: Sequence[Material]) -> Iterator[Row]:
    """All measures of all folders together, and then of each if there are several."""
    before, held_out, after = (_measures(one) for one in (tuning.before, tuning.held_out, tuning.after))
    for measure in before:
        values = before[measure], held_out[measure], after[measure]
        yield _compared(measure, None, *values, tuning.gained if measure == WORTH else _gained(*values[:2]))
    if len(folders) == 1:
        return
    for place, one in enumerate(folders):
        for measure in before:
            was, out, now = (values[measure][place : place + 1] for values in (before, held_out, after))
            yield _compared(measure, one.source.name, was, out, now, _gained(was, out))


def _measures(values: Values) -> dict[str, tuple[Floats, ...]]:
    """What is tuned for, and all that it is the mean of."""
    return {WORTH: values.worth, **values.measures}


def _compared(
    measure: str,
    folder: str | None,
    before: tuple[Floats, ...],
    held_out: tuple[Floats, ...],
    after: tuple[Floats, ...],
    gained: Difference,
) -> Row:
    return Row(
        measure=measure,
        folder=folder,
        before=_figure(before),
        held_out=_figure(held_out),
        after=_figure(after),
        gained=gained,
    )


def _gained(before: tuple[Floats, ...], held_out: tuple[Floats, ...]) -> Difference:
    return compare(alike(before).tolist(), alike(held_out).tolist())


def _figure(values: tuple[Floats, ...]) -> Figure:
    (interval,) = bootstrap(alike(values)[:, None].tolist())
    return Figure(mean(values), interval)
