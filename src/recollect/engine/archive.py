"""Archive: the lines of an export, and the values they stand for."""

import base64
import binascii
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from datetime import datetime
from enum import Enum
from typing import Any, get_args

from recollect.errors import FieldError, InvalidInput, show
from recollect.model import limits
from recollect.model.archive import Content, Inventory, Item, Saved, SavedUse, SavedVote
from recollect.model.encoder import Encoder
from recollect.model.kept import Kept
from recollect.model.memory import Kind, Memory, MemoryId, Provenance, Status, named
from recollect.model.scope import Scope
from recollect.model.trace import Passed, Placed, Trace
from recollect.model.usage import Use, Vote
from recollect.model.verdict import Verdict

FORMAT, NUMBER = "recollect-export", 1
"""What the first line of an export says it is; a change that older programs would misread needs another number."""

UNIT = 1e-3
"""How far the length of a vector may be from 1."""

_CHOICES: Mapping[str, Any] = {"kind": Kind, "status": Status, "provenance": Provenance}
_APART = {"id", "scope", "title", "text"}
_STATE = [one.name for one in fields(Memory) if one.name not in _APART]
_MOMENTS = {"created_at", "observed_at", "updated_at", "valid_from", "valid_until", "recorded_at"}
_LISTS = {"tags", "evidence", "derived_from"}
_VERDICTS: Mapping[str, Any] = {one.__name__: one for one in get_args(Verdict)}


def line(value: object) -> str:
    """A line of an export: pure ASCII, the same for the same value."""
    return json.dumps(value, ensure_ascii=True, sort_keys=True, separators=(",", ":")) + "\n"


