"""Erasing: the part of it that happens inside a transaction, and the bytes to look for afterwards."""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from itertools import groupby, islice
from operator import itemgetter
from typing import Any

from recollect.model.erasure import Erased
from recollect.model.memory import MemoryId
from recollect.model.scope import Scope
from recollect.model.usage import standing, tally_votes, without_names
from recollect.stores.sql import rows
from recollect.stores.sql.erasure_needles import cut
from recollect.stores.sql.transaction import Row, Session

MOST = 200_000
"""How many pieces are looked for; beyond, of each further memory only the first is."""

FEW = 16
"""Up to how many ids SQLite looks for in the texts of traces; beyond, all of them are read."""

Run = Callable[..., None]
"""Runs a statement that writes."""


def erase(db: Session, run: Run, places: Mapping[MemoryId, tuple[int, int]], commit: int) -> Erased:
    """Remove these memories, each given with its number and its scope's, and every mention of them."""
    mentions = list(_mentions(db, places.keys()))
    for name, text in mentions:
        run("change_context", id=name, trace=text)
    pieces: set[bytes] = set()
    gone = Counter[str]()
    for id, (number, _) in sorted(places.items()):
        contents = db.all("said_by", memory=number)
        notes = db.all("noted_by", memory=number)
        keys = db.all("keys_of", memory=number)
        vectors = {content: db.all("vectors_of", content=content) for content, *_ in contents}
        uses, votes = db.the("happened_to", memory=number)
        gone.update(versions=len(notes), keys=len(keys), uses=uses, votes=votes)
        gone["vectors"] += sum(map(len, vectors.values()))
        known_again = _pieces(id, contents, vectors, notes, keys)
        pieces.update(known_again if len(pieces) < MOST else islice(known_again, 1))
        run("drop_memory", memory=number)
        for content, *_ in contents:
            run("drop_vectors", content=content)
            run("drop_content", content=content)
    for scope in sorted({scope for _, scope in places.values()}):
        noted = erase_checkpoints(db, run, scope)
        gone["checkpoints"] += noted.checkpoints
        pieces.update(noted.pieces)
        run("scope_emptied", scope=scope, commit=commit)
    return Erased(ids=tuple(sorted(places)), contexts=len(mentions), pieces=frozenset(pieces), **gone)


def erase_checkpoints(db: Session, run: Run, scope: int) -> Erased:
    """Remove how far anything got with the scope of that number: it may say what is erased."""
    noted = db.all("checkpoints_of", scope=scope)
    run("drop_checkpoints", scope=scope)
    pieces = frozenset(piece for _, value in noted for piece in cut(value.encode()))
    return Erased(checkpoints=len(noted), pieces=pieces)


def erase_contexts(db: Session, run: Run, scope: Scope) -> Erased:
    """Remove every context of the scope, with the questions that were asked in it, and its name from what it used."""
    found = db.all("contexts_of", path=str(scope))
    pieces = set(cut(str(scope).encode()))
    for name, text in found:
        trace = rows.trace(text)
        pieces.update(cut(name.encode()))
        pieces.update(piece for turn in trace.question for piece in cut(_stored(turn)))
        if trace.making is not None and trace.making.directions is not None:
            pieces.update(islice(cut(trace.making.directions.encode()), 2))
        run("drop_context", id=name)
    pieces.update(_unname(db, run, scope, {name for name, _ in found}))
    return Erased(contexts=len(found), pieces=frozenset(pieces))


def _unname(db: Session, run: Run, scope: Scope, contexts: Set[str]) -> Iterator[bytes]:
    """What the scope did with memories of its ancestors stays done, and no longer says by whom; gives what it said.

    Signs go: one without its context tells nothing.
    """
    gone, ancestors = json.dumps(list(contexts)), json.dumps([str(one) for one in scope.ancestors])
    if contexts and scope.ancestors:
        for statement in ("uncount_signs", "drop_signs", "unname_uses"):
            run(statement, contexts=gone, ancestors=ancestors)
    above = db.all("votes_above", path=str(scope), contexts=gone, ancestors=ancestors)
    for (memory, owner), cast in groupby(above, key=itemgetter(0, 1)):
        numbered = {number: rows.vote(memory, *vote) for _, _, number, *vote in cast}
        before = list(numbered.values())
        after = without_names(before, contexts, str(scope))
        for number, was, now in zip(numbered, before, after, strict=True):
            if was != now:
                run("unname_vote", number=number, context=now.context, by=now.by)
                yield from cut(was.by.encode())
        if before == after:
            continue
        helped, misled = tally_votes(standing(after))  # those of several are one's now, and those of one are two's
        run("recount_votes", memory=memory, helped=helped, misled=misled)
        run("recount_scope", scope=owner)  # if not now, what counted at some commit before has changed


def _mentions(db: Session, gone: Set[MemoryId]) -> Iterator[tuple[str, str]]:
    """Every context that names one of these, with its trace as it is without them."""
    quoted = [rows.quoted(id) for id in gone]
    found: Iterable[Row] = db.each("all_contexts")
    if len(quoted) <= FEW:
        found = {row for one in quoted for row in db.all("contexts_naming", id=one)}
    for name, text in found:
        trace = rows.trace(text)
        left = trace.without(gone)
        if left != trace:
            yield name, rows.trace_text(left)


def _pieces(
    id: MemoryId, contents: list[Row], vectors: Mapping[int, list[Row]], notes: list[Row], keys: list[Row]
) -> Iterator[bytes]:
    """The bytes by which what is removed would be known again, wherever they are."""
    for content, title, text, hash, terms, names in contents:
        yield from cut(text.encode())
        yield from cut(names.encode())
        yield from cut((title or "").encode())
        for known_by in (hash.encode(), terms, *(vector for (vector,) in vectors[content])):
            yield from islice(cut(known_by), 2)
    yield from islice(cut(id.encode()), 2)
    for topic_key, subject, hash, likeness, more in notes:
        for said in (topic_key, subject):
            yield from cut((said or "").encode())
        for known_by in (hash, likeness):
            yield from islice(cut(known_by.encode()), 2)
        known = json.loads(more)
        for said in _texts([known.get(name) for name in rows.MORE]):
            yield from cut(_stored(said))
    for key, body in keys:
        yield from cut(key.encode())
        yield from islice(cut(body.encode()), 2)


def _texts(value: Any) -> Iterator[str]:
    """Every text, name and number in a value of JSON."""
    match value:
        case str():
            yield value
        case dict():
            yield from value
            yield from _texts(list(value.values()))
        case list():
            for inner in value:
                yield from _texts(inner)
        case bool() | None:
            pass
        case _:
            yield json.dumps(value)


def _stored(text: str) -> bytes:
    """The text as it is in the file where it is part of JSON."""
    return json.dumps(text, ensure_ascii=False)[1:-1].encode()
