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
from recollect.cli import evaluate, files, formatting, options, output
from recollect.cli.options import StoreTarget, pass_target
from recollect.cli.output import progress_bar
from recollect.engine.engine import Engine
from recollect.errors import InvalidInput, RecollectError
from recollect.model.candidate import Candidate
from recollect.model.format import make_printable
from recollect.model.scope import Scope, as_scope
from recollect.packing.pack import why as explain_place
from recollect.ranking import scorer
from recollect.ranking.candidates_json import read_candidates
from recollect.ranking.profile import Profile
from recollect.ranking.profile_toml import profile_to_document, profile_to_toml
from recollect.ranking.profiles import BUILTIN_PROFILES, PROFILE_TEXTS, builtin_profile
from recollect.render import json_values
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
        _refuse_options("judgments", {"DIR": folders, "--store": store, "--embedder": embedder, "--k": k})
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
        remedy = "; --force writes it anyway" if found.tuning.changed and not from_feedback else ""
        raise RecollectError(f"{str(named)!r} was not written because the profile is no better than before{remedy}")
    output.print_note(f"written to {make_printable(str(named))}, with {make_printable(report)} beside it")


Tuner = Callable[[Profile, str, int], "TunedProfile"]
"""Tunes a profile under a name, with a number of folds."""


def _refuse_options(way: str, given: Mapping[str, object]) -> None:
    """Raise UsageError for an option of the other way to tune."""
    odd = next((name for name, value in given.items() if value not in (None, ())), None)
    if odd is not None:
        one = "remove it or --from-feedback" if way == "judgments" else "add --from-feedback"
        raise click.UsageError(f"{odd} is for tuning from {way}; {one}.")


def _make_judgment_tuner(
    place: StoreTarget, folders: Sequence[Path], store: str | None, *, embedder: str | None, k: int
) -> Tuner:
    """Return a tuner for folders of judgments, which are read at once."""
    from recollect.evaluation.judgments import read_judgments
    from recollect.evaluation.tuned_profile import refuse_duplicate_folders

    if not folders:
        raise click.UsageError("Name a DIR of judgments, or use --from-feedback with --scope.")
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
        raise click.UsageError("Name the scope whose contexts to learn from, for example: --scope acme/ana")
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
        raise InvalidInput(
            f"the stores have different embedders ({', '.join(sorted(models))}); choose one with --embedder"
        )
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
        measured = "" if profile.report is None else f" and matches its report {profile.report}"
        click.echo(f"{profile.name} {profile.version} is a valid profile{measured}")


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
        ranking = scorer.rank(candidates, chosen, moment, limit=limit)
        _print_lines_or_json(
            json_values.ranking_fields(ranking)
            if as_json
            else formatting.format_ranking(ranking, width=output.terminal_width())
        )
    else:
        reason = explain_place(why, candidates, chosen, moment, limit=limit)
        _print_lines_or_json(json_values.why_fields(reason) if as_json else formatting.format_why(reason))


def _read_candidates(file: BinaryIO) -> list[Candidate]:
    """Read the candidates of a file; a user at a terminal is told to type them."""
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


def _parse_value(written: str) -> object:
    try:
        document = tomllib.loads(f"value = {written}")
    except (ValueError, RecursionError):
        return written or None
    return document["value"] if len(document) == 1 else written


def _print_lines_or_json(shown: dict[str, Any] | Iterable[str]) -> None:
    if isinstance(shown, dict):
        output.print_json(shown)
    else:
        output.print_lines(shown)
