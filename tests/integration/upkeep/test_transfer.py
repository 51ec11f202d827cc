"""An export has all that a store knows; an import gives it back, or says why not and leaves all as it was."""

import hashlib
import json
from collections.abc import Callable, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

import recollect
from recollect import Engine
from recollect.model.archive import Imported
from recollect.model.encoder import Encoder
from tests.integration.upkeep.scene import NOW, SCOPE, an_engine


def a_life(engine: Engine) -> dict[str, str]:
    """Some of everything that can happen to memories; gives their ids by a name."""
    seat = engine.remember(
        "Ana sits at the window", scope=SCOPE, kind="preference", key="seat", provenance="direct_user"
    )
    train = engine.remember("the train leaves at nine", scope=SCOPE, source="timetable", topic_key="train")
    engine.remember("the train leaves at ten", scope=SCOPE, source="timetable", topic_key="train")
    team = engine.remember("we meet on Mondays", scope="acme", shared=True, tags=["team"], metadata={"room": {"no": 7}})
    context = engine.recall("when does the train leave?", scope=SCOPE)
    engine.feedback(context.id or "", scope=SCOPE, helped=[train.id])
    engine.remember("Ana sits at the window", scope=SCOPE)
    engine.pin(seat.id, scope=SCOPE)
    engine.forget(train.id, scope=SCOPE)
    return {"seat": seat.id, "train": train.id, "team": team.id, "context": context.id or ""}


@pytest.fixture
def lines() -> list[str]:
    with an_engine(":memory:") as engine:
        a_life(engine)
        return list(engine.export())


def sealed(lines: Sequence[str]) -> list[str]:
    """These lines with a last one that fits them: what somebody would write who changed an export on purpose."""
    body = "".join(lines)
    return [*lines, json.dumps({"lines": len(lines), "sha256": hashlib.sha256(body.encode()).hexdigest()}) + "\n"]


def changed(line: str, change: Callable[[Any], object]) -> str:
    value = json.loads(line)
    change(value)
    return json.dumps(value) + "\n"


def test_an_import_into_a_new_store_gives_the_same_store(tmp_path: Path) -> None:
    with an_engine(tmp_path / "a.db") as engine:
        ids = a_life(engine)
        lines = list(engine.export())
        moments = [NOW + timedelta(seconds=second) for second in range(1, 40)]
        before = [engine.search("train", scope=SCOPE, as_of=at, known_at=at).scored for at in moments[:15]]
        usage, history = engine.usage(ids["train"], scope=SCOPE), engine.history(ids["train"], scope=SCOPE)
    with an_engine(tmp_path / "b.db") as engine:
        assert engine.import_(lines) == Imported(memories=3, contexts=1, skipped=0)
        assert list(engine.export()) == lines
        assert engine.usage(ids["train"], scope=SCOPE) == usage
        assert engine.history(ids["train"], scope=SCOPE) == history
        engine.feedback(ids["context"], scope=SCOPE, misled=[ids["train"]])
        assert engine.usage(ids["train"], scope=SCOPE).misled == 1
    with an_engine(tmp_path / "b.db", clock=lambda: NOW + timedelta(days=1)) as engine:
        after = [engine.search("train", scope=SCOPE, as_of=at, known_at=at).scored for at in moments[:15]]
        assert after == before
        again = engine.remember(
            "Ana sits at the window", scope=SCOPE, kind="preference", key="seat", provenance="direct_user"
        )
        assert again.id == ids["seat"]
        assert (again.memory.commit or 0) >= 1


def test_what_is_written_after_an_import_is_a_later_commit(tmp_path: Path, lines: list[str]) -> None:
    with an_engine(tmp_path / "b.db") as engine:
        engine.import_(lines)
        last = max(
            one.commit or 0 for one in engine.memories(scope="acme", below=True, statuses=list(recollect.Status))
        )
        assert (engine.remember("something new", scope=SCOPE).memory.commit or 0) > last


def test_lines_that_can_be_read_once_are_enough(tmp_path: Path, lines: list[str]) -> None:
    with an_engine(":memory:") as engine:
        engine.import_(line for line in lines)
        assert list(engine.export()) == lines
    file = tmp_path / "export.jsonl"
    file.write_text("".join(lines))
    with an_engine(":memory:") as engine, file.open() as opened:
        engine.import_(opened)
        assert list(engine.export()) == lines


def test_lines_without_their_ends_are_the_same_lines(lines: list[str]) -> None:
    with an_engine(":memory:") as engine:
        engine.import_("".join(lines).splitlines())
        assert list(engine.export()) == lines


