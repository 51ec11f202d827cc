"""Episodes: what users hold to keep tasks and how they went, and to find those that were like the one at hand."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from recollect.admission.screening import clean
from recollect.engine.dependencies import World
from recollect.engine.episode_ops import Deed, Ending, complete, find_episode, record, start
from recollect.errors import FieldError, show
from recollect.lifecycle import episode_ranking as ranking
from recollect.lifecycle.episode_ranking import FailureMode, Similar
from recollect.lifecycle.episodes import begun, episode_of, outcome_of, some_texts
from recollect.model import validation
from recollect.model.draft import Draft
from recollect.model.episode import Episode, Result, action_of
from recollect.model.level import Level
from recollect.model.memory import Kind, Memory, a_metadata, named
from recollect.model.scope import Scope, a_scope
from recollect.model.trust import Provenance

SIMILAR = 5
"""How many similar episodes are told, unless it is said."""

FAILURES = 10
"""How many failure modes are."""

LISTED = 100
"""How many episodes are listed."""

READ = 64
"""How many episodes are read at a time while similar ones are looked for."""

_STEP = timedelta(microseconds=1)


class Episodes:
    """Tasks with plan, actions and outcome. What one taught becomes memories, and similar tasks find it."""

    def __init__(self, opened: Callable[[], World]) -> None:
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
            text=validation.a_content("task", task),
            scope=a_scope(scope),
            kind=Kind.TASK,
            session=session,
            at=at,
            pinned=pinned,
            shared=shared,
            provenance=named("provenance", provenance, Provenance),
            source=source,
            metadata=begun(some_texts("plan", plan)),
            key=key,
        )
        world = self._opened()
        return _whole(world, start(world, draft))

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
        deed = Deed(
            episode=validation.a_text("id", id),
            scope=a_scope(scope),
            type=validation.a_line("type", validation.a_content("type", type)),
            input=_said("input", input),
            output=_said("output", output),
            result=named("result", result, Result),
            at=None if at is None else validation.a_moment("at", at),
            context=None if context is None else validation.an_id("context", context),
            provenance=named("provenance", provenance, Provenance),
            key=None if key is None else validation.an_id("key", key),
        )
        world = self._opened()
        return _whole(world, record(world, deed))

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
        ending = Ending(
            score=validation.an_outcome("outcome", outcome),
            lessons=some_texts("lessons", lessons),
            failure_modes=some_texts("failure_modes", failure_modes),
            contexts=tuple(validation.an_id("contexts", one) for one in validation.several("contexts", contexts)),
            provenance=named("provenance", provenance, Provenance),
            at=None if at is None else validation.a_moment("at", at),
        )
        world = self._opened()
        done = complete(world, a_scope(scope), id, ending)
        told = _whole(world, done.episode)
        return replace(told, receipts=tuple(done.receipts), run=done.run, again=done.again)

    def similar(self, task: str, *, scope: str | Scope, limit: int = SIMILAR, min_score: float = 0.0) -> list[Similar]:
        """Finished episodes of similar tasks, without their actions, by similarity × value; looking is no use."""
        validation.a_limit("limit", limit)
        least, known = validation.a_share("min_score", min_score), list[tuple[Episode, float]]()
        for part, rest in _near(self._opened(), a_scope(scope), task, least):
            known += part
            ranked = ranking.similar(known, min_score=least)
            if len(ranked) >= limit and ranked[limit - 1].score > rest:  # no score is above its similarity
                break
        return ranking.similar(known, min_score=least)[:limit]

    def failure_modes(
        self, task: str, *, scope: str | Scope, limit: int = FAILURES, min_score: float = 0.0
    ) -> list[FailureMode]:
        """What went wrong when similar tasks were tried before, that of the most similar first, however bad it was."""
        validation.a_limit("limit", limit)
        least = validation.a_share("min_score", min_score)
        known = [one for part, _ in _near(self._opened(), a_scope(scope), task, least) for one in part]
        return ranking.failure_modes(known, min_score=least)[:limit]

    def list(self, *, scope: str | Scope, finished: bool | None = None, limit: int = LISTED) -> list[Episode]:
        """The scope's own episodes, without their actions, the latest first: all that hold, or only those of them that
        are finished, or that are under way.
        """
        validation.a_limit("limit", limit)
        wanted = None if finished is None else validation.a_flag("finished", finished)
        world = self._opened()
        found = [told_of(world, one) for one in reversed(world.store.timeline(a_scope(scope), [Level.EPISODE]))]
        return [one for one in found if wanted is None or one.finished is wanted][:limit]

    def show(self, id: str, *, scope: str | Scope) -> Episode:
        """The episode with its actions, whatever became of it."""
        world, whose = self._opened(), a_scope(scope)
        return _whole(world, find_episode(world, whose, id))


def told_of(world: World, memory: Memory) -> Episode:
    """The episode that a memory is, without its actions; its value is by the settings."""
    outcome = outcome_of(memory)
    return episode_of(memory, value=None if outcome is None else world.episodic.value_of(outcome.score))


def _whole(world: World, memory: Memory) -> Episode:
    """The same with its actions, which were done from when it began until it ended."""
    found = told_of(world, memory)
    until = None if found.outcome is None else found.outcome.at + _STEP
    there = world.store.timeline(memory.scope, [Level.ACTION], since=memory.created_at, before=until)
    return replace(found, actions=tuple(action_of(one) for one in there if memory.id in one.derived_from))


def _near(world: World, scope: Scope, task: str, least: float) -> Iterator[tuple[list[tuple[Episode, float]], float]]:
    """The episodes that the scope may see with how similar their tasks are, the most similar first, some at a time, and
    how similar the next one is; those that are not, or less than that, are not read.
    """
    from recollect.retrieval.evidence import Probe

    vectors = world.embed([clean(validation.a_content("task", task), world.policy.secrets)], "query")
    levels = frozenset[Level | None]({Level.EPISODE})
    now = world.now()
    probe = Probe(scope=scope, at=now, present=True, levels=levels, vectors=vectors, encoder=world.encoder)
    found = world.store.gather(probe)
    rows = found.rows.tolist()
    true = [one.similarity or 0.0 for one in found.candidates(rows)] if rows else []
    ids = found.table.ids
    near = sorted(zip(rows, true, strict=True), key=lambda one: (-one[1], ids[one[0]]))
    near = [(row, how) for row, how in near if how > 0.0 and how >= least]
    for place in range(0, len(near), READ):
        part, after = near[place : place + READ], near[place + READ : place + READ + 1]
        memories = found.memories([row for row, _ in part])
        both = zip(memories, part, strict=True)
        yield [(told_of(world, one), how) for one, (_, how) in both if one is not None], after[0][1] if after else 0.0


def _said(field: str, value: str | Mapping[str, Any]) -> Any:
    """What somebody gave or got, as a text or as JSON has it."""
    match value:
        case str():
            return validation.a_clean_text(field, value)
        case Mapping():
            return a_metadata(field, value)
        case _:
            raise FieldError(f"{show(value)} is neither a text nor a mapping; leave it out, or give one", field=field)
