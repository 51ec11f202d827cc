"""recollect topics: what the memories of a scope are about."""

import click

from recollect.cli import empty_hints, options, output, scopes
from recollect.cli.progress import ReportProgress
from recollect.cli.target import StoreTarget, pass_target
from recollect.engine.engine import Engine
from recollect.model.scope import Scope
from recollect.model.topic import TopicRefreshReport
from recollect.render import json_values, listing
from recollect.render import topics as rendered


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
                {**rendered.topic_fields(topic), "memories": list(map(json_values.memory_fields, memories))},
                listing.memory_table(memories),
            )
            told = list(rendered.format_topic_heading(topic, output.paint))
        else:
            found = engine.topics(scope=scope, pruned=pruned, limit=limit)
            shown, table = (
                {"scope": str(scope), "topics": list(map(rendered.topic_fields, found))},
                rendered.topic_table(found),
            )
            told = (
                [] if found else _explain_no_topics(done is not None) + empty_hints.explain_empty_scope(engine, scope)
            )
    if as_json:
        output.print_json(shown if done is None else {**shown, "refreshed": rendered.refresh_fields(done)})
        return
    for line in ([] if done is None else [rendered.describe_refresh(done)]) + told:
        output.print_note(line)
    output.print_table(table)


def _refresh_all_scopes(place: StoreTarget, *, as_json: bool) -> None:
    def refresh(engine: Engine, one: Scope, _: ReportProgress) -> TopicRefreshReport:
        return engine.refresh_topics(scope=one)

    done, failed = scopes.run_for_each_scope(place, None, "looking at", refresh)
    if as_json:
        output.print_json({"scopes": [rendered.refresh_fields(one) for one in done]})
    else:
        output.print_lines(map(rendered.describe_refresh, done))
    if failed is not None:
        raise failed


def _explain_no_topics(refreshed: bool) -> list[str]:
    """What is told where there is no topic."""
    return [] if refreshed else ["no topics are known; --refresh looks for them, and --pruned shows old ones"]
