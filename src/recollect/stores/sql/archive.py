"""Export all data of a store as values, and import such values into another store.

`open_export` reads; `ArchiveLoader` writes.
"""

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import replace
from datetime import datetime
from itertools import islice, pairwise
from typing import Any, TypeVar

from recollect.model.archive import (
    ArchivedContent,
    ArchivedMemory,
    ArchivedUse,
    ArchivedVote,
    ArchiveInfo,
    ArchiveItem,
    ImportReport,
    strip_store_fields,
)
from recollect.model.context import ContextRecord, Use, Vote, count_votes, select_current_votes
from recollect.model.draft import IdempotencyRecord
from recollect.model.memory import Memory, MemoryId, content_hash
from recollect.model.scope import Scope
from recollect.retrieval import bm25, entity_links
from recollect.stores.sql import rows
from recollect.stores.sql.duplicate_guard import explain_conflict
from recollect.stores.sql.rows import context_taken_error, history_differs_error, id_taken_error
from recollect.stores.sql.transaction import Row, Transaction, read_current_encoder, subtree_params
from recollect.text import entities, tokenizer
from recollect.text.paraphrase import paraphrase_key

S = TypeVar("S", bound=Transaction)

ITEMS_PER_PAGE = 200
"""Number of memories and contexts read or written at a time."""

AssignCommit = Callable[[int, datetime], tuple[int, int]]
"""Maps an archived commit and its time to the commit and recorded microseconds used here."""


def read_inventory(db: Transaction, scope: Scope | None) -> ArchiveInfo:
    """Return what an export of the scope, or of all, will contain."""
    _, encoder = read_current_encoder(db)
    memories, contexts, until = db.fetch_one("inventory", **subtree_params(scope, below=True))
    return ArchiveInfo(
        encoder=encoder,
        analyser=tokenizer.VERSION,
        scope=scope,
        memories=memories,
        contexts=contexts,
        until=rows.from_optional_micros(until),
    )


def read_items(db: Transaction, scope: Scope | None) -> Iterator[ArchiveItem]:
    """Yield every memory of the scope and those below it, or of all, in order; then contexts."""
    model, _ = read_current_encoder(db)
    for numbers in _read_pages(db, "numbers_to_save", scope):
        yield from _read_memories(db, numbers, model)
    for ids in _read_pages(db, "contexts_to_save", scope):
        yield from (rows.parse_context(text) for (text,) in db.fetch_all("saved_contexts", contexts=ids))


def open_export(
    transaction: AbstractContextManager[S],
    scope: Scope | None,
    transform: Callable[[S, Iterator[ArchiveItem]], Iterator[ArchiveItem]],
) -> tuple[ArchiveInfo, Iterator[ArchiveItem]]:
    """Return the inventory and the items, read in one transaction that ends with the items.

    `transform` may change the items on their way out.
    """
    stack = ExitStack()
    with ExitStack() as on_failure:
        on_failure.push(stack)
        db = stack.enter_context(transaction)
        export = read_inventory(db, scope), _close_after_reading(stack, transform(db, read_items(db, scope)))
        on_failure.pop_all()
    return export


def keep_items(_: Transaction, items: Iterator[ArchiveItem]) -> Iterator[ArchiveItem]:
    """Return the items unchanged."""
    return items


def _close_after_reading(stack: ExitStack, items: Iterator[ArchiveItem]) -> Iterator[ArchiveItem]:
    with stack:
        yield from items


def _read_pages(db: Transaction, statement: str, scope: Scope | None) -> Iterator[str]:
    """Yield what the statement selects for the scope and those below it, in pages, as JSON."""
    found = (name for (name,) in db.fetch_each(statement, **subtree_params(scope, below=True)))
    while page := list(islice(found, ITEMS_PER_PAGE)):
        yield json.dumps(page)


def _read_memories(db: Transaction, numbers: str, model: int) -> Iterator[ArchivedMemory]:
    page = db.fetch_all("saved_memories", memories=numbers)
    former = rows.group_by_memory(db.fetch_all("saved_versions", memories=numbers))
    states = {number: [*former[number], (content, *state)] for number, content, _, _, *state in page}
    numbers_of_contents = json.dumps(sorted({state[0] for one in states.values() for state in one}))
    contents = {
        number: ArchivedContent(title, text, vector)
        for number, title, text, vector in db.fetch_all("saved_contents", contents=numbers_of_contents, encoder=model)
    }
    uses = rows.group_by_memory(db.fetch_all("saved_uses", memories=numbers))
    votes = rows.group_by_memory(db.fetch_all("saved_votes", memories=numbers))
    keys = rows.group_by_memory(db.fetch_all("saved_keys", memories=numbers))
    for number, _, id, path, *_ in page:
        own_contents = list(dict.fromkeys(contents[state[0]] for state in states[number]))
        yield ArchivedMemory(
            contents=tuple(own_contents),
            versions=tuple(
                (
                    rows.parse_memory((id, path, contents[content].title, contents[content].text, *state)),
                    own_contents.index(contents[content]),
                )
                for content, *state in states[number]
            ),
            uses=tuple(
                ArchivedUse(Use(use), rows.from_micros(at), context, commit, rows.from_micros(recorded_at))
                for use, at, context, commit, recorded_at in uses[number]
            ),
            votes=tuple(_parse_saved_vote(id, row) for row in votes[number]),
            keys=tuple(rows.parse_kept_key(Scope.parse(path), key, tuple(row)) for key, *row in keys[number]),
        )


