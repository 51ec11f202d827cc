"""Import files from other programs, or report what an import would do."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from typing import Any, TypeVar, cast

from recollect.admission.policy import SecretsPolicy
from recollect.admission.screening import redact_text
from recollect.engine import archive_format
from recollect.engine.dependencies import Dependencies
from recollect.engine.remember import remember_all
from recollect.errors import Conflict, FieldError, InvalidInput, show, suggest
from recollect.importers import FORMATS, recognize_format
from recollect.importers.base import DraftStream, ImportFormat, ImportNotes, RecordLocation
from recollect.model import validation
from recollect.model.draft import Created, Draft, Receipt, Reinforced, Unchanged, Unindexed
from recollect.model.memory import MemoryId
from recollect.model.scope import Scope
from recollect.protocols import ProgressListener, Store, WriteTransaction

T = TypeVar("T")

BATCH_DRAFTS = 64
"""How many drafts are embedded and written at a time; a batch is all or nothing."""

ALREADY_THERE = "there already"

_REDACT_SECRETS = partial(redact_text, policy=SecretsPolicy())
"""Removes secrets before ids are computed, so that ids are the same under all settings."""

_COUNTED_VERDICTS = (Created, Reinforced, Unchanged, Unindexed)
"""Verdicts that are only counted, since they neither affect another memory nor refuse the draft."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportSource:
    """A file to import: its lines, which can be read repeatedly, its name and its format."""

    lines: Iterable[str]
    name: str | None
    format: ImportFormat
    scope: Scope
    skip_bad: bool

    def read(self, now: datetime) -> DraftStream:
        """Read the drafts in the file, from the first line on."""
        return self.format.read(
            self.lines, self.scope, source=self.name, now=now, redacted=_REDACT_SECRETS, skip_bad=self.skip_bad
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class FileImportReport:
    """What a file contained, and what became of it, or would with a dry run.

    `verdicts` counts receipts by verdict. `telling` has the receipts that ended, restored, quarantined or refused a
    memory, each with the draft's id. `spots` says where these drafts are in the file, and `redacted` counts removed
    parts by kind.
    """

    format: str
    read: int
    notes: ImportNotes
    verdicts: Mapping[str, int]
    telling: tuple[tuple[MemoryId | None, Receipt], ...] = ()
    spots: Mapping[MemoryId, RecordLocation] = field(default_factory=dict[MemoryId, RecordLocation])
    redacted: Mapping[str, int] = field(default_factory=dict[str, int])
    dry: bool = False


def import_from(deps: Dependencies, source: ImportSource, *, dry: bool, progress: ProgressListener) -> FileImportReport:
    """Read the whole file, then store its drafts; a dry run stores nothing.

    Since the file is read first, an invalid one writes nothing.
    """
    stream = source.read(deps.now())
    drafts = read_drafts(stream, source)
    verdicts: Counter[str] = Counter()
    redacted: Counter[str] = Counter()
    notable: list[tuple[MemoryId | None, Receipt]] = []
    size = max(len(drafts), 1) if dry else BATCH_DRAFTS  # a dry run must fit in one transaction
    for start in range(0, len(drafts), size):
        batch = drafts[start : start + size]
        results = _dry_run(deps, batch) if dry else _write_drafts(deps, batch)
        verdicts.update(type(one.verdict).__name__.lower() for _, one in results)
        verdicts[ALREADY_THERE] += len(batch) - len(results)
        redacted.update(kind for _, one in results for kind in one.redacted)
        notable += [(draft.id, one) for draft, one in results if not isinstance(one.verdict, _COUNTED_VERDICTS)]
        progress(start + len(batch), len(drafts))
    known = verdicts.pop("unchanged", 0) + verdicts.pop(ALREADY_THERE, 0)
    counts = {**verdicts, ALREADY_THERE: known} if drafts else {}
    return FileImportReport(
        format=source.format.name,
        read=len(drafts),
        notes=stream.notes,
        verdicts=counts,
        telling=tuple(notable),
        spots={id: stream.spots[id] for id, _ in notable if id is not None and id in stream.spots},
        redacted=dict(redacted),
        dry=dry,
    )


def read_drafts(stream: DraftStream, source: ImportSource) -> list[Draft]:
    """Return all drafts of a file; raise InvalidInput if one is invalid or all were skipped."""
    if _is_recollect_export(source.lines):
        raise InvalidInput(
            "this is an export of recollect; import it without --format and --scope (in Python with `import_`)"
        )
    expected = "" if source.format.expected is None else f"; {source.format.expected}"
    try:
        drafts = list(stream)
    except FieldError as error:
        remedy = "nothing was imported; use --skip-bad (in Python skip_bad=True) to skip bad records"
        raise InvalidInput(f"{error}{expected}; {remedy}") from error
    if stream.notes.bad_count and not (drafts or stream.notes.skipped):
        first = stream.notes.errors[0]
        raise InvalidInput(f"no record can be read, {stream.notes.bad_count} skipped; the first: {first}{expected}")
    return drafts


def refuse_foreign_format(lines: Iterable[str]) -> None:
    """Raise FieldError if the lines look like another program's export, naming the format."""
    recognized = None if _is_recollect_export(lines) else recognize_format(lines)
    if recognized is not None:
        hint = f"it looks like {recognized.name}, so give --format {recognized.name} and --scope"
        raise FieldError(f"this is not an export of recollect; {hint}", line=1)


def find_format(field: str, name: str) -> ImportFormat:
    """Return the format with this name; raise FieldError with a suggestion if it is unknown."""
    if validation.require_text(field, name) not in FORMATS:
        raise FieldError(f"unknown format {show(name)}; {suggest(name, FORMATS)}", field=field)
    return FORMATS[name]


def _is_recollect_export(lines: Iterable[str]) -> bool:
    try:
        first = archive_format.parse_line(next(iter(lines), ""), 1)
    except FieldError:
        return False
    return bool(first.get("format") == archive_format.FORMAT_NAME)


def _write_drafts(deps: Dependencies, drafts: Sequence[Draft]) -> list[tuple[Draft, Receipt]]:
    """Store the drafts that are new and return their receipts; repeat that if another import was faster."""
    new = _filter_new(deps, drafts)
    try:
        return list(zip(new, remember_all(deps, new), strict=True))
    except Conflict:
        if len(_filter_new(deps, new)) == len(new):
            raise
    return _write_drafts(deps, new)


def _dry_run(deps: Dependencies, drafts: Sequence[Draft]) -> list[tuple[Draft, Receipt]]:
    """Return the receipts that a write would give; write nothing."""
    new = _filter_new(deps, drafts)
    trial = replace(deps, store=cast("Store", _DryRunStore(deps.store)))
    return list(zip(new, remember_all(trial, new), strict=True))


def _filter_new(deps: Dependencies, drafts: Sequence[Draft]) -> list[Draft]:
    """Return the drafts that were never imported, even if revised or forgotten since."""
    return [one for one in drafts if one.id is None or not deps.store.get(one.scope, [one.id])]


class _RolledBack(Exception):
    """Raised to roll back a dry run."""


class _DryRunStore:
    """A store whose writes are tried and then rolled back."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def write(self, change: Callable[[WriteTransaction], T]) -> T:
        results: list[T] = []

        def try_import(writing: WriteTransaction) -> None:
            results.append(change(writing))
            raise _RolledBack

        with suppress(_RolledBack):
            self._store.write(try_import)
        return results[-1]
