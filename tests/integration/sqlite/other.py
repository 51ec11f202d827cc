"""What other processes do in these tests: one function each, named on the command line."""

import atexit
import sys
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path

import apsw

from recollect.errors import RecollectError
from recollect.stores.sqlite.writer import Writer
from tests.integration.sqlite.scene import a_database, note


def say(*words: object) -> None:
    print(*words, flush=True)  # noqa: T201 — how it talks to the test


def until_told() -> None:
    sys.stdin.readline()


def opens(path: str, folder: str) -> None:
    """Open the database together with others, and say the number of its schema."""
    say("ready")
    until_told()
    db = a_database(path, folder=Path(folder)).connect_reading()
    say(db.pragma("user_version"), db.execute("SELECT count(*) FROM sqlite_schema WHERE name = 'notes'").get)


def writes(path: str, name: str, threads: str, times: str) -> None:
    """Write from several threads; each write adds to a sum that all share, too."""
    writer = Writer(a_database(path))

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
    writer = Writer(a_database(path))
    while True:
        say(writer.write(_next_note))


def _next_note(db: apsw.Connection) -> int:
    number = int(db.execute("SELECT count(*) FROM notes").get) + 1
    return note(f"note {number}")(db)


def holds_the_turn(path: str) -> None:
    """Keep everybody in line waiting."""
    turn = a_database(path).turn()
    turn.take()
    say("ready")
    until_told()
    turn.leave()
    say("left")


def stands_in_line(path: str) -> None:
    """Wait for a turn that does not come."""
    turn = a_database(path).turn()
    say("ready")
    turn.take()
    say("taken")


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
    writer = Writer(a_database(path))
    atexit.register(writer.close)
    writer.later(note("at the end"))


def is_in_a_change(path: str) -> None:
    """Be in the middle of a transaction."""

    def change(db: apsw.Connection) -> None:
        note("half done")(db)
        say("ready")
        until_told()

    Writer(a_database(path)).write(change)


def opens_without_rights(path: str) -> None:
    """Say what is said to somebody who may not write."""
    try:
        Writer(a_database(path)).write(note("not allowed"))
    except RecollectError as error:
        say(type(error).__name__, error)


COMMANDS: dict[str, Callable[..., None]] = {
    command.__name__: command
    for command in (
        opens,
        writes,
        says_what_it_wrote,
        holds_the_turn,
        stands_in_line,
        holds_the_lock,
        writes_when_it_ends,
        is_in_a_change,
        opens_without_rights,
    )
}

if __name__ == "__main__":
    COMMANDS[sys.argv[1]](*sys.argv[2:])
