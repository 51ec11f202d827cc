"""Episodes, said: for people and as JSON."""

from collections.abc import Iterator, Sequence
from datetime import UTC
from typing import Any

from recollect.lifecycle.episode_ranking import FailureMode, Similar
from recollect.model.episode import FAILURE, LESSON, Action, Episode
from recollect.model.format import counted, moment, printable
from recollect.model.memory import Status
from recollect.model.verdict import Created, Receipt
from recollect.render import json_values, text
from recollect.render.styles import Look, Paint, plain
from recollect.render.table import LEAST, Long, Table, cut


def fields(episode: Episode) -> dict[str, Any]:
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


def whole(episode: Episode) -> dict[str, Any]:
    """The same with its actions."""
    return {**fields(episode), "actions": [_action_fields(one) for one in episode.actions]}


def completed(episode: Episode) -> dict[str, Any]:
    """The same of one that has just ended, with what became of all that it taught."""
    receipts = [json_values.receipt(one) for one in episode.receipts]
    return {**whole(episode), "receipts": receipts, "run": episode.run, "again": episode.again}


def similar_fields(one: Similar) -> dict[str, Any]:
    """The JSON of an episode of a similar task, with what gives its score."""
    return {**fields(one.episode), "score": one.score, **json_values.explanation(one.explanation)}


def failure_fields(one: FailureMode) -> dict[str, Any]:
    """The JSON of what went wrong with similar tasks, with what gives its score."""
    told = {"text": one.text, "episodes": list(one.episodes)}
    return {**told, "score": one.score, **json_values.explanation(one.explanation)}


def listed(episodes: Sequence[Episode]) -> Table:
    """Episodes in the order given."""
    rows = [(one.id, _day(one), _went(one), _worth(one), _marks(one), one.task) for one in episodes]
    return Table(("id", "started", "outcome", "value", "marks", "task"), rows)


def ranked(found: Sequence[Similar]) -> Table:
    """Episodes of similar tasks, the best first, each with what it taught and what went wrong."""
    rows = [
        (f"{one.score:.3f}", one.episode.id, _day(one.episode), _went(one.episode), one.episode.task) for one in found
    ]
    learned = [tuple(f"{name}: {said}" for name, said in _learned(one.episode)) for one in found]
    return Table(("score", "id", "started", "outcome", "task"), rows, learned, Long.UNDER)


def explained(found: Sequence[Similar], paint: Paint = plain, width: int | None = None) -> Iterator[str]:
    """The same with what gives each score; what a task says is cut to the width, if there is one."""
    for place, one in enumerate(found, start=1):
        yield text.placed(place, one.score, f"{one.episode.id}  {printable(one.episode.task)}", paint, width)
        yield from (f"     {line}" for line in text.explanation(one.explanation, paint))
        yield from (_named(name, said, paint) for name, said in _learned(one.episode))
        yield ""


def failures(found: Sequence[FailureMode]) -> Table:
    """What went wrong with similar tasks, in how many, and which of these is the most similar."""
    rows = [(f"{one.score:.3f}", str(len(one.episodes)), one.episodes[0], one.text) for one in found]
    return Table(("score", "episodes", "id", "failure"), rows, long=Long.WHOLE)


def explained_failures(found: Sequence[FailureMode], paint: Paint = plain, width: int | None = None) -> Iterator[str]:
    """The same with what gives each score."""
    for place, one in enumerate(found, start=1):
        more = f" and {counted(len(one.episodes) - 1, 'other')}" if one.episodes[1:] else ""
        yield text.placed(place, one.score, f"{one.episodes[0]}{more}", paint, width)
        yield from (f"     {line}" for line in text.explanation(one.explanation, paint))
        yield _named(FAILURE, one.text, paint)
        yield ""


