"""What models give is taken as it was meant."""

from dataclasses import replace
from typing import Any

from recollect.server.mcp.catalog import load_tools
from recollect.server.mcp.handlers import normalize_arguments
from tests.tables import table

TOOL = replace(
    load_tools()["remember"], no_texts={"tags", "n", "yes", "drafts", "metadata"}, moments={"at", "drafts.at"}
)


@table(
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
    assert normalize_arguments(TOOL, {name: given}) == {name: expected}


def test_null_is_as_if_nothing_were_said() -> None:
    assert normalize_arguments(TOOL, {"text": None, "tags": None, "n": 0}) == {"n": 0}


@table(
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
    no_texts = set(load_tools()[tool].no_texts)
    assert not no_texts & texts
    assert no_texts >= others


@table(
    ("name", "given", "expected"),
    [
        ("at", "2026-11-10", "2026-11-10T00:00Z"),
        ("at", "2026-11-10T09:00Z", "2026-11-10T09:00Z"),
        ("at", "2026-11-10T09:00", "2026-11-10T09:00"),
        ("at", "20261110", "20261110"),
        ("at", "yesterday", "yesterday"),
        ("at", "", ""),
        ("at", 7, 7),
        ("text", "2026-11-10", "2026-11-10"),
        (
            "drafts",
            [{"at": "2026-11-10", "text": "2026-11-10"}, 7],
            [{"at": "2026-11-10T00:00Z", "text": "2026-11-10"}, 7],
        ),
        ("drafts", '[{"at": "2026-11-10"}]', [{"at": "2026-11-10T00:00Z"}]),
        ("drafts", [{"metadata": {"at": "2026-11-10"}}], [{"metadata": {"at": "2026-11-10"}}]),
        ("metadata", {"at": "2026-11-10"}, {"at": "2026-11-10"}),
    ],
)
def test_a_day_is_its_beginning_where_a_moment_is_meant_and_nowhere_else(name: str, given: Any, expected: Any) -> None:
    assert normalize_arguments(TOOL, {name: given}) == {name: expected}


@table(
    ("tool", "moments"),
    [
        ("recall", ["as_of", "known_at"]),
        ("remember", ["at", "valid_from", "valid_until"]),
        ("remember_all", ["drafts.at", "drafts.valid_from", "drafts.valid_until"]),
        ("observe", ["events.at"]),
        ("stats", []),
    ],
)
def test_a_tool_knows_which_arguments_are_moments_and_tells_that_a_day_will_do(tool: str, moments: list[str]) -> None:
    assert load_tools()[tool].moments == moments
    told = load_tools()[tool].input["properties"]
    days = [name for name, one in told.items() if "2026-01-31" in one.get("examples", ())]
    assert days == [name for name in moments if name in told]
