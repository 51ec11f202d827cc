"""Archive: all that a store knows, as values that another store can take in; and how it takes them in."""

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import replace
from datetime import datetime
from itertools import islice, pairwise
from typing import Any, TypeVar

from recollect.model.archive import Content, Imported, Inventory, Item, Saved, SavedUse, SavedVote, said
from recollect.model.context_record import Trace
from recollect.model.idempotency import Kept
from recollect.model.memory import Memory, MemoryId, content_hash
from recollect.model.scope import Scope
from recollect.model.usage import Use, Vote, standing, tally_votes
from recollect.retrieval import entity_columns, postings
from recollect.stores.sql import rows
from recollect.stores.sql.duplicate_guard import refusal
from recollect.stores.sql.stats import present_model
from recollect.stores.sql.transaction import Row, Session, inside
from recollect.stores.write_checks import context_taken, id_taken, says_something_else
from recollect.text import entities, tokenizer
from recollect.text.paraphrase_key import likeness

S = TypeVar("S", bound=Session)

PAGE = 200
"""How many memories are read at a time."""

Stamping = Callable[[int, datetime], tuple[int, int]]
"""Which commit takes in here what a commit took in there, and when it was recorded as the tables have it."""


def inventory(db: Session, scope: Scope | None) -> Inventory:
    """What `saved` will give."""
    _, encoder = present_model(db)
    memories, contexts, until = db.the("inventory", **inside(scope, below=True))
    return Inventory(
        encoder=encoder,
        analyser=tokenizer.VERSION,
        scope=scope,
        memories=memories,
        contexts=contexts,
        until=rows.maybe_moment(until),
    )


def saved(db: Session, scope: Scope | None) -> Iterator[Item]:
    """Every memory of the scope and those below it, or of all, in the order they came; then their contexts."""
    model, _ = present_model(db)
    for numbers in _pages(db, "numbers_to_save", scope):
        yield from _memories(db, numbers, model)
    for ids in _pages(db, "contexts_to_save", scope):
        yield from (rows.trace(text) for (text,) in db.all("saved_contexts", contexts=ids))


def exported(
    opening: AbstractContextManager[S], scope: Scope | None, told: Callable[[S, Iterator[Item]], Iterator[Item]]
) -> tuple[Inventory, Iterator[Item]]:
    """The inventory, and the items as they are told, all from one session, which is let go of at their end."""
    opened = ExitStack()
    with ExitStack() as unless_given:
        unless_given.push(opened)
        db = opened.enter_context(opening)
        found = inventory(db, scope), _until_read(opened, told(db, saved(db, scope)))
        unless_given.pop_all()
    return found


def as_they_are(_: Session, items: Iterator[Item]) -> Iterator[Item]:
    """Nothing is told otherwise."""
    return items


def _until_read(opened: ExitStack, items: Iterator[Item]) -> Iterator[Item]:
    with opened:
        yield from items


def _pages(db: Session, statement: str, scope: Scope | None) -> Iterator[str]:
    """What the statement names of the scope and those below it, a page at a time, as JSON."""
    found = (name for (name,) in db.each(statement, **inside(scope, below=True)))
    while page := list(islice(found, PAGE)):
        yield json.dumps(page)


def _memories(db: Session, numbers: str, model: int) -> Iterator[Saved]:
    page = db.all("saved_memories", memories=numbers)
    former = rows.by_memory(db.all("saved_versions", memories=numbers))
    states = {number: [*former[number], (content, *state)] for number, content, _, _, *state in page}
    wanted = json.dumps(sorted({state[0] for one in states.values() for state in one}))
    contents = {
        number: Content(title, text, vector)
        for number, title, text, vector in db.all("saved_contents", contents=wanted, encoder=model)
    }
    uses = rows.by_memory(db.all("saved_uses", memories=numbers))
    votes = rows.by_memory(db.all("saved_votes", memories=numbers))
    keys = rows.by_memory(db.all("saved_keys", memories=numbers))
    for number, _, id, path, *_ in page:
        said = list(dict.fromkeys(contents[state[0]] for state in states[number]))
        yield Saved(
            contents=tuple(said),
            versions=tuple(
                (_version(id, path, contents[content], state), said.index(contents[content]))
                for content, *state in states[number]
            ),
            uses=tuple(
                SavedUse(Use(use), rows.moment(at), context, commit, rows.moment(recorded_at))
                for use, at, context, commit, recorded_at in uses[number]
            ),
            votes=tuple(_vote(id, row) for row in votes[number]),
            keys=tuple(rows.kept(Scope.parse(path), key, tuple(row)) for key, *row in keys[number]),
        )


