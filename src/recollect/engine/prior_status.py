"""Former: where a memory stood before it was put away, by which the same words are judged when they come again."""

from collections.abc import Collection

from recollect.admission.decision import find_quarantined_by_hand, quarantine_reason
from recollect.model.memory import Memory, Status
from recollect.model.verdict import Refused
from recollect.protocols import WriteTransaction


def load_prior_version(writing: WriteTransaction, former: Memory, away: Collection[Status]) -> Memory:
    """The memory as it was before it was put away so; active, if it never was anything else."""
    one = former
    while one.status in away:
        earlier = writing.before(one.scope, one.id, one.commit or 0)
        if earlier is None:
            return former.changed(status=Status.ACTIVE, remark=None)
        one, _ = earlier
    return one


def with_prior_quarantine(writing: WriteTransaction, memory: Memory) -> Memory:
    """The memory; if it was quarantined when it was forgotten, as it would stand there again."""
    if memory.status is not Status.FORGOTTEN:
        return memory
    stood = load_prior_version(writing, memory, {Status.FORGOTTEN})
    return (
        memory if stood.status is not Status.QUARANTINED else memory.changed(status=stood.status, remark=stood.remark)
    )


def find_quarantine_refusal(writing: WriteTransaction, proposed: Memory) -> Refused | None:
    """Why words are not taken that an operator put into quarantine, also if they were forgotten there since."""
    sayings = writing.sayings(proposed)
    apart = find_quarantined_by_hand((with_prior_quarantine(writing, one) for one in sayings), proposed)
    other = next((one for one in sayings if apart is not None and one.id == apart.id), None)
    return None if other is None else Refused(quarantine_reason(other), other.id)
