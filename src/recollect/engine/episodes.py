"""Episodes: the public API for recording tasks and finding similar earlier ones."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from recollect.admission.screening import redact_text
from recollect.engine.dependencies import Dependencies
from recollect.engine.episode_ops import (
    ActionDraft,
    OutcomeDraft,
    complete_episode,
    find_episode,
    record_action,
    start_episode,
)
from recollect.errors import FieldError, show
from recollect.lifecycle import episodes
from recollect.lifecycle.episodes import (
    FailureMode,
    Similar,
    build_start_metadata,
    read_episode,
    read_outcome,
    require_texts,
)
from recollect.model import validation
from recollect.model.draft import Draft
from recollect.model.enums import Kind, Level, Provenance, parse_choice
from recollect.model.episode import Episode, Result, read_action
from recollect.model.memory import Memory, require_metadata
from recollect.model.scope import Scope, as_scope
from recollect.retrieval.eligibility import View
from recollect.retrieval.query import QueryAnalysis

DEFAULT_SIMILAR_EPISODES = 5
"""How many similar episodes are returned by default."""

DEFAULT_FAILURE_MODES = 10
"""How many failure modes are returned by default."""

DEFAULT_LISTED_EPISODES = 100
"""How many episodes are listed by default."""

READ_BATCH_EPISODES = 64
"""How many episodes are read at a time in a search for similar ones."""

_TIME_STEP = timedelta(microseconds=1)


class Episodes:
    """Tasks with plan, actions and outcome; their lessons become memories."""

    def __init__(self, get_deps: Callable[[], Dependencies]) -> None:
        self._get_deps = get_deps

    def __repr__(self) -> str:
        return "<recollect.Episodes>"

    def start(
        self,
        task: str,
        *,
        scope: str | Scope,
        plan: Iterable[str] = (),
        session: str | None = None,
        at: datetime | None = None,
        pinned: bool = False,
        shared: bool = False,
        provenance: Provenance | str = Provenance.MODEL_INFERENCE,
        source: str | None = None,
        key: str | None = None,
    ) -> Episode:
        """Start a task and return its episode.

        `plan` lists its steps, at most 64. `key` makes a retry harmless for 30 days: the same call returns the same
        episode. Recall finds tasks only if the level `episode` is requested. Raises `InvalidInput` if
        `episodic.enabled` is false.
        """
        draft = Draft(
            text=validation.require_content("task", task),
            scope=as_scope(scope),
            kind=Kind.TASK,
            session=session,
            at=at,
            pinned=pinned,
            shared=shared,
            provenance=parse_choice("provenance", provenance, Provenance),
            source=source,
            metadata=build_start_metadata(require_texts("plan", plan)),
            key=key,
        )
        deps = self._get_deps()
        return _load_with_actions(deps, start_episode(deps, draft))

    def record(
        self,
        id: str,
        type: str,
        *,
        scope: str | Scope,
        input: str | Mapping[str, Any] = "",
        output: str | Mapping[str, Any] = "",
        result: Result | str = Result.SUCCEEDED,
        at: datetime | None = None,
        context: str | None = None,
        provenance: Provenance | str = Provenance.MODEL_INFERENCE,
        key: str | None = None,
    ) -> Episode:
        """Record an action of an open task, and return the episode.

        `type` names the sort of action; `input` and `output` are texts or mappings. `context` is the id of the context
        that led to the action: if the task succeeds, the memories in that context are marked as followed by success.
        Without `at`, an action comes after all earlier ones. A retry with the same `key` records nothing new. Raises
        `Conflict` if the task is over.
        """
        action = ActionDraft(
            episode=validation.require_text("id", id),
            scope=as_scope(scope),
            type=validation.require_line("type", validation.require_content("type", type)),
            input=_check_action_data("input", input),
            output=_check_action_data("output", output),
            result=parse_choice("result", result, Result),
            at=None if at is None else validation.require_moment("at", at),
            context=None if context is None else validation.require_id("context", context),
            provenance=parse_choice("provenance", provenance, Provenance),
            key=None if key is None else validation.require_id("key", key),
        )
        deps = self._get_deps()
        return _load_with_actions(deps, record_action(deps, action))

    def complete(
        self,
        id: str,
        outcome: float,
        *,
        scope: str | Scope,
        lessons: Iterable[str] = (),
        failure_modes: Iterable[str] = (),
        contexts: Iterable[str] = (),
        at: datetime | None = None,
        provenance: Provenance | str = Provenance.MODEL_INFERENCE,
    ) -> Episode:
        """End a task with its outcome, a number from 0 (failed) to 1 (succeeded).

        Each lesson and failure mode becomes a memory that names the episode in `derived_from`, in the same transaction.
        If the outcome counts as a success (`episodic.success`), the memories in `contexts` and in those of its actions
        are marked as followed by success. Repeating the call changes nothing; a different outcome raises `Conflict`.
        """
        draft = OutcomeDraft(
            score=validation.require_outcome("outcome", outcome),
            lessons=require_texts("lessons", lessons),
            failure_modes=require_texts("failure_modes", failure_modes),
            contexts=tuple(
                validation.require_id("contexts", one) for one in validation.require_several("contexts", contexts)
            ),
            provenance=parse_choice("provenance", provenance, Provenance),
            at=None if at is None else validation.require_moment("at", at),
        )
        deps = self._get_deps()
        ended = complete_episode(deps, as_scope(scope), id, draft)
        episode = _load_with_actions(deps, ended.episode)
        return replace(episode, receipts=tuple(ended.receipts), run=ended.run, again=ended.again)

    def similar(
        self, task: str, *, scope: str | Scope, limit: int = DEFAULT_SIMILAR_EPISODES, min_score: float = 0.0
    ) -> list[Similar]:
        """Return finished episodes of similar tasks, ranked by similarity × value.

        Includes episodes that parent scopes share. Their actions are not loaded, and nothing counts as served.
        """
        validation.require_limit("limit", limit)
        least, candidates = validation.require_fraction("min_score", min_score), list[tuple[Episode, float]]()
        for batch, next_similarity in _find_near(self._get_deps(), as_scope(scope), task, least):
            candidates += batch
            ranked = episodes.rank_similar(candidates, min_score=least)
            if len(ranked) >= limit and ranked[limit - 1].score > next_similarity:  # no score is above its similarity
                break
        return episodes.rank_similar(candidates, min_score=least)[:limit]

    def failure_modes(
        self, task: str, *, scope: str | Scope, limit: int = DEFAULT_FAILURE_MODES, min_score: float = 0.0
    ) -> list[FailureMode]:
        """Return what went wrong in similar tasks, the most similar task first.

        A failure counts the same however bad it was.
        """
        validation.require_limit("limit", limit)
        least = validation.require_fraction("min_score", min_score)
        candidates = [one for batch, _ in _find_near(self._get_deps(), as_scope(scope), task, least) for one in batch]
        return episodes.rank_failure_modes(candidates, min_score=least)[:limit]

    def list(
        self, *, scope: str | Scope, finished: bool | None = None, limit: int = DEFAULT_LISTED_EPISODES
    ) -> list[Episode]:
        """Return the scope's own active episodes, without their actions, the newest first.

        `finished=True` returns only finished ones, `finished=False` only open ones.
        """
        validation.require_limit("limit", limit)
        only_finished = None if finished is None else validation.require_flag("finished", finished)
        deps = self._get_deps()
        listed = [to_episode(deps, one) for one in reversed(deps.store.timeline(as_scope(scope), [Level.EPISODE]))]
        return [one for one in listed if only_finished is None or one.finished is only_finished][:limit]

    def show(self, id: str, *, scope: str | Scope) -> Episode:
        """Return an episode with its actions, whatever its status; raise NotFound if it does not exist."""
        deps, target = self._get_deps(), as_scope(scope)
        return _load_with_actions(deps, find_episode(deps, target, id))


def to_episode(deps: Dependencies, memory: Memory) -> Episode:
    """Convert a memory to an episode without its actions; settings determine its value."""
    outcome = read_outcome(memory)
    return read_episode(memory, value=None if outcome is None else deps.episodic.value_of(outcome.score))


def _load_with_actions(deps: Dependencies, memory: Memory) -> Episode:
    """Load an episode with its actions between its start and its end."""
    episode = to_episode(deps, memory)
    until = None if episode.outcome is None else episode.outcome.at + _TIME_STEP
    actions = deps.store.timeline(memory.scope, [Level.ACTION], since=memory.created_at, before=until)
    return replace(episode, actions=tuple(read_action(one) for one in actions if memory.id in one.derived_from))


def _find_near(
    deps: Dependencies, scope: Scope, task: str, least: float
) -> Iterator[tuple[list[tuple[Episode, float]], float]]:
    """Yield batches of visible episodes with their task similarity, the most similar first.

    Each batch comes with the similarity of the next episode. Episodes with a similarity of 0, or below `least`, are not
    read.
    """
    from recollect.retrieval.evidence import retrieve

    vectors = deps.embed([redact_text(validation.require_content("task", task), deps.policy.secrets)], "query")
    levels = frozenset[Level | None]({Level.EPISODE})
    now = deps.now()
    view = View(scope=scope, at=now, present=True, levels=levels, encoder=deps.encoder)
    evidence = retrieve(deps.store.snapshot(view), QueryAnalysis(), vectors)
    rows = evidence.rows.tolist()
    similarities = [one.similarity or 0.0 for one in evidence.candidates(rows)] if rows else []
    ids = evidence.table.ids
    near = sorted(zip(rows, similarities, strict=True), key=lambda one: (-one[1], ids[one[0]]))
    near = [(row, similarity) for row, similarity in near if similarity > 0.0 and similarity >= least]
    for place in range(0, len(near), READ_BATCH_EPISODES):
        batch, rest = (
            near[place : place + READ_BATCH_EPISODES],
            near[place + READ_BATCH_EPISODES : place + READ_BATCH_EPISODES + 1],
        )
        memories = deps.store.load(evidence.snapshot, [row for row, _ in batch])
        loaded = zip(memories, batch, strict=True)
        yield (
            [(to_episode(deps, one), similarity) for one, (_, similarity) in loaded if one is not None],
            rest[0][1] if rest else 0.0,
        )


def _check_action_data(field: str, value: str | Mapping[str, Any]) -> Any:
    """Check the input or output of an action: a text, or a mapping of JSON values."""
    match value:
        case str():
            return validation.require_clean_text(field, value)
        case Mapping():
            return require_metadata(field, value)
        case _:
            raise FieldError(f"{show(value)} is not a text or a mapping; give one of these, or omit it", field=field)
