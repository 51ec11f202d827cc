"""The command line on PostgreSQL: each command does what it does with a file, and nobody is shown a password."""

import json
import logging
import os
import re
import shlex
import subprocess
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import psycopg
import pytest
from click.testing import CliRunner, Result

import recollect
from recollect.cli.main import cli
from tests.integration.postgres.scene import AGENT, a_role, grant, named
from tests.postgres import Server, admin_url
from tests.tables import table

from .shell import ENVIRONMENT
from .test_cli_refusals import LOOKING

ANA = ("--scope", "acme/ana")
QUESTION, THEN = "which seat?", ("--as-of", "2026-02-01")
SECRET = "hunter2-and-more"  # noqa: S105 - nobody has it
CHAT = json.dumps({"role": "user", "text": "I live in Oslo, and I prefer tea over coffee.", "timestamp": "2026-01-03"})
OTHERS = json.dumps({"type": "entity", "name": "Ana", "entityType": "person", "observations": ["flies on Mondays"]})

THE_SAME = [
    ("remember", "Ana prefers window seats near Rome", *ANA, "--id", "seat", "--at", "2026-01-02"),
    ("remember", "Ana prefers window seats near Rome", *ANA, "--at", "2026-01-03"),
    ("remember", "Ana lives in Rome", *ANA, "--id", "rome", "--at", "2026-01-02", "--shared"),
    ("remember", "Ana lives in Lisbon", *ANA, "--id", "lisbon", "--at", "2026-01-05"),
    ("remember", "The lounge password is Gate7-Lounge!42", *ANA, "--id", "lounge", "--at", "2026-01-05", "--json"),
    ("search", QUESTION, *ANA, *THEN, "--explain"),
    ("search", QUESTION, *ANA, *THEN, "--json"),
    ("why", "seat", QUESTION, *ANA, *THEN),
    ("list", *ANA),
    ("list", *ANA, "--status", "superseded"),
    ("show", "seat", *ANA),
    ("graph", *ANA),
    ("graph", "Rome", *ANA),
    ("revise", "seat", "Ana prefers aisle seats near Rome", *ANA),
    ("curate", "weigh", "seat", "0.9", *ANA),
    ("curate", "undo", "7", *ANA),
    ("forget", "lounge", *ANA),
    ("restore", "lounge", *ANA),
    ("pin", "seat", *ANA),
    ("unpin", "seat", *ANA),
    ("extract", "-", *ANA),
    ("import", "-", "--format", "mcp-memory", *ANA),
    ("stats", *ANA),
    ("stats", "--scope", "acme", "--json"),
]
"""What says the same wherever the memories are, in its order; nothing of it depends on when it is typed."""

UNLIKE = re.compile(
    r"\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b|(bytes|schema)\D*\d+"
    r"|\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+\+00:00|Z)"
)
"""What differs between two stores: ids that are made, sizes, schemas, and when something was taken in."""


def typed(target: str, *arguments: str, code: int = 0, stdin: str = "", **environment: str) -> Result:
    """The outcome of a command on the store that the environment names."""
    there = {**ENVIRONMENT, "RECOLLECT_DB": target, **environment}
    outcome = CliRunner().invoke(cli, arguments, env=there, input=stdin, catch_exceptions=False)
    assert outcome.exit_code == code, outcome.output
    return outcome


def stdin(command: tuple[str, ...]) -> str:
    return {"extract": CHAT, "import": OTHERS}.get(command[0], "")


def statement(url: str, text: str) -> object:
    """The first value that a statement of the superuser gives, if it gives any."""
    with psycopg.connect(admin_url(url), autocommit=True) as db:
        cursor = db.execute(text.encode())
        row = cursor.fetchone() if cursor.description else None
        return None if row is None else row[0]


def schemas(url: str) -> object:
    return statement(url, "SELECT count(*) FROM pg_namespace WHERE nspname = 'recollect'")


@pytest.fixture
def guarded(postgres_server: Server, postgres_store_url: str) -> str:
    """The address of a store over the network, with the password that it takes."""
    return postgres_server.network_url(urlsplit(postgres_store_url).path.removeprefix("/"))


@pytest.fixture
def password(guarded: str) -> str:
    return str(urlsplit(guarded).password)


