"""What a job will do and what it did, told: as JSON, and to people."""

from collections.abc import Sequence
from typing import Any

from recollect.model.index import Index
from recollect.model.memory import Status
from recollect.model.plan import Act, Plan, Run
from recollect.model.wording import counted, printable
from recollect.render import wire
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
        "memories": [wire.memory(one) for one in run.memories],
    }


def steps(plan: Plan) -> Table:
    """What is to become of each memory, and why."""
    rows = [(one.act.value, one.memory, one.by or "", f"{one.text} [{one.reason}]") for one in plan.steps]
    return Table(("act", "id", "by", "text"), rows)


def sentence(plan: Plan) -> str:
    """How much is to be done, and by what it was decided."""
    acts = [(len(plan.of(act)), act) for act in Act]
    doing = ", ".join(f"{counted(count, 'memory', 'memories')} to {act.value}" for count, act in acts if count)
    others = {name: count for name, count in plan.counts.items() if name not in [act.value for act in Act]}
    given = {name: value for name, value in plan.parameters.items() if value is not None}
    looked = ", ".join(f"{name} {value}" for name, value in {**others, **given}.items())
    return f"plan {plan.hash[:12]} for {plan.scope}: {doing or 'nothing to do'} ({printable(looked)})"


def ran(run: Run) -> str:
    """What was done."""
    if run.run is None:
        return f"nothing to do in {run.scope}; nothing was written"
    made = sum(one.status is Status.ACTIVE for one in run.memories)
    rest = counted(len(run.memories) - made, "memory", "memories")
    return f"{rest} of {run.scope} {_are(len(run.memories) - made)} recalled through {made} now"


def aged_fields(run: Run) -> dict[str, Any]:
    """The JSON of a run that changed how records are found; of these it has the ids."""
    return {
        "job": run.job.value,
        "scope": str(run.scope),
        "run": run.run,
        "left": {index.value: [one.id for one in run.memories if index in one.left] for index in Index},
        "stand_in": [one.id for one in run.memories if one.stands_for],
        "memories": list(run.ids),
    }


def aged(runs: Sequence[Run]) -> str:
    """What changed of how the records of a scope are found."""
    memories = [one for run in runs for one in run.memories]
    left = {index: sum(index in one.left for one in memories) for index in Index}
    outside = ", ".join(f"{count} outside of {index.value}" for index, count in left.items() if count)
    stand = sum(bool(one.stands_for) for one in memories)
    changed = f"{runs[0].scope}: {counted(len(memories), 'record')} changed"
    return f"{changed} ({outside or 'none outside of an index'}; {stand} found in place of others)"


def _are(count: int) -> str:
    return "is" if count == 1 else "are"
