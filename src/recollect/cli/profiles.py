"""The commands `recollect profiles` and `recollect rank`.

`profiles` lists, shows, checks and tunes rank profiles. `rank` ranks candidates from a file and needs no store.
`profiles tune` writes a new profile and a report beside it, and only if the profile is better on held-out data or
--force is given.
"""

import json
import platform
import re
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import click

from recollect import config, factory
from recollect.api import schemas
from recollect.cli import evaluate, files, formatting, options, output
from recollect.cli.options import StoreTarget, pass_target
from recollect.cli.output import progress_bar
from recollect.engine.engine import Engine
from recollect.errors import InvalidInput, RecollectError
from recollect.model.candidate import Candidate
from recollect.model.context import TrainingSet
from recollect.model.format import make_printable
from recollect.model.scope import Scope, as_scope
from recollect.packing import pack
from recollect.ranking.candidates_json import read_candidates
from recollect.ranking.profile import Profile
from recollect.ranking.profile_toml import profile_to_document, profile_to_toml
from recollect.ranking.profiles import BUILTIN_PROFILES, PROFILE_TEXTS, builtin_profile
from recollect.ranking.rank import rank as rank_candidates
from recollect.version import __version__

if TYPE_CHECKING:
    from recollect.evaluation.judgments import Judgments
    from recollect.evaluation.training_set import JudgmentTrainingSet
    from recollect.evaluation.tuned_profile import TunedProfile


VERSIONS = {"recollect": __version__, "Python": platform.python_version()}
"""The program versions recorded in a report."""

DEFAULT_K, DEFAULT_SEED = 10, 0
"""Defaults: number of results looked at, and random seed for the folds."""

MAX_SCOPES_CHECKED, MAX_SCOPES_NAMED = 50, 3
"""Maximum number of scopes checked for contexts as a hint, and of those named."""


def _parse_scopes(_: click.Context, __: click.Parameter, values: tuple[str, ...]) -> tuple[Scope, ...]:
    """Parse the scopes and drop repeated ones."""
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
    db: StoreTarget,
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
    from recollect.cli import evaluation_output
    from recollect.evaluation.tuned_profile import file_stem, next_profile, tuning_report_to_json

    if from_feedback:
        _refuse_options("judgments", {"DIR": folders, "--store": store, "--embedder": embedder, "--k": k})
    else:
        _refuse_options("feedback", {"--scope": scopes, "--seed": seed})
    base_profile = config.profile(profile)
    target = Path(f"{file_stem(base_profile)}.toml") if out is None else out
    if target.suffix != ".toml":
        raise InvalidInput(f"the profile file {str(target)!r} does not end in .toml; rename it")
    report = next_profile(base_profile, target.stem).report or ""  # this refuses a name that no profile can have
    if from_feedback:
        tune_profile = _make_feedback_tuner(db, scopes, seed=DEFAULT_SEED if seed is None else seed)
    else:
        tune_profile = _make_judgment_tuner(db, folders, store, embedder=embedder, k=DEFAULT_K if k is None else k)
    source_store = db.target if from_feedback else None
    try:
        with ExitStack() as stack:
            # the last file here is renamed first, so a new profile never exists without its report
            profile_path = stack.enter_context(files.write_atomically(target, store=source_store, force=force))
            report_path = stack.enter_context(
                files.write_atomically(target.with_name(report), store=source_store, force=force)
            )
            tuned = tune_profile(base_profile, target.stem, folds)
            _write_profile(tuned, profile_path, report_path, force=force and not from_feedback)
        better = True
    except _NotBetter as not_better:
        tuned, better = not_better.tuned, False
    if as_json:
        output.print_json({**tuning_report_to_json(tuned), "written": [target.name, report] if better else []})
    else:
        output.print_lines(evaluation_output.format_tuning(tuned, output.paint))
    if not better:
        remedy = "; --force writes it anyway" if tuned.tuning.changed and not from_feedback else ""
        raise RecollectError(f"{str(target)!r} was not written because the profile is no better than before{remedy}")
    output.print_note(f"written to {make_printable(str(target))}, with {make_printable(report)} beside it")


