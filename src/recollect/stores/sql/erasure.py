"""Erase rows in a transaction, and search files for bytes that were left behind.

First the deletions (`erase`, `erase_checkpoints`, `erase_contexts`), then the needles, which are the byte strings that
give erased data away, and then `NeedleFinder`, which finds many needles in the bytes of a file.
"""

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from itertools import groupby, islice
from operator import itemgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recollect.model.archive import ErasedRows
from recollect.model.context import anonymize_votes, count_votes, select_current_votes
from recollect.model.memory import MemoryId
from recollect.model.scope import Scope
from recollect.stores.sql import rows
from recollect.stores.sql.transaction import Row, Transaction

MAX_NEEDLES = 200_000
"""Maximum number of needles; beyond it, each further memory adds only its first one."""

MAX_SEARCHED_IDS = 16
"""Maximum number of ids that SQL searches contexts for; beyond it, all contexts are read."""

Execute = Callable[..., None]
"""Runs a statement that writes."""


def erase(db: Transaction, run: Execute, places: Mapping[MemoryId, tuple[int, int]], commit: int) -> ErasedRows:
    """Remove memories and every mention of them in contexts.

    `places` has the number of each memory and of its scope.
    """
    mentions = list(_find_mentions(db, places.keys()))
    for context, text in mentions:
        run("change_context", id=context, trace=text)
    pieces: set[bytes] = set()
    counts = Counter[str]()
    for id, (number, _) in sorted(places.items()):
        contents = db.fetch_all("said_by", memory=number)
        notes = db.fetch_all("noted_by", memory=number)
        keys = db.fetch_all("keys_of", memory=number)
        vectors = {content: db.fetch_all("vectors_of", content=content) for content, *_ in contents}
        uses, votes = db.fetch_one("happened_to", memory=number)
        counts.update(versions=len(notes), keys=len(keys), uses=uses, votes=votes)
        counts["vectors"] += sum(map(len, vectors.values()))
        needles = _memory_needles(id, contents, vectors, notes, keys)
        pieces.update(needles if len(pieces) < MAX_NEEDLES else islice(needles, 1))
        run("drop_memory", memory=number)
        for content, *_ in contents:
            run("drop_vectors", content=content)
            run("drop_content", content=content)
    for scope in sorted({scope for _, scope in places.values()}):
        checkpoints = erase_checkpoints(db, run, scope)
        counts["checkpoints"] += checkpoints.checkpoints
        pieces.update(checkpoints.pieces)
        run("scope_emptied", scope=scope, commit=commit)
    return ErasedRows(ids=tuple(sorted(places)), contexts=len(mentions), pieces=frozenset(pieces), **counts)


def erase_checkpoints(db: Transaction, run: Execute, scope: int) -> ErasedRows:
    """Remove all checkpoints of a scope, since their values may quote what is erased."""
    checkpoints = db.fetch_all("checkpoints_of", scope=scope)
    run("drop_checkpoints", scope=scope)
    pieces = frozenset(piece for _, value in checkpoints for piece in cut_needles(value.encode()))
    return ErasedRows(checkpoints=len(checkpoints), pieces=pieces)


def erase_contexts(db: Transaction, run: Execute, scope: Scope) -> ErasedRows:
    """Remove all contexts of a scope with their questions, and anonymize its uses and votes."""
    contexts = db.fetch_all("contexts_of", path=str(scope))
    pieces = set(cut_needles(str(scope).encode()))
    for id, text in contexts:
        record = rows.parse_context(text)
        pieces.update(cut_needles(id.encode()))
        pieces.update(piece for turn in record.question for piece in cut_needles(_json_bytes(turn)))
        if record.making is not None and record.making.directions is not None:
            pieces.update(islice(cut_needles(record.making.directions.encode()), 2))
        run("drop_context", id=id)
    pieces.update(_anonymize_uses(db, run, scope, {id for id, _ in contexts}))
    return ErasedRows(contexts=len(contexts), pieces=frozenset(pieces))


