"""What models give is taken as it was meant."""

from typing import Any

import pytest

from recollect.mcp.arguments import meant
from recollect.mcp.catalogue import entries

NO_TEXTS = {"tags", "n", "yes"}


@pytest.mark.parametrize(
    ("name", "given", "expected"),
    [
        ("text", "[1]", "[1]"),
        ("tags", '["a"]', ["a"]),
        ("tags", ["a"], ["a"]),
        ("tags", "a, b", "a, b"),
        ("tags", "null", "null"),
        ("n", "7", 7),
        ("n", "NaN", "NaN"),
        ("yes", "true", True),
        ("tags", '{"a": 1}', {"a": 1}),
        ("unknown", "[1]", "[1]"),
        ("tags", "[" * 100_000, "[" * 100_000),
        ("tags", "\ud800", "\ud800"),
    ],
)
def test_json_in_a_text_is_read_only_where_no_text_is_taken(name: str, given: Any, expected: Any) -> None:
    assert meant(NO_TEXTS, {name: given}) == {name: expected}


def test_null_is_as_if_nothing_were_said() -> None:
    assert meant(NO_TEXTS, {"text": None, "tags": None, "n": 0}) == {"n": 0}


@pytest.mark.parametrize(
    ("tool", "texts", "others"),
    [
        ("recall", {"scope", "query", "as_of", "profile"}, {"tokens", "turns", "depth", "levels", "overrides"}),
        ("remember", {"text", "key", "session"}, {"tags", "metadata", "derived_from", "vector", "explain"}),
        ("record_action", {"input", "output"}, {"explain"}),
        ("erase", {"id"}, {"everything", "dry_run"}),
    ],
)
def test_a_tool_knows_which_arguments_are_no_texts_also_those_it_does_not_tell_of(
    tool: str, texts: set[str], others: set[str]
) -> None:
    no_texts = set(entries()[tool].no_texts)
    assert not no_texts & texts
    assert no_texts >= others
