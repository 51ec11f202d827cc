"""The lines of an export: encode and read its header, memories, contexts and checksum."""

import base64
import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, fields, replace
from typing import Any, TypeVar, cast, get_args

from recollect.admission.policy import SecretsPolicy
from recollect.admission.screening import screen
from recollect.engine.archive_fields import (
    decode_vector,
    encode_context,
    field_names,
    format_optional_time,
    format_time,
    parse_optional_time,
    parse_time,
    read_context,
    require_commit,
    require_fields,
    screen_context,
    to_json,
)
from recollect.errors import FieldError, InvalidInput, show, suggest
from recollect.model import validation
from recollect.model.archive import ArchivedContent, ArchivedMemory, ArchivedUse, ArchivedVote, ArchiveInfo, ArchiveItem
from recollect.model.context import SIGN_USES, ContextRecord, Use, Vote
from recollect.model.draft import Changed, IdempotencyRecord, Refused, Updated, Verdict
from recollect.model.encoder import Encoder
from recollect.model.enums import TRUST_BY_PROVENANCE, Index, Kind, Level, Provenance, Status, Trust, parse_choice
from recollect.model.memory import Memory, MemoryId
from recollect.model.scope import Scope

T = TypeVar("T", bound=Any)

FORMAT_NAME, FORMAT_NUMBER = "recollect-export", 1
"""The format in the first line of an export.

A change that old programs would misread needs a new number.
"""

_ENUM_FIELDS: Mapping[str, Any] = {"kind": Kind, "status": Status, "provenance": Provenance}
_OPTIONAL_ENUM_FIELDS: Mapping[str, Any] = {"trust": Trust, "level": Level}
"""Enum fields that a version may lack."""

_ENUM_LIST_FIELDS: Mapping[str, Any] = {"left": Index, "stands_for": Level}
"""Enum fields that hold several values."""

_CONTENT_FIELDS = {"id", "scope", "title", "text"}
_VERSION_FIELDS = [one.name for one in fields(Memory) if one.name not in _CONTENT_FIELDS]
_TIME_FIELDS = {"created_at", "observed_at", "updated_at", "valid_from", "valid_until", "recorded_at"}
_LIST_FIELDS = {"tags", "evidence", "derived_from"}
_VERDICT_CLASSES: Mapping[str, Any] = {one.__name__: one for one in get_args(Verdict)}
_HEADER_FIELDS = {"format", "number", "encoder", "analyser", "scope", "memories", "contexts", "until"}
_MEMORY_FIELDS = {"memory", "scope", "contents", "versions", "uses", "votes", "keys"}
_END_FIELDS = {"lines", "sha256"}


def encode_line(value: object) -> str:
    """Encode a value as one line of JSON: pure ASCII, the same for equal values."""
    return json.dumps(value, ensure_ascii=True, sort_keys=True, separators=(",", ":")) + "\n"


