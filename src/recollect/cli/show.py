"""recollect show, history and list: what there is; looking counts as no use."""

import click

from recollect.cli import empty_hints, options, output
from recollect.cli.superseded import instead_of
from recollect.cli.target import Place, place
from recollect.model.memory import Status
from recollect.model.scope import Scope
from recollect.render import json_values, listing, text


@click.command(short_help="Print a memory and its use.")
@click.argument("id")
@options.scope
@options.as_json
@place
def show(place: Place, id: str, scope: Scope, as_json: bool) -> None:
    """Print the memory ID with all that is known of it, and what happened to it since."""
    with place.there() as engine:
        memory = engine.get(id, scope=scope)
        usage = engine.usage(id, scope=scope)
        by = engine.replacement(memory, scope=scope)
    if as_json:
        output.data(
            {
                **json_values.memory(memory),
                "usage": json_values.usage(usage),
                "replacement": json_values.replacement(by),
            }
        )
    else:
        output.lines(text.memory(memory, usage, output.paint, by))


@click.command(short_help="List the versions of a memory.")
@click.argument("id")
@options.scope
@options.as_json
@place
def history(place: Place, id: str, scope: Scope, as_json: bool) -> None:
    """Print every version of the memory ID, the oldest first, each with the run that `recollect admin undo` takes."""
    with place.there() as engine:
        versions = engine.history(id, scope=scope)
        instead, last = instead_of(engine, versions), versions[-1].superseded_by
    if as_json:
        by = None if last is None else instead.get(last)
        said = [json_values.memory(version) for version in versions]
        output.data({"id": id, "versions": said, "replacement": json_values.replacement(by)})
    else:
        output.rows(listing.versions(versions, instead))


@click.command("list", short_help="List the memories of a scope.")
@options.scope
@click.option("--below", is_flag=True, help="Those of the scopes below too.")
@options.choice(
    Status,
    "--status",
    "statuses",
    multiple=True,
    default=[Status.ACTIVE.value],
    show_default=True,
    help="Those of this status; may be repeated.",
)
@options.as_json
@place
def listed(place: Place, scope: Scope, below: bool, statuses: tuple[Status, ...], as_json: bool) -> None:
    """List the memories of a scope, sorted by id: ids that were made here sort by the time they were made.

    In a pipe there is one line a memory: id, scope, kind, date, marks and text, between tabs.
    """
    with place.there() as engine:
        memories = engine.memories(scope=scope, below=below, statuses=statuses)
        hints = [] if memories else empty_hints.told_scope(engine, scope)
        instead = {} if as_json else instead_of(engine, memories)
    if as_json:
        output.data({"scope": str(scope), "memories": [json_values.memory(memory) for memory in memories]})
    else:
        output.rows(listing.memories(memories, instead))
    for hint in hints:
        output.talk(hint)
