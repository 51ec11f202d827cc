"""The command `recollect eval`, and the store options shared by commands on judgments."""

import platform
import shlex
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import click

from recollect import config, factory
from recollect.cli import files, options, output
from recollect.cli.options import F, StoreTarget, pass_target
from recollect.cli.output import progress_bar
from recollect.errors import FieldError, InvalidInput, show
from recollect.model.format import make_printable
from recollect.model.validation import IN_MEMORY_TARGET
from recollect.ranking.profile import Profile
from recollect.version import __version__

if TYPE_CHECKING:
    from recollect.evaluation.judgments import Judgments
    from recollect.evaluation.report import EvaluationReport


def store_option(metavar: str, keeps: str, example: str) -> Callable[[F], F]:
    """Return a --store option; it refuses an empty value, a database and a URL."""

    def check_target(_: click.Context, __: click.Parameter, value: str | None) -> str | None:
        if value is not None and not value:
            raise InvalidInput(f"--store is empty; name a {metavar.lower()}, such as --store {example}")
        if value is not None and factory.is_database(value):
            raise InvalidInput(f"--store takes a {metavar.lower()}, not a database; name one, such as {example}")
        if value is not None:
            factory.refuse_url(value)
        return value

    help_text = f"{keeps}, and find them there the next time; {IN_MEMORY_TARGET} keeps nothing, as without it."
    return click.option("--store", metavar=metavar, callback=check_target, help=help_text)


def warn_db_unused(db: StoreTarget, store: str | None, instead: str) -> None:
    """Print a note that --db is not used here; call it before the slow loading starts."""
    if db.is_explicit and store is None:
        output.print_note(f"--db is not used here: --store {instead}")


@contextmanager
def open_store_file(store: str | None) -> Iterator[str]:
    """Yield the path of the store file: the named one, or a temporary one removed afterwards."""
    if store is not None and store != IN_MEMORY_TARGET:
        yield store
        return
    with _temporary_folder() as folder:
        yield str(folder / "judged.db")


@contextmanager
def open_store_folder(store: str | None) -> Iterator[Path]:
    """Yield the folder for store files: the named one, created if missing, or a temporary one."""
    if store is None or store == IN_MEMORY_TARGET:
        with _temporary_folder() as folder:
            yield folder
        return
    try:
        Path(store).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidInput(f"{show(store)} is not a folder and cannot be created: {error.strerror}") from error
    yield Path(store)


@contextmanager
def _temporary_folder() -> Iterator[Path]:
    with TemporaryDirectory(prefix="recollect-judged-") as folder:
        yield Path(folder)


def _parse_ks(_: click.Context, param: click.Parameter, value: str) -> tuple[int, ...]:
    """Parse `5,10,20` into sorted, distinct numbers."""
    name = param.opts[0]
    try:
        numbers = sorted({int(one) for one in value.split(",")})
    except ValueError as error:
        raise FieldError(f"{show(value)} is not a list of whole numbers, such as 5,10,20", field=name) from error
    if numbers[0] < 1 or numbers[-1] > options.MAX_K:
        raise FieldError(f"{show(value)} has a number outside 1..{options.MAX_K}", field=name)
    return tuple(numbers)


