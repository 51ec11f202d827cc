"""The command `recollect episodes`: tasks, their actions, outcomes and lessons.

The commands come first, then the tables and text for people.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC
from typing import Any

import click

from recollect.api import schemas
from recollect.cli import formatting, options, output
from recollect.cli.options import F, StoreTarget, pass_target
from recollect.cli.tables import MIN_TEXT_COLUMNS, LongColumn, Paint, TextStyle, TextTable, paint_plain, truncate
from recollect.engine.episodes import DEFAULT_FAILURE_MODES, DEFAULT_LISTED_EPISODES, DEFAULT_SIMILAR_EPISODES
from recollect.lifecycle.episodes import FailureMode, Similar
from recollect.model.draft import Created
from recollect.model.enums import Status
from recollect.model.episode import FAILURE_TAG, LESSON_TAG, Action, Episode, Result
from recollect.model.format import format_count, format_moment, make_printable
from recollect.model.memory import Memory
from recollect.model.scope import Scope


def _limit_option(default: int) -> Callable[[F], F]:
    return click.option(
        "--limit",
        type=click.IntRange(min=1),
        metavar="N",
        default=default,
        show_default=True,
        help="Print at most so many.",
    )


_min_score_option = options.fraction("--min-score", "Only what scores as much or more.")
_explain_option = click.option("--explain", is_flag=True, help="Show what gives each score.")


@click.group(cls=options.OrderedGroup, short_help="Keep tasks and how they went.")
@click.pass_context
@pass_target
def episodes(store: StoreTarget, ctx: click.Context) -> None:
    """Keep tasks with what was done for them and how they went, and find what similar ones taught."""
    ctx.obj = replace(store, create_hint="`recollect episodes start`")


@episodes.command(cls=options.TextCommand, short_help="Begin a task.")
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
@pass_target
def start(store: StoreTarget, /, task: str, as_json: bool, **fields: Any) -> None:
    """Begin TASK, or what standard input says if TASK is -, and print the id of its episode.

    \b
    recollect episodes start "Book the flights" --scope acme/ana --plan "book"
    """
    task_text = options.read_text(task)
    with store.open_or_create() as engine:
        episode = engine.episodes.start(task_text, **_drop_missing(fields))
        memory = engine.get(episode.id, scope=episode.scope)
    _print_episode(episode, _explain_quarantine(memory), as_json=as_json)


@episodes.command(cls=options.TextCommand, short_help="Record what was done for a task.")
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
@pass_target
def record(
    store: StoreTarget, /, id: str, type: str, input: str | None, output: str | None, as_json: bool, **fields: Any
) -> None:
    """Record an action for the task of the episode ID, which is under way. TYPE says in a word what was done.

    \b
    recollect episodes record $id search --scope acme/ana --output "3 fares"
    """
    if input == output == options.STDIN:
        raise click.UsageError("Only one of --input and --output can be read from standard input.")
    texts = {name: options.read_text(one) for name, one in (("input", input), ("output", output)) if one is not None}
    with store.open_existing() as engine:
        episode = engine.episodes.record(id, type, **_drop_missing({**fields, **texts}))
    _print_episode(episode, [], as_json=as_json)


@episodes.command(cls=options.NumberCommand, short_help="End a task, and remember what it taught.")
@click.argument("id")
@options.outcome
@options.scope
@click.option("--lesson", "lessons", metavar="TEXT", multiple=True, help="What it taught; may be repeated.")
@click.option("--failure", "failure_modes", metavar="TEXT", multiple=True, help="What went wrong; may be repeated.")
@click.option("--context", "contexts", metavar="ID", multiple=True, help="A context it went by; may be repeated.")
@options.moment("--at", "When it ended; now if not given. What is before its last action counts as then.")
@options.provenance("Through whom the lessons came.")
@options.as_json
@pass_target
def complete(store: StoreTarget, /, id: str, outcome: float, as_json: bool, **fields: Any) -> None:
    """End the task of the episode ID with its OUTCOME, from 0 (it failed) to 1.

    Each lesson and each failure becomes a memory that names the episode. In a pipe there is one line for each: id,
    verdict, lesson or failure, and text, between tabs.

    \b
    recollect episodes complete $id 0.8 --scope acme/ana --lesson "Book early"
    """
    with store.open_existing() as engine:
        episode = engine.episodes.complete(id, outcome, **_drop_missing(fields))
        memory = engine.get(episode.id, scope=episode.scope)
    if as_json:
        output.print_answer(schemas.episodes.CompletedEpisode.of(episode))
        return
    output.print_table(lesson_table(episode))
    ways = [
        f"{way[0]}: {output.format_command(*way[1])}"
        for one in episode.receipts
        if (way := formatting.suggest_remedy(one)) is not None
    ]
    for line in (
        describe_episode(episode),
        *ways,
        *_explain_quarantine(memory),
        output.undo_hint(episode.run, memory.scope),
    ):
        output.print_note(line)


@episodes.command(cls=options.TextCommand, short_help="Find what similar tasks taught.")
@click.argument("task")
@options.scope
@_limit_option(DEFAULT_SIMILAR_EPISODES)
@_min_score_option
@_explain_option
@options.as_json
@pass_target
def similar(store: StoreTarget, /, task: str, scope: Scope, explain: bool, as_json: bool, **criteria: Any) -> None:
    """Print finished episodes of tasks that are similar to TASK, by similarity × value, the best first.

    TASK of - reads standard input. In a pipe there is one line an episode: score, id, day, outcome, and task with what
    it taught and what went wrong, between tabs. Looking counts as no use.

    \b
    recollect episodes similar "Book the flights to Porto" --scope acme/ana
    """
    task_text = options.read_text(task)
    with store.open_existing() as engine:
        found = engine.episodes.similar(task_text, scope=scope, **_drop_missing(criteria))
        hints = [] if found else output.explain_empty_scope(engine, scope)
    if as_json:
        output.print_answer(schemas.episodes.SimilarEpisodes.of(scope=scope, episodes=found))
    elif explain:
        output.print_lines(format_similar_episodes(found, output.paint, output.terminal_width()))
    else:
        output.print_table(similar_episode_table(found))
    _print_tally(f"{format_count(len(found), 'episode')} of similar tasks", hints, as_json=as_json)


@episodes.command(cls=options.TextCommand, short_help="Find what went wrong with similar tasks.")
@click.argument("task")
@options.scope
@_limit_option(DEFAULT_FAILURE_MODES)
@_min_score_option
@_explain_option
@options.as_json
@pass_target
def failures(store: StoreTarget, /, task: str, scope: Scope, explain: bool, as_json: bool, **criteria: Any) -> None:
    """Print what went wrong when tasks that are similar to TASK were tried before, that of the most similar first.

    TASK of - reads standard input. In a pipe there is one line each: score, in how many episodes, the id of the most
    similar of them, and text, between tabs. Looking counts as no use.

    \b
    recollect episodes failures "Book the flights to Porto" --scope acme/ana
    """
    task_text = options.read_text(task)
    with store.open_existing() as engine:
        found = engine.episodes.failure_modes(task_text, scope=scope, **_drop_missing(criteria))
        hints = [] if found else output.explain_empty_scope(engine, scope)
    if as_json:
        output.print_answer(schemas.episodes.FailureModes.of(scope=scope, failure_modes=found))
    elif explain:
        output.print_lines(format_failures(found, output.paint, output.terminal_width()))
    else:
        output.print_table(failure_table(found))
    _print_tally(f"{format_count(len(found), 'failure')} of similar tasks", hints, as_json=as_json)


@episodes.command("list", short_help="List the episodes of a scope.")
@options.scope
@click.option("--finished/--open", "finished", default=None, help="Only those that have ended, or are under way.")
@_limit_option(DEFAULT_LISTED_EPISODES)
@options.as_json
@pass_target
def list_episodes(store: StoreTarget, scope: Scope, finished: bool | None, limit: int, as_json: bool) -> None:
    """List the episodes of a scope that hold, the latest first.

    In a pipe there is one line an episode: id, day, outcome, value, marks and task, between tabs.
    """
    with store.open_existing() as engine:
        found = engine.episodes.list(scope=scope, finished=finished, limit=limit)
        hints = [] if found else output.explain_empty_scope(engine, scope)
    if as_json:
        output.print_answer(schemas.episodes.Episodes.of(scope=scope, episodes=found))
    else:
        output.print_table(episode_table(found))
    for hint in hints:
        output.print_note(hint)


@episodes.command(short_help="Print an episode with its actions.")
@click.argument("id")
@options.scope
@options.as_json
@pass_target
def show(store: StoreTarget, id: str, scope: Scope, as_json: bool) -> None:
    """Print the episode ID with its plan, what was done, and how it went, whatever became of it."""
    with store.open_existing() as engine:
        episode = engine.episodes.show(id, scope=scope)
    if as_json:
        output.print_answer(schemas.episodes.WholeEpisode.of(episode))
    else:
        output.print_lines(format_episode(episode, output.paint, output.terminal_width()))


def _drop_missing(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options that were given; the engine has defaults for the others."""
    return {name: value for name, value in values.items() if value is not None}


