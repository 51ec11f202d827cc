"""Judgements: a folder of memories, questions and which memories answer which question."""

import csv
import json
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np

from peers.material import Asked, Material, Said, unit
from recollect.ports import Embedder

DETAILS = ("kind", "session", "speaker", "project")
"""What a folder may say of a memory besides its text; every peer that keeps metadata is given it."""

Grades = Mapping[str, Mapping[str, int]]
"""Of each question, the memories that answer it and how well."""


@dataclass(frozen=True, slots=True)
class Judgements:
    """A folder of them by its name."""

    name: str
    memories: list[dict[str, Any]]
    queries: list[dict[str, Any]]
    grades: Grades


def read(folder: Path) -> Judgements:
    """The judgements in a folder."""
    grades: dict[str, dict[str, int]] = defaultdict(dict)
    with (folder / "qrels.tsv").open(encoding="utf-8", newline="") as lines:
        for line in csv.DictReader(lines, delimiter="\t"):
            grades[line["query"]][line["memory"]] = int(line["grade"])
    memories, queries = (_lines(folder / name) for name in ("memories.jsonl", "queries.jsonl"))
    return Judgements(folder.resolve().name, memories, queries, dict(grades))


def embedded(judgements: Judgements, embedder: Embedder) -> Material:
    """The judgements' memories and questions with their vectors."""
    said = unit(np.asarray(embedder.embed([one["text"] for one in judgements.memories], "memory")))
    asked = unit(np.asarray(embedder.embed([one["text"] for one in judgements.queries], "query")))
    memories = [
        Said(
            id=one["id"],
            scope=one["scope"],
            text=one["text"],
            at=datetime.fromisoformat(one["created_at"]),
            vector=vector,
            details={name: one[name] for name in DETAILS if one.get(name) is not None},
        )
        for one, vector in zip(judgements.memories, said, strict=True)
    ]
    questions = [
        Asked(
            id=one["id"],
            scope=one["scope"],
            text=one["text"],
            at=datetime.fromisoformat(one["asked_at"]),
            vector=vector,
        )
        for one, vector in zip(judgements.queries, asked, strict=True)
    ]
    return Material(embedder.name, memories, questions)


def _lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
