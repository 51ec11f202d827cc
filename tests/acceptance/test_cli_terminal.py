"""The command line at a terminal: tables and colour there, neither in a pipe; help at once; completion."""

import json
import os
import subprocess
import sys

import pytest
from click.testing import CliRunner

import recollect
from recollect.cli.main import SECTIONS, cli
from recollect.model.archive import MAX_NAMED_SCOPES
from recollect.providers.registry import PROVIDERS
from tests.tables import table

from .shell import Shell

ANA = ("--scope", "acme/ana")
ESCAPE = "\x1b["


@pytest.fixture
def filled(shell: Shell) -> Shell:
    shell("remember", "Ana prefers window seats", *ANA, "--id", "seat", "--at", "2025-06-02T09:00:00Z")
    return shell


def test_a_terminal_gets_a_table_in_colour_and_a_pipe_gets_neither(filled: Shell) -> None:
    seen = filled.terminal("list", *ANA)
    assert "id    scope     kind         date        marks  text" in seen
    assert ESCAPE in seen
    piped = filled.process("list", *ANA).stdout
    assert piped == "seat\tacme/ana\tobservation\t2025-06-02\t\tAna prefers window seats\n"


@pytest.mark.parametrize("environment", [{"NO_COLOR": "1"}, {"TERM": "dumb"}], ids=str)
def test_who_wants_no_colour_gets_none(environment: dict[str, str], filled: Shell) -> None:
    seen = filled.terminal("search", "window seats", *ANA, **environment)
    assert ESCAPE not in seen
    assert "score  id" in seen


def test_a_narrow_terminal_gets_the_texts_on_lines_of_their_own(filled: Shell) -> None:
    seen = filled.terminal("list", *ANA, COLUMNS="60", NO_COLOR="1")
    names = "id    scope     kind         date        marks"
    assert seen.splitlines() == [names, "seat  acme/ana  observation  2025-06-02", "  Ana prefers window seats"]


@pytest.mark.parametrize(
    "command", [("list",), ("search", "seats"), ("recall", "seats"), ("brief",)], ids=lambda c: c[0]
)
def test_who_asks_in_an_empty_scope_is_told_at_a_terminal_which_scopes_there_are(
    command: tuple[str, ...], filled: Shell
) -> None:
    near = filled.terminal(*command, "--scope", "acme/anna", NO_COLOR="1")
    assert near.endswith("acme/anna has no memories; did you mean 'acme/ana'?\n")
    far = filled.terminal(*command, "--scope", "elsewhere", NO_COLOR="1")
    assert far.endswith("elsewhere has no memories; known are acme/ana\n")
    assert "has no memories" not in filled.process(*command, "--scope", "elsewhere").stderr
    assert "has no memories" not in filled.terminal(*command, *ANA)
    assert [json.loads(line) for line in filled.process(*command, "--scope", "elsewhere", "--json").stdout.splitlines()]


@pytest.mark.parametrize("command", [("stats",), ("export",)], ids=lambda c: c[0])
def test_who_counts_or_exports_an_empty_part_is_told_at_a_terminal_which_scopes_there_are(
    command: tuple[str, ...], filled: Shell
) -> None:
    near = filled.terminal(*command, "--scope", "acme/anna", NO_COLOR="1")
    assert near.endswith("acme/anna has no memories; did you mean 'acme/ana'?\n")
    for scope in ([], ["--scope", "acme"], ANA):
        assert "has no memories" not in filled.terminal(*command, *scope)
    assert "has no memories" not in filled.process(*command, "--scope", "elsewhere").stderr


def test_an_export_of_nothing_to_a_file_says_so_too(filled: Shell) -> None:
    target = filled.store.with_name("anna.jsonl")
    seen = filled.terminal("export", str(target), "--scope", "acme/anna", NO_COLOR="1")
    assert "exported 0 memories and 0 contexts\nacme/anna has no memories; did you mean 'acme/ana'?\n" in seen


def test_who_would_erase_an_empty_scope_is_told_which_there_are_before_the_question(filled: Shell) -> None:
    wrong = ("erase", "--everything", "--scope", "acme/anna")
    seen = filled.talk({"Erase for good": lambda: "n"}, *wrong, code=1, environment={"NO_COLOR": "1"})
    assert seen.startswith("acme/anna has no memories; did you mean 'acme/ana'?\nErase for good")
    assert "did you mean 'acme/ana'?" in filled.talk({}, *wrong, "--yes", code=3)
    assert "has no memories" not in filled.process(*wrong, "--yes", code=3).stderr
    assert "has no memories" not in filled.terminal("erase", "--everything", *ANA, "--yes")