def _print_episode(episode: Episode, more: list[str], *, as_json: bool) -> None:
    """Print the id of an episode, so that a script can go on with it, and its state."""
    if as_json:
        output.print_answer(schemas.episodes.WholeEpisode.of(episode))
        return
    click.echo(episode.id)
    for line in (describe_episode(episode), *more):
        output.print_note(line)


def _explain_quarantine(memory: Memory) -> list[str]:
    """Explain why a quarantined episode is not found, and how to release it."""
    if memory.status is not Status.QUARANTINED:
        return []
    way = output.format_command(*formatting.release_command(memory))
    return [f"quarantined: {make_printable(memory.remark or '')}", f"to release it: {way}"]


def _print_tally(tally: str, hints: list[str], *, as_json: bool) -> None:
    for line in [*([] if as_json else [tally]), *hints]:
        output.print_note(line)


def episode_table(episodes: Sequence[Episode]) -> TextTable:
    """Return episodes as a table, in the order given."""
    rows = [
        (one.id, _start_day(one), _format_outcome(one), _format_value(one), _format_episode_marks(one), one.task)
        for one in episodes
    ]
    return TextTable(("id", "started", "outcome", "value", "marks", "task"), rows)


def similar_episode_table(found: Sequence[Similar]) -> TextTable:
    """Return episodes of similar tasks as a table, each with its lessons and failures as notes."""
    rows = [
        (f"{one.score:.3f}", one.episode.id, _start_day(one.episode), _format_outcome(one.episode), one.episode.task)
        for one in found
    ]
    learned = [tuple(f"{name}: {lesson}" for name, lesson in _list_lessons(one.episode)) for one in found]
    return TextTable(("score", "id", "started", "outcome", "task"), rows, learned, LongColumn.UNDER)


