"""recollect topics: what the memories of a scope are about."""

import click

from recollect.cli import empty_hints, options, output, scopes
from recollect.cli.progress import Tell
from recollect.cli.target import Place, place
from recollect.engine.engine import Engine
from recollect.model.scope import Scope
from recollect.model.topic import Refreshed
from recollect.render import json_values, listing
from recollect.render import topics as rendered


@click.command(short_help="List what memories are about.")
@click.argument("id", metavar="[ID]", required=False)
@click.option(
    "--scope",
    metavar="SCOPE",
    callback=options.read_part,
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
@place
def topics(
    place: Place, id: str | None, scope: Scope | None, refresh: bool, pruned: bool, limit: int, as_json: bool
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
            raise options.no_scope()
        _refresh_all(place, as_json=as_json)
        return
    with place.there() as engine:
        done = engine.refresh_topics(scope=scope) if refresh else None
        if id is not None:
            topic = engine.topic(id, scope=scope)
            memories = [engine.get(one, scope=scope) for one in topic.memories]
            shown, table = (
                {**rendered.fields(topic), "memories": list(map(json_values.memory, memories))},
                listing.memories(memories),
            )
            told = list(rendered.heading(topic, output.paint))
        else:
            found = engine.topics(scope=scope, pruned=pruned, limit=limit)
            shown, table = {"scope": str(scope), "topics": list(map(rendered.fields, found))}, rendered.listed(found)
            told = [] if found else _nothing(done is not None) + empty_hints.told_scope(engine, scope)
    if as_json:
        output.data(shown if done is None else {**shown, "refreshed": rendered.refreshed(done)})
        return
    for line in ([] if done is None else [rendered.sentence(done)]) + told:
        output.talk(line)
    output.rows(table)


def _refresh_all(place: Place, *, as_json: bool) -> None:
    def refresh(engine: Engine, one: Scope, _: Tell) -> Refreshed:
        return engine.refresh_topics(scope=one)

    done, failed = scopes.each(place, None, "looking at", refresh)
    if as_json:
        output.data({"scopes": [rendered.refreshed(one) for one in done]})
    else:
        output.lines(map(rendered.sentence, done))
    if failed is not None:
        raise failed


def _nothing(refreshed: bool) -> list[str]:
    """What is told where there is no topic."""
    return [] if refreshed else ["no topics are known; --refresh looks for them, and --pruned shows old ones"]
