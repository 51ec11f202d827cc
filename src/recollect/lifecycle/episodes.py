"""Episodes: storing tasks and actions as memories, retention, and ranking of similar tasks.

An episode is a memory whose text is the task; plan and outcome are in its metadata. An action is a memory with the
episode's id in `derived_from` and all of it as JSON in its text. It is in no index and is found only through its
episode.

Retention: the plain value of an episode is never below 1 - max(target, 1 - target), which is 0.35 for a target of 0.65;
so a threshold of 0.18 never removes one. The normalized value goes down to 0, and there the threshold works: with the
same numbers, below an outcome of 0.65 - (1 - 0.18) × 0.65 ≈ 0.117.

Ranking: episodes of similar tasks by similarity × value, and their failures by similarity.
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Literal, get_args

from recollect.errors import FieldError, show, suggest
from recollect.lifecycle.schedule import require_expression
from recollect.model import validation
from recollect.model.enums import Index
from recollect.model.episode import Episode, Outcome, read_action, summarize_lessons
from recollect.model.format import format_count, shorten
from recollect.model.memory import MAX_LIST_ITEMS, MAX_METADATA_CHARS, Memory, MemoryId, content_hash
from recollect.ranking.explanation import Explanation, ScoreFactor, ScorePart

EPISODE_METADATA_FIELDS = ("plan", "outcome", "lessons", "failure_modes", "completed_at", "contexts")
"""The metadata fields of an episode."""

OUTCOME_RESERVE_CHARS = 256
"""How many characters of JSON the plan leaves free, so that an outcome alone always fits."""

ACTION_LEFT_INDEXES = tuple(Index)
"""The indexes that an action is not in."""

MIN_LESSON_CONFIDENCE, MAX_LESSON_CONFIDENCE = 0.3, 0.9
"""The range of confidence for lessons: one case is weak evidence, but it is evidence."""


def build_start_metadata(plan: Sequence[str]) -> dict[str, Any]:
    """Return the metadata of a new episode; raise FieldError if the plan is too long."""
    metadata = {"plan": list(plan)}
    size = len(json.dumps(metadata))
    max_size = MAX_METADATA_CHARS - OUTCOME_RESERVE_CHARS
    if size > max_size:
        problem = f"its steps take {size} characters of JSON; at most {max_size} fit"
        raise FieldError(f"{problem}; shorten them", field="plan")
    return metadata


def build_outcome_metadata(metadata: Mapping[str, Any], outcome: Outcome, contexts: Iterable[str]) -> dict[str, Any]:
    """Return the metadata of a completed episode; raise FieldError if it is too long."""
    completed = {
        **metadata,
        "outcome": outcome.score,
        "lessons": list(outcome.lessons),
        "failure_modes": list(outcome.failure_modes),
        "completed_at": outcome.at.isoformat(),
        "contexts": list(contexts),
    }
    size = len(json.dumps(completed))
    if size > MAX_METADATA_CHARS:
        longest = max(("lessons", "failure_modes", "contexts"), key=lambda name: len(json.dumps(completed[name])))
        problem = f"plan, lessons and failure modes take {size} characters of JSON; at most {MAX_METADATA_CHARS} fit"
        raise FieldError(f"{problem}; shorten them, or remember some separately", field=longest)
    return completed


def read_outcome(memory: Memory) -> Outcome | None:
    """Read the outcome of an episode; `None` without one, or if a manual edit broke it."""
    metadata = memory.metadata
    lessons, failures = _read_texts(metadata.get("lessons")), _read_texts(metadata.get("failure_modes"))
    try:
        score = validation.require_fraction("outcome", metadata["outcome"])
        at = validation.require_moment("completed_at", datetime.fromisoformat(metadata["completed_at"]))
    except (KeyError, TypeError, ValueError):
        return None
    return Outcome(score=score, lessons=lessons, failure_modes=failures, at=at)


def read_contexts(memory: Memory) -> tuple[str, ...]:
    """Return the contexts named when the task was completed."""
    return _read_texts(memory.metadata.get("contexts"))


def group_actions_by_episode(actions: Iterable[Memory]) -> dict[str, list[Memory]]:
    """Group actions by the id of their episode."""
    actions_by_episode = defaultdict[str, list[Memory]](list)
    for one in actions:
        for id in one.derived_from:
            actions_by_episode[id].append(one)
    return actions_by_episode


def collect_contexts(episode: Memory, actions: Iterable[Memory]) -> tuple[str, ...]:
    """Return all contexts behind a task: those of its actions and those named on completion."""
    of_actions = (read_action(one).context for one in actions)
    return tuple(dict.fromkeys([*(one for one in of_actions if one is not None), *read_contexts(episode)]))


def read_episode(memory: Memory, *, value: float | None) -> Episode:
    """Read an episode from its memory, without its actions."""
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
    """Return a lesson's confidence: higher for a better outcome, or a worse one for failures."""
    validation.require_fraction("outcome", outcome)
    share = 1.0 - outcome if of_failure else outcome
    return MIN_LESSON_CONFIDENCE + (MAX_LESSON_CONFIDENCE - MIN_LESSON_CONFIDENCE) * share