def test_only_the_scope_and_those_below_it_are_exported_if_asked() -> None:
    with an_engine(":memory:") as engine:
        ids = a_life(engine)
        lines = [json.loads(line) for line in engine.export(scope=SCOPE)]
        assert [line["memory"] for line in lines if "memory" in line] == [ids["seat"], ids["train"]]
        assert lines[0]["scope"] == SCOPE
        assert len(list(engine.export(scope="acme"))) == len(list(engine.export()))
        assert json.loads(next(engine.export(scope="nobody")))["memories"] == 0


def test_an_import_into_a_store_that_has_memories_adds_what_is_new_and_skips_what_is_there(lines: list[str]) -> None:
    with an_engine(":memory:", clock=lambda: NOW + timedelta(days=9)) as engine:
        mine = engine.remember("mine alone", scope=SCOPE)
        assert engine.import_(lines) == Imported(memories=3, contexts=1, skipped=0)
        assert engine.import_(lines) == Imported(memories=0, contexts=0, skipped=4)
        seat, *_ = [one for one in engine.memories(scope=SCOPE) if one.id != mine.id]
        assert (seat.provenance, seat.created_at) == (recollect.Provenance.DIRECT_USER, NOW + timedelta(seconds=1))
        assert (seat.recorded_at, seat.commit) == (NOW + timedelta(days=9), (mine.memory.commit or 0) + 1)
        assert len(engine.history(seat.id, scope=SCOPE)) == 2
        assert engine.usage(seat.id, scope=SCOPE).echoed == 1
        known = engine.search("window", scope=SCOPE, as_of=NOW + timedelta(days=1), known_at=NOW + timedelta(days=1))
        assert len(known) == 0


def test_an_id_that_says_something_else_here_is_a_conflict_that_names_it_and_nothing_is_taken_in(
    lines: list[str],
) -> None:
    with an_engine(":memory:") as engine:
        engine.import_(lines)
        first = engine.memories(scope=SCOPE)[0]
        engine.revise(first.id, "Ana sits at the aisle", scope=SCOPE)
        engine.remember("mine alone", scope=SCOPE)
        before = list(engine.export())
        with pytest.raises(recollect.Conflict, match=first.id):
            engine.import_(lines)
        assert list(engine.export()) == before


def test_a_memory_that_says_what_another_one_says_here_is_a_conflict(lines: list[str]) -> None:
    with an_engine(":memory:") as engine:
        mine = engine.remember("Ana sits at the window", scope=SCOPE)
        with pytest.raises(recollect.Conflict, match=mine.id):
            engine.import_(lines)
        assert [one.id for one in engine.memories(scope="acme", below=True)] == [mine.id]


def test_an_id_that_another_scope_has_is_a_conflict(lines: list[str]) -> None:
    with an_engine(":memory:") as engine:
        id = json.loads(lines[1])["memory"]
        engine.remember_all([{"text": "something", "id": id}], scope="acme/ben")
        with pytest.raises(recollect.Conflict, match=id):
            engine.import_(lines)


def test_vectors_of_another_model_are_made_anew_and_it_says_so(lines: list[str]) -> None:
    with an_engine(":memory:", embedder="hashing-64", clock=lambda: NOW + timedelta(days=1)) as engine:
        imported = engine.import_(iter(lines))
        assert imported == Imported(memories=3, contexts=1, skipped=0, re_embedded=Encoder("hashing-256", 256))
        assert engine.stats().unembedded == 0
        assert engine.stats().encoder == Encoder("hashing-64", 64)
        assert engine.search("we meet on Mondays", scope="acme")[0].candidate.similarity == pytest.approx(1.0)
        theirs = [json.loads(line) for line in lines[1:-1]]
        mine = [json.loads(line) for line in list(engine.export())[1:-1]]
        for one in [*theirs, *mine]:
            for content in one.get("contents", ()):
                del content["vector"]
        assert mine == theirs


def test_progress_is_told_up_to_the_end(lines: list[str]) -> None:
    told: list[tuple[int, int]] = []
    with an_engine(":memory:") as engine:
        engine.import_(lines, progress=lambda done, total: told.append((done, total)))
    assert told == [(0, 4), (1, 4), (2, 4), (3, 4), (4, 4)]


