"""Topics, said: for people and as JSON."""

from collections.abc import Iterator, Sequence
from datetime import UTC
from typing import Any

from recollect.model.format import counted, printable
from recollect.model.topic import Refreshed, Topic
from recollect.render.styles import Look, Paint, plain
from recollect.render.table import Table


def fields(topic: Topic) -> dict[str, Any]:
    """The JSON of a topic."""
    return {
        "id": topic.id,
        "scope": str(topic.scope),
        "label": topic.label,
        "keywords": list(topic.keywords),
        "memories": list(topic.memories),
        "created_at": topic.created_at.isoformat(),
        "mentioned_at": topic.mentioned_at.isoformat(),
        "served": topic.served,
        "importance": topic.importance,
        "pruned": topic.pruned,
    }


def refreshed(found: Refreshed) -> dict[str, Any]:
    """The JSON of a refresh."""
    names = ("memories", "grouped", "topics", "new", "gone")
    return {"scope": str(found.scope), **{name: getattr(found, name) for name in names}}


def listed(topics: Sequence[Topic]) -> Table:
    """Topics in the order given."""
    rows = [
        (
            f"{one.importance:.3f}",
            one.id,
            str(len(one.memories)),
            str(one.served),
            _day(one),
            "pruned" if one.pruned else "",
            one.label,
        )
        for one in topics
    ]
    return Table(("importance", "id", "memories", "served", "mentioned", "marks", "label"), rows)


def heading(topic: Topic, paint: Paint = plain) -> Iterator[str]:
    """What a topic is called, and what is known of it."""
    yield paint(Look.STRONG, printable(topic.label))
    pruned = ", pruned" if topic.pruned else ""
    served = f"served {counted(topic.served, 'time')}"
    yield paint(Look.FAINT, f"importance {topic.importance:.3f}, mentioned {_day(topic)}, {served}{pruned}")


def sentence(found: Refreshed) -> str:
    """A refresh in a sentence."""
    of = f"{found.grouped} of {counted(found.memories, 'memory', 'memories')}"
    changed = ", ".join(f"{count} {what}" for count, what in ((found.new, "new"), (found.gone, "gone")) if count)
    return f"{found.scope}: {of} in {counted(found.topics, 'topic')} ({changed or 'as before'})"


def _day(topic: Topic) -> str:
    return topic.mentioned_at.astimezone(UTC).date().isoformat()
