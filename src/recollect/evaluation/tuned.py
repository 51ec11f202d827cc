"""Tuned: a profile with new numbers, and the report that tells how well they did, without a word of the data."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Literal

import numpy as np

from recollect.errors import InvalidInput
from recollect.evaluation.features import Features, Numbers
from recollect.evaluation.intervals import Difference, Interval, bootstrap, compare
from recollect.evaluation.judgements import Judgements
from recollect.evaluation.tuning import Tuning, Values, is_settled, mean
from recollect.evaluation.wire import difference, interval
from recollect.model.table import Floats
from recollect.model.wording import counted, printable
from recollect.ranking.measured import CARRIES_OVER, FIGURES, FINGERPRINT, FOLDERS, FOLDS, NUMBERS, WORTH, fingerprint
from recollect.ranking.profile import Factor, Profile, Term

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Tuned:
    """What was tuned, with what and when: the profile that came of it, and all that a report tells."""

    profile: Profile
    tuning: Tuning
    folders: tuple[Features, ...]
    rows: tuple[Row, ...]
    embedder: str
    made_at: datetime
    versions: Mapping[str, str] = field(hash=False)

    @property
    def k(self) -> int:
        return self.folders[0].k

    @property
    def names(self) -> tuple[str, ...]:
        """What the folders are called, which is all that is told of where they are."""
        return tuple(_name(one) for one in self.folders)

    @property
    def queries(self) -> int:
        return sum(len(one.judgements.queries) for one in self.folders)

    @property
    def scopes(self) -> int:
        return sum(len({query.scope for query in one.judgements.queries}) for one in self.folders)

    @property
    def comments(self) -> tuple[str, ...]:
        """What the file of the profile begins with."""
        start = self.tuning.profile
        whole = next(row for row in self.rows if row.measure == WORTH and row.folder is None)
        queries, scopes = counted(self.queries, "query", "queries"), counted(self.scopes, "scope")
        measure = f"the mean of recall@{self.k} and nDCG@{self.k}"
        names = ", ".join(map(printable, self.names))
        return (
            f"Tuned from {start.name} {start.version} on {names}: {queries} of {scopes}.",
            f"Held out by scope, {measure} went from {whole.before.mean:.4f} to {whole.held_out.mean:.4f}.",
            f"{self.profile.report} tells all of it; change a number here, and it tells of another profile.",
        )


def tuned(
    tuning: Tuning,
    folders: Sequence[Features],
    *,
    name: str,
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
        "k": tuned.k,
        CARRIES_OVER: tuning.carries_over,
        FOLDERS: [_folder(one) for one in tuned.folders],
        FIGURES: [_row(row) for row in tuned.rows],
        FOLDS: [
            {"scopes": len(fold.scopes), "queries": fold.queries, "before": fold.before, "after": fold.after}
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


def _name(features: Features) -> str:
    return features.judgements.folder.resolve().name


def _folder(features: Features) -> dict[str, Any]:
    judgements = features.judgements
    return {
        "folder": _name(features),
        "digest": judgements.digest,
        "memories": len(judgements.memories),
        "queries": len(judgements.queries),
        "judgements": judgements.pairs,
        "scopes": len({query.scope for query in judgements.queries}),
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


def _rows(tuning: Tuning, folders: Sequence[Features]) -> Iterator[Row]:
    """All measures of all folders together, and then of each if there are several."""
    k = folders[0].k
    before, held_out, after = (_measures(one, k) for one in (tuning.before, tuning.held_out, tuning.after))
    for measure in before:
        yield _compared(measure, None, before[measure], held_out[measure], after[measure])
    if len(folders) == 1:
        return
    for place, one in enumerate(folders):
        for measure in before:
            here = (values[measure][place : place + 1] for values in (before, held_out, after))
            yield _compared(measure, _name(one), *here)


def _measures(values: Values, k: int) -> dict[str, tuple[Floats, ...]]:
    return {WORTH: values.worth, f"recall@{k}": values.recall, f"ndcg@{k}": values.ndcg}


def _compared(
    measure: str,
    folder: str | None,
    before: tuple[Floats, ...],
    held_out: tuple[Floats, ...],
    after: tuple[Floats, ...],
) -> Row:
    return Row(
        measure=measure,
        folder=folder,
        before=_figure(before),
        held_out=_figure(held_out),
        after=_figure(after),
        gained=compare(_alike(before).tolist(), _alike(held_out).tolist()),
    )


def _figure(values: tuple[Floats, ...]) -> Figure:
    (interval,) = bootstrap(_alike(values)[:, None].tolist())
    return Figure(mean(values), interval)


def _alike(values: tuple[Floats, ...]) -> Floats:
    """The values of all queries, scaled so that their mean is that of the folders' means."""
    every = sum(len(one) for one in values)
    return np.concatenate([one * (every / (len(values) * len(one))) for one in values])