REFUSED: dict[str, tuple[Callable[[list[str]], Sequence[str]], str]] = {
    "nothing": (lambda _: [], "line 1"),
    "something else": (lambda _: ['{"id": "a"}\n'], "no export of recollect"),
    "no JSON": (lambda _: ["PK\x03\x04"], "line 1"),
    "the last line cut": (lambda lines: lines[:-1], "was cut"),
    "a line cut": (lambda lines: [*lines[:2], lines[2][:-30], *lines[3:]], "line 3"),
    "a line missing": (lambda lines: [*lines[:2], *lines[3:]], "changed or cut"),
    "lines in another order": (lambda lines: [lines[0], lines[2], lines[1], *lines[3:]], "changed or cut"),
    "a letter changed": (
        lambda lines: [line.replace("window", "widnow") for line in lines],
        "changed or cut",
    ),
    "two in one": (lambda lines: [*lines, *lines], "behind its last line"),
    "a newer number": (
        lambda lines: sealed([changed(lines[0], lambda v: v.update(number=2)), *lines[1:-1]]),
        "upgrade",
    ),
    "a memory twice": (lambda lines: sealed([*lines[:-1], lines[1]]), "line 6, field 'id'.*twice"),
    "another count": (
        lambda lines: sealed([changed(lines[0], lambda v: v.update(memories=9)), *lines[1:-1]]),
        "says 9",
    ),
    "an unknown kind": (
        lambda lines: sealed([lines[0], changed(lines[1], lambda v: v["versions"][0].update(kind="x")), *lines[2:-1]]),
        "line 2, field 'kind'",
    ),
    "an unknown field": (
        lambda lines: sealed([lines[0], changed(lines[1], lambda v: v["versions"][0].update(mood=1)), *lines[2:-1]]),
        "line 2, field 'mood'",
    ),
    "a vector of other dimensions": (
        lambda lines: sealed(
            [lines[0], changed(lines[1], lambda v: v["contents"][0].update(vector="AAAA")), *lines[2:-1]]
        ),
        "line 2, field 'vector'",
    ),
    "a vector of no length": (
        lambda lines: sealed(
            [lines[0], changed(lines[1], lambda v: v["contents"][0].update(vector="A" * 1366 + "==")), *lines[2:-1]]
        ),
        "line 2, field 'vector'",
    ),
    "no versions": (
        lambda lines: sealed([lines[0], changed(lines[1], lambda v: v.update(versions=[])), *lines[2:-1]]),
        "line 2, field 'versions'",
    ),
    "versions in another order": (
        lambda lines: sealed([lines[0], changed(lines[1], lambda v: v["versions"].reverse()), *lines[2:-1]]),
        "line 2, field 'versions'",
    ),
    "commits in another order": (
        lambda lines: sealed(
            [
                lines[0],
                changed(lines[1], lambda v: v["versions"][0].update(commit=99) or v["versions"].pop()),
                *lines[2:-1],
            ]
        ),
        "not in the order",
    ),
    "a commit of two moments": (
        lambda lines: sealed(
            [*lines[:2], changed(lines[2], lambda v: v["versions"][0].update(commit=1)), *lines[3:-1]]
        ),
        "line 3, field 'commit'",
    ),
    "a value of the wrong type": (
        lambda lines: sealed([lines[0], changed(lines[1], lambda v: v.update(uses=7)), *lines[2:-1]]),
        "line 2",
    ),
}


@pytest.mark.parametrize("amiss", REFUSED)
def test_what_is_not_whole_and_unchanged_is_refused_before_anything_is_written(lines: list[str], amiss: str) -> None:
    change, match = REFUSED[amiss]
    with an_engine(":memory:") as engine:
        with pytest.raises(recollect.InvalidInput, match=match):
            engine.import_(change(lines))
        assert engine.stats().memories == 0
        assert engine.import_(lines).memories == 3  # which is a first time: nothing was left behind
        assert list(engine.export()) == lines


def test_one_text_is_no_list_of_lines(lines: list[str]) -> None:
    with an_engine(":memory:") as engine, pytest.raises(recollect.InvalidInput, match="not one text"):
        engine.import_("".join(lines))


def test_an_export_is_of_one_moment_whatever_is_written_meanwhile(tmp_path: Path) -> None:
    with an_engine(tmp_path / "a.db") as engine:
        a_life(engine)
        expected = list(engine.export())
        export = engine.export()
        first = next(export)
        engine.remember("something new", scope=SCOPE)
        assert [first, *export] == expected


def test_an_export_that_is_not_read_to_its_end_lets_go_of_the_store(tmp_path: Path) -> None:
    with an_engine(tmp_path / "a.db", settings={"busy_timeout": 0.5}) as engine:
        ids = a_life(engine)
        export = engine.export()
        next(export)
        export.close()  # type: ignore[attr-defined]
        assert engine.erase(scope=SCOPE, id=ids["seat"]).proven