Tuner = Callable[[Profile, str, int], "TunedProfile"]
"""Tunes a profile under a name, with a number of folds."""


def _refuse_options(source: str, given: Mapping[str, object]) -> None:
    """Raise UsageError for an option of the other way to tune."""
    misplaced = next((name for name, value in given.items() if value not in (None, ())), None)
    if misplaced is not None:
        remedy = "remove it or --from-feedback" if source == "judgments" else "add --from-feedback"
        raise click.UsageError(f"{misplaced} is for tuning from {source}; {remedy}.")


def _make_judgment_tuner(
    db: StoreTarget, folders: Sequence[Path], store: str | None, *, embedder: str | None, k: int
) -> Tuner:
    """Return a tuner for folders of judgments, which are read at once."""
    from recollect.evaluation.judgments import read_judgments
    from recollect.evaluation.tuned_profile import refuse_duplicate_folders

    if not folders:
        raise click.UsageError("Name a DIR of judgments, or use --from-feedback with --scope.")
    judgments = [read_judgments(folder) for folder in folders]
    refuse_duplicate_folders(judgments)
    evaluate.warn_db_unused(db, store, "FOLDER would keep the memories of each DIR in a file there")

    def find(start: Profile, name: str, folds: int) -> "TunedProfile":
        with evaluate.open_store_folder(store) as store_folder:
            return _fit_profile(judgments, start, store_folder, name=name, embedder=embedder, folds=folds, k=k)

    return find


def _make_feedback_tuner(db: StoreTarget, scopes: Sequence[Scope], *, seed: int) -> Tuner:
    """Return a tuner for the feedback recorded in these scopes of an existing store."""
    if not scopes:
        raise click.UsageError("Name the scope whose contexts to learn from, for example: --scope acme/ana")
    db.refuse_missing()

    def find(start: Profile, name: str, folds: int) -> "TunedProfile":
        from recollect.evaluation.feedback_data import tune_on_feedback
        from recollect.evaluation.tuned_profile import build_tuned_profile

        training_sets: list[TrainingSet] = []
        with db.open_existing() as engine:
            for scope in scopes:
                with progress_bar(f"asking {make_printable(str(scope))} again") as show_progress:
                    training_sets.append(
                        engine.contexts.training_examples(scope=scope, profile=start, progress=show_progress)
                    )
            embedder, scopes_below = engine.admin.embedder, _name_scopes_below(engine, training_sets)
        try:
            with progress_bar("fitting") as show_progress:
                result = tune_on_feedback(
                    TrainingSet.merge(training_sets), start, folds=folds, seed=seed, report_progress=show_progress
                )
        except InvalidInput as error:
            raise InvalidInput(f"{error}{f', such as {scopes_below}' if scopes_below else ''}") from error
        return build_tuned_profile(
            result.tuning,
            [result.training_set],
            name=name,
            origin=result,
            embedder=embedder,
            made_at=datetime.now(UTC),
            versions=VERSIONS,
        )

    return find


def _name_scopes_below(engine: Engine, training_sets: Sequence[TrainingSet]) -> str:
    """Name the first scopes that have contexts, below those without usable feedback."""
    searched = {scope for one in training_sets for scope in one.scopes}
    empty = [scope for one in training_sets if not one.told for scope in one.scopes]
    below = dict.fromkeys(other for scope in empty for other in engine.scopes(scope=scope) if other not in searched)
    near = islice(below, MAX_SCOPES_CHECKED)
    names = (make_printable(str(one)) for one in near if engine.stats(scope=one, below=False).contexts)
    return ", ".join(islice(names, MAX_SCOPES_NAMED))


