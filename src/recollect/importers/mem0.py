"""mem0: what its `get_all` and its exports give."""

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from recollect.errors import FieldError
from recollect.importers.fields import (
    a_label,
    a_moment,
    a_record,
    an_end,
    first_of,
    some_metadata,
    some_tags,
)
from recollect.importers.reader import Format, Part, Setting
from recollect.importers.relations import a_name, relation_draft
from recollect.model import validation
from recollect.model.draft import Draft
from recollect.model.memory import Kind
from recollect.model.trust import Provenance

NAME = "mem0"
TEXTS = ("memory", "text", "content", "data")
LISTS = ("results", "memories")
OWNERS = ("user_id", "agent_id", "app_id", "run_id", "actor_id", "role")
"""Whose it was there, and who said it: kept in the metadata, under `mem0`."""

GONE = ("deleted", "archived")
"""States in which mem0 itself recalls a memory no more."""


class Mem0Reader:
    """Makes a fact of each memory, which says when its present words were observed there, and under which id.

    Its speaker is the user whose it was: that is whom "User" means there, so that two users in one scope stay two.
    """

    def __init__(self, setting: Setting) -> None:
        self._setting = setting
        self._users: set[str] = set()

    def split(self, value: Any) -> Iterator[tuple[str, Any]]:
        """The memories and relations of a page of results, of a list, or of a line."""
        if isinstance(value, list):
            yield from ((f"[{place}]", one) for place, one in enumerate(value))
            return
        found = a_record(value)
        lists = [name for name in (*LISTS, "relations") if isinstance(found.get(name), list)]
        if not lists:
            yield "", found
        for name in lists:
            yield from ((f"{name}[{place}]", one) for place, one in enumerate(found[name]))

    def parts(self, record: Any) -> Iterator[Part]:
        """The record, which is one memory or one relation."""
        yield Part(record)

    def draft(self, part: Part) -> Draft | None:
        """The memory as a fact; none if it was deleted there, or says nothing."""
        found, notes = a_record(part.value), self._setting.notes
        if not found.keys() & set(TEXTS) and "relationship" in found:
            return self._relation(found)
        if found.get("state") in GONE:
            notes.skipped["memories that were deleted there"] += 1
            return None
        field, text = first_of(found, TEXTS)
        if not found.keys() & set(TEXTS) or ("memory" not in found and "role" in found):
            raise FieldError("is missing; memories of mem0 have their words there", field="memory")
        if text is None or (isinstance(text, str) and not text.strip()):
            notes.skipped["memories without words"] += 1
            return None
        validation.a_content(field, text)
        there, at = a_label("id", found.get("id")), self._at(found)
        self._count_user(found)
        return Draft(
            text=text,
            scope=self._setting.scope,
            id=self._setting.identity(NAME, text, there),
            kind=Kind.FACT,
            tags=some_tags(found.get("categories"), notes.assumed),
            session=a_label("run_id", found.get("run_id")),
            speaker=a_label("user_id", found.get("user_id")) or a_label("actor_id", found.get("actor_id")),
            at=at,
            valid_until=an_end("expiration_date", found.get("expiration_date"), notes.assumed),
            provenance=Provenance.IMPORT,
            source=self._setting.source if there is None else _place(there),
            metadata=self._metadata(found),
        )

    def _at(self, found: Mapping[str, Any]) -> datetime | None:
        """When its present words were observed there: when it was last changed, or else made."""
        now, assumed = self._setting.moment, self._setting.notes.assumed
        moments = [a_moment(name, found.get(name), now, assumed) for name in ("created_at", "updated_at")]
        at = max((moment for moment in moments if moment is not None), default=None)
        if at is None:
            assumed["memories without a date are observed now"] += 1
        return at

    def _metadata(self, found: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """Its metadata there, and whose it was there."""
        assumed, own = self._setting.notes.assumed, found.get("metadata")
        kept = some_metadata({name: found[name] for name in OWNERS if found.get(name) not in (None, "")}, assumed)
        ours = {} if kept is None else {NAME: kept}
        theirs = some_metadata(own, assumed) if isinstance(own, dict) else None
        together = some_metadata({**(theirs or {}), **ours}, assumed)
        return together if together is not None or not ours else ours

    def _count_user(self, found: Mapping[str, Any]) -> None:
        """Note that memories of several users come into one scope, which is seldom what is wanted."""
        user = a_label("user_id", found.get("user_id"))
        if user is not None and user not in self._users:
            self._users.add(user)
            if len(self._users) > 1:
                self._setting.notes.assumed["further users whose memories come into this one scope"] += 1

    def _relation(self, found: Mapping[str, Any]) -> Draft:
        start, relation = a_name("source", found.get("source")), a_name("relationship", found.get("relationship"))
        field, end = first_of(found, ("target", "destination"))
        self._setting.notes.assumed["memories without a date are observed now"] += 1
        return relation_draft(self._setting, NAME, start, relation, a_name(field, end))


def _place(id: str) -> str:
    """What a memory there is called here; refused if that would be longer than an id may be."""
    return validation.an_id("id", f"{NAME}:{id}")


def _recognises(record: Any) -> bool:
    some = record
    if isinstance(record, dict):
        some = next((record[name] for name in LISTS if isinstance(record.get(name), list)), [record])
    one = some[0] if isinstance(some, list) and some else None
    return isinstance(one, dict) and isinstance(one.get("memory"), str)


MEM0 = Format(
    name=NAME,
    about="memories of mem0: what get_all and its exports give, as a document or one a line",
    reader=Mem0Reader,
    recognises=_recognises,
)
