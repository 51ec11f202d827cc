"""Export and import a store as lines of text, and move a whole store to another one.

A moved store is compared item by item before it is used.
"""

import hashlib
import tempfile
from collections.abc import Callable, Container, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from datetime import datetime, timedelta
from hashlib import sha256
from itertools import chain, islice, pairwise
from typing import IO, AnyStr, TypeVar

from recollect.admission import supersession
from recollect.admission.decision import (
    Admit,
    InsertBefore,
    Quarantine,
    SubjectPosition,
    Supersede,
    decide_within_subject,
    effective_from,
    observed_at,
)
from recollect.admission.policy import AdmissionPolicy, SecretsPolicy
from recollect.engine import archive_format
from recollect.engine.archive_format import encode_item
from recollect.engine.dependencies import Dependencies
from recollect.errors import Conflict, FieldError, InvalidInput, StoreError, show
from recollect.model import changeset, validation
from recollect.model.archive import (
    ArchivedMemory,
    ArchiveInfo,
    ArchiveItem,
    ImportReport,
    MoveReport,
    strip_store_fields,
)
from recollect.model.context import ContextRecord
from recollect.model.encoder import Encoder
from recollect.model.enums import Status
from recollect.model.format import describe_future, format_count
from recollect.model.memory import Memory, MemoryId
from recollect.model.scope import Scope
from recollect.model.validation import copy_with
from recollect.protocols import ProgressListener, Store, StoreImport, WriteTransaction
from recollect.text.updates.parsed_memories import ParsedMemories

T = TypeVar("T")

OpenLines = Callable[[], Iterator[str]]
"""Returns the lines from the start, at each call; one reading must end before the next begins."""

EMBED_BATCH_TEXTS = 64
"""How many texts are embedded at a time."""


def export(deps: Dependencies, scope: Scope | None) -> Iterator[str]:
    """Yield the lines of an export; the last line has a checksum of all lines before it.

    The checksum reveals a file that was cut or changed.
    """
    deps.store.settle()
    inventory, items = deps.store.export(scope)
    sum, count = hashlib.sha256(), 0
    for line in chain([archive_format.encode_header(inventory)], map(_encode_bounded, items)):
        sum.update(line.encode("ascii"))
        count += 1
        yield line
    yield archive_format.encode_line({"lines": count, "sha256": sum.hexdigest()})


def _encode_bounded(item: ArchiveItem) -> str:
    """Encode an item; raise StoreError if the line is too long to be imported again."""
    line = archive_format.encode_item(item)
    if len(line) > validation.MAX_EXPORT_LINE_CHARS:
        id = item.id if isinstance(item, ContextRecord) else item.current.id
        limit = f"an export line has at most {validation.MAX_EXPORT_LINE_CHARS}"
        raise StoreError(f"{show(id)} needs {len(line)} characters, but {limit}; use `backup`, which has no such limit")
    return line


def import_(deps: Dependencies, lines: Iterable[str], progress: ProgressListener) -> ImportReport:
    """Import an export, all of it or nothing; an incomplete or changed one is refused first.

    Imported memories are compared with those of the scope: only one memory of a subject is valid at a time, and one
    that contradicts a memory with higher trust is quarantined. A store that was never written to becomes an exact copy.
    The lines are read several times; if they can be read only once, they are buffered in a temporary file.
    """
    if isinstance(lines, str):
        raise InvalidInput("the export is a single text; pass its lines, such as an open file")
    now = deps.now()
    with ExitStack() as stack:
        open_lines = stack.enter_context(_make_rereadable(lines))
        known: set[MemoryId] = set()
        lacking_vector: set[MemoryId] = set()
        is_empty = deps.store.encoder() is None  # the store is empty

        def note(item: ArchiveItem) -> None:
            if isinstance(item, ArchivedMemory) and item.places_without_vector:
                lacking_vector.add(item.current.id)
            if not is_empty:
                _note_if_known(deps, item, known)

        inventory, checksum = _check_lines(open_lines(), now, note, deps.policy.secrets)
        encoder = deps.encoder
        has_other_model = inventory.encoder is not None and inventory.encoder != encoder

        def items() -> Iterator[ArchiveItem]:
            """Read all items again, without known ones and without vectors of another model."""
            screened = archive_format.screen_items(_read_checked(open_lines(), now, checksum), deps.policy.secrets)
            new = (one for one in screened if isinstance(one, ContextRecord) or one.current.id not in known)
            return map(_without_vectors, new) if has_other_model else new

        vectors = stack.enter_context(_embed_missing(deps, items())) if has_other_model or lacking_vector else None

        adopted_encoder = None if inventory.encoder is None else encoder

        def change(writing: WriteTransaction) -> ImportReport:
            archived = items() if vectors is None else _with_vectors(items(), vectors, encoder)
            reported = _report_each(archived, inventory.memories + inventory.contexts, progress)
            return _load_items(writing, reported, adopted_encoder, deps.policy, now)

        imported = deps.store.write(change)
    skipped = imported.skipped + len(known)
    return replace(imported, skipped=skipped, re_embedded=inventory.encoder if has_other_model else None)