def format_similar_episodes(
    found: Sequence[Similar], paint: Paint = paint_plain, width: int | None = None
) -> Iterator[str]:
    """Yield similar episodes with the explanation of each score; tasks are cut to the width."""
    for place, one in enumerate(found, start=1):
        yield formatting.format_ranked_line(
            place, one.score, f"{one.episode.id}  {make_printable(one.episode.task)}", paint, width
        )
        yield from (f"     {line}" for line in formatting.format_explanation(one.explanation, paint))
        yield from (_format_lesson(name, lesson, paint) for name, lesson in _list_lessons(one.episode))
        yield ""


def failure_table(found: Sequence[FailureMode]) -> TextTable:
    """Return failures as a table: score, number of episodes, the most similar one, and the text."""
    rows = [(f"{one.score:.3f}", str(len(one.episodes)), one.episodes[0], one.text) for one in found]
    return TextTable(("score", "episodes", "id", "failure"), rows, long=LongColumn.WHOLE)


def format_failures(
    found: Sequence[FailureMode], paint: Paint = paint_plain, width: int | None = None
) -> Iterator[str]:
    """Yield failures with the explanation of each score; they are cut to the width."""
    for place, one in enumerate(found, start=1):
        more = f" and {format_count(len(one.episodes) - 1, 'other')}" if one.episodes[1:] else ""
        yield formatting.format_ranked_line(place, one.score, f"{one.episodes[0]}{more}", paint, width)
        yield from (f"     {line}" for line in formatting.format_explanation(one.explanation, paint))
        yield _format_lesson(FAILURE_TAG, one.text, paint)
        yield ""


