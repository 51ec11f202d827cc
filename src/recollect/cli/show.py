"""recollect show, history and list: what there is; looking counts as no use."""

import click

from recollect.cli import empty_hints, options, output
from recollect.cli.superseded import find_replacements
from recollect.cli.target import StoreTarget, pass_target
from recollect.model.memory import Status
from recollect.model.scope import Scope
from recollect.render import json_values, listing, text


@click.command(short_help="Print a memory and its use.")
@click.argument("id")
@options.scope
@options.as_json
@pass_target
def show(place: StoreTarget, id: str, scope: Scope, as_json: bool) -> None:
    """Print the memory ID with all that is known of it, and what happened to it since."""
    with place.open_existing() as engine:
        memory = engine.get(id, scope=scope)
        usage = engine.usage(id, scope=scope)
        by = engine.replacement(memory, scope=scope)
    if as_json:
        output.print_json(
            {
                **json_values.memory_fields(memory),
                "usage": json_values.usage_fields(usage),
                "replacement": json_values.replacement_fields(by),
            }
        )
    else:
        output.print_lines(text.format_memory(memory, usage, output.paint, by))


@click.command(short_help="List the versions of a memory.")
@click.argument("id")
@options.scope
@options.as_json
@pass_target
def history(place: StoreTarget, id: str, scope: Scope, as_json: bool) -> None:
    """Print every version of the memory ID, the oldest first, each with the run that `recollect admin undo` takes."""
    with place.open_existing() as engine:
        versions = engine.history(id, scope=scope)
        instead, last = find_replacements(engine, versions), versions[-1].superseded_by
    if as_json:
        by = None if last is None else instead.get(last)
        said = [json_values.memory_fields(version) for version in versions]
        output.print_json({"id": id, "versions": said, "replacement": json_values.replacement_fields(by)})
    else:
        output.print_table(listing.version_table(versions, instead))


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
@pass_target
def list_memories(place: StoreTarget, scope: Scope, below: bool, statuses: tuple[Status, ...], as_json: bool) -> None:
    """List the memories of a scope, sorted by id: ids that were made here sort by the time they were made.

    In a pipe there is one line a memory: id, scope, kind, date, marks and text, between tabs.
    """
    with place.open_existing() as engine:
        memories = engine.memories(scope=scope, below=below, statuses=statuses)
        hints = [] if memories else empty_hints.explain_empty_scope(engine, scope)
        instead = {} if as_json else find_replacements(engine, memories)
    if as_json:
        output.print_json({"scope": str(scope), "memories": [json_values.memory_fields(memory) for memory in memories]})
    else:
        output.print_table(listing.memory_table(memories, instead))
    for hint in hints:
        output.print_note(hint)
