"""What models give is taken as it was meant."""

from typing import Any

import pytest

from recollect.mcp.arguments import meant

SCHEMA = {
    "properties": {
        "text": {"type": "string"},
        "tags": {"type": "array"},
        "n": {"type": "integer"},
        "yes": {"type": "boolean"},
        "either": {"anyOf": [{"type": "string"}, {"type": "object"}]},
        "both": {"anyOf": [{"type": "array"}, {"type": "object"}]},
        "turn": {"$ref": "#/$defs/Turn"},
    },
    "$defs": {"Turn": {"type": "object"}},
}


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
        ("either", '{"a": 1}', '{"a": 1}'),
        ("both", '{"a": 1}', {"a": 1}),
        ("turn", '{"a": 1}', {"a": 1}),
        ("unknown", "[1]", "[1]"),
        ("tags", "[" * 100_000, "[" * 100_000),
        ("tags", "\ud800", "\ud800"),
    ],
)
def test_json_in_a_text_is_read_only_where_no_text_is_taken(name: str, given: Any, expected: Any) -> None:
    assert meant(SCHEMA, {name: given}) == {name: expected}


def test_null_is_as_if_nothing_were_said() -> None:
    assert meant(SCHEMA, {"text": None, "tags": None, "n": 0}) == {"n": 0}
