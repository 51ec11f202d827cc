"""Transfer: all that a store knows goes out as lines of text, and comes in again."""

import hashlib
import tempfile
from collections.abc import Callable, Container, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import islice, pairwise
from typing import IO, AnyStr, TypeVar

from recollect.admission.decision import Admit, Isolate, Place, Precede, Supersede, among, begins, observed
from recollect.admission.policy import Policy, SecretsPolicy
from recollect.engine import archive_format
from recollect.engine.dependencies import World
from recollect.engine.supersession import is_a_truth, placed
from recollect.errors import FieldError, InvalidInput, StoreError, show
from recollect.model import validation
from recollect.model.archive import Imported, Inventory, Item, Saved, said
from recollect.model.context_record import Trace
from recollect.model.encoder import Encoder
from recollect.model.format import counted, not_come_yet
from recollect.model.frozen_copy import amended
from recollect.model.memory import Memory, MemoryId, Status
from recollect.model.scope import Scope
from recollect.protocols import Progress, Writing

T = TypeVar("T")

Lines = Callable[[], Iterator[str]]
"""Gives the lines from the first one on, each time it is called; one reading ends before the next begins."""

BATCH = 64
"""How many texts are embedded at a time."""


def export(world: World, scope: Scope | None) -> Iterator[str]:
    """The lines of an export; the last one has the sum of all before, so that a cut or changed file is noticed."""
    world.store.settle()
    sum, count = hashlib.sha256(), 0
    for line in _body(world, scope):
        sum.update(line.encode("ascii"))
        count += 1
        yield line
    yield archive_format.line({"lines": count, "sha256": sum.hexdigest()})


def _body(world: World, scope: Scope | None) -> Iterator[str]:
    inventory, items = world.store.export(scope)
    yield archive_format.header(inventory)
    yield from map(_line, items)


def _line(item: Item) -> str:
    """The item as a line; refused if it is so long that nobody would take it in again."""
    line = archive_format.item_line(item)
    if len(line) > validation.LONGEST_LINE:
        id = item.id if isinstance(item, Trace) else item.present.id
        most = f"a line of an export has at most {validation.LONGEST_LINE}"
        raise StoreError(f"{show(id)} takes {len(line)} characters, and {most}; use `backup`, which has no such limit")
    return line


def import_(world: World, lines: Iterable[str], progress: Progress) -> Imported:
    """Take in an export, all of it or nothing; what is not whole and unchanged is refused before anything is written.

    What a scope knows already counts as it does for what is remembered: of a subject one thing holds at a time, and
    what speaks against something that is trusted more is quarantined. A store that never took in anything has it
    exactly as it was. The lines are read several times, so those that can be read only once are kept in a temporary
    file meanwhile.
    """
    if isinstance(lines, str):
        raise InvalidInput("give the lines of the export, as a file gives them, not one text")
    now = world.now()
    with ExitStack() as stack:
        again = stack.enter_context(_again(lines))
        known: set[MemoryId] = set()
        reworded: set[MemoryId] = set()
        bare = world.store.encoder() is None  # nothing is known yet

        def note(item: Item) -> None:
            if isinstance(item, Saved) and item.lacking:
                reworded.add(item.present.id)
            if not bare:
                _note_known(world, item, known)

        inventory, sum = _checked(again(), now, note, world.policy.secrets)
        encoder = world.encoder
        foreign = inventory.encoder is not None and inventory.encoder != encoder

        def items() -> Iterator[Item]:
            """All of it once more, and the same, but for what is known, and for vectors of another model."""
            screened = archive_format.screened(_items(again(), now, sum), world.policy.secrets)
            new = (one for one in screened if isinstance(one, Trace) or one.present.id not in known)
            return map(_without_vectors, new) if foreign else new

        vectors = stack.enter_context(_embedded(world, items())) if foreign or reworded else None

        adopted = None if inventory.encoder is None else encoder

        def change(writing: Writing) -> Imported:
            taken = items() if vectors is None else _with_vectors(items(), vectors, encoder)
            told = _telling(taken, inventory.memories + inventory.contexts, progress)
            return _taken_in(writing, told, adopted, world.policy, now)

        imported = world.store.write(change)
    skipped = imported.skipped + len(known)
    return replace(imported, skipped=skipped, re_embedded=inventory.encoder if foreign else None)


def _note_known(world: World, item: Item, known: set[MemoryId]) -> None:
    """Take note of a memory that is here as the archive has it, and only came to stand elsewhere since: it is known."""
    if isinstance(item, Trace):
        return
    here = said(world.store.history(item.present.scope, item.present.id))
    there = said([memory for memory, _ in item.versions])
    since = here[len(there) :]
    if since and here[: len(there)] == there and all(_stands_elsewhere(one, there[-1]) for one in since):
        known.add(item.present.id)


def _stands_elsewhere(memory: Memory, former: Memory) -> bool:
    """Whether it says what the former does, and only its standing is another."""
    return amended(memory, **{name: getattr(former, name) for name in _STANDING}) == former


