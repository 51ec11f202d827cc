"""Names that memories mention: looked at, and followed by a recall."""

import json
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import recollect
from recollect.cli.main import cli
from recollect.engine.engine import Engine
from recollect.model.timeline import Entity

SCOPE = "acme/bo"


@pytest.fixture
def engine() -> Iterator[Engine]:
    with recollect.open(":memory:", embedder="hashing") as opened:
        opened.remember("Ana Souza works at Access Bank", scope=SCOPE)
        opened.remember("the branch of Access Bank closes at four", scope=SCOPE)
        opened.remember("it rained in Lisbon", scope=SCOPE, speaker="Ana Souza")
        opened.remember("nothing of note happened", scope=SCOPE, speaker="user")
        yield opened


def notes(engine: Engine, question: str, **given: Any) -> dict[str, tuple[float, str | None]]:
    """What `linked` says of every memory, and why, by its text."""
    found = engine.search(question, scope=SCOPE, limit=50, overrides={"gates": None}, **{"profile": "graph", **given})
    return {
        one.memory.text: (part.value, part.note)
        for one in found
        for part in one.explanation.parts
        if part.signal == "linked"
    }


def test_a_recall_follows_the_names_of_a_question_also_through_another_memory(engine: Engine) -> None:
    found = notes(engine, "when can I meet ana souza?")
    assert {text: note for text, (_, note) in found.items()} == {
        "Ana Souza works at Access Bank": "by ana souza",
        "it rained in Lisbon": "by ana souza",
        "the branch of Access Bank closes at four": "by ana souza → access bank",
        "nothing of note happened": None,
    }
    values = {text: value for text, (value, _) in found.items()}
    assert values["Ana Souza works at Access Bank"] > values["the branch of Access Bank closes at four"] > 0.0
    assert values["nothing of note happened"] == 0.0


def test_where_no_name_is_asked_for_or_the_profile_does_not_read_it_nothing_is_linked(engine: Engine) -> None:
    assert {value for value, _ in notes(engine, "what about the weather?").values()} == {0.0}
    assert notes(engine, "ana souza", profile="default") == {}
    found = engine.search("ana souza", scope=SCOPE)
    assert {(one.candidate.linked, one.candidate.link) for one in found} == {(None, None)}


def test_why_says_by_which_names_a_memory_is_linked(engine: Engine) -> None:
    (branch,) = [one for one in engine.memories(scope=SCOPE) if "branch" in one.text]
    reason = engine.why(branch.id, "ana souza", scope=SCOPE, profile="graph")
    (part,) = [one for one in reason.explanation.parts if one.signal == "linked"]
    assert part.note == "by ana souza → access bank"


def test_names_are_listed_by_how_many_memories_mention_them(engine: Engine) -> None:
    assert engine.topics.entities(scope=SCOPE) == [
        Entity("access bank", 2),
        Entity("ana souza", 2),
        Entity("lisbon", 1),
    ]
    assert engine.topics.entities(scope=SCOPE, limit=1) == [Entity("access bank", 2)]
    assert engine.topics.entities(scope="acme/other") == []
    with pytest.raises(recollect.errors.FieldError, match="limit"):
        engine.topics.entities(scope=SCOPE, limit=0)


def test_what_is_linked_to_a_name_is_what_is_mentioned_with_it_and_the_memories_that_do(engine: Engine) -> None:
    found = engine.neighbors("ANA  Souza's", scope=SCOPE)
    assert found.of == "ana souza"
    assert found.entities == (Entity("access bank", 1), Entity("lisbon", 1))
    assert [(one.memory.text, one.through) for one in found.memories] == [
        ("it rained in Lisbon", "ana souza"),
        ("Ana Souza works at Access Bank", "ana souza"),
    ]
    assert engine.neighbors("souza", scope=SCOPE, limit=1).memories == found.memories[:1]


def test_what_is_linked_to_a_memory_goes_by_the_names_that_it_mentions(engine: Engine) -> None:
    by_text = {one.text: one for one in engine.memories(scope=SCOPE)}
    ana = by_text["Ana Souza works at Access Bank"]
    found = engine.neighbors(ana.id, scope=SCOPE)
    assert found.of == ana
    assert found.entities == (Entity("access bank", 2), Entity("ana souza", 2))
    assert {one.memory.text: one.through for one in found.memories} == {
        "the branch of Access Bank closes at four": "access bank",
        "it rained in Lisbon": "ana souza",
    }
    assert engine.neighbors(by_text["nothing of note happened"].id, scope=SCOPE).memories == ()
    assert engine.contexts.usage(ana.id, scope=SCOPE).served == 0


