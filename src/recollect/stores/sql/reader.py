"""The reading half of a SQL store: ranking reads cached columns, everything else reads rows.

`SqlReader` comes first; the functions below it count the rows of a store and read timeline records and checkpoints.
"""

import json
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from recollect.model import validation
from recollect.model.archive import MAX_NAMED_SCOPES, Lineage, Stats
from recollect.model.context import NO_USAGE, ContextRecord, Sign, Usage, Use, Vote, select_current_votes
from recollect.model.draft import IdempotencyRecord
from recollect.model.encoder import Encoder
from recollect.model.enums import Kind, Level, Status
from recollect.model.memory import Memory, MemoryId
from recollect.model.scope import Scope
from recollect.retrieval.evidence import EvidenceRequest, RecallEvidence, RemoteSimilarities
from recollect.stores.sql import rows
from recollect.stores.sql.column_cache import ColumnCache, RemoteVectors, has_lost_vector
from recollect.stores.sql.merged_columns import MergedColumns
from recollect.stores.sql.rows import refuse_other_encoder
from recollect.stores.sql.transaction import Row, Transaction, read_current_encoder, subtree_params, visible_params
from recollect.text import tokenizer

T = TypeVar("T")

MEMORIES_PER_PAGE = 500
"""Number of memories read at a time when a scope is listed."""


@dataclass(frozen=True, slots=True, eq=False)
class ColumnSnapshot:
    """All columns that a request may see, the last commit they include, and the model's number.

    `remote` is set if vectors may stay in the database.
    """

    columns: MergedColumns
    commit: int
    encoder_number: int
    remote: RemoteVectors | None


