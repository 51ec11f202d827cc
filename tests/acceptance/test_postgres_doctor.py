"""`recollect doctor` on a database: what it looks at, what it says of it, and that nothing is changed by it."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from recollect.cli.doctor import diagnose
from recollect.model.encoder import Encoder
from recollect.providers.registry import PROVIDERS
from recollect.stores.postgres.writer import PostgresReembedding
from tests.postgres import Server, admin_url

from .shell import ENVIRONMENT
from .test_postgres_cli import schemas, statement, typed

ANA = ("--scope", "acme/ana")
INSTALLATION = [
    *("recollect", "python", "settings"),
    *(f"embedder {name}" for name in PROVIDERS),
    *("embedding", "model cache", "faces", "keys", "frameworks"),
]
SERVER = ["psycopg", "server", "encoding", "pgvector", "role", "primary", "store"]
STORE = ["rights", "row security", "model"]


def told(target: str, *, code: int = 0, **environment: str) -> dict[str, dict[str, Any]]:
    """Every check by its name."""
    outcome = json.loads(typed(target, "doctor", "--json", code=code, **environment).stdout)
    assert outcome["ok"] is (code == 0)
    return {check["name"]: check for check in outcome["checks"]}


@pytest.fixture
def filled(postgres_store_url: str) -> str:
    """A database with a memory in it."""
    typed(postgres_store_url, "remember", "Ana prefers window seats", *ANA, "--id", "seat")
    return postgres_store_url


@pytest.fixture
def guest(postgres_server: Server, filled: str) -> Iterator[str]:
    """The address of the same database for a role that has been granted nothing."""
    name = urlsplit(filled).path.removeprefix("/")
    statement(filled, f"CREATE ROLE guest_of_{name} LOGIN")
    yield postgres_server.url(name, f"guest_of_{name}")
    statement(filled, f"DROP OWNED BY guest_of_{name}")
    statement(filled, f"DROP ROLE guest_of_{name}")


def test_all_is_well_before_there_is_a_store_and_nothing_is_made(postgres_url: str) -> None:
    checks = told(postgres_url)
    assert list(checks) == [*INSTALLATION, *SERVER]
    assert {checks[name]["finding"] for name in SERVER} == {"ok"}
    assert checks["store"]["seen"].endswith(" has no store yet; the first memory creates it")
    assert schemas(postgres_url) == 0
    assert statement(postgres_url, "SELECT count(*) FROM pg_extension WHERE extname = 'vector'") == 0


def test_all_is_well_with_a_store_and_its_model_is_named(filled: str) -> None:
    checks = told(filled)
    assert list(checks) == [*INSTALLATION, *SERVER, *STORE]
    assert {checks[name]["finding"] for name in (*SERVER, *STORE)} == {"ok"}
    assert checks["model"]["seen"] == "the vectors are from hashing-256 (256 dimensions), as in the settings"
    assert checks["store"]["seen"].startswith("postgresql://recollect@")
    assert "MB, schema " in checks["store"]["seen"]
    private = "SELECT count(DISTINCT attrelid) FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid"
    tables = statement(filled, f"{private} WHERE relkind IN ('r', 'p') AND attname = 'root'")
    assert checks["row security"]["seen"] == f"enabled and forced on {tables} tables"


def test_looking_changes_nothing(filled: str) -> None:
    next_change = "SELECT pg_snapshot_xmax(pg_current_snapshot())::text"
    before = statement(filled, next_change)
    told(filled)
    assert statement(filled, next_change) == before


def test_without_pgvector_it_says_who_creates_it(untrusting_postgres_url: str) -> None:
    check = told(untrusting_postgres_url, code=1)["pgvector"]
    assert check["seen"] == "not installed in the database, and recollect may not install it"
    assert check["remedy"] == "run CREATE EXTENSION vector in the database as a superuser"
    assert told(admin_url(untrusting_postgres_url))["pgvector"]["finding"] == "ok"
    statement(untrusting_postgres_url, "CREATE EXTENSION vector")
    assert told(untrusting_postgres_url)["pgvector"]["finding"] == "ok"


def test_a_database_that_does_not_take_every_character_is_a_problem(postgres_server: Server) -> None:
    with postgres_server.admin() as admin:
        admin.execute("CREATE DATABASE narrow TEMPLATE template0 ENCODING 'LATIN1' LOCALE 'C'")
    try:
        check = told(postgres_server.url("narrow"), code=1)["encoding"]
        assert (check["seen"], check["remedy"]) == ("LATIN1", "create a database with ENCODING 'UTF8'")
    finally:
        with postgres_server.admin() as admin:
            admin.execute("DROP DATABASE narrow")


@pytest.mark.parametrize(("rights", "seen"), [("SUPERUSER", "is a superuser"), ("BYPASSRLS", "has BYPASSRLS")])
def test_a_role_that_nothing_holds_is_worth_a_warning(rights: str, seen: str, guest: str) -> None:
    role = urlsplit(guest).username
    statement(guest, f"GRANT recollect TO {role}")
    statement(guest, f"ALTER ROLE {role} {rights}")
    check = told(guest)["role"]
    assert (check["finding"], check["remedy"]) == ("warning", "use a role that is NOSUPERUSER and NOBYPASSRLS")
    assert seen in check["seen"]


def test_rights_are_told_by_the_statements_that_grant_them(guest: str) -> None:
    role = urlsplit(guest).username
    checks = told(guest, code=1)
    assert checks["store"]["finding"] == checks["rights"]["finding"] == "problem"
    grants = checks["rights"]["remedy"].removeprefix("run as recollect: ")
    assert grants != checks["rights"]["remedy"]
    statement(guest, f"GRANT USAGE ON SCHEMA recollect TO {role}")
    statement(guest, f"GRANT SELECT ON ALL TABLES IN SCHEMA recollect TO {role}")
    only_reads = told(guest)["rights"]
    assert only_reads["finding"] == "warning"
    assert " may read all tables, but not write " in only_reads["seen"]
    for grant in grants.split("; "):
        statement(guest, grant)
    assert told(guest)["rights"]["seen"] == f"{role} may read and write all tables"
    typed(guest, "remember", "Ana lives in Rome", *ANA, "--id", "rome")
    assert "Ana lives in Rome" in typed(guest, "recall", "where does Ana live?", *ANA).stdout


def test_what_can_only_be_read_is_read_with_a_warning(guest: str) -> None:
    role = urlsplit(guest).username
    statement(guest, f"GRANT USAGE ON SCHEMA recollect TO {role}")
    statement(guest, f"GRANT SELECT ON ALL TABLES IN SCHEMA recollect TO {role}")
    statement(guest, f"ALTER ROLE {role} SET default_transaction_read_only = on")
    checks = told(guest)
    assert checks["primary"]["finding"] == "warning"
    assert checks["rights"]["seen"] == f"{role} may read all tables"
    assert "window seats" in typed(guest, "recall", "which seat?", *ANA).stdout
    refused = typed(guest, "remember", "Ana lives in Rome", *ANA, code=1).stderr
    assert "is read-only for this role, or is a replica; connect to the primary server as a role that can" in refused


@pytest.mark.parametrize("table", ["memories", "vectors_3"])
@pytest.mark.parametrize("change", ["NO FORCE", "DISABLE"])
def test_a_table_that_is_not_secured_is_a_problem(table: str, change: str, filled: str) -> None:
    statement(filled, f"ALTER TABLE recollect.{table} {change} ROW LEVEL SECURITY")
    check = told(filled, code=1)["row security"]
    assert check["seen"] == f"not enabled and forced on {table}"
    statement(filled, check["remedy"].removeprefix("run ").removesuffix(" for each").replace("NAME", table))
    assert told(filled)["row security"]["finding"] == "ok"


def test_a_store_of_a_newer_program_is_a_problem(filled: str) -> None:
    statement(filled, "INSERT INTO recollect.migrated (number) VALUES (99)")
    store = told(filled, code=1)["store"]
    assert "written by a newer recollect" in store["seen"]
    assert store["remedy"] == "upgrade recollect"


def test_a_model_other_than_the_configured_one_is_a_problem(filled: str) -> None:
    model = told(filled, code=1, RECOLLECT_EMBEDDER="hashing-64")["model"]
    assert model["seen"] == "the vectors are from hashing-256 (256 dimensions), but the settings name hashing-64"


def test_a_re_embedding_that_was_not_finished_is_noticed_until_it_is(filled: str) -> None:
    with closing(PostgresReembedding(filled)) as begun:
        begun.begin(Encoder("hashing-64", 64))
    seen = told(filled)["re-embedding"]
    assert (seen["finding"], seen["seen"]) == ("warning", "started with hashing-64 (64 dimensions), but not finished")
    typed(filled, "admin", "re-embed", "--embedder", "hashing-64")
    assert "re-embedding" not in told(filled, RECOLLECT_EMBEDDER="hashing-64")


def test_a_store_that_is_still_on_its_way_here_is_a_problem(postgres_store_url: str) -> None:
    statement(postgres_store_url, "INSERT INTO recollect.moving (source, inventory, taken) VALUES ('', '', 0)")
    store = told(postgres_store_url, code=1)["store"]
    assert "is not finished" in store["seen"]
    assert store["remedy"] == "run the same `recollect admin migrate-store` command again"


def test_a_server_that_does_not_answer_is_a_problem_and_all_else_is_still_told(filled: str) -> None:
    checks = told(filled.replace("port=", "port=1"), code=1)
    assert list(checks) == [*INSTALLATION, "psycopg", "server"]
    assert "cannot be reached" in checks["server"]["seen"]
    assert checks["server"]["remedy"] == "check host, port, role, password and database, and that the server is up"


def test_a_file_has_nothing_to_do_with_it(tmp_path: Path) -> None:
    names = [check.name for check in diagnose(tmp_path / "agent.db")]
    assert set(names).isdisjoint({*SERVER, *STORE} - {"store"})
    script = f"import sys, recollect.cli.doctor as d; d.diagnose({str(tmp_path)!r}); print('psycopg' in sys.modules)"
    outcome = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, env={**os.environ, **ENVIRONMENT}, check=True
    )
    assert outcome.stdout == "False\n"
