"""What the command line refuses, with the exit code a script can rely on, and what it leaves alone."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from recollect.cli.admin import admin
from recollect.cli.main import SUGGESTED_COMMANDS, cli, exit_code
from recollect.errors import Conflict, EmbedderMismatch, NotFound, ProviderBusy, SignalMissing, StoreBusy, StoreError
from tests.tables import table

from .shell import Shell

ANA = ("--scope", "acme/ana")

LOOKING = [
    ("recall", "x", *ANA),
    ("search", "x", *ANA),
    ("brief", *ANA),
    ("why", "a", "x", *ANA),
    ("feedback", "c", *ANA, "--helped", "a"),
    ("revise", "a", "x", *ANA),
    ("forget", "a", *ANA),
    ("restore", "a", *ANA),
    ("pin", "a", *ANA),
    ("unpin", "a", *ANA),
    ("history", "a", *ANA),
    ("show", "a", *ANA),
    ("list", *ANA),
    ("erase", *ANA, "--id", "a", "--yes"),
]
"""Every command that needs a store to be there."""


@pytest.mark.parametrize("command", LOOKING, ids=lambda command: command[0])
def test_a_store_that_is_not_there_is_not_made_by_looking(command: tuple[str, ...], shell: Shell) -> None:
    outcome = shell(*command, code=3)
    assert outcome.stdout == ""
    assert (
        f"store '{shell.store}' does not exist; `recollect remember` or `recollect observe` creates one"
        in outcome.stderr
    )
    assert list(shell.store.parent.iterdir()) == []


@pytest.mark.parametrize("command", [*LOOKING, ("remember", "x", *ANA)], ids=lambda command: command[0])
def test_a_missing_scope_is_asked_for_with_an_example(command: tuple[str, ...], shell: Shell) -> None:
    outcome = shell(*[word for word in command if word not in ANA], code=2)
    assert "Missing option '--scope'. Name the scope, for example: --scope acme/ana" in outcome.stderr
    assert list(shell.store.parent.iterdir()) == []


@pytest.mark.parametrize("command", [one for one in LOOKING if "a" in one and one[0] != "feedback"], ids=lambda c: c[0])
def test_a_memory_of_another_scope_is_answered_like_one_that_is_not_there(
    command: tuple[str, ...], shell: Shell
) -> None:
    shell("remember", "something of Ben's", "--scope", "acme/ben", "--id", "a")
    known, unknown = shell(*command, code=3), shell(*["b" if word == "a" else word for word in command], code=3)
    assert known.stderr == unknown.stderr.replace("'b'", "'a'")
    assert (known.stdout, unknown.stdout) == ("", "")


HALF = "\udcff"
"""What a shell hands over for a byte that is no UTF-8."""


@pytest.mark.parametrize("command", [one for one in LOOKING if "a" in one and one[0] != "feedback"], ids=lambda c: c[0])
def test_an_id_that_is_no_utf_8_is_not_there(command: tuple[str, ...], shell: Shell) -> None:
    shell("remember", "something", *ANA)
    outcome = shell(*[HALF if word == "a" else word for word in command], code=3)
    assert outcome.stderr == "Error: there is no memory '\\udcff' in acme/ana\n"
    assert shell("feedback", HALF, *ANA, "--helped", "a", code=3).stdout == ""


def test_a_backup_has_a_name_by_which_it_can_be_opened(shell: Shell) -> None:
    shell("remember", "something", *ANA)
    before = sorted(shell.store.parent.iterdir())
    assert "is not UTF-8" in shell("backup", str(shell.store.with_name(HALF)), code=2).stderr
    shell("backup", str(shell.store.with_name("x" * 300)), code=1)
    assert "cannot access" in shell("verify", str(shell.store.with_name("x" * 300)), code=1).stderr
    assert sorted(shell.store.parent.iterdir()) == before


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["remember", " ", *ANA], "field 'text': is blank"),
        (["remember", "x", "--scope", "a b"], "scope part 'a b' has ' '"),
        (["remember", "x", "--scope", ""], "the scope is empty"),
        (["remember", "x", *ANA, "--kind", "idea"], "field '--kind': 'idea' is not a valid kind; known are profile, "),
        (
            ["remember", "x", *ANA, "--kind", "preferance"],
            "'preferance' is not a valid kind; did you mean 'preference'?",
        ),
        (["remember", "x", *ANA, "--importance", "2"], "field '--importance': 2.0 is not within 0..1"),
        (["remember", "x", *ANA, "--tag", " "], "field '--tag': ' ' is empty or padded"),
        (
            ["remember", "x", *ANA, "--valid-from", "2025-01-02", "--valid-until", "2025-01-01"],
            "field '--valid-until': 2025-01-01T00:00:00+00:00 is not after valid_from (2025-01-02T00:00:00+00:00)",
        ),
        (["remember", "x", *ANA, "--importance", "nan"], "field '--importance': nan is not a finite number"),
        (["remember", "x", *ANA, "--importance", "much"], "'much' is not a valid float"),
        (
            ["remember", "x", *ANA, "--at", "yesterday"],
            "field '--at': 'yesterday' is not a date; write a day, such as 2026-01-31, or a moment, such as",
        ),
        (["remember", "x", *ANA, "--at", "2025-01-01T09:00"], "field '--at': '2025-01-01T09:00' has no time zone"),
        (["remember", "x", *ANA, "--at", "2025-02-30"], "field '--at': '2025-02-30' is not a date"),
        (["remember", "x", *ANA, "--at", "2199-01-01T00Z"], "give a time that has passed"),
        (["remember", "x", *ANA, "--valid-from", "9999-01-01T00Z"], "is not within 1900..2199"),
        (
            ["remember", "x", *ANA, "--provenance", "gossip"],
            "'gossip' is not a valid provenance; known are direct_user, ",
        ),
        (["remember", "x", *ANA, "--metadata", "{"], "field '--metadata': '{' is not JSON"),
        (["remember", "x", *ANA, "--metadata", "[" * 100_000], "is not JSON"),
        (["remember", "x", *ANA, "--metadata", "[1]"], "field '--metadata': [1] is not a JSON object"),
        (["remember", "x", *ANA, "--metadata", '{"a": NaN}'], "cannot be written as JSON"),
        (["remember", "x", *ANA, "--id", " a"], "is empty or padded"),
        (["remember", *ANA], "Missing argument 'TEXT'"),
        (["search", "", *ANA], "field 'query': is empty"),
        (["search", "x", *ANA, "--limit", "0"], "0 is not in the range"),
        (["search", "x", *ANA, "--profile", "session"], "takes no question"),
        (["search", "x", *ANA, "--as-of", "2199-01-01"], "field '--as-of': 2199-01-01T00:00:00+00:00 is "),
        (["search", "x", *ANA, "--as-of", "2199-01-01T00Z"], "give a time that has passed"),
        (["recall", "x", *ANA, "--tokens", "0"], "0 is not in the range"),
        (["recall", "x", *ANA, "--depth", "none"], "'none' is not a valid integer"),
        (["brief", *ANA, "--profile", "default"], "needs a question"),
        (["recall", "x", *ANA, "--kind", "evnt"], "field '--kind': 'evnt' is not a valid kind; did you mean 'event'?"),
        (["why", "a", "x", *ANA, "--kind", "fact", "--kind", "evnt"], "did you mean 'event'?"),
        (["feedback", "c", *ANA], "Name what helped or misled with --helped ID or --misled ID, or give the "),
        (["feedback", "c", *ANA, "--answer", " "], "field '--answer': is blank"),
        (["list", *ANA, "--status", "gone"], "'gone' is not a valid status; known are active, "),
        (
            ["list", *ANA, "--status", "actve"],
            "field '--status': 'actve' is not a valid status; did you mean 'active'?",
        ),
        (["revise", "a", "x", *ANA, "--kind", "idea"], "'idea' is not a valid kind"),
        (["revise", "a", " ", *ANA], "is blank"),
        (
            ["remember", "Ana", "likes", "tea", *ANA],
            "Got unexpected extra arguments (likes tea); put TEXT in quotes if it has spaces.",
        ),
        (["search", "window", "seats", *ANA], "(seats); put QUERY in quotes"),
        (["recall", "window", "seats", *ANA], "(seats); put QUERY in quotes"),
        (["why", "a", "window", "seats", *ANA], "(seats); put QUERY in quotes"),
    ],
)
def test_wrong_input_is_refused_with_exit_code_2(arguments: list[str], complaint: str, shell: Shell) -> None:
    shell("remember", "something", *ANA, "--id", "a")
    outcome = shell(*arguments, code=2)
    assert complaint in outcome.stderr
    assert outcome.stdout == ""
    assert [one["text"] for one in shell.json("list", *ANA)["memories"]] == ["something"]


@pytest.mark.parametrize(
    ("stdin", "complaint"),
    [
        (b"", "is blank"),
        (b"\xff", "standard input is not UTF-8"),
        (b"a\0b", "has a NUL character"),
        (b"a" * (2**20 + 3), "standard input has more than 1048576 bytes"),
    ],
)
def test_standard_input_that_is_no_text_is_refused_and_makes_no_store(
    stdin: bytes, complaint: str, shell: Shell
) -> None:
    outcome = shell("remember", "-", *ANA, stdin=stdin, code=2)
    assert complaint in outcome.stderr
    assert not shell.store.exists()


def test_standard_input_that_cannot_be_read_is_refused(shell: Shell) -> None:
    command = f"{sys.executable} -m recollect --db {shell.store} remember - --scope acme/ana 0>/dev/null"
    outcome = subprocess.run(["bash", "-c", command], capture_output=True, text=True)
    assert (outcome.returncode, outcome.stdout) == (2, "")
    assert outcome.stderr.startswith("Error: standard input cannot be read")


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["search", "x", *ANA, "--profile", "nope"], "unknown profile 'nope'"),
        (["search", "x", *ANA, "--profile", "nope.toml"], "profile file 'nope.toml' does not exist"),
        (["feedback", "nope", *ANA, "--helped", "a"], "there is no context 'nope' in acme/ana"),
    ],
)
def test_what_is_not_there_has_exit_code_3(arguments: list[str], complaint: str, shell: Shell) -> None:
    shell("remember", "something", *ANA, "--id", "a")
    assert complaint in shell(*arguments, code=3).stderr


def test_an_embedder_that_the_environment_names_wrongly_is_told_with_its_variable(shell: Shell) -> None:
    shell("remember", "something", *ANA)
    outcome = shell("list", *ANA, code=2, RECOLLECT_EMBEDDER="hashing-64")
    assert "the vectors of this store come from hashing-256" in outcome.stderr
    assert outcome.stderr.endswith("; RECOLLECT_EMBEDDER sets an embedder: unset it\n")


def test_an_export_is_not_verified_as_a_store(shell: Shell, tmp_path: Path) -> None:
    shell("remember", "something", *ANA)
    target = tmp_path / "agent.jsonl"
    shell("export", str(target))
    outcome = shell("verify", str(target), code=2)
    assert f"'{target}' is an export, not a store; `recollect --db NEW import FILE` checks it" in outcome.stderr
    assert outcome.stdout == ""
    for content in (b"\xff", b"{}", b"", b"{"):
        target.write_bytes(content)
        assert "problem" in shell("verify", str(target), code=1).stdout


def test_a_conflict_has_exit_code_1(shell: Shell) -> None:
    shell("remember", "one", *ANA, "--key", "k", "--id", "a")
    assert "retry key 'k' was used for a different call" in shell("remember", "two", *ANA, "--key", "k", code=1).stderr
    assert "memory 'a' already exists" in shell("remember", "two", *ANA, "--id", "a", code=1).stderr


HOLD = """
import sqlite3, sys
other = sqlite3.connect(sys.argv[1], isolation_level=None)
other.execute("BEGIN IMMEDIATE")
print("held", flush=True)
sys.stdin.read()
"""


def test_a_store_that_others_are_writing_to_has_exit_code_4(shell: Shell) -> None:
    shell("remember", "one", *ANA)
    command = [sys.executable, "-c", HOLD, str(shell.store)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "held\n"
        outcome = shell("remember", "two", *ANA, code=4, RECOLLECT_BUSY_TIMEOUT="0.05")
        other.communicate()
    assert outcome.stderr.startswith(f"Error: {shell.store}: another process was writing ")
    shell("remember", "two", *ANA)


@table(
    ("error", "code"),
    [
        (NotFound("x"), 3),
        (EmbedderMismatch("x"), 2),
        (SignalMissing("x"), 2),
        (Conflict("x"), 1),
        (StoreError("x"), 1),
        (StoreBusy("x"), 4),
        (ProviderBusy("x"), 4),
    ],
)
def test_every_error_has_its_exit_code(error: NotFound, code: int) -> None:
    assert exit_code(error) == code


def test_a_file_that_is_no_store_is_refused_and_left_as_it_is(shell: Shell) -> None:
    shell.store.write_text("dear diary, " * 100)
    shell("list", *ANA, code=1)
    shell("remember", "x", *ANA, code=1)
    assert shell.store.read_text() == "dear diary, " * 100


def test_a_target_that_cannot_be_is_refused(tmp_path: Path) -> None:
    Shell(tmp_path)("--db", "mysql://nowhere", "list", *ANA, code=2)
    outcome = Shell(tmp_path / "no" / "folder" / "a.db")("remember", "x", *ANA, code=1)
    assert "Traceback" not in outcome.stderr
    assert "--db is empty" in Shell(tmp_path)("--db", "", "list", *ANA, code=2).stderr


def test_every_command_that_prints_data_takes_json() -> None:
    without = {words for words, command in commands(cli) if not any("--json" in one.opts for one in command.params)}
    holders = {"", "admin", "curate", "episodes", "keys", "scheduler"}
    assert without == {*holders, "demo", "serve", "mcp", "hook"}  # a story, and what speaks with others in their ways


def test_what_a_backup_an_export_and_a_vote_came_to_is_data_too(shell: Shell) -> None:
    shell("remember", "something", *ANA, "--id", "a")
    context = shell.json("recall", "something", *ANA)["id"]
    given = {"context": context, "scope": "acme/ana", "helped": ["a"], "misled": [], "quoted": [], "remark": None}
    assert shell.json("feedback", context, *ANA, "--helped", "a") == given
    copy, lines = shell.store.with_name("copy.db"), shell.store.with_name("a.jsonl")
    assert shell.json("backup", str(copy)) == {"path": str(copy), "bytes": copy.stat().st_size}
    assert shell.json("export", str(lines)) == {"path": str(lines), "memories": 1, "contexts": 1}
    assert shell("export", "--json").stdout == lines.read_text()
    assert shell.json("profiles") == shell.json("profiles", "list")


def commands(group: click.Group, path: str = "") -> Iterator[tuple[str, click.Command]]:
    """Every command with the words that call it."""
    yield path, group
    for name, command in group.commands.items():
        words = f"{path} {name}".strip()
        if isinstance(command, click.Group):
            yield from commands(command, words)
        else:
            yield words, command


@pytest.mark.parametrize(
    ("typed", "ours"),
    [
        ("get", "`recollect show`"),
        ("rm", "`recollect forget` or `recollect erase`"),
        ("delete", "`recollect forget` or `recollect erase`"),
        ("add", "`recollect remember`"),
        ("help", "`recollect --help`"),
        ("ls", "`recollect list`"),
        ("query", "`recollect search` or `recollect recall`"),
        ("ask", "`recollect recall`"),
        ("rollup", "`recollect admin rollup`"),
        ("consolidate", "`recollect admin consolidate`"),
        ("rebuild-index", "`recollect admin rebuild-index`"),
        ("undo", "`recollect admin undo`"),
    ],
)
def test_a_command_of_other_programs_is_refused_with_ours(typed: str, ours: str, shell: Shell) -> None:
    assert f"No such command {typed!r}; did you mean {ours}?" in shell(typed, "x", code=2).stderr


def test_what_is_told_in_place_of_another_word_is_there() -> None:
    options = {name for option in cli.params for name in option.opts} | {"--help"}
    below = {f"admin {name}" for name in admin.commands}
    assert {one for ours in SUGGESTED_COMMANDS.values() for one in ours} <= {*cli.commands, *below, *options}
    assert not SUGGESTED_COMMANDS.keys() & cli.commands.keys()


def test_the_store_is_named_before_the_command(shell: Shell) -> None:
    outcome = shell("remember", "hi", "--scope", "me", "--db", "x.db", code=2)
    assert "--db belongs before the command" in outcome.stderr


def test_a_folder_is_no_backup(shell: Shell, tmp_path: Path) -> None:
    assert "is a folder" in shell("verify", str(tmp_path), code=1).stderr
