"""recollect admin extract: what happened leaves memories behind."""

from collections.abc import Iterator
from typing import Any

import click

from recollect.cli import options, output
from recollect.cli.progress import progress_bar
from recollect.cli.target import StoreTarget, pass_target
from recollect.engine.extract_events import EventExtraction
from recollect.errors import RecollectError
from recollect.model.format import format_count
from recollect.model.scope import Scope
from recollect.render import extraction


@click.command("extract", short_help="Remember what observed events leave behind.")
@options.scope_filter
@options.as_json
@pass_target
def extract_events(place: StoreTarget, scope: Scope | None, as_json: bool) -> None:
    """Remember what is worth it in the events that were observed since the last time; each memory names its event.

    Who extracts, [extraction] says. The same again changes nothing. It may be stopped at any moment: the same command
    goes on from there, and what was read is not read again.

    \b
    recollect admin extract
    recollect admin extract --scope acme/ana
    """
    done, failed = list[EventExtraction](), list[RecollectError]()
    with place.open_existing() as engine:
        for one in engine.scopes(scope=scope):
            try:
                with progress_bar(f"extracting {one}") as show:
                    done.append(engine.extract_events(scope=one, progress=show))
            except RecollectError as error:  # which is no reason to leave the others
                output.print_note(f"{one}: {error}")
                failed.append(error)
    found = [one for one in done if one.extracted or one.waiting]
    if as_json:
        output.print_json({"scopes": [_harvest_fields(one) for one in found]})
    else:
        output.print_lines(line for one in found for line in _format_harvest(one))
    if failed:
        raise failed[0]
    if not found:
        output.print_note("nothing was observed since the last time; `recollect observe` keeps what happens")


def _harvest_fields(harvest: EventExtraction) -> dict[str, Any]:
    """The JSON of what the events of a scope left behind; a session is counted once for each stretch of it."""
    read = {"scope": str(harvest.scope), "events": harvest.events, "waiting": harvest.waiting}
    return {**read, **extraction.extraction_fields(_harvest_extractions(harvest))}


def _format_harvest(harvest: EventExtraction) -> Iterator[str]:
    """The same for people."""
    found = _harvest_extractions(harvest)
    yield from extraction.format_each_extraction(found, output.paint)
    later = f" ({format_count(harvest.waiting, 'stretch', 'stretches')} not come yet)" if harvest.waiting else ""
    yield f"{harvest.scope}: {format_count(harvest.events, 'event')} read, {extraction.tally_extractions(found)}{later}"


def _harvest_extractions(harvest: EventExtraction) -> extraction.Extractions:
    return [(one.receipts, one.extraction) for one in harvest.extracted]
