"""Commands that check an installation: `recollect doctor` and `recollect config`.

`diagnose` runs all checks, from Python up to the store. The checks of SQLite, of a store file and of its folder are
here, the others in `doctor_checks`.
"""

import os
import shutil
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from recollect import config
from recollect.cli import doctor_checks, options, output
from recollect.cli.doctor_checks import (
    Check,
    CheckStatus,
    check_from_error,
    check_model,
    check_re_embedding,
    format_megabytes,
    ok,
    problem,
    warning,
)
from recollect.cli.options import StoreTarget, pass_target
from recollect.cli.tables import Paint, TextStyle, paint_plain
from recollect.config import Settings
from recollect.config.loader import render_settings_json, render_settings_toml
from recollect.errors import RecollectError
from recollect.factory import is_database, refuse_url
from recollect.model.format import format_count, make_printable
from recollect.model.validation import IN_MEMORY_TARGET
from recollect.stores.sqlite.process_lock import NoWriteLock, WriteLock, open_process_lock

if TYPE_CHECKING:
    from recollect.stores.sqlite.store import StoreFileInfo

EXIT_PROBLEM = 1
"""The exit code if any check found a problem."""

MIN_SQLITE = (3, 51, 3)
"""Oldest SQLite that does not lose writes when a write-ahead log restarts: docs/adr/0031."""

LOW_DISK_BYTES = 512 * 1024**2
MIN_DISK_BYTES = 32 * 1024**2
"""Free bytes below which there is a warning, and below which there is a problem."""

LOCK_WAIT_SECONDS = 0.05
LOCK_TIMEOUT_SECONDS = 5.0
"""Seconds for which a blocked lock is watched, and for which a free lock is waited for."""


@click.command(short_help="Check the installation, and name the fix.")
@options.as_json
@click.pass_context
@pass_target
def doctor(store: StoreTarget, ctx: click.Context, as_json: bool) -> None:
    """Check Python, the embedders, what serves agents and its keys, the store, and SQLite and its folder or the
    database it is in, and name the fix of whatever is not well.

    It makes no store and uses no network, but for a database. The exit code is 1 if anything is a problem.
    """
    checks = diagnose(store.target)
    if as_json:
        output.print_json(diagnosis_fields(checks))
    else:
        output.print_lines(format_checks(checks, output.paint))
        output.print_note(tally_checks(checks))
    if any(one.finding is CheckStatus.PROBLEM for one in checks):
        ctx.exit(EXIT_PROBLEM)


FINDING_STYLES: Mapping[CheckStatus, TextStyle] = {
    CheckStatus.OK: TextStyle.SCORE,
    CheckStatus.WARNING: TextStyle.TYPED,
    CheckStatus.PROBLEM: TextStyle.STRONG,
}
"""The text style of each check status."""


def diagnosis_fields(checks: Sequence[Check]) -> dict[str, Any]:
    """Return all checks as JSON fields."""
    return {
        "ok": all(one.finding is not CheckStatus.PROBLEM for one in checks),
        "checks": [
            {"name": one.name, "finding": one.finding.value, "seen": one.seen, "remedy": one.remedy} for one in checks
        ],
    }


def format_checks(checks: Sequence[Check], paint: Paint = paint_plain) -> Iterator[str]:
    """Yield a line for each check, followed by a line with the remedy if there is one."""
    widest = max(len(one.name) for one in checks)
    deepest = max(len(one.value) for one in CheckStatus)
    for one in checks:
        finding = paint(FINDING_STYLES[one.finding], f"{one.finding.value:<{deepest}}")
        yield f"{finding}  {one.name:<{widest}}  {make_printable(one.seen)}"
        if one.remedy is not None:
            yield f"{'':<{deepest}}  {'':<{widest}}  → {make_printable(one.remedy)}"


def tally_checks(checks: Sequence[Check]) -> str:
    """Describe how many checks found a problem or a warning."""
    problems, warnings = (
        format_count(sum(one.finding is finding for one in checks), finding.value)
        for finding in (CheckStatus.PROBLEM, CheckStatus.WARNING)
    )
    return f"{format_count(len(checks), 'check')}, {problems}, {warnings}"


