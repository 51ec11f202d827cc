"""Memory: one thing an agent knows."""

import hashlib
import json
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import islice
from typing import Any, NewType, cast

from recollect.errors import FieldError, show
from recollect.model import validation
from recollect.model.enums import (
    TRUST_BY_PROVENANCE,
    ChoiceT,
    Index,
    Kind,
    Level,
    Provenance,
    Status,
    Trust,
    require_choice,
    require_kind,
)
from recollect.model.format import make_printable, shorten
from recollect.model.scope import Scope
from recollect.model.validation import copy_with, to_nfc

MemoryId = NewType("MemoryId", str)


MAX_LIST_ITEMS = 64
"""How many tags, pieces of evidence or origins a memory may name."""

MAX_RECORD_ORIGINS = 65_536
"""How many origins a record of what happened may name, if it is no plain memory."""

MAX_METADATA_DEPTH = 32
"""How many levels metadata may be nested: readers of JSON give up at some depth, each at its own."""

MAX_METADATA_CHARS = 16_384
"""How many characters of JSON the metadata of a memory may be."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """One thing an agent knows: whose it is, what it says, how it was judged, when it held, where it stands.

    `subject` is what it is about, where only one thing can be true of that at a time. `trust` is that of its provenance
    if nothing else is said. One that is not `indexed` is kept, and never recalled. `remark` says why it stands as it
    does, where somebody said so. `level` is how coarse it is as a record of what happened; a plain memory has none.
    `left` are the indexes that a record has left because it was old, and `stands_for` the levels of which it tells what
    has left: asked for one of them, it is found in their place.

    `created_at` is when it was first observed, `observed_at` and `updated_at` when its present text was.
    `recorded_at` and `commit` are the store's alone: when it took in this version, and in which commit.
    """

    id: MemoryId
    scope: Scope
    text: str
    created_at: datetime
    kind: Kind = Kind.OBSERVATION
    level: Level | None = None
    title: str | None = None
    tags: tuple[str, ...] = ()
    session: str | None = None
    speaker: str | None = None
    topic_key: str | None = None
    subject: str | None = None
    shared: bool = False
    pinned: bool = False
    importance: float | None = None
    confidence: float | None = None
    salience: float | None = None
    observed_at: datetime | None = None
    updated_at: datetime | None = None
    valid_from: datetime | None = None
    valid_until: datetime | None = None
    provenance: Provenance = Provenance.MODEL_INFERENCE
    trust: Trust = cast("Trust", None)
    source: str | None = None
    evidence: tuple[str, ...] = ()
    derived_from: tuple[str, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict[str, Any], hash=False)
    revisions: int = 1
    status: Status = Status.ACTIVE
    indexed: bool = True
    left: tuple[Index, ...] = ()
    stands_for: tuple[Level, ...] = ()
    superseded_by: MemoryId | None = None
    remark: str | None = None
    recorded_at: datetime | None = None
    commit: int | None = None

    def __post_init__(self) -> None:
        validation.require_id("id", self.id)
        if not isinstance(self.scope, Scope):
            raise FieldError(f"{show(self.scope)} is no scope; give recollect.Scope.parse(…)", field="scope")
        validation.require_content("text", self.text)
        require_kind("kind", self.kind)
        for name in ("shared", "pinned", "indexed"):
            validation.require_flag(name, getattr(self, name))
        if self.level is not None:
            require_choice("level", self.level, Level)
        for name, choices in (("left", Index), ("stands_for", Level)):
            if getattr(self, name):
                object.__setattr__(self, name, self._require_record_values(name, choices))
        for name, check in _MEMORY_CHECKS.items():
            value = getattr(self, name)
            if value is not None:
                object.__setattr__(self, name, check(name, value))
        origins = _require_texts(
            "derived_from", self.derived_from, MAX_LIST_ITEMS if self.level is None else MAX_RECORD_ORIGINS
        )
        object.__setattr__(self, "derived_from", _unique_ids("derived_from", origins))
        if self.valid_from is not None and self.valid_until is not None and self.valid_until < self.valid_from:
            begins = f"{self.valid_from.isoformat()}, from when it holds"
            raise FieldError(f"{self.valid_until.isoformat()} is before {begins}", field="valid_until")
        require_choice("status", self.status, Status)
        require_choice("provenance", self.provenance, Provenance)
        object.__setattr__(self, "trust", cast("Trust | None", self.trust) or TRUST_BY_PROVENANCE[self.provenance])
        require_choice("trust", self.trust, Trust)
        if self.trust is not Trust.VOUCHED and TRUST_BY_PROVENANCE[self.provenance].less_than(self.trust):
            came = f"what came through {self.provenance.value} is not trusted so far unless an operator vouches for it"
            raise FieldError(f"{self.trust.value}, but {came}", field="trust")

    def _require_record_values(self, name: str, choices: type[ChoiceT]) -> tuple[ChoiceT, ...]:
        """Values that only a record of what happened has, each once and in the order of the choices."""
        given = {require_choice(name, one, choices) for one in _require_texts(name, getattr(self, name))}
        if self.level is None:
            raise FieldError("is of records of what happened, and this memory has no level", field=name)
        return tuple(one for one in choices if one in given)

    @classmethod
    def stored(cls, **values: Any) -> "Memory":
        """The memory that a store kept, with every field given; what was checked before it was kept is not again."""
        found = object.__new__(cls)
        for name in cls.__slots__:
            object.__setattr__(found, name, values[name])
        return found

    def __repr__(self) -> str:
        revision = [f"revision {self.revisions}"] if self.revisions > 1 else []
        facts = ", ".join([str(self.scope), self.kind.value, *revision, *self.marks])
        return f"<Memory {make_printable(self.id)} of {facts}: {shorten(self.text)}>"

    @property
    def marks(self) -> tuple[str, ...]:
        """What sets it apart: where it stands, if it is not active; that it is unindexed, pinned or shared."""
        status = () if self.status is Status.ACTIVE else (self.status.value,)
        unindexed = () if self.findable else ("unindexed",)
        return (*status, *unindexed, *(name for name in ("pinned", "shared") if getattr(self, name)))

    @property
    def findable(self) -> bool:
        """Whether any index has it."""
        return self.indexed and len(self.left) < len(Index)

    def answers(self, levels: Collection[Level | None]) -> bool:
        """Whether it is of one of these levels, or tells what has left the indexes of one."""
        return self.level in levels or any(one in levels for one in self.stands_for)

    @property
    def hash(self) -> str:
        """The same for texts of one speaker that differ in blanks alone, and are all events or none of them.

        A record of what happened is told from all others, also from one that says the same: it happened twice.
        """
        if self.level is not None:  # the end of a line is in no text that is summed up, so none has the same sum
            return hashlib.sha256(f"{self.level.value}\n{self.id}".encode()).hexdigest()
        return said_hash(self.text, self.speaker, self.kind)

    @property
    def searched_text(self) -> str:
        """What of it a question is compared with: its title, if it has one, and its text."""
        return build_searched_text(self.title, self.text)

    @property
    def embedded_text(self) -> str:
        """What of it gets a direction: its title, if it has one, and what was said, without the name of who said it."""
        return build_embedded_text(self.title, self.text, self.speaker)

    def reads_like(self, other: "Memory") -> bool:
        """Whether the words and the direction of both are those of the same text."""
        return (self.searched_text, self.embedded_text) == (other.searched_text, other.embedded_text)

    def recorded(self, at: datetime, commit: int) -> "Memory":
        """The memory as a store took it in; what was checked before is not checked again."""
        return copy_with(self, recorded_at=at, commit=commit)

    def ended_by(self, at: datetime) -> bool:
        """Whether it held only until that moment or before."""
        return self.valid_until is not None and self.valid_until <= at

    def changed(self, **changes: Any) -> "Memory":
        """The memory with some fields changed."""
        return replace(self, **changes)


def build_searched_text(title: str | None, text: str) -> str:
    """What of a memory with that title and text a question is compared with."""
    return text if title is None else f"{title}\n{text}"


def build_embedded_text(title: str | None, text: str, speaker: str | None) -> str:
    """What gets a direction of a memory with that title, text and speaker.

    Transcripts put a name before what was said. A direction is to be of what was said: the name would draw all that
    one person said together.
    """
    return build_searched_text(title, text if speaker is None else _strip_speaker(text, speaker))


def _strip_speaker(text: str, speaker: str) -> str:
    """The text without the speaker's name and a colon before it, if anything is left."""
    colons = 1 + speaker.count(":")  # a name may have colons of its own
    parts = text.split(":", colons)
    name = ":".join(parts[:colons])
    attributed = len(parts) > colons and to_nfc(name).strip().casefold() == to_nfc(speaker).strip().casefold()
    return parts[-1].strip() or text if attributed else text


