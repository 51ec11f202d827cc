"""The JSON of rankings, contexts and explanations."""

import json
from dataclasses import replace
from typing import Any

from recollect.api import schemas
from recollect.model.enums import Status
from recollect.packing.budget import Budget
from recollect.packing.pack import pack
from recollect.packing.prompt import Prompt
from recollect.ranking.profiles import builtin_profile
from recollect.ranking.scorer import rank_candidates
from recollect.ranking.why import Barred, BelowMinimum, Fate, Gated, Outranked, Ranked, Unpacked, why_ranked
from recollect.retrieval.eligibility import Barrier
from recollect.testing import NOW, a_candidate, a_memory, a_ranking
from tests.tables import table
from tests.unit.ranking.sample import SAMPLE


def test_a_ranking_is_plain_json_with_full_precision() -> None:
    ranking = rank_candidates([a_candidate("a", similarity=1 / 3), a_candidate("b", similarity=0.1)], SAMPLE, NOW)
    sent = json.loads(json.dumps(schemas.recall.CandidateRanking.of(ranking).to_json()))
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
    assert schemas.recall.Why.of(reason).to_json()["fate"] == sent
    assert schemas.recall.Why.of(reason).to_json()["id"] == "m"
    assert schemas.recall.Why.of(reason).to_json()["score"] == reason.explanation.score


def test_a_change_has_its_shape() -> None:
    pool = [a_candidate("b", revisions=10), a_candidate("a", revisions=5)]
    reason = why_ranked("a", pool, builtin_profile("session"), NOW, limit=1)
    sent = {change["signal"]: change for change in schemas.recall.Why.of(reason).to_json()["changes"]}
    needed = {change.signal: change.needed for change in reason.changes}
    assert sent["revisions"] == {
        "signal": "revisions",
        "value": 0.5,
        "needed": needed["revisions"],
        "means": "revisions at least 10",
    }


def test_a_search_result_is_a_memory_with_its_score_and_what_gives_it() -> None:
    memory = a_memory("m")
    sent = schemas.recall.Ranking.of(a_ranking([memory])).to_json()
    bare = schemas.recall.CandidateRanking.of(a_ranking([memory])).to_json()
    (result,), (without,) = sent.pop("results"), bare.pop("results")
    assert sent == bare
    assert {name: without.pop(name) for name in ("id", "kind")} == {"id": "m", "kind": "observation"}
    assert result == {**schemas.memories.Memory.of(memory).to_json(), **without}


def test_a_context_has_what_is_in_it_and_what_was_left_out() -> None:
    ranking = a_ranking([a_memory("a"), a_memory("b", text="word " * 200)])
    context = replace(pack(ranking, Budget(150), Prompt("0123456789abcdef")), id="c1")
    (omitted,) = context.omitted
    sent = json.loads(json.dumps(schemas.recall.Context.of(context).to_json()))
    assert (
        sent.pop("packed")
        == schemas.recall.Ranking.of(a_ranking([a_memory("a"), a_memory("b")])).to_json()["results"][:1]
    )
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
