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
from recollect.model.memory import build_searched_text, content_hash
from recollect.model.scope import Scope
from recollect.model.table import MICROSECOND
from recollect.model.usage import count_votes, select_current_votes
from recollect.model.validation import IN_MEMORY_TARGET, MAX_CLOCK_LEAD, NORM_ROUNDING
from recollect.retrieval import entity_columns, postings
from recollect.stores.sql import rows
from recollect.stores.sql.transaction import Row
from recollect.stores.sqlite.connection import SqliteDatabase
from recollect.stores.sqlite.sql import SQL, fetch_all
from recollect.text import entities, tokenizer
from recollect.text.paraphrase_key import paraphrase_key

MAX_PROBLEMS_PER_CHECK = 20
"""How many problems of one sort are told one by one."""

NEVER_ENDED = 2**63 - 1
"""Until when the present version of a memory holds, as the statement has it."""

READ_ERRORS = (apsw.Error, RecollectError, ValueError, LookupError, TypeError, AttributeError, RecursionError)
"""What reading something damaged may end with."""

Problems = Iterator[str]

_SQL_COMMENT = re.compile("--[^\n]*")


def find_problems(db: apsw.Connection, told: Callable[[], object]) -> list[str]:
    """All that is wrong with the rows of the store that the connection sees; `told` is called after each check."""
    found: list[str] = []
    for check in CHECKS:
        found += _run_check(check, db)
        told()
    return found


def _run_check(check: Callable[[apsw.Connection], Problems], db: apsw.Connection) -> Problems:
    """What a check finds, up to a number; and if it cannot go on, why."""
    found = check(db)
    try:
        yield from islice(found, MAX_PROBLEMS_PER_CHECK)
        if more := sum(1 for _ in found):
            yield f"and {more} more like the last one"
    except READ_ERRORS as error:
        yield f"{check.__name__.strip('_')}: a row cannot be read ({error})"


def _file(db: apsw.Connection) -> Problems:
    """The file is built as SQLite builds one."""
    for (said,) in db.execute(f"PRAGMA integrity_check({MAX_PROBLEMS_PER_CHECK})"):
        if said != "ok":
            yield f"the file is damaged: {said}"
    for table, number, parent, _ in db.execute("PRAGMA foreign_key_check"):
        yield f"{table}: row {number} points to a row of {parent} that is not there"


def _schema(db: apsw.Connection) -> Problems:
    """Tables and indexes are those that this program makes, so that what they promise is promised."""
    database = SqliteDatabase.open(IN_MEMORY_TARGET)
    with closing(database), closing(database.connect_reading()) as anew:
        made = _read_schema(anew)
    found = _read_schema(db)
    for name, (sort, table, definition) in made.items():
        if name not in found:
            yield f"the {sort} {name} is missing"
        elif found[name] != (sort, table, definition):
            yield f"the {sort} {name} is not what this program makes by that name"
    for name, (sort, table, _) in found.items():
        if sort == "trigger" and name not in made:  # a table of its own is not in the way, as one who copies may have
            yield f"the trigger {show(name)} of {show(table)} is not this program's, and changes what it writes"


def _read_schema(db: apsw.Connection) -> Mapping[str, tuple[str, str, str]]:
    """What sort of thing each name is, of which table, and what it was made by but for blanks and comments."""
    return {
        name: (sort, table, " ".join(_SQL_COMMENT.sub("", text).split()))
        for sort, name, table, text in fetch_all(db, "made")
    }


def _contents(db: apsw.Connection) -> Problems:
    """What memories say is what its sum, its terms and its names were made of."""
    for number, title, text, hash, terms, analyser, names, naming in db.execute(SQL["check_contents"]):
        if content_hash(text) != hash:
            yield f"content {number} is not the text that its sum was made of"
        if (
            analyser == tokenizer.VERSION
            and postings.encode_terms(tokenizer.count_terms(build_searched_text(title, text))) != terms
        ):
            yield f"content {number} is not the text that its terms were made of"
        if analyser != tokenizer.VERSION:
            yield f"content {number} has the terms of analyser {analyser!r}, and this is {tokenizer.VERSION!r}"
        if naming == entities.VERSION and entity_columns.encode_names(title, text) != names:
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
            if not abs(float(parts @ parts) - 1.0) <= NORM_ROUNDING:
                yield f"the vector of content {content} is not of length 1"
    ((missing,),) = db.execute(SQL["check_missing_vectors"])
    if missing:
        yield f"{missing} contents have no vector of the present model; run `recollect admin re-embed --embedder NAME`"


def _versions(db: apsw.Connection) -> Problems:
    """Versions are memories that follow each other without a gap, in commits that are recorded."""
    recorded = dict(db.execute(SQL["check_commits"]))
    moments = [recorded[number] for number in sorted(recorded)]
    if any(0 < before - after <= MAX_CLOCK_LEAD // MICROSECOND for before, after in pairwise(moments)):
        yield "the moments of commits are not in the order of their numbers"
    for (commit,) in db.execute(SQL["check_unknown_commits"]):
        yield f"commit {commit} took something in and is not recorded"
    for _, versions in groupby(db.execute(SQL["check_states"]), key=itemgetter(0)):
        yield from _find_chain_problems(list(versions), recorded)


def _find_chain_problems(versions: list[Any], recorded: dict[Any, Any]) -> Problems:
    """What is wrong with the versions of one memory, each with until when it held, its content's sum, and its state."""
    id, states = versions[-1][3], []
    for _, until, hash, *row in versions:
        state = dict(zip(rows.STATE_COLUMNS, row[4:], strict=True))
        states.append((state["changed"], until))
        if hash is None:
            yield f"memory {id} has a version without a content"
            continue
        try:
            memory = rows.parse_memory(tuple(row)).changed()  # which looks at every field, unlike reading
        except READ_ERRORS as error:
            yield f"memory {id} cannot be read ({error})"
            continue
        if content_hash(memory.text) != hash or state["hash"] != memory.hash:
            yield f"memory {id} has the sum of another text"
        if state["likeness"] != paraphrase_key(memory):
            yield f"memory {id} has the likeness of another text"
        if recorded.get(state["changed"], state["recorded_at"]) != state["recorded_at"]:
            yield f"memory {id} was not recorded when its commit was"
    ends = [until for _, until in states]
    if [*ends[:-1], NEVER_ENDED] != [*(begin for begin, _ in states[1:]), ends[-1]]:
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
    for vote in fetch_all(db, "check_votes"):
        votes[vote[0]].append(vote)
    for number, id, scope, said_scope, *counted in db.execute(SQL["check_usage"]):
        said, logged = counted[:8], counted[8:]
        true = [*logged, *count_votes(select_current_votes(rows.parse_vote(*row) for row in votes.get(number, [])))]
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
            trace = rows.parse_context(text)
            if (trace.id, str(trace.scope)) != (id, path):
                yield f"context {id} is not the one that it says it is"
        except READ_ERRORS as error:
            yield f"context {id} cannot be read ({error})"
    for path, key, *row in db.execute(SQL["check_keys"]):
        try:
            rows.parse_kept_key(Scope.parse(path), key, tuple(row))
        except READ_ERRORS as error:
            yield f"the key {key!r} of {path} cannot be read ({error})"


CHECKS = (_file, _schema, _contents, _vectors, _versions, _twins, _names, _usage, _stamps, _records)
