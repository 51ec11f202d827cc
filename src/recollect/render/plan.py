"""What a job will do and what it did, told: as JSON, and to people."""

from collections import Counter
from collections.abc import Sequence
from typing import Any, assert_never

from recollect.model.format import counted, printable
from recollect.model.index import Index
from recollect.model.memory import Memory, Status
from recollect.model.plan import CAME_BACK, LEFT, STAND_IN, STOOD_IN, UNTOLD, Act, Job, Plan, Run
from recollect.model.scope import Scope
from recollect.render import json_values
from recollect.render.table import Table


def plan_fields(plan: Plan) -> dict[str, Any]:
    """The JSON of a plan, which can be read back as it is."""
    return plan.to_json()


def run_fields(run: Run) -> dict[str, Any]:
    """The JSON of what came of a plan; without a run there was nothing to do."""
    return {
        "job": run.job.value,
        "scope": str(run.scope),
        "plan": run.plan,
        "run": run.run,
        "memories": [json_values.memory(one) for one in run.memories],
    }


def steps(plan: Plan) -> Table:
    """What is to become of each memory, and why."""
    rows = [(one.act.value, one.memory, one.by or "", one.text) for one in plan.steps]
    return Table(("act", "id", "by", "text"), rows, [(one.reason,) for one in plan.steps])


def sentence(plan: Plan) -> str:
    """How much is to be done, and by what it was decided."""
    if _is_unseen(plan):
        return f"plan {plan.hash[:12]} for {plan.scope}: {_unseen(plan)}"
    acts = [(len(plan.of(act)), act) for act in Act]
    doing = ", ".join(f"{counted(count, 'memory', 'memories')} to {act.value}" for count, act in acts if count)
    others = {name: count for name, count in plan.counts.items() if name not in (UNTOLD, *Act)}
    given = {name: value for name, value in plan.parameters.items() if value is not None}
    looked = ", ".join(f"{name} {value}" for name, value in {**others, **given}.items())
    said = f"plan {plan.hash[:12]} for {plan.scope}: {doing or 'nothing to do'} ({printable(looked)})"
    return "; ".join([said, *_untold(plan)])


def idle(plans: Sequence[Plan]) -> str:
    """What is said of scopes in which there is nothing to consolidate."""
    if len(plans) == 1 and _is_unseen(plans[0]):
        return f"{plans[0].scope}: {_unseen(plans[0])}"
    where = str(plans[0].scope) if len(plans) == 1 else counted(len(plans), "scope")
    unseen = [one for one in plans if _is_unseen(one)]
    why = f" ({len(unseen)} not looked at: {_needed(unseen[0])})" if unseen else ""
    return f"nothing to do in {where}{why}; nothing was written"


def _is_unseen(plan: Plan) -> bool:
    """Whether a scope has too few memories to be looked at."""
    least = plan.parameters.get("more_than")
    return plan.job is Job.CONSOLIDATE and isinstance(least, int) and plan.counts.get("active", 0) <= least


def _unseen(plan: Plan) -> str:
    active = plan.counts["active"]
    hold = f"{counted(active, 'memory', 'memories')} {'holds' if active == 1 else 'hold'} here"
    return f"not looked at: {hold}, and {_needed(plan)}"


def _needed(plan: Plan) -> str:
    return f"more than {plan.parameters['more_than']} are needed ([consolidation] more_than)"


def waiting(plan: Plan) -> list[str]:
    """What of a scope could leave an index once it is summed up, if anything."""
    return [f"{plan.scope}: {line}" for line in _untold(plan)]


def _untold(plan: Plan) -> list[str]:
    count = plan.counts.get(UNTOLD, 0)
    are, them = ("is", "it") if count == 1 else ("are", "them")
    told = f"{count} {are} old enough, but nothing sums {them} up yet: `recollect admin rollup` first"
    return [told] if count else []


def ran(runs: Sequence[Run]) -> str:
    """What was done to a scope by a job, all at once or in parts."""
    job, scope = runs[0].job, runs[0].scope
    memories = [one for run in runs for one in run.memories]
    if not memories:
        return f"nothing to do in {scope}; nothing was written"
    match job:
        case Job.CONSOLIDATE:
            return _consolidated(scope, memories)
        case Job.PRUNE_EPISODES:
            return f"{scope}: {counted(len(memories), 'episode')} let go of"
        case Job.PRUNE_VECTORS | Job.REBUILD_INDEX:
            return _aged(scope, runs)
        case _ as unknown:
            assert_never(unknown)


def run_ids(run: Run) -> dict[str, Any]:
    """The JSON of one of many runs: of the memories it has the ids, and how records are found by now."""
    told = {"job": run.job.value, "scope": str(run.scope), "run": run.run}
    return {**told, **(_found(run) if run.job in INDEXING else {}), "memories": list(run.ids)}


INDEXING = (Job.PRUNE_VECTORS, Job.REBUILD_INDEX)
"""The jobs that change how records are found, and nothing else of them."""


def _found(run: Run) -> dict[str, Any]:
    return {
        "left": {index.value: [one.id for one in run.memories if index in one.left] for index in Index},
        "stand_in": [one.id for one in run.memories if one.stands_for],
    }


def _consolidated(scope: Scope, memories: Sequence[Memory]) -> str:
    made = sum(one.status is Status.ACTIVE for one in memories)
    rest = len(memories) - made
    are = "is" if rest == 1 else "are"
    return f"{counted(rest, 'memory', 'memories')} of {scope} {are} recalled through {made} now"


def _aged(scope: Scope, runs: Sequence[Run]) -> str:
    counts = Counter[str]()
    for run in runs:
        counts.update(run.counts)
    stands, stood = counts[STAND_IN], counts[STOOD_IN]
    no_longer = ("does" if stood == 1 else "do") if stands else "stand in" if stood > 1 else "stands in"
    said = {
        "left": counts[LEFT],
        "came back": counts[CAME_BACK],
        "stands in" if stands == 1 else "stand in": stands,
        f"no longer {no_longer}": stood,
    }
    done = ", ".join(f"{count} {what}" for what, count in said.items() if count)
    return f"{scope}: {done or 'as many stand in, for others than before'}"
