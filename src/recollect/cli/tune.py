"""The command `recollect profiles tune`: fits a profile to judgments or to feedback.

It writes the new profile and a report beside it, and only if the profile is better on held-out data or --force is
given.
"""

import json
import platform
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import click

from recollect import config, factory
from recollect.cli import evaluate, files, options, output
from recollect.cli.options import StoreTarget, pass_target
from recollect.cli.output import progress_bar
from recollect.engine.engine import Engine
from recollect.errors import InvalidInput, RecollectError
from recollect.model.format import make_printable
from recollect.model.scope import Scope, as_scope
from recollect.ranking.profile import Profile
from recollect.ranking.profile_toml import profile_to_toml
from recollect.version import __version__

if TYPE_CHECKING:
    from recollect.evaluation.judgments import Judgments
    from recollect.evaluation.training_set import JudgmentTrainingSet
    from recollect.evaluation.tuned_profile import TunedProfile
    from recollect.model.training_example import TrainingSet

VERSIONS = {"recollect": __version__, "Python": platform.python_version()}
"""The program versions recorded in a report."""

DEFAULT_K, DEFAULT_SEED = 10, 0
"""Defaults: number of results looked at, and random seed for the folds."""

MAX_SCOPES_CHECKED, MAX_SCOPES_NAMED = 50, 3
"""Maximum number of scopes checked for contexts as a hint, and of those named."""


def _parse_scopes(_: click.Context, __: click.Parameter, values: tuple[str, ...]) -> tuple[Scope, ...]:
    """Parse the scopes, each once."""
    return tuple(dict.fromkeys(as_scope(one) for one in values))


@click.command(short_help="Fit a profile's weights to judgements, or to feedback.")
@click.argument("folders", metavar="[DIR…]", nargs=-1, type=click.Path(path_type=Path))
@click.option("--from-feedback", is_flag=True, help="Fit to what was said of contexts that the store has recorded.")
@click.option(
    "--scope",
    "scopes",
    metavar="SCOPE",
    multiple=True,
    callback=_parse_scopes,
    help="From feedback: whose contexts; may be repeated.",
)
@options.profile("default")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    metavar="FILE.toml",
    help="The profile to write, with its report beside it.  [default: its name and its new version]",
)
@evaluate.store_option("FOLDER", "Keep the memories of each DIR in a file in this folder", "judged")
@click.option("--embedder", metavar="NAME", help="The embedder of new stores: a name, or https://host/v1#model.")
@click.option(
    "--folds",
    type=click.IntRange(min=2),
    metavar="N",
    default=5,
    show_default=True,
    help="In how many parts scopes, or questions, are held out.",
)
@click.option(
    "--seed",
    type=click.IntRange(min=0),
    metavar="N",
    help=f"From feedback: how questions are dealt into the parts.  [default: {DEFAULT_SEED}]",
)
@click.option(
    "--k",
    type=click.IntRange(min=1, max=options.MAX_K),
    metavar="K",
    help=f"Of judgements: among how many memories it is to be found.  [default: {DEFAULT_K}]",
)
@click.option(
    "--force", is_flag=True, help="Replace files that are there; of judgements, write also what is no better."
)
@options.as_json
@pass_target
def tune(
    place: StoreTarget,
    folders: tuple[Path, ...],
    from_feedback: bool,
    scopes: tuple[Scope, ...],
    profile: str,
    out: Path | None,
    store: str | None,
    embedder: str | None,
    folds: int,
    seed: int | None,
    k: int | None,
    force: bool,
    as_json: bool,
) -> None:
    """Fit the weights and floors of a profile, and write it as a new version.

    It is fitted to the judgements of every DIR, each of which counts alike and is as `recollect eval` takes it; or,
    from feedback, to what helped and what misled in the contexts that --db has recorded. What the new numbers are
    worth is measured on scopes, or questions, that they were not fitted to. A profile that is not better there, by
    more than chance may do, is not written; whoever uses one that is finds the figures in the report beside it,
    without which `recollect profiles check` refuses it.

    \b
    recollect profiles tune judgements more-judgements --profile mine.toml --out mine-2.toml
    recollect profiles tune --from-feedback --scope acme/ana --scope acme/ben --out mine.toml
    """
    from recollect.evaluation import tuned_profile
    from recollect.evaluation.tuned_profile import file_stem, next_profile, tuning_report_to_json

    if from_feedback:
        _refuse_options("judgements", {"DIR": folders, "--store": store, "--embedder": embedder, "--k": k})
    else:
        _refuse_options("feedback", {"--scope": scopes, "--seed": seed})
    start = config.profile(profile)
    named = Path(f"{file_stem(start)}.toml") if out is None else out
    if named.suffix != ".toml":
        raise InvalidInput(f"the profile file {str(named)!r} does not end in .toml; rename it")
    report = next_profile(start, named.stem).report or ""  # this refuses a name that no profile can have
    if from_feedback:
        find = _make_feedback_tuner(place, scopes, seed=DEFAULT_SEED if seed is None else seed)
    else:
        find = _make_judgment_tuner(place, folders, store, embedder=embedder, k=DEFAULT_K if k is None else k)
    told_from = place.target if from_feedback else None
    try:
        with ExitStack() as stack:
            # the last file here is renamed first, so a new profile never exists without its report
            made = stack.enter_context(files.write_atomically(named, store=told_from, force=force))
            told = stack.enter_context(files.write_atomically(named.with_name(report), store=told_from, force=force))
            found = find(start, named.stem, folds)
            _write_profile(found, made, told, force=force and not from_feedback)
        better = True
    except _NotBetter as refused:
        found, better = refused.found, False
    if as_json:
        output.print_json({**tuning_report_to_json(found), "written": [named.name, report] if better else []})
    else:
        output.print_lines(tuned_profile.format_tuning(found, output.paint))
    if not better:
        remedy = "; --force writes it all the same" if found.tuning.changed and not from_feedback else ""
        raise RecollectError(f"{str(named)!r} was not written, for it would be no better than before{remedy}")
    output.print_note(f"written to {make_printable(str(named))}, with {make_printable(report)} beside it")


