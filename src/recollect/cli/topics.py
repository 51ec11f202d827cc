"""The commands `recollect topics` and `recollect graph`.

`topics` lists what the memories of a scope are about. `graph` lists the names they mention, and what those names link.
"""

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC
from typing import Any

import click

from recollect.cli import formatting, options, output
from recollect.cli.formatting import format_day, format_headline
from recollect.cli.options import StoreTarget, pass_target
from recollect.cli.output import ReportProgress
from recollect.engine.engine import Engine
from recollect.model.format import format_count, make_printable
from recollect.model.scope import Scope
from recollect.model.timeline import Entity, EntityNeighbors, Topic, TopicRefreshReport
from recollect.render import json_records, json_values
from recollect.render.tables import Paint, TextStyle, TextTable, paint_plain


@click.command(short_help="List what memories are about.")
@click.argument("id", metavar="[ID]", required=False)
@click.option(
    "--scope",
    metavar="SCOPE",
    callback=options.parse_optional_scope,
    help="Whose memories, as acme/ana, and not those below.  [required, but with --refresh: every scope]",
)
@click.option(
    "--refresh",
    is_flag=True,
    help="First look anew which memories belong together; without SCOPE, in every scope, and list none.",
)
@click.option("--pruned", is_flag=True, help="Also those that were not mentioned for long.")
@click.option(
    "--limit", type=click.IntRange(min=1), metavar="N", default=20, show_default=True, help="Print at most so many."
)
@options.as_json
@pass_target
def topics(
    place: StoreTarget, id: str | None, scope: Scope | None, refresh: bool, pruned: bool, limit: int, as_json: bool
) -> None:
    """List what the memories of a scope are about, the most important first; with ID, the memories of a topic.

    A topic matters the more, the more memories it has and the sooner after it was mentioned. Which memories are near
    enough, and when one is pruned, [topics] says. In a pipe there is one line a topic: importance, id, memories, times
    served, day of the last mention, pruned or nothing, and label, between tabs. Looking counts as no use.

    \b
    recollect topics --scope acme/ana --refresh
    recollect topics topic-0c0ffee00c0f --scope acme/ana
    recollect topics --refresh
    """
    if scope is None:
        if id is not None or not refresh:
            raise options.missing_scope()
        _refresh_all_scopes(place, as_json=as_json)
        return
    with place.open_existing() as engine:
        done = engine.refresh_topics(scope=scope) if refresh else None
        if id is not None:
            topic = engine.topic(id, scope=scope)
            memories = [engine.get(one, scope=scope) for one in topic.memories]
            shown, table = (
                {**json_records.topic_fields(topic), "memories": list(map(json_values.memory_fields, memories))},
                formatting.memory_table(memories),
            )
            told = list(format_topic_heading(topic, output.paint))
        else:
            found = engine.topics(scope=scope, pruned=pruned, limit=limit)
            shown, table = (
                {"scope": str(scope), "topics": list(map(json_records.topic_fields, found))},
                topic_table(found),
            )
            told = [] if found else _explain_no_topics(done is not None) + output.explain_empty_scope(engine, scope)
    if as_json:
        output.print_json(shown if done is None else {**shown, "refreshed": refresh_fields(done)})
        return
    for line in ([] if done is None else [describe_refresh(done)]) + told:
        output.print_note(line)
    output.print_table(table)


def _refresh_all_scopes(place: StoreTarget, *, as_json: bool) -> None:
    def refresh(engine: Engine, one: Scope, _: ReportProgress) -> TopicRefreshReport:
        return engine.refresh_topics(scope=one)

    done, failed = output.run_for_each_scope(place, None, "looking at", refresh)
    if as_json:
        output.print_json({"scopes": [refresh_fields(one) for one in done]})
    else:
        output.print_lines(map(describe_refresh, done))
    if failed is not None:
        raise failed


def _explain_no_topics(refreshed: bool) -> list[str]:
    """Explain why no topics were listed."""
    return [] if refreshed else ["no topics are known; --refresh looks for them, and --pruned shows old ones"]


def refresh_fields(found: TopicRefreshReport) -> dict[str, Any]:
    """Return the result of a topic refresh as JSON fields."""
    names = ("memories", "grouped", "topics", "new", "gone")
    return {"scope": str(found.scope), **{name: getattr(found, name) for name in names}}


def topic_table(topics: Sequence[Topic]) -> TextTable:
    """Return topics as a table, in the order given."""
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
    """Yield the label of a topic, and its figures."""
    yield paint(TextStyle.STRONG, make_printable(topic.label))
    pruned = ", pruned" if topic.pruned else ""
    served = f"served {format_count(topic.served, 'time')}"
    yield paint(
        TextStyle.FAINT, f"importance {topic.importance:.3f}, mentioned {_mention_day(topic)}, {served}{pruned}"
    )


def describe_refresh(found: TopicRefreshReport) -> str:
    """Describe the result of a topic refresh in one sentence."""
    of = f"{found.grouped} of {format_count(found.memories, 'memory', 'memories')}"
    changed = ", ".join(f"{count} {what}" for count, what in ((found.new, "new"), (found.gone, "gone")) if count)
    return f"{found.scope}: {of} in {format_count(found.topics, 'topic')} ({changed or 'as before'})"


def _mention_day(topic: Topic) -> str:
    return topic.mentioned_at.astimezone(UTC).date().isoformat()


@click.command(short_help="List names, and what they link.")
@click.argument("name", metavar="[NAME|ID]", required=False)
@options.scope
@click.option(
    "--limit", type=click.IntRange(min=1), metavar="N", default=20, show_default=True, help="Print at most so many."
)
@options.as_json
@pass_target
def graph(place: StoreTarget, name: str | None, scope: Scope, limit: int, as_json: bool) -> None:
    """List the names that the memories of a scope mention, the most mentioned first.

    With NAME, what is linked to it: the names that are mentioned with it, and the memories that mention it. With ID,
    the names that this memory mentions, and the memories that mention one of them. Looking counts as no use.

    In a pipe there is one line a name or memory: how many mention it and the name, or with NAME or ID what
    it is, date, the name that links it and text, between tabs.

    \b
    recollect graph --scope acme/ana
    recollect graph "Access Bank" --scope acme/ana
    """
    with place.open_existing() as engine:
        if name is not None:
            found = engine.neighbours(name, scope=scope, limit=limit)
            shown, table = json_records.neighbor_fields(found), neighbor_table(found)
        else:
            entities = engine.entities(scope=scope, limit=limit)
            shown, table = (
                {"scope": str(scope), "entities": json_records.entity_fields(entities)},
                entity_table(entities),
            )
        hints = [] if table.rows else output.explain_empty_scope(engine, scope)
    if as_json:
        output.print_json(shown)
    else:
        output.print_table(table)
    for hint in hints:
        output.print_note(hint)


def entity_table(entities: Iterable[Entity]) -> TextTable:
    """Return names as a table, each with the number of memories that mention it."""
    return TextTable(("memories", "name"), [(str(one.memories), one.name) for one in entities])


def neighbor_table(found: EntityNeighbors) -> TextTable:
    """Return linked names and then linked memories as a table, with the name that links each."""
    of = "with it" if isinstance(found.of, str) else ""
    rows = [
        *(
            ("name", "", one.name, f"{format_count(one.memories, 'memory', 'memories')} {of}".rstrip())
            for one in found.entities
        ),
        *((one.memory.id, format_day(one.memory), one.through, format_headline(one.memory)) for one in found.memories),
    ]
    return TextTable(("id", "date", "through", "text"), rows)
