"""A command that is an operation takes what the operation takes: the same names, lists, flags, limits and choices.

Options are not made from the request: to show its help, a command would have to load pydantic and all operations.
"""

from collections.abc import Mapping
from functools import partial
from typing import Any

import click

from recollect.api.operations import OPERATIONS
from recollect.cli.main import cli
from tests.tables import table

COMMANDS: Mapping[str, str] = {
    **{name: name for name in ("recall", "brief", "search", "why", "feedback", "replay", "remember", "revise")},
    **{name: name for name in ("forget", "restore", "pin", "unpin", "browse", "expand", "stats", "erase")},
    "show": "get_memory",
    "history": "get_history",
    "list": "list_memories",
    "topics": "list_topics",
    "graph": "get_neighbours",
    "episodes start": "start_episode",
    "episodes record": "record_action",
    "episodes complete": "complete_episode",
    "episodes similar": "get_similar_episodes",
    "episodes failures": "get_failure_modes",
    "episodes list": "list_episodes",
    "episodes show": "get_episode",
    "admin undo": "undo",
}
"""The operation that each command is."""

RENAMED: Mapping[str, Mapping[str, str]] = {
    "feedback": {"context": "context_id"},
    "replay": {"context": "context_id"},
    "graph": {"name": "name_or_id"},
}
"""Arguments that have another name in the request."""

ONLY_COMMAND: Mapping[str, set[str]] = {
    **{key: {"explain"} for key in ("recall", "brief", "search", "replay", "episodes similar", "episodes failures")},
    "remember": {"id"},
    "topics": {"id", "refresh"},
    "erase": {"yes"},
}
"""What only the command takes: how to print, and what a person is asked."""

ONLY_REQUEST: Mapping[str, set[str]] = {
    **{key: {"overrides", "turns"} for key in ("recall", "search")},
    "why": {"depth", "overrides", "turns"},
    **{key: {"vector"} for key in ("remember", "revise")},
    "list": {"after", "limit"},
    "erase": {"dry_run"},
}
"""What only programs give."""

UNLIMITED = {"limit", "tokens", "depth"}
"""Fields whose upper limit protects a server, and does not hold for a person's own store."""


def parameters(words: str) -> dict[str, click.Parameter]:
    """The arguments and options of a command by the names of the request, but for --json."""
    command: click.Command = cli
    for word in words.split():
        assert isinstance(command, click.Group)
        command = command.commands[word]
    renamed = RENAMED.get(words, {})
    found = {renamed.get(one.name or "", one.name or ""): one for one in command.params}
    found.pop("as_json", None)
    return {name: one for name, one in found.items() if name not in ONLY_COMMAND.get(words, ())}


def request_fields(words: str) -> dict[str, Mapping[str, Any]]:
    """The schema of each field of the request, without that it can be null."""
    properties = OPERATIONS[COMMANDS[words]].request.model_json_schema()["properties"]
    return {name: next(one for one in schema.get("anyOf", (schema,))) for name, schema in properties.items()}


@table("words", COMMANDS)
def test_a_command_takes_what_its_operation_takes(words: str) -> None:
    assert set(parameters(words)) == set(request_fields(words)) - ONLY_REQUEST.get(words, set())


@table("words", COMMANDS)
def test_its_options_are_lists_flags_and_numbers_where_the_fields_are(words: str) -> None:
    fields = request_fields(words)
    for name, parameter in parameters(words).items():
        field = fields[name]
        assert (parameter.multiple if isinstance(parameter, click.Option) else False) == (field["type"] == "array"), (
            name
        )
        if isinstance(parameter, click.Option):
            assert parameter.is_flag == (field["type"] == "boolean"), name
        if isinstance(parameter.type, click.IntRange):
            assert parameter.type.min == field["minimum"], name
            assert parameter.type.max == (None if name in UNLIMITED else field["maximum"]), name


@table("words", COMMANDS)
def test_its_options_have_the_choices_of_the_fields(words: str) -> None:
    fields = request_fields(words)
    for name, parameter in parameters(words).items():
        match parameter.callback:
            case partial(args=(choices,)):
                known = fields[name].get("items", fields[name])["enum"]
                assert sorted(choices) == sorted(known), name
            case _:
                pass
