"""Erasing: the part of it that happens inside a transaction, and the bytes to look for afterwards."""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from itertools import groupby, islice
from operator import itemgetter
from typing import Any

from recollect.model.erasure import ErasedRows
from recollect.model.memory import MemoryId
from recollect.model.scope import Scope
from recollect.model.usage import anonymize_votes, count_votes, select_current_votes
from recollect.stores.sql import rows
from recollect.stores.sql.erasure_needles import cut_needles
from recollect.stores.sql.transaction import Row, Transaction

MAX_NEEDLES = 200_000
"""How many pieces are looked for; beyond, of each further memory only the first is."""

MAX_SEARCHED_IDS = 16
"""Up to how many ids SQLite looks for in the texts of traces; beyond, all of them are read."""

Execute = Callable[..., None]
"""Runs a statement that writes."""


def erase(db: Transaction, run: Execute, places: Mapping[MemoryId, tuple[int, int]], commit: int) -> ErasedRows:
    """Remove these memories, each given with its number and its scope's, and every mention of them."""
    mentions = list(_find_mentions(db, places.keys()))
    for name, text in mentions:
        run("change_context", id=name, trace=text)
    pieces: set[bytes] = set()
    gone = Counter[str]()
    for id, (number, _) in sorted(places.items()):
        contents = db.fetch_all("said_by", memory=number)
        notes = db.fetch_all("noted_by", memory=number)
        keys = db.fetch_all("keys_of", memory=number)
        vectors = {content: db.fetch_all("vectors_of", content=content) for content, *_ in contents}
        uses, votes = db.fetch_one("happened_to", memory=number)
        gone.update(versions=len(notes), keys=len(keys), uses=uses, votes=votes)
        gone["vectors"] += sum(map(len, vectors.values()))
        known_again = _memory_needles(id, contents, vectors, notes, keys)
        pieces.update(known_again if len(pieces) < MAX_NEEDLES else islice(known_again, 1))
        run("drop_memory", memory=number)
        for content, *_ in contents:
            run("drop_vectors", content=content)
            run("drop_content", content=content)
    for scope in sorted({scope for _, scope in places.values()}):
        noted = erase_checkpoints(db, run, scope)
        gone["checkpoints"] += noted.checkpoints
        pieces.update(noted.pieces)
        run("scope_emptied", scope=scope, commit=commit)
    return ErasedRows(ids=tuple(sorted(places)), contexts=len(mentions), pieces=frozenset(pieces), **gone)


def erase_checkpoints(db: Transaction, run: Execute, scope: int) -> ErasedRows:
    """Remove how far anything got with the scope of that number: it may say what is erased."""
    noted = db.fetch_all("checkpoints_of", scope=scope)
    run("drop_checkpoints", scope=scope)
    pieces = frozenset(piece for _, value in noted for piece in cut_needles(value.encode()))
    return ErasedRows(checkpoints=len(noted), pieces=pieces)


def erase_contexts(db: Transaction, run: Execute, scope: Scope) -> ErasedRows:
    """Remove every context of the scope, with the questions that were asked in it, and its name from what it used."""
    found = db.fetch_all("contexts_of", path=str(scope))
    pieces = set(cut_needles(str(scope).encode()))
    for name, text in found:
        trace = rows.parse_context(text)
        pieces.update(cut_needles(name.encode()))
        pieces.update(piece for turn in trace.question for piece in cut_needles(_json_bytes(turn)))
        if trace.making is not None and trace.making.directions is not None:
            pieces.update(islice(cut_needles(trace.making.directions.encode()), 2))
        run("drop_context", id=name)
    pieces.update(_anonymize_uses(db, run, scope, {name for name, _ in found}))
    return ErasedRows(contexts=len(found), pieces=frozenset(pieces))


def _anonymize_uses(db: Transaction, run: Execute, scope: Scope, contexts: Set[str]) -> Iterator[bytes]:
    """What the scope did with memories of its ancestors stays done, and no longer says by whom; gives what it said.

    Signs go: one without its context tells nothing.
    """
    gone, ancestors = json.dumps(list(contexts)), json.dumps([str(one) for one in scope.ancestors])
    if contexts and scope.ancestors:
        for statement in ("uncount_signs", "drop_signs", "unname_uses"):
            run(statement, contexts=gone, ancestors=ancestors)
    above = db.fetch_all("votes_above", path=str(scope), contexts=gone, ancestors=ancestors)
    for (memory, owner), cast in groupby(above, key=itemgetter(0, 1)):
        numbered = {number: rows.parse_vote(memory, *vote) for _, _, number, *vote in cast}
        before = list(numbered.values())
        after = anonymize_votes(before, contexts, str(scope))
        for number, was, now in zip(numbered, before, after, strict=True):
            if was != now:
                run("unname_vote", number=number, context=now.context, by=now.by)
                yield from cut_needles(was.by.encode())
        if before == after:
            continue
        helped, misled = count_votes(
            select_current_votes(after)
        )  # those of several are one's now, and those of one are two's
        run("recount_votes", memory=memory, helped=helped, misled=misled)
        run("recount_scope", scope=owner)  # if not now, what counted at some commit before has changed


def _find_mentions(db: Transaction, gone: Set[MemoryId]) -> Iterator[tuple[str, str]]:
    """Every context that names one of these, with its trace as it is without them."""
    quoted = [rows.quote_id(id) for id in gone]
    found: Iterable[Row] = db.fetch_each("all_contexts")
    if len(quoted) <= MAX_SEARCHED_IDS:
        found = {row for one in quoted for row in db.fetch_all("contexts_naming", id=one)}
    for name, text in found:
        trace = rows.parse_context(text)
        left = trace.without_memories(gone)
        if left != trace:
            yield name, rows.context_to_json(left)


def _memory_needles(
    id: MemoryId, contents: list[Row], vectors: Mapping[int, list[Row]], notes: list[Row], keys: list[Row]
) -> Iterator[bytes]:
    """The bytes by which what is removed would be known again, wherever they are."""
    for content, title, text, hash, terms, names in contents:
        yield from cut_needles(text.encode())
        yield from cut_needles(names.encode())
        yield from cut_needles((title or "").encode())
        for known_by in (hash.encode(), terms, *(vector for (vector,) in vectors[content])):
            yield from islice(cut_needles(known_by), 2)
    yield from islice(cut_needles(id.encode()), 2)
    for topic_key, subject, hash, likeness, more in notes:
        for said in (topic_key, subject):
            yield from cut_needles((said or "").encode())
        for known_by in (hash, likeness):
            yield from islice(cut_needles(known_by.encode()), 2)
        known = json.loads(more)
        for said in _json_texts([known.get(name) for name in rows.JSON_FIELDS]):
            yield from cut_needles(_json_bytes(said))
    for key, body in keys:
        yield from cut_needles(key.encode())
        yield from islice(cut_needles(body.encode()), 2)


def _json_texts(value: Any) -> Iterator[str]:
    """Every text, name and number in a value of JSON."""
    match value:
        case str():
            yield value
        case dict():
            yield from value
            yield from _json_texts(list(value.values()))
        case list():
            for inner in value:
                yield from _json_texts(inner)
        case bool() | None:
            pass
        case _:
            yield json.dumps(value)


def _json_bytes(text: str) -> bytes:
    """The text as it is in the file where it is part of JSON."""
    return json.dumps(text, ensure_ascii=False)[1:-1].encode()
