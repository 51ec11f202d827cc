"""`recollect admin index`: what it prints, what it refuses, and what `recollect doctor` says of indexes."""

import json
from pathlib import Path

import pytest

from .test_postgres_cli import SECRET, statement, typed
from .test_postgres_doctor import told

ANA, BEN = ("--scope", "acme/ana"), ("--scope", "acme/ben")
INDEX = ("admin", "index")


@pytest.fixture
def filled(postgres_store_url: str) -> str:
    """A database in which two scopes have a memory each."""
    typed(postgres_store_url, "remember", "Ana prefers window seats", *ANA, "--id", "seat")
    typed(postgres_store_url, "remember", "Ben prefers aisle seats", *BEN, "--id", "aisle")
    return postgres_store_url


def test_an_index_is_built_shown_and_dropped(filled: str) -> None:
    nothing = typed(filled, *INDEX)
    assert nothing.stdout == ""
    assert "`recollect admin index --scope SCOPE` builds one" in nothing.stderr
    built = typed(filled, *INDEX, *ANA).stdout
    assert built.startswith("acme/ana now has an index: 1 vector of hashing-256, 0.0 MB")
    assert typed(filled, *INDEX, *ANA).stdout == built.replace("now", "already")
    shown = typed(filled, *INDEX)
    name, *fields = shown.stdout.rstrip("\n").split("\t")
    assert fields == ["acme/ana", "hashing-256", "1", "0.0 MB", "in use"]
    assert "1 index, all in use" in shown.stderr
    assert typed(filled, *INDEX, "--drop").stdout == "there was no index to drop\n"
    assert typed(filled, *INDEX, *ANA, "--drop").stdout == f"dropped {name}: 0.0 MB freed\n"
    assert typed(filled, *INDEX, *ANA, "--drop").stdout == "there was no index to drop\n"
    assert typed(filled, *INDEX).stdout == ""


def test_the_same_as_json(filled: str) -> None:
    built = json.loads(typed(filled, *INDEX, *ANA, "--json").stdout)
    one = {
        "name": built["name"],
        "scope": "acme/ana",
        "model": "hashing-256",
        "vectors": 1,
        "bytes": built["bytes"],
        "valid": True,
        "present": True,
    }
    assert built == {**one, "built": True}
    assert json.loads(typed(filled, *INDEX, "--json").stdout) == {"indexes": [one]}
    assert json.loads(typed(filled, *INDEX, *ANA, "--drop", "--json").stdout) == {"dropped": [one]}
    assert json.loads(typed(filled, *INDEX, "--json").stdout) == {"indexes": []}


def test_what_is_of_no_use_is_told_and_dropped_without_a_scope(filled: str) -> None:
    for scope in (ANA, BEN):
        typed(filled, *INDEX, *scope)
    assert told(filled)["indexes"] == {
        "name": "indexes",
        "finding": "ok",
        "seen": "in use for acme/ana, acme/ben",
        "remedy": None,
    }
    typed(filled, "erase", *BEN, "--everything", "--yes")
    shown = typed(filled, *INDEX)
    assert shown.stdout.endswith("\tscope was erased\n")
    assert "1 not usable unless still being built; `recollect admin index --drop` drops the others" in shown.stderr
    check = told(filled)["indexes"]
    assert check["finding"] == "warning"
    assert " (1 of 2) cannot be used: " in check["seen"]
    assert "recollect admin index --drop" in check["remedy"]
    typed(filled, *INDEX, "--drop")
    assert told(filled)["indexes"]["seen"] == "in use for acme/ana"
    typed(filled, "admin", "re-embed", "--embedder", "hashing-64")
    assert typed(filled, *INDEX).stdout.endswith("\tfrom an earlier model\n")
    assert told(filled, RECOLLECT_EMBEDDER="hashing-64")["indexes"]["finding"] == "warning"
    assert "1 vector of hashing-64" in typed(filled, *INDEX, *ANA).stdout
    assert told(filled, RECOLLECT_EMBEDDER="hashing-64")["indexes"]["finding"] == "ok"


def test_one_that_was_interrupted_is_told(filled: str) -> None:
    typed(filled, *INDEX, *ANA)
    statement(filled, "UPDATE pg_index SET indisvalid = false WHERE indexrelid::regclass::text LIKE '%near%'")
    assert typed(filled, *INDEX).stdout.endswith("\tbeing built, or interrupted\n")
    assert told(filled)["indexes"]["finding"] == "warning"
    assert "now has an index" in typed(filled, *INDEX, *ANA).stdout
    assert told(filled)["indexes"]["finding"] == "ok"


def test_what_cannot_be_indexed_is_refused_in_a_line(filled: str, tmp_path: Path) -> None:
    assert "the scope acme/nobody does not exist; " in typed(filled, *INDEX, "--scope", "acme/nobody", code=3).stderr
    assert "scope part ''" in typed(filled, *INDEX, "--scope", "acme//ana", code=2).stderr
    for more in ((), ANA, ("--drop",), (*ANA, "--drop")):
        refused = typed(str(tmp_path / "agent.db"), *INDEX, *more, code=2).stderr
        assert "a file store has no vector indexes and needs none" in refused
        mangled = typed(f"postgresql:/keeper:{SECRET}@host/x", *INDEX, *more, code=2).stderr
        assert SECRET not in mangled
    assert list(tmp_path.iterdir()) == []
