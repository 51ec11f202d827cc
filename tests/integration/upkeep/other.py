"""What other processes do in these tests: one function each, named on the command line."""

import sys
from collections.abc import Callable

import apsw

import recollect


def say(*words: object) -> None:
    print(*words, flush=True)  # noqa: T201 — how it talks to the test


def until_told() -> None:
    sys.stdin.readline()


def reads(path: str) -> None:
    """Look at the store, and hold on to what was seen until told."""
    db = apsw.Connection(path)
    db.execute("BEGIN")
    say(db.execute("SELECT count(*) FROM memories").get)
    until_told()


def writes(path: str, scope: str, text: str) -> None:
    """Remember a text, and close the store."""
    with recollect.open(path) as engine:
        say(engine.remember(text, scope=scope).id)


ACTS: dict[str, Callable[..., None]] = {act.__name__: act for act in (reads, writes)}

if __name__ == "__main__":
    ACTS[sys.argv[1]](*sys.argv[2:])
