"""Erasing: the part of it that happens inside a transaction, and the bytes to look for afterwards.

Pieces: the bytes by which what was erased would be known again, wherever they are left.

Finding: where pieces of what was erased are in the bytes of a file.
"""

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from itertools import groupby, islice
from operator import itemgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recollect.model.context import anonymize_votes, count_votes, select_current_votes
from recollect.model.erasure import ErasedRows
from recollect.model.memory import MemoryId
from recollect.model.scope import Scope
from recollect.stores.sql import rows
from recollect.stores.sql.transaction import Row, Transaction

MAX_NEEDLES = 200_000
"""How many pieces are looked for; beyond, of each further memory only the first is."""

MAX_SEARCHED_IDS = 16
"""Up to how many ids SQLite looks for in the texts of traces; beyond, all of them are read."""

Execute = Callable[..., None]
"""Runs a statement that writes."""


def erase(db: Transaction, run: Execute, places: Mapping[MemoryId, tuple[int, int]], commit: int) -> ErasedRows:
    """Remove these memories, each given with its number and its scope's, and every mention of them."""
    mentions = list(_find_mentions(db, places.keys()))
    for name, text in mentions:
        run("change_context", id=name, trace=text)
    pieces: set[bytes] = set()
    gone = Counter[str]()
    for id, (number, _) in sorted(places.items()):
        contents = db.fetch_all("said_by", memory=number)
        notes = db.fetch_all("noted_by", memory=number)
        keys = db.fetch_all("keys_of", memory=number)
        vectors = {content: db.fetch_all("vectors_of", content=content) for content, *_ in contents}
        uses, votes = db.fetch_one("happened_to", memory=number)
        gone.update(versions=len(notes), keys=len(keys), uses=uses, votes=votes)
        gone["vectors"] += sum(map(len, vectors.values()))
        known_again = _memory_needles(id, contents, vectors, notes, keys)
        pieces.update(known_again if len(pieces) < MAX_NEEDLES else islice(known_again, 1))
        run("drop_memory", memory=number)
        for content, *_ in contents:
            run("drop_vectors", content=content)
            run("drop_content", content=content)
    for scope in sorted({scope for _, scope in places.values()}):
        noted = erase_checkpoints(db, run, scope)
        gone["checkpoints"] += noted.checkpoints
        pieces.update(noted.pieces)
        run("scope_emptied", scope=scope, commit=commit)
    return ErasedRows(ids=tuple(sorted(places)), contexts=len(mentions), pieces=frozenset(pieces), **gone)


def erase_checkpoints(db: Transaction, run: Execute, scope: int) -> ErasedRows:
    """Remove how far anything got with the scope of that number: it may say what is erased."""
    noted = db.fetch_all("checkpoints_of", scope=scope)
    run("drop_checkpoints", scope=scope)
    pieces = frozenset(piece for _, value in noted for piece in cut_needles(value.encode()))
    return ErasedRows(checkpoints=len(noted), pieces=pieces)


def erase_contexts(db: Transaction, run: Execute, scope: Scope) -> ErasedRows:
    """Remove every context of the scope, with the questions that were asked in it, and its name from what it used."""
    found = db.fetch_all("contexts_of", path=str(scope))
    pieces = set(cut_needles(str(scope).encode()))
    for name, text in found:
        trace = rows.parse_context(text)
        pieces.update(cut_needles(name.encode()))
        pieces.update(piece for turn in trace.question for piece in cut_needles(_json_bytes(turn)))
        if trace.making is not None and trace.making.directions is not None:
            pieces.update(islice(cut_needles(trace.making.directions.encode()), 2))
        run("drop_context", id=name)
    pieces.update(_anonymize_uses(db, run, scope, {name for name, _ in found}))
    return ErasedRows(contexts=len(found), pieces=frozenset(pieces))


def _anonymize_uses(db: Transaction, run: Execute, scope: Scope, contexts: Set[str]) -> Iterator[bytes]:
    """What the scope did with memories of its ancestors stays done, and no longer says by whom; gives what it said.

    Signs go: one without its context tells nothing.
    """
    gone, ancestors = json.dumps(list(contexts)), json.dumps([str(one) for one in scope.ancestors])
    if contexts and scope.ancestors:
        for statement in ("uncount_signs", "drop_signs", "unname_uses"):
            run(statement, contexts=gone, ancestors=ancestors)
    above = db.fetch_all("votes_above", path=str(scope), contexts=gone, ancestors=ancestors)
    for (memory, owner), cast in groupby(above, key=itemgetter(0, 1)):
        numbered = {number: rows.parse_vote(memory, *vote) for _, _, number, *vote in cast}
        before = list(numbered.values())
        after = anonymize_votes(before, contexts, str(scope))
        for number, was, now in zip(numbered, before, after, strict=True):
            if was != now:
                run("unname_vote", number=number, context=now.context, by=now.by)
                yield from cut_needles(was.by.encode())
        if before == after:
            continue
        helped, misled = count_votes(
            select_current_votes(after)
        )  # those of several are one's now, and those of one are two's
        run("recount_votes", memory=memory, helped=helped, misled=misled)
        run("recount_scope", scope=owner)  # if not now, what counted at some commit before has changed