Tuner = Callable[[Profile, str, int], "TunedProfile"]
"""Tunes a profile under a name, with a number of folds."""


def _refuse_options(way: str, given: Mapping[str, object]) -> None:
    """Raise UsageError for an option of the other way to tune."""
    odd = next((name for name, value in given.items() if value not in (None, ())), None)
    if odd is not None:
        one = "leave it out, or --from-feedback" if way == "judgements" else "give --from-feedback with it"
        raise click.UsageError(f"{odd} is for tuning from {way}; {one}.")


def _make_judgment_tuner(
    place: StoreTarget, folders: Sequence[Path], store: str | None, *, embedder: str | None, k: int
) -> Tuner:
    """Return a tuner for folders of judgments, which are read at once."""
    from recollect.evaluation.judgments import read_judgments
    from recollect.evaluation.tuned_profile import refuse_duplicate_folders

    if not folders:
        raise click.UsageError("Name a DIR of judgements, or give --from-feedback and --scope.")
    judgements = [read_judgments(folder) for folder in folders]
    refuse_duplicate_folders(judgements)
    evaluate.warn_db_unused(place, store, "FOLDER would keep the memories of each DIR in a file there")

    def find(start: Profile, name: str, folds: int) -> "TunedProfile":
        with evaluate.open_store_folder(store) as kept:
            return _fit_profile(judgements, start, kept, name=name, embedder=embedder, folds=folds, k=k)

    return find


