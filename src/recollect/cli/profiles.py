"""The commands `recollect profiles` and `recollect rank`.

`profiles` lists, shows, checks and tunes rank profiles. `rank` ranks candidates from a file and needs no store.
"""

import re
import tomllib
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO

import click

from recollect import config
from recollect.cli import formatting, options, output
from recollect.cli.tune import tune
from recollect.errors import InvalidInput
from recollect.model.candidate import Candidate
from recollect.packing.pack import why as explain_place
from recollect.ranking import scorer
from recollect.ranking.candidates_json import read_candidates
from recollect.ranking.profile_toml import profile_to_document
from recollect.ranking.profiles import BUILTIN_PROFILES, PROFILE_TEXTS, builtin_profile
from recollect.render import json_values

REPORT_LINE_PATTERN = re.compile(r"^report *=.*\n", re.MULTILINE)


@click.group(invoke_without_command=True)
@click.option("--json", "as_json", is_flag=True, help="Print the list as JSON.")
@click.pass_context
def profiles(ctx: click.Context, as_json: bool) -> None:
    """List, show, check and tune rank profiles; alone it lists them."""
    if ctx.invoked_subcommand is None:
        ctx.invoke(list_profiles, as_json=as_json)


@profiles.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def list_profiles(as_json: bool) -> None:
    """List the built-in profiles."""
    if as_json:
        rows = [{"name": p.name, "version": p.version, "about": p.about} for p in BUILTIN_PROFILES.values()]
        output.print_json(rows)
    else:
        for profile in BUILTIN_PROFILES.values():
            click.echo(formatting.format_profile(profile))


@profiles.command()
@click.argument("name", shell_complete=options.complete_profiles)
@click.option("--json", "as_json", is_flag=True, help="Print JSON, every option spelled out.")
def show(name: str, as_json: bool) -> None:
    """Print the built-in profile NAME as written, ready to copy and change.

    Its report is not named there, for it does not tell of a copy that was changed.
    """
    profile = builtin_profile(name)
    if as_json:
        output.print_json({"name": profile.name, **profile_to_document(profile)})
    else:
        click.echo(REPORT_LINE_PATTERN.sub("", PROFILE_TEXTS[name]), nl=False)


@profiles.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print JSON, every option spelled out.")
def check(file: Path, as_json: bool) -> None:
    """Check the profile in FILE, and say what is wrong with it if anything is.

    Numbers that differ from those of its report are wrong, and so are other numbers under a built-in profile's name.
    """
    profile = config.load_checked_profile_file(file)
    if as_json:
        output.print_json({"name": profile.name, **profile_to_document(profile)})
    else:
        measured = "" if profile.report is None else f", as {profile.report} tells of it"
        click.echo(f"{profile.name} {profile.version} is a sound profile{measured}")


profiles.add_command(tune)


@click.command(short_help="Rank candidates from a file or a pipe.")
@click.argument("file", type=click.File("rb"), default="-")
@options.profile("default")
@options.moment("--at", "The moment to rank for, as 2026-10-01 (0:00 UTC) or 2026-10-01T09:30Z; else the present.")
@click.option("--set", "changes", metavar="KEY=VALUE", multiple=True, help="Override a key; may be repeated.")
@click.option("--limit", type=click.IntRange(min=1), help="Keep the best so many.")
@click.option("--why", metavar="ID", help="Say where this candidate stands or fell, and what would change it.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON with full precision.")
def rank(
    file: BinaryIO,
    profile: str,
    at: datetime | None,
    changes: tuple[str, ...],
    limit: int | None,
    why: str | None,
    as_json: bool,
) -> None:
    """Rank candidates, one JSON object a line, from FILE or standard input.

    A candidate has an `id` and any of: similarity (-1..1), lexical, relevance, addressed, setting, linked,
    importance, usefulness, confidence, salience (0..1), served, revisions, words (counts), days_off, created_at,
    updated_at, last_accessed_at, valid_from (dates with an offset), kind, session, speaker, link, vector, and to
    be shown: text (with created_at), title, pinned. What is unknown is left out.

    \b
    echo '{"id": "a", "similarity": 0.7, "created_at": "2025-12-01T00:00:00Z"}' | recollect rank
    recollect rank notes.jsonl --set terms.thread.half=20 --set min_score=0.2
    """
    chosen = config.load_configured_profile(config.load_settings(), profile, _parse_overrides(changes))
    moment = datetime.now(UTC) if at is None else at
    candidates = _read_candidates(file)
    if why is None:
        ranking = scorer.rank(candidates, chosen, moment, limit=limit)
        _print_lines_or_json(
            json_values.ranking_fields(ranking)
            if as_json
            else formatting.format_ranking(ranking, width=output.terminal_width())
        )
    else:
        reason = explain_place(why, candidates, chosen, moment, limit=limit)
        _print_lines_or_json(json_values.why_fields(reason) if as_json else formatting.format_why(reason))


def _read_candidates(file: BinaryIO) -> list[Candidate]:
    """Read the candidates of a file; a user at a terminal is told to type them."""
    if file.isatty():
        click.echo("reading candidates, one JSON object a line; Ctrl-D ends them", err=True)
    try:
        return read_candidates(file)
    except OSError as error:
        raise InvalidInput(f"the candidates cannot be read: {error.strerror}") from error


def _parse_overrides(changes: Iterable[str]) -> dict[str, Any]:
    """Parse `terms.thread.half=20` into nested tables; a value is TOML, or else text."""
    overrides: dict[str, Any] = {}
    for change in changes:
        path, separator, value = change.partition("=")
        if not separator or not path:
            raise InvalidInput(f"--set {change!r} has no KEY=VALUE, such as terms.thread.half=20")
        *tables, key = path.split(".")
        table = overrides
        for name in tables:
            table = table.setdefault(name, {})
            if not isinstance(table, dict):
                raise InvalidInput(f"--set {change!r} goes into {name!r}, which another --set gave a value")
        table[key] = _parse_value(value)
    return overrides


def _parse_value(written: str) -> object:
    try:
        document = tomllib.loads(f"value = {written}")
    except (ValueError, RecursionError):
        return written or None
    return document["value"] if len(document) == 1 else written


def _print_lines_or_json(shown: dict[str, Any] | Iterable[str]) -> None:
    if isinstance(shown, dict):
        output.print_json(shown)
    else:
        output.print_lines(shown)