def _find_mentions(db: Transaction, gone: Set[MemoryId]) -> Iterator[tuple[str, str]]:
    """Every context that names one of these, with its trace as it is without them."""
    quoted = [rows.quote_id(id) for id in gone]
    found: Iterable[Row] = db.fetch_each("all_contexts")
    if len(quoted) <= MAX_SEARCHED_IDS:
        found = {row for one in quoted for row in db.fetch_all("contexts_naming", id=one)}
    for name, text in found:
        trace = rows.parse_context(text)
        left = trace.without_memories(gone)
        if left != trace:
            yield name, rows.context_to_json(left)


def _memory_needles(
    id: MemoryId, contents: list[Row], vectors: Mapping[int, list[Row]], notes: list[Row], keys: list[Row]
) -> Iterator[bytes]:
    """The bytes by which what is removed would be known again, wherever they are."""
    for content, title, text, hash, terms, names in contents:
        yield from cut_needles(text.encode())
        yield from cut_needles(names.encode())
        yield from cut_needles((title or "").encode())
        for known_by in (hash.encode(), terms, *(vector for (vector,) in vectors[content])):
            yield from islice(cut_needles(known_by), 2)
    yield from islice(cut_needles(id.encode()), 2)
    for topic_key, subject, hash, likeness, more in notes:
        for said in (topic_key, subject):
            yield from cut_needles((said or "").encode())
        for known_by in (hash, likeness):
            yield from islice(cut_needles(known_by.encode()), 2)
        known = json.loads(more)
        for said in _json_texts([known.get(name) for name in rows.JSON_FIELDS]):
            yield from cut_needles(_json_bytes(said))
    for key, body in keys:
        yield from cut_needles(key.encode())
        yield from islice(cut_needles(body.encode()), 2)


def _json_texts(value: Any) -> Iterator[str]:
    """Every text, name and number in a value of JSON."""
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
    """The text as it is in the file where it is part of JSON."""
    return json.dumps(text, ensure_ascii=False)[1:-1].encode()


NEEDLE_BYTES = 24
"""Bytes of a piece: whatever is left of a text is found if it is at least twice as long."""

ANCHOR_BYTES = 8
"""Bytes that are compared first; what is shorter is in every file, so it is not looked for."""

MIN_DISTINCT_BYTES = 4
"""How many different bytes an anchor has, at least."""


def cut_needles(said: bytes) -> Iterator[bytes]:
    """The pieces by which bytes are known again, also where a database has spread them over several pages."""
    starts = [*range(0, len(said) - NEEDLE_BYTES, NEEDLE_BYTES), max(len(said) - NEEDLE_BYTES, 0)]
    return filter(_is_distinctive, (said[start : start + NEEDLE_BYTES] for start in starts))


def _is_distinctive(piece: bytes) -> bool:
    """Whether it is worth looking for: blanks and zeros are everywhere."""
    return len(set(piece[:ANCHOR_BYTES])) >= MIN_DISTINCT_BYTES


MAX_PLACES_PER_NEEDLE = 10_000
"""How many places of one piece are looked at: what is in so many rows that stay cannot be told from what they say."""

_HASH_FACTORS = np.array([0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9], dtype=np.uint64)
"""Odd numbers, one for each eight bytes of a piece, that make a hash of them."""


class NeedleFinder:
    """Looks for many pieces at once: at every place, a hash of eight bytes says whether it is worth a closer look."""

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
        """Every piece that is in the block, with its place."""
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
    """One number for each row of words, which tells nearly all rows apart."""
    found: NDArray[np.uint64] = (words * _HASH_FACTORS).sum(axis=1, dtype=np.uint64)
    return found


def _are_among(values: NDArray[np.uint64], known: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """Which of the values are known; these are sorted."""
    if not len(known):
        return np.zeros(len(values), dtype=np.bool_)
    return np.asarray(known[np.searchsorted(known, values) % len(known)] == values)


def find_needles(blocks: Iterable[tuple[int, bytes]], finder: NeedleFinder) -> dict[int, int]:
    """Where in the blocks of a file, each given with its place, a piece begins, and how long it is; of one that is
    everywhere, not all of its places.
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
    """Where pieces lie without a gap, each given with its length: from where to where."""
    begin = end = -1
    for place, length in sorted(places.items()):
        if place > end:
            if end > begin:
                yield begin, end
            begin = place
        end = max(end, place + length)
    if end > begin:
        yield begin, end
