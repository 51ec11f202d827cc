"""Somebody who may only read a store: run as a program, it does all there is to do and says what came of it, as JSON.

After the first time it waits for a line, and does the same again with the engine that it has open.
"""

import json
import sys
import tempfile
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import recollect

SCOPE = "acme/ana"
QUESTION = "which seat?"


def an_engine(path: Path) -> recollect.Engine:
    """The engine of a store, at a moment that is always the same."""
    return recollect.open(path, embedder="hashing", clock=lambda: datetime(2026, 1, 1, tzinfo=UTC))


def looked(engine: recollect.Engine) -> dict[str, Any]:
    """What reading gives."""
    ranking = engine.search(QUESTION, scope=SCOPE)
    ids = [one.id for one in engine.memories(scope=SCOPE)]
    return {
        "search": [[one.id, float(one.score).hex()] for one in ranking],
        "memories": ids,
        "why": type(engine.why(ids[0], QUESTION, scope=SCOPE).fate).__name__,
        "history": [[version.text for version in engine.history(id, scope=SCOPE)] for id in ids],
        "usage": [engine.contexts.usage(id, scope=SCOPE).served for id in ids],
        "stats": engine.stats().memories,
        "export": list(engine.export()),
        "replay": [engine.contexts.replay(context, scope=SCOPE).identical for context in _contexts(engine)],
        "recall": [one.id for one in engine.recall(QUESTION, scope=SCOPE).packed],
    }


def _contexts(engine: recollect.Engine) -> list[str]:
    """The ids of all contexts that were kept."""
    return [line["context"]["id"] for line in map(json.loads, engine.export()) if "context" in line]


def refused(engine: recollect.Engine, id: str) -> dict[str, str]:
    """What is said to who would write."""
    acts: dict[str, Callable[[], object]] = {
        "remember": lambda: engine.remember("something new", scope=SCOPE),
        "revise": lambda: engine.revise(id, "something else", scope=SCOPE),
        "forget": lambda: engine.forget(id, scope=SCOPE),
        "pin": lambda: engine.pin(id, scope=SCOPE),
        "erase": lambda: engine.erase(scope=SCOPE, id=id),
        "import": lambda: engine.import_(list(engine.export())),
    }
    return {name: outcome(act) for name, act in acts.items()}


def outcome(act: Callable[[], object]) -> str:
    try:
        return f"gave {act()}"
    except recollect.RecollectError as error:
        return f"{type(error).__name__}: {error}"


def say(value: object) -> None:
    print(json.dumps(value), flush=True)  # noqa: T201 — how it talks to the test


def main() -> None:
    path = Path(sys.argv[1])
    try:
        engine = an_engine(path)
    except recollect.RecollectError as error:
        say({"open": f"{type(error).__name__}: {error}"})
        return
    with engine, tempfile.TemporaryDirectory() as folder:
        seen = looked(engine)
        say(
            {
                **seen,
                "refused": refused(engine, seen["memories"][0]),
                "context": engine.recall(QUESTION, scope=SCOPE).id,
                "served": outcome(lambda: engine.contexts.count_served(seen["memories"], scope=SCOPE)),
                "feedback": outcome(lambda: engine.feedback(None, scope=SCOPE)),  # type: ignore[arg-type]
                "key": outcome(lambda: engine.remember("a seat by the window", scope=SCOPE, key="seat").id),
                "verify": recollect.verify(path).ok,
                "backup": recollect.verify(engine.admin.backup(Path(folder) / "copy.db")).ok,
            }
        )
        while sys.stdin.readline():
            say({"again": outcome(lambda: looked(engine)["memories"])})


if __name__ == "__main__":
    main()
