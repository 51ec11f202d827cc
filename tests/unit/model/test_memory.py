"""Memory: what it may be, and when two say the same."""

from datetime import datetime, timedelta
from typing import Any

import pytest

from recollect.errors import FieldError
from recollect.model.enums import Kind, Level, Status, parse_choice
from recollect.model.memory import MAX_LIST_ITEMS, MAX_METADATA_CHARS, content_hash
from recollect.model.validation import MAX_TEXT_BYTES
from recollect.testing import NOW, a_memory
from tests.tables import table


@table(
    ("given", "problem"),
    [
        ({"text": " \n\t"}, "field 'text': is blank"),
        ({"text": "a\0b"}, "field 'text': has a NUL"),
        ({"metadata": {"a": ["x\0y"]}}, "field 'metadata': has a NUL"),
        ({"metadata": {"a\0": 1}}, "field 'metadata': has a NUL"),
        ({"text": "a\ud800"}, "field 'text': has a lone surrogate at 1"),
        ({"text": "é" * (MAX_TEXT_BYTES // 2 + 1)}, "field 'text': has 524289 characters"),
        ({"text": 7}, "field 'text': 7 is not text"),
        ({"scope": "acme"}, "field 'scope': 'acme' is not a scope"),
        ({"kind": "fact"}, "field 'kind': 'fact' is not a valid kind"),
        ({"level": "day"}, "field 'level': 'day' is not a valid level"),
        ({"derived_from": tuple(map(str, range(MAX_LIST_ITEMS + 1)))}, "field 'derived_from': has 65 items"),
        ({"level": Level.DAY, "derived_from": tuple(map(str, range(65_537)))}, "field 'derived_from': has 65537 items"),
        ({"status": "active"}, "field 'status': 'active' is not a valid status"),
        ({"provenance": "import"}, "field 'provenance': 'import' is not a valid provenance"),
        ({"title": "t" * 513}, "field 'title': has 513 characters"),
        ({"tags": "python"}, "field 'tags': 'python' is not a list"),
        ({"tags": tuple(map(str, range(MAX_LIST_ITEMS + 1)))}, "field 'tags': has 65 items"),
        ({"tags": (" ",)}, "field 'tags'"),
        ({"evidence": ("",)}, "field 'evidence'"),
        ({"evidence": ("x" * (MAX_TEXT_BYTES // 2), "é" * (MAX_TEXT_BYTES // 4 + 1))}, "field 'evidence'.*in total"),
        ({"session": ""}, "field 'session'"),
        ({"importance": 1.1}, "field 'importance'"),
        ({"confidence": float("nan")}, "field 'confidence'"),
        ({"shared": 1}, "field 'shared'"),
        ({"created_at": datetime(2026, 1, 1)}, "field 'created_at'"),
        ({"valid_until": datetime.max}, "field 'valid_until'"),
        (
            {"valid_from": NOW, "valid_until": NOW - timedelta(days=1)},
            r"field 'valid_until': .* is before valid_from \(.*\)",
        ),
        ({"metadata": [1]}, "field 'metadata': .* is not a mapping"),
        ({"metadata": {"x": float("inf")}}, "field 'metadata': .* cannot be written as JSON"),
        ({"metadata": {"x": object()}}, "field 'metadata'"),
        ({"metadata": {"x": "y" * MAX_METADATA_CHARS}}, "field 'metadata': .* characters of JSON"),
        ({"metadata": {"x": "\ud800"}}, "field 'metadata': has a lone surrogate"),
        ({"revisions": -1}, "field 'revisions'"),
    ],
)
def test_what_a_memory_cannot_be_is_refused_by_field(given: dict[str, Any], problem: str) -> None:
    with pytest.raises(FieldError, match=problem):
        a_memory(**given)


def test_a_text_of_a_mebibyte_is_a_memory() -> None:
    assert len(a_memory(text="x" * MAX_TEXT_BYTES).text) == MAX_TEXT_BYTES


def test_tags_are_there_once_and_in_their_order() -> None:
    assert a_memory(tags=("b", "a", "b")).tags == ("b", "a")


def test_metadata_is_a_copy_as_json_has_it() -> None:
    given: dict[Any, Any] = {"list": (1, 2), 3: None}
    memory = a_memory(metadata=given)
    given["more"] = True
    assert memory.metadata == {"list": [1, 2], "3": None}
    assert {memory}


def test_blanks_and_composition_do_not_tell_texts_apart_but_case_does() -> None:
    assert content_hash(" caf\u0065\u0301  au\nlait ") == content_hash("caf\u00e9 au lait")
    assert content_hash("it works in US") != content_hash("it works in us")


def test_a_record_of_what_happened_is_told_by_its_level_and_its_id_and_by_nothing_that_it_says() -> None:
    records = [a_memory(id, text=text, level=level) for id in "ab" for text in ("x", "y") for level in Level]
    assert len({one.hash for one in records}) == 2 * len(Level)
    assert a_memory("a", text="x", level=Level.DAY).hash == a_memory("a", text="y", level=Level.DAY, speaker="z").hash
    plain = [a_memory(text=f"day{between}a", kind=kind) for between in (" ", "\n", "") for kind in Kind]
    assert not {one.hash for one in plain} & {one.hash for one in records}


def test_a_title_is_searched_with_the_text() -> None:
    assert a_memory(text="on Fridays").searched_text == "on Fridays"
    assert a_memory(text="on Fridays", title="Deploys").searched_text == "Deploys\non Fridays"


def test_a_name_is_read_as_the_choice_it_names_or_refused_with_the_nearest() -> None:
    assert parse_choice("kind", "fact", Kind) is Kind.FACT
    assert parse_choice("status", Status.ACTIVE, Status) is Status.ACTIVE
    with pytest.raises(FieldError, match="'facts' is not a valid kind; did you mean 'fact'") as refused:
        parse_choice("kind", "facts", Kind)
    assert refused.value.__suppress_context__  # Python's own words add nothing