def _make_feedback_tuner(place: StoreTarget, scopes: Sequence[Scope], *, seed: int) -> Tuner:
    """Return a tuner for the feedback recorded in these scopes of an existing store."""
    if not scopes:
        raise click.UsageError("Say from whose contexts to learn, for example: --scope acme/ana")
    place.refuse_missing()

    def find(start: Profile, name: str, folds: int) -> "TunedProfile":
        from recollect.evaluation.feedback_data import tune_on_feedback
        from recollect.evaluation.tuned_profile import build_tuned_profile
        from recollect.model.training_example import TrainingSet

        several: list[TrainingSet] = []
        with place.open_existing() as engine:
            for scope in scopes:
                with progress_bar(f"asking {make_printable(str(scope))} again") as tell:
                    several.append(engine.experience(scope=scope, profile=start, progress=tell))
            embedder, others = engine.embedder, _name_scopes_below(engine, several)
        try:
            with progress_bar("fitting") as tell:
                learned = tune_on_feedback(TrainingSet.merge(several), start, folds=folds, seed=seed, tell=tell)
        except InvalidInput as refused:
            raise InvalidInput(f"{refused}{f', such as {others}' if others else ''}") from refused
        return build_tuned_profile(
            learned.tuning,
            [learned.training_set],
            name=name,
            origin=learned,
            embedder=embedder,
            made_at=datetime.now(UTC),
            versions=VERSIONS,
        )

    return find


def _name_scopes_below(engine: Engine, several: "Sequence[TrainingSet]") -> str:
    """Name the first scopes that have contexts, below those without usable feedback."""
    asked = {scope for one in several for scope in one.scopes}
    empty = [scope for one in several if not one.told for scope in one.scopes]
    below = dict.fromkeys(other for scope in empty for other in engine.scopes(scope=scope) if other not in asked)
    near = islice(below, MAX_SCOPES_CHECKED)
    found = (make_printable(str(one)) for one in near if engine.stats(scope=one, below=False).contexts)
    return ", ".join(islice(found, MAX_SCOPES_NAMED))


def _write_profile(found: "TunedProfile", profile: Path, report: Path, *, force: bool) -> None:
    """Write the profile and its report; raise _NotBetter if the profile is no improvement."""
    from recollect.evaluation.tuned_profile import tuning_report_to_json

    if not found.tuning.carries_over and not (found.tuning.changed and force):
        raise _NotBetter(found)
    profile.write_text(profile_to_toml(found.profile, found.comments), encoding="utf-8")
    report.write_text(f"{json.dumps(tuning_report_to_json(found), indent=2)}\n", encoding="utf-8")


class _NotBetter(Exception):
    """Carries the result out of the block, and keeps the files from getting their names."""

    def __init__(self, found: "TunedProfile") -> None:
        super().__init__()
        self.found = found


def _fit_profile(
    judgements: "list[Judgments]", start: Profile, kept: Path, *, name: str, embedder: str | None, folds: int, k: int
) -> "TunedProfile":
    """Load every folder, collect the signal values, and fit the profile."""
    from recollect.evaluation.tuned_profile import JudgmentOrigin, build_tuned_profile
    from recollect.evaluation.tuning import tune

    gathered = [_gather_features(one, start, kept, embedder=embedder, k=k) for one in judgements]
    models = {model for _, model in gathered}
    if len(models) > 1:
        raise InvalidInput(f"the stores are of different embedders, {', '.join(sorted(models))}; name one --embedder")
    features = [one for one, _ in gathered]
    with progress_bar("fitting") as tell:
        tuning = tune(features, start, folds=folds, tell=tell)
    return build_tuned_profile(
        tuning,
        features,
        name=name,
        origin=JudgmentOrigin(k),
        embedder=models.pop(),
        made_at=datetime.now(UTC),
        versions=VERSIONS,
    )


def _gather_features(
    judgements: "Judgments", profile: Profile, kept: Path, *, embedder: str | None, k: int
) -> "tuple[JudgmentTrainingSet, str]":
    """Return the signal values of a folder's candidates, and the name of the store's model."""
    from recollect.evaluation import runner
    from recollect.evaluation.training_set import build_training_set

    name = judgements.folder.resolve().name
    file = str(kept / f"{name}-{judgements.digest[:12]}.db")
    with progress_bar(f"loading {make_printable(name)}") as tell:
        there = runner.load_judgment_store(judgements, partial(factory.open, file, embedder=embedder), tell)
    with there.open_engine() as engine, progress_bar(f"asking {make_printable(name)}") as tell:
        return build_training_set(engine, judgements, there.loaded, profile, k=k, tell=tell), there.embedder
