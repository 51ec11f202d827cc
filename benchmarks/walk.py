"""Walk: print the functions of recollect that one call of `recall` or `remember` passes, and count them.

The call runs on a small store with warm caches, so that the walk shows what each call does and not what the first one
loads. Comprehensions do not count as functions. Frames are those of recollect alone, on the thread they run on.
"""

import argparse
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import recollect
from recollect.evaluation.judgments import read_judgments

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src" / "recollect"
GATE = ROOT / "tests" / "gate" / "judgements"
ARITHMETIC = "ranking/curves.py"
"""The file with the formulas of single signals: nothing lies deeper in the ranking."""

FORMULAS = (".__call__", ".blend")
"""What computes there; the rest creates and checks options."""

MEMORIES = 60


@dataclass(frozen=True, slots=True)
class Step:
    """A function that was entered, and how many frames of recollect were below it."""

    file: str
    function: str
    depth: int
    thread: str


@dataclass(slots=True)
class Walk:
    """The functions that were entered, in order."""

    steps: list[Step] = field(default_factory=list[Step])
    depths: dict[int, int] = field(default_factory=dict[int, int])

    def follow(self, frame: FrameType, event: str, _: Any) -> None:
        """Record a function as it is entered, and count its frame until it is left."""
        code = frame.f_code
        if event not in ("call", "return") or not is_ours(code):
            return
        thread = threading.get_ident()
        depth = self.depths.get(thread, 0)
        if event == "call":
            self.depths[thread] = depth + 1
            file = Path(code.co_filename).relative_to(SOURCE).as_posix()
            self.steps.append(Step(file, code.co_qualname, depth + 1, threading.current_thread().name))
        else:
            self.depths[thread] = max(depth - 1, 0)

    @property
    def files(self) -> list[str]:
        """The files passed, in the order in which they were first entered."""
        return list(dict.fromkeys(step.file for step in self.steps))

    @property
    def functions(self) -> int:
        """How many different functions were entered."""
        return len({(step.file, step.function) for step in self.steps})

    @property
    def deepest(self) -> int:
        """The most frames at once."""
        return max((step.depth for step in self.steps), default=0)

    @property
    def frames_to_arithmetic(self) -> int | None:
        """The frames at the first formula of a signal, or None if none was computed."""
        formulas = (step for step in self.steps if step.file == ARITHMETIC and step.function.endswith(FORMULAS))
        return next((step.depth for step in formulas), None)

    @property
    def files_of_caller(self) -> list[str]:
        """The files passed on the thread that calls; others belong to the background writer."""
        return list(dict.fromkeys(step.file for step in self.steps if step.thread == self.steps[0].thread))

    @property
    def switches(self) -> int:
        """How often the next function is in another file."""
        return sum(one.file != other.file for one, other in zip(self.steps, self.steps[1:], strict=False))


def is_ours(code: CodeType) -> bool:
    """Return whether this is a function of recollect; a comprehension is part of its function."""
    return code.co_filename.startswith(str(SOURCE)) and not code.co_name.startswith("<")


@contextmanager
def walking() -> Iterator[Walk]:
    """Follow each thread that is started inside; the caller follows its own thread itself."""
    walk = Walk()
    threading.setprofile(walk.follow)
    try:
        yield walk
    finally:
        threading.setprofile(None)
        sys.setprofile(None)


def walk(name: str) -> Walk:
    """Return the walk of one call of this name."""
    judgments = read_judgments(GATE)
    scope = judgments.queries[0].scope
    drafts = [draft for draft in judgments.drafts if draft.scope == scope][: MEMORIES + 4]
    question = judgments.queries[0].text
    with tempfile.TemporaryDirectory(prefix="recollect-walk-") as folder, walking() as walk:
        clock = judgments.ended_at
        path = Path(folder) / "walk.db"
        with recollect.open(path, embedder="hashing", clock=lambda: clock) as engine:
            fresh = iter(drafts)
            engine.remember_all([next(fresh) for _ in range(len(drafts) - 4)])

            def remember() -> None:
                engine.remember_all([next(fresh)])

            def recall() -> None:
                engine.recall(question, scope=scope)

            calls: dict[str, Callable[[], None]] = {"recall": recall, "remember": remember}
            for _ in range(2):
                calls[name]()
                engine.admin.flush()
            walk.steps.clear()
            sys.setprofile(walk.follow)
            calls[name]()
            sys.setprofile(None)
            engine.admin.flush()
            return Walk(list(walk.steps))


def show(walk: Walk) -> str:
    """Return the walk as text: each function where it was first entered, indented by its depth."""
    lines: list[str] = []
    seen: set[tuple[str, str]] = set()
    main = walk.steps[0].thread
    for step in walk.steps:
        if (step.file, step.function) not in seen:
            seen.add((step.file, step.function))
            thread = "" if step.thread == main else f"  [{step.thread}]"
            lines.append(f"{'  ' * (step.depth - 1)}{step.file}  {step.function}{thread}")
    arithmetic = walk.frames_to_arithmetic
    lines += [
        "",
        f"files                 {len(walk.files)}",
        f"files of the caller   {len(walk.files_of_caller)}",
        f"functions             {walk.functions}",
        f"switches of file      {walk.switches}",
        f"deepest frame         {walk.deepest}",
        f"frames to arithmetic  {'-' if arithmetic is None else arithmetic}",
    ]
    return "\n".join(lines)


def main() -> None:
    """Print the walk of the call that is named."""
    parser = argparse.ArgumentParser(prog="scripts/walk", description=__doc__.split("\n")[0])
    parser.add_argument("call", choices=("recall", "remember"))
    print(show(walk(parser.parse_args().call)))


if __name__ == "__main__":
    main()
