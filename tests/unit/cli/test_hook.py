"""How a hook is read, and why it steps aside, in a line that its agent may show."""

import pytest
from click.testing import CliRunner

from recollect.cli.agent_commands import hook
from recollect.cli.hook import describe_failure, parse_arguments
from recollect.cli.main import cli
from recollect.errors import InvalidInput
from tests.tables import table


def test_a_problem_is_told_and_of_a_fault_only_its_kind_and_its_place() -> None:
    assert (
        describe_failure(InvalidInput("the JSON on standard input has no prompt"))
        == "the JSON on standard input has no prompt"
    )
    assert describe_failure(ConnectionRefusedError()) == "ConnectionRefusedError"
    with pytest.raises(ValueError, match="tea") as raised:
        int("Ana likes tea")
    told = describe_failure(raised.value)
    assert "ValueError at " in told
    assert "test_hook.py" in told
    assert "tea" not in told


def test_a_hook_has_200_milliseconds_unless_told_otherwise() -> None:
    assert {option.name: option.default for option in hook.params}["budget_ms"] == 200
    assert parse_arguments(["prompt", "--scope", "acme/ana"]).budget_ms == 200


@table(
    "typed",
    [
        "prompt --scope acme/ana",
        "--scope=acme/ana session-start --budget-ms 2000 --tokens=10",
        "prompt --scope a --scope b --server http://127.0.0.1:8765/mcp --key-file ~/key",
        "prompt --scope prompt --server= --budget-ms 600000",
        "prompt --scope --tokens",
    ],
)
def test_a_call_is_read_as_the_whole_command_line_reads_it(typed: str) -> None:
    assert parse_arguments(typed.split())._asdict() == hook.make_context("hook", typed.split()).params


@table(
    ("typed", "problem"),
    [
        ("", "write session-start or prompt"),
        ("prompt", "--scope"),
        ("prompt --scope", "--scope"),
        ("stop --scope a", "'stop'"),
        ("prompt session-start --scope a", "'prompt session-start'"),
        ("prompt --scope a --nonsense b", "--nonsense"),
        ("prompt --scope a -v", "-v"),
        ("prompt --scope a --budget-ms soon", "--budget-ms is 'soon'; write a number from 1 to 600000"),
        ("prompt --scope a --budget-ms 0", "--budget-ms is '0'"),
        ("prompt --scope a --budget-ms -1", "--budget-ms is '-1'"),
        ("prompt --scope a --budget-ms ²", "--budget-ms"),
        ("prompt --scope a --budget-ms 600001", "--budget-ms"),
        ("prompt --scope a --tokens 99999999999999999999", "--tokens"),
        ("prompt --scope a -- --tokens", "'prompt --tokens'"),
    ],
)
def test_a_call_that_is_wrong_is_refused_with_what_is_wrong(typed: str, problem: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        parse_arguments(typed.split())
    assert problem in str(refused.value)


def test_help_offers_both_flags_also_after_a_command_was_parsed_without_the_command_line() -> None:
    hook.make_context("hook", ["prompt", "--scope", "a"])
    assert "-h, --help" in CliRunner().invoke(cli, ["hook", "--help"]).output