_STANDING = ("status", "superseded_by", "valid_until", "remark", "importance")
"""What may become of a memory for the sake of others."""


def _taken_in(
    writing: Writing, items: Iterable[Item], encoder: Encoder | None, policy: Policy, now: datetime
) -> Imported:
    """Load the items; then each that is new has its place among what the scope knew of its subject."""
    new: dict[MemoryId, Memory] = {}
    imported = writing.load(_noting_truths(writing, items, new, policy), encoder)
    for one in sorted(new.values(), key=lambda one: (begins(one), one.id)):
        _place(writing, one, new, policy, max(now, observed(one)))
    return imported


def _noting_truths(
    writing: Writing, items: Iterable[Item], new: dict[MemoryId, Memory], policy: Policy
) -> Iterator[Item]:
    """The same, and note is taken of those that are not here yet and hold of a subject."""
    for item in items:
        if isinstance(item, Saved):
            present = item.present
            truth = present.status is Status.ACTIVE and is_a_truth(present, policy)
            if truth and writing.get(present.scope, present.id) is None:
                new[present.id] = present
        yield item


def _place(writing: Writing, memory: Memory, new: Container[MemoryId], policy: Policy, now: datetime) -> None:
    """Judge a memory that came in by what its scope knew before of its subject."""
    found = writing.about(memory.scope, memory.subject or "", begins(memory))
    match among(memory, [one for one in found if one.id not in new], policy):
        case Isolate(reason, _):
            writing.put(memory.changed(status=Status.QUARANTINED, remark=reason), None)
        case Supersede(old):
            writing.put(placed(writing, memory, Place(old), now), None)
        case Precede(newer, old):
            writing.put(placed(writing, memory, Place(old, newer), now), None)
        case Admit():
            pass


def check(lines: Iterable[str], now: datetime) -> Inventory:
    """What an export says it has, once every line of it has been looked at; refused if anything is amiss."""
    return _checked(lines, now)[0]


def _checked(
    lines: Iterable[str],
    now: datetime,
    note: Callable[[Item], object] | None = None,
    secrets: SecretsPolicy | None = None,
) -> tuple[Inventory, str]:
    """What an export says it has, and the sum of its lines; `note` is told of each item, screened by the policy."""
    reading = _Reading(lines, now)
    for item in reading.items() if secrets is None else archive_format.screened(reading.items(), secrets):
        if note is not None:
            note(item)
    return reading.inventory, reading.sum


def _items(lines: Iterable[str], now: datetime, sum: str) -> Iterator[Item]:
    """The memories and contexts of an export that was checked; refused at the end if it is another one by now."""
    reading = _Reading(lines, now)
    yield from reading.items()
    if reading.sum != sum:
        raise InvalidInput("the export was changed while it was read; import it once nobody writes to it")


class _Reading:
    """The lines of an export, read once: what it says it has, then each item, and in the end whether that was all."""

    def __init__(self, lines: Iterable[str], now: datetime) -> None:
        self._numbered = enumerate((line.rstrip("\r\n") for line in texts(lines)), start=1)
        _, first = next(self._numbered, (1, ""))
        self.inventory = archive_format.read_header(first)
        self._sum = hashlib.sha256(f"{first}\n".encode())
        self._now = now

    @property
    def sum(self) -> str:
        """Of the lines so far, but for the last one."""
        return self._sum.hexdigest()

    def items(self) -> Iterator[Item]:
        """Each memory and context; refused, with its line, where it cannot be, or in the end if something is amiss."""
        seen = _Seen(self.inventory, self._now)
        for number, text in self._numbered:
            value = archive_format.parsed(text, number)
            if "sha256" in value:
                _refuse_changed(archive_format.read_end(value, number), self.sum, next(self._numbered, None))
                seen.refuse_incomplete(number)
                return
            item = archive_format.read_item(value, number, seen.dimensions)
            seen.add(item, number)
            self._sum.update(f"{text}\n".encode())
            yield item
        raise InvalidInput("the last line of the export is missing, so it was cut; export it again")


def read_lines(read: Callable[[int], AnyStr]) -> Iterator[AnyStr]:
    """The lines that a file's `readline` gives; of one that never ends no more is read than an export could have."""
    return _bounded(iter(lambda: read(validation.LONGEST_LINE + 1) or None, None))


def _bounded(lines: Iterable[T]) -> Iterator[T]:
    """The lines; one that is longer than any line of an export is refused."""
    for number, line in enumerate(lines, start=1):
        if isinstance(line, str | bytes) and len(line) > validation.LONGEST_LINE:
            most = f"at most {validation.LONGEST_LINE} characters are read"
            raise InvalidInput(f"line {number}: this line does not end ({most}), so it is of no export")
        yield line


def texts(lines: Iterable[str]) -> Iterator[str]:
    """The lines, as texts of a length that can be."""
    read = getattr(lines, "readline", None)
    for number, line in enumerate(_bounded(lines) if read is None else read_lines(read), start=1):
        if not isinstance(line, str):
            raise InvalidInput(f"line {number}: {show(line)} is no text; open the export as text")
        if not line.isascii():
            _refuse_half_a_character(line, number)
        yield line


