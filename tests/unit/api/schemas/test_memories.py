"""The JSON of memories and receipts."""

import json
from dataclasses import fields
from typing import Any, get_args

from recollect.api import schemas
from recollect.model.context import Usage
from recollect.model.draft import (
    Changed,
    Created,
    Outdated,
    Quarantined,
    Reactivated,
    Receipt,
    Refused,
    Reinforced,
    Superseded,
    Unchanged,
    Unindexed,
    Updated,
    Verdict,
)
from recollect.model.enums import Kind
from recollect.model.memory import MemoryId
from recollect.testing import NOW, a_memory
from tests.tables import table


def test_a_memory_has_every_field_and_plain_values() -> None:
    memory = a_memory("m", kind=Kind.FACT, tags=("a",), metadata={"n": [1]}, importance=1 / 3)
    sent = json.loads(json.dumps(schemas.memories.Memory.of(memory).to_json()))
    assert set(sent) == {field.name for field in fields(memory)}
    named = {name: sent[name] for name in ("id", "scope", "kind", "tags", "metadata", "created_at", "status")}
    assert named == {
        "id": "m",
        "scope": "acme/ana",
        "kind": "fact",
        "tags": ["a"],
        "metadata": {"n": [1]},
        "created_at": "2026-01-01T00:00:00+00:00",
        "status": "active",
    }
    assert (sent["importance"], sent["title"]) == (1 / 3, None)


SHAPES: list[tuple[Verdict, dict[str, Any]]] = [
    (Created(), {"verdict": "created"}),
    (Updated(3, MemoryId("o")), {"verdict": "updated", "revision": 3, "instead_of": "o"}),
    (Reinforced(MemoryId("m")), {"verdict": "reinforced", "twin": "m", "reason": "the same words"}),
    (Superseded(MemoryId("o"), "why"), {"verdict": "superseded", "old": "o", "reason": "why"}),
    (Outdated(MemoryId("n"), "why"), {"verdict": "outdated", "newer": "n", "reason": "why"}),
    (Reactivated("forgotten"), {"verdict": "reactivated", "was": "forgotten", "instead_of": None}),
    (Unindexed(MemoryId("t"), "why"), {"verdict": "unindexed", "twin": "t", "reason": "why"}),
    (Quarantined("why"), {"verdict": "quarantined", "reason": "why", "other": None}),
    (Refused("why", MemoryId("t")), {"verdict": "refused", "reason": "why", "other": "t"}),
    (Changed("pinned"), {"verdict": "changed", "to": "pinned", "instead_of": None}),
    (Unchanged(), {"verdict": "unchanged"}),
]


@table(("verdict", "sent"), SHAPES)
def test_every_verdict_has_its_shape(verdict: Verdict, sent: dict[str, Any]) -> None:
    memory = a_memory("m")
    shown = {"id": "m", **sent, "redacted": ["private"], "memory": schemas.memories.Memory.of(memory).to_json()}
    assert schemas.memories.Receipt.of(Receipt(memory.id, verdict, memory, ("private",))).to_json() == shown


def test_of_what_was_not_kept_only_the_reason_is_told() -> None:
    sent: dict[str, Any] = {
        "id": None,
        "verdict": "refused",
        "reason": "why",
        "other": None,
        "redacted": [],
        "memory": None,
    }
    assert schemas.memories.Receipt.of(Receipt(None, Refused("why"), None)).to_json() == sent


def test_every_verdict_is_shown() -> None:
    assert {one.__name__.lower() for one in get_args(Verdict)} == {shape["verdict"] for _, shape in SHAPES}


def test_usage_is_counts_with_their_usefulness() -> None:
    assert schemas.memories.Usage.of(Usage(served=4, helped=1, last_served_at=NOW)).to_json() == {
        "served": 4,
        "helped": 1,
        "misled": 0,
        "echoed": 0,
        "quoted": 0,
        "followed": 0,
        "last_served_at": "2026-01-01T00:00:00+00:00",
        "last_echoed_at": None,
        "usefulness": 2 / 3,
    }
