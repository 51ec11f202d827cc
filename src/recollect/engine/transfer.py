"""Transfer: all that a store knows goes out as lines of text, and comes in again."""

import hashlib
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from datetime import datetime
from itertools import islice
from typing import IO, TypeVar

from recollect.engine import archive
from recollect.engine.world import World
from recollect.errors import FieldError, InvalidInput, show
from recollect.model.archive import Content, Imported, Inventory, Item, Saved
from recollect.model.encoder import Encoder
from recollect.model.scope import Scope
from recollect.model.trace import Trace
from recollect.ports import Progress

T = TypeVar("T")

Lines = Callable[[], Iterator[str]]
"""Gives the lines from the first one on, each time it is called; one reading ends before the next begins."""

BATCH = 64
"""How many texts are embedded at a time."""


def export(world: World, scope: Scope | None) -> Iterator[str]:
    """The lines of an export; the last one has the sum of all before, so that a cut or changed file is noticed."""
    world.store.flush()
    sum, count = hashlib.sha256(), 0
    for line in _body(world, scope):
        sum.update(line.encode("ascii"))
        count += 1
        yield line
    yield archive.line({"lines": count, "sha256": sum.hexdigest()})


def _body(world: World, scope: Scope | None) -> Iterator[str]:
    inventory, items = world.store.export(scope)
    yield archive.header(inventory)
    yield from map(archive.item_line, items)


def import_(world: World, lines: Iterable[str], progress: Progress) -> Imported:
    """Take in an export, all of it or nothing; what is not whole and unchanged is refused before anything is written.

    The lines are read several times, so those that can be read only once are kept in a temporary file meanwhile.
    """
    if isinstance(lines, str):
        raise InvalidInput("give the lines of the export, as a file gives them, not one text")
    with ExitStack() as stack:
        again = stack.enter_context(_again(lines))
        inventory = check(again())
        encoder = world.encoder
        foreign = inventory.encoder is not None and inventory.encoder != encoder
        vectors = stack.enter_context(_embedded(world, _items(again(), inventory))) if foreign else None

        items = _items(again(), inventory)
        items = items if vectors is None else _with_vectors(items, vectors, encoder)
        told = _telling(items, inventory.memories + inventory.contexts, progress)
        adopted = None if inventory.encoder is None else encoder
        imported = world.store.write(lambda writing: writing.load(told, adopted))
    return replace(imported, re_embedded=inventory.encoder if foreign else None)


def check(lines: Iterable[str]) -> Inventory:
    """What an export says it has, once every line of it has been looked at; refused if anything is amiss."""
    numbered = enumerate((line.rstrip("\r\n") for line in lines), start=1)
    _, first = next(numbered, (1, ""))
    inventory = archive.read_header(first)
    sum = hashlib.sha256(f"{first}\n".encode())
    seen = _Seen(inventory)
    for number, text in numbered:
        value = archive.parsed(text, number)
        if "sha256" in value:
            _refuse_changed(value.get("sha256"), sum.hexdigest(), next(numbered, None))
            seen.refuse_incomplete(number)
            return inventory
        seen.add(archive.read_item(value, number, seen.dimensions), number)
        sum.update(f"{text}\n".encode())
    raise InvalidInput("the last line of the export is missing, so it was cut; export it again")


def _refuse_changed(said: object, sum: str, behind: object) -> None:
    if said != sum:
        raise InvalidInput(f"the export was changed or cut: its sum is {sum[:12]}…, and it says {show(said)}")
    if behind is not None:
        raise InvalidInput("the export goes on behind its last line; give one export at a time")


class _Seen:
    """What was met in an export so far, to see what cannot be seen in one line."""

    def __init__(self, inventory: Inventory) -> None:
        self.dimensions = 0 if inventory.encoder is None else inventory.encoder.dimensions
        self._inventory = inventory
        self._memories: set[str] = set()
        self._contexts: set[str] = set()
        self._commits: dict[int, datetime] = {}

    def add(self, item: Item, number: int) -> None:
        known, id = (self._contexts, item.id) if isinstance(item, Trace) else (self._memories, item.present.id)
        if id in known:
            raise FieldError(f"{show(id)} is there twice", field="id", line=number)
        known.add(id)
        if isinstance(item, Saved):
            for commit, recorded_at in item.stamps:
                if self._commits.setdefault(commit, recorded_at) != recorded_at:
                    raise FieldError(f"{commit} has two moments in this file", field="commit", line=number)

    def refuse_incomplete(self, number: int) -> None:
        counts = (self._inventory.memories, self._inventory.contexts)
        if counts != (len(self._memories), len(self._contexts)):
            has = f"{len(self._memories)} memories and {len(self._contexts)} contexts"
            raise InvalidInput(
                f"line {number}: the export has {has}, and its first line says {counts[0]} and {counts[1]}"
            )
        moments = [self._commits[commit] for commit in sorted(self._commits)]
        if moments != sorted(moments):
            raise InvalidInput(f"line {number}: the commits of this export are not in the order of their moments")


def _items(lines: Iterator[str], inventory: Inventory) -> Iterator[Item]:
    """The memories and contexts of an export that was checked."""
    dimensions = 0 if inventory.encoder is None else inventory.encoder.dimensions
    next(lines)
    for number, text in enumerate(islice(lines, inventory.memories + inventory.contexts), start=2):
        yield archive.read_item(archive.parsed(text, number), number, dimensions)


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
        yield lambda: iter(lines)
        return
    with tempfile.TemporaryFile("w+", encoding="utf-8", newline="\n") as file:
        file.writelines(line if line.endswith("\n") else f"{line}\n" for line in lines)
        yield lambda: _rewound(file)


def _rewound(file: IO[str]) -> Iterator[str]:
    file.seek(0)
    return iter(file.readline, "")


@contextmanager
def _embedded(world: World, items: Iterable[Item]) -> Iterator[IO[bytes]]:
    """The vectors that this world's model gives to all contents, in their order, one behind the other."""
    texts = (one.searched_text for item in items if isinstance(item, Saved) for one in item.contents)
    with tempfile.TemporaryFile() as file:
        while batch := list(islice(texts, BATCH)):
            file.write(world.embed(batch, "memory").astype("<f4").tobytes())
        file.seek(0)
        yield file


def _with_vectors(items: Iterable[Item], vectors: IO[bytes], encoder: Encoder) -> Iterator[Item]:
    """The items with these vectors in place of their own."""

    def vector(content: Content) -> Content:
        return replace(content, vector=vectors.read(4 * encoder.dimensions))

    for item in items:
        yield replace(item, contents=tuple(map(vector, item.contents))) if isinstance(item, Saved) else item
