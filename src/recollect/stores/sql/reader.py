"""Reading: what a store that keeps tables answers, from shelves where it is about ranking and from rows where not."""

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from recollect.model.context_record import Trace
from recollect.model.encoder import Encoder
from recollect.model.erasure import Lineage
from recollect.model.idempotency import Kept
from recollect.model.level import Level
from recollect.model.memory import Memory, MemoryId, Status
from recollect.model.scope import Scope
from recollect.model.usage import UNUSED, Sign, Usage, Use, Vote, standing
from recollect.retrieval.evidence import Found, Probe
from recollect.retrieval.remote_similarity import Nearby
from recollect.stores.sql import rows, timeline
from recollect.stores.sql.as_of_columns import has_departed
from recollect.stores.sql.column_cache import Bare, Library
from recollect.stores.sql.merged_columns import View
from recollect.stores.sql.stats import present_model
from recollect.stores.sql.transaction import Row, Session, inside, seen
from recollect.stores.write_checks import refuse_other_model

T = TypeVar("T")

PAGE = 500
"""How many memories are read at a time when all of a scope are listed."""


@dataclass(frozen=True, slots=True, eq=False)
class Seen:
    """All that a probe may see, the last commit that was known, the model's number, and if vectors may stay away."""

    view: View
    commit: int
    encoder: int
    bare: Bare | None


