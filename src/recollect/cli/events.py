"""Commands for what happened and what it is about: `observe`, `browse`, `expand`, `topics`, `graph`, `admin extract`.

Events are what happened in a scope. They can be browsed as a timeline, and memories can be extracted from them.
`topics` lists what the memories of a scope are about, `graph` the names they mention and what those names link.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC
from functools import partial
from typing import IO, Any

import click

from recollect.api import schemas
from recollect.cli import extract, formatting, options, output
from recollect.cli.extract import Extractions, read_conversations
from recollect.cli.files import open_rereadable
from recollect.cli.formatting import format_day, format_headline
from recollect.cli.options import StoreTarget, pass_target
from recollect.cli.output import ReportProgress, progress_bar
from recollect.cli.tables import Paint, TextStyle, TextTable, paint_plain
from recollect.engine.engine import Engine
from recollect.engine.events import MAX_AROUND_EVENTS, EventExtraction
from recollect.engine.import_files import ImportSource
from recollect.errors import RecollectError
from recollect.importers import FORMATS
from recollect.model.conversation import ConversationTurn
from recollect.model.draft import Receipt
from recollect.model.enums import Level, Provenance
from recollect.model.format import format_count, format_moment, make_printable, shorten
from recollect.model.memory import Memory, MemoryId
from recollect.model.scope import Scope
from recollect.model.timeline import Entity, EntityNeighbors, GripExpansion, TimelinePage, Topic, TopicRefreshReport


@click.command(short_help="Keep what happened as events.")
@click.argument("file", type=click.File("rb"))
@options.scope
@options.choice(
    Provenance,
    "--provenance",
    metavar="CLASS",
    default=Provenance.IMPORT.value,
    show_default=True,
    help="Through whom the events came: a file's word on who spoke is trusted no further than that.",
)
@click.option("--skip-bad", is_flag=True, help="Leave out events that cannot be read, and tell of them.")
@options.as_json
@pass_target
def observe(
    store: StoreTarget, file: IO[bytes], scope: Scope, provenance: Provenance, skip_bad: bool, as_json: bool
) -> None:
    """Keep what happened in FILE, or on standard input if FILE is -, as events of the scope.

    FILE has JSON lines: an event each, with text or content and any of role, speaker, timestamp and session, or a whole
    conversation with its messages. The same event again changes nothing. `recollect admin rollup` sums days, weeks,
    months and years up, and `recollect browse` walks through them.

    \b
    recollect observe chat.jsonl --scope acme/ana
    """
    with open_rereadable(file) as lines:
        source = ImportSource(lines=lines, name=None, format=FORMATS["chat"], scope=scope, skip_bad=skip_bad)
        sessions, notes = read_conversations(source, stored=True, done="kept")
    receipts: list[Receipt] = []
    with store.open_or_create() as engine, progress_bar("storing") as show:
        for done, turns in enumerate(sessions, start=1):
            receipts += engine.observe(map(_make_event, turns), scope=scope, provenance=provenance)
            show(done, len(sessions))
    redacted = Counter(kind for one in receipts for kind in one.redacted)
    if as_json:
        events = [schemas.memories.Receipt.of(one).to_json() for one in receipts]
        output.print_json({"events": events, "redacted": dict(redacted), **extract.notes_fields(notes)})
    else:
        output.print_lines(
            [
                _tally_verdicts(receipts),
                *extract.format_redactions(redacted, "event"),
                *extract.format_notes(notes),
            ]
        )


def _make_event(turn: ConversationTurn) -> ConversationTurn:
    """Return the turn as an event; without a date, its id comes from its position in the file.

    The stable id makes a second import of the same file a no-op.
    """
    return replace(turn, id=None if turn.at is not None or turn.id is None else MemoryId(f"event-{turn.id}"))


def _tally_verdicts(receipts: list[Receipt]) -> str:
    """Describe how many events there were, by verdict."""
    verdicts = Counter(make_printable(formatting.describe_verdict(one.verdict)) for one in receipts)
    became = ", ".join(f"{count} {verdict}" for verdict, count in verdicts.most_common(5)) or "nothing"
    return f"{format_count(len(receipts), 'event')}: {became}"


@click.command(short_help="Walk through what happened.")
@click.argument("key", required=False)
@options.scope
@options.as_json
@pass_target
def browse(store: StoreTarget, key: str | None, scope: Scope, as_json: bool) -> None:
    """Show what happened: all years, or what is below KEY.

    KEY is a year, month, week or day, as 2026, 2026-03, 2026-W09 or 2026-03-01, or the id of a segment or a grip. In a
    pipe there is one line a place: level, key and title, between tabs. Looking counts as no use.

    \b
    recollect browse --scope acme/ana
    recollect browse 2026-03 --scope acme/ana
    """
    with store.open_existing() as engine:
        page = engine.timeline.browse(key, scope=scope)
        hints: list[str] = []
        if page.place is None and not page.parts:
            no_events = f"{scope} has no events; `recollect observe` adds them"
            hints = output.explain_empty_scope(engine, scope) or [no_events]
    if as_json:
        output.print_answer(schemas.events.Outlook.of(page))
        return
    for line in format_place_heading(page, output.paint):
        output.print_note(line)
    output.print_table(place_table(page))
    for hint in hints:
        output.print_note(hint)


@click.command(short_help="Show the events that a grip rests on.")
@click.argument("id")
@options.scope
@click.option(
    "--around",
    type=click.IntRange(0, MAX_AROUND_EVENTS),
    metavar="N",
    default=0,
    show_default=True,
    help="Also so many events before and after them, of the same session.",
)
@options.as_json
@pass_target
def expand(store: StoreTarget, id: str, scope: Scope, around: int, as_json: bool) -> None:
    """Show the events that the grip or segment ID is made of, in order, word for word.

    In a pipe there is one line an event: * if it is one of them, id, moment, speaker and text, between tabs.

    \b
    recollect expand grip-0c0ffee0 --scope acme/ana --around 2
    """
    with store.open_existing() as engine:
        expansion = engine.timeline.expand(id, scope=scope, around=around)
    if as_json:
        output.print_answer(schemas.events.Expansion.of(expansion))
        return
    output.print_table(event_table(expansion))
    if expansion.gone:
        output.print_note(f"{format_count(len(expansion.gone), 'event')} of it archived or erased since")


def format_place_heading(page: TimelinePage, paint: Paint = paint_plain) -> Iterator[str]:
    """Yield the title of a timeline node, and the text of its record if it has one."""
    node = page.place
    if node is None:
        return
    yield paint(TextStyle.STRONG, make_printable(node.title))
    if node.record is None:
        pending = "not over or not summarized yet; `recollect admin rollup` summarizes"
        yield paint(TextStyle.FAINT, pending if page.parts else "no events")
    elif node.level in (Level.EVENT, Level.GRIP):
        yield paint(TextStyle.FAINT, format_moment(node.record.created_at))
        yield from map(make_printable, node.record.text.splitlines())
    else:
        yield from map(make_printable, node.record.text.splitlines())


def place_table(page: TimelinePage) -> TextTable:
    """Return the children of a timeline node as a table of level, key and title."""
    rows = [(one.level.value, one.key, one.title) for one in (*page.parts, *page.grips)]
    return TextTable(("level", "key", "title"), rows)


def event_table(expansion: GripExpansion) -> TextTable:
    """Return the events of a grip as a table; events of the grip itself are marked with *."""
    rows = [*_event_rows(expansion.before, ""), *_event_rows(expansion.events, "*"), *_event_rows(expansion.after, "")]
    return TextTable(("", "id", "moment", "speaker", "text"), rows)


def _event_rows(events: Sequence[Memory], mark: str) -> list[tuple[str, ...]]:
    return [
        (mark, one.id, format_moment(one.created_at), one.speaker or "", shorten(one.text, 2_000)) for one in events
    ]


@click.command("extract", short_help="Remember what observed events leave behind.")
@options.scope_filter
@options.as_json
@pass_target
def extract_events(store: StoreTarget, scope: Scope | None, as_json: bool) -> None:
    """Remember what is worth it in the events that were observed since the last time; each memory names its event.

    Who extracts, [extraction] says. The same again changes nothing. It may be stopped at any moment: the same command
    goes on from there, and what was read is not read again.

    \b
    recollect admin extract
    recollect admin extract --scope acme/ana
    """
    results, failures = list[EventExtraction](), list[RecollectError]()
    with store.open_existing() as engine:
        for one in engine.scopes(scope=scope):
            try:
                with progress_bar(f"extracting {one}") as show:
                    results.append(engine.timeline.extract_events(scope=one, progress=show))
            except RecollectError as error:  # one failed scope does not stop the others
                output.print_note(f"{one}: {error}")
                failures.append(error)
    harvests = [one for one in results if one.extracted or one.waiting]
    if as_json:
        output.print_json({"scopes": [_harvest_fields(one) for one in harvests]})
    else:
        output.print_lines(line for one in harvests for line in _format_harvest(one))
    if failures:
        raise failures[0]
    if not harvests:
        output.print_note("no new events; `recollect observe` adds them")


def _harvest_fields(harvest: EventExtraction) -> dict[str, Any]:
    """Return the result of an extraction from events as JSON fields.

    A session is counted once for each stretch of it.
    """
    counts = {"scope": str(harvest.scope), "events": harvest.events, "waiting": harvest.waiting}
    return {**counts, **schemas.events.ExtractedMemories.of(_harvest_extractions(harvest)).to_json()}


def _format_harvest(harvest: EventExtraction) -> Iterator[str]:
    """Yield the result of an extraction from events as lines for people."""
    found = _harvest_extractions(harvest)
    yield from extract.format_each_extraction(found, output.paint)
    later = f" ({format_count(harvest.waiting, 'span', 'spans')} dated in the future)" if harvest.waiting else ""
    yield f"{harvest.scope}: {format_count(harvest.events, 'event')} read, {extract.tally_extractions(found)}{later}"


def _harvest_extractions(harvest: EventExtraction) -> Extractions:
    return [(one.receipts, one.extraction) for one in harvest.extracted]


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
    store: StoreTarget, id: str | None, scope: Scope | None, refresh: bool, pruned: bool, limit: int, as_json: bool
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
        _refresh_all_scopes(store, as_json=as_json)
        return
    with store.open_existing() as engine:
        refresh_report = engine.topics.refresh(scope=scope) if refresh else None
        to_json: Callable[[], dict[str, Any]]
        if id is not None:
            topic = engine.topics.get(id, scope=scope)
            memories = [engine.get(one, scope=scope) for one in topic.memories]
            to_json = partial(_topic_to_json, topic, memories)
            table = formatting.memory_table(memories)
            notes = list(format_topic_heading(topic, output.paint))
        else:
            found = engine.topics.list(scope=scope, pruned=pruned, limit=limit)
            to_json = partial(_topics_to_json, scope, found)
            table = topic_table(found)
            notes = (
                []
                if found
                else _explain_no_topics(refresh_report is not None) + output.explain_empty_scope(engine, scope)
            )
    if as_json:
        refreshed = {} if refresh_report is None else {"refreshed": refresh_fields(refresh_report)}
        output.print_json({**to_json(), **refreshed})
        return
    for line in ([] if refresh_report is None else [describe_refresh(refresh_report)]) + notes:
        output.print_note(line)
    output.print_table(table)


def _topics_to_json(scope: Scope, topics: Iterable[Topic]) -> dict[str, Any]:
    return schemas.events.Topics.of(scope=scope, topics=topics).to_json()


def _topic_to_json(topic: Topic, memories: Iterable[Memory]) -> dict[str, Any]:
    """Return a topic as JSON, with whole memories in the place of their ids."""
    shown = [schemas.memories.Memory.of(one).to_json() for one in memories]
    return {**schemas.events.Topic.of(topic).to_json(), "memories": shown}


def _refresh_all_scopes(store: StoreTarget, *, as_json: bool) -> None:
    def refresh(engine: Engine, one: Scope, _: ReportProgress) -> TopicRefreshReport:
        return engine.topics.refresh(scope=one)

    reports, failed = output.run_for_each_scope(store, None, "looking at", refresh)
    if as_json:
        output.print_json({"scopes": [refresh_fields(one) for one in reports]})
    else:
        output.print_lines(map(describe_refresh, reports))
    if failed is not None:
        raise failed


def _explain_no_topics(refreshed: bool) -> list[str]:
    """Explain why no topics were listed."""
    return [] if refreshed else ["no topics are known; --refresh finds them, and --pruned shows old ones"]


def refresh_fields(report: TopicRefreshReport) -> dict[str, Any]:
    """Return the result of a topic refresh as JSON fields."""
    names = ("memories", "grouped", "topics", "new", "gone")
    return {"scope": str(report.scope), **{name: getattr(report, name) for name in names}}


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


def describe_refresh(report: TopicRefreshReport) -> str:
    """Describe the result of a topic refresh in one sentence."""
    of = f"{report.grouped} of {format_count(report.memories, 'memory', 'memories')}"
    changed = ", ".join(f"{count} {what}" for count, what in ((report.new, "new"), (report.gone, "gone")) if count)
    return f"{report.scope}: {of} in {format_count(report.topics, 'topic')} ({changed or 'unchanged'})"


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
def graph(store: StoreTarget, name: str | None, scope: Scope, limit: int, as_json: bool) -> None:
    """List the names that the memories of a scope mention, the most mentioned first.

    With NAME, what is linked to it: the names that are mentioned with it, and the memories that mention it. With ID,
    the names that this memory mentions, and the memories that mention one of them. Looking counts as no use.

    In a pipe there is one line a name or memory: how many mention it and the name, or with NAME or ID what
    it is, date, the name that links it and text, between tabs.

    \b
    recollect graph --scope acme/ana
    recollect graph "Access Bank" --scope acme/ana
    """
    with store.open_existing() as engine:
        to_json: Callable[[], dict[str, Any]]
        if name is not None:
            neighbors = engine.neighbors(name, scope=scope, limit=limit)
            table, to_json = neighbor_table(neighbors), partial(_neighbors_to_json, neighbors)
        else:
            entities = engine.topics.entities(scope=scope, limit=limit)
            table, to_json = entity_table(entities), partial(_entities_to_json, scope, entities)
        hints = [] if table.rows else output.explain_empty_scope(engine, scope)
    if as_json:
        output.print_json(to_json())
    else:
        output.print_table(table)
    for hint in hints:
        output.print_note(hint)


def _neighbors_to_json(neighbors: EntityNeighbors) -> dict[str, Any]:
    return schemas.events.Neighbours.of(neighbors).to_json()


def _entities_to_json(scope: Scope, entities: Iterable[Entity]) -> dict[str, Any]:
    return schemas.events.Entities.of(scope=scope, entities=entities).to_json()


def entity_table(entities: Iterable[Entity]) -> TextTable:
    """Return names as a table, each with the number of memories that mention it."""
    return TextTable(("memories", "name"), [(str(one.memories), one.name) for one in entities])


def neighbor_table(neighbors: EntityNeighbors) -> TextTable:
    """Return linked names and then linked memories as a table, with the name that links each."""
    of = "with it" if isinstance(neighbors.of, str) else ""
    rows = [
        *(
            ("name", "", one.name, f"{format_count(one.memories, 'memory', 'memories')} {of}".rstrip())
            for one in neighbors.entities
        ),
        *(
            (one.memory.id, format_day(one.memory), one.through, format_headline(one.memory))
            for one in neighbors.memories
        ),
    ]
    return TextTable(("id", "date", "through", "text"), rows)
