"""The one JSON shape that every face and client shares; full precision, nothing rounded."""

from typing import Any, assert_never

from recollect.ranking.explanation import Explanation
from recollect.ranking.result import Ranking, Scored
from recollect.ranking.why import BelowMinimum, Change, Fate, Gated, Outranked, Ranked, Unpacked, Why


def ranking(ranking: Ranking) -> dict[str, Any]:
    """A ranking, best first, each result with the parts and factors that give its score."""
    return {
        "profile": ranking.profile,
        "version": ranking.version,
        "at": ranking.at.isoformat(),
        "exact": ranking.exact,
        "excluded": dict(ranking.excluded),
        "results": [_scored(scored) for scored in ranking],
    }


def why(why: Why) -> dict[str, Any]:
    """Where a candidate stands or fell, and what would have put it in."""
    return {
        "id": why.id,
        "fate": _fate(why.fate),
        "score": why.explanation.score,
        **_explanation(why.explanation),
        "changes": [_change(change) for change in why.changes],
    }


def _scored(scored: Scored) -> dict[str, Any]:
    kind = scored.candidate.kind
    return {
        "id": scored.id,
        "kind": None if kind is None else kind.value,
        "score": float(scored.score),
        **_explanation(scored.explanation),
    }


def _explanation(explanation: Explanation) -> dict[str, Any]:
    parts = [
        {
            "signal": part.signal,
            "value": part.value,
            "weight": part.weight,
            "points": part.points,
            "assumed": part.assumed,
            "note": part.note,
        }
        for part in explanation.parts
    ]
    factors = [
        {
            "name": scale.factor,
            "value": scale.value,
            "times": scale.times,
            "assumed": scale.assumed,
            "note": scale.note,
        }
        for scale in explanation.scales
    ]
    return {"parts": parts, "factors": factors}


def _fate(fate: Fate) -> dict[str, Any]:
    match fate:
        case Gated(signal, value, at_least):
            return {"step": "gate", "signal": signal, "value": value, "at_least": at_least}
        case BelowMinimum(min_score):
            return {"step": "min_score", "min_score": min_score}
        case Outranked(place, limit):
            return {"step": "limit", "place": place, "limit": limit}
        case Unpacked(reason, cost, room, budget, smallest):
            needed = {"budget": budget, "smallest": smallest}
            return {"step": "pack", "reason": reason, "cost": cost, "room": room, **needed}
        case Ranked(place):
            return {"step": "ranked", "place": place}
        case _ as unknown:
            assert_never(unknown)


def _change(change: Change) -> dict[str, Any]:
    return {
        "signal": change.signal,
        "value": change.value,
        "needed": change.needed,
        "means": change.means,
    }
