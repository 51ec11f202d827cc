"""Episodes, said: for people and as JSON."""

from collections.abc import Iterator, Sequence
from datetime import UTC
from typing import Any

from recollect.lifecycle.episode_ranking import FailureMode, Similar
from recollect.model.episode import FAILURE_TAG, LESSON_TAG, Action, Episode
from recollect.model.format import format_count, format_moment, make_printable
from recollect.model.memory import Status
from recollect.model.verdict import Created, Receipt
from recollect.render import json_values, text
from recollect.render.styles import Paint, TextStyle, paint_plain
from recollect.render.table import MIN_TEXT_COLUMNS, LongColumn, TextTable, truncate


def episode_fields(episode: Episode) -> dict[str, Any]:
    """The JSON of an episode, without its actions."""
    outcome = episode.outcome
    return {
        "id": episode.id,
        "scope": str(episode.scope),
        "task": episode.task,
        "plan": list(episode.plan),
        "session": episode.session,
        "started_at": episode.started_at.isoformat(),
        "status": episode.status.value,
        "pinned": episode.pinned,
        "finished": episode.finished,
        "outcome": None
        if outcome is None
        else {
            "score": outcome.score,
            "lessons": list(outcome.lessons),
            "failure_modes": list(outcome.failure_modes),
            "at": outcome.at.isoformat(),
        },
        "value": episode.value,
        "contexts": list(episode.contexts),
    }


def full_episode_fields(episode: Episode) -> dict[str, Any]:
    """The same with its actions."""
    return {**episode_fields(episode), "actions": [_action_fields(one) for one in episode.actions]}


def completed_episode_fields(episode: Episode) -> dict[str, Any]:
    """The same of one that has just ended, with what became of all that it taught."""
    receipts = [json_values.receipt_fields(one) for one in episode.receipts]
    return {**full_episode_fields(episode), "receipts": receipts, "run": episode.run, "again": episode.again}


def similar_episode_fields(one: Similar) -> dict[str, Any]:
    """The JSON of an episode of a similar task, with what gives its score."""
    return {**episode_fields(one.episode), "score": one.score, **json_values.explanation_fields(one.explanation)}


def failure_mode_fields(one: FailureMode) -> dict[str, Any]:
    """The JSON of what went wrong with similar tasks, with what gives its score."""
    told = {"text": one.text, "episodes": list(one.episodes)}
    return {**told, "score": one.score, **json_values.explanation_fields(one.explanation)}


def episode_table(episodes: Sequence[Episode]) -> TextTable:
    """Episodes in the order given."""
    rows = [
        (one.id, _start_day(one), _format_outcome(one), _format_value(one), _format_episode_marks(one), one.task)
        for one in episodes
    ]
    return TextTable(("id", "started", "outcome", "value", "marks", "task"), rows)


def similar_episode_table(found: Sequence[Similar]) -> TextTable:
    """Episodes of similar tasks, the best first, each with what it taught and what went wrong."""
    rows = [
        (f"{one.score:.3f}", one.episode.id, _start_day(one.episode), _format_outcome(one.episode), one.episode.task)
        for one in found
    ]
    learned = [tuple(f"{name}: {said}" for name, said in _list_lessons(one.episode)) for one in found]
    return TextTable(("score", "id", "started", "outcome", "task"), rows, learned, LongColumn.UNDER)


def format_similar_episodes(
    found: Sequence[Similar], paint: Paint = paint_plain, width: int | None = None
) -> Iterator[str]:
    """The same with what gives each score; what a task says is cut to the width, if there is one."""
    for place, one in enumerate(found, start=1):
        yield text.format_ranked_line(
            place, one.score, f"{one.episode.id}  {make_printable(one.episode.task)}", paint, width
        )
        yield from (f"     {line}" for line in text.format_explanation(one.explanation, paint))
        yield from (_format_lesson(name, said, paint) for name, said in _list_lessons(one.episode))
        yield ""


