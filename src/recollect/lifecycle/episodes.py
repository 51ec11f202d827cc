"""Episodes: how a task and what was done for it are kept in memories, and what is told from those.

An episode is a memory of its task; plan and outcome are in its metadata. An action is a memory that names its episode
in `derived_from`, with all of it as JSON in its text, and is in no index: it is found by its episode alone.
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from recollect.errors import FieldError
from recollect.model import validation
from recollect.model.episode import Episode, Outcome, read_action
from recollect.model.index import Index
from recollect.model.memory import MAX_LIST_ITEMS, MAX_METADATA_CHARS, Memory

EPISODE_METADATA_FIELDS = ("plan", "outcome", "lessons", "failure_modes", "completed_at", "contexts")
"""What is kept in the metadata of an episode."""

OUTCOME_RESERVE_CHARS = 256
"""So many characters of JSON are left for completing an episode with an outcome alone."""

ACTION_LEFT_INDEXES = tuple(Index)
"""The indexes that an action is not in."""

MIN_LESSON_CONFIDENCE, MAX_LESSON_CONFIDENCE = 0.3, 0.9
"""Between what what is learned of one episode is taken for sure: one case proves nothing, and is no rumour either."""


def build_start_metadata(plan: Sequence[str]) -> dict[str, Any]:
    """What an episode keeps when it begins."""
    noted = {"plan": list(plan)}
    size = len(json.dumps(noted))
    max_size = MAX_METADATA_CHARS - OUTCOME_RESERVE_CHARS
    if size > max_size:
        what = f"its steps are {size} characters of JSON together; at most {max_size} fit"
        raise FieldError(f"{what}: say less in each", field="plan")
    return noted


def build_outcome_metadata(metadata: Mapping[str, Any], outcome: Outcome, contexts: Iterable[str]) -> dict[str, Any]:
    """What it keeps from when it is completed on; refused if that is too much."""
    noted = {
        **metadata,
        "outcome": outcome.score,
        "lessons": list(outcome.lessons),
        "failure_modes": list(outcome.failure_modes),
        "completed_at": outcome.at.isoformat(),
        "contexts": list(contexts),
    }
    size = len(json.dumps(noted))
    if size > MAX_METADATA_CHARS:
        longest = max(("lessons", "failure_modes", "contexts"), key=lambda name: len(json.dumps(noted[name])))
        what = (
            f"plan, lessons and failure modes are {size} characters of JSON together; at most {MAX_METADATA_CHARS} fit"
        )
        raise FieldError(f"{what}: say less in each, or remember the rest by itself", field=longest)
    return noted


def read_outcome(memory: Memory) -> Outcome | None:
    """How the task of an episode went, if it is completed; what somebody put there that is none counts as nothing."""
    noted = memory.metadata
    lessons, failures = _read_texts(noted.get("lessons")), _read_texts(noted.get("failure_modes"))
    try:
        score = validation.require_fraction("outcome", noted["outcome"])
        at = validation.require_moment("completed_at", datetime.fromisoformat(noted["completed_at"]))
    except (KeyError, TypeError, ValueError):
        return None
    return Outcome(score=score, lessons=lessons, failure_modes=failures, at=at)


def read_contexts(memory: Memory) -> tuple[str, ...]:
    """The contexts that were named when a task was completed."""
    return _read_texts(memory.metadata.get("contexts"))


def group_actions_by_episode(actions: Iterable[Memory]) -> dict[str, list[Memory]]:
    """What was done, by the id of what it was done for."""
    found = defaultdict[str, list[Memory]](list)
    for one in actions:
        for id in one.derived_from:
            found[id].append(one)
    return found


def collect_contexts(episode: Memory, actions: Iterable[Memory]) -> tuple[str, ...]:
    """All contexts that a task was decided by: those of what was done for it, and those named in the end."""
    done = (read_action(one).context for one in actions)
    return tuple(dict.fromkeys([*(one for one in done if one is not None), *read_contexts(episode)]))


def read_episode(memory: Memory, *, value: float | None) -> Episode:
    """The episode that a memory is, without its actions."""
    return Episode(
        id=memory.id,
        scope=memory.scope,
        task=memory.text,
        started_at=memory.created_at,
        plan=_read_texts(memory.metadata.get("plan")),
        outcome=read_outcome(memory),
        value=value,
        session=memory.session,
        status=memory.status,
        pinned=memory.pinned,
        contexts=read_contexts(memory),
    )


def lesson_confidence(outcome: float, *, of_failure: bool) -> float:
    """How sure what was learned is: a lesson the more, the better it went; what went wrong the more, the worse."""
    validation.require_fraction("outcome", outcome)
    share = 1.0 - outcome if of_failure else outcome
    return MIN_LESSON_CONFIDENCE + (MAX_LESSON_CONFIDENCE - MIN_LESSON_CONFIDENCE) * share


def require_texts(field: str, given: Iterable[str]) -> tuple[str, ...]:
    """Texts, each once and none of them blank; refused if there are too many."""
    texts = tuple(
        dict.fromkeys(validation.require_content(field, one) for one in validation.require_several(field, given))
    )
    if len(texts) > MAX_LIST_ITEMS:
        raise FieldError(f"{len(texts)} of them; at most {MAX_LIST_ITEMS} are allowed", field=field)
    return texts


def _read_texts(noted: object) -> tuple[str, ...]:
    return tuple(one for one in noted if isinstance(one, str)) if isinstance(noted, list) else ()