def test_every_command_says_what_it_says_of_a_file(tmp_path: Path, postgres_url: str) -> None:
    for command in THE_SAME:
        in_postgres, in_a_file = (
            typed(target, *command, stdin=stdin(command)) for target in (postgres_url, str(tmp_path / "agent.db"))
        )
        assert UNLIKE.sub("…", in_postgres.output) == UNLIKE.sub("…", in_a_file.output), command


def test_a_context_is_recalled_and_its_votes_are_counted(postgres_store_url: str) -> None:
    typed(postgres_store_url, "remember", "Ana prefers window seats", *ANA, "--id", "seat")
    context = json.loads(typed(postgres_store_url, "recall", QUESTION, *ANA, "--json").stdout)
    assert [one["id"] for one in context["packed"]] == ["seat"]
    typed(postgres_store_url, "feedback", context["id"], *ANA, "--helped", "seat")
    shown = typed(postgres_store_url, "show", "seat", *ANA).stdout
    assert re.search(r"^served +1 time.*\n.*helped", shown, re.MULTILINE), shown
    assert "Ana prefers window seats" in typed(postgres_store_url, "brief", *ANA).stdout
    assert typed(postgres_store_url, "history", "seat", *ANA).stdout.count("\n") == 1


def test_the_story_can_be_told_in_a_new_database_and_only_there(postgres_url: str) -> None:
    told = typed(postgres_url, "--db", postgres_url, "demo").stdout
    assert f"The story is kept in {postgres_url}" in told
    again = typed(postgres_url, "--db", postgres_url, "demo", code=2).stderr
    assert "already exists; name a new file or database for the demo" in again


def test_an_export_goes_from_a_database_to_a_file_that_only_the_user_may_read(
    tmp_path: Path, postgres_store_url: str
) -> None:
    long = postgres_store_url.replace("recollect@", f"recollect:{'x' * 999}@")  # as tokens are that stand for passwords
    typed(long, "remember", "Ana prefers window seats", *ANA, "--id", "seat")
    typed(long, "export", str(tmp_path / "all.jsonl"))
    assert (tmp_path / "all.jsonl").stat().st_mode & 0o777 == 0o600
    typed(str(tmp_path / "agent.db"), "import", str(tmp_path / "all.jsonl"))
    shown = [typed(target, "show", "seat", *ANA).stdout for target in (long, str(tmp_path / "agent.db"))]
    assert shown[0] == shown[1]
    again = typed(long, "import", str(tmp_path / "all.jsonl")).stdout
    assert again == "added 0 memories and 0 contexts; skipped 1 that was there already\n"


def test_an_erasure_is_proved_by_the_owner_of_the_tables(postgres_store_url: str) -> None:
    typed(postgres_store_url, "remember", "Ana is allergic to peanuts", *ANA, "--id", "peanuts")
    outcome = typed(postgres_store_url, "erase", *ANA, "--id", "peanuts", "--yes")
    assert "\nproved       nothing of it was found there\n" in outcome.stdout
    assert "\nsearched     no files: that needs a superuser, or EXECUTE" in outcome.stdout
    assert "\nrewritten    checkpoints_" in outcome.stdout
    assert outcome.stderr == ""
    assert statement(postgres_store_url, "SELECT count(*) FROM recollect.contents") == 0
    assert typed(postgres_store_url, "admin", "sweep").stdout == "no file has erased data\n"


def test_who_does_not_own_the_tables_erases_and_the_owner_sweeps(
    postgres_server: Server, postgres_store_url: str
) -> None:
    a_role(postgres_server, AGENT)
    grant(postgres_server, named(postgres_store_url))
    agent = postgres_server.url(named(postgres_store_url), AGENT)
    typed(agent, "remember", "Ana is allergic to peanuts", *ANA, "--id", "peanuts")
    outcome = typed(agent, "erase", *ANA, "--id", "peanuts", "--yes", code=1)
    assert "run `recollect admin sweep` as recollect" in outcome.stdout
    assert outcome.stderr.startswith(
        "The database has a record of what remains to be done: run `recollect admin sweep`"
    )
    assert "run it as recollect" in typed(agent, "admin", "sweep", code=1).stderr
    checks = json.loads(typed(postgres_store_url, "doctor", "--json").stdout)["checks"]
    assert [one["seen"] for one in checks if one["name"] == "erased"] == [
        "the files of PostgreSQL still have bytes of 1 erasure"
    ]
    swept = json.loads(typed(postgres_store_url, "admin", "sweep", "--json").stdout)
    assert (swept["erasures"], swept.keys()) == (1, {"tables", "before", "after", "erasures"})