def parsed(text: str, number: int) -> Any:
    """The value that a line stands for."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"line {number}: this is no JSON ({error}); the file was cut or changed") from error
    if not isinstance(value, dict):
        raise InvalidInput(f"line {number}: {show(value)} is no line of an export")
    return value


def header(inventory: Inventory) -> str:
    """The first line."""
    encoder = inventory.encoder
    return line(
        {
            "format": FORMAT,
            "number": NUMBER,
            "encoder": None if encoder is None else asdict(encoder),
            "analyser": inventory.analyser,
            "scope": None if inventory.scope is None else str(inventory.scope),
            "memories": inventory.memories,
            "contexts": inventory.contexts,
            "until": _maybe_text(inventory.until),
        }
    )


def read_header(text: str) -> Inventory:
    """What the first line says; refused if it is of something else, or of a newer program."""
    value = parsed(text, 1)
    if value.get("format") != FORMAT:
        raise InvalidInput(f"line 1: this is no export of recollect; its first line has no format {FORMAT!r}")
    number = value.get("number")
    if number != NUMBER:
        raise InvalidInput(
            f"line 1: an export of format number {show(number)}; this program reads {NUMBER}, so upgrade recollect"
        )
    try:
        encoder, scope = value["encoder"], value["scope"]
        return Inventory(
            encoder=None if encoder is None else Encoder(encoder["name"], encoder["dimensions"]),
            analyser=limits.a_text("analyser", value["analyser"]),
            scope=None if scope is None else Scope.parse(scope),
            memories=limits.a_count("memories", value["memories"]),
            contexts=limits.a_count("contexts", value["contexts"]),
            until=_maybe_moment(value["until"]),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise InvalidInput(f"line 1: the header cannot be read ({error!r}); the file was changed") from error


def item_line(item: Item) -> str:
    """A memory or a context as a line."""
    return line(_context(item) if isinstance(item, Trace) else _memory(item))


def read_item(value: Mapping[str, Any], number: int, dimensions: int) -> Item:
    """The memory or the context of a line; refused, with its number, where it cannot be."""
    try:
        if "context" in value:
            return _read_context(value["context"])
        return _read_memory(value, dimensions)
    except FieldError as error:
        raise error.at_line(number) from error
    except (KeyError, TypeError, IndexError, ValueError, AttributeError) as error:
        raise InvalidInput(f"line {number}: this cannot be read ({error!r}); the file was changed") from error


def _memory(saved: Saved) -> dict[str, Any]:
    present = saved.present
    return {
        "memory": present.id,
        "scope": str(present.scope),
        "contents": [_content(one) for one in saved.contents],
        "versions": [_version(memory, content) for memory, content in saved.versions],
        "uses": [[u.use.value, _text(u.at), u.context, u.commit, _text(u.recorded_at)] for u in saved.uses],
        "votes": [
            [one.vote.context, one.vote.by, one.vote.use.value, _text(one.vote.at), one.commit, _text(one.recorded_at)]
            for one in saved.votes
        ],
        "keys": [[k.key, k.body, type(k.verdict).__name__, asdict(k.verdict), _text(k.at)] for k in saved.keys],
    }


def _read_memory(value: Mapping[str, Any], dimensions: int) -> Saved:
    id, scope = MemoryId(value["memory"]), Scope.parse(value["scope"])
    contents = tuple(_read_content(one, dimensions) for one in value["contents"])
    versions = tuple(_read_version(one, id, scope, contents) for one in value["versions"])
    _refuse_broken_chain([memory for memory, _ in versions])
    return Saved(
        contents=contents,
        versions=versions,
        uses=tuple(
            SavedUse(Use(use), _moment("at", at), context, _a_commit(commit), _moment("recorded_at", recorded_at))
            for use, at, context, commit, recorded_at in value["uses"]
        ),
        votes=tuple(
            SavedVote(
                Vote(context=context, memory=id, by=by, use=Use(use), at=_moment("at", at)),
                _a_commit(commit),
                _moment("recorded_at", recorded_at),
            )
            for context, by, use, at, commit, recorded_at in value["votes"]
        ),
        keys=tuple(
            Kept(
                scope=scope,
                key=limits.an_id("key", key),
                body=body,
                memory=id,
                verdict=_VERDICTS[verdict](**given),
                at=_moment("at", at),
            )
            for key, body, verdict, given, at in value["keys"]
        ),
    )


def _content(content: Content) -> dict[str, Any]:
    vector = content.vector
    return {
        "title": content.title,
        "text": content.text,
        "vector": None if vector is None else base64.b64encode(vector).decode("ascii"),
    }


def _read_content(value: Mapping[str, Any], dimensions: int) -> Content:
    vector = value["vector"]
    return Content(value["title"], value["text"], None if vector is None else _read_vector(vector, dimensions))


def _read_vector(text: str, dimensions: int) -> bytes:
    import numpy as np

    try:
        found = base64.b64decode(text, validate=True)
    except binascii.Error as error:
        raise FieldError(f"{show(text)} is not base64", field="vector") from error
    if len(found) != 4 * dimensions:
        raise FieldError(f"{len(found)} bytes; {dimensions} dimensions have {4 * dimensions}", field="vector")
    parts = np.frombuffer(found, dtype="<f4").astype(np.float64)
    if not abs(float(parts @ parts) - 1.0) <= UNIT:
        raise FieldError("is not of length 1", field="vector")
    return found


def _version(memory: Memory, content: int) -> dict[str, Any]:
    """Where its content is, and all that is not simply absent."""
    shown = {name: _plain(getattr(memory, name)) for name in _STATE}
    return {"content": content} | {name: value for name, value in shown.items() if not _is_absent(value)}


def _is_absent(value: Any) -> bool:
    """Nothing, no, or an empty list; a zero is something."""
    return value is None or value is False or value == [] or value == {}


def _read_version(
    value: Mapping[str, Any], id: MemoryId, scope: Scope, contents: Sequence[Content]
) -> tuple[Memory, int]:
    given = dict(value)
    place = limits.a_count("content", given.pop("content"))
    odd = next((name for name in given if name not in _STATE), None)
    if odd is not None:
        raise FieldError("a memory has no such field; the export is of a newer recollect", field=odd)
    for name in _MOMENTS & given.keys():
        given[name] = _moment(name, given[name])
    for name in _LISTS & given.keys():
        given[name] = tuple(given[name])
    for name, choices in _CHOICES.items():
        given[name] = named(name, given[name], choices)
    content = contents[place]
    return Memory(id=id, scope=scope, title=content.title, text=content.text, **given), place


def _refuse_broken_chain(versions: Sequence[Memory]) -> None:
    commits = [_a_commit(one.commit) for one in versions]
    moments = [one.recorded_at for one in versions if one.recorded_at is not None]
    if not versions or len(moments) < len(versions) or commits != sorted(commits) or moments != sorted(moments):
        raise FieldError("the versions of a memory follow each other, the oldest first", field="versions")


def _context(trace: Trace) -> dict[str, Any]:
    values = asdict(trace) | {"scope": str(trace.scope)}
    return {"context": {name: _plain(value) for name, value in values.items()}}


def _read_context(value: Mapping[str, Any]) -> Trace:
    given = dict(value)
    limits.an_id("context", given["id"])
    given["scope"] = Scope.parse(given["scope"])
    for name in ("made_at", "at"):
        given[name] = _moment(name, given[name])
    given["known_at"] = _maybe_moment(given["known_at"])
    given["question"], given["kinds"] = tuple(given["question"]), tuple(given["kinds"])
    given["packed"] = tuple(Placed(**one) for one in given["packed"])
    given["omitted"] = tuple(Passed(**one) for one in given["omitted"])
    return Trace(**given)


def _plain(value: Any) -> Any:
    match value:
        case datetime():
            return _text(value)
        case Enum():
            return value.value
        case tuple():
            return list(value)
        case _:
            return value


def _text(moment: datetime) -> str:
    return moment.isoformat()


def _maybe_text(moment: datetime | None) -> str | None:
    return None if moment is None else _text(moment)


def _moment(field: str, text: str) -> datetime:
    return limits.a_moment(field, datetime.fromisoformat(text))


def _maybe_moment(text: str | None) -> datetime | None:
    return None if text is None else _moment("until", text)


def _a_commit(value: Any) -> int:
    if limits.a_count("commit", value) < 1:
        raise FieldError("0 is no number of a commit", field="commit")
    return int(value)