def _write_profile(tuned: "TunedProfile", profile: Path, report: Path, *, force: bool) -> None:
    """Write the profile and its report; raise _NotBetter if the new profile is not better."""
    from recollect.evaluation.tuned_profile import tuning_report_to_json

    if not tuned.tuning.carries_over and not (tuned.tuning.changed and force):
        raise _NotBetter(tuned)
    profile.write_text(profile_to_toml(tuned.profile, tuned.comments), encoding="utf-8")
    report.write_text(f"{json.dumps(tuning_report_to_json(tuned), indent=2)}\n", encoding="utf-8")


class _NotBetter(Exception):
    """Raised so that the new files are discarded; carries the result out of the block that writes them."""

    def __init__(self, tuned: "TunedProfile") -> None:
        super().__init__()
        self.tuned = tuned


def _fit_profile(
    judgments: "list[Judgments]",
    start: Profile,
    store_folder: Path,
    *,
    name: str,
    embedder: str | None,
    folds: int,
    k: int,
) -> "TunedProfile":
    """Load every folder, collect the signal values, and fit the profile."""
    from recollect.evaluation.tuned_profile import JudgmentOrigin, build_tuned_profile
    from recollect.evaluation.tuning import tune

    results = [_gather_features(one, start, store_folder, embedder=embedder, k=k) for one in judgments]
    models = {model for _, model in results}
    if len(models) > 1:
        raise InvalidInput(
            f"the stores have different embedders ({', '.join(sorted(models))}); choose one with --embedder"
        )
    features = [one for one, _ in results]
    with progress_bar("fitting") as show_progress:
        tuning = tune(features, start, folds=folds, report_progress=show_progress)
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
    judgments: "Judgments", profile: Profile, store_folder: Path, *, embedder: str | None, k: int
) -> "tuple[JudgmentTrainingSet, str]":
    """Return the signal values of a folder's candidates, and the name of the store's model."""
    from recollect.evaluation import runner
    from recollect.evaluation.training_set import build_training_set

    name = judgments.folder.resolve().name
    file = str(store_folder / f"{name}-{judgments.digest[:12]}.db")
    with progress_bar(f"loading {make_printable(name)}") as show_progress:
        judged_store = runner.load_judgment_store(
            judgments, partial(factory.open, file, embedder=embedder), show_progress
        )
    with judged_store.open_engine() as engine, progress_bar(f"asking {make_printable(name)}") as show_progress:
        return build_training_set(
            engine, judgments, judged_store.loaded, profile, k=k, report_progress=show_progress
        ), judged_store.embedder


REPORT_LINE_PATTERN = re.compile(r"^report *=.*\n", re.MULTILINE)


@click.group(invoke_without_command=True)
@click.option("--json", "as_json", is_flag=True, help="Print the list as JSON.")
@click.pass_context
def profiles(ctx: click.Context, as_json: bool) -> None:
    """List, show, check and tune rank profiles; alone it lists them."""
    if ctx.invoked_subcommand is None:
        ctx.invoke(list_profiles, as_json=as_json)


@profiles.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def list_profiles(as_json: bool) -> None:
    """List the built-in profiles."""
    if as_json:
        rows = [{"name": p.name, "version": p.version, "about": p.about} for p in BUILTIN_PROFILES.values()]
        output.print_json(rows)
    else:
        for profile in BUILTIN_PROFILES.values():
            click.echo(formatting.format_profile(profile))


@profiles.command()
@click.argument("name", shell_complete=options.complete_profiles)
@click.option("--json", "as_json", is_flag=True, help="Print JSON, every option spelled out.")
def show(name: str, as_json: bool) -> None:
    """Print the built-in profile NAME as written, ready to copy and change.

    Its report is not named there, for it does not tell of a copy that was changed.
    """
    profile = builtin_profile(name)
    if as_json:
        output.print_json({"name": profile.name, **profile_to_document(profile)})
    else:
        click.echo(REPORT_LINE_PATTERN.sub("", PROFILE_TEXTS[name]), nl=False)