def _note_if_known(deps: Dependencies, item: ArchiveItem, known: set[MemoryId]) -> None:
    """Add the memory to `known` if the store has its archived versions, and only its status changed since."""
    if isinstance(item, ContextRecord):
        return
    stored = strip_store_fields(deps.store.history(item.current.scope, item.current.id))
    archived = strip_store_fields([memory for memory, _ in item.versions])
    later = stored[len(archived) :]
    same = stored[: len(archived)] == archived
    if later and same and all(_differs_in_status_only(one, archived[-1]) for one in later):
        known.add(item.current.id)


def _differs_in_status_only(memory: Memory, former: Memory) -> bool:
    """Return whether two versions differ in nothing but the status fields."""
    return copy_with(memory, **{name: getattr(former, name) for name in _STATUS_FIELDS}) == former


_STATUS_FIELDS = ("status", "superseded_by", "valid_until", "remark", "importance")
"""The fields of a memory that change when other memories are written."""


def _load_items(
    writing: WriteTransaction,
    items: Iterable[ArchiveItem],
    encoder: Encoder | None,
    policy: AdmissionPolicy,
    now: datetime,
) -> ImportReport:
    """Load the items; then place each new memory among the stored memories of its subject."""
    new: dict[MemoryId, Memory] = {}
    imported = writing.load(_note_exclusive(writing, items, new, policy), encoder)
    for one in sorted(new.values(), key=lambda one: (effective_from(one), one.id)):
        _place_imported(writing, one, new, policy, max(now, observed_at(one)))
    return imported


def _note_exclusive(
    writing: WriteTransaction, items: Iterable[ArchiveItem], new: dict[MemoryId, Memory], policy: AdmissionPolicy
) -> Iterator[ArchiveItem]:
    """Yield the items, and note new memories that are exclusive for their subject."""
    for item in items:
        if isinstance(item, ArchivedMemory):
            current = item.current
            is_exclusive_now = current.status is Status.ACTIVE and supersession.is_exclusive(current, policy)
            if is_exclusive_now and writing.get(current.scope, current.id) is None:
                new[current.id] = current
        yield item


def _place_imported(
    writing: WriteTransaction, memory: Memory, new: Container[MemoryId], policy: AdmissionPolicy, now: datetime
) -> None:
    """Decide about an imported memory by the memories of its subject that the scope had before."""
    query = changeset.NeighborQuery(scope=memory.scope, subject=memory.subject, since=effective_from(memory))
    same_subject = writing.neighbors(query).same_subject.get(memory.subject or "", ())
    match decide_within_subject(memory, [one for one in same_subject if one.id not in new], policy, ParsedMemories()):
        case Quarantine(reason, _):
            writing.put(memory.with_changes(status=Status.QUARANTINED, remark=reason), None)
        case Supersede(old):
            _put_in_place(writing, memory, SubjectPosition(old), now)
        case InsertBefore(newer, old):
            _put_in_place(writing, memory, SubjectPosition(old, newer), now)
        case Admit():
            pass


def _put_in_place(writing: WriteTransaction, memory: Memory, position: SubjectPosition, now: datetime) -> None:
    """Write the memory in its place among those of its subject, and those that it ends."""
    state, ended = supersession.place_in_subject(memory, position, now)
    for one in (*ended, state):
        writing.put(one)


def check_export(lines: Iterable[str], now: datetime) -> ArchiveInfo:
    """Check every line of an export, and return its inventory; raise if anything is wrong."""
    return _check_lines(lines, now)[0]


def _check_lines(
    lines: Iterable[str],
    now: datetime,
    note: Callable[[ArchiveItem], object] | None = None,
    secrets: SecretsPolicy | None = None,
) -> tuple[ArchiveInfo, str]:
    """Return the inventory and checksum of an export; call `note` with each screened item."""
    reader = _ExportReader(lines, now)
    for item in reader.items() if secrets is None else archive_format.screen_items(reader.items(), secrets):
        if note is not None:
            note(item)
    return reader.inventory, reader.checksum


def _read_checked(lines: Iterable[str], now: datetime, checksum: str) -> Iterator[ArchiveItem]:
    """Yield the items of a checked export; raise at the end if it changed since."""
    reader = _ExportReader(lines, now)
    yield from reader.items()
    if reader.checksum != checksum:
        raise InvalidInput("the export changed while it was read; import it when nothing writes to it")


