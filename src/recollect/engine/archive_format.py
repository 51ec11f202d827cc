"""Archive: the lines of an export, and the values they stand for."""

import base64
import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, fields, replace
from typing import Any, TypeVar, cast, get_args

from recollect.admission.policy import SecretsPolicy
from recollect.admission.screening import screen
from recollect.engine.archive_contexts import context, read_context
from recollect.engine.archive_contexts import screened as screened_context
from recollect.engine.archive_values import (
    a_commit,
    a_list,
    a_moment,
    a_vector,
    maybe_moment,
    maybe_written,
    names,
    plain,
    the_fields,
    written,
)
from recollect.errors import FieldError, InvalidInput, remedy, show
from recollect.model import validation
from recollect.model.archive import Content, Inventory, Item, Saved, SavedUse, SavedVote
from recollect.model.context_record import Trace
from recollect.model.encoder import Encoder
from recollect.model.idempotency import Kept
from recollect.model.index import Index
from recollect.model.level import Level
from recollect.model.memory import Kind, Memory, MemoryId, Status, named
from recollect.model.scope import Scope
from recollect.model.trust import TRUST, Provenance, Trust
from recollect.model.usage import SIGNS, Use, Vote
from recollect.model.verdict import Changed, Refused, Updated, Verdict

T = TypeVar("T", bound=Any)

FORMAT, NUMBER = "recollect-export", 1
"""What the first line of an export says it is; a change that older programs would misread needs another number."""

_CHOICES: Mapping[str, Any] = {"kind": Kind, "status": Status, "provenance": Provenance}
_FURTHER: Mapping[str, Any] = {"trust": Trust, "level": Level}
"""The choices that are not made of every version."""

_SEVERAL: Mapping[str, Any] = {"left": Index, "stands_for": Level}
"""The choices of which a version may make several."""

_APART = {"id", "scope", "title", "text"}
_STATE = [one.name for one in fields(Memory) if one.name not in _APART]
_MOMENTS = {"created_at", "observed_at", "updated_at", "valid_from", "valid_until", "recorded_at"}
_LISTS = {"tags", "evidence", "derived_from"}
_VERDICTS: Mapping[str, Any] = {one.__name__: one for one in get_args(Verdict)}
_HEADER = {"format", "number", "encoder", "analyser", "scope", "memories", "contexts", "until"}
_MEMORY = {"memory", "scope", "contents", "versions", "uses", "votes", "keys"}
_END = {"lines", "sha256"}


def line(value: object) -> str:
    """A line of an export: pure ASCII, the same for the same value."""
    return json.dumps(value, ensure_ascii=True, sort_keys=True, separators=(",", ":")) + "\n"