def content_hash(text: str) -> str:
    """What tells a text from others: SHA-256 of its composed form (NFC), any run of blanks as one."""
    return hashlib.sha256(" ".join(to_nfc(text).split()).encode()).hexdigest()


def said_hash(text: str, speaker: str | None, kind: str) -> str:
    """What tells what somebody said from what others say; the same words of two people are two things, and so are that
    something was said and that it is so.
    """
    raw = kind == Kind.EVENT
    if speaker is None and not raw:
        return content_hash(text)
    whose = "" if speaker is None else to_nfc(speaker).casefold()
    return hashlib.sha256(f"{content_hash(text)} {'event' if raw else ''} {whose}".encode()).hexdigest()


def _require_title(field: str, value: str) -> str | None:
    """The title; a blank one is none."""
    validation.require_text(field, value)
    return validation.require_line(field, value) if value.strip() else None


def _require_texts(field: str, value: Any, most: int = MAX_LIST_ITEMS) -> tuple[Any, ...]:
    if not isinstance(value, tuple | list):
        raise FieldError(f"{show(value)} is no list of texts", field=field)
    if len(value) > most:
        raise FieldError(f"{len(value)} of them; at most {most} are allowed", field=field)
    return tuple(value)


def _require_labels(field: str, value: Any) -> tuple[str, ...]:
    return _unique_ids(field, _require_texts(field, value))