class _ExportReader:
    """Reads an export once: its inventory, its items, and its checksum at the end."""

    def __init__(self, lines: Iterable[str], now: datetime) -> None:
        self._numbered = enumerate((line.rstrip("\r\n") for line in read_texts(lines)), start=1)
        _, first = next(self._numbered, (1, ""))
        self.inventory = archive_format.read_header(first)
        self._sum = hashlib.sha256(f"{first}\n".encode())
        self._now = now

    @property
    def checksum(self) -> str:
        """The checksum of the lines read so far, without the last one."""
        return self._sum.hexdigest()

    def items(self) -> Iterator[ArchiveItem]:
        """Yield each memory and context; raise with the line number if one is invalid.

        Raises at the end if items are missing, or if the checksum is wrong.
        """
        checker = _ExportChecker(self.inventory, self._now)
        for number, text in self._numbered:
            value = archive_format.parse_line(text, number)
            if "sha256" in value:
                _refuse_changed(archive_format.read_end(value, number), self.checksum, next(self._numbered, None))
                checker.refuse_incomplete(number)
                return
            item = archive_format.read_item(value, number, checker.dimensions)
            checker.add(item, number)
            self._sum.update(f"{text}\n".encode())
            yield item
        raise InvalidInput("the export was cut: its last line is missing; export it again")


def read_lines(read: Callable[[int], AnyStr]) -> Iterator[AnyStr]:
    """Yield the lines that a file's `readline` returns; refuse a line that does not end."""
    return _limit_line_length(iter(lambda: read(validation.MAX_EXPORT_LINE_CHARS + 1) or None, None))


def _limit_line_length(lines: Iterable[T]) -> Iterator[T]:
    """Yield the lines; raise InvalidInput if one is longer than an export's may be."""
    for number, line in enumerate(lines, start=1):
        if isinstance(line, str | bytes) and len(line) > validation.MAX_EXPORT_LINE_CHARS:
            limit = f"at most {validation.MAX_EXPORT_LINE_CHARS} characters"
            raise InvalidInput(f"line {number}: too long for a line of an export ({limit}); check the file")
        yield line


def read_texts(lines: Iterable[str]) -> Iterator[str]:
    """Yield the lines; raise InvalidInput if one is not valid text or too long."""
    read = getattr(lines, "readline", None)
    for number, line in enumerate(_limit_line_length(lines) if read is None else read_lines(read), start=1):
        if not isinstance(line, str):
            raise InvalidInput(f"line {number}: {show(line)} is not text; open the export in text mode")
        if not line.isascii():
            _refuse_lone_surrogate(line, number)
        yield line


def _refuse_lone_surrogate(line: str, number: int) -> None:
    try:
        validation.require_clean_text("line", line)
    except FieldError as error:
        raise InvalidInput(f"line {number}: {error.problem}") from error


def _refuse_changed(stated: object, computed: str, next_line: object) -> None:
    if stated != computed:
        raise InvalidInput(f"the export was changed or cut: its checksum is {computed[:12]}…, not {show(stated)}")
    if next_line is not None:
        raise InvalidInput("the export has lines after its last one; give one export at a time")


class _ExportChecker:
    """Collects the items of an export, for checks across lines."""

    def __init__(self, inventory: ArchiveInfo, now: datetime) -> None:
        self.dimensions = 0 if inventory.encoder is None else inventory.encoder.dimensions
        self._inventory = inventory
        self._now = now
        self._memories: set[tuple[str, str]] = set()
        self._contexts: set[tuple[str, str]] = set()
        self._commits: dict[int, datetime] = {}

    def add(self, item: ArchiveItem, number: int) -> None:
        """Add an item; raise FieldError if it contradicts the ones before."""
        seen, record = (self._contexts, item) if isinstance(item, ContextRecord) else (self._memories, item.current)
        key = record.scope.parts[0], record.id  # ids, like commits, may be unique per root scope only
        if key in seen:
            raise FieldError(f"{show(record.id)} occurs twice", field="id", line=number)
        seen.add(key)
        exported = self._inventory.scope
        if exported is not None and not record.scope.within(exported):
            raise FieldError(f"{record.scope} is outside of the exported scope {exported}", field="scope", line=number)
        for field, moment in item.moments:
            latest = self._now + validation.MAX_CLOCK_LEAD if field == "recorded_at" else self._now
            if moment > latest:
                raise FieldError(describe_future(moment, self._now), field=field, line=number)
        if isinstance(item, ArchivedMemory):
            for commit, recorded_at in item.commit_times:
                if self._commits.setdefault(commit, recorded_at) != recorded_at:
                    raise FieldError(f"{commit} has two different times", field="commit", line=number)

    def refuse_incomplete(self, number: int) -> None:
        counts = (self._inventory.memories, self._inventory.contexts)
        if counts != (len(self._memories), len(self._contexts)):
            memories = format_count(len(self._memories), "memory", "memories")
            found = f"{memories} and {format_count(len(self._contexts), 'context')}"
            announced = f"its first line announces {counts[0]} and {counts[1]}"
            raise FieldError(f"the export has {found}, but {announced}", line=number)
        moments = [self._commits[commit] for commit in sorted(self._commits)]
        if any(timedelta(0) < before - after <= validation.MAX_CLOCK_LEAD for before, after in pairwise(moments)):
            raise FieldError("the commits of this export are not in the order of their times", line=number)


