"""Commands that check an installation: `recollect doctor` and `recollect config`.

`diagnose` runs all checks, from Python up to the store. The checks themselves are in `doctor_checks` and
`doctor_sqlite`.
"""

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import click

from recollect import config
from recollect import config as configured
from recollect.cli import doctor_checks, options, output
from recollect.cli.doctor_checks import Check, CheckStatus, check_from_error, ok, problem
from recollect.cli.options import StoreTarget, pass_target
from recollect.config import Settings
from recollect.config.loader import render_settings_json, render_settings_toml
from recollect.errors import RecollectError
from recollect.factory import is_database
from recollect.model.format import format_count, make_printable
from recollect.render.tables import Paint, TextStyle, paint_plain

EXIT_PROBLEM = 1
"""The exit code if any check found a problem."""


@click.command(short_help="Check the installation, and name the fix.")
@options.as_json
@click.pass_context
@pass_target
def doctor(place: StoreTarget, ctx: click.Context, as_json: bool) -> None:
    """Check Python, the embedders, what serves agents and its keys, the store, and SQLite and its folder or the
    database it is in, and name the fix of whatever is not well.

    It makes no store and uses no network, but for a database. The exit code is 1 if anything is a problem.
    """
    checks = diagnose(place.target)
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
    chosen, configured = _check_settings(settings)
    checks = [doctor_checks.check_recollect(), doctor_checks.check_python(sys.version_info[:3]), configured]
    if is_database(target):
        return [
            *checks,
            *_check_embedders(chosen),
            *doctor_checks.check_serving(chosen),
            *doctor_checks.check_database(os.fspath(target), chosen),
        ]
    try:
        from recollect.cli import doctor_sqlite
    except ImportError as error:
        return [*checks, problem("sqlite", f"apsw cannot be loaded ({error})", "run pip install apsw")]
    return [
        *checks,
        doctor_sqlite.check_sqlite(),
        *_check_embedders(chosen),
        *doctor_checks.check_serving(chosen),
        *doctor_sqlite.check_file_store(os.fspath(target), chosen),
    ]


def _check_embedders(settings: Settings) -> list[Check]:
    return [
        *doctor_checks.check_embedders(),
        doctor_checks.check_embedding(settings),
        doctor_checks.check_model_cache(),
    ]


def _check_settings(given: Settings | Mapping[str, Any] | None) -> tuple[Settings, Check]:
    """Return the settings, or the defaults if they are invalid; no secret is shown."""
    from recollect.providers.http_client import redact_url

    try:
        chosen = config.load_settings(given)
    except RecollectError as error:
        return Settings(), check_from_error("settings", error)
    named = "the store's embedder, or the best installed" if chosen.embedder is None else redact_url(chosen.embedder)
    return chosen, ok("settings", f"embedder: {named}")


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
    found = configured.load_configuration()
    if as_json:
        output.print_json(render_settings_json(found, origins=origin))
    else:
        output.print_lines(render_settings_toml(found, origins=origin))
    for line in configured.find_unknown_variables():
        output.print_note(line)


@config_command.command()
@click.argument("file", type=click.Path(path_type=Path))
@options.as_json
def check(file: Path, as_json: bool) -> None:
    """Check the configuration in FILE by itself, and say what is wrong with it if anything is."""
    found = configured.load_file_configuration(file)
    if as_json:
        output.print_json(render_settings_json(found, origins=True))
    else:
        said = sum(1 for origin in found.origins.values() if isinstance(origin, configured.FileOrigin))
        count = "1 setting" if said == 1 else f"{said} settings"
        click.echo(f"{make_printable(str(file))} is a sound configuration with {count}")
