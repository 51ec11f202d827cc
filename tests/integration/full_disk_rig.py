"""A store where there is no room left: run as a program, it says what went wrong, and ends with 1 if anything did.

It writes from several threads until nothing fits any more, tries everything there is to do, makes room, and goes on.
What was acknowledged must be there at any time, whole and found; what cannot be done must say why, and what to do.
"""

import argparse
import resource
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import recollect

T = TypeVar("T")

SCOPE = "acme/ana"
THREADS = 3
SPARE = 4 * 1024**2
"""How many bytes of room are made in the end."""

AGAIN = 5
"""How often in a row nothing fits before nothing ever will."""

LARGEST = 2 * 1024**2
"""How many bytes a file may have where files may not grow."""


class SmallDisk:
    """A small file system of its own, of which a part is taken."""

    says = "the disk is full, so nothing was written; make room and try again"

    def __init__(self, folder: Path) -> None:
        self._taken = folder / "taken"
        self._taken.write_bytes(bytes(SPARE))

    def make(self) -> None:
        self._taken.unlink()

    @contextmanager
    def elsewhere(self) -> Iterator[None]:
        yield


class SmallFiles:
    """Files that may not grow beyond a limit of this process, as `ulimit -f` has it."""

    says = "the disk failed"

    def __init__(self, folder: Path) -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        self._limit(LARGEST)

    def make(self) -> None:
        self._limit(LARGEST + SPARE)

    @contextmanager
    def elsewhere(self) -> Iterator[None]:
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        self._limit(hard)
        yield
        self._limit(soft)

    def _limit(self, most: int) -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))


ROOMS: dict[str, Callable[[Path], SmallDisk | SmallFiles]] = {"disk": SmallDisk, "files": SmallFiles}


class Rig:
    """The store, what it acknowledged, and what went wrong."""

    def __init__(self, path: Path, room: SmallDisk | SmallFiles) -> None:
        self.path = path
        self.room = room
        self.engine = recollect.open(path, embedder="hashing")
        self.acknowledged: dict[str, str] = {}
        self.refusals = 0
        self.problems: list[str] = []

    def expect(self, right: bool, problem: str) -> None:
        if not right:
            self.problems.append(problem)

    def attempt(self, name: str, act: Callable[[], T]) -> T | None:
        """What comes of it; nothing if there was no room for it, which must be said with the file and the remedy."""
        try:
            return act()
        except recollect.StoreError as error:
            self.refusals += 1
            for words in (self.path.name, self.room.says):
                self.expect(words in str(error), f"{name}: {type(error).__name__}({error}) does not say {words!r}")
            return None

    def remember(self, text: str) -> bool:
        """Whether there was room for it."""
        receipt = self.attempt("remember", lambda: self.engine.remember(text, scope=SCOPE))
        if receipt is not None:
            self.acknowledged[receipt.id] = text
        return receipt is not None

    def fill(self) -> None:
        """Remember from several threads until nobody has room any more, and then in small pieces."""

        def work(name: int) -> None:
            number = refused = 0
            while refused < AGAIN:
                kept = self.remember(f"seat{name}x{number} is a seat " + "of the many that there are " * 20)
                number, refused = number + 1, 0 if kept else refused + 1
                if number % 4 == 3:
                    self.engine.recall("seat", scope=SCOPE, tokens=200)

        threads = [threading.Thread(target=work, args=(name,)) for name in range(THREADS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        number = refused = 0
        while refused < AGAIN:
            kept = self.remember(f"small{number} seat")
            number, refused = number + 1, 0 if kept else refused + 1

    def check(self, when: str) -> None:
        """What was acknowledged is there, and nothing else; it is found; row, terms and vector of each fit together."""
        there: dict[str, str] = {one.id: one.text for one in self.engine.memories(scope=SCOPE)}
        lost = [id for id, text in self.acknowledged.items() if there.get(id) != text]
        self.expect(not lost, f"{when}: {len(lost)} of {len(self.acknowledged)} acknowledged are lost, as {lost[:3]}")
        more = there.keys() - self.acknowledged.keys()
        self.expect(not more, f"{when}: {len(more)} are there that were refused, as {list(more)[:3]}")
        for id, text in list(self.acknowledged.items())[:: max(len(self.acknowledged) // 20, 1)]:
            word = text.split()[0]
            found = self.engine.search(word, scope=SCOPE, profile="search", limit=1)
            self.expect(found[0].id == id, f"{when}: {word!r} is not found by its own word")
        with self.room.elsewhere():
            report = recollect.verify(self.path)
        self.expect(report.ok, f"{when}: {report.problems}")
        self.expect(report.memories >= len(there), f"{when}: {report.memories} are in the file, {len(there)} are seen")

    def use(self) -> None:
        """Do everything there is to do while there is no room."""
        engine = self.engine
        first, second, third = list(self.acknowledged)[:3]
        self.expect(len(engine.search("seat", scope=SCOPE)) == 10, "a search finds too little")
        self.expect(len(engine.history(third, scope=SCOPE)) == 1, "a history tells of what never was")
        self.expect(bool(engine.recall("seat", scope=SCOPE).packed), "a recall has nothing to hand over")
        self.attempt("flush", engine.admin.flush)
        self.attempt("stats", engine.stats)
        lines = self.attempt("export", lambda: list(engine.export()))
        self.expect(lines is None or len(lines) > len(self.acknowledged), "an export lacks something")
        self.expect(self.attempt("export", lambda: list(engine.export())) is not None, "there is no export at all")
        copy = self.path.with_name(f"copy of {self.path.name}")
        self.attempt("backup", lambda: engine.admin.backup(copy))
        self.expect(not list(copy.parent.glob("*unfinished*")), "half a backup was left behind")
        if self.attempt("revise", lambda: engine.revise(second, "revised seat", scope=SCOPE)):
            self.acknowledged[second] = "revised seat"
        if self.attempt("forget", lambda: engine.forget(first, scope=SCOPE)):
            del self.acknowledged[first]
        erasure = self.attempt("erase", lambda: engine.erase(scope=SCOPE, id=third))
        if erasure is not None:
            del self.acknowledged[third]
            self.expect(erasure.proven or erasure.retryable, f"an erasure does not say what to do: {erasure}")

    def go_on(self) -> None:
        """Do what there was no room for, now that there is."""
        first, second, *_ = self.acknowledged
        for number in range(10):
            self.expect(self.remember(f"new{number} seat"), "nothing is remembered although there is room")
        self.engine.forget(first, scope=SCOPE)
        erasure = self.engine.erase(scope=SCOPE, id=second)
        self.expect(erasure.proven, f"what is gone is not proven to be: {erasure.search}")
        del self.acknowledged[first], self.acknowledged[second]
        self.engine.admin.flush()


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("room", choices=ROOMS)
    arguments.add_argument("folder", type=Path)
    chosen = arguments.parse_args()
    rig = Rig(chosen.folder / "agent.db", ROOMS[chosen.room](chosen.folder))
    rig.fill()
    written = len(rig.acknowledged)
    rig.check("when it is full")
    rig.use()
    rig.check("while it is full")
    rig.attempt("close", rig.engine.close)
    rig.engine = recollect.open(rig.path)  # which needs no room
    rig.check("when it is opened again")
    rig.room.make()
    rig.go_on()
    rig.check("when there is room again")
    rig.engine.close()
    print(f"{written} acknowledged, {rig.refusals} refused, {len(rig.problems)} problems", *rig.problems, sep="\n")
    sys.exit(1 if rig.problems else 0)


if __name__ == "__main__":
    main()