def _anonymize_uses(db: Transaction, run: Execute, scope: Scope, contexts: Set[str]) -> Iterator[bytes]:
    """Anonymize the scope's uses of and votes on memories of its ancestors; return the needles.

    The uses and votes stay. Signs are removed, since a sign without its context means nothing.
    """
    context_ids, ancestors = json.dumps(list(contexts)), json.dumps([str(one) for one in scope.ancestors])
    if contexts and scope.ancestors:
        for statement in ("uncount_signs", "drop_signs", "unname_uses"):
            run(statement, contexts=context_ids, ancestors=ancestors)
    votes = db.fetch_all("votes_above", path=str(scope), contexts=context_ids, ancestors=ancestors)
    for (memory, owner), rows_of_memory in groupby(votes, key=itemgetter(0, 1)):
        numbered = {number: rows.parse_vote(memory, *vote) for _, _, number, *vote in rows_of_memory}
        before = list(numbered.values())
        after = anonymize_votes(before, contexts, str(scope))
        for number, old, new in zip(numbered, before, after, strict=True):
            if old != new:
                run("unname_vote", number=number, context=new.context, by=new.by)
                yield from cut_needles(old.by.encode())
        if before == after:
            continue
        helped, misled = count_votes(select_current_votes(after))  # voters may have been merged, or one split in two
        run("recount_votes", memory=memory, helped=helped, misled=misled)
        run("recount_scope", scope=owner)  # even with the same counts now, those of an earlier commit may differ


def _find_mentions(db: Transaction, ids: Set[MemoryId]) -> Iterator[tuple[str, str]]:
    """Yield each context that names one of these memories, with its record without them."""
    quoted = [rows.quote_id(id) for id in ids]
    contexts: Iterable[Row] = db.fetch_each("all_contexts")
    if len(quoted) <= MAX_SEARCHED_IDS:
        contexts = {row for one in quoted for row in db.fetch_all("contexts_naming", id=one)}
    for name, text in contexts:
        record = rows.parse_context(text)
        remaining = record.without_memories(ids)
        if remaining != record:
            yield name, rows.context_to_json(remaining)


def _memory_needles(
    id: MemoryId, contents: list[Row], vectors: Mapping[int, list[Row]], notes: list[Row], keys: list[Row]
) -> Iterator[bytes]:
    """Return the needles of a memory: byte strings that give it away wherever they are left."""
    for content, title, text, hash, terms, names in contents:
        yield from cut_needles(text.encode())
        yield from cut_needles(names.encode())
        yield from cut_needles((title or "").encode())
        for value in (hash.encode(), terms, *(vector for (vector,) in vectors[content])):
            yield from islice(cut_needles(value), 2)
    yield from islice(cut_needles(id.encode()), 2)
    for topic_key, subject, hash, likeness, more in notes:
        for value in (topic_key, subject):
            yield from cut_needles((value or "").encode())
        for value in (hash, likeness):
            yield from islice(cut_needles(value.encode()), 2)
        fields = json.loads(more)
        for value in _json_texts([fields.get(name) for name in rows.JSON_FIELDS]):
            yield from cut_needles(_json_bytes(value))
    for key, body in keys:
        yield from cut_needles(key.encode())
        yield from islice(cut_needles(body.encode()), 2)


def _json_texts(value: Any) -> Iterator[str]:
    """Yield every text, key and number in a JSON value."""
    match value:
        case str():
            yield value
        case dict():
            yield from value
            yield from _json_texts(list(value.values()))
        case list():
            for inner in value:
                yield from _json_texts(inner)
        case bool() | None:
            pass
        case _:
            yield json.dumps(value)


def _json_bytes(text: str) -> bytes:
    """Return the text as it is stored inside JSON."""
    return json.dumps(text, ensure_ascii=False)[1:-1].encode()


NEEDLE_BYTES = 24
"""Bytes of a needle: a text's remains are found if they are at least twice as long."""

ANCHOR_BYTES = 8
"""Bytes that are compared first; shorter needles occur in every file and are skipped."""

MIN_DISTINCT_BYTES = 4
"""Minimum number of different bytes at the start of a needle."""


def cut_needles(content: bytes) -> Iterator[bytes]:
    """Cut bytes into needles that are found even if a database spread the bytes over pages."""
    starts = [*range(0, len(content) - NEEDLE_BYTES, NEEDLE_BYTES), max(len(content) - NEEDLE_BYTES, 0)]
    for start in starts:
        needle = content[start : start + NEEDLE_BYTES]
        if len(set(needle[:ANCHOR_BYTES])) >= MIN_DISTINCT_BYTES:  # blanks and zeros are everywhere
            yield needle