class SqlReader(ABC):
    """The reading half of a store; a database adds transactions that see one moment."""

    def __init__(self, cache_bytes: int) -> None:
        self._column_cache = ColumnCache(cache_bytes)

    @abstractmethod
    def _read(self, scope: Scope | None, look: Callable[[Transaction], T], *, below: bool = False) -> T:
        """Return what `look` returns in one transaction: for a scope and its ancestors, or for all.

        With `below`, it also sees all scopes below. `look` may be called more than once if the connection is lost.
        """

    def encoder(self) -> Encoder | None:
        return self._read(None, lambda db: read_current_encoder(db)[1])

    def speakers(self, probe: EvidenceRequest) -> frozenset[str]:
        view = self._read_snapshot(probe).columns
        return view.find_speakers(view.find_eligible(probe)[0])

    def mentions(self, probe: EvidenceRequest) -> dict[MemoryId, list[str]]:
        view = self._read_snapshot(probe).columns
        mask, _ = view.find_eligible(probe)
        return {view.ids[row]: names for row, names in view.mentions.names_by_row(mask).items()}

    def gather(self, probe: EvidenceRequest) -> RecallEvidence:
        seen = self._read_snapshot(probe)
        view, commit = seen.columns.with_vectors(probe.directions), seen.commit
        mask, barred = view.find_eligible(probe)
        vectors = probe.vectors if seen.encoder_number > 0 else None
        nearby = self._open_remote_similarity(probe, seen) if view.has_remote_vectors else None
        said = view.build_turns(mask) if probe.in_turns else None
        near, error = (None, 0.0) if vectors is None else view.compute_similarities(vectors, said)
        shares = view.compute_lexical_shares(probe.terms, mask, said) if probe.terms else None
        settings = view.compute_session_shares(probe.terms, mask) if probe.terms and said is not None else None
        true = None if vectors is None else partial(view.compute_exact_similarities, vectors, said)
        links = view.mentions.link_rows(probe.names, mask) if probe.names else None
        linked, link = (None, None) if links is None else links
        return RecallEvidence(
            table=view.table.with_evidence(
                similarity=near, lexical=shares, setting=settings, linked=linked, link=link, similarity_error=error
            ),
            rows=np.arange(len(view.ids)) if mask is None else np.flatnonzero(mask),
            pinned=view.pinned_rows if mask is None else view.pinned_rows[mask[view.pinned_rows]],
            barred=barred,
            commit=commit,
            memories=lambda asked: self._load_memories(probe.scope, view, asked, commit),
            true_similarities=true if nearby is None else nearby.true_similarities,
            nearby=nearby,
            dropped_vectors=() if vectors is None else self._find_dropped_vectors(probe, view, mask, commit),
        )

    def get(self, scope: Scope, ids: Sequence[MemoryId], *, known_at: datetime | None = None) -> list[Memory]:
        def look(db: Transaction) -> list[Row]:
            if known_at is None:
                return _fetch_by_id(db, scope, ids)
            (commit,) = db.fetch_one("commit_known_at", at=rows.to_micros(known_at))
            found = [db.fetch_first("memory_known_at", **visible_params(scope, id=id, commit=commit)) for id in ids]
            return [row for row in found if row is not None]

        return [rows.parse_memory(row) for row in self._read(scope, look)] if ids else []

    def usage(self, scope: Scope, ids: Sequence[MemoryId]) -> list[Usage]:
        asked = visible_params(scope, ids=json.dumps(list(ids)))
        found = {id: row for id, *row in self._read(scope, lambda db: db.fetch_all("usage_of", **asked))}
        return [rows.parse_usage(tuple(found[id])) if id in found else NO_USAGE for id in ids]

    def votes(self, scope: Scope, contexts: Sequence[str]) -> list[Vote]:
        asked = visible_params(scope, contexts=json.dumps(list(dict.fromkeys(contexts))))
        cast = self._read(scope, lambda db: db.fetch_all("votes_in", **asked))
        return sorted(
            select_current_votes(rows.parse_vote(*row) for row in cast),
            key=lambda one: (one.context, one.memory, one.by),
        )

    def signs(self, scope: Scope, contexts: Sequence[str]) -> list[Sign]:
        asked = visible_params(scope, contexts=json.dumps(list(dict.fromkeys(contexts))))
        found = sorted(self._read(scope, lambda db: db.fetch_all("signs_in", **asked)))
        return [Sign(context, MemoryId(id), Use(use)) for context, id, use in found]

    def history(self, scope: Scope, id: MemoryId) -> list[Memory]:
        def look(db: Transaction) -> list[Row]:
            present = _fetch_by_id(db, scope, [id])
            return [*db.fetch_all("history", id=id), *present] if present else []

        versions = [rows.parse_memory(row) for row in self._read(scope, look)]
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
        size = MEMORIES_PER_PAGE if limit is None else limit

        def look(db: Transaction) -> tuple[list[int], list[Row]]:
            numbers = [number for (number,) in db.fetch_all("numbers_below", **asked)]
            return numbers[size:], _fetch_by_number(db, numbers[:size], wanted)

        others, page = self._read(scope, look, below=below)
        yield from map(rows.parse_memory, page)
        for first in range(0, len(others), MEMORIES_PER_PAGE):
            numbers = others[first : first + MEMORIES_PER_PAGE]
            page = self._read(scope, lambda db, numbers=numbers: _fetch_by_number(db, numbers, wanted), below=below)  # type: ignore[misc]
            yield from map(rows.parse_memory, page)

    def lineage(self, scope: Scope) -> list[Lineage]:
        return rows.parse_lineage(self._read(scope, lambda db: db.fetch_all("lineage", path=str(scope), every=True)))

    def topic(self, scope: Scope, topic_key: str) -> Memory | None:
        row = self._read(scope, lambda db: db.fetch_first("topic", path=str(scope), topic_key=topic_key))
        return None if row is None else rows.parse_memory(row)

    def timeline(
        self,
        scope: Scope,
        levels: Sequence[Level],
        *,
        since: datetime | None = None,
        before: datetime | None = None,
        statuses: Sequence[Status] = (Status.ACTIVE,),
    ) -> list[Memory]:
        return self._read(scope, lambda db: read_timeline(db, scope, levels, since, before, statuses))

    def touched(self, scope: Scope, level: Level, after: int) -> tuple[list[datetime], int]:
        return self._read(scope, lambda db: read_changed_dates(db, scope, level, after))

    def checkpoint(self, scope: Scope, name: str) -> str | None:
        return self._read(scope, lambda db: read_checkpoint(db, scope, name))

    def scopes(self, scope: Scope | None) -> list[Scope]:
        asked = {"encoder": 0, **subtree_params(scope, below=True)}
        found = self._read(scope, lambda db: db.fetch_all("counts", **asked), below=True)
        return [Scope.parse(path) for path in sorted({path for path, *_ in found})]

    def context(self, scope: Scope, id: str) -> ContextRecord | None:
        row = self._read(scope, lambda db: db.fetch_first("context", id=id, path=str(scope)))
        return None if row is None else rows.parse_context(row[0])

    def contexts(self, scope: Scope) -> Iterator[ContextRecord]:
        found = self._read(scope, lambda db: db.fetch_all("context_ids", path=str(scope)))
        names = [name for (name,) in found]
        for first in range(0, len(names), MEMORIES_PER_PAGE):
            page = json.dumps(names[first : first + MEMORIES_PER_PAGE])
            texts = self._read(scope, lambda db, page=page: db.fetch_all("saved_contexts", contexts=page))  # type: ignore[misc]
            traces = [rows.parse_context(text) for (text,) in texts]
            yield from sorted(traces, key=lambda one: (one.made_at, one.id))

    def kept(self, scope: Scope, key: str) -> IdempotencyRecord | None:
        row = self._read(scope, lambda db: db.fetch_first("key", path=str(scope), key=key))
        return None if row is None else rows.parse_kept_key(scope, key, row)

    def _read_snapshot(self, probe: EvidenceRequest) -> ColumnSnapshot:
        def look(db: Transaction) -> ColumnSnapshot:
            number, model = read_current_encoder(db)
            refuse_other_encoder(model, probe.encoder)
            now = probe.commit is None and probe.known_at is None  # remote vectors are only searched for the present
            bare = self._choose_remote_vectors(db, probe, number) if probe.bounded and now and number > 0 else None
            view, commit = self._column_cache.read(db, probe, number, bare)
            return ColumnSnapshot(view, commit, number, bare)

        return self._read(probe.scope, look)

    def _choose_remote_vectors(self, db: Transaction, probe: EvidenceRequest, encoder: int) -> RemoteVectors | None:
        """Return how to leave vectors in the database, if it can search them."""
        return None

    def _open_remote_similarity(self, probe: EvidenceRequest, seen: ColumnSnapshot) -> RemoteSimilarities | None:
        """Return the search for vectors that stay in the database, if there is one."""
        return None

    def _load_memories(
        self, scope: Scope, view: MergedColumns, asked: Sequence[int], commit: int
    ) -> list[Memory | None]:
        """Return the memories of these rows in the versions the rows had; None for erased ones."""

        def look(db: Transaction) -> list[Row | None]:
            places = view.memory_versions(asked)
            known = [place for place in places if place[1] >= 0]
            found = {number: tuple(row) for number, *row in db.fetch_all("memories_now", places=json.dumps(known))}
            since = [place for place in known if place[0] not in found]
            if since:
                found |= {
                    number: tuple(row) for number, *row in db.fetch_all("memories_then", places=json.dumps(since))
                }
            return [
                db.fetch_first("memory_in_version", memory=number, version=-changed, commit=commit)
                if changed < 0
                else found.get(number)
                for number, changed in places
            ]

        memories = [None if row is None else rows.parse_memory(row) for row in self._read(scope, look)]
        return [one and view.with_row_status(row, one) for row, one in zip(asked, memories, strict=True)]

    def _find_dropped_vectors(
        self, probe: EvidenceRequest, view: MergedColumns, mask: NDArray[np.bool_] | None, commit: int
    ) -> list[int]:
        """Return the eligible rows that lost their vector after the known commit.

        A request about the present has none, since nothing came later.
        """
        if probe.commit is None and probe.known_at is None:
            return []
        without = (
            view.rows_without_vector if mask is None else view.rows_without_vector[mask[view.rows_without_vector]]
        ).tolist()
        if not without:
            return []
        places = dict(zip(without, view.memory_versions(without), strict=True))
        asked = json.dumps([number for number, _ in places.values()])
        states = rows.group_by_memory(self._read(probe.scope, lambda db: db.fetch_all("states_of", memories=asked)))
        return [row for row, (number, changed) in places.items() if has_lost_vector(states[number], changed, commit)]


