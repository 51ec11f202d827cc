"""recollect topics: what the memories of a scope are about."""

import click

from recollect.cli import empty, options, output
from recollect.cli.place import Place, place
from recollect.model.scope import Scope
from recollect.render import listing, wire
from recollect.render import topics as rendered


@click.command(short_help="List what memories are about.")
@click.argument("id", metavar="[ID]", required=False)
@options.scope
@click.option("--refresh", is_flag=True, help="First look anew which memories belong together.")
@click.option("--pruned", is_flag=True, help="Also those that were not mentioned for long.")
@click.option(
    "--limit", type=click.IntRange(min=1), metavar="N", default=20, show_default=True, help="Print at most so many."
)
@options.as_json
@place
def topics(place: Place, id: str | None, scope: Scope, refresh: bool, pruned: bool, limit: int, as_json: bool) -> None:
    """List what the memories of a scope are about, the most important first; with ID, the memories of a topic.

    A topic matters the more, the more memories it has and the sooner after it was mentioned. Which memories are near
    enough, and when one is pruned, [topics] says. In a pipe there is one line a topic: importance, id, memories, times
    served, day of the last mention, pruned or nothing, and label, between tabs. Looking counts as no use.

    \b
    recollect topics --scope acme/ana --refresh
    recollect topics topic-0c0ffee00c0f --scope acme/ana
    """
    with place.there() as engine:
        done = engine.refresh_topics(scope=scope) if refresh else None
        if id is not None:
            topic = engine.topic(id, scope=scope)
            memories = [engine.get(one, scope=scope) for one in topic.memories]
            shown, table = (
                {**rendered.fields(topic), "memories": list(map(wire.memory, memories))},
                listing.memories(memories),
            )
            told = list(rendered.heading(topic, output.paint))
        else:
            found = engine.topics(scope=scope, pruned=pruned, limit=limit)
            shown, table = {"scope": str(scope), "topics": list(map(rendered.fields, found))}, rendered.listed(found)
            told = [] if found else _nothing(done is not None) + empty.told_scope(engine, scope)
    if as_json:
        output.data(shown if done is None else {**shown, "refreshed": rendered.refreshed(done)})
        return
    for line in ([] if done is None else [rendered.sentence(done)]) + told:
        output.talk(line)
    output.rows(table)


def _nothing(refreshed: bool) -> list[str]:
    """What is told where there is no topic."""
    return [] if refreshed else ["no topics are known; --refresh looks for them, and --pruned shows old ones"]
