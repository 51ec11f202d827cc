"""Plain: the scope's own plain memories that hold now, as columns, for whoever compares them with each other."""

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from recollect.engine.dependencies import Dependencies
from recollect.model.memory import Kind
from recollect.model.scope import Scope

if TYPE_CHECKING:
    from recollect.model.table import Rows
    from recollect.retrieval.evidence import RecallEvidence, Vectors


@dataclass(frozen=True, slots=True, eq=False)
class ActiveMemories:
    """What a store found, how many of the scope's own plain memories hold now, and the rows of those that are no
    events, in the order of ids.
    """

    evidence: "RecallEvidence"
    active_count: int
    rows: "Rows"

    @property
    def vectors(self) -> "Vectors":
        """The directions of these rows."""
        import numpy as np

        vectors = self.evidence.table.vectors
        return np.empty((0, 0), dtype=np.float32) if vectors is None else vectors[self.rows].astype(np.float32)


def load_active_memories(world: Dependencies, scope: Scope, now: datetime) -> ActiveMemories:
    """The scope's own plain memories that hold now; what only happened is counted, and no row: it may well happen
    twice, and says little of what is known.
    """
    import numpy as np

    from recollect.model.table import KINDS
    from recollect.retrieval.evidence import EvidenceRequest

    probe = EvidenceRequest(scope=scope, at=now, present=True, levels=frozenset({None}), encoder=world.encoder)
    found = world.store.gather(probe)
    table, whose = found.table, found.table.labels["scope"]
    own = np.flatnonzero(whose.codes == whose.names.index(str(scope))) if str(scope) in whose.names else found.rows[:0]
    rows = np.intersect1d(found.rows, own)
    active = len(rows)
    if table.kinds is not None:
        rows = rows[table.kinds[rows] != KINDS.index(Kind.EVENT)]
    return ActiveMemories(found, active, np.array(sorted(rows.tolist(), key=lambda row: table.ids[row]), dtype=np.intp))