@click.command("eval", short_help="Measure how well a profile finds what it should.")
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option(
    "--profile",
    "profiles",
    multiple=True,
    shell_complete=options.complete_profiles,
    help="A profile's name, or a .toml file; may be repeated.  [default: default]",
)
@click.option(
    "--compare",
    nargs=2,
    metavar="A B",
    shell_complete=options.complete_profiles,
    help="Measure these two, and test what B gains over A.",
)
@click.option(
    "--k", "ks", metavar="K,…", default="5,10,20", show_default=True, callback=_parse_ks, help="Among how many."
)
@store_option("FILE", "Keep the folder's memories in this file", "judged.db")
@click.option("--embedder", metavar="NAME", help="The embedder of a new store: a name, or https://host/v1#model.")
@click.option(
    "--limit-queries", type=click.IntRange(min=1), metavar="N", help="Ask only so many, spread over the folder."
)
@click.option("--report", "page", type=click.Path(path_type=Path), metavar="FILE", help="Write a page of HTML too.")
@click.option("--force", is_flag=True, help="Replace the report if there is one.")
@options.as_json
@pass_target
def evaluate(
    db: StoreTarget,
    folder: Path,
    profiles: tuple[str, ...],
    compare: tuple[str, str] | None,
    ks: tuple[int, ...],
    store: str | None,
    embedder: str | None,
    limit_queries: int | None,
    page: Path | None,
    force: bool,
    as_json: bool,
) -> None:
    """Ask the queries of DIR, and measure whether the memories that were judged relevant come first.

    DIR has memories.jsonl (id, scope, text, created_at, …), queries.jsonl (id, scope, text, asked_at, category)
    and qrels.tsv (query, memory, grade). Nothing is counted as served, and no query sees what is later than it.

    A figure is the mean over queries. The mean over categories, by which leaderboards rank, is in the last row of each
    table of categories, and in by_category_mean of --json. Texts that repeat are not merged.

    \b
    recollect eval judgements --profile default --profile mine.toml
    recollect eval judgements --compare default mine.toml --store judged.db --report report.html
    """
    from recollect.cli import evaluation_output
    from recollect.evaluation import html_report as html
    from recollect.evaluation import report
    from recollect.evaluation.judgments import read_judgments

    if compare and profiles:
        raise InvalidInput("--compare names both profiles; remove --profile")
    chosen = _label_profiles(compare or profiles or ("default",))
    all_judgments = read_judgments(folder)
    warn_db_unused(db, store, "FILE would keep the memories of DIR there")
    _refuse_overwrite(page, [*([] if store is None else [Path(store)]), *all_judgments.files])
    judgments = all_judgments if limit_queries is None else all_judgments.sample_queries(limit_queries)
    with ExitStack() as stack:
        store_path = stack.enter_context(open_store_file(store))
        report_file = None
        if page is not None:
            report_file = stack.enter_context(files.write_atomically(page, store=store_path, force=force))
        evaluation = _run_evaluation(judgments, chosen, ks, store_path, embedder=embedder, compared=compare is not None)
        if report_file is not None:
            report_file.write_text(html.render_page(evaluation), encoding="utf-8")
    if as_json:
        output.print_json(report.report_to_json(evaluation))
    else:
        output.print_lines(evaluation_output.format_report(evaluation, output.paint))
    if page is not None:
        output.print_note(f"the report is in {make_printable(str(page))}")


def _refuse_overwrite(page: Path | None, inputs: list[Path]) -> None:
    """Raise InvalidInput if the report would overwrite a file that the evaluation reads."""
    clash = next((path for path in inputs if page is not None and page.resolve() == path.resolve()), None)
    if clash is not None:
        raise InvalidInput(f"the report would replace {str(clash)!r}, which it is made from; name another file")


def _label_profiles(sources: tuple[str, ...]) -> dict[str, Profile]:
    """Load the profiles, keyed by name, or by source where two have the same name.

    Naming the same source twice is an error.
    """
    twice = next((source for source in sources if sources.count(source) > 1), None)
    if twice is not None:
        raise InvalidInput(f"the profile {show(twice)} is named twice; name each once")
    settings = config.load_settings()
    profiles = {source: config.load_configured_profile(settings, source) for source in sources}
    names = [profile.name for profile in profiles.values()]
    return {source if names.count(profile.name) > 1 else profile.name: profile for source, profile in profiles.items()}


def _run_evaluation(
    judgments: "Judgments",
    profiles: dict[str, Profile],
    ks: tuple[int, ...],
    store: str,
    *,
    embedder: str | None,
    compared: bool,
) -> "EvaluationReport":
    """Load the folder, run its queries with each profile, and return the report."""
    from recollect.engine.engine import DEFAULT_DEPTH
    from recollect.evaluation import runner
    from recollect.evaluation.report import EvaluationReport, compare_profiles, evaluate_answers

    with progress_bar("loading") as show_progress:
        judged_store = runner.load_judgment_store(
            judgments, partial(factory.open, store, embedder=embedder), show_progress
        )
    depth = max(DEFAULT_DEPTH, *ks)
    outcomes = []
    for label, profile in profiles.items():
        with progress_bar(f"asking {make_printable(label)}") as show_progress:
            answers = judged_store.ask(profile, depth=depth, report_progress=show_progress)
        outcomes.append(evaluate_answers(label, profile.version, depth, answers, ks))
    return EvaluationReport(
        judgments=judgments,
        outcomes=tuple(outcomes),
        comparison=compare_profiles(*outcomes) if compared else None,
        embedder=judged_store.embedder,
        merged_count=judged_store.merged_count,
        invisible_count=judged_store.invisible_count,
        command=shlex.join(["recollect", *sys.argv[1:]]),
        versions={"recollect": __version__, "Python": platform.python_version()},
        made_at=datetime.now(UTC),
    )
