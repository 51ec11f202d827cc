"""How a hook is read, and why it steps aside, in a line that its agent may show."""

import pytest
from click.testing import CliRunner

from recollect.cli.agent_commands import hook, parse_hook
from recollect.cli.hook_runner import describe_failure, parse_plain_arguments
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
    assert "test_hook_runner.py" in told
    assert "tea" not in told


def test_a_hook_has_200_milliseconds_unless_told_otherwise() -> None:
    assert {option.name: option.default for option in hook.params}["budget_ms"] == 200
    asked = parse_plain_arguments(["prompt", "--scope", "acme/ana"])
    assert asked is not None
    assert asked["budget_ms"] == 200


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
def test_a_plain_call_is_read_as_the_whole_command_line_reads_it(typed: str) -> None:
    assert parse_plain_arguments(typed.split()) == hook.make_context("hook", typed.split()).params


@table(
    "typed",
    [
        "",
        "prompt",
        "prompt --scope",
        "stop --scope a",
        "prompt session-start --scope a",
        "prompt --scope a --nonsense b",
        "prompt --scope a --budget-ms soon",
        "prompt --scope a --budget-ms 0",
        "prompt --scope a --budget-ms -1",
        "prompt --scope a --budget-ms ²",
        "prompt --scope a --budget-ms 600001",
        "prompt --scope a --tokens 99999999999999999999",
        "prompt --scope a -- --tokens",
    ],
)
def test_any_other_call_is_left_to_who_can_tell_what_is_wrong(typed: str) -> None:
    assert parse_plain_arguments(typed.split()) is None


def test_help_offers_both_flags_also_after_a_hook_was_parsed_without_the_command_line() -> None:
    parse_hook(["prompt", "--nonsense"])
    assert "-h, --help" in CliRunner().invoke(cli, ["hook", "--help"]).output