def _version(id: str, path: str, content: Content, state: Sequence[Any]) -> Memory:
    return rows.memory((id, path, content.title, content.text, *state))


def _vote(id: str, row: Row) -> SavedVote:
    context, by, use, at, commit, recorded_at = row
    vote = Vote(context=context, memory=MemoryId(id), by=by, use=Use(use), at=rows.moment(at))
    return SavedVote(vote, commit, rows.moment(recorded_at))


class Loading:
    """Takes in memories and contexts; what is here already is left alone and counted."""

    def __init__(
        self,
        db: Session,
        stamping: Stamping,
        exact: Callable[[], bool],
        *,
        encoder: int,
        moments: Mapping[int, int] | None = None,
    ) -> None:
        """`exact` says whether commits are here what they are there, in the realm that was entered last.

        `moments` says when commits were recorded, if their numbers count over all realms.
        """
        self._db = db
        self._stamping = stamping
        self._exact = exact
        self._encoder = encoder
        self._moments = {} if moments is None else moments
        self._scopes: dict[Scope, int] = {}
        self._known: dict[Scope, int] = {}
        self._last: dict[str, Row] = {}
        self._here: dict[type[Item], set[tuple[str, str]]] = {}
        self._memories = self._contexts = self._skipped = 0

    def load(self, items: Iterable[Item]) -> Imported:
        """Take in all of them."""
        left = iter(items)
        while page := list(islice(left, PAGE)):
            self._look_for(page)
            for item in page:
                self._db.enter(_scope_of(item), wide=True)
                if isinstance(item, Trace):
                    self._context(item)
                else:
                    self._memory(item)
        for scope, number in self._scopes.items():
            self._db.enter(scope, wide=True)
            self._run("load_stamps", scope=number)
        return Imported(memories=self._memories, contexts=self._contexts, skipped=self._skipped)

    def _look_for(self, page: Sequence[Item]) -> None:
        """Find out at once which of the items are here, and the numbers of their scopes."""
        self._here = {Saved: set(), Trace: set()}
        roots: dict[str, list[Item]] = defaultdict(list)
        for item in page:
            roots[_scope_of(item).parts[0]].append(item)
        for found in roots.values():
            self._db.enter(_scope_of(found[0]), wide=True)
            for kind, statement in ((Saved, "ids_here"), (Trace, "contexts_here")):
                asked = [_id_of(item) for item in found if isinstance(item, kind)]
                if asked:
                    here = self._db.all(statement, ids=json.dumps(asked))
                    self._here[kind].update((self._db.realm, id) for (id,) in here)
            new = {str(scope): scope for scope in map(_scope_of, found) if scope not in self._known}
            if new:
                stamps = self._db.all("scope_stamps", paths=json.dumps(list(new)))
                self._known.update((new[path], number) for path, number, *_ in stamps)

    def _was_here(self, item: Item) -> bool:
        """Whether an item of that sort and id was here before this one, which is here from now on."""
        place = self._db.realm, _id_of(item)
        here = self._here[type(item)]
        if place in here:
            return True
        here.add(place)
        return False

    def _memory(self, saved: Saved) -> None:
        present = saved.present
        if self._is_here(saved):
            self._skipped += 1
            return
        scope = self._scope(present.scope)
        contents = [self._content(one, scope) for one in saved.contents]
        states = [(contents[place], self._state(memory)) for memory, place in saved.versions]
        content, state = states[-1]
        given: dict[str, Any] = {"id": present.id, "scope": scope, "content": content, **state}
        added = self._db.one("add_memory", **given)
        if added is None:
            raise refusal(self._db, given)
        number: int = added[0]
        for (content, state), (_, after) in pairwise(states):
            self._run("load_version", memory=number, until=after["changed"], content=content, **state)
        self._usage(saved, number, scope)
        for kept in saved.keys:
            self._key(kept, scope)
        self._memories += 1

    def _is_here(self, saved: Saved) -> bool:
        """Whether the same memory with the same history is here; one that says something else is a conflict."""
        present = saved.present
        if not self._was_here(saved):
            return False
        here = self._db.one("own_memory", id=present.id, path=str(present.scope))
        if here is None:
            raise id_taken(present.id)
        versions = [rows.memory(row) for row in (*self._db.all("history", id=present.id), here)]
        if said(versions) != said([memory for memory, _ in saved.versions]):
            raise says_something_else(present.id)
        return True

    def _content(self, content: Content, scope: int) -> int:
        (number,) = self._db.the(
            "add_content",
            scope=scope,
            title=content.title,
            text=content.text,
            hash=content_hash(content.text),
            terms=postings.encode(tokenizer.counts(content.searched_text)),
            analyser=tokenizer.VERSION,
            entities=entity_columns.encode(content.title, content.text),
            naming=entities.VERSION,
        )
        if content.vector is not None:
            value = rows.Direction(content.vector)
            self._run("add_vector", content=number, encoder=self._encoder, scope=scope, value=value)
        return int(number)

    def _state(self, memory: Memory) -> dict[str, Any]:
        commit, recorded_at = self._stamping(memory.commit or 0, memory.recorded_at or memory.created_at)
        state = rows.state(memory, memory.hash, likeness(memory), recorded_at=recorded_at, commit=commit)
        return dict(zip(rows.STATE, state, strict=True))

    def _usage(self, saved: Saved, number: int, scope: int) -> None:
        """The log of what happened to the memory, and what it adds up to."""
        last = 0
        for use in saved.uses:
            commit, _ = self._stamping(use.commit, use.recorded_at)
            last, at = max(last, commit), rows.micros(use.at)
            self._run("add_use", memory=number, use=use.use.value, at=at, context=use.context, commit=commit)
        for one in saved.votes:
            vote = one.vote
            commit, _ = self._stamping(one.commit, one.recorded_at)
            last = max(last, commit)
            given = {"context": vote.context, "by": vote.by, "use": vote.use.value, "at": rows.micros(vote.at)}
            self._run("add_vote", memory=number, commit=commit, **given)
        if not last:
            return
        helped, misled = tally_votes(standing(one.vote for one in saved.votes))
        uses = {sort: [use.at for use in saved.uses if use.use is sort] for sort in Use}
        self._run(
            "add_usage",
            memory=number,
            scope=scope,
            served=len(uses[Use.SERVED]),
            helped=helped,
            misled=misled,
            echoed=len(uses[Use.ECHOED]),
            quoted=len(uses[Use.QUOTED]),
            followed=len(uses[Use.FOLLOWED]),
            last_served_at=rows.maybe_micros(max(uses[Use.SERVED], default=None)),
            last_echoed_at=rows.maybe_micros(max(uses[Use.ECHOED], default=None)),
            changed=last,
        )

    def _key(self, kept: Kept, scope: int) -> None:
        verdict, at = rows.verdict_text(kept.verdict), rows.micros(kept.at)
        self._run("load_key", scope=scope, key=kept.key, body=kept.body, id=kept.memory, verdict=verdict, at=at)

    def _context(self, trace: Trace) -> None:
        if self._was_here(trace):
            known = rows.trace(self._db.the("any_context", id=trace.id)[0])
            if known != trace.counted_as(known):
                raise context_taken(trace.id)
            self._skipped += 1
            return
        if not self._exact():
            trace = replace(trace, elsewhere=True)
        elif not trace.elsewhere:
            self._reserve(trace)
        scope, made_at, text = self._scope(trace.scope), rows.micros(trace.made_at), rows.trace_text(trace)
        self._run("add_context", id=trace.id, scope=scope, made_at=made_at, trace=text, commit=trace.commit)
        self._contexts += 1

    def _reserve(self, trace: Trace) -> None:
        """See that no later commit gets a number that the context knew of, though nothing of that one came here."""
        realm = self._db.realm
        if realm not in self._last:
            self._last[realm] = self._db.the("last_commit")
        last, recorded = self._last[realm]
        if trace.commit > last:
            recorded = self._moments.get(trace.commit) or recorded or rows.micros(trace.made_at)
            self._run("load_commit", commit=trace.commit, recorded_at=recorded)
            self._last[realm] = trace.commit, recorded

    def _scope(self, scope: Scope) -> int:
        if scope not in self._known:
            (self._known[scope],) = self._db.the("add_scope", path=str(scope))
        self._scopes[scope] = self._known[scope]
        return self._scopes[scope]

    def _run(self, statement: str, /, **given: object) -> None:
        self._db.run(statement, **given)


def _scope_of(item: Item) -> Scope:
    return item.scope if isinstance(item, Trace) else item.present.scope


def _id_of(item: Item) -> str:
    return item.id if isinstance(item, Trace) else item.present.id
