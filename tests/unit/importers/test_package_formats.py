"""What holds for every format: lazy, the same each time, and never anything but drafts or a refusal."""

import json
from collections.abc import Iterator
from contextlib import nullcontext
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.errors import FieldError
from recollect.importers import FORMATS, recognize_format
from recollect.importers.base import MAX_LISTED_ERRORS
from recollect.model.enums import TRUST_BY_PROVENANCE, Provenance
from recollect.model.memory import Memory
from recollect.model.scope import Scope
from tests.tables import table

from .reading import ANA, NOW, drafts, reading
from .test_base_fields import JSON

SAMPLES: dict[str, list[Any]] = {
    "chat": [
        {"role": "user", "content": "I moved to Oslo", "timestamp": "2026-01-31T09:00Z"},
        {"messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}]},
    ],
    "mcp-memory": [
        {"type": "entity", "name": "Ana", "entityType": "person", "observations": ["Likes tea"]},
        {"type": "relation", "from": "Ana", "to": "Acme", "relationType": "works_at"},
    ],
    "mem0": [{"id": "m1", "memory": "Likes tea", "created_at": "2026-01-31T09:00Z"}, {"id": "m2", "memory": "Is tall"}],
}
FIELDS = (
    *("type", "name", "entityType", "observations", "from", "to", "relationType", "entities", "relations", "role"),
    *("content", "text", "messages", "timestamp", "session", "author", "memory", "results", "id", "categories"),
    *("metadata", "created_at", "user_id", "state", "source", "relationship", "target", "expiration_date"),
)
NEARLY = st.dictionaries(st.sampled_from(FIELDS), JSON | st.sampled_from(["entity", "relation", "user", "tool", 0]))


def test_there_is_a_sample_of_every_format() -> None:
    assert SAMPLES.keys() == FORMATS.keys()


@table("name", FORMATS)
def test_the_same_file_gives_the_same_drafts_and_another_scope_other_ids(name: str) -> None:
    found = drafts(name, *SAMPLES[name])
    assert found
    assert drafts(name, *SAMPLES[name]) == found
    lines = list(map(json.dumps, SAMPLES[name]))
    others = list(FORMATS[name].read(lines, Scope.parse("acme/ben"), source=None, now=NOW))
    assert len({draft.id for draft in (*found, *others)}) == 2 * len(found)


@table("name", FORMATS)
def test_an_id_does_not_hang_on_what_the_file_is_called(name: str) -> None:
    renamed = list(reading(name, *SAMPLES[name], source="elsewhere.jsonl"))
    assert [draft.id for draft in renamed] == [draft.id for draft in drafts(name, *SAMPLES[name])]


@table("source", [None, "", "\u200b", "x" * 2_000])
def test_a_file_without_a_name_that_can_be_kept_is_called_by_its_format(source: str | None) -> None:
    assert [one.source for one in reading("chat", *SAMPLES["chat"], source=source)] == ["chat"] * 3


@table("name", FORMATS)
def test_a_file_is_read_no_further_than_it_is_asked_for(name: str) -> None:
    def lines() -> Iterator[str]:
        yield json.dumps(SAMPLES[name][0])
        raise AssertionError("nobody asked for that")

    assert next(FORMATS[name].read(lines(), ANA, source=None, now=NOW)).scope == ANA


@pytest.mark.parametrize("name", FORMATS)
@given(record=NEARLY | JSON)
def test_whatever_a_line_has_becomes_memories_that_can_be_or_is_refused_with_its_line(name: str, record: Any) -> None:
    read = reading(name, record, skip_bad=True)
    found = list(read)
    assert all(refused.line == 1 for refused in read.notes.errors)
    with pytest.raises(FieldError) if read.notes.bad_count else nullcontext():
        assert drafts(name, record) == found
    for draft in found:
        memory = Memory(
            id=draft.id or pytest.fail("no id"),
            scope=draft.scope,
            text=draft.text,
            created_at=draft.at or NOW,
            tags=draft.tags,
            session=draft.session,
            speaker=draft.speaker,
            source=draft.source,
            valid_until=draft.valid_until,
            metadata=draft.metadata or {},
            provenance=draft.provenance,
        )
        assert memory.created_at <= NOW
        assert not TRUST_BY_PROVENANCE[Provenance.IMPORT].less_than(memory.trust)


@pytest.mark.parametrize("name", FORMATS)
@given(line=st.text(alphabet=st.characters(exclude_characters="\r\n")))
def test_whatever_a_line_is_it_is_read_or_refused(name: str, line: str) -> None:
    assert len(list(reading(name, line, SAMPLES[name][0], skip_bad=True))) <= 3


@table("name", FORMATS)
def test_one_bad_line_among_many_is_left_out_alone_and_only_the_first_few_are_told(name: str) -> None:
    read = reading(name, *SAMPLES[name], *["nonsense"] * 100, skip_bad=True)
    assert len(list(read)) == len(drafts(name, *SAMPLES[name]))
    assert (read.notes.bad_count, len(read.notes.errors)) == (100, MAX_LISTED_ERRORS)
    assert read.notes.errors[0].line == len(SAMPLES[name]) + 1


@table("name", FORMATS)
def test_an_id_and_a_key_are_made_of_nothing_that_is_secret(name: str) -> None:
    def made(secret: str) -> list[tuple[object, object]]:
        lines = [json.dumps(one).replace("Likes tea", secret).replace("Hello", secret) for one in SAMPLES[name]]
        found = FORMATS[name].read(
            lines, ANA, source=None, now=NOW, redacted=lambda text: text.replace("1234", "").replace("9876", "")
        )
        return [(draft.id, draft.key) for draft in found]

    assert made("PIN 1234") == made("PIN 9876") != made("PIN of the card")


@table("name", FORMATS)
def test_what_has_no_date_has_a_key_of_its_own(name: str) -> None:
    found = drafts(name, *SAMPLES[name])
    keys = [draft.key for draft in found if draft.at is None]
    assert keys
    assert len(set(keys)) == len(keys)
    assert all(draft.key is None for draft in found if draft.at is not None)


@table("name", FORMATS)
def test_a_format_is_known_by_its_first_record(name: str) -> None:
    for sample in SAMPLES[name]:
        found = recognize_format(["", json.dumps(sample), "nonsense"])
        assert found is FORMATS[name]
    assert recognize_format(json.dumps(SAMPLES[name][0], indent=2).splitlines()) is FORMATS[name]


@table("line", ["", "nonsense", "7", "[]", "{}", '{"id": "a"}', '{"format": "recollect-export"}', "[" * 100_000])
def test_what_is_of_no_format_is_not_recognised(line: str) -> None:
    assert recognize_format([line]) is None
