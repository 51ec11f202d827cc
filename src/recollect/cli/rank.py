"""recollect rank: candidates in, ranking out; no store."""

import tomllib
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any, BinaryIO

import click

from recollect import config
from recollect.cli import options, output
from recollect.errors import InvalidInput
from recollect.model.candidate import Candidate
from recollect.packing.why import why as explain_place
from recollect.ranking import ranker
from recollect.ranking.candidates_json import read_candidates
from recollect.render import json_values, text


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
        ranking = ranker.rank(candidates, chosen, moment, limit=limit)
        _print_lines_or_json(
            json_values.ranking_fields(ranking)
            if as_json
            else text.format_ranking(ranking, width=output.terminal_width())
        )
    else:
        reason = explain_place(why, candidates, chosen, moment, limit=limit)
        _print_lines_or_json(json_values.why_fields(reason) if as_json else text.format_why(reason))


def _read_candidates(file: BinaryIO) -> list[Candidate]:
    """The candidates of the file; someone at a terminal is told that we wait for them."""
    if file.isatty():
        click.echo("reading candidates, one JSON object a line; Ctrl-D ends them", err=True)
    try:
        return read_candidates(file)
    except OSError as error:
        raise InvalidInput(f"the candidates cannot be read: {error.strerror}") from error


def _parse_overrides(changes: Iterable[str]) -> dict[str, Any]:
    """`terms.thread.half=20` → the same as nested tables; a value is TOML, or else a text."""
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