def _report_each(items: Iterable[T], total: int, progress: ProgressListener) -> Iterator[T]:
    """Yield the items, and report progress for each."""
    for done, item in enumerate(items):
        progress(done, total)
        yield item
    progress(total, total)


@contextmanager
def _make_rereadable(lines: Iterable[str]) -> Iterator[OpenLines]:
    """Yield a function that returns the lines from the start; lines that run out are buffered."""
    if iter(lines) is not lines:
        yield lambda: read_texts(lines)
        return
    with tempfile.TemporaryFile("w+", encoding="utf-8", newline="\n") as file:
        file.writelines(line if line.endswith("\n") else f"{line}\n" for line in read_texts(lines))

        def rewind() -> Iterator[str]:
            file.seek(0)
            return iter(file.readline, "")

        yield rewind


def _without_vectors(item: ArchiveItem) -> ArchiveItem:
    """Return the item without its vectors, which come from another model."""
    if isinstance(item, ContextRecord):
        return item
    return replace(item, contents=tuple(replace(one, vector=None) for one in item.contents))


@contextmanager
def _embed_missing(deps: Dependencies, items: Iterable[ArchiveItem]) -> Iterator[IO[bytes]]:
    """Embed the contents that lack a vector, and yield a file of the vectors in order."""
    texts = (
        text
        for item in items
        if isinstance(item, ArchivedMemory)
        for text in map(item.embedded_texts.__getitem__, item.places_without_vector)
    )
    with tempfile.TemporaryFile() as file:
        while batch := list(islice(texts, EMBED_BATCH_TEXTS)):
            file.write(deps.embed(batch, "memory").astype("<f4").tobytes())
        file.seek(0)
        yield file


def _with_vectors(items: Iterable[ArchiveItem], vectors: IO[bytes], encoder: Encoder) -> Iterator[ArchiveItem]:
    """Yield the items with these vectors where they have none."""

    def add_vectors(item: ArchivedMemory) -> ArchivedMemory:
        contents = list(item.contents)
        for place in item.places_without_vector:
            contents[place] = replace(contents[place], vector=vectors.read(4 * encoder.dimensions))
        return replace(item, contents=tuple(contents))

    vectors.seek(0)
    for item in items:
        yield add_vectors(item) if isinstance(item, ArchivedMemory) else item


MOVE_BATCH_ITEMS = 200
"""How many items one transaction moves; an interruption loses at most that many."""

MOVE_REMEDY = "stop all writers of the source store and run the move again, which starts over"


def move_store(source: Store, name: str, receiving: StoreImport, report: ProgressListener) -> MoveReport:
    """Move everything in the source; compare the copy with the source before it becomes a store.

    It may be stopped at any moment: the next run continues, or starts over if the source has changed since.
    """
    inventory, items = source.export(None)
    total = inventory.memories + inventory.contexts
    resumed = done = receiving.begin(name, inventory)
    remaining = islice(items, resumed, None)
    while batch := list(islice(remaining, MOVE_BATCH_ITEMS)):
        receiving.take(batch)
        done += len(batch)
        report(done, total)

    expected, arrived = _checksum_items(*source.export(None)), _checksum_items(*receiving.read_received())
    if arrived != expected:
        receiving.reject()
        (memories, contexts, _), (memories_here, contexts_here, _) = expected, arrived
        difference = f"{memories} memories and {contexts} contexts sent, {memories_here} and {contexts_here} received"
        raise Conflict(f"the copy differs from the source: {difference}; {MOVE_REMEDY}")
    receiving.finish()
    *_, checksum = arrived
    return MoveReport(memories=inventory.memories, contexts=inventory.contexts, resumed=resumed, checksum=checksum)


def _checksum_items(inventory: ArchiveInfo, items: Iterator[ArchiveItem]) -> tuple[int, int, str]:
    """Return the numbers of memories and contexts, and a checksum of all items."""
    digest = sha256()
    for item in items:
        digest.update(encode_item(item).encode())
    return inventory.memories, inventory.contexts, digest.hexdigest()
