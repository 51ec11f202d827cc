"""The JSON fields of answers, shared by all transports; full precision, nothing rounded.

Memories, rankings, contexts and the results for a whole store come first, then what is made of memories: episodes,
timelines, topics, extractions, purges and the runs of plans.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from datetime import datetime
from enum import StrEnum
from typing import Any, assert_never

from recollect.lifecycle.episodes import FailureMode, Similar
from recollect.model.archive import ErasureReceipt, ImportReport, Stats, VerifyReport
from recollect.model.context import Noted, Usage
from recollect.model.conversation import Extraction
from recollect.model.draft import Receipt
from recollect.model.encoder import Encoder
from recollect.model.enums import Index
from recollect.model.episode import Action, Episode
from recollect.model.memory import Memory
from recollect.model.plan import Job, Plan, Purge, Run, UndoReport
from recollect.model.scope import Scope
from recollect.model.timeline import Entity, EntityNeighbors, GripExpansion, TimelineNode, TimelinePage, Topic
from recollect.packing.pack import Context, Omitted, Replay
from recollect.ranking.explanation import Explanation
from recollect.ranking.result import Proof, Ranking, Scored
from recollect.ranking.why import Barred, BelowMinimum, Gated, Outranked, Ranked, SignalChange, Unpacked, Why

MAX_FOUR_DIGIT_CODE = 0xFFFF
"""The last character that JSON escapes as one \\u and four digits."""


def dump_line(value: Any) -> str:
    """Return a value as one line of JSON, with characters that could control a terminal escaped."""
    line = json.dumps(value, ensure_ascii=False)
    if line.isprintable():
        return line
    return "".join(one if one.isprintable() else _escape_character(one) for one in line)


def memory_fields(memory: Memory) -> dict[str, Any]:
    """Return a memory as JSON fields, with everything but its usage."""
    return {one.name: _to_json(getattr(memory, one.name)) for one in fields(memory)}


def replacement_fields(memory: Memory | None) -> dict[str, Any] | None:
    """Return the id and text of the memory that replaced another."""
    return None if memory is None else {"id": memory.id, "text": memory.text}


def usage_fields(usage: Usage) -> dict[str, Any]:
    """Return the usage of a memory as JSON fields."""
    counts = {one.name: _to_json(getattr(usage, one.name)) for one in fields(usage)}
    return {**counts, "usefulness": usage.usefulness}


def receipt_fields(receipt: Receipt) -> dict[str, Any]:
    """Return the verdict on a write as JSON fields, with the resulting memory if one is kept."""
    is_kept, verdict = receipt.kept, receipt.verdict
    return {
        "id": receipt.id if is_kept else None,
        "verdict": type(verdict).__name__.lower(),
        **{one.name: getattr(verdict, one.name) for one in fields(verdict)},
        "redacted": list(receipt.redacted),
        "memory": memory_fields(receipt.memory) if is_kept else None,
    }


def ranking_fields(ranking: Ranking) -> dict[str, Any]:
    """Return a ranking as JSON fields, best first, with explanations and without texts."""
    return {**_ranking_header(ranking), "results": [_scored_fields(scored) for scored in ranking]}


def search_fields(ranking: Ranking) -> dict[str, Any]:
    """Return search results as JSON fields, best first, with memories and explanations."""
    return {**_ranking_header(ranking), "results": [_scored_memory_fields(scored) for scored in ranking]}


def context_fields(context: Context) -> dict[str, Any]:
    """Return a context as JSON fields: its text, the memories in it, and what was left out."""
    return {
        "id": context.id,
        "text": context.text,
        "tokens": context.tokens,
        "estimated": context.estimated,
        "budget": context.budget.tokens,
        "marker": context.marker,
        **_ranking_header(context.ranking),
        "packed": [_scored_memory_fields(scored) for scored in context.packed],
        "omitted": [_omitted_fields(one) for one in context.omitted],
    }


def why_fields(why: Why) -> dict[str, Any]:
    """Return why a candidate was or was not returned as JSON fields, and what would change that."""
    return {
        "id": why.id,
        "fate": _fate_fields(why),
        "score": why.explanation.score,
        **explanation_fields(why.explanation),
        "changes": [_change_fields(change) for change in why.changes],
    }


def explanation_fields(explanation: Explanation) -> dict[str, Any]:
    """Return the parts and factors of a score as JSON fields."""
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


def feedback_fields(
    noted: Noted, context: str, scope: Scope | str, *, helped: Iterable[str], misled: Iterable[str]
) -> dict[str, Any]:
    """Return feedback on a context as JSON fields, with what the store noted."""
    votes = {"helped": list(helped), "misled": list(misled)}
    return {"context": context, "scope": str(scope), **votes, "quoted": list(noted.quoted), "remark": noted.remark}


def erasure_fields(erasure: ErasureReceipt) -> dict[str, Any]:
    """Return an erasure as JSON fields: what was erased, searched, found, and is out of reach."""
    search = {one.name: _to_json(getattr(erasure.search, one.name)) for one in fields(erasure.search)}
    del search["out_of_reach"]  # the receipt itself lists these, with the copies
    return {
        "scope": str(erasure.scope),
        "ids": list(erasure.ids),
        "memories": erasure.memories,
        "versions": erasure.versions,
        "vectors": erasure.vectors,
        "uses": erasure.uses,
        "votes": erasure.votes,
        "keys": erasure.keys,
        "checkpoints": erasure.checkpoints,
        "contexts": erasure.contexts,
        "restored": list(erasure.restored),
        "made_of": list(erasure.made_of),
        "proven": erasure.proven,
        "retryable": erasure.retryable,
        "search": search,
        "out_of_reach": list(erasure.out_of_reach),
    }


def stats_fields(stats: Stats) -> dict[str, Any]:
    """Return the statistics of a store as JSON fields."""
    return {
        "memories": stats.memories,
        "statuses": {status.value: count for status, count in stats.statuses.items()},
        "kinds": {kind.value: count for kind, count in stats.kinds.items()},
        "scopes": stats.scopes,
        "largest": [{"scope": str(scope), "memories": count} for scope, count in stats.largest],
        "versions": stats.versions,
        "contexts": stats.contexts,
        "uses": {use.value: count for use, count in stats.uses.items()},
        "unembedded": stats.unembedded,
        "embedder": _encoder_fields(stats.encoder),
        "analyser": stats.analyser,
        "schema": stats.schema,
        "bytes": stats.bytes,
    }


def import_fields(imported: ImportReport) -> dict[str, Any]:
    """Return the result of an import as JSON fields."""
    return {
        "memories": imported.memories,
        "contexts": imported.contexts,
        "skipped": imported.skipped,
        "re_embedded": _encoder_fields(imported.re_embedded),
    }


def report_fields(report: VerifyReport) -> dict[str, Any]:
    """Return the result of a verification as JSON fields: the content and all problems."""
    return {
        "path": report.path,
        "ok": report.ok,
        "problems": list(report.problems),
        "bytes": report.bytes,
        "sealed": report.sealed,
        "schema": report.schema,
        "embedder": _encoder_fields(report.encoder),
        "memories": report.memories,
        "versions": report.versions,
        "contexts": report.contexts,
        "recalled": report.recalled,
    }


def _encoder_fields(encoder: Encoder | None) -> dict[str, Any] | None:
    return None if encoder is None else {"name": encoder.name, "dimensions": encoder.dimensions}


def _escape_character(character: str) -> str:
    code = ord(character)
    return f"\\u{code:04x}" if code <= MAX_FOUR_DIGIT_CODE else json.dumps(character)[1:-1]


def _to_json(value: Any) -> Any:
    match value:
        case StrEnum():
            return value.value
        case None | str() | int() | float():
            return value
        case datetime():
            return value.isoformat()
        case Scope():
            return str(value)
        case tuple():
            return list(value)
        case Mapping():
            return dict(value)
        case _:
            return value


def _ranking_header(ranking: Ranking) -> dict[str, Any]:
    return {
        "profile": ranking.profile,
        "version": ranking.version,
        "at": ranking.at.isoformat(),
        "exact": ranking.exact,
        "proof": _proof_fields(ranking.proof),
        "excluded": dict(ranking.excluded),
    }


def _proof_fields(proof: Proof) -> dict[str, Any]:
    return {
        "stopped": proof.stopped.value,
        "scanned": proof.scanned,
        "eligible": proof.eligible,
        "why": proof.why,
    }


def _scored_fields(scored: Scored) -> dict[str, Any]:
    kind = scored.candidate.kind
    return {
        "id": scored.id,
        "kind": None if kind is None else kind.value,
        "score": float(scored.score),
        **explanation_fields(scored.explanation),
    }


def _scored_memory_fields(scored: Scored) -> dict[str, Any]:
    return {**memory_fields(scored.memory), "score": float(scored.score), **explanation_fields(scored.explanation)}


def _omitted_fields(one: Omitted) -> dict[str, Any]:
    return {
        "id": one.scored.id,
        "kind": one.scored.memory.kind.value,
        "score": float(one.scored.score),
        "reason": one.reason.value,
        "cost": one.cost,
        "room": one.room,
        "short": one.short,
    }


def _fate_fields(why: Why) -> dict[str, Any]:
    match why.fate:
        case Barred(barrier, status):
            details = {"barrier": barrier.value, "status": status.value, "superseded_by": why.superseded_by}
            return {"step": "eligibility", **details}
        case Gated(signal, value, at_least, otherwise):
            return {"step": "gate", "signal": signal, "value": value, "at_least": at_least, "or": dict(otherwise)}
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


def _change_fields(change: SignalChange) -> dict[str, Any]:
    return {
        "signal": change.signal,
        "value": change.value,
        "needed": change.needed,
        "means": change.means,
    }


def episode_fields(episode: Episode) -> dict[str, Any]:
    """Return an episode as JSON fields, without its actions."""
    outcome = episode.outcome
    return {
        "id": episode.id,
        "scope": str(episode.scope),
        "task": episode.task,
        "plan": list(episode.plan),
        "session": episode.session,
        "started_at": episode.started_at.isoformat(),
        "status": episode.status.value,
        "pinned": episode.pinned,
        "finished": episode.finished,
        "outcome": None
        if outcome is None
        else {
            "score": outcome.score,
            "lessons": list(outcome.lessons),
            "failure_modes": list(outcome.failure_modes),
            "at": outcome.at.isoformat(),
        },
        "value": episode.value,
        "contexts": list(episode.contexts),
    }


def full_episode_fields(episode: Episode) -> dict[str, Any]:
    """Return an episode as JSON fields, with its actions."""
    return {**episode_fields(episode), "actions": [_action_fields(one) for one in episode.actions]}


def completed_episode_fields(episode: Episode) -> dict[str, Any]:
    """Return an episode that was just completed as JSON fields, with receipts for its lessons."""
    receipts = [receipt_fields(one) for one in episode.receipts]
    return {**full_episode_fields(episode), "receipts": receipts, "run": episode.run, "again": episode.again}


def similar_episode_fields(one: Similar) -> dict[str, Any]:
    """Return an episode of a similar task as JSON fields, with its score and explanation."""
    return {**episode_fields(one.episode), "score": one.score, **explanation_fields(one.explanation)}


def failure_mode_fields(one: FailureMode) -> dict[str, Any]:
    """Return a failure of similar tasks as JSON fields, with its score and explanation."""
    failure = {"text": one.text, "episodes": list(one.episodes)}
    return {**failure, "score": one.score, **explanation_fields(one.explanation)}


def _action_fields(action: Action) -> dict[str, Any]:
    return {
        "id": action.id,
        "type": action.type,
        "input": action.input,
        "output": action.output,
        "result": action.result.value,
        "at": action.at.isoformat(),
        "context": action.context,
    }


def timeline_fields(page: TimelinePage) -> dict[str, Any]:
    """Return a timeline node and its children as JSON fields."""
    return {
        "place": None if page.place is None else _place_fields(page.place),
        "parts": [_place_fields(one) for one in page.parts],
        "grips": [_place_fields(one) for one in page.grips],
    }


def _place_fields(place: TimelineNode) -> dict[str, Any]:
    return {
        "level": place.level.value,
        "key": place.key,
        "title": place.title,
        "first": place.first.isoformat(),
        "last": place.last.isoformat(),
        "record": None if place.record is None else memory_fields(place.record),
    }


def expansion_fields(expansion: GripExpansion) -> dict[str, Any]:
    """Return the events of a grip as JSON fields."""
    return {
        "record": memory_fields(expansion.record),
        **{name: [memory_fields(one) for one in getattr(expansion, name)] for name in ("before", "events", "after")},
        "gone": list(expansion.gone),
    }


def entity_fields(entities: Iterable[Entity]) -> list[dict[str, Any]]:
    """Return names as JSON fields, each with its number of memories."""
    return [{"name": one.name, "memories": one.memories} for one in entities]


def neighbor_fields(neighbors: EntityNeighbors) -> dict[str, Any]:
    """Return what is linked to a name or a memory as JSON fields."""
    is_name = isinstance(neighbors.of, str)
    return {
        "name": neighbors.of if is_name else None,
        "id": None if isinstance(neighbors.of, str) else neighbors.of.id,
        "entities": entity_fields(neighbors.entities),
        "memories": [{"through": one.through, "memory": memory_fields(one.memory)} for one in neighbors.memories],
    }


def topic_fields(topic: Topic) -> dict[str, Any]:
    """Return a topic as JSON fields."""
    return {
        "id": topic.id,
        "scope": str(topic.scope),
        "label": topic.label,
        "keywords": list(topic.keywords),
        "memories": list(topic.memories),
        "created_at": topic.created_at.isoformat(),
        "mentioned_at": topic.mentioned_at.isoformat(),
        "served": topic.served,
        "importance": topic.importance,
        "pruned": topic.pruned,
    }


Extractions = Sequence[tuple[Sequence[Receipt], Extraction]]
"""For each conversation, the receipts of its memories and the extraction itself."""


def extraction_fields(extractions: Extractions) -> dict[str, Any]:
    """Return the results of extractions as JSON fields, with the model usage."""
    return {
        "sessions": len(extractions),
        "extracts": [
            {**receipt_fields(receipt), "quote": extract.quote, "turn": extract.turn}
            for receipts, extraction in extractions
            for receipt, extract in zip(receipts, extraction.extracts, strict=True)
        ],
        "rejected": [
            {"text": one.text, "reason": one.reason.value}
            for _, extraction in extractions
            for one in extraction.rejected
        ],
        **sum_model_usage(extractions),
    }


def sum_model_usage(extractions: Extractions) -> dict[str, Any]:
    each = [extraction for _, extraction in extractions]
    costs = [one.cost for one in each if one.cost is not None]
    return {
        **{name: sum(getattr(one, name) for one in each) for name in _USAGE_COUNTS},
        "cost": sum(costs) if costs else None,
    }


_USAGE_COUNTS = ("calls", "prompt_tokens", "completion_tokens", "uncounted")


def replay_fields(replay: Replay) -> dict[str, Any]:
    """Return a replay as JSON fields: the context as in `recall`, and how it differs."""
    differences = [
        {"what": one.what.value, "name": one.name, "was": one.was, "again": one.again} for one in replay.differences
    ]
    return {**context_fields(replay.context), "identical": replay.identical, "differences": differences}


def purge_fields(purge: Purge) -> dict[str, Any]:
    """Return a purge as JSON fields; without a run it was only a preview."""
    return {"source": purge.source, **_run_reference(purge.scope, purge.run), "memories": _memory_list(purge.memories)}


def undo_fields(undone: UndoReport) -> dict[str, Any]:
    """Return the result of an undo as JSON fields, with the restored memories."""
    return {
        "undone": undone.undone,
        **_run_reference(undone.scope, undone.run),
        "memories": _memory_list(undone.memories),
    }


def _run_reference(scope: Scope, run: int | None) -> dict[str, Any]:
    return {"scope": str(scope), "run": run}


def _memory_list(memories: Iterable[Memory]) -> list[dict[str, Any]]:
    return [memory_fields(one) for one in memories]


def plan_fields(plan: Plan) -> dict[str, Any]:
    """Return a plan as JSON fields, which can be read back unchanged."""
    return plan.to_json()


def run_fields(run: Run) -> dict[str, Any]:
    """Return the result of a plan as JSON fields; without a run there was nothing to do."""
    return {
        "job": run.job.value,
        "scope": str(run.scope),
        "plan": run.plan,
        "run": run.run,
        "memories": [memory_fields(one) for one in run.memories],
    }


def run_id_fields(run: Run) -> dict[str, Any]:
    """Return one of many runs as JSON fields, with memory ids only and the changes to indexes."""
    header = {"job": run.job.value, "scope": str(run.scope), "run": run.run}
    return {**header, **(_index_change_fields(run) if run.job in INDEX_JOBS else {}), "memories": list(run.ids)}


INDEX_JOBS = (Job.PRUNE_VECTORS, Job.REBUILD_INDEX)
"""The jobs that change only how records are found."""


def _index_change_fields(run: Run) -> dict[str, Any]:
    return {
        "left": {index.value: [one.id for one in run.memories if index in one.left] for index in Index},
        "stand_in": [one.id for one in run.memories if one.stands_for],
    }