def test_what_is_not_there_is_said_to_be_not_there_whosever_it_is(engine: Engine) -> None:
    engine.remember("Ana Lima is new", scope=SCOPE)
    mine = engine.memories(scope=SCOPE)[0]
    for asked, scope in (("nobody", SCOPE), (mine.id, "acme/other"), ("Ana Souza", "acme/other"), ("", SCOPE)):
        with pytest.raises(recollect.NotFound, match=f"no memory in {scope} mentions"):
            engine.neighbors(asked, scope=scope)
    with pytest.raises(recollect.NotFound, match="part of 2 names in acme/bo; use one of them: ana lima, ana souza"):
        engine.neighbors("ana", scope=SCOPE)


def test_what_was_forgotten_or_erased_or_is_anothers_has_no_part_in_it(engine: Engine) -> None:
    by_text = {one.text: one for one in engine.memories(scope=SCOPE)}
    engine.remember("Ana Souza of Access Bank in Lisbon", scope="acme/other")
    engine.remember("Access Bank has a new address", scope="acme", shared=True)
    assert engine.topics.entities(scope=SCOPE)[0] == Entity("access bank", 3)
    engine.forget(by_text["Ana Souza works at Access Bank"].id, scope=SCOPE)
    engine.erase(scope=SCOPE, id=by_text["it rained in Lisbon"].id)
    assert engine.topics.entities(scope=SCOPE) == [Entity("access bank", 2)]


def test_names_are_those_of_the_moment_that_is_asked_about(engine: Engine) -> None:
    (branch,) = [one for one in engine.memories(scope=SCOPE) if "branch" in one.text]
    engine.revise(branch.id, "the branch of Harbour Bank closes at five", scope=SCOPE)
    before = branch.created_at + timedelta(microseconds=1)
    assert notes(engine, "what of Harbour Bank?")["the branch of Harbour Bank closes at five"][1] == "by harbour bank"
    assert "by harbour bank" not in {note for _, note in notes(engine, "what of Harbour Bank?", as_of=before).values()}


def test_an_export_brings_no_names_and_an_import_finds_them(engine: Engine) -> None:
    lines = list(engine.export())
    assert all('"entities"' not in line for line in lines)
    with recollect.open(":memory:", embedder="hashing") as other:
        other.import_(lines)
        assert other.topics.entities(scope=SCOPE) == engine.topics.entities(scope=SCOPE)


def run(db: Path, *arguments: str) -> Any:
    return CliRunner().invoke(cli, ["--db", str(db), *arguments])


def test_the_command_lists_names_and_what_they_link(tmp_path: Path) -> None:
    db = tmp_path / "a.db"
    with recollect.open(db, embedder="hashing") as engine:
        first = engine.remember("Ana Souza works at Access Bank", scope=SCOPE).id
        second = engine.remember("the branch of Access Bank closes at four", scope=SCOPE).id
    assert run(db, "graph", "--scope", SCOPE).stdout == "2\taccess bank\n1\tana souza\n"
    names = run(db, "graph", "--scope", SCOPE, "--limit", "1", "--json")
    assert json.loads(names.stdout) == {"scope": SCOPE, "entities": [{"name": "access bank", "memories": 2}]}
    told = run(db, "graph", "Access Bank", "--scope", SCOPE).stdout.splitlines()
    assert [line.split("\t")[0] for line in told] == ["name", second, first]
    assert told[0].split("\t")[2:] == ["ana souza", "1 memory with it"]
    linked = json.loads(run(db, "graph", second, "--scope", SCOPE, "--json").stdout)
    assert (linked["name"], linked["id"]) == (None, second)
    assert linked["entities"] == [{"name": "access bank", "memories": 2}]
    assert [(one["through"], one["memory"]["id"]) for one in linked["memories"]] == [("access bank", first)]
    missing = run(db, "graph", "nobody", "--scope", SCOPE)
    assert (missing.exit_code, "mentions 'nobody'" in missing.stderr) == (3, True)
    assert run(db, "graph", "--scope", "acme/none").stdout == ""


def test_an_erased_name_is_in_no_file(tmp_path: Path) -> None:
    with recollect.open(tmp_path / "a.db", embedder="hashing") as engine:
        gone = engine.remember("we met Bartholomew Quintessential in town", scope=SCOPE).id
        engine.remember("we met Ana Souza in town", scope=SCOPE)
        assert b"bartholomew quintessential" in b"".join(one.read_bytes() for one in tmp_path.iterdir())
        assert engine.erase(scope=SCOPE, id=gone).proven
        assert b"bartholomew" not in b"".join(one.read_bytes() for one in tmp_path.iterdir()).lower()
        assert engine.topics.entities(scope=SCOPE) == [Entity("ana souza", 1)]
