"""A script: who says what when, and who asks what of it; written down as a folder of judgements."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from random import Random
from typing import Any, TypeVar

T = TypeVar("T")


class Dice:
    """Choices that a seed decides, the same in every version of Python: of `Random`, only `random` is promised so."""

    def __init__(self, seed: str) -> None:
        self._random = Random(seed)

    def below(self, count: int) -> int:
        """A number from 0 until just below the count."""
        return int(self._random.random() * count)

    def pick(self, these: Sequence[T]) -> T:
        """One of these."""
        return these[self.below(len(these))]

    def shuffled(self, these: Iterable[T]) -> list[T]:
        """All of these in another order."""
        left = list(these)
        return [left.pop(self.below(len(left))) for _ in range(len(left))]

    def some(self, these: Iterable[T], count: int) -> list[T]:
        """So many different ones of these."""
        return self.shuffled(these)[:count]


@dataclass(frozen=True, eq=False)
class Line:
    """What somebody said, or a fact that nobody did; the same words in another place are another line."""

    text: str
    speaker: str | None = None
    importance: float | None = None


@dataclass(frozen=True, eq=False)
class Session:
    """What was said in one go, from a moment on. What is only noted is all of that moment, and no conversation."""

    at: datetime
    lines: Sequence[Line]
    noted: bool = False


@dataclass(frozen=True, slots=True)
class Ask:
    """A question of a category at a moment, and the lines that answer it."""

    category: str
    text: str
    answers: Sequence[Line]
    at: datetime


@dataclass(frozen=True, slots=True)
class Script:
    """All that was said in one scope, and all that is asked of it."""

    scope: str
    sessions: Sequence[Session]
    asks: Sequence[Ask]
    prefixed: bool = False
    """Whether the text of a memory begins with the name of whoever said it."""

    def written(self) -> tuple[list[dict[str, Any]], list[dict[str, Any]], list[tuple[str, str, int]]]:
        """The memories in the order of their moments, the queries, and which memories each of these needs."""
        memories: list[dict[str, Any]] = []
        ids: dict[Line, str] = {}
        for number, session in enumerate(sorted(self.sessions, key=lambda one: one.at), 1):
            for place, line in enumerate(session.lines):
                ids[line] = f"{self.scope}-m{len(memories) + 1:03}"
                memories.append({"id": ids[line], "scope": self.scope, **self._said(session, number, place)})
        queries, grades = list[dict[str, Any]](), list[tuple[str, str, int]]()
        for number, ask in enumerate(sorted(self.asks, key=lambda one: (one.category, one.at, one.text)), 1):
            id = f"{self.scope}-q{number:03}"
            asked = {"text": ask.text, "asked_at": ask.at.isoformat(), "category": ask.category}
            queries.append({"id": id, "scope": self.scope, **asked})
            grades += [(id, memory, 1) for memory in sorted(ids[line] for line in ask.answers)]
        return memories, queries, grades

    def _said(self, session: Session, number: int, place: int) -> dict[str, Any]:
        line = session.lines[place]
        after = timedelta() if session.noted else timedelta(minutes=place)
        said: Mapping[str, Any] = {
            "text": f"{line.speaker}: {line.text}" if self.prefixed and line.speaker else line.text,
            "created_at": (session.at + after).isoformat(),
            "session": None if session.noted else f"{self.scope}-s{number:02}",
            "speaker": line.speaker,
            "importance": line.importance,
        }
        return {name: value for name, value in said.items() if value is not None}


def files(scripts: Iterable[Script]) -> dict[str, str]:
    """The files of a folder of judgements, by name."""
    memories, queries, grades = list[str](), list[str](), ["query\tmemory\tgrade"]
    for script in scripts:
        told, asked, judged = script.written()
        memories += [json.dumps(one, ensure_ascii=False) for one in told]
        queries += [json.dumps(one, ensure_ascii=False) for one in asked]
        grades += ["\t".join(map(str, one)) for one in judged]
    written = {"memories.jsonl": memories, "queries.jsonl": queries, "qrels.tsv": grades}
    return {name: "".join(f"{line}\n" for line in lines) for name, lines in written.items()}