def failure_table(found: Sequence[FailureMode]) -> TextTable:
    """What went wrong with similar tasks, in how many, and which of these is the most similar."""
    rows = [(f"{one.score:.3f}", str(len(one.episodes)), one.episodes[0], one.text) for one in found]
    return TextTable(("score", "episodes", "id", "failure"), rows, long=LongColumn.WHOLE)


def format_failures(
    found: Sequence[FailureMode], paint: Paint = paint_plain, width: int | None = None
) -> Iterator[str]:
    """The same with what gives each score."""
    for place, one in enumerate(found, start=1):
        more = f" and {format_count(len(one.episodes) - 1, 'other')}" if one.episodes[1:] else ""
        yield text.format_ranked_line(place, one.score, f"{one.episodes[0]}{more}", paint, width)
        yield from (f"     {line}" for line in text.format_explanation(one.explanation, paint))
        yield _format_lesson(FAILURE_TAG, one.text, paint)
        yield ""


def lesson_table(episode: Episode) -> TextTable:
    """What became of all that an episode taught, as memories."""
    both = list(zip(_list_lessons(episode), episode.receipts, strict=True)) if episode.receipts else []
    rows = [(one.id if one.kept else "", _verdict_name(one), name, said) for (name, said), one in both]
    return TextTable(("id", "verdict", "tag", "text"), rows, [_verdict_notes(one) for _, one in both], LongColumn.WHOLE)


def describe_episode(episode: Episode) -> str:
    """How it stands with an episode, in a sentence."""
    done = format_count(len(episode.actions), "action")
    if episode.outcome is None:
        return f"under way since {format_moment(episode.started_at)}, {done}"
    again = "; it ended just so before" if episode.again else ""
    return f"outcome {_format_outcome(episode)}, value {_format_value(episode)}, {done}{again}"


def format_episode(episode: Episode, paint: Paint = paint_plain, width: int | None = None) -> Iterator[str]:
    """An episode with all that is known of it; what an action was given and what came of it is cut to the width, if
    there is one.
    """
    yield paint(TextStyle.STRONG, make_printable(episode.id))
    yield from (f"  {line}" for line in text.split_printable_lines(episode.task))
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
    said = {"input": action.input, "output": action.output, "context": action.context or ""}
    for name, value in said.items():
        if value:
            line = f"{name:<{_DETAIL_COLUMNS}} {make_printable(value)}"
            if width is not None:
                line = truncate(line, max(width - _NAME_COLUMNS - len("   "), MIN_TEXT_COLUMNS))
            yield f"  {line}"


def _action_fields(action: Action) -> dict[str, Any]:
    return {
        "id": action.id,
        "type": action.type,
        "input": action.input,
        "output": action.output,
        "result": action.result.value,
        "at": action.at.isoformat(),
        "context": action.context,
    }


def _list_lessons(episode: Episode) -> Iterator[tuple[str, str]]:
    """What it taught, and then what went wrong, each with what it is called."""
    yield from ((LESSON_TAG, one) for one in episode.lessons)
    yield from ((FAILURE_TAG, one) for one in episode.failure_modes)


def _format_lesson(name: str, said: str, paint: Paint) -> str:
    return f"     {paint(TextStyle.FAINT, f'{name:<{_DETAIL_COLUMNS}}')} {make_printable(said)}"


def _verdict_name(receipt: Receipt) -> str:
    return type(receipt.verdict).__name__.lower()


def _verdict_notes(receipt: Receipt) -> tuple[str, ...]:
    """What there is to say of a verdict, unless it is just a new memory."""
    return () if isinstance(receipt.verdict, Created) else (text.describe_verdict(receipt.verdict),)


def _format_outcome(episode: Episode) -> str:
    return "under way" if episode.outcome is None else f"{episode.outcome.score:g}"


def _format_value(episode: Episode) -> str:
    return "" if episode.value is None else f"{episode.value:.3f}"


def _format_episode_marks(episode: Episode) -> str:
    status = [] if episode.status is Status.ACTIVE else [episode.status.value]
    return ", ".join([*status, *(["pinned"] if episode.pinned else [])])


def _start_day(episode: Episode) -> str:
    return episode.started_at.astimezone(UTC).date().isoformat()