def require_texts(field: str, values: Iterable[str]) -> tuple[str, ...]:
    """Return the texts without duplicates; raise FieldError for a blank one or too many."""
    texts = tuple(
        dict.fromkeys(validation.require_content(field, one) for one in validation.require_several(field, values))
    )
    if len(texts) > MAX_LIST_ITEMS:
        raise FieldError(f"has {len(texts)} items; at most {MAX_LIST_ITEMS} are allowed", field=field)
    return texts


def _read_texts(stored: object) -> tuple[str, ...]:
    return tuple(one for one in stored if isinstance(one, str)) if isinstance(stored, list) else ()


TARGET_OUTCOME = 0.65
"""The outcome that teaches most: not too easy, not too hard (seed 004)."""

MIN_VALUE = 0.18
"""The lowest value at which an episode is kept (seed 004)."""

MAX_EPISODES = 1_000
"""How many finished episodes of a scope are kept (seed 004)."""

MAX_EPISODES_SETTING = 1_000_000

SUCCESS_OUTCOME = 0.65
"""The lowest outcome that counts as success; the contexts behind it may have helped."""

ValueName = Literal["plain", "normalised"]


def compute_value(outcome: float, target: float = TARGET_OUTCOME) -> float:
    """Return how much an outcome teaches: max(0, 1 - |outcome - target|), the seed's formula.

    For the default target it is never below 0.35, so the default threshold keeps every episode.
    """
    return max(0.0, 1.0 - _outcome_distance(outcome, target))


def compute_normalized_value(outcome: float, target: float = TARGET_OUTCOME) -> float:
    """Return the value scaled to 0..1: 1 - |outcome - target| / max(target, 1 - target).

    With it, the default threshold removes episodes with an outcome below about 0.117.
    """
    return 1.0 - _outcome_distance(outcome, target) / max(target, 1.0 - target)


def is_retained(value: float, threshold: float = MIN_VALUE) -> bool:
    """Return whether an episode of that value is worth keeping."""
    validation.require_fraction("value", value)
    validation.require_fraction("threshold", threshold)
    return value >= threshold


def _outcome_distance(outcome: float, target: float) -> float:
    validation.require_fraction("outcome", outcome)
    validation.require_fraction("target", target)
    return abs(outcome - target)


@dataclass(frozen=True, slots=True, kw_only=True)
class EpisodicPolicy:
    """Whether episodes are kept, how their value is computed, and which are removed and when.

    With `value = "plain"`, the seed's formula, the default threshold removes nothing; with "normalised" it does.
    """

    enabled: bool = True
    value_threshold: float = MIN_VALUE
    midpoint_target: float = TARGET_OUTCOME
    max_episodes: int = MAX_EPISODES
    value: ValueName = "plain"
    success: float = SUCCESS_OUTCOME
    prune_schedule: str = "30 3 * * *"

    def __post_init__(self) -> None:
        validation.require_flag("enabled", self.enabled)
        for name in ("value_threshold", "midpoint_target", "success"):
            validation.require_fraction(name, getattr(self, name))
        if not 1 <= validation.require_count("max_episodes", self.max_episodes) <= MAX_EPISODES_SETTING:
            raise FieldError(f"{show(self.max_episodes)} is not within 1..{MAX_EPISODES_SETTING}", field="max_episodes")
        if self.value not in get_args(ValueName):
            known = suggest(str(self.value), get_args(ValueName))
            raise FieldError(f"{show(self.value)} is not a value formula; {known}", field="value")
        require_expression("prune_schedule", self.prune_schedule)

    def value_of(self, outcome: float) -> float:
        """Return how much an episode teaches by its outcome."""
        form = compute_value if self.value == "plain" else compute_normalized_value
        return form(outcome, self.midpoint_target)


