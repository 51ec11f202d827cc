"""The JSON shape every face shares."""

import json
from dataclasses import replace
from typing import Any

import pytest

from recollect.ranking.profiles import built_in
from recollect.ranking.scorer import rank
from recollect.ranking.why import BelowMinimum, Fate, Gated, Outranked, Ranked, Unpacked, why_ranked
from recollect.render import wire
from recollect.testing import NOW, a_candidate


def test_a_ranking_is_plain_json_with_full_precision() -> None:
    ranking = rank([a_candidate("a", similarity=1 / 3), a_candidate("b", similarity=0.1)], built_in("default"), NOW)
    sent = json.loads(json.dumps(wire.ranking(ranking)))
    assert sent["results"][0]["score"] == float(ranking[0].score)
    assert sent["results"][0]["kind"] is None
    assert sent["excluded"] == {"gate:relevance": 1}
    assert sent["results"][0]["factors"] == [
        {"name": "newest", "value": 1.0, "times": 1.0, "assumed": True, "note": None}
    ]


@pytest.mark.parametrize(
    ("fate", "sent"),
    [
        (
            Gated("relevance", None, 0.15),
            {"step": "gate", "signal": "relevance", "value": None, "at_least": 0.15},
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
    reason = replace(why_ranked("m", [a_candidate()], built_in("session"), NOW), fate=fate)
    assert wire.why(reason)["fate"] == sent
    assert wire.why(reason)["id"] == "m"
    assert wire.why(reason)["score"] == reason.explanation.score


def test_a_change_has_its_shape() -> None:
    pool = [a_candidate("b", revisions=10), a_candidate("a", revisions=5)]
    reason = why_ranked("a", pool, built_in("session"), NOW, limit=1)
    sent = {change["signal"]: change for change in wire.why(reason)["changes"]}
    needed = {change.signal: change.needed for change in reason.changes}
    assert sent["revisions"] == {
        "signal": "revisions",
        "value": 0.5,
        "needed": needed["revisions"],
        "means": "revisions at least 10",
    }