def test_a_file_has_nothing_to_sweep(tmp_path: Path) -> None:
    outcome = typed(str(tmp_path / "agent.db"), "admin", "sweep", code=2)
    assert "because erasing removes the data from the file; use a database" in outcome.stderr


@pytest.mark.parametrize("command", LOOKING, ids=lambda command: command[0])
def test_a_database_without_a_store_gets_none_by_looking(command: tuple[str, ...], postgres_url: str) -> None:
    outcome = typed(postgres_url, *command, code=3)
    assert outcome.stderr.startswith(
        f"Error: store '{postgres_url}' does not exist; `recollect remember` or `recollect observe` creates one"
    )
    assert schemas(postgres_url) == 0


@pytest.mark.parametrize("command", [("backup", "copy.db"), ("verify",)], ids=lambda command: command[0])
def test_what_is_for_files_is_refused_with_the_tool_that_does_it(
    command: tuple[str, ...], postgres_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert "pg_dump" in typed(postgres_url, *command, code=2).stderr
    assert list(tmp_path.iterdir()) == []
    assert schemas(postgres_url) == 0


def test_a_command_that_is_told_can_be_typed_and_has_no_password(
    guarded: str, password: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    typed(guarded, "remember", "Ana prefers window seats", *ANA, "--id", "seat")
    told = typed(guarded, "--db", guarded, "revise", "seat", "Ana prefers aisle seats", *ANA).stderr
    assert password not in told
    command = shlex.split(told.partition("to undo it: ")[2])
    assert command[:2] == ["recollect", "--db"]
    monkeypatch.setenv("PGPASSWORD", password)  # which is where it is looked for then
    typed("nowhere.db", *command[1:])
    assert "window seats" in typed(guarded, "show", "seat", *ANA).stdout


@table(
    ("address", "shown"),
    [
        ("postgresql://ana:{}@127.0.0.1:5/memories", "postgresql://ana@127.0.0.1:5/memories"),
        ("postgres://ana:{}@/memories?host=/tmp", "postgres://ana@/memories?host=/tmp"),
        ("postgresql:///memories?password={}&user=ana", "postgresql:///memories?user=ana"),
        ("postgresql://host/memories?pass%77ord={}", "postgresql://host/memories"),
        ("postgresql://a%40b:{}@one,two:6/memories?sslpassword={}", "postgresql://a%40b@one,two:6/memories"),
        ("postgresql://ana@host/memories?options=-c%20a=b", "postgresql://ana@host/memories?options=-c%20a=b"),
        ("postgresql://host/memories?application_name=a@b", "postgresql://host/memories?application_name=a@b"),
        ("postgresql://host/memories", "postgresql://host/memories"),
    ],
)
def test_an_address_is_shown_whole_but_for_what_is_secret(address: str, shown: str) -> None:
    from recollect.cli.options import StoreTarget

    assert StoreTarget(address.replace("{}", SECRET)).display_name == shown


def failing(postgres_server: Server, database: str) -> Iterator[tuple[str, int]]:
    """Addresses that fail, each with a password, and what a shell learns of it."""
    port = postgres_server.port
    yield f"postgresql://recollect:{SECRET}@127.0.0.1:{port}/{database}", 1  # another password than it has
    yield f"postgresql://nobody:{SECRET}@127.0.0.1:{port}/{database}", 1
    yield f"postgresql://recollect:{SECRET}@nowhere.invalid/{database}", 1
    yield f"postgresql://recollect:{SECRET}@127.0.0.1:1/{database}", 4  # it may be up in a moment
    yield f"postgresql://recollect:{SECRET}@/nothing?host={postgres_server.folder}&port={port}", 1
    yield f"postgresql://recollect:{SECRET}@/{database}?host={postgres_server.folder}&port={port}", 1  # no pgvector
    yield f"postgresql://recollect@/{database}?host={postgres_server.folder}&port={port}&password={SECRET}", 1
    yield f"postgresql://recollect:{SECRET}%@127.0.0.1:{port}/{database}", 2  # and what nobody could read
    yield f"postgresql://recollect:a/{SECRET}@127.0.0.1:{port}/{database}", 2
    yield f"postgresql://recollect:a@{SECRET}@127.0.0.1:{port}/{database}", 2
    yield f"postgresql://recollect:{SECRET}@127.0.0.1:{port}/{database}?unheard=of", 2
    yield f"mysql://recollect:{SECRET}@127.0.0.1/{database}", 2


def test_whatever_fails_is_told_in_a_line_with_a_remedy_and_without_the_password(
    postgres_server: Server, untrusting_postgres_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    for address, code in failing(postgres_server, urlsplit(untrusting_postgres_url).path.removeprefix("/")):
        said = typed(address, "remember", "Ana prefers window seats", *ANA, code=code).stderr
        assert re.fullmatch(r"Error: [^\n]+; [^\n]+\n", said), said
        doctor = typed(address, "doctor", code=1).output
        with pytest.raises(recollect.RecollectError) as raised:
            recollect.open(address)
        shown = f"{said} {doctor} {''.join(traceback.format_exception(raised.value))} {caplog.text}"
        assert SECRET not in shown
    assert schemas(untrusting_postgres_url) == 0


@pytest.mark.parametrize("command", ["verify", "rank", "import", "--config"])
@pytest.mark.parametrize("mangled", ["postgresql:/keeper:{}@host/x", "postgresql//k:{}@host/x", "postgres:/k:{}@x"])
def test_an_address_that_is_given_for_a_file_shows_no_password(command: str, mangled: str, tmp_path: Path) -> None:
    arguments = [command, mangled.format(SECRET), *(["list", *ANA] if command == "--config" else [])]
    outcome = CliRunner().invoke(cli, ["--db", str(tmp_path / "agent.db"), *arguments])
    assert outcome.exit_code != 0
    assert SECRET not in outcome.output
    assert "…@" in outcome.output


def test_verify_of_an_address_is_refused_as_one() -> None:
    outcome = CliRunner().invoke(cli, ["verify", f"postgresql://keeper:{SECRET}@host/x"])
    assert (outcome.exit_code, "pg_dump" in outcome.output, SECRET in outcome.output) == (2, True, False)


def test_a_role_without_rights_is_told_who_can_grant_them(postgres_server: Server, postgres_store_url: str) -> None:
    name = urlsplit(postgres_store_url).path.removeprefix("/")
    statement(postgres_store_url, f"CREATE ROLE guest_of_{name} LOGIN PASSWORD '{SECRET}'")
    guest = f"postgresql://guest_of_{name}:{SECRET}@127.0.0.1:{postgres_server.port}/{name}"
    try:
        for command in (("remember", "x", *ANA), ("recall", "x", *ANA), ("stats",)):
            said = typed(guest, *command, code=1).stderr
            assert re.fullmatch(r"Error: [^\n]+permission denied[^\n]+; ask the owner [^\n]+\n", said), said
            assert SECRET not in said
    finally:
        statement(postgres_store_url, f"DROP ROLE guest_of_{name}")


def test_no_output_of_a_command_has_the_password(guarded: str, password: str) -> None:
    for command in (*THE_SAME, ("recall", QUESTION, *ANA), ("doctor",), ("doctor", "--json"), ("stats", "--json")):
        assert password not in typed(guarded, "--db", guarded, *command, stdin=stdin(command)).output


def without_the_driver(*arguments: str) -> "subprocess.CompletedProcess[str]":
    """The outcome of a process that has no psycopg."""
    script = "import sys; sys.modules['psycopg'] = None\nfrom recollect.cli.main import main\nmain()"
    there = {**os.environ, **ENVIRONMENT}
    return subprocess.run([sys.executable, "-c", script, *arguments], capture_output=True, text=True, env=there)


def test_without_its_driver_a_database_is_refused_with_how_to_get_it_and_files_are_kept(tmp_path: Path) -> None:
    address = f"postgresql://recollect:{SECRET}@127.0.0.1/memories"
    for command in (("remember", "x", *ANA), ("list", *ANA)):
        outcome = without_the_driver("--db", address, *command)
        assert outcome.returncode == 2, outcome.stderr
        assert "pip install '.[postgres]'" in outcome.stderr
        assert outcome.stderr.count("\n") == 1
    doctor = without_the_driver("--db", address, "doctor", "--json")
    *_, last = json.loads(doctor.stdout)["checks"]
    assert (doctor.returncode, last["name"], last["finding"]) == (1, "psycopg", "problem")
    assert SECRET not in doctor.stdout + doctor.stderr
    file = ("--db", str(tmp_path / "agent.db"))
    assert without_the_driver(*file, "remember", "Ana prefers window seats", *ANA).returncode == 0
    assert "psycopg" not in without_the_driver(*file, "doctor").stdout