MAX_PLACES_PER_NEEDLE = 10_000
"""Maximum number of places recorded per needle.

Bytes that occur in that many live rows cannot be told apart from what those rows contain.
"""

_HASH_FACTORS = np.array([0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9], dtype=np.uint64)
"""Odd factors, one for each eight bytes of a needle, that hash it."""


class NeedleFinder:
    """Searches for many needles at once; a hash of eight bytes selects the places to compare."""

    def __init__(self, pieces: Iterable[bytes]) -> None:
        self._needles: dict[int, list[bytes]] = defaultdict(list)
        for one in sorted(one for one in pieces if len(one) >= ANCHOR_BYTES):
            self._needles[int.from_bytes(one[:ANCHOR_BYTES], "little")].append(one)
        known = [one for pieces in self._needles.values() for one in pieces]
        whole = b"".join(one for one in known if len(one) == NEEDLE_BYTES)
        short = b"".join(one[:ANCHOR_BYTES] for one in known if len(one) < NEEDLE_BYTES)
        self._short = np.unique(np.frombuffer(short, dtype="<u8"))
        self._whole = np.unique(
            _hash_words(np.frombuffer(whole, dtype="<u8").reshape(-1, NEEDLE_BYTES // ANCHOR_BYTES))
        )
        self._bits = 16 if len(known) < 1_000 else 22
        self._hash_filter = np.zeros(1 << self._bits, dtype=np.bool_)
        self._hash_filter[self._hashes(np.array(list(self._needles), dtype=np.uint64))] = True

    def find(self, block: bytes) -> Iterator[tuple[int, bytes]]:
        """Yield every needle in the block, with its place."""
        padded = block + bytes(NEEDLE_BYTES)
        for shift in range(ANCHOR_BYTES):
            windows = np.frombuffer(padded, dtype="<u8", offset=shift, count=(len(padded) - shift) // ANCHOR_BYTES)
            near = np.flatnonzero(self._hash_filter[self._hashes(windows[: 1 - NEEDLE_BYTES // ANCHOR_BYTES])])
            sums = _hash_words(windows[near[:, None] + np.arange(NEEDLE_BYTES // ANCHOR_BYTES)])
            for index in near[_are_among(sums, self._whole) | _are_among(windows[near], self._short)].tolist():
                place = shift + ANCHOR_BYTES * index
                for one in self._needles[int(windows[index])]:
                    if block.startswith(one, place):
                        yield place, one

    def _hashes(self, windows: NDArray[np.uint64]) -> NDArray[np.int64]:
        found: NDArray[np.int64] = ((windows * _HASH_FACTORS[0]) >> np.uint64(64 - self._bits)).view(np.int64)
        return found


def _hash_words(words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return a hash of each row of 64-bit numbers."""
    found: NDArray[np.uint64] = (words * _HASH_FACTORS).sum(axis=1, dtype=np.uint64)
    return found


def _are_among(values: NDArray[np.uint64], known: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """Return which of the values are in `known`, which is sorted."""
    if not len(known):
        return np.zeros(len(values), dtype=np.bool_)
    return np.asarray(known[np.searchsorted(known, values) % len(known)] == values)


def find_needles(blocks: Iterable[tuple[int, bytes]], finder: NeedleFinder) -> dict[int, int]:
    """Return where needles begin in the blocks of a file, and how long each is.

    Each block is given with its place. Only the first places of a very frequent needle are returned.
    """
    found: dict[int, int] = {}
    seen: Counter[bytes] = Counter()
    for start, block in blocks:
        for place, one in finder.find(block):
            seen[one] += 1
            if seen[one] <= MAX_PLACES_PER_NEEDLE:
                found[start + place] = max(len(one), found.get(start + place, 0))
    return found


def join_ranges(places: Mapping[int, int]) -> Iterator[tuple[int, int]]:
    """Yield the start and end of each range that needles cover without a gap."""
    begin = end = -1
    for place, length in sorted(places.items()):
        if place > end:
            if end > begin:
                yield begin, end
            begin = place
        end = max(end, place + length)
    if end > begin:
        yield begin, end
