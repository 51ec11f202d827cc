"""Loading: an archive goes into a SQLite store, inside one transaction."""

import json
from collections.abc import Callable, Iterable
from datetime import datetime
from itertools import pairwise
from typing import Any

import apsw

from recollect.evidence import analysis, postings
from recollect.model.archive import Content, Imported, Item, Saved, said
from recollect.model.kept import Kept
from recollect.model.memory import Memory, Status, content_hash
from recollect.model.scope import Scope
from recollect.model.trace import Trace
from recollect.model.usage import Use, tally_votes
from recollect.stores.refusals import context_taken, id_taken, said_already, says_something_else, topic_taken
from recollect.stores.sqlite import rows
from recollect.stores.sqlite.sql import SQL, all_rows, one_row

Stamp = tuple[int, int]
"""A commit, and when it was recorded as the tables have it."""

Stamping = Callable[[int, datetime], Stamp]
"""Which commit takes in here what a commit took in there."""


class Loading:
    """Takes in memories and contexts; what is here already is left alone and counted."""

    def __init__(self, db: apsw.Connection, stamping: Stamping, *, encoder: int) -> None:
        self._db = db
        self._stamping = stamping
        self._encoder = encoder
        self._scopes: dict[Scope, int] = {}
        self._memories = self._contexts = self._skipped = 0

    def load(self, items: Iterable[Item]) -> Imported:
        """Take in all of them."""
        for item in items:
            if isinstance(item, Trace):
                self._context(item)
            else:
                self._memory(item)
        self._run("load_stamps", scopes=json.dumps(list(self._scopes.values())))
        return Imported(memories=self._memories, contexts=self._contexts, skipped=self._skipped)

    def _memory(self, saved: Saved) -> None:
        present = saved.present
        if self._is_here(saved):
            self._skipped += 1
            return
        if present.status is Status.ACTIVE:
            twin = one_row(self._db, "twin", path=str(present.scope), hash=present.hash)
            if twin is not None:
                raise said_already(twin[0])
            topic = one_row(self._db, "topic", path=str(present.scope), topic_key=present.topic_key)
            if topic is not None:
                raise topic_taken(topic[0], present.topic_key or "")
        scope = self._scope(present.scope)
        contents = [self._content(one) for one in saved.contents]
        states = [(contents[place], self._state(memory)) for memory, place in saved.versions]
        content, state = states[-1]
        self._run("add_memory", id=present.id, scope=scope, content=content, **state)
        number = self._db.last_insert_rowid()
        for (content, state), (_, after) in pairwise(states):
            self._run("load_version", memory=number, until=after["changed"], content=content, **state)
        self._usage(saved, number, scope)
        for kept in saved.keys:
            self._key(kept, scope)
        self._memories += 1

    def _is_here(self, saved: Saved) -> bool:
        """Whether the same memory with the same history is here; one that says something else is a conflict."""
        present = saved.present
        if one_row(self._db, "present_state", id=present.id) is None:
            return False
        here = one_row(self._db, "own_memory", id=present.id, path=str(present.scope))
        if here is None:
            raise id_taken(present.id)
        versions = [rows.memory(row) for row in (*all_rows(self._db, "history", id=present.id), here)]
        if said(versions) != said([memory for memory, _ in saved.versions]):
            raise says_something_else(present.id)
        return True

    def _content(self, content: Content) -> int:
        row = one_row(
            self._db,
            "add_content",
            title=content.title,
            text=content.text,
            hash=content_hash(content.text),
            terms=postings.encode(analysis.counts(content.searched_text)),
            analyser=analysis.VERSION,
        )
        number = int((row or (0,))[0])
        if content.vector is not None:
            self._run("add_vector", content=number, encoder=self._encoder, value=content.vector)
        return number

    def _state(self, memory: Memory) -> dict[str, Any]:
        commit, recorded_at = self._stamping(memory.commit or 0, memory.recorded_at or memory.created_at)
        state = rows.state(memory, recorded_at=recorded_at, commit=commit)
        return dict(zip(rows.STATE, state, strict=True))

    def _usage(self, saved: Saved, number: int, scope: int) -> None:
        """The log of what happened to the memory, and what it adds up to."""
        last = 0
        for use in saved.uses:
            last, _ = self._stamping(use.commit, use.recorded_at)
            at = rows.micros(use.at)
            self._run("add_use", memory=number, use=use.use.value, at=at, context=use.context, commit=last)
        for one in saved.votes:
            vote = one.vote
            commit, _ = self._stamping(one.commit, one.recorded_at)
            last = max(last, commit)
            given = {"context": vote.context, "by": vote.by, "use": vote.use.value, "at": rows.micros(vote.at)}
            self._run("add_vote", memory=number, commit=commit, **given)
        if not last:
            return
        helped, misled = tally_votes(list({(one.vote.context, one.vote.by): one.vote for one in saved.votes}.values()))
        served = [use.at for use in saved.uses if use.use is Use.SERVED]
        echoed = [use.at for use in saved.uses if use.use is Use.ECHOED]
        self._run(
            "load_usage",
            memory=number,
            scope=scope,
            served=len(served),
            helped=helped,
            misled=misled,
            echoed=len(echoed),
            last_served_at=rows.maybe_micros(max(served, default=None)),
            last_echoed_at=rows.maybe_micros(max(echoed, default=None)),
            changed=last,
        )

    def _key(self, kept: Kept, scope: int) -> None:
        if one_row(self._db, "key", path=str(kept.scope), key=kept.key) is None:
            verdict, at = rows.verdict_text(kept.verdict), rows.micros(kept.at)
            self._run("add_key", scope=scope, key=kept.key, body=kept.body, id=kept.memory, verdict=verdict, at=at)

    def _context(self, trace: Trace) -> None:
        here = one_row(self._db, "any_context", id=trace.id)
        if here is not None:
            if rows.trace(here[0]) != trace:
                raise context_taken(trace.id)
            self._skipped += 1
            return
        scope, made_at, text = self._scope(trace.scope), rows.micros(trace.made_at), rows.trace_text(trace)
        self._run("add_context", id=trace.id, scope=scope, made_at=made_at, trace=text, commit=trace.commit)
        self._contexts += 1

    def _scope(self, scope: Scope) -> int:
        if scope not in self._scopes:
            row = one_row(self._db, "add_scope", path=str(scope))
            self._scopes[scope] = int((row or (0,))[0])
        return self._scopes[scope]

    def _run(self, statement: str, /, **given: object) -> None:
        self._db.execute(SQL[statement], given)
