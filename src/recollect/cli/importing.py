"""recollect import --format: what others exported goes to the engine, batch by batch, and what came of it is told."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from itertools import islice
from typing import Any

import click
from click.shell_completion import CompletionItem

from recollect.admission.policy import SecretsPolicy
from recollect.admission.screening import clean
from recollect.cli.bars import Tell, bar
from recollect.cli.place import Place
from recollect.engine import archive
from recollect.engine.engine import Engine
from recollect.errors import Conflict, FieldError, InvalidInput, NotFound, remedy, show
from recollect.importers.formats import FORMATS, recognised
from recollect.importers.reading import Format, Notes, Reading
from recollect.model.draft import Draft
from recollect.model.scope import Scope
from recollect.model.verdict import Receipt
from recollect.model.wording import counted, printable

BATCH = 64
"""How many are embedded and written at a time; each batch is written whole or not at all."""

THERE = "there already"

_REDACTED = partial(clean, policy=SecretsPolicy())
"""Ids are to be the same however a store is configured, so what is secret is left out of them always."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A file of somebody else's: its lines, to be read as often as needed, what it is called, and how it is read."""

    lines: Iterable[str]
    name: str | None
    format: Format
    scope: Scope
    skip_bad: bool

    def read(self, now: datetime) -> Reading:
        """What is in it, from the first line on."""
        return self.format.read(
            self.lines, self.scope, source=self.name, now=now, redacted=_REDACTED, skip_bad=self.skip_bad
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """What was in a file, and what became of it: how many by verdict, or none if nothing was to be written."""

    format: str
    read: int
    notes: Notes
    verdicts: Mapping[str, int] = field(default_factory=dict[str, int])
    dry: bool = False


def take_in(place: Place, source: Source, *, dry: bool) -> Taken:
    """Read all of the file first, so that what is refused writes nothing and makes no store; then remember it."""
    now = datetime.now(UTC)
    looked = source.read(now)
    total = len(drafts(looked, source))
    if dry or not total:
        return Taken(format=source.format.name, read=total, notes=looked.notes, dry=dry)
    with place.made() as engine, bar("importing") as show:
        verdicts = _remembered(engine, source.read(now), total, show)
    return Taken(format=source.format.name, read=total, notes=looked.notes, verdicts=verdicts)


def refuse_foreign(lines: Iterable[str]) -> None:
    """Say which format a file looks to be of that is no export of ours; what looks like nothing is let through."""
    found = None if _is_ours(lines) else recognised(lines)
    if found is not None:
        said = f"it looks like {found.name}, so give --format {found.name} and --scope"
        raise FieldError(f"this is no export of recollect; {said}", line=1)


def a_format(name: str) -> Format:
    """The format of that name; refused with the nearest known one."""
    if name not in FORMATS:
        raise FieldError(f"no format is called {show(name)}; {remedy(name, FORMATS)}", field="--format")
    return FORMATS[name]


def format_names(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """What a shell offers for the name of a format."""
    return [CompletionItem(one.name, help=one.about) for one in FORMATS.values() if one.name.startswith(incomplete)]


def told(taken: Taken) -> Iterator[str]:
    """What came of a file, for people."""
    became = ", ".join(f"{count} {verdict}" for verdict, count in taken.verdicts.items())
    ended = "nothing was written" if taken.dry or not became else became
    yield f"read {counted(taken.read, 'memory', 'memories')} of the format {taken.format}: {ended}"
    for reason, count in taken.notes.skipped.items():
        yield f"skipped  {count}: {reason}"
    for reason, count in taken.notes.assumed.items():
        yield f"assumed  {count}: {reason}"
    if taken.notes.bad:
        yield f"left out {taken.notes.bad}: cannot be read"
    for problem in taken.notes.told:
        yield f"  {printable(str(problem))}"
    more = taken.notes.bad - len(taken.notes.told)
    if more:
        yield f"  and {more} more"


def data(taken: Taken) -> dict[str, Any]:
    """What came of a file, as JSON has it."""
    return {
        "format": taken.format,
        "dry_run": taken.dry,
        "read": taken.read,
        "verdicts": dict(taken.verdicts),
        "skipped": dict(taken.notes.skipped),
        "assumed": dict(taken.notes.assumed),
        "bad": taken.notes.bad,
        "problems": [str(problem) for problem in taken.notes.told],
    }


def drafts(reading: Reading, source: Source) -> list[Draft]:
    """What there is; refused with the remedy if one cannot be."""
    if _is_ours(source.lines):
        raise InvalidInput("this is an export of recollect; `import` takes it: leave --format and --scope out")
    try:
        return list(reading)
    except FieldError as error:
        raise InvalidInput(f"{error}; nothing was imported, and --skip-bad leaves such things out") from error


def _is_ours(lines: Iterable[str]) -> bool:
    try:
        first = archive.parsed(next(iter(lines), ""), 1)
    except FieldError:
        return False
    return bool(first.get("format") == archive.FORMAT)


def _remembered(engine: Engine, drafts: Iterator[Draft], total: int, show: Tell) -> dict[str, int]:
    """How many got which verdict; those that are there already are asked for first, and need no embedder."""
    verdicts: Counter[str] = Counter()
    done = 0
    while batch := list(islice(drafts, BATCH)):
        receipts = _written(engine, batch)
        verdicts.update(type(one.verdict).__name__.lower() for one in receipts)
        verdicts[THERE] += len(batch) - len(receipts)
        done += len(batch)
        show(done, total)
    unchanged = verdicts.pop("unchanged", 0) + verdicts.pop(THERE)
    return {**verdicts, THERE: unchanged}


def _written(engine: Engine, drafts: list[Draft]) -> list[Receipt]:
    """The receipts of those that were not there; somebody who imports the same meanwhile is no harm."""
    new = [draft for draft in drafts if not _is_there(engine, draft)]
    try:
        return engine.remember_all(new)
    except Conflict:
        if len([draft for draft in new if not _is_there(engine, draft)]) == len(new):
            raise
    return _written(engine, new)


def _is_there(engine: Engine, draft: Draft) -> bool:
    """Whether it was imported before, whatever became of it since: revised, superseded or forgotten."""
    try:
        engine.get(str(draft.id), scope=draft.scope)
    except NotFound:
        return False
    return True
