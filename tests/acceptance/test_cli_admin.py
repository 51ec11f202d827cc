"""`recollect admin re-embed`: what it prints, to whom, and what it refuses."""

import pytest

from .shell import Shell

ANA = ("--scope", "acme/ana")
FORMER = {"name": "hashing-256", "dimensions": 256}
NEW = {"name": "hashing-64", "dimensions": 64}
TO_NEW = ("admin", "re-embed", "--embedder", "hashing-64")


@pytest.fixture
def filled(shell: Shell) -> Shell:
    shell("remember", "Ana prefers window seats", *ANA, "--id", "seat")
    shell("revise", "seat", "Ana prefers aisle seats", *ANA)
    return shell


def test_a_store_goes_over_to_another_embedder_with_all_that_its_memories_ever_said(filled: Shell) -> None:
    assert filled.json(*TO_NEW) == {
        "embedder": NEW,
        "former": FORMER,
        "changed": True,
        "embedded": 2,
        "removed": 2,
    }
    assert filled.json(*TO_NEW) == {"embedder": NEW, "former": NEW, "changed": False, "embedded": 0, "removed": 0}
    refused = filled("search", "seats", *ANA, code=2)
    assert "from hashing-64 (64 dimensions), not from hashing-256" in refused.stderr
    assert "recollect admin re-embed" in refused.stderr
    found = filled("search", "seats", *ANA, RECOLLECT_EMBEDDER="hashing-64").stdout
    assert "Ana prefers aisle seats" in found


def test_people_get_a_sentence_and_a_pipe_no_bar(filled: Shell) -> None:
    outcome = filled.process(*TO_NEW)
    now = "the vectors are now from hashing-64 (64 dimensions): 2 embedded, 2 old vectors removed\n"
    assert (outcome.stdout, outcome.stderr) == (now, "")
    again = filled.process(*TO_NEW)
    assert (again.stdout, again.stderr) == ("the vectors are already from hashing-64 (64 dimensions)\n", "")


def test_a_terminal_gets_a_bar_for_each_stage(filled: Shell) -> None:
    seen = filled.terminal(*TO_NEW)
    assert "embedding  [" in seen
    assert "removing former vectors  [" in seen
    assert seen.count("100%") >= 2
    assert seen.rstrip().endswith("2 old vectors removed")


def test_there_must_be_a_store_and_an_embedder(shell: Shell) -> None:
    assert "does not exist" in shell(*TO_NEW, code=3).stderr
    assert not shell.store.exists()
    shell("remember", "Ana prefers window seats", *ANA)
    assert "--embedder" in shell("admin", "re-embed", code=2).stderr
    unknown = shell("admin", "re-embed", "--embedder", "hashin", code=3).stderr
    assert "'hashin' is neither an embedder nor an address" in unknown
    assert shell.json("admin", "re-embed", "--embedder", "hashing")["changed"] is False
