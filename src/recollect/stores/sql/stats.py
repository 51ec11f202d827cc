"""Counting: how much a store holds, and which model its vectors come from."""

from collections import Counter

from recollect.model.encoder import Encoder
from recollect.model.memory import Kind, Status
from recollect.model.scope import Scope
from recollect.model.stats import MAX_NAMED_SCOPES, Stats
from recollect.model.usage import Use
from recollect.stores.sql.transaction import Transaction, subtree_params
from recollect.text import tokenizer


def count_stats(db: Transaction, scope: Scope | None, *, below: bool, schema: int, size: int) -> Stats:
    """The figures of a scope, with those of the scopes below it if asked, or of all."""
    wanted = subtree_params(scope, below=below)
    model, encoder = read_current_encoder(db)
    scopes, statuses, kinds = Counter[str](), Counter[Status](), Counter[Kind]()
    unembedded = 0
    for path, status, kind, times, without in db.fetch_all("counts", encoder=model, **wanted):
        scopes[path] += times
        statuses[Status(status)] += times
        kinds[Kind(kind)] += times
        unembedded += without if status == Status.ACTIVE else 0
    former, contexts, served, echoed, helped, misled, quoted, followed = db.fetch_one("more_counts", **wanted)
    largest = sorted(scopes.items(), key=lambda one: (-one[1], one[0]))[:MAX_NAMED_SCOPES]
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
            Use.QUOTED: int(quoted),
            Use.FOLLOWED: int(followed),
        },
        unembedded=unembedded,
        encoder=encoder,
        analyser=tokenizer.VERSION,
        schema=schema,
        bytes=size,
    )


def read_current_encoder(db: Transaction) -> tuple[int, Encoder | None]:
    """The model that the vectors come from, with its number; 0 and nothing before the first vector."""
    row = db.fetch_first("present_encoder")
    return (0, None) if row is None else (int(row[0]), Encoder(row[1], row[2]))
