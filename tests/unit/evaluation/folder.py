"""Folders of judgements that tests write: what is not said is as it should be."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

WRITTEN = "2026-01-01T00:00:00+00:00"
ASKED = "2026-02-01T00:00:00+00:00"


def a_memory(id: str, text: str = "Ana prefers window seats", **more: Any) -> dict[str, Any]:
    return {"id": id, "scope": "acme/ana", "text": text, "created_at": WRITTEN, **more}


def a_query(id: str, text: str = "which seat?", **more: Any) -> dict[str, Any]:
    return {"id": id, "scope": "acme/ana", "text": text, "asked_at": ASKED, "category": "seats", **more}


def write_folder(
    folder: Path,
    memories: Iterable[Mapping[str, Any]] = (a_memory("m"),),
    queries: Iterable[Mapping[str, Any]] = (a_query("q"),),
    qrels: Iterable[tuple[str, str, object]] = (("q", "m", 1),),
) -> Path:
    """The folder, with these in its three files."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "memories.jsonl").write_text("".join(f"{json.dumps(one)}\n" for one in memories), encoding="utf-8")
    (folder / "queries.jsonl").write_text("".join(f"{json.dumps(one)}\n" for one in queries), encoding="utf-8")
    rows = [("query", "memory", "grade"), *qrels]
    text = "".join("\t".join(map(str, row)) + "\n" for row in rows)
    (folder / "qrels.tsv").write_text(text, encoding="utf-8")
    return folder
