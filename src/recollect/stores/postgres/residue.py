"""Remains: whether bytes that were erased are still in a file of the server, where the role may read these."""

from collections import Counter
from collections.abc import Iterator, Sequence, Set
from itertools import count

from recollect.model.erasure import UNREACHABLE_SERVER_COPIES, ResidueSearch
from recollect.stores.postgres.pool import Connection
from recollect.stores.sql.byte_search import NeedleFinder, find_needles, join_ranges
from recollect.stores.sql.erasure_needles import NEEDLE_BYTES
from recollect.stores.sql.statements import load_statements

BLOCK_BYTES = 8 << 20
"""How many bytes of a file are read at a time."""

UNSEARCHED_REASON = (
    "only a superuser may, or who was granted EXECUTE ON FUNCTION pg_read_binary_file(text, bigint, bigint, boolean); "
    "the proof is that the rows that stay, and no others, were copied into new ones"
)

_SWEEP_STATEMENTS = {
    name: text.encode() for name, text in load_statements("recollect.stores.postgres", "sweeping.sql").items()
}


def search_files(db: Connection, tables: Sequence[tuple[int, str]], wanted: Set[bytes]) -> ResidueSearch:
    """Look for the pieces in every file of these tables, given by number and name, which were written anew.

    What is found there is what rows that stay say too, or rows that came since. The server's samples of columns are
    looked through as well; what is found there is left. A long text may be compressed, so that no search finds it.
    """
    rewritten = tuple(name for _, name in tables)
    if db.execute(_SWEEP_STATEMENTS["may_read_files"]).fetchone() != (True,):
        return ResidueSearch(rewritten=rewritten, unsearched=UNSEARCHED_REASON, out_of_reach=UNREACHABLE_SERVER_COPIES)
    finder = NeedleFinder(wanted)
    files: list[str] = []
    remains: list[str] = []
    in_rows, in_indexes = Counter[str](), Counter[str]()
    for name, path, is_index in db.execute(
        _SWEEP_STATEMENTS["files"], {"tables": [number for number, _ in tables]}
    ).fetchall():
        files.append(path)
        found = [begin for begin, _ in join_ranges(find_needles(_read_blocks(db, path), finder))]
        if name in rewritten:
            (in_indexes if is_index else in_rows)[name] += len(found)
        elif found:
            remains.append(f"{name}, {path} (first at byte {found[0]})")
    elsewhere = {name: in_rows[name] or in_indexes[name] for name in sorted(+in_rows | +in_indexes)}
    return ResidueSearch(
        files=tuple(files),
        rewritten=rewritten,
        remains=tuple(remains),
        elsewhere=elsewhere,
        out_of_reach=UNREACHABLE_SERVER_COPIES,
    )


def _read_blocks(db: Connection, path: str) -> Iterator[tuple[int, bytes]]:
    """Every block of a file with its place, with the end of the former before it; a large table has several files."""
    place, before = 0, b""
    for part in count():
        start = 0
        while block := _read_block(db, path if part == 0 else f"{path}.{part}", start):
            yield place - len(before), before + block
            before = (before + block)[1 - NEEDLE_BYTES :]
            start, place = start + len(block), place + len(block)
        if start == 0:
            return


def _read_block(db: Connection, path: str, start: int) -> bytes | None:
    row = db.execute(
        _SWEEP_STATEMENTS["block"], {"path": path, "start": start, "length": BLOCK_BYTES}, binary=True
    ).fetchone()
    return None if row is None or row[0] is None else bytes(row[0])
