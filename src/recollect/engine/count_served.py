"""Serve: what a face handed to an agent without packing it counts as served."""

from collections.abc import Iterable

from recollect.engine.dependencies import Dependencies
from recollect.model import validation
from recollect.model.memory import MemoryId
from recollect.model.scope import Scope
from recollect.model.usage import Use
from recollect.ranking.result import Scored


def count_served(world: Dependencies, scope: Scope, handed: Iterable[Scored | str]) -> None:
    """Count each of these memories as served now, soon and together with others; nobody waits for it.

    Those that the scope may not see are skipped, and where nothing can be written nothing is.
    """
    now = world.now()
    ids = tuple(dict.fromkeys(_id_of(one) for one in validation.require_several("handed", handed)))

    known = [id for id in ids if validation.is_storable(id)]
    if known and not world.store.read_only:
        world.store.later(lambda writing: writing.record(scope, known, Use.SERVED, now, None))


def _id_of(one: Scored | str) -> MemoryId:
    return one.id if isinstance(one, Scored) else MemoryId(validation.require_text("handed", one))
