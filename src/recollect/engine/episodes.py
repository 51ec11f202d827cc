"""Episodes: what users hold to keep tasks and how they went, and to find those that were like the one at hand."""

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

DEFAULT_SIMILAR_EPISODES = 5
"""How many similar episodes are told, unless it is said."""

DEFAULT_FAILURE_MODES = 10
"""How many failure modes are."""

DEFAULT_LISTED_EPISODES = 100
"""How many episodes are listed."""

READ_BATCH_EPISODES = 64
"""How many episodes are read at a time while similar ones are looked for."""

_TIME_STEP = timedelta(microseconds=1)


class Episodes:
    """Tasks with plan, actions and outcome. What one taught becomes memories, and similar tasks find it."""

    def __init__(self, opened: Callable[[], Dependencies]) -> None:
        self._opened = opened

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
        """Begin a task; the same again under its key is the same episode."""
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
        world = self._opened()
        return _load_with_actions(world, start_episode(world, draft))

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
        """Record what was done for a task that is under way; the same again under its key is recorded once.

        `context` is the one that it was decided by: if the task succeeds, that is noted of the memories in it.
        """
        deed = ActionDraft(
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
        world = self._opened()
        return _load_with_actions(world, record_action(world, deed))

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
        """End a task with how it went, from 0 to 1. What it taught and what went wrong become memories that name it in
        `derived_from`, in the same transaction. The same again changes nothing.
        """
        ending = OutcomeDraft(
            score=validation.require_outcome("outcome", outcome),
            lessons=require_texts("lessons", lessons),
            failure_modes=require_texts("failure_modes", failure_modes),
            contexts=tuple(
                validation.require_id("contexts", one) for one in validation.require_several("contexts", contexts)
            ),
            provenance=parse_choice("provenance", provenance, Provenance),
            at=None if at is None else validation.require_moment("at", at),
        )
        world = self._opened()
        done = complete_episode(world, as_scope(scope), id, ending)
        told = _load_with_actions(world, done.episode)
        return replace(told, receipts=tuple(done.receipts), run=done.run, again=done.again)

    def similar(
        self, task: str, *, scope: str | Scope, limit: int = DEFAULT_SIMILAR_EPISODES, min_score: float = 0.0
    ) -> list[Similar]:
        """Finished episodes of similar tasks, without their actions, by similarity × value; looking is no use."""
        validation.require_limit("limit", limit)
        least, known = validation.require_fraction("min_score", min_score), list[tuple[Episode, float]]()
        for part, rest in _find_near(self._opened(), as_scope(scope), task, least):
            known += part
            ranked = episodes.rank_similar(known, min_score=least)
            if len(ranked) >= limit and ranked[limit - 1].score > rest:  # no score is above its similarity
                break
        return episodes.rank_similar(known, min_score=least)[:limit]

    def failure_modes(
        self, task: str, *, scope: str | Scope, limit: int = DEFAULT_FAILURE_MODES, min_score: float = 0.0
    ) -> list[FailureMode]:
        """What went wrong when similar tasks were tried before, that of the most similar first, however bad it was."""
        validation.require_limit("limit", limit)
        least = validation.require_fraction("min_score", min_score)
        known = [one for part, _ in _find_near(self._opened(), as_scope(scope), task, least) for one in part]
        return episodes.rank_failure_modes(known, min_score=least)[:limit]

    def list(
        self, *, scope: str | Scope, finished: bool | None = None, limit: int = DEFAULT_LISTED_EPISODES
    ) -> list[Episode]:
        """The scope's own episodes, without their actions, the latest first: all that hold, or only those of them that
        are finished, or that are under way.
        """
        validation.require_limit("limit", limit)
        wanted = None if finished is None else validation.require_flag("finished", finished)
        world = self._opened()
        found = [to_episode(world, one) for one in reversed(world.store.timeline(as_scope(scope), [Level.EPISODE]))]
        return [one for one in found if wanted is None or one.finished is wanted][:limit]

    def show(self, id: str, *, scope: str | Scope) -> Episode:
        """The episode with its actions, whatever became of it."""
        world, whose = self._opened(), as_scope(scope)
        return _load_with_actions(world, find_episode(world, whose, id))


def to_episode(world: Dependencies, memory: Memory) -> Episode:
    """The episode that a memory is, without its actions; its value is by the settings."""
    outcome = read_outcome(memory)
    return read_episode(memory, value=None if outcome is None else world.episodic.value_of(outcome.score))


def _load_with_actions(world: Dependencies, memory: Memory) -> Episode:
    """The same with its actions, which were done from when it began until it ended."""
    found = to_episode(world, memory)
    until = None if found.outcome is None else found.outcome.at + _TIME_STEP
    there = world.store.timeline(memory.scope, [Level.ACTION], since=memory.created_at, before=until)
    return replace(found, actions=tuple(read_action(one) for one in there if memory.id in one.derived_from))


def _find_near(
    world: Dependencies, scope: Scope, task: str, least: float
) -> Iterator[tuple[list[tuple[Episode, float]], float]]:
    """The episodes that the scope may see with how similar their tasks are, the most similar first, some at a time, and
    how similar the next one is; those that are not, or less than that, are not read.
    """
    from recollect.retrieval.evidence import EvidenceRequest

    vectors = world.embed([redact_text(validation.require_content("task", task), world.policy.secrets)], "query")
    levels = frozenset[Level | None]({Level.EPISODE})
    now = world.now()
    probe = EvidenceRequest(scope=scope, at=now, present=True, levels=levels, vectors=vectors, encoder=world.encoder)
    found = world.store.gather(probe)
    rows = found.rows.tolist()
    true = [one.similarity or 0.0 for one in found.candidates(rows)] if rows else []
    ids = found.table.ids
    near = sorted(zip(rows, true, strict=True), key=lambda one: (-one[1], ids[one[0]]))
    near = [(row, how) for row, how in near if how > 0.0 and how >= least]
    for place in range(0, len(near), READ_BATCH_EPISODES):
        part, after = (
            near[place : place + READ_BATCH_EPISODES],
            near[place + READ_BATCH_EPISODES : place + READ_BATCH_EPISODES + 1],
        )
        memories = found.memories([row for row, _ in part])
        both = zip(memories, part, strict=True)
        yield (
            [(to_episode(world, one), how) for one, (_, how) in both if one is not None],
            after[0][1] if after else 0.0,
        )


def _check_action_data(field: str, value: str | Mapping[str, Any]) -> Any:
    """What somebody gave or got, as a text or as JSON has it."""
    match value:
        case str():
            return validation.require_clean_text(field, value)
        case Mapping():
            return require_metadata(field, value)
        case _:
            raise FieldError(f"{show(value)} is neither a text nor a mapping; leave it out, or give one", field=field)