def _refuse_half_a_character(line: str, number: int) -> None:
    try:
        validation.a_clean_text("line", line)
    except FieldError as error:
        raise InvalidInput(f"line {number}: {error.problem}") from error


def _refuse_changed(said: object, sum: str, behind: object) -> None:
    if said != sum:
        raise InvalidInput(f"the export was changed or cut: its sum is {sum[:12]}…, and it says {show(said)}")
    if behind is not None:
        raise InvalidInput("the export goes on behind its last line; give one export at a time")


class _Seen:
    """What was met in an export so far, to see what cannot be seen in one line."""

    def __init__(self, inventory: Inventory, now: datetime) -> None:
        self.dimensions = 0 if inventory.encoder is None else inventory.encoder.dimensions
        self._inventory = inventory
        self._now = now
        self._memories: set[tuple[str, str]] = set()
        self._contexts: set[tuple[str, str]] = set()
        self._commits: dict[int, datetime] = {}

    def add(self, item: Item, number: int) -> None:
        """Take note of an item; refused if it cannot be together with those before."""
        known, one = (self._contexts, item) if isinstance(item, Trace) else (self._memories, item.present)
        place = one.scope.parts[0], one.id  # a store may count ids, as commits, for each root by itself
        if place in known:
            raise FieldError(f"{show(one.id)} is there twice", field="id", line=number)
        known.add(place)
        self._refuse_stranger(one.scope, number)
        for field, moment in item.moments:
            latest = self._now + validation.MOST_AHEAD if field == "recorded_at" else self._now
            if moment > latest:
                raise FieldError(not_come_yet(moment, self._now), field=field, line=number)
        if isinstance(item, Saved):
            for commit, recorded_at in item.stamps:
                if self._commits.setdefault(commit, recorded_at) != recorded_at:
                    raise FieldError(f"{commit} has two moments in this file", field="commit", line=number)

    def _refuse_stranger(self, scope: Scope, number: int) -> None:
        whole = self._inventory.scope
        if whole is not None and not scope.within(whole):
            raise FieldError(f"{scope} is not in {whole}, of which this export is", field="scope", line=number)

    def refuse_incomplete(self, number: int) -> None:
        counts = (self._inventory.memories, self._inventory.contexts)
        if counts != (len(self._memories), len(self._contexts)):
            memories = counted(len(self._memories), "memory", "memories")
            has = f"{memories} and {counted(len(self._contexts), 'context')}"
            said = f"its first line says {counts[0]} and {counts[1]}"
            raise FieldError(f"the export has {has}, and {said}", line=number)
        moments = [self._commits[commit] for commit in sorted(self._commits)]
        if any(timedelta(0) < before - after <= validation.MOST_AHEAD for before, after in pairwise(moments)):
            raise FieldError("the commits of this export are not in the order of their moments", line=number)


def _telling(items: Iterable[T], total: int, progress: Progress) -> Iterator[T]:
    """The same, and progress is told of each."""
    for done, item in enumerate(items):
        progress(done, total)
        yield item
    progress(total, total)


@contextmanager
def _again(lines: Iterable[str]) -> Iterator[Lines]:
    """The lines, to be read as often as needed."""
    if iter(lines) is not lines:
        yield lambda: texts(lines)
        return
    with tempfile.TemporaryFile("w+", encoding="utf-8", newline="\n") as file:
        file.writelines(line if line.endswith("\n") else f"{line}\n" for line in texts(lines))
        yield lambda: _rewound(file)


def _rewound(file: IO[str]) -> Iterator[str]:
    file.seek(0)
    return iter(file.readline, "")


def _without_vectors(item: Item) -> Item:
    """The item without the vectors of another model."""
    if isinstance(item, Trace):
        return item
    return replace(item, contents=tuple(replace(one, vector=None) for one in item.contents))


@contextmanager
def _embedded(world: World, items: Iterable[Item]) -> Iterator[IO[bytes]]:
    """The vectors that this world's model gives to contents without one, in their order, one behind the other."""
    texts = (
        text for item in items if isinstance(item, Saved) for text in map(item.embedded_texts.__getitem__, item.lacking)
    )
    with tempfile.TemporaryFile() as file:
        while batch := list(islice(texts, BATCH)):
            file.write(world.embed(batch, "memory").astype("<f4").tobytes())
        file.seek(0)
        yield file


def _with_vectors(items: Iterable[Item], vectors: IO[bytes], encoder: Encoder) -> Iterator[Item]:
    """The items with these vectors where they have none."""

    def embedded(item: Saved) -> Saved:
        contents = list(item.contents)
        for place in item.lacking:
            contents[place] = replace(contents[place], vector=vectors.read(4 * encoder.dimensions))
        return replace(item, contents=tuple(contents))

    vectors.seek(0)
    for item in items:
        yield embedded(item) if isinstance(item, Saved) else item
