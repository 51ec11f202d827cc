"""A tuned profile and its report: how much it gains, without any text from the data.

The report is written as JSON beside the profile.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, ClassVar, Literal

from recollect.errors import InvalidInput
from recollect.evaluation import feedback_data
from recollect.evaluation.feedback_data import FeedbackOrigin
from recollect.evaluation.judgments import Judgments
from recollect.evaluation.measures import Interval, MeanDifference, bootstrap_intervals, compare_paired
from recollect.evaluation.report import (
    difference_to_json,
    interval_to_json,
)
from recollect.evaluation.training_set import (
    MeasuredValues,
    TrainingSet,
    TrainingSetSummary,
    TunableNumbers,
    equalize,
    mean_of_means,
)
from recollect.evaluation.tuning import Tuning, folds_agree
from recollect.model.context import SkipReason
from recollect.model.format import format_count, make_printable
from recollect.model.table import Floats
from recollect.ranking.profile import Factor, Profile, Term
from recollect.ranking.tuning_report_check import (
    CARRIES_OVER_KEY,
    FIGURES_KEY,
    FINGERPRINT_KEY,
    FOLDERS_KEY,
    FOLDS_KEY,
    NUMBERS_KEY,
    WORTH_MEASURE,
    fingerprint,
)

REPORT_SUFFIX = ".report.json"
"""The suffix of a report's file name, after the stem of the profile's file name."""


@dataclass(frozen=True, slots=True)
class MeanFigure:
    """A mean over queries with its confidence interval."""

    mean: float
    interval: Interval


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasureRow:
    """One measure of one folder or of all: before, held out, and fitted to all queries."""

    measure: str
    folder: str | None
    before: MeanFigure
    held_out: MeanFigure
    after: MeanFigure
    gain: MeanDifference
    """The gain on held-out queries."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TunedNumber:
    """A weight or floor before, after and in each fold, and whether it could be tuned at all."""

    signal: str
    what: Literal["weight", "floor"]
    before: float
    after: float
    folds: tuple[float, ...]
    tuned: bool

    @property
    def settled(self) -> bool:
        """Whether the folds agree on the number."""
        return folds_agree(self.folds)


@dataclass(frozen=True, slots=True)
class JudgmentOrigin:
    """The profile was tuned on judgments, with measures over the best `k` results."""

    held_by: ClassVar[Literal["scope"]] = "scope"
    remedy: ClassVar[str] = "judge more queries, of more scopes,"

    k: int

    @property
    def measure(self) -> str:
        """The objective of tuning, in words."""
        return f"the mean of recall@{self.k} and nDCG@{self.k}"

    def describe_amount(self, sources: Sequence[TrainingSetSummary]) -> str:
        """Describe the number of queries and scopes in the folders."""
        queries, scopes = sum(one.queries for one in sources), sum(one.scopes for one in sources)
        return f"{format_count(queries, 'query', 'queries')} of {format_count(scopes, 'scope')}"


@dataclass(frozen=True, slots=True, kw_only=True)
class TunedProfile:
    """The tuned profile, and everything that its report says."""

    profile: Profile
    tuning: Tuning
    training_sets: tuple[TrainingSet, ...]
    rows: tuple[MeasureRow, ...]
    origin: JudgmentOrigin | FeedbackOrigin
    embedder: str
    made_at: datetime
    versions: Mapping[str, str] = field(hash=False)

    @property
    def sources(self) -> tuple[TrainingSetSummary, ...]:
        """The summaries of the folders, or of the feedback."""
        return tuple(one.source for one in self.training_sets)

    @property
    def amount(self) -> str:
        """The name and amount of the data that the profile was tuned on."""
        names = ", ".join(make_printable(one.name) for one in self.sources)
        return f"{names}: {self.origin.describe_amount(self.sources)}"

    @property
    def comments(self) -> tuple[str, ...]:
        """The comments at the top of the profile file."""
        start, whole, origin = self.tuning.profile, self.rows[0], self.origin
        change = f"went from {whole.before.mean:.4f} to {whole.held_out.mean:.4f}"
        return (
            f"Tuned from {start.name} {start.version} on {self.amount}.",
            f"Held out by {origin.held_by}, {origin.measure} {change}.",
            f"{self.profile.report} has the details; it no longer applies if a number here is changed.",
        )


