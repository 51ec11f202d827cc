"""Retire: episodes that have had their day are put away; planned first, and then done just so."""

from collections.abc import Callable, Mapping
from dataclasses import asdict

from recollect.engine.dependencies import Dependencies
from recollect.engine.episodes import to_episode
from recollect.errors import FieldError, show
from recollect.lifecycle.episode_retention import select_expired
from recollect.lifecycle.episodes import read_outcome
from recollect.model.format import shorten
from recollect.model.level import Level
from recollect.model.memory import Memory, MemoryId, Status
from recollect.model.plan import Act, Job, Plan, RetentionOverrides, Step
from recollect.model.scope import Scope
from recollect.protocols import WriteTransaction

_PLAN_PARAMETERS = ("value", "midpoint_target", "value_threshold", "max_episodes")


def plan_episode_pruning(world: Dependencies, scope: Scope, _: RetentionOverrides) -> Plan:
    """Which of the scope's finished episodes would be put away; nothing is written."""
    memories = {one.id: one for one in world.store.timeline(scope, [Level.EPISODE])}
    episodes = [to_episode(world, one) for one in memories.values()]
    steps = tuple(
        Step(
            memory=one.id,
            act=Act.ARCHIVE,
            reason=reason,
            text=shorten(one.task),
            commit=memories[one.id].commit,
        )
        for one, reason in select_expired(episodes, world.episodic)
    )
    policy = asdict(world.episodic)
    counts = {
        "episodes": len(episodes),
        "under way": sum(not one.finished for one in episodes),
        Act.ARCHIVE.value: len(steps),
    }
    return Plan(
        job=Job.PRUNE_EPISODES,
        scope=scope,
        made_at=world.now(),
        parameters={name: policy[name] for name in _PLAN_PARAMETERS},
        counts=counts,
        steps=steps,
    )


def prepare_episode_pruning(
    _: Dependencies, plan: Plan
) -> Callable[[WriteTransaction, Mapping[MemoryId, Memory]], list[Memory]]:
    """How the plan is done to episodes that are what they were."""

    def done(writing: WriteTransaction, present: Mapping[MemoryId, Memory]) -> list[Memory]:
        for one in present.values():
            _refuse_unprunable(one)
        gone = [present[step.memory].changed(status=Status.ARCHIVED, remark=step.reason) for step in plan.steps]
        return [writing.put(one, None) for one in gone]

    return done


def _refuse_unprunable(memory: Memory) -> None:
    """Nothing is put away but episodes that are finished and not pinned, whoever wrote the plan."""
    finished = memory.level is Level.EPISODE and read_outcome(memory) is not None
    if not finished or memory.pinned or memory.status is not Status.ACTIVE:
        what = "is no finished episode, or pinned, or put away already"
        raise FieldError(f"{show(memory.id)} {what}", field="steps")
