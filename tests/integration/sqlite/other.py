"""What other processes do in these tests: one function each, named on the command line."""

import atexit
import os
import resource
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from itertools import count
from pathlib import Path

import apsw

from recollect.errors import RecollectError
from recollect.stores.sql import deferred
from recollect.stores.sqlite import store_files
from recollect.stores.sqlite.process_lock import _byte_lock
from recollect.stores.sqlite.write_queue import SqliteWriter
from tests.integration.sqlite.scene import a_database, note


def say(*words: object) -> None:
    print(*words, flush=True)  # noqa: T201 — how it talks to the test


def until_told() -> None:
    sys.stdin.readline()


def obey(*commands: Callable[..., None]) -> None:
    """Do the one that the command line names, with what it gives."""
    name, *given = sys.argv[1:]
    {command.__name__: command for command in commands}[name](*given)


def opens(path: str, folder: str) -> None:
    """Open the database together with others, and say the number of its schema."""
    say("ready")
    until_told()
    db = a_database(path, folder=Path(folder)).connect_reading()
    say(db.pragma("user_version"), db.execute("SELECT count(*) FROM sqlite_schema WHERE name = 'notes'").get)


def writes(path: str, name: str, threads: str, times: str) -> None:
    """Write from several threads; each write adds to a sum that all share, too."""
    writer = SqliteWriter(a_database(path))

    def write(thread: int) -> None:
        for number in range(int(times)):
            writer.write(partial(_count, text=f"{name} {thread} {number}"))

    running = [threading.Thread(target=write, args=(number,)) for number in range(int(threads))]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    writer.close()


def _count(db: apsw.Connection, text: str) -> None:
    size = int(db.execute("SELECT coalesce(max(size), 0) FROM notes").get)
    db.execute("INSERT INTO notes (text, size) VALUES (?, ?)", (text, size + 1))


def says_what_it_wrote(path: str) -> None:
    """Write for ever, and say each number once it is acknowledged."""
    writer = SqliteWriter(a_database(path))
    while True:
        say(writer.write(_next_note))


def _next_note(db: apsw.Connection) -> int:
    number = int(db.execute("SELECT count(*) FROM notes").get) + 1
    return note(f"note {number}")(db)


def holds_the_turn(path: str) -> None:
    """Keep everybody in line waiting."""
    turn = a_database(path).open_write_lock()
    turn.acquire()
    say("ready")
    until_told()
    turn.release()
    say("left")


def stands_in_line(path: str) -> None:
    """Wait for a turn that does not come."""
    turn = a_database(path).open_write_lock()
    say("ready")
    turn.acquire()
    say("taken")


def takes_a_turn(path: str) -> None:
    """Wait for a turn, and leave it when told."""
    turn = a_database(path).open_write_lock()
    say("ready")
    turn.acquire()
    say("taken")
    until_told()
    turn.release()
    say("left")


def draws_a_number_for_ever(path: str) -> None:
    """Keep everybody from the counter, as one does that was suspended at the wrong moment."""
    with Path(f"{path}-queue").open("w+b") as file:
        _byte_lock(0)(file.fileno(), wait=True)
        say("ready")
        until_told()


def holds_the_lock(path: str) -> None:
    """Write without standing in line."""
    db = a_database(path).connect()
    db.execute("BEGIN IMMEDIATE")
    say("ready")
    until_told()
    db.execute("COMMIT")
    say("left")


def writes_when_it_ends(path: str) -> None:
    """Put a note off, and end."""
    writer = SqliteWriter(a_database(path))
    atexit.register(writer.close)
    writer.defer(note("at the end"))


def _complain_aloud() -> None:
    """Have the test hear of errors, too."""
    sys.stderr = sys.stdout


PATIENCE = 60.0
"""How many seconds the end of a process may take where that is not what is tested."""


def ends(path: str, patience: float = PATIENCE) -> None:
    """Put notes off with two writers, one of which nobody has any more, and end when told, without closing any."""
    _complain_aloud()
    deferred.EXIT_FLUSH_SECONDS = float(patience)
    writer = SqliteWriter(a_database(path))
    writer.defer(note("first"))
    SqliteWriter(a_database(path)).defer(note("second"))
    say("ready")
    until_told()


KEPT: list[SqliteWriter] = []
"""What lives until the interpreter ends, as in a script."""


def ends_with_nothing_to_write(path: str, kept: str = "") -> None:
    """Write what is written at once, and end when told; the writer is gone by then, or kept."""
    _complain_aloud()
    deferred.EXIT_FLUSH_SECONDS = PATIENCE
    writer = SqliteWriter(a_database(path))
    writer.write(note("first"))
    KEPT.extend([writer] if kept else [])
    say("ready")
    until_told()


def ends_while_it_writes(path: str) -> None:
    """End while another thread goes on writing."""
    _complain_aloud()
    deferred.EXIT_FLUSH_SECONDS = PATIENCE
    writer = SqliteWriter(a_database(path))

    def write() -> None:
        for number in count():
            writer.write(note(f"note {number}"))
            writer.defer(note(f"put off {number}"))

    writer.write(note("first"))
    threading.Thread(target=write, daemon=True).start()
    say("ready")
    until_told()


def says_what_was_acknowledged(path: str) -> None:
    """Write as much as can be, and say what was acknowledged."""
    writer = SqliteWriter(a_database(path))
    for number in range(3):
        with suppress(RecollectError):
            writer.write(note(f"theirs {number}"))
            say(f"theirs {number}")
    with suppress(RecollectError):
        writer.close()


def writes_and_moves_the_log(path: str) -> None:
    """Write a note, and have it moved from the log into the file."""
    db = a_database(path).connect()
    note("theirs")(db)
    db.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
    db.close()
    say("moved")


def opens_too_many_files(path: str) -> None:
    """Say what is said where no more files can be opened: to a reader, a writer, one who opens, and one who looks."""
    database = a_database(path)
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (100, most))
    kept = []
    with suppress(OSError):
        while True:
            kept.append(os.open(path, os.O_RDONLY))
    for act in (
        database.connect_reading,
        lambda: SqliteWriter(database).write(note("never")),
        lambda: a_database(path),
        lambda: store_files.read_bytes(Path(path), 0, 9),
    ):
        try:
            act()
        except RecollectError as error:
            say(type(error).__name__ if "too many" in str(error).lower() and "who may" not in str(error) else error)


def is_in_a_change(path: str) -> None:
    """Be in the middle of a transaction."""

    def change(db: apsw.Connection) -> None:
        note("half done")(db)
        say("ready")
        until_told()

    SqliteWriter(a_database(path)).write(change)


def opens_without_rights(path: str) -> None:
    """Say what is said to somebody who may not write."""
    try:
        SqliteWriter(a_database(path)).write(note("not allowed"))
    except RecollectError as error:
        say(type(error).__name__, error)


if __name__ == "__main__":
    obey(
        opens,
        writes,
        says_what_it_wrote,
        holds_the_turn,
        stands_in_line,
        takes_a_turn,
        draws_a_number_for_ever,
        holds_the_lock,
        writes_when_it_ends,
        ends,
        ends_with_nothing_to_write,
        ends_while_it_writes,
        says_what_was_acknowledged,
        writes_and_moves_the_log,
        opens_too_many_files,
        is_in_a_change,
        opens_without_rights,
    )