def build_tuned_profile(
    tuning: Tuning,
    folders: Sequence[TrainingSet],
    *,
    name: str,
    origin: JudgmentOrigin | FeedbackOrigin,
    embedder: str,
    made_at: datetime,
    versions: Mapping[str, str],
) -> TunedProfile:
    """Return the tuned profile under this name, with the rows of its report."""
    return TunedProfile(
        profile=tuning.numbers.apply_to(next_profile(tuning.profile, name)),
        tuning=tuning,
        training_sets=tuple(folders),
        rows=tuple(_measure_rows(tuning, folders)),
        origin=origin,
        embedder=embedder,
        made_at=made_at,
        versions=versions,
    )


def next_profile(profile: Profile, name: str) -> Profile:
    """Return the profile as its next version, with this name and a report.

    Raises an error if the name is not valid for a profile.
    """
    return replace(profile, name=name, version=next_version(profile), report=f"{name}{REPORT_SUFFIX}")


def next_version(profile: Profile) -> str:
    """Return the next version: the number plus one, or else the version with `.1` added."""
    public = profile.version.split("+")[0]
    return str(int(public) + 1) if re.fullmatch(r"[0-9]+", public) else f"{public}.1"


def file_stem(profile: Profile) -> str:
    """Return the default file name of a tuned profile: its name and its next version."""
    version = re.sub(r"[^a-z0-9]+", "-", next_version(profile).lower()).strip("-")
    return f"{profile.name}-{version}"


def refuse_duplicate_folders(folders: Sequence[Judgments]) -> None:
    """Raise InvalidInput if two folders have the same name, since a report names them."""
    names = [one.folder.resolve().name for one in folders]
    duplicate = next((name for name in names if names.count(name) > 1), None)
    if duplicate is not None:
        raise InvalidInput(f"two folders have the name {duplicate!r}; name each folder once, or rename one")


def tuning_report_to_json(tuned: TunedProfile) -> dict[str, Any]:
    """Return the report as JSON, in full precision."""
    tuning, start = tuned.tuning, tuned.tuning.profile
    return {
        "profile": tuned.profile.name,
        "version": tuned.profile.version,
        FINGERPRINT_KEY: fingerprint(tuned.profile),
        "from": {"profile": start.name, "version": start.version, FINGERPRINT_KEY: fingerprint(start)},
        "made_at": tuned.made_at.isoformat(),
        "versions": dict(tuned.versions),
        "embedder": tuned.embedder,
        "k": tuned.origin.k if isinstance(tuned.origin, JudgmentOrigin) else None,
        CARRIES_OVER_KEY: tuning.carries_over,
        FOLDERS_KEY: [_summary_to_json(one) for one in tuned.sources],
        "feedback": _feedback_to_json(tuned.origin) if isinstance(tuned.origin, FeedbackOrigin) else None,
        FIGURES_KEY: [_row_to_json(row) for row in tuned.rows],
        FOLDS_KEY: [
            {
                f"{tuned.origin.held_by}s": len(fold.held_out_groups),
                "queries": fold.queries,
                "before": fold.before,
                "after": fold.after,
            }
            for fold in tuning.folds
        ],
        NUMBERS_KEY: [_number_to_json(one) for one in tuned_numbers(tuning)],
    }


def tuned_numbers(tuning: Tuning) -> tuple[TunedNumber, ...]:
    """Return every weight and then every floor, in the profile's order."""
    profile = tuning.profile
    weights = _iter_numbers(tuning, "weight", profile.terms, lambda numbers: numbers.weights)
    return (*weights, *_iter_numbers(tuning, "floor", profile.factors, lambda numbers: numbers.floors))