def _fetch_by_number(db: Transaction, numbers: Sequence[int], statuses: str) -> list[Row]:
    """Return the rows of these memory numbers, in order, that still exist with these statuses."""
    return db.fetch_all("memories_numbered", numbers=json.dumps(numbers), statuses=statuses) if numbers else []


def _fetch_by_id(db: Transaction, scope: Scope, ids: Sequence[MemoryId]) -> list[Row]:
    """Return the rows of these memory ids that the scope may see, in order."""
    found = {row[0]: row for row in db.fetch_all("memories_by_id", **visible_params(scope, ids=json.dumps(list(ids))))}
    return [found[id] for id in ids if id in found]


def count_stats(db: Transaction, scope: Scope | None, *, below: bool, schema: int, size: int) -> Stats:
    """Return the figures of a scope, with `below` also of the scopes below it, or of all."""
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


def read_timeline(
    db: Transaction,
    scope: Scope,
    levels: Sequence[Level],
    since: datetime | None,
    before: datetime | None,
    statuses: Sequence[Status],
) -> list[Memory]:
    """Return the scope's own records of these levels in a time range, ordered by time and id."""
    found = db.fetch_all(
        "timeline",
        path=str(scope),
        levels=json.dumps([one.value for one in levels]),
        since=rows.to_micros(since or validation.EARLIEST_DATETIME),
        before=rows.to_micros(before or validation.LATEST_DATETIME),
        statuses=json.dumps([one.value for one in statuses]),
    )
    return [rows.parse_memory(row) for row in found]


def read_changed_dates(db: Transaction, scope: Scope, level: Level, after: int) -> tuple[list[datetime], int]:
    """Return the times of a level's records changed after a commit, and their last commit."""
    found = db.fetch_all("touched", path=str(scope), level=level.value, after=after)
    return [rows.from_micros(at) for at, _ in found], max((commit for _, commit in found), default=after)


def read_checkpoint(db: Transaction, scope: Scope, name: str) -> str | None:
    """Return the value of the scope's checkpoint, or None."""
    row = db.fetch_first("checkpoint", path=str(scope), name=name)
    return None if row is None else str(row[0])