def _parse_saved_vote(id: str, row: Row) -> ArchivedVote:
    context, by, use, at, commit, recorded_at = row
    vote = Vote(context=context, memory=MemoryId(id), by=by, use=Use(use), at=rows.from_micros(at))
    return ArchivedVote(vote, commit, rows.from_micros(recorded_at))


class ArchiveLoader:
    """Imports memories and contexts; items that already exist are skipped and counted."""

    def __init__(
        self,
        db: Transaction,
        assign_commit: AssignCommit,
        keeps_commits: Callable[[], bool],
        *,
        encoder: int,
        commit_times: Mapping[int, int] | None = None,
    ) -> None:
        """Prepare an import into the transaction.

        `keeps_commits` tells whether commits keep their numbers in the current realm. `commit_times` has the recorded
        time of each commit if commit numbers count over all realms.
        """
        self._db = db
        self._assign_commit = assign_commit
        self._keeps_commits = keeps_commits
        self._encoder = encoder
        self._commit_times = {} if commit_times is None else commit_times
        self._loaded_scopes: dict[Scope, int] = {}
        self._scope_numbers: dict[Scope, int] = {}
        self._last_commits: dict[str, Row] = {}
        self._existing: dict[type[ArchiveItem], set[tuple[str, str]]] = {}
        self._memories = self._contexts = self._skipped = 0

    def load(self, items: Iterable[ArchiveItem]) -> ImportReport:
        """Import all items."""
        left = iter(items)
        while page := list(islice(left, ITEMS_PER_PAGE)):
            self._find_existing(page)
            for item in page:
                self._db.enter_scope(_scope_of(item), wide=True)
                if isinstance(item, ContextRecord):
                    self._load_context(item)
                else:
                    self._load_memory(item)
        for scope, number in self._loaded_scopes.items():
            self._db.enter_scope(scope, wide=True)
            self._execute("load_stamps", scope=number)
        return ImportReport(memories=self._memories, contexts=self._contexts, skipped=self._skipped)

    def _find_existing(self, page: Sequence[ArchiveItem]) -> None:
        """Find out which items of the page exist, and the numbers of their scopes."""
        self._existing = {ArchivedMemory: set(), ContextRecord: set()}
        roots: dict[str, list[ArchiveItem]] = defaultdict(list)
        for item in page:
            roots[_scope_of(item).parts[0]].append(item)
        for root_items in roots.values():
            self._db.enter_scope(_scope_of(root_items[0]), wide=True)
            for kind, statement in ((ArchivedMemory, "ids_here"), (ContextRecord, "contexts_here")):
                ids = [_id_of(item) for item in root_items if isinstance(item, kind)]
                if ids:
                    existing = self._db.fetch_all(statement, ids=json.dumps(ids))
                    self._existing[kind].update((self._db.realm, id) for (id,) in existing)
            new = {str(scope): scope for scope in map(_scope_of, root_items) if scope not in self._scope_numbers}
            if new:
                stamps = self._db.fetch_all("scope_stamps", paths=json.dumps(list(new)))
                self._scope_numbers.update((new[path], number) for path, number, *_ in stamps)

    def _existed_before(self, item: ArchiveItem) -> bool:
        """Whether an item with this id and type existed before; from now on it does."""
        key = self._db.realm, _id_of(item)
        existing = self._existing[type(item)]
        if key in existing:
            return True
        existing.add(key)
        return False

    def _load_memory(self, saved: ArchivedMemory) -> None:
        current = saved.current
        if self._is_same_history(saved):
            self._skipped += 1
            return
        scope = self._scope_number(current.scope)
        contents = [self._load_content(one, scope) for one in saved.contents]
        states = [(contents[place], self._state_values(memory)) for memory, place in saved.versions]
        content, state = states[-1]
        params: dict[str, Any] = {"id": current.id, "scope": scope, "content": content, **state}
        added = self._db.fetch_first("add_memory", **params)
        if added is None:
            raise explain_conflict(self._db, params)
        number: int = added[0]
        for (content, state), (_, after) in pairwise(states):
            self._execute("load_version", memory=number, until=after["changed"], content=content, **state)
        self._load_usage(saved, number, scope)
        for key in saved.keys:
            self._load_key(key, scope)
        self._memories += 1

    def _is_same_history(self, saved: ArchivedMemory) -> bool:
        """Whether the memory exists with the same history; raise Conflict if the history differs."""
        current = saved.current
        if not self._existed_before(saved):
            return False
        here = self._db.fetch_first("own_memory", id=current.id, path=str(current.scope))
        if here is None:
            raise id_taken_error(current.id)
        versions = [rows.parse_memory(row) for row in (*self._db.fetch_all("history", id=current.id), here)]
        if strip_store_fields(versions) != strip_store_fields([memory for memory, _ in saved.versions]):
            raise history_differs_error(current.id)
        return True

    def _load_content(self, content: ArchivedContent, scope: int) -> int:
        (number,) = self._db.fetch_one(
            "add_content",
            scope=scope,
            title=content.title,
            text=content.text,
            hash=content_hash(content.text),
            terms=bm25.encode_terms(tokenizer.count_terms(content.searched_text)),
            analyser=tokenizer.VERSION,
            entities=entity_links.find_stored_names(content.title, content.text),
            naming=entities.VERSION,
        )
        if content.vector is not None:
            value = rows.VectorBytes(content.vector)
            self._execute("add_vector", content=number, encoder=self._encoder, scope=scope, value=value)
        return int(number)

    def _state_values(self, memory: Memory) -> dict[str, Any]:
        commit, recorded_at = self._assign_commit(memory.commit or 0, memory.recorded_at or memory.created_at)
        state = rows.state_values(memory, memory.hash, paraphrase_key(memory), recorded_at=recorded_at, commit=commit)
        return dict(zip(rows.STATE_COLUMNS, state, strict=True))

    def _load_usage(self, saved: ArchivedMemory, number: int, scope: int) -> None:
        """Add the memory's uses and votes, and their totals."""
        last = 0
        for use in saved.uses:
            commit, _ = self._assign_commit(use.commit, use.recorded_at)
            last, at = max(last, commit), rows.to_micros(use.at)
            self._execute("add_use", memory=number, use=use.use.value, at=at, context=use.context, commit=commit)
        for archived in saved.votes:
            vote = archived.vote
            commit, _ = self._assign_commit(archived.commit, archived.recorded_at)
            last = max(last, commit)
            params = {"context": vote.context, "by": vote.by, "use": vote.use.value, "at": rows.to_micros(vote.at)}
            self._execute("add_vote", memory=number, commit=commit, **params)
        if not last:
            return
        helped, misled = count_votes(select_current_votes(archived.vote for archived in saved.votes))
        uses = {sort: [use.at for use in saved.uses if use.use is sort] for sort in Use}
        self._execute(
            "add_usage",
            memory=number,
            scope=scope,
            served=len(uses[Use.SERVED]),
            helped=helped,
            misled=misled,
            echoed=len(uses[Use.ECHOED]),
            quoted=len(uses[Use.QUOTED]),
            followed=len(uses[Use.FOLLOWED]),
            last_served_at=rows.to_optional_micros(max(uses[Use.SERVED], default=None)),
            last_echoed_at=rows.to_optional_micros(max(uses[Use.ECHOED], default=None)),
            changed=last,
        )

    def _load_key(self, record: IdempotencyRecord, scope: int) -> None:
        verdict, at = rows.verdict_to_json(record.verdict), rows.to_micros(record.at)
        self._execute(
            "load_key", scope=scope, key=record.key, body=record.body, id=record.memory, verdict=verdict, at=at
        )

    def _load_context(self, record: ContextRecord) -> None:
        if self._existed_before(record):
            existing = rows.parse_context(self._db.fetch_one("any_context", id=record.id)[0])
            if existing != record.with_commit_of(existing):
                raise context_taken_error(record.id)
            self._skipped += 1
            return
        if not self._keeps_commits():
            record = replace(record, elsewhere=True)
        elif not record.elsewhere:
            self._reserve_commits(record)
        scope, made_at, text = (
            self._scope_number(record.scope),
            rows.to_micros(record.made_at),
            rows.context_to_json(record),
        )
        self._execute("add_context", id=record.id, scope=scope, made_at=made_at, trace=text, commit=record.commit)
        self._contexts += 1

    def _reserve_commits(self, record: ContextRecord) -> None:
        """Make sure that later commits get higher numbers than the context's commit.

        This matters if the archive has no other row of that commit.
        """
        realm = self._db.realm
        if realm not in self._last_commits:
            self._last_commits[realm] = self._db.fetch_one("last_commit")
        last, recorded = self._last_commits[realm]
        if record.commit > last:
            recorded = self._commit_times.get(record.commit) or recorded or rows.to_micros(record.made_at)
            self._execute("load_commit", commit=record.commit, recorded_at=recorded)
            self._last_commits[realm] = record.commit, recorded

    def _scope_number(self, scope: Scope) -> int:
        if scope not in self._scope_numbers:
            (self._scope_numbers[scope],) = self._db.fetch_one("add_scope", path=str(scope))
        self._loaded_scopes[scope] = self._scope_numbers[scope]
        return self._loaded_scopes[scope]

    def _execute(self, statement: str, /, **params: object) -> None:
        self._db.execute(statement, **params)


def _scope_of(item: ArchiveItem) -> Scope:
    return item.scope if isinstance(item, ContextRecord) else item.current.scope


def _id_of(item: ArchiveItem) -> str:
    return item.id if isinstance(item, ContextRecord) else item.current.id
