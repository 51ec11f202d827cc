"""Checking: whether every row of a store is what it should be, told in words where it is not."""

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from itertools import groupby, islice, pairwise
from operator import itemgetter
from typing import Any

import apsw
import numpy as np

from recollect.errors import RecollectError, show
from recollect.model.memory import content_hash, searched
from recollect.model.scope import Scope
from recollect.model.table import MICROSECOND
from recollect.model.usage import standing, tally_votes
from recollect.model.validation import IN_MEMORY, LENGTH_ROUNDING, MOST_AHEAD
from recollect.retrieval import entity_columns, postings
from recollect.stores.sql import rows
from recollect.stores.sql.transaction import Row
from recollect.stores.sqlite.connection import Database
from recollect.stores.sqlite.sql import SQL, all_rows
from recollect.text import entities, tokenizer
from recollect.text.paraphrase_key import likeness

MOST = 20
"""How many problems of one sort are told one by one."""

LAST = 2**63 - 1
"""Until when the present version of a memory holds, as the statement has it."""

UNREADABLE = (apsw.Error, RecollectError, ValueError, LookupError, TypeError, AttributeError, RecursionError)
"""What reading something damaged may end with."""

Problems = Iterator[str]

_COMMENT = re.compile("--[^\n]*")


def problems(db: apsw.Connection, told: Callable[[], object]) -> list[str]:
    """All that is wrong with the rows of the store that the connection sees; `told` is called after each check."""
    found: list[str] = []
    for check in CHECKS:
        found += _told(check, db)
        told()
    return found


def _told(check: Callable[[apsw.Connection], Problems], db: apsw.Connection) -> Problems:
    """What a check finds, up to a number; and if it cannot go on, why."""
    found = check(db)
    try:
        yield from islice(found, MOST)
        if more := sum(1 for _ in found):
            yield f"and {more} more like the last one"
    except UNREADABLE as error:
        yield f"{check.__name__.strip('_')}: a row cannot be read ({error})"


def _file(db: apsw.Connection) -> Problems:
    """The file is built as SQLite builds one."""
    for (said,) in db.execute(f"PRAGMA integrity_check({MOST})"):
        if said != "ok":
            yield f"the file is damaged: {said}"
    for table, number, parent, _ in db.execute("PRAGMA foreign_key_check"):
        yield f"{table}: row {number} points to a row of {parent} that is not there"


def _schema(db: apsw.Connection) -> Problems:
    """Tables and indexes are those that this program makes, so that what they promise is promised."""
    database = Database.open(IN_MEMORY)
    with closing(database), closing(database.connect_reading()) as anew:
        made = _made(anew)
    found = _made(db)
    for name, (sort, table, definition) in made.items():
        if name not in found:
            yield f"the {sort} {name} is missing"
        elif found[name] != (sort, table, definition):
            yield f"the {sort} {name} is not what this program makes by that name"
    for name, (sort, table, _) in found.items():
        if sort == "trigger" and name not in made:  # a table of its own is not in the way, as one who copies may have
            yield f"the trigger {show(name)} of {show(table)} is not this program's, and changes what it writes"


def _made(db: apsw.Connection) -> Mapping[str, tuple[str, str, str]]:
    """What sort of thing each name is, of which table, and what it was made by but for blanks and comments."""
    return {
        name: (sort, table, " ".join(_COMMENT.sub("", text).split()))
        for sort, name, table, text in all_rows(db, "made")
    }


def _contents(db: apsw.Connection) -> Problems:
    """What memories say is what its sum, its terms and its names were made of."""
    for number, title, text, hash, terms, analyser, names, naming in db.execute(SQL["check_contents"]):
        if content_hash(text) != hash:
            yield f"content {number} is not the text that its sum was made of"
        if analyser == tokenizer.VERSION and postings.encode(tokenizer.counts(searched(title, text))) != terms:
            yield f"content {number} is not the text that its terms were made of"
        if analyser != tokenizer.VERSION:
            yield f"content {number} has the terms of analyser {analyser!r}, and this is {tokenizer.VERSION!r}"
        if naming == entities.VERSION and entity_columns.encode(title, text) != names:
            yield f"content {number} is not the text that its names were found in"
        if naming != entities.VERSION:
            yield f"content {number} has names by the rules {naming!r}, and these are {entities.VERSION!r}"
    for (number,) in db.execute(SQL["check_unused_contents"]):
        yield f"content {number} belongs to no memory"


def _vectors(db: apsw.Connection) -> Problems:
    """Every content has a direction of the present model, and it is one."""
    for content, value, known, model, dimensions in db.execute(SQL["check_vectors"]):
        if known is None or model is None:
            yield f"a vector of content {content} belongs to no {'content' if known is None else 'model'}"
        elif len(value) != 4 * dimensions:
            yield f"the vector of content {content} has {len(value)} bytes, and {model} gives {4 * dimensions}"
        else:
            parts = np.frombuffer(value, dtype="<f4").astype(np.float64)
            if not abs(float(parts @ parts) - 1.0) <= LENGTH_ROUNDING:
                yield f"the vector of content {content} is not of length 1"
    ((missing,),) = db.execute(SQL["check_missing_vectors"])
    if missing:
        yield f"{missing} contents have no vector of the present model; run `recollect admin re-embed --embedder NAME`"


