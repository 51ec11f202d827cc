"""Topics, said: for people and as JSON."""

from collections.abc import Iterator, Sequence
from datetime import UTC
from typing import Any

from recollect.model.format import format_count, make_printable
from recollect.model.topic import Topic, TopicRefreshReport
from recollect.render.styles import Paint, TextStyle, paint_plain
from recollect.render.table import TextTable


def topic_fields(topic: Topic) -> dict[str, Any]:
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


def refresh_fields(found: TopicRefreshReport) -> dict[str, Any]:
    """The JSON of a refresh."""
    names = ("memories", "grouped", "topics", "new", "gone")
    return {"scope": str(found.scope), **{name: getattr(found, name) for name in names}}


def topic_table(topics: Sequence[Topic]) -> TextTable:
    """Topics in the order given."""
    rows = [
        (
            f"{one.importance:.3f}",
            one.id,
            str(len(one.memories)),
            str(one.served),
            _mention_day(one),
            "pruned" if one.pruned else "",
            one.label,
        )
        for one in topics
    ]
    return TextTable(("importance", "id", "memories", "served", "mentioned", "marks", "label"), rows)


def format_topic_heading(topic: Topic, paint: Paint = paint_plain) -> Iterator[str]:
    """What a topic is called, and what is known of it."""
    yield paint(TextStyle.STRONG, make_printable(topic.label))
    pruned = ", pruned" if topic.pruned else ""
    served = f"served {format_count(topic.served, 'time')}"
    yield paint(
        TextStyle.FAINT, f"importance {topic.importance:.3f}, mentioned {_mention_day(topic)}, {served}{pruned}"
    )


def describe_refresh(found: TopicRefreshReport) -> str:
    """A refresh in a sentence."""
    of = f"{found.grouped} of {format_count(found.memories, 'memory', 'memories')}"
    changed = ", ".join(f"{count} {what}" for count, what in ((found.new, "new"), (found.gone, "gone")) if count)
    return f"{found.scope}: {of} in {format_count(found.topics, 'topic')} ({changed or 'as before'})"


def _mention_day(topic: Topic) -> str:
    return topic.mentioned_at.astimezone(UTC).date().isoformat()
