"""recollect browse and expand: through what happened, down to what was said."""

import click

from recollect.cli import empty_hints, options, output
from recollect.cli.target import StoreTarget, pass_target
from recollect.engine.browse import MAX_AROUND_EVENTS
from recollect.engine.engine import Engine
from recollect.model.format import format_count
from recollect.model.scope import Scope
from recollect.render import timeline


@click.command(short_help="Walk through what happened.")
@click.argument("key", required=False)
@options.scope
@options.as_json
@pass_target
def browse(place: StoreTarget, key: str | None, scope: Scope, as_json: bool) -> None:
    """Show what happened: all years, or what is below KEY.

    KEY is a year, month, week or day, as 2026, 2026-03, 2026-W09 or 2026-03-01, or the id of a segment or a grip. In a
    pipe there is one line a place: level, key and title, between tabs. Looking counts as no use.

    \b
    recollect browse --scope acme/ana
    recollect browse 2026-03 --scope acme/ana
    """
    with place.open_existing() as engine:
        found = engine.browse(key, scope=scope)
        hints = [] if found.place is not None or found.parts else _explain_no_events(engine, scope)
    if as_json:
        output.print_json(timeline.timeline_fields(found))
        return
    for line in timeline.format_place_heading(found, output.paint):
        output.print_note(line)
    output.print_table(timeline.place_table(found))
    for hint in hints:
        output.print_note(hint)


def _explain_no_events(engine: Engine, scope: Scope) -> list[str]:
    """What is told where nothing happened: that the scope is empty, or has nothing but what is remembered."""
    return empty_hints.explain_empty_scope(engine, scope) or [
        f"nothing was observed in {scope}; `recollect observe` keeps what happens"
    ]


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
def expand(place: StoreTarget, id: str, scope: Scope, around: int, as_json: bool) -> None:
    """Show the events that the grip or segment ID is made of, in order, word for word.

    In a pipe there is one line an event: * if it is one of them, id, moment, speaker and text, between tabs.

    \b
    recollect expand grip-0c0ffee0 --scope acme/ana --around 2
    """
    with place.open_existing() as engine:
        found = engine.expand(id, scope=scope, around=around)
    if as_json:
        output.print_json(timeline.expansion_fields(found))
        return
    output.print_table(timeline.event_table(found))
    if found.gone:
        output.print_note(f"{format_count(len(found.gone), 'event')} of it put away or erased since")