def _iter_numbers(
    tuning: Tuning,
    what: Literal["weight", "floor"],
    uses: Sequence[Term | Factor],
    read: Callable[[TunableNumbers], tuple[float, ...]],
) -> Iterator[TunedNumber]:
    """Yield the numbers of these terms or factors, selected by `read`."""
    before, after = read(TunableNumbers.of(tuning.profile)), read(tuning.numbers)
    folds = [read(fold.numbers) for fold in tuning.folds]
    for place, use in enumerate(uses):
        yield TunedNumber(
            signal=use.signal.name,
            what=what,
            before=before[place],
            after=after[place],
            folds=tuple(one[place] for one in folds),
            tuned=use.signal.name not in tuning.untuned_signals,
        )


def _number_to_json(number: TunedNumber) -> dict[str, Any]:
    return {
        "signal": number.signal,
        "number": number.what,
        "before": number.before,
        "after": number.after,
        "folds": list(number.folds),
        "tuned": number.tuned,
        "settled": number.settled,
    }


def _summary_to_json(source: TrainingSetSummary) -> dict[str, Any]:
    return {
        "folder": source.name,
        "digest": source.digest,
        "memories": source.memories,
        "queries": source.queries,
        "judgements": source.judgments,
        "scopes": source.scopes,
    }


def _feedback_to_json(learned: FeedbackOrigin) -> dict[str, Any]:
    return {
        "contexts": learned.contexts,
        "unplaced": learned.unplaced_contexts,
        "left_out": {why.value: learned.left_out.get(why, 0) for why in SkipReason},
        "principals": learned.votes.principals,
        "uses": {use.value: learned.votes.count_by_use.get(use, 0) for use in feedback_data.WORTH_BY_USE},
        "steepness": learned.position_bias.steepness,
        "seed": learned.seed,
    }


def _row_to_json(row: MeasureRow) -> dict[str, Any]:
    return {
        "measure": row.measure,
        "folder": row.folder,
        **{
            name: {"mean": one.mean, "interval": interval_to_json(one.interval)}
            for name, one in (("before", row.before), ("held_out", row.held_out), ("after", row.after))
        },
        "gained": difference_to_json(row.gain),
    }


def _measure_rows(tuning: Tuning, folders: Sequence[TrainingSet]) -> Iterator[MeasureRow]:
    """Yield the measures over all folders, then those of each folder if there are several."""
    before, held_out, after = (_all_measures(one) for one in (tuning.before, tuning.held_out, tuning.after))
    for measure in before:
        values = before[measure], held_out[measure], after[measure]
        yield _build_row(
            measure, None, *values, tuning.gain if measure == WORTH_MEASURE else _compute_gain(*values[:2])
        )
    if len(folders) == 1:
        return
    for place, one in enumerate(folders):
        for measure in before:
            was, out, now = (values[measure][place : place + 1] for values in (before, held_out, after))
            yield _build_row(measure, one.source.name, was, out, now, _compute_gain(was, out))


def _all_measures(values: MeasuredValues) -> dict[str, tuple[Floats, ...]]:
    """Return the objective of tuning, and the measures it is the mean of."""
    return {WORTH_MEASURE: values.worth, **values.measures}


def _build_row(
    measure: str,
    folder: str | None,
    before: tuple[Floats, ...],
    held_out: tuple[Floats, ...],
    after: tuple[Floats, ...],
    gained: MeanDifference,
) -> MeasureRow:
    return MeasureRow(
        measure=measure,
        folder=folder,
        before=_mean_figure(before),
        held_out=_mean_figure(held_out),
        after=_mean_figure(after),
        gain=gained,
    )


def _compute_gain(before: tuple[Floats, ...], held_out: tuple[Floats, ...]) -> MeanDifference:
    return compare_paired(equalize(before).tolist(), equalize(held_out).tolist())


def _mean_figure(values: tuple[Floats, ...]) -> MeanFigure:
    (interval,) = bootstrap_intervals(equalize(values)[:, None].tolist())
    return MeanFigure(mean_of_means(values), interval)