def parse_line(text: str, number: int) -> Any:
    """Parse one line of an export."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise FieldError(f"this is not JSON ({error}); the file was cut or changed", line=number) from error
    if not isinstance(value, dict):
        raise FieldError(f"{show(value)} is not a line of an export", line=number)
    return value


def encode_header(inventory: ArchiveInfo) -> str:
    """Encode the first line."""
    encoder = inventory.encoder
    return encode_line(
        {
            "format": FORMAT_NAME,
            "number": FORMAT_NUMBER,
            "encoder": None if encoder is None else asdict(encoder),
            "analyser": inventory.analyser,
            "scope": None if inventory.scope is None else str(inventory.scope),
            "memories": inventory.memories,
            "contexts": inventory.contexts,
            "until": format_optional_time(inventory.until),
        }
    )


def read_header(text: str) -> ArchiveInfo:
    """Read the first line; raise FieldError for another format or a newer version."""
    value = parse_line(text, 1)
    if value.get("format") != FORMAT_NAME:
        raise FieldError(f"this is not an export of recollect; its first line lacks the format {FORMAT_NAME!r}", line=1)
    number = value.get("number")
    if number != FORMAT_NUMBER:
        raise FieldError(_describe_unknown_format(number), line=1)
    with _at_line(1):
        return _read_inventory(value)


def _describe_unknown_format(number: object) -> str:
    """Return the error message for an export with an unknown format number."""
    if isinstance(number, int) and number > FORMAT_NUMBER:
        problem = (
            f"the export was written by a newer recollect (format {number}; this version reads up to {FORMAT_NUMBER})"
        )
        return f"{problem}; upgrade recollect"
    return f"the export has format {show(number)} instead of {FORMAT_NUMBER}; export the store again"


def _read_inventory(value: Mapping[str, Any]) -> ArchiveInfo:
    header = require_fields(value, _HEADER_FIELDS)
    encoder, scope = header["encoder"], header["scope"]
    memories = validation.require_count("memories", header["memories"])
    if memories and encoder is None:
        raise FieldError("is missing; the export has memories with vectors", field="encoder")
    return ArchiveInfo(
        encoder=None if encoder is None else Encoder(**require_fields(encoder, field_names(Encoder))),
        analyser=validation.require_id("analyser", header["analyser"]),
        scope=None if scope is None else Scope.parse(scope),
        memories=memories,
        contexts=validation.require_count("contexts", header["contexts"]),
        until=parse_optional_time("until", header["until"]),
    )


def encode_item(item: ArchiveItem) -> str:
    """Encode a memory or a context as a line."""
    return encode_line(encode_context(item) if isinstance(item, ContextRecord) else _encode_memory(item))


def read_item(value: Mapping[str, Any], number: int, dimensions: int) -> ArchiveItem:
    """Read a memory or a context from a line; errors name the line number."""
    with _at_line(number):
        if "context" in value:
            return read_context(require_fields(value, {"context"})["context"])
        return _read_memory(require_fields(value, _MEMORY_FIELDS), dimensions)


def read_end(value: Mapping[str, Any], number: int) -> str:
    """Return the checksum in the last line; raise if its line count is wrong."""
    with _at_line(number):
        end = require_fields(value, _END_FIELDS)
        if validation.require_count("lines", end["lines"]) != number - 1:
            raise FieldError(f"states {end['lines']} lines, so some lines are missing or were added")
        return validation.require_text("sha256", end["sha256"])


def screen_items(items: Iterable[ArchiveItem], policy: SecretsPolicy) -> Iterator[ArchiveItem]:
    """Yield the items of an export, in order, without private parts and secrets.

    Raises FieldError with the line if the policy refuses an item, or if a name contains a secret. A text that was
    redacted loses its vector.
    """
    redacted: set[MemoryId] = set()
    for number, item in enumerate(items, start=2):  # after the header
        with _at_line(number):
            if isinstance(item, ContextRecord):
                screened: ArchiveItem = screen_context(item, policy, redacted)
            else:
                screened = _screen_memory(item, policy)
                redacted.update(() if screened is item else (item.current.id,))
        yield screened


def _screen_memory(archived: ArchivedMemory, policy: SecretsPolicy) -> ArchivedMemory:
    for name in (*(one.vote for one in archived.votes), *archived.keys):
        _screen_or_refuse(name, policy)
    versions = [(_screen_or_refuse(memory, policy), place) for memory, place in archived.versions]
    if all(new is old for (new, _), (old, _) in zip(versions, archived.versions, strict=True)):
        return archived
    places: dict[tuple[int, str | None, str], int] = {}
    contents: list[ArchivedContent] = []
    for memory, place in versions:
        content, original = (place, memory.title, memory.text), archived.contents[place]
        if content not in places:
            places[content] = len(contents)
            is_unchanged = (original.title, original.text) == content[1:]
            contents.append(original if is_unchanged else ArchivedContent(memory.title, memory.text, None))
    numbered = tuple((memory, places[place, memory.title, memory.text]) for memory, place in versions)
    return replace(archived, contents=tuple(contents), versions=numbered)


def _screen_or_refuse(value: T, policy: SecretsPolicy) -> T:
    screened = screen(value, policy, may_be_blank=True)
    if isinstance(screened, Refused):
        problem, _, _ = screened.reason.partition(";")
        raise FieldError(f"{problem}; to import it unchanged, set `[secrets] enabled = false`")
    return screened.value


@contextmanager
def _at_line(number: int) -> Iterator[None]:
    """Add the line number to errors raised inside."""
    try:
        yield
    except FieldError as error:
        raise error.at_line(number) from error
    except InvalidInput as error:
        raise FieldError(str(error), line=number) from error
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError) as error:
        raise FieldError(f"this cannot be read ({error!r}); the file was changed", line=number) from error


def _encode_memory(archived: ArchivedMemory) -> dict[str, Any]:
    current = archived.current
    return {
        "memory": current.id,
        "scope": str(current.scope),
        "contents": [_encode_content(one) for one in archived.contents],
        "versions": [_encode_version(memory, content) for memory, content in archived.versions],
        "uses": [
            [u.use.value, format_time(u.at), u.context, u.commit, format_time(u.recorded_at)] for u in archived.uses
        ],
        "votes": [
            [v.vote.context, v.vote.by, v.vote.use.value, format_time(v.vote.at), v.commit, format_time(v.recorded_at)]
            for v in archived.votes
        ],
        "keys": [
            [k.key, k.body, type(k.verdict).__name__, asdict(k.verdict), format_time(k.at)] for k in archived.keys
        ],
    }


def _read_memory(value: Mapping[str, Any], dimensions: int) -> ArchivedMemory:
    id, scope = MemoryId(validation.require_id("memory", value["memory"])), Scope.parse(value["scope"])
    contents = tuple(_read_content(one, dimensions) for one in validation.require_list("contents", value["contents"]))
    versions = tuple(
        _read_version(one, id, scope, contents) for one in validation.require_list("versions", value["versions"])
    )
    chain = [memory for memory, _ in versions]
    commits = [require_commit(one.commit) for one in chain]
    if not chain or commits != sorted(commits) or any(one.recorded_at is None for one in chain):
        raise FieldError("is empty or not in order; the oldest version comes first", field="versions")
    if {place for _, place in versions} != set(range(len(contents))):
        raise FieldError("has a content that no version uses", field="contents")
    uses = tuple(_read_use(one) for one in validation.require_list("uses", value["uses"]))
    signs = [(one.context, one.use) for one in uses if one.use in SIGN_USES]
    if len(set(signs)) < len(signs):
        raise FieldError("has a sign twice; each sign is recorded once per context", field="uses")
    votes = tuple(_read_vote(one, id) for one in validation.require_list("votes", value["votes"]))
    for name, log in (("uses", uses), ("votes", votes)):
        commits = [one.commit for one in log]
        if commits != sorted(commits):
            raise FieldError("is not in the order of commits", field=name)
    keys = tuple(_read_key(one, id, scope) for one in validation.require_list("keys", value["keys"]))
    archived = ArchivedMemory(contents=contents, versions=versions, uses=uses, votes=votes, keys=keys)
    if archived.places_without_vector:
        remedy = "run `recollect admin re-embed` on the store it came from, and export it again"
        raise FieldError(f"is missing for a text; {remedy}", field="vector")
    return archived


def _read_use(value: Any) -> ArchivedUse:
    use, at, context, commit, recorded_at = validation.require_list("uses", value)
    parsed = _parse_use(use, {Use.SERVED, Use.ECHOED, *SIGN_USES})
    context_id = None if context is None else validation.require_id("context", context)
    if context_id is None and parsed in SIGN_USES:
        raise FieldError("is missing; a sign belongs to a context", field="context")
    return ArchivedUse(
        parsed, parse_time("at", at), context_id, require_commit(commit), parse_time("recorded_at", recorded_at)
    )


def _read_vote(value: Any, id: MemoryId) -> ArchivedVote:
    context, by, use, at, commit, recorded_at = validation.require_list("votes", value)
    vote = Vote(
        context=validation.require_id("context", context),
        memory=id,
        by=_parse_principal(by),
        use=_parse_use(use, {Use.HELPED, Use.MISLED}),
        at=parse_time("at", at),
    )
    return ArchivedVote(vote, require_commit(commit), parse_time("recorded_at", recorded_at))


def _read_key(value: Any, id: MemoryId, scope: Scope) -> IdempotencyRecord:
    key, body, verdict, details, at = validation.require_list("keys", value)
    if verdict not in _VERDICT_CLASSES:
        raise FieldError(
            f"{show(verdict)} is not a verdict; {suggest(str(verdict), _VERDICT_CLASSES)}", field="verdict"
        )
    return IdempotencyRecord(
        scope=scope,
        key=validation.require_id("key", key),
        body=validation.require_line("body", body),
        memory=id,
        verdict=_read_verdict(_VERDICT_CLASSES[verdict], details),
        at=parse_time("at", at),
    )


def _read_verdict(kind: Any, value: Any) -> Verdict:
    details = require_fields(
        {**_VERDICT_DEFAULTS.get(kind, {}), **value} if isinstance(value, dict) else value, field_names(kind)
    )
    arguments = {one.name: _read_detail(one.name, one.type, details[one.name]) for one in fields(kind)}
    verdict: Verdict = kind(**arguments)
    return verdict


_VERDICT_DEFAULTS: Mapping[type, Mapping[str, Any]] = {Updated: {"instead_of": None}, Changed: {"instead_of": None}}
"""Verdict fields that older exports lack."""


def _read_detail(name: str, type: Any, value: Any) -> object:
    """Read one field of a verdict: a count, a reason or a memory id."""
    if type is int:
        return validation.require_count(name, value)
    if name == "reason":
        return validation.require_line(name, value)
    return None if type == MemoryId | None and value is None else validation.require_id(name, cast("str", value))


def _encode_content(content: ArchivedContent) -> dict[str, Any]:
    vector = content.vector
    return {
        "title": content.title,
        "text": content.text,
        "vector": None if vector is None else base64.b64encode(vector).decode("ascii"),
    }


def _read_content(value: Any, dimensions: int) -> ArchivedContent:
    content = require_fields(value, field_names(ArchivedContent))
    vector = None if content["vector"] is None else decode_vector("vector", content["vector"], dimensions)
    return ArchivedContent(content["title"], content["text"], vector)


def _encode_version(memory: Memory, content: int) -> dict[str, Any]:
    """Encode a version: the index of its content, and the fields that differ from defaults."""
    defaults = {"indexed": True, "trust": TRUST_BY_PROVENANCE[memory.provenance].value}
    values = {name: to_json(getattr(memory, name)) for name in _VERSION_FIELDS}
    present = {name: value for name, value in values.items() if not _is_absent(value) or name in defaults}
    return {"content": content} | {
        name: value for name, value in present.items() if value != defaults.get(name, _NO_DEFAULT)
    }


_NO_DEFAULT = object()


def _is_absent(value: Any) -> bool:
    """Return whether a value is left out of the export; a zero is not."""
    return value is None or value is False or value == [] or value == {}


def _read_version(
    value: Mapping[str, Any], id: MemoryId, scope: Scope, contents: Sequence[ArchivedContent]
) -> tuple[Memory, int]:
    version = dict(require_fields(value, {*value} & {*_VERSION_FIELDS} | {"content", *_ENUM_FIELDS}))
    index = validation.require_count("content", version.pop("content"))
    null_field = next((name for name, one in version.items() if one is None), None)
    if null_field is not None:
        raise FieldError("is null; omit it", field=null_field)
    for name in _TIME_FIELDS & version.keys():
        version[name] = parse_time(name, version[name])
    for name in _LIST_FIELDS & version.keys():
        version[name] = tuple(validation.require_list(name, version[name]))
    for name, choices in (
        *_ENUM_FIELDS.items(),
        *((name, one) for name, one in _OPTIONAL_ENUM_FIELDS.items() if name in version),
    ):
        version[name] = parse_choice(name, version[name], choices)
    for name in _ENUM_LIST_FIELDS.keys() & version.keys():
        version[name] = tuple(
            parse_choice(name, one, _ENUM_LIST_FIELDS[name]) for one in validation.require_list(name, version[name])
        )
    content = contents[index]
    memory = Memory(id=id, scope=scope, title=content.title, text=content.text, **version)
    if memory.title != content.title:
        raise FieldError(f"{show(content.title)} is not a valid title", field="title")
    return memory, index


def _parse_use(value: Any, allowed: Collection[Use]) -> Use:
    use = parse_choice("use", value, Use)
    if use not in allowed:
        raise FieldError(f"{show(value)} is not {' or '.join(sorted(allowed))}", field="use")
    return use


def _parse_principal(value: Any) -> str:
    """Read who voted: a name, or a scope, which may be longer."""
    long = isinstance(value, str) and len(value) > validation.MAX_ID_CHARS
    return str(Scope.parse(value)) if long else validation.require_id("by", value)