def remembered(episode: Episode) -> Table:
    """What became of all that an episode taught, as memories."""
    both = list(zip(_learned(episode), episode.receipts, strict=True)) if episode.receipts else []
    rows = [(one.id if one.kept else "", _verdict(one), name, said) for (name, said), one in both]
    return Table(("id", "verdict", "tag", "text"), rows, [_why(one) for _, one in both], Long.WHOLE)


def standing(episode: Episode) -> str:
    """How it stands with an episode, in a sentence."""
    done = counted(len(episode.actions), "action")
    if episode.outcome is None:
        return f"under way since {moment(episode.started_at)}, {done}"
    again = "; it ended just so before" if episode.again else ""
    return f"outcome {_went(episode)}, value {_worth(episode)}, {done}{again}"


def told(episode: Episode, paint: Paint = plain, width: int | None = None) -> Iterator[str]:
    """An episode with all that is known of it; what an action was given and what came of it is cut to the width, if
    there is one.
    """
    yield paint(Look.STRONG, printable(episode.id))
    yield from (f"  {line}" for line in text.printable_lines(episode.task))
    for name, lines in _facts(episode, width):
        for heading, line in zip([name, *[""] * len(lines)], lines, strict=False):
            yield f"{paint(Look.FAINT, f'{heading:<{_NAMES}}')} {line}"


_NAMES = 10
_INSIDE = 7


def _facts(episode: Episode, width: int | None) -> Iterator[tuple[str, list[str]]]:
    yield "scope", [str(episode.scope)]
    yield "standing", [_marks(episode) or episode.status.value]
    yield "session", [] if episode.session is None else [printable(episode.session)]
    yield "started", [moment(episode.started_at)]
    yield "plan", [f"{place}. {printable(step)}" for place, step in enumerate(episode.plan, start=1)]
    yield "actions", [line for one in episode.actions for line in _action(one, width)]
    outcome = episode.outcome
    if outcome is None:
        yield "outcome", ["under way"]
        return
    yield "outcome", [f"{outcome.score:g}, {moment(outcome.at)}"]
    yield "value", [_worth(episode)]
    yield "lessons", [printable(one) for one in outcome.lessons]
    yield "failures", [printable(one) for one in outcome.failure_modes]
    yield "contexts", [printable(one) for one in episode.contexts]


def _action(action: Action, width: int | None) -> Iterator[str]:
    yield f"{moment(action.at)}  {printable(action.type)}  {action.result.value}"
    said = {"input": action.input, "output": action.output, "context": action.context or ""}
    for name, value in said.items():
        if value:
            line = f"{name:<{_INSIDE}} {printable(value)}"
            yield f"  {line if width is None else cut(line, max(width - _NAMES - len('   '), LEAST))}"


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


def _learned(episode: Episode) -> Iterator[tuple[str, str]]:
    """What it taught, and then what went wrong, each with what it is called."""
    yield from ((LESSON, one) for one in episode.lessons)
    yield from ((FAILURE, one) for one in episode.failure_modes)


def _named(name: str, said: str, paint: Paint) -> str:
    return f"     {paint(Look.FAINT, f'{name:<{_INSIDE}}')} {printable(said)}"


def _verdict(receipt: Receipt) -> str:
    return type(receipt.verdict).__name__.lower()


def _why(receipt: Receipt) -> tuple[str, ...]:
    """What there is to say of a verdict, unless it is just a new memory."""
    return () if isinstance(receipt.verdict, Created) else (text.verdict(receipt.verdict),)


def _went(episode: Episode) -> str:
    return "under way" if episode.outcome is None else f"{episode.outcome.score:g}"


def _worth(episode: Episode) -> str:
    return "" if episode.value is None else f"{episode.value:.3f}"


def _marks(episode: Episode) -> str:
    status = [] if episode.status is Status.ACTIVE else [episode.status.value]
    return ", ".join([*status, *(["pinned"] if episode.pinned else [])])


def _day(episode: Episode) -> str:
    return episode.started_at.astimezone(UTC).date().isoformat()
