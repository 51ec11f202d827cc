"""JSON fields of records: episodes, timelines, entities, topics, extractions and runs.

Memories inside them have the shape defined in `json_values`.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from recollect.lifecycle.episodes import FailureMode, Similar
from recollect.model.conversation import Extraction
from recollect.model.draft import Receipt
from recollect.model.enums import Index
from recollect.model.episode import Action, Episode
from recollect.model.memory import Memory
from recollect.model.plan import Job, Plan, Purge, Run, UndoReport
from recollect.model.scope import Scope
from recollect.model.timeline import Entity, EntityNeighbors, GripExpansion, TimelineNode, TimelinePage, Topic
from recollect.packing.pack import Replay
from recollect.render import json_values


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
    receipts = [json_values.receipt_fields(one) for one in episode.receipts]
    return {**full_episode_fields(episode), "receipts": receipts, "run": episode.run, "again": episode.again}


def similar_episode_fields(one: Similar) -> dict[str, Any]:
    """Return an episode of a similar task as JSON fields, with its score and explanation."""
    return {**episode_fields(one.episode), "score": one.score, **json_values.explanation_fields(one.explanation)}


def failure_mode_fields(one: FailureMode) -> dict[str, Any]:
    """Return a failure of similar tasks as JSON fields, with its score and explanation."""
    told = {"text": one.text, "episodes": list(one.episodes)}
    return {**told, "score": one.score, **json_values.explanation_fields(one.explanation)}


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


def timeline_fields(found: TimelinePage) -> dict[str, Any]:
    """Return a timeline node and its children as JSON fields."""
    return {
        "place": None if found.place is None else _place_fields(found.place),
        "parts": [_place_fields(one) for one in found.parts],
        "grips": [_place_fields(one) for one in found.grips],
    }


def _place_fields(place: TimelineNode) -> dict[str, Any]:
    return {
        "level": place.level.value,
        "key": place.key,
        "title": place.title,
        "first": place.first.isoformat(),
        "last": place.last.isoformat(),
        "record": None if place.record is None else json_values.memory_fields(place.record),
    }


def expansion_fields(found: GripExpansion) -> dict[str, Any]:
    """Return the events of a grip as JSON fields."""
    return {
        "record": json_values.memory_fields(found.record),
        **{
            name: [json_values.memory_fields(one) for one in getattr(found, name)]
            for name in ("before", "events", "after")
        },
        "gone": list(found.gone),
    }


def entity_fields(entities: Iterable[Entity]) -> list[dict[str, Any]]:
    """Return names as JSON fields, each with its number of memories."""
    return [{"name": one.name, "memories": one.memories} for one in entities]


def neighbor_fields(found: EntityNeighbors) -> dict[str, Any]:
    """Return what is linked to a name or a memory as JSON fields."""
    is_name = isinstance(found.of, str)
    return {
        "name": found.of if is_name else None,
        "id": None if isinstance(found.of, str) else found.of.id,
        "entities": entity_fields(found.entities),
        "memories": [
            {"through": one.through, "memory": json_values.memory_fields(one.memory)} for one in found.memories
        ],
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


def extraction_fields(found: Extractions) -> dict[str, Any]:
    """Return the results of extractions as JSON fields, with the model usage."""
    return {
        "sessions": len(found),
        "extracts": [
            {**json_values.receipt_fields(receipt), "quote": extract.quote, "turn": extract.turn}
            for receipts, extraction in found
            for receipt, extract in zip(receipts, extraction.extracts, strict=True)
        ],
        "rejected": [
            {"text": one.text, "reason": one.reason.value} for _, extraction in found for one in extraction.rejected
        ],
        **sum_model_usage(found),
    }


def sum_model_usage(found: Extractions) -> dict[str, Any]:
    each = [extraction for _, extraction in found]
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
    return {**json_values.context_fields(replay.context), "identical": replay.identical, "differences": differences}


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
    return [json_values.memory_fields(one) for one in memories]


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
        "memories": [json_values.memory_fields(one) for one in run.memories],
    }


def run_id_fields(run: Run) -> dict[str, Any]:
    """Return one of many runs as JSON fields, with memory ids only and the changes to indexes."""
    told = {"job": run.job.value, "scope": str(run.scope), "run": run.run}
    return {**told, **(_index_change_fields(run) if run.job in INDEX_JOBS else {}), "memories": list(run.ids)}


INDEX_JOBS = (Job.PRUNE_VECTORS, Job.REBUILD_INDEX)
"""The jobs that change only how records are found."""


def _index_change_fields(run: Run) -> dict[str, Any]:
    return {
        "left": {index.value: [one.id for one in run.memories if index in one.left] for index in Index},
        "stand_in": [one.id for one in run.memories if one.stands_for],
    }
