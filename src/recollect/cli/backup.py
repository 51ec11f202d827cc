"""recollect backup and verify: a copy of a store, and whether it is a good one."""

from pathlib import Path

import click

from recollect import factory
from recollect.cli import options, output
from recollect.cli.files import write_atomically
from recollect.cli.progress import progress_bar
from recollect.cli.target import StoreTarget, pass_target
from recollect.engine import archive_format
from recollect.errors import InvalidInput
from recollect.model import validation
from recollect.model.format import make_printable
from recollect.render import json_values, text

MAX_HEADER_BYTES = 65_536
"""How much of a file is read to see whether it is an export."""


@click.command(short_help="Copy a store while it is in use.")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--force", is_flag=True, help="Replace FILE if it is there.")
@options.as_json
@pass_target
def backup(place: StoreTarget, file: Path, force: bool, as_json: bool) -> None:
    """Copy the store as it is at one moment to FILE, while others go on reading and writing.

    FILE is there only when it is whole, and is a store like any other. `recollect verify` checks it.

    \b
    recollect backup agent-backup.db && recollect verify agent-backup.db
    """
    factory.refuse_url(place.target)
    if not validation.is_storable(str(file)):
        raise InvalidInput(f"{str(file)!r} is not UTF-8, so no store could be opened by it; name another file")
    with (
        place.open_existing() as engine,
        write_atomically(file, store=place.target, force=force) as path,
        progress_bar("copying") as show,
    ):
        engine.backup(path, progress=show)
    if as_json:
        output.print_json({"path": str(file), "bytes": file.stat().st_size})
    output.print_note(f"copied; `recollect verify {make_printable(str(file))}` checks it")


@click.command(short_help="Restore a backup to one side, and check all of it.")
@click.argument("file", type=click.Path(), required=False)
@options.as_json
@click.pass_context
@pass_target
def verify(place: StoreTarget, ctx: click.Context, file: str | None, as_json: bool) -> None:
    """Restore the backup FILE, or the store that --db names, in a temporary place, check every row of it, and recall.

    Neither FILE nor the store is changed. The exit code is 1 if there is any problem, and each is told.
    """
    named = place.target if file is None else file
    checked = Path(named)
    with progress_bar("checking") as show:
        report = factory.verify(named, progress=show)
    if not report.ok and _is_export(checked):
        raise InvalidInput(
            f"{str(checked)!r} is an export, not a store; `recollect --db NEW import FILE` checks it, "
            "and makes a store of it"
        )
    if as_json:
        output.print_json(json_values.report_fields(report))
    else:
        output.print_lines(text.format_report(report, output.paint))
    if not report.ok:
        ctx.exit(1)


def _is_export(file: Path) -> bool:
    """Whether it begins as `recollect export` writes."""
    try:
        with file.open("rb") as lines:
            archive_format.read_header(lines.readline(MAX_HEADER_BYTES).decode())
    except (OSError, ValueError):
        return False
    return True
