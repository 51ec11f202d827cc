"""recollect profiles tune: folders of judgements in, a profile with a report out."""

import json
import platform
from contextlib import ExitStack
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from recollect import config, wiring
from recollect.cli import files, judged, options, output
from recollect.cli.bars import bar
from recollect.cli.place import Place, place
from recollect.errors import InvalidInput, RecollectError
from recollect.model.wording import printable
from recollect.ranking.profile import Profile
from recollect.ranking.written import written
from recollect.version import __version__

if TYPE_CHECKING:
    from recollect.evaluation.features import Features
    from recollect.evaluation.judgements import Judgements
    from recollect.evaluation.tuned import Tuned


@click.command(short_help="Fit a profile's weights to judgements.")
@click.argument("folders", metavar="DIR…", nargs=-1, required=True, type=click.Path(path_type=Path))
@options.profile("default")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    metavar="FILE.toml",
    help="The profile to write, with its report beside it.  [default: its name and its new version]",
)
@judged.store("FOLDER", "Keep the memories of each DIR in a file in this folder", "judged")
@click.option("--embedder", metavar="NAME", help="The embedder of new stores: a name, or https://host/v1#model.")
@click.option(
    "--folds",
    type=click.IntRange(min=2),
    metavar="N",
    default=5,
    show_default=True,
    help="In how many parts scopes are held out.",
)
@click.option(
    "--k",
    type=click.IntRange(min=1, max=options.LARGEST_K),
    metavar="K",
    default=10,
    show_default=True,
    help="Among how many memories it is to be found.",
)
@click.option("--force", is_flag=True, help="Replace files that are there, and write also what does not carry over.")
@options.as_json
@place
def tune(
    place: Place,
    folders: tuple[Path, ...],
    profile: str,
    out: Path | None,
    store: str | None,
    embedder: str | None,
    folds: int,
    k: int,
    force: bool,
    as_json: bool,
) -> None:
    """Fit the weights and floors of a profile to the judgements of every DIR, and write it as a new version.

    Each DIR counts alike, and is as `recollect eval` takes it. What the new numbers are worth is measured on scopes
    that they were not fitted to. A profile that is not better there is not written; whoever uses one that is finds
    the figures in the report beside it, without which `recollect profiles check` refuses it.

    \b
    recollect profiles tune judgements more-judgements --profile mine.toml --out mine-2.toml
    """
    from recollect.evaluation import tuned_lines
    from recollect.evaluation.judgements import read_judgements
    from recollect.evaluation.tuned import document, file_stem, refuse_twice, successor

    start = config.profile(profile)
    named = Path(f"{file_stem(start)}.toml") if out is None else out
    if named.suffix != ".toml":
        raise InvalidInput(f"the profile file {str(named)!r} does not end in .toml; rename it")
    report = successor(start, named.stem).report or ""  # which refuses what no profile can be called
    judgements = [read_judgements(folder) for folder in folders]
    refuse_twice(judgements)
    judged.say_unused(place, store, "FOLDER would keep the memories of each DIR in a file there")
    try:
        with ExitStack() as stack:
            kept = stack.enter_context(judged.kept_folder(store))
            # what comes last here gets its name first: whenever it ends, no new profile is there without its report
            made = stack.enter_context(files.whole(named, store=None, force=force))
            told = stack.enter_context(files.whole(named.with_name(report), store=None, force=force))
            found = _tune(judgements, start, kept, name=named.stem, embedder=embedder, folds=folds, k=k)
            _write(found, made, told, force=force)
        better = True
    except _NoBetter as refused:
        found, better = refused.found, False
    if as_json:
        output.data({**document(found), "written": [named.name, report] if better else []})
    else:
        output.lines(tuned_lines.report(found, output.paint))
    if not better:
        remedy = "; --force writes it all the same" if found.tuning.changed else ""
        raise RecollectError(f"{str(named)!r} was not written, for it would be no better than before{remedy}")
    output.talk(f"written to {printable(str(named))}, with {printable(report)} beside it")


def _write(found: "Tuned", profile: Path, report: Path, *, force: bool) -> None:
    """Write both, unless that would make nothing better."""
    from recollect.evaluation.tuned import document

    if not found.tuning.carries_over and not (found.tuning.changed and force):
        raise _NoBetter(found)
    profile.write_text(written(found.profile, found.comments), encoding="utf-8")
    report.write_text(f"{json.dumps(document(found), indent=2)}\n", encoding="utf-8")


class _NoBetter(Exception):
    """Keeps files from getting their names, and what was found from getting lost."""

    def __init__(self, found: "Tuned") -> None:
        super().__init__()
        self.found = found


def _tune(
    judgements: "list[Judgements]", start: Profile, kept: Path, *, name: str, embedder: str | None, folds: int, k: int
) -> "Tuned":
    """Load every folder, gather what the signals say, and fit."""
    from recollect.evaluation.tuned import tuned
    from recollect.evaluation.tuning import tune

    gathered = [_gathered(one, start, kept, embedder=embedder, k=k) for one in judgements]
    models = {model for _, model in gathered}
    if len(models) > 1:
        raise InvalidInput(f"the stores are of different embedders, {', '.join(sorted(models))}; name one --embedder")
    features = [one for one, _ in gathered]
    with bar("fitting") as tell:
        tuning = tune(features, start, folds=folds, tell=tell)
    return tuned(
        tuning,
        features,
        name=name,
        embedder=models.pop(),
        made_at=datetime.now(UTC),
        versions={"recollect": __version__, "Python": platform.python_version()},
    )


def _gathered(
    judgements: "Judgements", profile: Profile, kept: Path, *, embedder: str | None, k: int
) -> "tuple[Features, str]":
    """What the signals say of the folder's candidates, and the model that was asked."""
    from recollect.evaluation import stored
    from recollect.evaluation.features import gather

    name = judgements.folder.resolve().name
    file = str(kept / f"{name}-{judgements.digest[:12]}.db")
    with bar(f"loading {printable(name)}") as tell:
        there = stored.store(judgements, partial(wiring.open, file, embedder=embedder), tell)
    with there.opened() as engine, bar(f"asking {printable(name)}") as tell:
        return gather(engine, judgements, there.loaded, profile, k=k, tell=tell), there.embedder
