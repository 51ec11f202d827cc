"""Memory: one thing an agent knows, with its texts and hashes."""

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
"""How many tags, pieces of evidence or origins a memory may have."""

MAX_RECORD_ORIGINS = 65_536
"""How many origins a record of what happened may have; a plain memory has fewer."""

MAX_METADATA_DEPTH = 32
"""How deep metadata may be nested; JSON parsers give up at different depths."""

MAX_METADATA_CHARS = 16_384
"""How many characters of JSON the metadata of a memory may have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """One thing an agent knows: its scope, text, ratings, validity and status.

    `subject` is what it is about, where only one thing can be true of it at a time. `trust` defaults to that of its
    provenance. A memory that is not `indexed` is stored but never recalled. `remark` is the reason for its status, if
    given. `level` is the level of a record of what happened; plain memories have none. `left` are the indexes that an
    old record has left. `stands_for` are the levels whose records it replaces in the indexes: a search for one of these
    levels finds it.

    `created_at` is when it was first observed, `observed_at` and `updated_at` when its present text was. Only the store
    sets `recorded_at` and `commit`: when and in which commit it took this version.
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
            raise FieldError(f"{show(self.scope)} is not a scope; use recollect.Scope.parse(…)", field="scope")
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
            start = self.valid_from.isoformat()
            raise FieldError(f"{self.valid_until.isoformat()} is before valid_from ({start})", field="valid_until")
        require_choice("status", self.status, Status)
        require_choice("provenance", self.provenance, Provenance)
        object.__setattr__(self, "trust", cast("Trust | None", self.trust) or TRUST_BY_PROVENANCE[self.provenance])
        require_choice("trust", self.trust, Trust)
        if self.trust is not Trust.VOUCHED and TRUST_BY_PROVENANCE[self.provenance].less_than(self.trust):
            allowed = f"{TRUST_BY_PROVENANCE[self.provenance].value}, the trust of provenance {self.provenance.value}"
            raise FieldError(
                f"{self.trust.value} is higher than {allowed}; only an operator can raise it, by vouching for it",
                field="trust",
            )

    def _require_record_values(self, name: str, choices: type[ChoiceT]) -> tuple[ChoiceT, ...]:
        """Return values that only a record with a level may have, without duplicates, in enum order."""
        given = {require_choice(name, one, choices) for one in _require_texts(name, getattr(self, name))}
        if self.level is None:
            raise FieldError("applies only to records that have a level, and this memory has none", field=name)
        return tuple(one for one in choices if one in given)

    @classmethod
    def from_stored(cls, **values: Any) -> "Memory":
        """Build a memory from all fields as a store returns them, without checking them again."""
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
        """Marks to show: a status other than active, unindexed, pinned, shared."""
        status = () if self.status is Status.ACTIVE else (self.status.value,)
        unindexed = () if self.findable else ("unindexed",)
        return (*status, *unindexed, *(name for name in ("pinned", "shared") if getattr(self, name)))

    @property
    def findable(self) -> bool:
        """Whether any index has it."""
        return self.indexed and len(self.left) < len(Index)

    def answers(self, levels: Collection[Level | None]) -> bool:
        """Whether its level is one of these, or it stands for records of one of them."""
        return self.level in levels or any(one in levels for one in self.stands_for)

    @property
    def hash(self) -> str:
        """The hash that finds duplicates: same text up to blanks, same speaker, both events or not.

        The hash of a record of what happened is unique: two records that say the same happened twice.
        """
        if self.level is not None:  # no other hashed text contains a newline, so none has the same hash
            return hashlib.sha256(f"{self.level.value}\n{self.id}".encode()).hexdigest()
        return said_hash(self.text, self.speaker, self.kind)

    @property
    def searched_text(self) -> str:
        """The text that queries are matched against: the title, if any, and the text."""
        return build_searched_text(self.title, self.text)

    @property
    def embedded_text(self) -> str:
        """The text to embed: the title, if any, and the text without the speaker's name."""
        return build_embedded_text(self.title, self.text, self.speaker)

    def reads_like(self, other: "Memory") -> bool:
        """Whether both memories have the same text for search and for embedding."""
        return (self.searched_text, self.embedded_text) == (other.searched_text, other.embedded_text)

    def with_commit(self, at: datetime, commit: int) -> "Memory":
        """Return the memory with its commit and commit time; nothing is checked again."""
        return copy_with(self, recorded_at=at, commit=commit)

    def ended_by(self, at: datetime) -> bool:
        """Whether its validity ended at that time or before."""
        return self.valid_until is not None and self.valid_until <= at

    def with_changes(self, **changes: Any) -> "Memory":
        """Return the memory with some fields changed."""
        return replace(self, **changes)


