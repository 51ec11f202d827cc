"""Retire: episodes that have had their day are put away; planned first, and then done just so."""

from collections.abc import Callable, Mapping
from dataclasses import asdict

from recollect.engine.dependencies import World
from recollect.engine.episodes import told_of
from recollect.errors import FieldError, show
from recollect.lifecycle.episode_retention import had_their_day
from recollect.lifecycle.episodes import outcome_of
from recollect.model.format import shortened
from recollect.model.level import Level
from recollect.model.memory import Memory, MemoryId, Status
from recollect.model.plan import Act, Job, Plan, Step, Wish
from recollect.model.scope import Scope
from recollect.protocols import Writing

_GOES_BY = ("value", "midpoint_target", "value_threshold", "max_episodes")


def planned(world: World, scope: Scope, _: Wish) -> Plan:
    """Which of the scope's finished episodes would be put away; nothing is written."""
    memories = {one.id: one for one in world.store.timeline(scope, [Level.EPISODE])}
    episodes = [told_of(world, one) for one in memories.values()]
    steps = tuple(
        Step(
            memory=one.id,
            act=Act.ARCHIVE,
            reason=reason,
            text=shortened(one.task),
            commit=memories[one.id].commit,
        )
        for one, reason in had_their_day(episodes, world.episodic)
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
        parameters={name: policy[name] for name in _GOES_BY},
        counts=counts,
        steps=steps,
    )


def doing(_: World, plan: Plan) -> Callable[[Writing, Mapping[MemoryId, Memory]], list[Memory]]:
    """How the plan is done to episodes that are what they were."""

    def done(writing: Writing, present: Mapping[MemoryId, Memory]) -> list[Memory]:
        for one in present.values():
            _refuse_loss(one)
        gone = [present[step.memory].changed(status=Status.ARCHIVED, remark=step.reason) for step in plan.steps]
        return [writing.put(one, None) for one in gone]

    return done


def _refuse_loss(memory: Memory) -> None:
    """Nothing is put away but episodes that are finished and not pinned, whoever wrote the plan."""
    finished = memory.level is Level.EPISODE and outcome_of(memory) is not None
    if not finished or memory.pinned or memory.status is not Status.ACTIVE:
        what = "is no finished episode, or pinned, or put away already"
        raise FieldError(f"{show(memory.id)} {what}", field="steps")
