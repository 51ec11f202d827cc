"""The mem0 format: results of `get_all`, and exports."""

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from recollect.errors import FieldError
from recollect.importers.base import (
    ImportFormat,
    ImportOptions,
    RecordPart,
    draft_relation,
    find_first_field,
    read_datetime,
    read_end,
    read_label,
    read_metadata,
    read_tags,
    require_name,
    require_object,
)
from recollect.model import validation
from recollect.model.draft import Draft
from recollect.model.enums import Kind, Provenance

FORMAT_NAME = "mem0"
TEXT_FIELDS = ("memory", "text", "content", "data")
LIST_FIELDS = ("results", "memories")
OWNER_FIELDS = ("user_id", "agent_id", "app_id", "run_id", "actor_id", "role")
"""The fields for owner and author, kept in the metadata under `mem0`."""

DELETED_STATES = ("deleted", "archived")
"""The states of memories that mem0 itself no longer recalls."""


class Mem0Reader:
    """Makes a fact of each memory, with the date of its current text and its mem0 id.

    The speaker is the mem0 user, because "User" in a text means that person; two users in one scope stay distinct.
    """

    def __init__(self, setting: ImportOptions) -> None:
        self._setting = setting
        self._users: set[str] = set()

    def split(self, value: Any) -> Iterator[tuple[str, Any]]:
        """Yield the memories and relations of a page of results, of a list, or of a line."""
        if isinstance(value, list):
            yield from ((f"[{place}]", one) for place, one in enumerate(value))
            return
        found = require_object(value)
        lists = [name for name in (*LIST_FIELDS, "relations") if isinstance(found.get(name), list)]
        if not lists:
            yield "", found
        for name in lists:
            yield from ((f"{name}[{place}]", one) for place, one in enumerate(found[name]))

    def parts(self, record: Any) -> Iterator[RecordPart]:
        """Yield the record, which is one memory or one relation."""
        yield RecordPart(record)

    def draft(self, part: RecordPart) -> Draft | None:
        """Return the memory as a fact; `None` if it was deleted or has no text."""
        found, notes = require_object(part.value), self._setting.notes
        if not found.keys() & set(TEXT_FIELDS) and "relationship" in found:
            return self._draft_relation(found)
        if found.get("state") in DELETED_STATES:
            notes.skipped["memories that were deleted there"] += 1
            return None
        field, text = find_first_field(found, TEXT_FIELDS)
        if not found.keys() & set(TEXT_FIELDS) or ("memory" not in found and "role" in found):
            raise FieldError("is missing; a memory of mem0 has its text in this field", field="memory")
        if text is None or (isinstance(text, str) and not text.strip()):
            notes.skipped["memories without words"] += 1
            return None
        validation.require_content(field, text)
        mem0_id, at = read_label("id", found.get("id")), self._read_observed_at(found)
        self._count_user(found)
        return Draft(
            text=text,
            scope=self._setting.scope,
            id=self._setting.make_id(FORMAT_NAME, text, mem0_id),
            kind=Kind.FACT,
            tags=read_tags(found.get("categories"), notes.assumed),
            session=read_label("run_id", found.get("run_id")),
            speaker=read_label("user_id", found.get("user_id")) or read_label("actor_id", found.get("actor_id")),
            at=at,
            valid_until=read_end("expiration_date", found.get("expiration_date"), notes.assumed),
            provenance=Provenance.IMPORT,
            source=self._setting.source if mem0_id is None else validation.require_id("id", f"{FORMAT_NAME}:{mem0_id}"),
            metadata=self._merge_metadata(found),
        )

    def _read_observed_at(self, found: Mapping[str, Any]) -> datetime | None:
        """Return when the current text was observed: the later of creation and last change."""
        now, assumed = self._setting.imported_at, self._setting.notes.assumed
        moments = [read_datetime(name, found.get(name), now, assumed) for name in ("created_at", "updated_at")]
        at = max((moment for moment in moments if moment is not None), default=None)
        if at is None:
            assumed["memories without a date are observed now"] += 1
        return at

    def _merge_metadata(self, found: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """Return the memory's metadata, with the owner under `mem0`."""
        assumed, metadata = self._setting.notes.assumed, found.get("metadata")
        fields = {name: found[name] for name in OWNER_FIELDS if found.get(name) not in (None, "")}
        owner_fields = read_metadata(fields, assumed)
        owner = {} if owner_fields is None else {FORMAT_NAME: owner_fields}
        own = read_metadata(metadata, assumed) if isinstance(metadata, dict) else None
        merged = read_metadata({**(own or {}), **owner}, assumed)
        return merged if merged is not None or not owner else owner

    def _count_user(self, found: Mapping[str, Any]) -> None:
        """Count further users of the same scope, which are rarely intended."""
        user = read_label("user_id", found.get("user_id"))
        if user is not None and user not in self._users:
            self._users.add(user)
            if len(self._users) > 1:
                self._setting.notes.assumed["further users whose memories come into this one scope"] += 1

    def _draft_relation(self, found: Mapping[str, Any]) -> Draft:
        start = require_name("source", found.get("source"))
        relation = require_name("relationship", found.get("relationship"))
        field, end = find_first_field(found, ("target", "destination"))
        self._setting.notes.assumed["memories without a date are observed now"] += 1
        return draft_relation(self._setting, FORMAT_NAME, start, relation, require_name(field, end))


def _is_mem0(record: Any) -> bool:
    memories = record
    if isinstance(record, dict):
        memories = next((record[name] for name in LIST_FIELDS if isinstance(record.get(name), list)), [record])
    first = memories[0] if isinstance(memories, list) and memories else None
    return isinstance(first, dict) and isinstance(first.get("memory"), str)


MEM0_FORMAT = ImportFormat(
    name=FORMAT_NAME,
    about="memories of mem0: what get_all and its exports give, as a document or one a line",
    reader=Mem0Reader,
    recognizes=_is_mem0,
)