def diagnose(target: str | PathLike[str], *, settings: Settings | Mapping[str, Any] | None = None) -> list[Check]:
    """Run all checks of the installation and of the store, and return their results.

    No store is created, opened for writing or changed. The only network connection is that to a PostgreSQL database.
    """
    chosen, settings_check = _check_settings(settings)
    checks = [*doctor_checks.check_platform(sys.version_info[:3]), settings_check]
    in_database = is_database(target)
    if not in_database:
        try:
            import apsw
        except ImportError as error:
            return [*checks, problem("sqlite", f"apsw cannot be loaded ({error})", "run pip install apsw")]
        checks.append(check_sqlite_versions(apsw.sqlite_lib_version(), apsw.apsw_version()))
    checks += doctor_checks.check_embedders(chosen) + doctor_checks.check_serving(chosen)
    check_store = doctor_checks.check_database if in_database else check_file_store
    return [*checks, *check_store(os.fspath(target), chosen)]


def _check_settings(given: Settings | Mapping[str, Any] | None) -> tuple[Settings, Check]:
    """Return the settings, or the defaults if they are invalid; no secret is shown."""
    from recollect.providers.http_client import redact_url

    try:
        chosen = config.load_settings(given)
    except RecollectError as error:
        return Settings(), check_from_error("settings", error)
    named = "the store's embedder, or the best installed" if chosen.embedder is None else redact_url(chosen.embedder)
    return chosen, ok("settings", f"embedder: {named}")


def check_sqlite_versions(library: str, driver: str) -> Check:
    """Check a version of SQLite, as provided by a version of apsw."""
    seen = f"{library}, by apsw {driver}"
    if tuple(int(part) for part in library.split(".")[:3]) < MIN_SQLITE:
        oldest = ".".join(map(str, MIN_SQLITE))
        return problem("sqlite", f"{seen}, may lose writes", f"install an apsw with SQLite {oldest} or later")
    return ok("sqlite", seen)


def check_file_store(target: str, settings: Settings) -> Iterator[Check]:
    """Check a store file, its folder and the disk; the file need not exist yet."""
    from recollect.stores.sqlite.connection import resolve_store_path
    from recollect.stores.sqlite.store_files import file_size, list_store_files

    if target == IN_MEMORY_TARGET:
        yield ok("store", "in memory, discarded on exit")
        return
    try:
        refuse_url(target)
        path = resolve_store_path(target)
    except RecollectError as error:
        yield check_from_error("store", error)
        return
    yield from _check_store(path, settings)
    writable = _check_folder(path)
    yield writable
    if writable.finding is CheckStatus.OK:
        yield _check_write_queue(path.parent)
    yield check_disk(shutil.disk_usage(path.parent).free, sum(map(file_size, list_store_files(path))))


def _check_store(path: Path, settings: Settings) -> Iterator[Check]:
    from recollect.stores.sqlite.store import inspect_store_file

    if not path.exists():
        yield ok("store", f"{path} does not exist yet; the first memory creates it")
        return
    try:
        seen = inspect_store_file(path)
    except RecollectError as error:
        yield check_from_error("store", error)
        return
    yield _check_store_file(path, seen)
    if seen.encoder is not None:
        yield check_model(seen.encoder, settings)
    yield from check_re_embedding(seen.pending_encoders, seen.retired_encoders)


def _check_store_file(path: Path, seen: "StoreFileInfo") -> Check:
    from recollect.stores.sqlite.store_files import file_size

    if seen.read_only and seen.schema < seen.latest_schema:
        remedy = "open it once with an account that can write to it"
        return problem("store", f"{path} is read-only, but must be migrated to schema {seen.latest_schema}", remedy)
    if seen.read_only:
        remedy = "make the file and its folder writable to store memories"
        return warning("store", f"{path} is readable but not writable", remedy)
    if seen.schema == 0:
        return ok("store", f"{path} is empty; the first memory makes it a store")
    older = (
        f", will be migrated to {seen.latest_schema} when it is next opened" if seen.schema < seen.latest_schema else ""
    )
    return ok("store", f"{path}, {format_megabytes(file_size(path))}, schema {seen.schema}{older}")