def _unique_ids(field: str, value: tuple[Any, ...]) -> tuple[str, ...]:
    """Each of them once."""
    return tuple(dict.fromkeys(validation.require_id(field, one) for one in value))


def _require_quotes(field: str, value: Any) -> tuple[str, ...]:
    quotes = tuple(validation.require_content(field, one) for one in _require_texts(field, value))
    validation.require_total_length(field, quotes)
    return quotes


def require_metadata(field: str, value: Mapping[str, Any]) -> Mapping[str, Any]:
    """The mapping as JSON has it; refused if JSON cannot have it, or it is too long."""
    if not isinstance(value, Mapping):
        raise FieldError(f"{show(value)} is no mapping", field=field)
    if not value:
        return {}
    _refuse_deep_nesting(field, value)
    try:
        text = json.dumps(dict(value), allow_nan=False, ensure_ascii=True)
        found: Mapping[str, Any] = json.loads(text)
    except (TypeError, ValueError, RecursionError) as error:
        raise FieldError(f"{show(value)} cannot be written as JSON", field=field) from error
    if len(text) > MAX_METADATA_CHARS:
        raise FieldError(f"{len(text)} characters of JSON; at most {MAX_METADATA_CHARS} are allowed", field=field)
    if "\\u0000" in text or "\\ud" in text:
        for said in _texts_in(found):
            validation.require_clean_text(field, said)
    return found


def _texts_in(value: Any) -> Iterator[str]:
    """Every text in a value of JSON, names among them."""
    match value:
        case str():
            yield value
        case dict():
            yield from value
            yield from _texts_in(list(value.values()))
        case list():
            for inner in value:
                yield from _texts_in(inner)
        case _:
            pass


def _refuse_deep_nesting(field: str, value: Any) -> None:
    """Refuse what is nested too deep to be written as JSON, or has more parts than JSON of that length can have."""
    level = [value]
    for _ in range(MAX_METADATA_DEPTH):
        inner = [one.values() if isinstance(one, Mapping) else one for one in level if isinstance(one, _NESTED_TYPES)]
        level = [part for one in inner for part in islice(one, MAX_METADATA_CHARS)]
        if len(level) > MAX_METADATA_CHARS:
            raise FieldError(f"has too many parts; at most {MAX_METADATA_CHARS} characters of JSON fit", field=field)
    if any(isinstance(one, _NESTED_TYPES) for one in level):
        raise FieldError(f"is nested more than {MAX_METADATA_DEPTH} levels deep", field=field)


_NESTED_TYPES = (Mapping, list, tuple)

_MEMORY_CHECKS: Mapping[str, Any] = {
    "title": _require_title,
    "tags": _require_labels,
    **dict.fromkeys(("session", "speaker", "topic_key", "subject", "source", "superseded_by"), validation.require_id),
    "evidence": _require_quotes,
    "remark": validation.require_line,
    **dict.fromkeys(("importance", "confidence", "salience"), validation.require_fraction),
    **dict.fromkeys(
        ("created_at", "observed_at", "updated_at", "valid_from", "valid_until", "recorded_at"),
        validation.require_moment,
    ),
    "metadata": require_metadata,
    **dict.fromkeys(("revisions", "commit"), validation.require_count),
}
