"""recollect episodes: tasks, what was done for them, how they went, and what they taught."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import click

from recollect.cli import empty_hints, options, output, receipts
from recollect.cli.options import F
from recollect.cli.target import Place, place
from recollect.engine.episodes import FAILURES, LISTED, SIMILAR
from recollect.model.episode import Episode, Result
from recollect.model.format import counted, printable
from recollect.model.memory import Memory, Status
from recollect.model.scope import Scope
from recollect.render import episodes as told
from recollect.render import text


def _limit(default: int) -> Callable[[F], F]:
    return click.option(
        "--limit",
        type=click.IntRange(min=1),
        metavar="N",
        default=default,
        show_default=True,
        help="Print at most so many.",
    )


_min_score = options.share("--min-score", "Only what scores as much or more.")
_explain = click.option("--explain", is_flag=True, help="Show what gives each score.")


@click.group(cls=options.Group, short_help="Keep tasks and how they went.")
@click.pass_context
@place
def episodes(place: Place, ctx: click.Context) -> None:
    """Keep tasks with what was done for them and how they went, and find what similar ones taught."""
    ctx.obj = replace(place, maker="`recollect episodes start`")


@episodes.command(cls=options.Texted, short_help="Begin a task.")
@click.argument("task")
@options.scope
@click.option("--plan", metavar="STEP", multiple=True, help="A step that is planned; may be repeated.")
@click.option("--session", metavar="ID", help="The session it belongs to.")
@options.moment("--at", "When it began; now if not given.")
@click.option("--pin", "pinned", is_flag=True, help="Never let go of it.")
@click.option("--shared", is_flag=True, help="Let the scopes below find it too.")
@options.provenance("Through whom the task came.")
@click.option("--source", metavar="ID", help="The document, tool or import it came from.")
@click.option("--key", help="Makes a retry harmless: the same call with the same key is done once.")
@options.as_json
@place
def start(place: Place, /, task: str, as_json: bool, **given: Any) -> None:
    """Begin TASK, or what standard input says if TASK is -, and print the id of its episode.

    \b
    recollect episodes start "Book the flights" --scope acme/ana --plan "book"
    """
    said = options.said(task)
    with place.made() as engine:
        episode = engine.episodes.start(said, **_known(given))
        kept = engine.get(episode.id, scope=episode.scope)
    _written(episode, _apart(kept), as_json=as_json)


@episodes.command(cls=options.Texted, short_help="Record what was done for a task.")
@click.argument("id")
@click.argument("type")
@options.scope
@click.option("--input", metavar="TEXT", help="What it was given; - reads standard input.")
@click.option("--output", metavar="TEXT", help="What came of it; - reads standard input.")
@options.choice(
    Result,
    "--result",
    default=Result.SUCCEEDED.value,
    show_default=True,
    help="succeeded, partial, failed or unknown.",
)
@options.moment("--at", "When it was done; now if not given. What is before the task began counts as then.")
@click.option("--context", metavar="ID", help="The context that it was decided by, as `recollect recall` tells it.")
@options.provenance("Through whom that came.")
@click.option("--key", help="Makes a retry harmless: the same call with the same key is recorded once.")
@options.as_json
@place
def record(
    place: Place, /, id: str, type: str, input: str | None, output: str | None, as_json: bool, **given: Any
) -> None:
    """Record an action for the task of the episode ID, which is under way. TYPE says in a word what was done.

    \b
    recollect episodes record $id search --scope acme/ana --output "3 fares"
    """
    if input == output == options.STDIN:
        raise click.UsageError("Only one of --input and --output can be read from standard input.")
    said = {name: options.said(one) for name, one in (("input", input), ("output", output)) if one is not None}
    with place.there() as engine:
        episode = engine.episodes.record(id, type, **_known({**given, **said}))
    _written(episode, [], as_json=as_json)


@episodes.command(cls=options.Numbered, short_help="End a task, and remember what it taught.")
@click.argument("id")
@options.outcome
@options.scope
@click.option("--lesson", "lessons", metavar="TEXT", multiple=True, help="What it taught; may be repeated.")
@click.option("--failure", "failure_modes", metavar="TEXT", multiple=True, help="What went wrong; may be repeated.")
@click.option("--context", "contexts", metavar="ID", multiple=True, help="A context it went by; may be repeated.")
@options.moment("--at", "When it ended; now if not given. What is before its last action counts as then.")
@options.provenance("Through whom the lessons came.")
@options.as_json
@place
def complete(place: Place, /, id: str, outcome: float, as_json: bool, **given: Any) -> None:
    """End the task of the episode ID with its OUTCOME, from 0 (it failed) to 1.

    Each lesson and each failure becomes a memory that names the episode. In a pipe there is one line for each: id,
    verdict, lesson or failure, and text, between tabs.

    \b
    recollect episodes complete $id 0.8 --scope acme/ana --lesson "Book early"
    """
    with place.there() as engine:
        episode = engine.episodes.complete(id, outcome, **_known(given))
        kept = engine.get(episode.id, scope=episode.scope)
    if as_json:
        output.data(told.completed(episode))
        return
    output.rows(told.remembered(episode))
    ways = [f"{way[0]}: {receipts.typed(*way[1])}" for one in episode.receipts if (way := text.remedy(one)) is not None]
    for line in (told.standing(episode), *ways, *_apart(kept), receipts.way_back(episode.run, kept.scope)):
        output.talk(line)


@episodes.command(cls=options.Texted, short_help="Find what similar tasks taught.")
@click.argument("task")
@options.scope
@_limit(SIMILAR)
@_min_score
@_explain
@options.as_json
@place
def similar(place: Place, /, task: str, scope: Scope, explain: bool, as_json: bool, **asked: Any) -> None:
    """Print finished episodes of tasks that are similar to TASK, by similarity × value, the best first.

    TASK of - reads standard input. In a pipe there is one line an episode: score, id, day, outcome, and task with what
    it taught and what went wrong, between tabs. Looking counts as no use.

    \b
    recollect episodes similar "Book the flights to Porto" --scope acme/ana
    """
    said = options.said(task)
    with place.there() as engine:
        found = engine.episodes.similar(said, scope=scope, **_known(asked))
        hints = [] if found else empty_hints.told_scope(engine, scope)
    if as_json:
        output.data({"scope": str(scope), "episodes": [told.similar_fields(one) for one in found]})
    elif explain:
        output.lines(told.explained(found, output.paint, output.width()))
    else:
        output.rows(told.ranked(found))
    _tell(f"{counted(len(found), 'episode')} of similar tasks", hints, as_json=as_json)


@episodes.command(cls=options.Texted, short_help="Find what went wrong with similar tasks.")
@click.argument("task")
@options.scope
@_limit(FAILURES)
@_min_score
@_explain
@options.as_json
@place
def failures(place: Place, /, task: str, scope: Scope, explain: bool, as_json: bool, **asked: Any) -> None:
    """Print what went wrong when tasks that are similar to TASK were tried before, that of the most similar first.

    TASK of - reads standard input. In a pipe there is one line each: score, in how many episodes, the id of the most
    similar of them, and text, between tabs. Looking counts as no use.

    \b
    recollect episodes failures "Book the flights to Porto" --scope acme/ana
    """
    said = options.said(task)
    with place.there() as engine:
        found = engine.episodes.failure_modes(said, scope=scope, **_known(asked))
        hints = [] if found else empty_hints.told_scope(engine, scope)
    if as_json:
        output.data({"scope": str(scope), "failure_modes": [told.failure_fields(one) for one in found]})
    elif explain:
        output.lines(told.explained_failures(found, output.paint, output.width()))
    else:
        output.rows(told.failures(found))
    _tell(f"{counted(len(found), 'failure')} of similar tasks", hints, as_json=as_json)


@episodes.command("list", short_help="List the episodes of a scope.")
@options.scope
@click.option("--finished/--open", "finished", default=None, help="Only those that have ended, or are under way.")
@_limit(LISTED)
@options.as_json
@place
def listed(place: Place, scope: Scope, finished: bool | None, limit: int, as_json: bool) -> None:
    """List the episodes of a scope that hold, the latest first.

    In a pipe there is one line an episode: id, day, outcome, value, marks and task, between tabs.
    """
    with place.there() as engine:
        found = engine.episodes.list(scope=scope, finished=finished, limit=limit)
        hints = [] if found else empty_hints.told_scope(engine, scope)
    if as_json:
        output.data({"scope": str(scope), "episodes": [told.fields(one) for one in found]})
    else:
        output.rows(told.listed(found))
    for hint in hints:
        output.talk(hint)


@episodes.command(short_help="Print an episode with its actions.")
@click.argument("id")
@options.scope
@options.as_json
@place
def show(place: Place, id: str, scope: Scope, as_json: bool) -> None:
    """Print the episode ID with its plan, what was done, and how it went, whatever became of it."""
    with place.there() as engine:
        episode = engine.episodes.show(id, scope=scope)
    if as_json:
        output.data(told.whole(episode))
    else:
        output.lines(told.told(episode, output.paint, output.width()))


def _known(given: Mapping[str, Any]) -> dict[str, Any]:
    """What was said; the rest is as the engine has it."""
    return {name: value for name, value in given.items() if value is not None}


def _written(episode: Episode, more: list[str], *, as_json: bool) -> None:
    """Which episode it is, so that a script can go on with it, and how it stands."""
    if as_json:
        output.data(told.whole(episode))
        return
    click.echo(episode.id)
    for line in (told.standing(episode), *more):
        output.talk(line)


def _apart(memory: Memory) -> list[str]:
    """Why nobody finds the episode that is kept in that memory, if it stands apart, and what to do about it."""
    if memory.status is not Status.QUARANTINED:
        return []
    way = receipts.typed(*text.release(memory))
    return [f"quarantined: {printable(memory.remark or '')}", f"to let it be found: {way}"]


def _tell(tally: str, hints: list[str], *, as_json: bool) -> None:
    for line in [*([] if as_json else [tally]), *hints]:
        output.talk(line)