def build_searched_text(title: str | None, text: str) -> str:
    """Return the text that queries are matched against, for this title and text."""
    return text if title is None else f"{title}\n{text}"


def build_embedded_text(title: str | None, text: str, speaker: str | None) -> str:
    """Return the text to embed for this title, text and speaker.

    Transcripts put the speaker's name before the text. The name is left out, because it would pull the vectors of
    everything one person said together.
    """
    return build_searched_text(title, text if speaker is None else _strip_speaker(text, speaker))


def _strip_speaker(text: str, speaker: str) -> str:
    """Return the text without the speaker's name and colon in front, unless nothing is left."""
    colons = 1 + speaker.count(":")  # a name may contain colons
    parts = text.split(":", colons)
    name = ":".join(parts[:colons])
    attributed = len(parts) > colons and to_nfc(name).strip().casefold() == to_nfc(speaker).strip().casefold()
    return parts[-1].strip() or text if attributed else text


def content_hash(text: str) -> str:
    """Return the SHA-256 of the text in NFC, with each run of blanks as one."""
    return hashlib.sha256(" ".join(to_nfc(text).split()).encode()).hexdigest()


def said_hash(text: str, speaker: str | None, kind: str) -> str:
    """Return the hash of a text by a speaker, as an event or not.

    The same words of two people are two statements. An event says that the words were spoken, another kind that they
    are true; their hashes differ too.
    """
    raw = kind == Kind.EVENT
    if speaker is None and not raw:
        return content_hash(text)
    name = "" if speaker is None else to_nfc(speaker).casefold()
    return hashlib.sha256(f"{content_hash(text)} {'event' if raw else ''} {name}".encode()).hexdigest()


def _require_title(field: str, value: str) -> str | None:
    """Return the title, or `None` if it is blank."""
    validation.require_text(field, value)
    return validation.require_line(field, value) if value.strip() else None


def _require_texts(field: str, value: Any, most: int = MAX_LIST_ITEMS) -> tuple[Any, ...]:
    if not isinstance(value, tuple | list):
        raise FieldError(f"{show(value)} is not a list of texts", field=field)
    if len(value) > most:
        raise FieldError(f"has {len(value)} items; at most {most} are allowed", field=field)
    return tuple(value)


def _require_labels(field: str, value: Any) -> tuple[str, ...]:
    return _unique_ids(field, _require_texts(field, value))


def _unique_ids(field: str, value: tuple[Any, ...]) -> tuple[str, ...]:
    """Return the ids without duplicates."""
    return tuple(dict.fromkeys(validation.require_id(field, one) for one in value))


def _require_quotes(field: str, value: Any) -> tuple[str, ...]:
    quotes = tuple(validation.require_content(field, one) for one in _require_texts(field, value))
    validation.require_total_length(field, quotes)
    return quotes


def require_metadata(field: str, value: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the mapping as JSON reads it back, or raise FieldError.

    The error says that JSON cannot hold it, or that it is nested too deep or is too long.
    """
    if not isinstance(value, Mapping):
        raise FieldError(f"{show(value)} is not a mapping", field=field)
    if not value:
        return {}
    _refuse_deep_nesting(field, value)
    try:
        text = json.dumps(dict(value), allow_nan=False, ensure_ascii=True)
        found: Mapping[str, Any] = json.loads(text)
    except (TypeError, ValueError, RecursionError) as error:
        raise FieldError(f"{show(value)} cannot be written as JSON", field=field) from error
    if len(text) > MAX_METADATA_CHARS:
        raise FieldError(f"has {len(text)} characters of JSON; at most {MAX_METADATA_CHARS} are allowed", field=field)
    if "\\u0000" in text or "\\ud" in text:
        for part in _texts_in(found):
            validation.require_clean_text(field, part)
    return found


def _texts_in(value: Any) -> Iterator[str]:
    """Yield every text in a JSON value, including keys."""
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
    """Raise FieldError for values nested too deep, or with more parts than JSON may have here."""
    level = [value]
    for _ in range(MAX_METADATA_DEPTH):
        inner = [one.values() if isinstance(one, Mapping) else one for one in level if isinstance(one, _NESTED_TYPES)]
        level = [part for one in inner for part in islice(one, MAX_METADATA_CHARS)]
        if len(level) > MAX_METADATA_CHARS:
            raise FieldError(
                f"has too many parts; at most {MAX_METADATA_CHARS} characters of JSON are allowed", field=field
            )
    if any(isinstance(one, _NESTED_TYPES) for one in level):
        raise FieldError(f"is nested more than {MAX_METADATA_DEPTH} levels deep; flatten it", field=field)


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