class RelationalReading(ABC):
    """The reading half of a store; a database supplies transactions that see it as it is at one moment."""

    def __init__(self, cache_bytes: int) -> None:
        self._library = Library(cache_bytes)

    @abstractmethod
    def _read(self, scope: Scope | None, look: Callable[[Session], T], *, below: bool = False) -> T:
        """What is seen in one transaction: of a scope and its ancestors, with all below it if asked, or of all.

        It may be looked more than once, if the database goes away meanwhile.
        """

    def encoder(self) -> Encoder | None:
        return self._read(None, lambda db: present_model(db)[1])

    def speakers(self, probe: Probe) -> frozenset[str]:
        view = self._seen(probe).view
        return view.said_by(view.eligible(probe)[0])

    def mentions(self, probe: Probe) -> dict[MemoryId, list[str]]:
        view = self._seen(probe).view
        mask, _ = view.eligible(probe)
        return {view.ids[row]: names for row, names in view.mentions.mentions(mask).items()}

    def gather(self, probe: Probe) -> Found:
        seen = self._seen(probe)
        view, commit = seen.view.with_directions(probe.directions), seen.commit
        mask, barred = view.eligible(probe)
        vectors = probe.vectors if seen.encoder > 0 else None
        nearby = self._nearby(probe, seen) if view.bare else None
        said = view.turns(mask) if probe.in_turns else None
        near, error = (None, 0.0) if vectors is None else view.similarities(vectors, said)
        shares = view.shares(probe.terms, mask, said) if probe.terms else None
        settings = view.settings(probe.terms, mask) if probe.terms and said is not None else None
        true = None if vectors is None else partial(view.true_similarities, vectors, said)
        links = view.mentions.linked(probe.names, mask) if probe.names else None
        linked, link = (None, None) if links is None else links
        return Found(
            table=view.table.with_evidence(
                similarity=near, lexical=shares, setting=settings, linked=linked, link=link, similarity_error=error
            ),
            rows=np.arange(len(view.ids)) if mask is None else np.flatnonzero(mask),
            pinned=view.pinned if mask is None else view.pinned[mask[view.pinned]],
            barred=barred,
            commit=commit,
            memories=lambda asked: self._memories(probe.scope, view, asked, commit),
            true_similarities=true if nearby is None else nearby.true_similarities,
            nearby=nearby,
            departed=() if vectors is None else self._departed(probe, view, mask, commit),
        )

    def get(self, scope: Scope, ids: Sequence[MemoryId], *, known_at: datetime | None = None) -> list[Memory]:
        def look(db: Session) -> list[Row]:
            if known_at is None:
                return _by_id(db, scope, ids)
            (commit,) = db.the("commit_known_at", at=rows.micros(known_at))
            found = [db.one("memory_known_at", **seen(scope, id=id, commit=commit)) for id in ids]
            return [row for row in found if row is not None]

        return [rows.memory(row) for row in self._read(scope, look)] if ids else []

    def usage(self, scope: Scope, ids: Sequence[MemoryId]) -> list[Usage]:
        asked = seen(scope, ids=json.dumps(list(ids)))
        found = {id: row for id, *row in self._read(scope, lambda db: db.all("usage_of", **asked))}
        return [rows.usage(tuple(found[id])) if id in found else UNUSED for id in ids]

    def votes(self, scope: Scope, contexts: Sequence[str]) -> list[Vote]:
        asked = seen(scope, contexts=json.dumps(list(dict.fromkeys(contexts))))
        cast = self._read(scope, lambda db: db.all("votes_in", **asked))
        return sorted(standing(rows.vote(*row) for row in cast), key=lambda one: (one.context, one.memory, one.by))

    def signs(self, scope: Scope, contexts: Sequence[str]) -> list[Sign]:
        asked = seen(scope, contexts=json.dumps(list(dict.fromkeys(contexts))))
        found = sorted(self._read(scope, lambda db: db.all("signs_in", **asked)))
        return [Sign(context, MemoryId(id), Use(use)) for context, id, use in found]

    def history(self, scope: Scope, id: MemoryId) -> list[Memory]:
        def look(db: Session) -> list[Row]:
            present = _by_id(db, scope, [id])
            return [*db.all("history", id=id), *present] if present else []

        versions = [rows.memory(row) for row in self._read(scope, look)]
        return [one for one in versions if one.scope == scope or one.shared]

    def memories(
        self,
        scope: Scope,
        *,
        below: bool,
        statuses: Sequence[Status],
        after: MemoryId | None = None,
        limit: int | None = None,
    ) -> Iterator[Memory]:
        wanted = json.dumps(sorted({one.value for one in statuses}))
        asked = {"path": str(scope), "below": below, "statuses": wanted, "passed": after or "", "limit": limit}
        size = PAGE if limit is None else limit

        def look(db: Session) -> tuple[list[int], list[Row]]:
            numbers = [number for (number,) in db.all("numbers_below", **asked)]
            return numbers[size:], _numbered(db, numbers[:size], wanted)

        others, page = self._read(scope, look, below=below)
        yield from map(rows.memory, page)
        for first in range(0, len(others), PAGE):
            numbers = others[first : first + PAGE]
            page = self._read(scope, lambda db, numbers=numbers: _numbered(db, numbers, wanted), below=below)  # type: ignore[misc]
            yield from map(rows.memory, page)

    def lineage(self, scope: Scope) -> list[Lineage]:
        return rows.lineage(self._read(scope, lambda db: db.all("lineage", path=str(scope), every=True)))

    def topic(self, scope: Scope, topic_key: str) -> Memory | None:
        row = self._read(scope, lambda db: db.one("topic", path=str(scope), topic_key=topic_key))
        return None if row is None else rows.memory(row)

    def timeline(
        self,
        scope: Scope,
        levels: Sequence[Level],
        *,
        since: datetime | None = None,
        before: datetime | None = None,
        statuses: Sequence[Status] = (Status.ACTIVE,),
    ) -> list[Memory]:
        return self._read(scope, lambda db: timeline.timeline(db, scope, levels, since, before, statuses))

    def touched(self, scope: Scope, level: Level, after: int) -> tuple[list[datetime], int]:
        return self._read(scope, lambda db: timeline.touched(db, scope, level, after))

    def checkpoint(self, scope: Scope, name: str) -> str | None:
        return self._read(scope, lambda db: timeline.checkpoint(db, scope, name))

    def scopes(self, scope: Scope | None) -> list[Scope]:
        asked = {"encoder": 0, **inside(scope, below=True)}
        found = self._read(scope, lambda db: db.all("counts", **asked), below=True)
        return [Scope.parse(path) for path in sorted({path for path, *_ in found})]

    def context(self, scope: Scope, id: str) -> Trace | None:
        row = self._read(scope, lambda db: db.one("context", id=id, path=str(scope)))
        return None if row is None else rows.trace(row[0])

    def contexts(self, scope: Scope) -> Iterator[Trace]:
        found = self._read(scope, lambda db: db.all("context_ids", path=str(scope)))
        names = [name for (name,) in found]
        for first in range(0, len(names), PAGE):
            page = json.dumps(names[first : first + PAGE])
            texts = self._read(scope, lambda db, page=page: db.all("saved_contexts", contexts=page))  # type: ignore[misc]
            traces = [rows.trace(text) for (text,) in texts]
            yield from sorted(traces, key=lambda one: (one.made_at, one.id))

    def kept(self, scope: Scope, key: str) -> Kept | None:
        row = self._read(scope, lambda db: db.one("key", path=str(scope), key=key))
        return None if row is None else rows.kept(scope, key, row)

    def _seen(self, probe: Probe) -> Seen:
        def look(db: Session) -> Seen:
            number, model = present_model(db)
            refuse_other_model(model, probe.encoder)
            now = probe.commit is None and probe.known_at is None  # vectors of before are not asked for in the tables
            bare = self._bare(db, probe, number) if probe.bounded and now and number > 0 else None
            view, commit = self._library.view(db, probe, number, bare)
            return Seen(view, commit, number, bare)

        return self._read(probe.scope, look)

    def _bare(self, db: Session, probe: Probe, encoder: int) -> Bare | None:
        """That vectors may stay in the tables, where they can be asked for."""
        return None

    def _nearby(self, probe: Probe, seen: Seen) -> Nearby | None:
        """What can be asked of the vectors that stay in the tables."""
        return None

    def _memories(self, scope: Scope, view: View, asked: Sequence[int], commit: int) -> list[Memory | None]:
        """The memories of these rows as they were in their commits or former versions; `None` where one was erased."""

        def look(db: Session) -> list[Row | None]:
            places = view.places(asked)
            known = [place for place in places if place[1] >= 0]
            found = {number: tuple(row) for number, *row in db.all("memories_now", places=json.dumps(known))}
            since = [place for place in known if place[0] not in found]
            if since:
                found |= {number: tuple(row) for number, *row in db.all("memories_then", places=json.dumps(since))}
            return [
                db.one("memory_in_version", memory=number, version=-changed, commit=commit)
                if changed < 0
                else found.get(number)
                for number, changed in places
            ]

        memories = [None if row is None else rows.memory(row) for row in self._read(scope, look)]
        return [one and view.as_ranked(row, one) for row, one in zip(asked, memories, strict=True)]

    def _departed(self, probe: Probe, view: View, mask: NDArray[np.bool_] | None, commit: int) -> list[int]:
        """The eligible rows that lost their direction after what is known; of the present nothing has come after."""
        if probe.commit is None and probe.known_at is None:
            return []
        without = (view.undirected if mask is None else view.undirected[mask[view.undirected]]).tolist()
        if not without:
            return []
        places = dict(zip(without, view.places(without), strict=True))
        asked = json.dumps([number for number, _ in places.values()])
        states = rows.by_memory(self._read(probe.scope, lambda db: db.all("states_of", memories=asked)))
        return [row for row, (number, changed) in places.items() if has_departed(states[number], changed, commit)]


def _numbered(db: Session, numbers: Sequence[int], statuses: str) -> list[Row]:
    """The memories of these numbers in this order, as far as they are there and still of these statuses."""
    return db.all("memories_numbered", numbers=json.dumps(numbers), statuses=statuses) if numbers else []


def _by_id(db: Session, scope: Scope, ids: Sequence[MemoryId]) -> list[Row]:
    """The memories of these ids that the scope may see, in the order asked."""
    found = {row[0]: row for row in db.all("memories_by_id", **seen(scope, ids=json.dumps(list(ids))))}
    return [found[id] for id in ids if id in found]