@profiles.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print JSON, every option spelled out.")
def check(file: Path, as_json: bool) -> None:
    """Check the profile in FILE, and say what is wrong with it if anything is.

    Numbers that differ from those of its report are wrong, and so are other numbers under a built-in profile's name.
    """
    profile = config.load_checked_profile_file(file)
    if as_json:
        output.print_json({"name": profile.name, **profile_to_document(profile)})
    else:
        report = "" if profile.report is None else f" and matches its report {profile.report}"
        click.echo(f"{profile.name} {profile.version} is a valid profile{report}")


profiles.add_command(tune)


@click.command(short_help="Rank candidates from a file or a pipe.")
@click.argument("file", type=click.File("rb"), default="-")
@options.profile("default")
@options.moment("--at", "The moment to rank for, as 2026-10-01 (0:00 UTC) or 2026-10-01T09:30Z; else the present.")
@click.option("--set", "changes", metavar="KEY=VALUE", multiple=True, help="Override a key; may be repeated.")
@click.option("--limit", type=click.IntRange(min=1), help="Keep the best so many.")
@click.option("--why", metavar="ID", help="Say where this candidate stands or fell, and what would change it.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON with full precision.")
def rank(
    file: BinaryIO,
    profile: str,
    at: datetime | None,
    changes: tuple[str, ...],
    limit: int | None,
    why: str | None,
    as_json: bool,
) -> None:
    """Rank candidates, one JSON object a line, from FILE or standard input.

    A candidate has an `id` and any of: similarity (-1..1), lexical, relevance, addressed, setting, linked,
    importance, usefulness, confidence, salience (0..1), served, revisions, words (counts), days_off, created_at,
    updated_at, last_accessed_at, valid_from (dates with an offset), kind, session, speaker, link, vector, and to
    be shown: text (with created_at), title, pinned. What is unknown is left out.

    \b
    echo '{"id": "a", "similarity": 0.7, "created_at": "2025-12-01T00:00:00Z"}' | recollect rank
    recollect rank notes.jsonl --set terms.thread.half=20 --set min_score=0.2
    """
    chosen = config.load_configured_profile(config.load_settings(), profile, _parse_overrides(changes))
    moment = datetime.now(UTC) if at is None else at
    candidates = _read_candidates(file)
    if why is None:
        ranking = rank_candidates(candidates, chosen, moment, limit=limit)
        _print_lines_or_json(
            schemas.recall.CandidateRanking.of(ranking).to_json()
            if as_json
            else formatting.format_ranking(ranking, width=output.terminal_width())
        )
    else:
        reason = pack.why(why, candidates, chosen, moment, limit=limit)
        _print_lines_or_json(schemas.recall.Why.of(reason).to_json() if as_json else formatting.format_why(reason))


def _read_candidates(file: BinaryIO) -> list[Candidate]:
    """Read the candidates of a file; at a terminal, prompt for them."""
    if file.isatty():
        click.echo("reading candidates, one JSON object a line; Ctrl-D ends them", err=True)
    try:
        return read_candidates(file)
    except OSError as error:
        raise InvalidInput(f"the candidates cannot be read: {error.strerror}") from error


def _parse_overrides(changes: Iterable[str]) -> dict[str, Any]:
    """Parse `terms.thread.half=20` into nested tables; a value is TOML, or else text."""
    overrides: dict[str, Any] = {}
    for change in changes:
        path, separator, value = change.partition("=")
        if not separator or not path:
            raise InvalidInput(f"--set {change!r} has no KEY=VALUE, such as terms.thread.half=20")
        *tables, key = path.split(".")
        table = overrides
        for name in tables:
            table = table.setdefault(name, {})
            if not isinstance(table, dict):
                raise InvalidInput(f"--set {change!r} needs {name!r} to be a table, but another --set made it a value")
        table[key] = _parse_value(value)
    return overrides


def _parse_value(text: str) -> object:
    try:
        document = tomllib.loads(f"value = {text}")
    except (ValueError, RecursionError):
        return text or None
    return document["value"] if len(document) == 1 else text


def _print_lines_or_json(result: dict[str, Any] | Iterable[str]) -> None:
    if isinstance(result, dict):
        output.print_json(result)
    else:
        output.print_lines(result)
