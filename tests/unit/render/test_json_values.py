"""The JSON shape every face shares."""

import json
from dataclasses import fields, replace
from typing import Any, get_args

from hypothesis import given
from hypothesis import strategies as st

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
from recollect.model.enums import Kind, Status
from recollect.model.memory import MemoryId
from recollect.packing.budget import Budget
from recollect.packing.pack import pack
from recollect.packing.prompt import Prompt
from recollect.ranking.profiles import builtin_profile
from recollect.ranking.scorer import rank_candidates
from recollect.ranking.why import Barred, BelowMinimum, Fate, Gated, Outranked, Ranked, Unpacked, why_ranked
from recollect.render import json_values
from recollect.retrieval.eligibility import Barrier
from recollect.testing import NOW, a_candidate, a_memory, a_ranking
from tests.tables import table
from tests.unit.ranking.sample import SAMPLE


def test_a_ranking_is_plain_json_with_full_precision() -> None:
    ranking = rank_candidates([a_candidate("a", similarity=1 / 3), a_candidate("b", similarity=0.1)], SAMPLE, NOW)
    sent = json.loads(json.dumps(json_values.ranking_fields(ranking)))
    assert sent["results"][0]["score"] == float(ranking[0].score)
    assert sent["results"][0]["kind"] is None
    assert sent["excluded"] == {"gate:relevance": 1}
    assert sent["results"][0]["factors"] == [
        {"name": "newest", "value": 1.0, "times": 1.0, "assumed": True, "note": None}
    ]


@table(
    ("fate", "sent"),
    [
        (
            Gated("relevance", None, 0.15, {"dated": 0.9}),
            {"step": "gate", "signal": "relevance", "value": None, "at_least": 0.15, "or": {"dated": 0.9}},
        ),
        (
            Barred(Barrier.STATUS, Status.FORGOTTEN),
            {"step": "eligibility", "barrier": "status", "status": "forgotten", "superseded_by": None},
        ),
        (BelowMinimum(0.1), {"step": "min_score", "min_score": 0.1}),
        (Outranked(7, 5), {"step": "limit", "place": 7, "limit": 5}),
        (
            Unpacked("budget", 9, 5, 84),
            {"step": "pack", "reason": "budget", "cost": 9, "room": 5, "budget": 84, "smallest": True},
        ),
        (Ranked(3), {"step": "ranked", "place": 3}),
    ],
)
def test_every_fate_has_its_shape(fate: Fate, sent: dict[str, Any]) -> None:
    reason = replace(why_ranked("m", [a_candidate()], builtin_profile("session"), NOW), fate=fate)
    assert json_values.why_fields(reason)["fate"] == sent
    assert json_values.why_fields(reason)["id"] == "m"
    assert json_values.why_fields(reason)["score"] == reason.explanation.score


def test_a_change_has_its_shape() -> None:
    pool = [a_candidate("b", revisions=10), a_candidate("a", revisions=5)]
    reason = why_ranked("a", pool, builtin_profile("session"), NOW, limit=1)
    sent = {change["signal"]: change for change in json_values.why_fields(reason)["changes"]}
    needed = {change.signal: change.needed for change in reason.changes}
    assert sent["revisions"] == {
        "signal": "revisions",
        "value": 0.5,
        "needed": needed["revisions"],
        "means": "revisions at least 10",
    }


def test_a_memory_has_every_field_and_plain_values() -> None:
    memory = a_memory("m", kind=Kind.FACT, tags=("a",), metadata={"n": [1]}, importance=1 / 3)
    sent = json.loads(json.dumps(json_values.memory_fields(memory)))
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
    shown = {"id": "m", **sent, "redacted": ["private"], "memory": json_values.memory_fields(memory)}
    assert json_values.receipt_fields(Receipt(memory.id, verdict, memory, ("private",))) == shown


def test_of_what_was_not_kept_only_the_reason_is_told() -> None:
    sent: dict[str, Any] = {
        "id": None,
        "verdict": "refused",
        "reason": "why",
        "other": None,
        "redacted": [],
        "memory": None,
    }
    assert json_values.receipt_fields(Receipt(None, Refused("why"), None)) == sent


def test_every_verdict_is_shown() -> None:
    assert {one.__name__.lower() for one in get_args(Verdict)} == {shape["verdict"] for _, shape in SHAPES}


def test_usage_is_counts_with_their_usefulness() -> None:
    assert json_values.usage_fields(Usage(served=4, helped=1, last_served_at=NOW)) == {
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


def test_a_search_result_is_a_memory_with_its_score_and_what_gives_it() -> None:
    memory = a_memory("m")
    sent = json_values.search_fields(a_ranking([memory]))
    bare = json_values.ranking_fields(a_ranking([memory]))
    assert {name: sent[name] for name in bare if name != "results"} == {
        name: bare[name] for name in bare if name != "results"
    }
    (result,), (without,) = sent["results"], bare["results"]
    assert {name: result[name] for name in json_values.memory_fields(memory)} == json_values.memory_fields(memory)
    assert {name: result[name] for name in ("score", "parts", "factors")} == {
        name: without[name] for name in ("score", "parts", "factors")
    }
    assert "text" not in without


def test_a_context_has_what_is_in_it_and_what_was_left_out() -> None:
    ranking = a_ranking([a_memory("a"), a_memory("b", text="word " * 200)])
    context = replace(pack(ranking, Budget(150), Prompt("0123456789abcdef")), id="c1")
    (omitted,) = context.omitted
    sent = json.loads(json.dumps(json_values.context_fields(context)))
    assert sent.pop("packed") == json_values.search_fields(a_ranking([a_memory("a"), a_memory("b")]))["results"][:1]
    assert sent == {
        "id": "c1",
        "text": context.text,
        "tokens": context.tokens,
        "estimated": True,
        "budget": 150,
        "marker": "0123456789abcdef",
        "profile": "default",
        "version": builtin_profile("default").version,
        "at": "2026-01-01T00:00:00+00:00",
        "exact": True,
        "proof": {"stopped": "every", "scanned": 2, "eligible": 2, "why": "every eligible memory was scored"},
        "excluded": {},
        "omitted": [
            {
                "id": "b",
                "kind": "observation",
                "score": 0.5,
                "reason": "budget",
                "cost": omitted.cost,
                "room": omitted.room,
                "short": omitted.cost - omitted.room,
            }
        ],
    }


@given(st.text())
def test_a_line_of_json_says_the_same_and_cannot_steer_a_terminal(text: str) -> None:
    line = json_values.dump_line({"text": text})
    assert line.isprintable()
    assert json.loads(line) == {"text": text}
