"""recollect eval: judgements in, figures out."""

import platform
import shlex
import sys
from contextlib import ExitStack
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from recollect import config, factory
from recollect.cli import eval_store, files, options, output
from recollect.cli.progress import progress_bar
from recollect.cli.target import StoreTarget, pass_target
from recollect.errors import FieldError, InvalidInput, show
from recollect.model.format import make_printable
from recollect.ranking.profile import Profile
from recollect.version import __version__

if TYPE_CHECKING:
    from recollect.evaluation.judgments import Judgments
    from recollect.evaluation.report import EvaluationReport


def _parse_ks(_: click.Context, param: click.Parameter, value: str) -> tuple[int, ...]:
    """5,10,20 → the numbers, in their order and each once."""
    name = param.opts[0]
    try:
        found = sorted({int(one) for one in value.split(",")})
    except ValueError as error:
        raise FieldError(f"{show(value)} is no list of whole numbers, such as 5,10,20", field=name) from error
    if found[0] < 1 or found[-1] > options.MAX_K:
        raise FieldError(f"{show(value)} has a number that is not within 1..{options.MAX_K}", field=name)
    return tuple(found)


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
@eval_store.store_option("FILE", "Keep the folder's memories in this file", "judged.db")
@click.option("--embedder", metavar="NAME", help="The embedder of a new store: a name, or https://host/v1#model.")
@click.option(
    "--limit-queries", type=click.IntRange(min=1), metavar="N", help="Ask only so many, spread over the folder."
)
@click.option("--report", "page", type=click.Path(path_type=Path), metavar="FILE", help="Write a page of HTML too.")
@click.option("--force", is_flag=True, help="Replace the report if there is one.")
@options.as_json
@pass_target
def evaluate(
    place: StoreTarget,
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
    from recollect.evaluation import html_report as html
    from recollect.evaluation import report_json, report_text
    from recollect.evaluation.judgments import read_judgments

    if compare and profiles:
        raise InvalidInput("--compare names both profiles; leave --profile out")
    chosen = _label_profiles(compare or profiles or ("default",))
    judgements = read_judgments(folder)
    eval_store.warn_db_unused(place, store, "FILE would keep the memories of DIR there")
    _refuse_overwrite(page, [*([] if store is None else [Path(store)]), *judgements.files])
    some = judgements if limit_queries is None else judgements.sample_queries(limit_queries)
    with ExitStack() as stack:
        kept = stack.enter_context(eval_store.open_store_file(store))
        written = None
        if page is not None:
            written = stack.enter_context(files.write_atomically(page, store=kept, force=force))
        made = _run_evaluation(some, chosen, ks, kept, embedder=embedder, compared=compare is not None)
        if written is not None:
            written.write_text(html.render_page(made), encoding="utf-8")
    if as_json:
        output.print_json(report_json.report_to_json(made))
    else:
        output.print_lines(report_text.format_report(made, output.paint))
    if page is not None:
        output.print_note(f"the report is in {make_printable(str(page))}")


def _refuse_overwrite(page: Path | None, used: list[Path]) -> None:
    """Refuse to write the report over what the figures are made of."""
    taken = next((path for path in used if page is not None and page.resolve() == path.resolve()), None)
    if taken is not None:
        raise InvalidInput(f"the report cannot be {str(taken)!r}, which is read for it; name another file")


def _label_profiles(sources: tuple[str, ...]) -> dict[str, Profile]:
    """The profiles by their names, or as they are written where two have the same name; none twice."""
    twice = next((source for source in sources if sources.count(source) > 1), None)
    if twice is not None:
        raise InvalidInput(f"the profile {show(twice)} is named twice; name each once")
    settings = config.load_settings()
    found = {source: config.load_configured_profile(settings, source) for source in sources}
    names = [profile.name for profile in found.values()]
    return {source if names.count(profile.name) > 1 else profile.name: profile for source, profile in found.items()}


def _run_evaluation(
    judgements: "Judgments",
    profiles: dict[str, Profile],
    ks: tuple[int, ...],
    store: str,
    *,
    embedder: str | None,
    compared: bool,
) -> "EvaluationReport":
    """Load the folder, ask its queries of each profile, and put together what came of it."""
    from recollect.engine.engine import DEFAULT_DEPTH
    from recollect.evaluation import judgment_store
    from recollect.evaluation.figures import compare_profiles, evaluate_answers
    from recollect.evaluation.report import EvaluationReport

    with progress_bar("loading") as tell:
        there = judgment_store.load_judgment_store(judgements, partial(factory.open, store, embedder=embedder), tell)
    depth = max(DEFAULT_DEPTH, *ks)
    outcomes = []
    for label, profile in profiles.items():
        with progress_bar(f"asking {make_printable(label)}") as tell:
            answers = there.ask(profile, depth=depth, tell=tell)
        outcomes.append(evaluate_answers(label, profile.version, depth, answers, ks))
    return EvaluationReport(
        judgments=judgements,
        outcomes=tuple(outcomes),
        comparison=compare_profiles(*outcomes) if compared else None,
        embedder=there.embedder,
        merged_count=there.merged_count,
        invisible_count=there.invisible_count,
        command=shlex.join(["recollect", *sys.argv[1:]]),
        versions={"recollect": __version__, "Python": platform.python_version()},
        made_at=datetime.now(UTC),
    )