def select_expired(episodes: Sequence[Episode], policy: EpisodicPolicy) -> Iterator[tuple[Episode, str]]:
    """Yield the episodes to remove, with the reason.

    First those below the threshold; then, while there are too many, those of the lowest value, the oldest first. An
    episode that is under way or pinned is never removed.
    """
    finished = [(one, one.value) for one in episodes if one.value is not None]
    free = sorted(
        ((one, value) for one, value in finished if not one.pinned),
        key=lambda both: (both[1], both[0].started_at, both[0].id),
    )
    excess = len(finished) - policy.max_episodes
    for place, (one, worth) in enumerate(free):
        if not is_retained(worth, policy.value_threshold):
            yield one, f"its value {worth:.3f} is below {policy.value_threshold:g}"
        elif place < excess:
            yield one, f"at most {policy.max_episodes} are kept, and its value {worth:.3f} is among the lowest"


@dataclass(frozen=True, slots=True, kw_only=True)
class Similar:
    """An episode of a similar task, without its actions, and the explanation of its score."""

    episode: Episode
    explanation: Explanation

    def __repr__(self) -> str:
        taught = summarize_lessons(self.episode.lessons, self.episode.failure_modes)
        return f"<Similar {self.score:.3f} {shorten(self.episode.task)}{taught}>"

    @property
    def score(self) -> float:
        return self.explanation.score


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureMode:
    """A failure in similar tasks, their episodes, most similar first, and the explanation."""

    text: str
    episodes: tuple[MemoryId, ...]
    explanation: Explanation

    def __repr__(self) -> str:
        return f"<FailureMode {self.score:.3f} in {format_count(len(self.episodes), 'episode')}: {shorten(self.text)}>"

    @property
    def score(self) -> float:
        return self.explanation.score


def rank_similar(episodes: Iterable[tuple[Episode, float]], *, min_score: float) -> list[Similar]:
    """Rank finished episodes by similarity × value, best first.

    Episodes with a score of 0 or below `min_score` are left out.
    """
    scored = [
        Similar(episode=episode, explanation=_explain(similarity, episode.outcome.score, episode.value))
        for episode, similarity in episodes
        if episode.outcome is not None and episode.value is not None
    ]
    ranked = sorted(scored, key=lambda one: (-one.score, one.episode.id))
    return [one for one in ranked if one.score > 0.0 and one.score >= min_score]


def rank_failure_modes(episodes: Iterable[tuple[Episode, float]], *, min_score: float) -> list[FailureMode]:
    """Rank the failures of these episodes by the similarity of the task, ignoring the outcome.

    A failure of several episodes occurs once, with all of them.
    """
    modes: dict[str, FailureMode] = {}
    for episode, similarity in sorted(episodes, key=lambda one: (-one[1], one[0].id)):
        for text in episode.failure_modes if similarity > 0.0 and similarity >= min_score else ():
            hash = content_hash(text.casefold())
            known = modes.get(hash) or FailureMode(
                text=text, episodes=(), explanation=Explanation((_similarity_part(similarity),))
            )
            modes[hash] = replace(known, episodes=tuple(dict.fromkeys((*known.episodes, episode.id))))
    return list(modes.values())


def _explain(similarity: float, outcome: float, value: float) -> Explanation:
    return Explanation(
        (_similarity_part(similarity),), (ScoreFactor("value", value, 0.0, note=f"outcome {outcome:g}"),)
    )


def _similarity_part(similarity: float) -> ScorePart:
    return ScorePart("similarity", min(max(similarity, 0.0), 1.0), 1.0)
