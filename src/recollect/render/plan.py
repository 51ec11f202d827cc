"""What a job will do and what it did, told: as JSON, and to people."""

from typing import Any

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
    looked = ", ".join(f"{name} {value}" for name, value in {**others, **plan.parameters}.items())
    return f"plan {plan.hash[:12]} for {plan.scope}: {doing or 'nothing to do'} ({printable(looked)})"


def ran(run: Run) -> str:
    """What was done."""
    if run.run is None:
        return f"nothing to do in {run.scope}; nothing was written"
    made = sum(one.status is Status.ACTIVE for one in run.memories)
    rest = counted(len(run.memories) - made, "memory", "memories")
    return f"{rest} of {run.scope} {_are(len(run.memories) - made)} recalled through {made} now"


def _are(count: int) -> str:
    return "is" if count == 1 else "are"