def _versions(db: apsw.Connection) -> Problems:
    """Versions are memories that follow each other without a gap, in commits that are recorded."""
    recorded = dict(db.execute(SQL["check_commits"]))
    moments = [recorded[number] for number in sorted(recorded)]
    if any(0 < before - after <= MOST_AHEAD // MICROSECOND for before, after in pairwise(moments)):
        yield "the moments of commits are not in the order of their numbers"
    for (commit,) in db.execute(SQL["check_unknown_commits"]):
        yield f"commit {commit} took something in and is not recorded"
    for _, versions in groupby(db.execute(SQL["check_states"]), key=itemgetter(0)):
        yield from _chain(list(versions), recorded)


def _chain(versions: list[Any], recorded: dict[Any, Any]) -> Problems:
    """What is wrong with the versions of one memory, each with until when it held, its content's sum, and its state."""
    id, states = versions[-1][3], []
    for _, until, hash, *row in versions:
        state = dict(zip(rows.STATE, row[4:], strict=True))
        states.append((state["changed"], until))
        if hash is None:
            yield f"memory {id} has a version without a content"
            continue
        try:
            memory = rows.memory(tuple(row)).changed()  # which looks at every field, unlike reading
        except UNREADABLE as error:
            yield f"memory {id} cannot be read ({error})"
            continue
        if content_hash(memory.text) != hash or state["hash"] != memory.hash:
            yield f"memory {id} has the sum of another text"
        if state["likeness"] != likeness(memory):
            yield f"memory {id} has the likeness of another text"
        if recorded.get(state["changed"], state["recorded_at"]) != state["recorded_at"]:
            yield f"memory {id} was not recorded when its commit was"
    ends = [until for _, until in states]
    if [*ends[:-1], LAST] != [*(begin for begin, _ in states[1:]), ends[-1]]:
        yield f"the versions of memory {id} leave a gap, or overlap"
    if any(begin > until for begin, until in states):
        yield f"a version of memory {id} ends before it begins"


def _twins(db: apsw.Connection) -> Problems:
    """No two active memories of a scope say the same about the same topic, or have one topic."""
    for path, ids in db.execute(SQL["check_twins"]):
        yield f"{path} has active memories that say the same: {ids}"
    for path, topic_key, ids in db.execute(SQL["check_topics"]):
        yield f"{path} has active memories of one topic, {show(topic_key)}: {ids}"


def _names(db: apsw.Connection) -> Problems:
    """What is found by a name is found by it alone."""
    for sort, name in db.execute(SQL["check_names"]):
        yield f"several {sort} have the name {show(name)}"
    for (models,) in db.execute(SQL["check_present_models"]):
        yield f"several models are the present one: {models}"
    for (vectors,) in db.execute(SQL["check_no_present_model"]):
        yield f"no model is the present one, though there are {vectors} vectors, which nobody can search by"


def _usage(db: apsw.Connection) -> Problems:
    """Counters are what the logs add up to."""
    votes: dict[int, list[Row]] = defaultdict(list)
    for vote in all_rows(db, "check_votes"):
        votes[vote[0]].append(vote)
    for number, id, scope, said_scope, *counted in db.execute(SQL["check_usage"]):
        said, logged = counted[:8], counted[8:]
        true = [*logged, *tally_votes(standing(rows.vote(*row) for row in votes.get(number, [])))]
        if said_scope is not None and said_scope != scope:
            yield f"the usage of memory {id} is kept for another scope"
        if [value or 0 for value in said] != [value or 0 for value in true]:
            yield f"the counters of memory {id} are not what its log of uses and votes adds up to"


def _stamps(db: apsw.Connection) -> Problems:
    """Every scope knows its last change."""
    for (path,) in db.execute(SQL["check_stamps"]):
        yield f"{path} does not know its last change, so that readers may not see it"


def _records(db: apsw.Connection) -> Problems:
    """Contexts and keys can be read, and are whose they say."""
    for id, path, text in db.execute(SQL["check_contexts"]):
        try:
            trace = rows.trace(text)
            if (trace.id, str(trace.scope)) != (id, path):
                yield f"context {id} is not the one that it says it is"
        except UNREADABLE as error:
            yield f"context {id} cannot be read ({error})"
    for path, key, *row in db.execute(SQL["check_keys"]):
        try:
            rows.kept(Scope.parse(path), key, tuple(row))
        except UNREADABLE as error:
            yield f"the key {key!r} of {path} cannot be read ({error})"


CHECKS = (_file, _schema, _contents, _vectors, _versions, _twins, _names, _usage, _stamps, _records)