def test_of_many_scopes_the_largest_are_named(filled: Shell) -> None:
    with recollect.open(filled.store, embedder="hashing") as engine:
        engine.remember_all(
            [{"text": "a note", "scope": f"team-{number:02}"} for number in range(MAX_NAMED_SCOPES + 2)]
        )
    assert filled.terminal("list", "--scope", "x", NO_COLOR="1").endswith(" and 3 more\n")


def test_a_store_without_memories_says_so(filled: Shell) -> None:
    filled("erase", *ANA, "--everything", "--yes")
    assert "the store has no memories yet" in filled.terminal("list", *ANA)


def test_help_lists_every_command_once_under_its_heading() -> None:
    shown = CliRunner().invoke(cli, ["--help"], terminal_width=80).output
    assert [line for line in shown.splitlines() if line.rstrip(":") in SECTIONS] == [f"{name}:" for name in SECTIONS]
    listed = [command for commands in SECTIONS.values() for command in commands]
    assert len(listed) == len(set(listed)) == len(cli.commands)
    commands = shown.split("\n  To have bash")[0]  # where `eval` is the shell's own
    starts = [line.split()[0] for line in commands.splitlines() if line.startswith("  ")]
    assert [command.name for command in listed] == [word for word in starts if word in cli.commands]
    assert "..." not in shown.split("Start here:")[1]


@table("name", ["search", "recall", "brief", "why"])
def test_whatever_asks_takes_the_same_options(name: str) -> None:
    shown = CliRunner().invoke(cli, [name, "--help"], terminal_width=80).output
    for option in ("--scope SCOPE", "--profile TEXT", "--as-of ISO", "--known-at ISO", "--kind KIND"):
        assert f"  {option} " in shown


def test_the_order_of_a_list_is_told_in_its_help() -> None:
    assert "sorted by id" in CliRunner().invoke(cli, ["list", "--help"], terminal_width=80).output


def test_help_says_how_to_have_a_shell_complete() -> None:
    shown = CliRunner().invoke(cli, ["--help"], terminal_width=80).output
    assert shown.endswith('\n  eval "$(_RECOLLECT_COMPLETE=bash_source recollect)"\n')
    assert max(map(len, shown.splitlines())) <= 80


@pytest.mark.parametrize("command", ["search", "recall", "brief"])
def test_an_explanation_at_a_terminal_cuts_a_long_text_and_one_in_a_pipe_does_not(command: str, shell: Shell) -> None:
    long = "window seats " * 30
    shell("remember", long, *ANA, "--id", "seat")
    question = [] if command == "brief" else ["window seats"]
    asked = (command, *question, *ANA, "--explain")
    shown = shell.terminal(*asked, COLUMNS="90", NO_COLOR="1")
    (heading,) = [line for line in shown.splitlines() if line.startswith("  1. ")]
    assert len(heading) <= 90
    assert heading.endswith("…")
    assert f"seat  {long.strip()}\n" in shell.process(*asked).stdout


def test_help_loads_nothing_heavy() -> None:
    script = "import sys; sys.argv = ['recollect', '--help']\nfrom recollect.cli.main import cli\n"
    script += "try:\n    cli()\nfinally:\n    print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True).stdout.split()
    assert not {"numpy", "apsw", "pydantic", "tokenizers", "onnxruntime"} & set(loaded)


@table(
    ("words", "offered"),
    [
        ("recollect re", {"remember", "recall", "replay", "revise", "restore"}),
        ("recollect search --profile sal", {"salience", "salience-hybrid"}),
        ("recollect remember --kind pr", {"preference", "procedure", "profile"}),
        ("recollect recall --as", {"--as-of"}),
        ("recollect rank --profile sal", {"salience", "salience-hybrid"}),
        ("recollect profiles show sal", {"salience", "salience-hybrid"}),
        ("recollect admin re-embed --embedder ", set(PROVIDERS)),
        ("recollect admin re-embed --embedder w", {"wordllama"}),
    ],
)
def test_a_shell_completes_commands_options_profiles_kinds_and_embedders(words: str, offered: set[str]) -> None:
    told = {"_RECOLLECT_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": str(words.count(" "))}
    script = "from recollect.cli.main import cli; cli(prog_name='recollect')"
    outcome = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env={**os.environ, **told})
    assert {line.partition(",")[2] for line in outcome.stdout.splitlines()} == offered