def parsed(text: str, number: int) -> Any:
    """The value that a line stands for."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise FieldError(f"this is no JSON ({error}); the file was cut or changed", line=number) from error
    if not isinstance(value, dict):
        raise FieldError(f"{show(value)} is no line of an export", line=number)
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
            "until": maybe_written(inventory.until),
        }
    )


def read_header(text: str) -> Inventory:
    """What the first line says; refused if it is of something else, or of a newer program."""
    value = parsed(text, 1)
    if value.get("format") != FORMAT:
        raise FieldError(f"this is no export of recollect; its first line has no format {FORMAT!r}", line=1)
    number = value.get("number")
    if number != NUMBER:
        raise FieldError(_unknown_format(number), line=1)
    with _at_line(1):
        return _read_inventory(value)


def _unknown_format(number: object) -> str:
    """What is wrong with an export whose format has another number than ours."""
    if isinstance(number, int) and number > NUMBER:
        seen = f"the export was written by a newer recollect (format {number}; this version reads up to {NUMBER})"
        return f"{seen}; upgrade recollect"
    return f"the export has format {show(number)} instead of {NUMBER}; export the store again"


def _read_inventory(value: Mapping[str, Any]) -> Inventory:
    given = the_fields(value, _HEADER)
    encoder, scope = given["encoder"], given["scope"]
    memories = validation.a_count("memories", given["memories"])
    if memories and encoder is None:
        raise FieldError("memories without a model that their vectors come from", field="encoder")
    return Inventory(
        encoder=None if encoder is None else Encoder(**the_fields(encoder, names(Encoder))),
        analyser=validation.an_id("analyser", given["analyser"]),
        scope=None if scope is None else Scope.parse(scope),
        memories=memories,
        contexts=validation.a_count("contexts", given["contexts"]),
        until=maybe_moment("until", given["until"]),
    )


def item_line(item: Item) -> str:
    """A memory or a context as a line."""
    return line(context(item) if isinstance(item, Trace) else _memory(item))


def read_item(value: Mapping[str, Any], number: int, dimensions: int) -> Item:
    """The memory or the context of a line; refused, with its number, where it cannot be."""
    with _at_line(number):
        if "context" in value:
            return read_context(the_fields(value, {"context"})["context"])
        return _read_memory(the_fields(value, _MEMORY), dimensions)


def read_end(value: Mapping[str, Any], number: int) -> str:
    """The sum that the last line has; refused if it counts other lines than there are before it."""
    with _at_line(number):
        given = the_fields(value, _END)
        if validation.a_count("lines", given["lines"]) != number - 1:
            raise FieldError(f"{given['lines']} lines are said to be before this one, so some are missing or added")
        return validation.a_text("sha256", given["sha256"])


def screened(items: Iterable[Item], policy: SecretsPolicy) -> Iterator[Item]:
    """The items of an export, in the order of its lines, without what is private or secret.

    Refused with its line is what the policy refuses, and what has a secret in a name. What says something else than it
    did has no vector.
    """
    reworded: set[MemoryId] = set()
    for number, item in enumerate(items, start=2):  # behind the header
        with _at_line(number):
            if isinstance(item, Trace):
                found: Item = screened_context(item, policy, reworded)
            else:
                found = _screened_memory(item, policy)
                reworded.update(() if found is item else (item.present.id,))
        yield found


def _screened_memory(saved: Saved, policy: SecretsPolicy) -> Saved:
    for name in (*(one.vote for one in saved.votes), *saved.keys):
        _public(name, policy)
    versions = [(_public(memory, policy), place) for memory, place in saved.versions]
    if all(new is old for (new, _), (old, _) in zip(versions, saved.versions, strict=True)):
        return saved
    places: dict[tuple[int, str | None, str], int] = {}
    contents: list[Content] = []
    for memory, place in versions:
        told, former = (place, memory.title, memory.text), saved.contents[place]
        if told not in places:
            places[told] = len(contents)
            same = (former.title, former.text) == told[1:]
            contents.append(former if same else Content(memory.title, memory.text, None))
    numbered = tuple((memory, places[place, memory.title, memory.text]) for memory, place in versions)
    return replace(saved, contents=tuple(contents), versions=numbered)


def _public(value: T, policy: SecretsPolicy) -> T:
    found = screen(value, policy, may_be_blank=True)
    if isinstance(found, Refused):
        problem, _, _ = found.reason.partition(";")
        raise FieldError(f"{problem}; import it with `[secrets] enabled = false` to take it in as it is")
    return found.value


@contextmanager
def _at_line(number: int) -> Iterator[None]:
    """Whatever cannot be read inside is refused with the number of the line."""
    try:
        yield
    except FieldError as error:
        raise error.at_line(number) from error
    except InvalidInput as error:
        raise FieldError(str(error), line=number) from error
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError) as error:
        raise FieldError(f"this cannot be read ({error!r}); the file was changed", line=number) from error


def _memory(saved: Saved) -> dict[str, Any]:
    present = saved.present
    return {
        "memory": present.id,
        "scope": str(present.scope),
        "contents": [_content(one) for one in saved.contents],
        "versions": [_version(memory, content) for memory, content in saved.versions],
        "uses": [[u.use.value, written(u.at), u.context, u.commit, written(u.recorded_at)] for u in saved.uses],
        "votes": [
            [v.vote.context, v.vote.by, v.vote.use.value, written(v.vote.at), v.commit, written(v.recorded_at)]
            for v in saved.votes
        ],
        "keys": [[k.key, k.body, type(k.verdict).__name__, asdict(k.verdict), written(k.at)] for k in saved.keys],
    }


def _read_memory(value: Mapping[str, Any], dimensions: int) -> Saved:
    id, scope = MemoryId(validation.an_id("memory", value["memory"])), Scope.parse(value["scope"])
    contents = tuple(_read_content(one, dimensions) for one in a_list("contents", value["contents"]))
    versions = tuple(_read_version(one, id, scope, contents) for one in a_list("versions", value["versions"]))
    _refuse_broken_chain([memory for memory, _ in versions])
    if {place for _, place in versions} != set(range(len(contents))):
        raise FieldError("one of them is of no version", field="contents")
    uses = tuple(_read_use(one) for one in a_list("uses", value["uses"]))
    signs = [(one.context, one.use) for one in uses if one.use in SIGNS]
    if len(set(signs)) < len(signs):
        raise FieldError("a sign is there twice; it is noted once for a context", field="uses")
    votes = tuple(_read_vote(one, id) for one in a_list("votes", value["votes"]))
    for name, log in (("uses", uses), ("votes", votes)):
        commits = [one.commit for one in log]
        if commits != sorted(commits):
            raise FieldError("follow each other in the order of their commits", field=name)
    keys = tuple(_read_key(one, id, scope) for one in a_list("keys", value["keys"]))
    saved = Saved(contents=contents, versions=versions, uses=uses, votes=votes, keys=keys)
    if saved.lacking:
        remedy = "run `recollect admin re-embed` on the store it came from, and export it again"
        raise FieldError(f"a text has none; {remedy}", field="vector")
    return saved


def _read_use(value: Any) -> SavedUse:
    use, at, within, commit, recorded_at = a_list("uses", value)
    said = _a_use(use, {Use.SERVED, Use.ECHOED, *SIGNS})
    named = None if within is None else validation.an_id("context", within)
    if named is None and said in SIGNS:
        raise FieldError("is missing; a sign is of a context", field="context")
    return SavedUse(said, a_moment("at", at), named, a_commit(commit), a_moment("recorded_at", recorded_at))


def _read_vote(value: Any, id: MemoryId) -> SavedVote:
    context, by, use, at, commit, recorded_at = a_list("votes", value)
    vote = Vote(
        context=validation.an_id("context", context),
        memory=id,
        by=_a_principal(by),
        use=_a_use(use, {Use.HELPED, Use.MISLED}),
        at=a_moment("at", at),
    )
    return SavedVote(vote, a_commit(commit), a_moment("recorded_at", recorded_at))


def _read_key(value: Any, id: MemoryId, scope: Scope) -> Kept:
    key, body, verdict, given, at = a_list("keys", value)
    if verdict not in _VERDICTS:
        raise FieldError(f"{show(verdict)} is no verdict; {remedy(str(verdict), _VERDICTS)}", field="verdict")
    return Kept(
        scope=scope,
        key=validation.an_id("key", key),
        body=validation.a_line("body", body),
        memory=id,
        verdict=_read_verdict(_VERDICTS[verdict], given),
        at=a_moment("at", at),
    )


def _read_verdict(kind: Any, value: Any) -> Verdict:
    given = the_fields({**_LATER.get(kind, {}), **value} if isinstance(value, dict) else value, names(kind))
    read = {one.name: _read_detail(one.name, one.type, given[one.name]) for one in fields(kind)}
    found: Verdict = kind(**read)
    return found


_LATER: Mapping[type, Mapping[str, Any]] = {Updated: {"instead_of": None}, Changed: {"instead_of": None}}
"""What verdicts came to say later on, as archives of before have it."""


def _read_detail(name: str, type: Any, value: Any) -> object:
    """What a verdict says beside its name: a count, a reason, or which other memory."""
    if type is int:
        return validation.a_count(name, value)
    if name == "reason":
        return validation.a_line(name, value)
    return None if type == MemoryId | None and value is None else validation.an_id(name, cast("str", value))


def _content(content: Content) -> dict[str, Any]:
    vector = content.vector
    return {
        "title": content.title,
        "text": content.text,
        "vector": None if vector is None else base64.b64encode(vector).decode("ascii"),
    }


def _read_content(value: Any, dimensions: int) -> Content:
    given = the_fields(value, names(Content))
    vector = None if given["vector"] is None else a_vector("vector", given["vector"], dimensions)
    return Content(given["title"], given["text"], vector)


def _version(memory: Memory, content: int) -> dict[str, Any]:
    """Where its content is, and all that is not simply absent."""
    usual = {"indexed": True, "trust": TRUST[memory.provenance].value}
    shown = {name: plain(getattr(memory, name)) for name in _STATE}
    told = {name: value for name, value in shown.items() if not _is_absent(value) or name in usual}
    return {"content": content} | {name: value for name, value in told.items() if value != usual.get(name, _NOTHING)}


_NOTHING = object()


def _is_absent(value: Any) -> bool:
    """Nothing, no, or an empty list; a zero is something."""
    return value is None or value is False or value == [] or value == {}


def _read_version(
    value: Mapping[str, Any], id: MemoryId, scope: Scope, contents: Sequence[Content]
) -> tuple[Memory, int]:
    given = dict(the_fields(value, {*value} & {*_STATE} | {"content", *_CHOICES}))
    place = validation.a_count("content", given.pop("content"))
    absent = next((name for name, one in given.items() if one is None), None)
    if absent is not None:
        raise FieldError("is null; leave it out", field=absent)
    for name in _MOMENTS & given.keys():
        given[name] = a_moment(name, given[name])
    for name in _LISTS & given.keys():
        given[name] = tuple(a_list(name, given[name]))
    for name, choices in (*_CHOICES.items(), *((name, one) for name, one in _FURTHER.items() if name in given)):
        given[name] = named(name, given[name], choices)
    for name in _SEVERAL.keys() & given.keys():
        given[name] = tuple(named(name, one, _SEVERAL[name]) for one in a_list(name, given[name]))
    content = contents[place]
    memory = Memory(id=id, scope=scope, title=content.title, text=content.text, **given)
    if memory.title != content.title:
        raise FieldError(f"{show(content.title)} is no title", field="title")
    return memory, place


def _refuse_broken_chain(versions: Sequence[Memory]) -> None:
    commits = [a_commit(one.commit) for one in versions]
    if not versions or commits != sorted(commits) or any(one.recorded_at is None for one in versions):
        raise FieldError("the versions of a memory follow each other, the oldest first", field="versions")


def _a_use(value: Any, allowed: Collection[Use]) -> Use:
    use = named("use", value, Use)
    if use not in allowed:
        raise FieldError(f"{show(value)} is not {' or '.join(sorted(allowed))}", field="use")
    return use


def _a_principal(value: Any) -> str:
    """Who voted: a name, or a scope, which may be longer."""
    long = isinstance(value, str) and len(value) > validation.LONGEST_ID
    return str(Scope.parse(value)) if long else validation.an_id("by", value)