def lesson_table(episode: Episode) -> TextTable:
    """Return the verdict on each lesson and failure of an episode as a table."""
    both = list(zip(_list_lessons(episode), episode.receipts, strict=True)) if episode.receipts else []
    rows = [(one.id if one.kept else "", type(one.verdict).__name__.lower(), name, text) for (name, text), one in both]
    notes = [() if isinstance(one.verdict, Created) else (formatting.describe_verdict(one.verdict),) for _, one in both]
    return TextTable(("id", "verdict", "tag", "text"), rows, notes, LongColumn.WHOLE)


def describe_episode(episode: Episode) -> str:
    """Describe the state of an episode in one sentence."""
    actions = format_count(len(episode.actions), "action")
    if episode.outcome is None:
        return f"under way since {format_moment(episode.started_at)}, {actions}"
    again = "; it had already ended with the same outcome" if episode.again else ""
    return f"outcome {_format_outcome(episode)}, value {_format_value(episode)}, {actions}{again}"


def format_episode(episode: Episode, paint: Paint = paint_plain, width: int | None = None) -> Iterator[str]:
    """Yield everything that is known of an episode; long action fields are cut to the width."""
    yield paint(TextStyle.STRONG, make_printable(episode.id))
    yield from (f"  {line}" for line in formatting.split_printable_lines(episode.task))
    for name, lines in _episode_facts(episode, width):
        for heading, line in zip([name, *[""] * len(lines)], lines, strict=False):
            yield f"{paint(TextStyle.FAINT, f'{heading:<{_NAME_COLUMNS}}')} {line}"


_NAME_COLUMNS = 10
_DETAIL_COLUMNS = 7


def _episode_facts(episode: Episode, width: int | None) -> Iterator[tuple[str, list[str]]]:
    yield "scope", [str(episode.scope)]
    yield "standing", [_format_episode_marks(episode) or episode.status.value]
    yield "session", [] if episode.session is None else [make_printable(episode.session)]
    yield "started", [format_moment(episode.started_at)]
    yield "plan", [f"{place}. {make_printable(step)}" for place, step in enumerate(episode.plan, start=1)]
    yield "actions", [line for one in episode.actions for line in _format_action(one, width)]
    outcome = episode.outcome
    if outcome is None:
        yield "outcome", ["under way"]
        return
    yield "outcome", [f"{outcome.score:g}, {format_moment(outcome.at)}"]
    yield "value", [_format_value(episode)]
    yield "lessons", [make_printable(one) for one in outcome.lessons]
    yield "failures", [make_printable(one) for one in outcome.failure_modes]
    yield "contexts", [make_printable(one) for one in episode.contexts]


def _format_action(action: Action, width: int | None) -> Iterator[str]:
    yield f"{format_moment(action.at)}  {make_printable(action.type)}  {action.result.value}"
    fields = {"input": action.input, "output": action.output, "context": action.context or ""}
    for name, value in fields.items():
        if value:
            line = f"{name:<{_DETAIL_COLUMNS}} {make_printable(value)}"
            if width is not None:
                line = truncate(line, max(width - _NAME_COLUMNS - len("   "), MIN_TEXT_COLUMNS))
            yield f"  {line}"


def _list_lessons(episode: Episode) -> Iterator[tuple[str, str]]:
    """Yield the lessons and then the failures of an episode, each with its tag."""
    yield from ((LESSON_TAG, one) for one in episode.lessons)
    yield from ((FAILURE_TAG, one) for one in episode.failure_modes)


def _format_lesson(name: str, text: str, paint: Paint) -> str:
    return f"     {paint(TextStyle.FAINT, f'{name:<{_DETAIL_COLUMNS}}')} {make_printable(text)}"


def _format_outcome(episode: Episode) -> str:
    return "under way" if episode.outcome is None else f"{episode.outcome.score:g}"


def _format_value(episode: Episode) -> str:
    return "" if episode.value is None else f"{episode.value:.3f}"


def _format_episode_marks(episode: Episode) -> str:
    status = [] if episode.status is Status.ACTIVE else [episode.status.value]
    return ", ".join([*status, *(["pinned"] if episode.pinned else [])])


def _start_day(episode: Episode) -> str:
    return episode.started_at.astimezone(UTC).date().isoformat()
