"""What a job will do and what it did, told: as JSON, and to people."""

from collections import Counter
from collections.abc import Sequence
from typing import Any, assert_never

from recollect.model.format import format_count, make_printable
from recollect.model.index import Index
from recollect.model.memory import Memory, Status
from recollect.model.plan import (
    LEFT_COUNT,
    RETURNED_COUNT,
    STAND_IN_COUNT,
    STOOD_IN_COUNT,
    UNSUMMARIZED,
    Act,
    Job,
    Plan,
    Run,
)
from recollect.model.scope import Scope
from recollect.render import json_values
from recollect.render.table import TextTable


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
        "memories": [json_values.memory_fields(one) for one in run.memories],
    }


def step_table(plan: Plan) -> TextTable:
    """What is to become of each memory, and why."""
    rows = [(one.act.value, one.memory, one.by or "", one.text) for one in plan.steps]
    return TextTable(("act", "id", "by", "text"), rows, [(one.reason,) for one in plan.steps])


def describe_plan(plan: Plan) -> str:
    """How much is to be done, and by what it was decided."""
    if _is_too_small(plan):
        return f"plan {plan.hash[:12]} for {plan.scope}: {_describe_too_small(plan)}"
    acts = [(len(plan.of(act)), act) for act in Act]
    doing = ", ".join(f"{format_count(count, 'memory', 'memories')} to {act.value}" for count, act in acts if count)
    others = {name: count for name, count in plan.counts.items() if name not in (UNSUMMARIZED, *Act)}
    given = {name: value for name, value in plan.parameters.items() if value is not None}
    looked = ", ".join(f"{name} {value}" for name, value in {**others, **given}.items())
    said = f"plan {plan.hash[:12]} for {plan.scope}: {doing or 'nothing to do'} ({make_printable(looked)})"
    return "; ".join([said, *_describe_unsummarized(plan)])


def describe_idle_plans(plans: Sequence[Plan]) -> str:
    """What is said of scopes in which there is nothing to consolidate."""
    if len(plans) == 1 and _is_too_small(plans[0]):
        return f"{plans[0].scope}: {_describe_too_small(plans[0])}"
    where = str(plans[0].scope) if len(plans) == 1 else format_count(len(plans), "scope")
    unseen = [one for one in plans if _is_too_small(one)]
    why = f" ({len(unseen)} not looked at: {_describe_minimum(unseen[0])})" if unseen else ""
    return f"nothing to do in {where}{why}; nothing was written"


def _is_too_small(plan: Plan) -> bool:
    """Whether a scope has too few memories to be looked at."""
    least = plan.parameters.get("more_than")
    return plan.job is Job.CONSOLIDATE and isinstance(least, int) and plan.counts.get("active", 0) <= least


def _describe_too_small(plan: Plan) -> str:
    active = plan.counts["active"]
    hold = f"{format_count(active, 'memory', 'memories')} {'holds' if active == 1 else 'hold'} here"
    return f"not looked at: {hold}, and {_describe_minimum(plan)}"


def _describe_minimum(plan: Plan) -> str:
    return f"more than {plan.parameters['more_than']} are needed ([consolidation] more_than)"


def describe_waiting(plan: Plan) -> list[str]:
    """What of a scope could leave an index once it is summed up, if anything."""
    return [f"{plan.scope}: {line}" for line in _describe_unsummarized(plan)]


def _describe_unsummarized(plan: Plan) -> list[str]:
    count = plan.counts.get(UNSUMMARIZED, 0)
    are, them = ("is", "it") if count == 1 else ("are", "them")
    told = f"{count} {are} old enough, but nothing sums {them} up yet: `recollect admin rollup` first"
    return [told] if count else []


def describe_runs(runs: Sequence[Run]) -> str:
    """What was done to a scope by a job, all at once or in parts."""
    job, scope = runs[0].job, runs[0].scope
    memories = [one for run in runs for one in run.memories]
    if not memories:
        return f"nothing to do in {scope}; nothing was written"
    match job:
        case Job.CONSOLIDATE:
            return _describe_consolidation(scope, memories)
        case Job.PRUNE_EPISODES:
            return f"{scope}: {format_count(len(memories), 'episode')} let go of"
        case Job.PRUNE_VECTORS | Job.REBUILD_INDEX:
            return _describe_index_changes(scope, runs)
        case _ as unknown:
            assert_never(unknown)


def run_id_fields(run: Run) -> dict[str, Any]:
    """The JSON of one of many runs: of the memories it has the ids, and how records are found by now."""
    told = {"job": run.job.value, "scope": str(run.scope), "run": run.run}
    return {**told, **(_index_change_fields(run) if run.job in INDEX_JOBS else {}), "memories": list(run.ids)}


INDEX_JOBS = (Job.PRUNE_VECTORS, Job.REBUILD_INDEX)
"""The jobs that change how records are found, and nothing else of them."""


def _index_change_fields(run: Run) -> dict[str, Any]:
    return {
        "left": {index.value: [one.id for one in run.memories if index in one.left] for index in Index},
        "stand_in": [one.id for one in run.memories if one.stands_for],
    }


def _describe_consolidation(scope: Scope, memories: Sequence[Memory]) -> str:
    made = sum(one.status is Status.ACTIVE for one in memories)
    rest = len(memories) - made
    are = "is" if rest == 1 else "are"
    return f"{format_count(rest, 'memory', 'memories')} of {scope} {are} recalled through {made} now"


def _describe_index_changes(scope: Scope, runs: Sequence[Run]) -> str:
    counts = Counter[str]()
    for run in runs:
        counts.update(run.counts)
    stands, stood = counts[STAND_IN_COUNT], counts[STOOD_IN_COUNT]
    no_longer = ("does" if stood == 1 else "do") if stands else "stand in" if stood > 1 else "stands in"
    said = {
        "left": counts[LEFT_COUNT],
        "came back": counts[RETURNED_COUNT],
        "stands in" if stands == 1 else "stand in": stands,
        f"no longer {no_longer}": stood,
    }
    done = ", ".join(f"{count} {what}" for what, count in said.items() if count)
    return f"{scope}: {done or 'as many stand in, for others than before'}"
