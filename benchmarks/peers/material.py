"""Material: memories and questions with their vectors, as files that every driver reads."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float32]
Matrix = NDArray[np.float32]


def unit(rows: NDArray[np.floating]) -> Matrix:
    """The same directions, each of length one."""
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), dtype=np.float32)


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """One memory as every peer is given it; `details` are what its folder says besides, as the session."""

    id: str
    scope: str
    text: str
    at: datetime
    vector: Vector
    details: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One question; with a moment, only memories up to then may answer it."""

    id: str
    scope: str
    text: str
    at: datetime | None
    vector: Vector


@dataclass(frozen=True, slots=True, kw_only=True)
class Wording:
    """A question as somebody would put it whom it names; `question` is its id."""

    text: str
    question: str
    vector: Vector


@dataclass(frozen=True, slots=True)
class Material:
    """What is remembered and what is asked, in which other words too, and which model the vectors are from."""

    model: str
    memories: Sequence[Said]
    questions: Sequence[Asked]
    wordings: Sequence[Wording] = ()


def write(folder: Path, material: Material) -> None:
    """Keep the material in a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "model.txt").write_text(material.model, encoding="utf-8")
    np.save(folder / "memories.npy", np.stack([one.vector for one in material.memories]))
    np.save(folder / "questions.npy", np.stack([one.vector for one in material.questions]))
    width = len(material.questions[0].vector)
    np.save(folder / "wordings.npy", np.reshape([one.vector for one in material.wordings], (-1, width)))
    _write_lines(
        folder / "memories.jsonl",
        (
            {"id": one.id, "scope": one.scope, "text": one.text, "at": one.at.isoformat(), "details": dict(one.details)}
            for one in material.memories
        ),
    )
    _write_lines(
        folder / "questions.jsonl",
        (
            {"id": one.id, "scope": one.scope, "text": one.text, "at": one.at and one.at.isoformat()}
            for one in material.questions
        ),
    )
    _write_lines(folder / "wordings.jsonl", ({"text": one.text, "question": one.question} for one in material.wordings))


def read(folder: Path, rows: int | None = None) -> Material:
    """The material of a folder; with `rows`, only so many of its memories."""
    vectors = np.array(np.load(folder / "memories.npy", mmap_mode="r")[:rows])
    asked = np.load(folder / "questions.npy")
    memories = [
        Said(**{**line, "at": datetime.fromisoformat(line["at"])}, vector=vector)
        for line, vector in zip(islice(_lines(folder / "memories.jsonl"), rows), vectors, strict=True)
    ]
    questions = [
        Asked(**{**line, "at": line["at"] and datetime.fromisoformat(line["at"])}, vector=vector)
        for line, vector in zip(_lines(folder / "questions.jsonl"), asked, strict=True)
    ]
    put = zip(_lines(folder / "wordings.jsonl"), np.load(folder / "wordings.npy"), strict=True)
    wordings = [Wording(**line, vector=vector) for line, vector in put]
    return Material((folder / "model.txt").read_text(encoding="utf-8"), memories, questions, wordings)


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)


def _write_lines(path: Path, values: Iterator[dict[str, Any]]) -> None:
    with path.open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(value, ensure_ascii=False) + "\n" for value in values)
