"""Counting: how much a SQLite store holds."""

from collections import Counter

import apsw

from recollect.evidence import analysis
from recollect.model.encoder import Encoder
from recollect.model.memory import Kind, Status
from recollect.model.scope import Scope
from recollect.model.stats import MOST_SCOPES, Stats
from recollect.model.usage import Use
from recollect.stores.sqlite.sql import all_rows, one_row, the_row


def count(db: apsw.Connection, scope: Scope | None, *, below: bool, size: int) -> Stats:
    """The figures of a scope, with those of the scopes below it if asked, or of all."""
    wanted = {"path": None if scope is None else str(scope), "below": below}
    encoder = one_row(db, "present_encoder")
    scopes, statuses, kinds = Counter[str](), Counter[Status](), Counter[Kind]()
    unembedded = 0
    for path, status, kind, times, without in all_rows(db, "counts", encoder=encoder[0] if encoder else 0, **wanted):
        scopes[path] += times
        statuses[Status(status)] += times
        kinds[Kind(kind)] += times
        unembedded += without if status == Status.ACTIVE else 0
    former, contexts, served, echoed, helped, misled = the_row(db, "more_counts", **wanted)
    largest = sorted(scopes.items(), key=lambda one: (-one[1], one[0]))[:MOST_SCOPES]
    return Stats(
        memories=scopes.total(),
        statuses=dict(sorted(statuses.items())),
        kinds=dict(sorted(kinds.items())),
        scopes=len(scopes),
        largest=tuple((Scope.parse(path), times) for path, times in largest),
        versions=scopes.total() + former,
        contexts=contexts,
        uses={
            Use.SERVED: int(served),
            Use.HELPED: int(helped),
            Use.MISLED: int(misled),
            Use.ECHOED: int(echoed),
        },
        unembedded=unembedded,
        encoder=None if encoder is None else Encoder(encoder[1], encoder[2]),
        analyser=analysis.VERSION,
        schema=db.pragma("user_version"),
        bytes=size,
    )
