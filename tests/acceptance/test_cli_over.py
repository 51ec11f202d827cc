"""What is over is told as over, with what took its place, wherever it is shown."""

import pytest

from .shell import Shell

ANA = ("--scope", "acme/ana")
ROME, LISBON = "Ana lives in Rome", "Ana lives in Lisbon"
SAID = f"[until 2026-02-01] {ROME} [replaced by lisbon ({LISBON})]"


@pytest.fixture
def moved(shell: Shell) -> Shell:
    """A store that knows of a move."""
    shell("remember", ROME, *ANA, "--id", "rome", "--at", "2026-01-01")
    shell("remember", LISBON, *ANA, "--id", "lisbon", "--at", "2026-02-01")
    return shell


def test_a_search_of_the_past_marks_what_is_over(moved: Shell) -> None:
    found = moved("search", "where does Ana live?", *ANA, "--past").stdout.splitlines()
    assert {line.split("\t")[1]: line.split("\t")[-1] for line in found} == {"lisbon": LISBON, "rome": SAID}
    assert SAID in moved("search", "where does Ana live?", *ANA, "--as-of", "2026-01-15").stdout
    assert "rome" not in moved("search", "where does Ana live?", *ANA).stdout
    explained = moved("search", "where does Ana live?", *ANA, "--past", "--explain").stdout.splitlines()
    place = next(number for number, line in enumerate(explained) if line.endswith(f"rome  {ROME}"))
    assert explained[place + 1] == "     until 2026-02-01, replaced by lisbon"
    assert sum("until" in line for line in explained) == 1


def test_a_list_and_a_history_mark_what_is_over(moved: Shell) -> None:
    (line,) = moved("list", *ANA, "--status", "superseded").stdout.splitlines()
    assert line.split("\t")[-2:] == ["superseded", SAID]
    first, last = moved("history", "rome", *ANA).stdout.splitlines()
    assert (first.split("\t")[-1], last.split("\t")[-2:]) == (ROME, ["superseded", SAID])
    assert moved.json("history", "rome", *ANA)["replacement"] == {"id": "lisbon", "text": LISBON}
    assert moved.json("history", "lisbon", *ANA)["replacement"] is None


def test_a_memory_that_was_replaced_says_by_which_words(moved: Shell) -> None:
    assert f"replaced   by lisbon ({LISBON})\n" in moved("show", "rome", *ANA).stdout
    assert "replaced" not in moved("show", "lisbon", *ANA).stdout
    assert moved.json("show", "rome", *ANA)["replacement"] == {"id": "lisbon", "text": LISBON}
    reason = moved("why", "rome", "where does Ana live?", *ANA).stdout
    assert reason == f"rome is not recalled: it was valid only until 2026-02-01; it was replaced by lisbon ({LISBON})\n"
    assert moved.json("why", "rome", "where does Ana live?", *ANA)["fate"]["superseded_by"] == "lisbon"


def test_what_took_its_place_and_was_erased_is_named_by_its_id(moved: Shell) -> None:
    moved("erase", "--id", "lisbon", *ANA, "--yes")
    assert "replaced   by lisbon\n" in moved("show", "rome", *ANA).stdout
    assert moved.json("show", "rome", *ANA)["replacement"] is None
    assert moved("list", *ANA, "--status", "superseded").stdout.endswith(f"{ROME} [replaced by lisbon]\n")


def test_a_refused_write_fails_with_the_reason_and_the_remedy(moved: Shell) -> None:
    moved("forget", "lisbon", *ANA)
    refused = moved("remember", LISBON, *ANA, "--at", "2026-03-01", code=1)
    reason, remedy = refused.stderr.splitlines()
    assert refused.stdout == ""
    assert reason.startswith("Error: refused: it was forgotten on ")
    assert reason.endswith(", after this was stated; nothing was written")
    assert remedy == f"to restore it: recollect --db {moved.store} restore lisbon --scope acme/ana"
    sent = moved("remember", LISBON, *ANA, "--at", "2026-03-01", "--json", code=1)
    assert ('"verdict": "refused"' in sent.stdout, sent.stderr.startswith("Error: refused: ")) == (True, True)


@pytest.mark.parametrize("command", [("remember",), ("revise", "lisbon")])
def test_a_write_of_which_nothing_is_left_fails(command: tuple[str, ...], moved: Shell) -> None:
    refused = moved(*command, "<private>Ana lives in Oslo</private>", *ANA, code=1)
    assert (refused.stdout, refused.stderr.startswith("Error: refused: nothing is left of it")) == ("", True)


def test_what_is_typed_at_a_terminal_is_the_users_word_and_what_a_program_says_a_models(moved: Shell) -> None:
    never = {"a question that nobody asks": lambda: ""}  # whoever may be asked has a terminal to answer from
    moved.talk(never, "remember", "Ana eats cake", *ANA, "--id", "cake")
    moved.talk(never, "remember", "Ana eats pies", *ANA, "--id", "pies", "--provenance", "document")
    moved("remember", "Ana eats figs", *ANA, "--id", "figs")
    found = {one["id"]: one["provenance"] for one in moved.json("list", *ANA)["memories"]}
    assert [found[id] for id in ("cake", "pies", "figs")] == ["direct_user", "document", "model_inference"]
    assert moved.json("revise", "cake", "Ana eats two cakes", *ANA)["memory"]["provenance"] == "model_inference"
    moved.talk(never, "revise", "figs", "Ana eats dates", *ANA)
    assert moved.json("show", "figs", *ANA)["provenance"] == "model_inference"  # which nobody raises by saying so


def test_what_the_user_says_at_a_terminal_replaces_what_the_user_said_before(moved: Shell) -> None:
    moved("remember", "Ana works at Globex", *ANA, "--id", "globex", "--provenance", "direct_user")
    moved.talk({"nobody asks": lambda: ""}, "remember", "Ana works at Initech", *ANA, "--id", "initech")
    assert moved.json("show", "globex", *ANA)["superseded_by"] == "initech"