def _check_folder(path: Path) -> Check:
    """Check that the folder is writable: a problem for a new store, else only a warning."""
    failed = warning if path.exists() else problem
    try:
        with tempfile.TemporaryFile(dir=path.parent):
            return ok("folder", f"{path.parent} is writable")
    except OSError as error:
        seen = f"{path.parent} is not writable ({error.strerror})"
        return failed("folder", seen, "make the folder writable")


def _check_write_queue(folder: Path) -> Check:
    """Check that file locks work in the folder; without them writers get no fair queue."""
    remedy = "keep the store on a local disk if many processes write to it"
    try:
        with tempfile.TemporaryDirectory(prefix=".recollect-", dir=folder) as place:
            path = str(Path(place, "queue"))
            with closing(open_process_lock(path, 0o600)) as first, closing(open_process_lock(path, 0o600)) as second:
                if isinstance(first, NoWriteLock):
                    return warning("line", "this system has no file locks, so writers wait in no order", remedy)
                if not _locks_exclude(first, second):
                    return warning("line", f"file locks in {folder} have no effect", remedy)
    except OSError as error:
        return warning("line", f"files in {folder} cannot be locked ({error.strerror})", remedy)
    return ok("line", "write queue: FIFO")


def _locks_exclude(first: WriteLock, second: WriteLock) -> bool:
    """Return whether the second lock waits while the first is held, and succeeds after its release."""
    waiting = threading.Thread(target=second.acquire, daemon=True)
    first.acquire()
    waiting.start()
    waiting.join(LOCK_WAIT_SECONDS)
    waited = waiting.is_alive()
    first.release()
    waiting.join(LOCK_TIMEOUT_SECONDS)
    return waited and not waiting.is_alive()


def check_disk(free: int, used: int) -> Check:
    """Check that the disk has room for new data and for a full rewrite, which an erasure may need."""
    seen = f"{format_megabytes(free)} are free"
    if free < MIN_DISK_BYTES:
        return problem("disk", seen, "free some space, or move the store")
    if free < max(LOW_DISK_BYTES, used):
        return warning("disk", seen, f"free some space: rebuilding the store takes {format_megabytes(used)}")
    return ok("disk", seen)


origin_option = click.option(
    "--origin", is_flag=True, help="Say where each comes from: the default, a file, a variable, an option."
)


@click.group("config", short_help="Show the settings and where they come from.", invoke_without_command=True)
@origin_option
@options.as_json
@click.pass_context
def config_command(ctx: click.Context, origin: bool, as_json: bool) -> None:
    """Show the settings and where they come from, and check a file of them; alone it shows them."""
    if ctx.invoked_subcommand is None:
        ctx.invoke(show, origin=origin, as_json=as_json)


@config_command.command()
@origin_option
@options.as_json
def show(origin: bool, as_json: bool) -> None:
    """Print every setting as TOML, ready to be kept in a file and changed. Of a key it says whether it is set.

    \b
    recollect config show --origin
    recollect --setting novelty.enabled=true config show
    """
    configuration = config.load_configuration()
    if as_json:
        output.print_json(render_settings_json(configuration, origins=origin))
    else:
        output.print_lines(render_settings_toml(configuration, origins=origin))
    for line in config.find_unknown_variables():
        output.print_note(line)


@config_command.command()
@click.argument("file", type=click.Path(path_type=Path))
@options.as_json
def check(file: Path, as_json: bool) -> None:
    """Check the configuration in FILE by itself, and say what is wrong with it if anything is."""
    configuration = config.load_file_configuration(file)
    if as_json:
        output.print_json(render_settings_json(configuration, origins=True))
    else:
        in_file = sum(isinstance(origin, config.FileOrigin) for origin in configuration.origins.values())
        count = format_count(in_file, "setting")
        click.echo(f"{make_printable(str(file))} is a valid configuration with {count}")
