"""Empty answers: what someone is told who got nothing, since that may mean a wrong scope or too early a moment."""

import sys
from datetime import datetime
from typing import Any

from recollect.engine.engine import Engine
from recollect.errors import suggest
from recollect.model.format import format_count, format_moment
from recollect.model.scope import Scope
from recollect.ranking.result import Ranking
from recollect.retrieval.eligibility import Barrier

TIME_BARRIERS = frozenset({Barrier.NOT_YET_KNOWN, Barrier.NOT_YET_VALID, Barrier.NO_LONGER_VALID})
"""What keeps memories out of an answer that is for another moment."""


def explain_empty_result(
    engine: Engine,
    ranking: Ranking,
    *,
    as_json: bool,
    scope: Scope,
    as_of: datetime | None,
    known_at: datetime | None,
    **_: Any,
) -> list[str]:
    """What to tell about a question that got no answer: that its scope has nothing, or had nothing at the moment."""
    if len(ranking):
        return []
    at_another = (as_of, known_at) != (None, None) and ranking.excluded.keys() <= TIME_BARRIERS
    return explain_empty_scope(engine, scope) or (
        _explain_empty_moment(engine, ranking, scope, known_at) if at_another and not as_json else []
    )


def explain_empty_scope(engine: Engine, scope: Scope, *, below: bool = False) -> list[str]:
    """What to tell at a terminal about a scope without memories, and which scopes have some; nothing if it has any.

    With `below`, those of the scopes below count as its own.
    """
    if not sys.stderr.isatty() or engine.stats(scope=scope, below=below).memories:
        return []
    stats = engine.stats()
    if not stats.memories:
        return ["the store has no memories yet; `recollect remember` makes the first"]
    known = [str(one) for one, _ in stats.largest]
    told = suggest(str(scope), known)
    more = f" and {stats.scopes - len(known)} more" if stats.scopes > len(known) and not told.endswith("?") else ""
    return [f"{scope} has no memories; {told}{more}"]


def _explain_empty_moment(engine: Engine, ranking: Ranking, scope: Scope, known_at: datetime | None) -> list[str]:
    memories = engine.stats(scope=scope, below=False).memories
    now = f"{scope} has {format_count(memories, 'memory', 'memories')} now"
    if not memories:
        return []
    if known_at is not None and not ranking.excluded:
        return [f"{now}, but the store had taken in none by {format_moment(known_at)}; --as-of asks what held then"]
    return [f"{now}, but none that was known and held at {format_moment(ranking.at)}"]
