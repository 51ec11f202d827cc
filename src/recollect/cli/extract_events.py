"""recollect admin extract: what happened leaves memories behind."""

from collections.abc import Iterator
from typing import Any

import click

from recollect.cli import options, output
from recollect.cli.progress import bar
from recollect.cli.target import Place, place
from recollect.engine.extract_events import Harvest
from recollect.errors import RecollectError
from recollect.model.format import counted
from recollect.model.scope import Scope
from recollect.render import extraction


@click.command(short_help="Remember what observed events leave behind.")
@options.part
@options.as_json
@place
def extract(place: Place, scope: Scope | None, as_json: bool) -> None:
    """Remember what is worth it in the events that were observed since the last time; each memory names its event.

    Who extracts, [extraction] says. The same again changes nothing. It may be stopped at any moment: the same command
    goes on from there, and what was read is not read again.

    \b
    recollect admin extract
    recollect admin extract --scope acme/ana
    """
    done, failed = list[Harvest](), list[RecollectError]()
    with place.there() as engine:
        for one in engine.scopes(scope=scope):
            try:
                with bar(f"extracting {one}") as show:
                    done.append(engine.extract_events(scope=one, progress=show))
            except RecollectError as error:  # which is no reason to leave the others
                output.talk(f"{one}: {error}")
                failed.append(error)
    found = [one for one in done if one.extracted or one.waiting]
    if as_json:
        output.data({"scopes": [_fields(one) for one in found]})
    else:
        output.lines(line for one in found for line in _told(one))
    if failed:
        raise failed[0]
    if not found:
        output.talk("nothing was observed since the last time; `recollect observe` keeps what happens")


def _fields(harvest: Harvest) -> dict[str, Any]:
    """The JSON of what the events of a scope left behind; a session is counted once for each stretch of it."""
    read = {"scope": str(harvest.scope), "events": harvest.events, "waiting": harvest.waiting}
    return {**read, **extraction.data(_found(harvest))}


def _told(harvest: Harvest) -> Iterator[str]:
    """The same for people."""
    found = _found(harvest)
    yield from extraction.each(found, output.paint)
    later = f" ({counted(harvest.waiting, 'stretch', 'stretches')} not come yet)" if harvest.waiting else ""
    yield f"{harvest.scope}: {counted(harvest.events, 'event')} read, {extraction.tally(found)}{later}"


def _found(harvest: Harvest) -> extraction.Found:
    return [(one.receipts, one.extraction) for one in harvest.extracted]
