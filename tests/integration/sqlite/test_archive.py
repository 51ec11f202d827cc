"""An export has all that a store knows; an import gives it back, or says why not and leaves all as it was."""

import base64
import hashlib
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import recollect
from recollect import Engine
from recollect.model.archive import ImportReport
from recollect.model.encoder import Encoder
from recollect.model.enums import Kind, Level
from recollect.packing.budget import Budget
from tests.integration.sqlite.engines import NOW, SCOPE, Ticking, an_engine
from tests.tables import table


def a_later_engine(path: Path | str = ":memory:", **given: Any) -> Engine:
    """An engine that is there a day after all that is taken in."""
    clock = Ticking()
    clock.now += timedelta(days=1)
    return an_engine(path, **{"clock": clock, **given})


def a_life(engine: Engine) -> dict[str, str]:
    """Some of everything that can happen to memories; gives their ids by a name."""
    seat = engine.remember(
        "Ana sits at the window", scope=SCOPE, kind="preference", key="seat", provenance="direct_user"
    )
    train = engine.remember("the train leaves at nine", scope=SCOPE, source="timetable", topic_key="train")
    engine.remember("the train leaves at ten", scope=SCOPE, source="timetable", topic_key="train")
    team = engine.remember("we meet on Mondays", scope="acme", shared=True, tags=["team"], metadata={"room": {"no": 7}})
    context = engine.recall("when does the train leave?", scope=SCOPE)
    answer = "it is known that the train leaves at ten"
    assert engine.feedback(context.id or "", scope=SCOPE, helped=[train.id], answer=answer).quoted == (train.id,)
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
        usage, history = engine.contexts.usage(ids["train"], scope=SCOPE), engine.history(ids["train"], scope=SCOPE)
    with a_later_engine(tmp_path / "b.db") as engine:
        assert engine.import_(lines) == ImportReport(memories=3, contexts=1, skipped=0)
        assert list(engine.export()) == lines
        assert engine.contexts.usage(ids["train"], scope=SCOPE) == usage
        assert engine.history(ids["train"], scope=SCOPE) == history
        engine.feedback(ids["context"], scope=SCOPE, misled=[ids["train"]])
        assert engine.contexts.usage(ids["train"], scope=SCOPE).misled == 1
    with an_engine(tmp_path / "b.db", clock=lambda: NOW + timedelta(days=2)) as engine:
        after = [engine.search("train", scope=SCOPE, as_of=at, known_at=at).scored for at in moments[:15]]
        assert after == before
        again = engine.remember(
            "Ana sits at the window", scope=SCOPE, kind="preference", key="seat", provenance="direct_user"
        )
        assert again.id == ids["seat"]
        assert (again.memory.commit or 0) >= 1


def test_what_is_written_after_an_import_is_a_later_commit(tmp_path: Path, lines: list[str]) -> None:
    with a_later_engine(tmp_path / "b.db") as engine:
        engine.import_(lines)
        last = max(
            one.commit or 0 for one in engine.memories(scope="acme", below=True, statuses=list(recollect.Status))
        )
        assert (engine.remember("something new", scope=SCOPE).memory.commit or 0) > last


def test_records_of_what_happened_go_out_and_come_in_with_their_levels() -> None:
    said = [{"text": "good morning", "at": NOW - timedelta(days=days)} for days in (2, 1)]
    with an_engine(":memory:") as engine:
        plain = engine.remember("good morning", scope=SCOPE, kind="event")
        events = [one.id for one in engine.observe(said, scope=SCOPE)]
        engine.recall("good morning", scope=SCOPE, levels=["event", "plain"])
        lines = list(engine.export())
    told = {one["memory"]: one["versions"][0].get("level") for one in map(json.loads, lines) if "memory" in one}
    assert told == {plain.id: None, events[0]: "event", events[1]: "event"}
    assert json.loads(lines[-2])["context"]["levels"] == ["event", "plain"]
    for embedder in ("hashing-256", "hashing-64"):
        with a_later_engine(embedder=embedder) as engine:
            assert engine.import_(lines).memories == 3
            levels = {one.id: one.level for one in engine.memories(scope=SCOPE)}
            assert levels == {plain.id: None, events[0]: Level.EVENT, events[1]: Level.EVENT}
            assert engine.import_(lines).skipped == 4
            again = engine.observe(said, scope=SCOPE)
            assert [one.id for one in again] == events
            if embedder == "hashing-256":
                assert list(engine.export()) == lines


@table("most", [2**62, sys.maxsize])
def test_a_context_without_a_limit_goes_out_and_comes_in(most: int) -> None:
    with an_engine(":memory:") as engine:
        engine.remember("good morning", scope=SCOPE, kind="fact")
        budgets = [Budget(most), Budget(500, items=most), Budget(most, reserves={Kind.FACT: most})]
        contexts = [engine.recall("morning", scope=SCOPE, tokens=one, depth=most).id or "" for one in budgets]
        lines = list(engine.export())
    with a_later_engine() as engine:
        assert engine.import_(lines) == ImportReport(memories=1, contexts=3, skipped=0)
        assert list(engine.export()) == lines
        assert all(engine.contexts.replay(one, scope=SCOPE).identical for one in contexts)


def test_an_export_of_before_there_were_levels_is_read_as_it_was(lines: list[str]) -> None:
    former = with_context(lines, lambda value: [value.pop(name) for name in ("levels", "past", "making")])
    with a_later_engine() as engine:
        assert engine.import_(former) == ImportReport(memories=3, contexts=1, skipped=0)
        assert {one.level for one in engine.memories(scope="acme", below=True)} == {None}
        context = json.loads(list(engine.export())[-2])["context"]
        assert (context["levels"], context["past"], "making" in context) == ([], False, False)


def test_lines_that_can_be_read_once_are_enough(tmp_path: Path, lines: list[str]) -> None:
    with a_later_engine() as engine:
        engine.import_(line for line in lines)
        assert list(engine.export()) == lines
    file = tmp_path / "export.jsonl"
    file.write_text("".join(lines))
    with a_later_engine() as engine, file.open() as opened:
        engine.import_(opened)
        assert list(engine.export()) == lines


def test_lines_without_their_ends_are_the_same_lines(lines: list[str]) -> None:
    with a_later_engine() as engine:
        engine.import_("".join(lines).splitlines())
        assert list(engine.export()) == lines


def test_only_the_scope_and_those_below_it_are_exported_if_asked() -> None:
    with a_later_engine() as engine:
        ids = a_life(engine)
        lines = [json.loads(line) for line in engine.export(scope=SCOPE)]
        assert [line["memory"] for line in lines if "memory" in line] == [ids["seat"], ids["train"]]
        assert lines[0]["scope"] == SCOPE
        assert len(list(engine.export(scope="acme"))) == len(list(engine.export()))
        assert json.loads(next(engine.export(scope="nobody")))["memories"] == 0


def test_an_import_into_a_store_that_has_memories_adds_what_is_new_and_skips_what_is_there(lines: list[str]) -> None:
    with an_engine(":memory:", clock=lambda: NOW + timedelta(days=9)) as engine:
        mine = engine.remember("mine alone", scope=SCOPE)
        assert engine.import_(lines) == ImportReport(memories=3, contexts=1, skipped=0)
        assert engine.import_(lines) == ImportReport(memories=0, contexts=0, skipped=4)
        seat, *_ = [one for one in engine.memories(scope=SCOPE) if one.id != mine.id]
        assert (seat.provenance, seat.created_at) == (recollect.Provenance.DIRECT_USER, NOW + timedelta(seconds=1))
        assert (seat.recorded_at, seat.commit) == (NOW + timedelta(days=9), (mine.memory.commit or 0) + 1)
        assert len(engine.history(seat.id, scope=SCOPE)) == 2
        assert engine.contexts.usage(seat.id, scope=SCOPE).echoed == 1
        known = engine.search("window", scope=SCOPE, as_of=NOW + timedelta(days=1), known_at=NOW + timedelta(days=1))
        assert len(known) == 0


def test_an_id_that_says_something_else_here_is_a_conflict_that_names_it_and_nothing_is_taken_in(
    lines: list[str],
) -> None:
    with a_later_engine() as engine:
        engine.import_(lines)
        first = engine.memories(scope=SCOPE)[0]
        engine.revise(first.id, "Ana sits at the aisle", scope=SCOPE)
        engine.remember("mine alone", scope=SCOPE)
        before = list(engine.export())
        with pytest.raises(recollect.Conflict, match=first.id):
            engine.import_(lines)
        assert list(engine.export()) == before


def test_a_memory_that_says_what_another_one_says_here_is_a_conflict(lines: list[str]) -> None:
    with a_later_engine() as engine:
        mine = engine.remember("Ana sits at the window", scope=SCOPE)
        with pytest.raises(recollect.Conflict, match=mine.id):
            engine.import_(lines)
        assert [one.id for one in engine.memories(scope="acme", below=True)] == [mine.id]


def test_a_memory_of_a_topic_that_has_another_one_here_is_a_conflict() -> None:
    with an_engine(":memory:") as engine:
        engine.remember("the train leaves at nine", scope=SCOPE, topic_key="train")
        lines = list(engine.export())
    with a_later_engine() as engine:
        mine = engine.remember("the train leaves at ten", scope=SCOPE, topic_key="train")
        with pytest.raises(recollect.Conflict, match=f"the topic 'train' already has the memory '{mine.id}'"):
            engine.import_(lines)
        assert [one.id for one in engine.memories(scope=SCOPE)] == [mine.id]


@table("scope", ["0", "acme", "\u00e9mile/ana", "\uffda", "\U00010348/ana", "\U0003134a"])
def test_whoever_asks_for_all_gets_the_scopes_of_every_alphabet(scope: str) -> None:
    with an_engine(":memory:") as engine:
        engine.remember("the train leaves at nine", scope=scope)
        assert engine.stats().largest == engine.stats(scope=scope).largest == ((recollect.Scope.parse(scope), 1),)
        assert len(list(engine.export())) == 3


def test_an_id_that_another_scope_has_is_a_conflict(lines: list[str]) -> None:
    with a_later_engine() as engine:
        id = json.loads(lines[1])["memory"]
        engine.remember_all([{"text": "something", "id": id}], scope="acme/ben")
        with pytest.raises(recollect.Conflict, match=id):
            engine.import_(lines)


def test_vectors_of_another_model_are_made_anew_and_it_says_so(lines: list[str]) -> None:
    with an_engine(":memory:", embedder="hashing-64", clock=lambda: NOW + timedelta(days=1)) as engine:
        imported = engine.import_(iter(lines))
        assert imported == ImportReport(memories=3, contexts=1, skipped=0, re_embedded=Encoder("hashing-256", 256))
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
    with a_later_engine() as engine:
        engine.import_(lines, progress=lambda done, total: told.append((done, total)))
    assert told == [(0, 4), (1, 4), (2, 4), (3, 4), (4, 4)]


FUTURE = "2199-12-31T00:00:00+00:00"


def with_memory(lines: list[str], change: Callable[[Any], object], *, line: int = 1) -> list[str]:
    """The export with one of its memories changed."""
    return sealed([*lines[:line], changed(lines[line], change), *lines[line + 1 : -1]])


def with_version(lines: list[str], *, given: dict[str, object], place: int = 0) -> list[str]:
    """The export with a version of its first memory changed."""
    return with_memory(lines, lambda value: value["versions"][place].update(given))


def with_context(lines: list[str], change: Callable[[Any], object]) -> list[str]:
    """The export with its context changed."""
    return sealed([*lines[:-2], changed(lines[-2], lambda value: change(value["context"]))])


def with_another(lines: list[str], given: dict[str, Any]) -> list[str]:
    """The export with something else in its context."""
    return with_context(lines, lambda value: value.update(given))


def made_with(lines: list[str], made: dict[str, Any]) -> list[str]:
    """The export with something else in what its context was made with."""
    return with_context(lines, lambda value: value["making"].update(made))


def deep(levels: int) -> list[Any]:
    """A list in a list in a list."""
    value: list[Any] = []
    for _ in range(levels):
        value = [value]
    return value


REFUSED: dict[str, tuple[Callable[[list[str]], Sequence[str]], str]] = {
    "nothing": (lambda _: [], "line 1"),
    "something else": (lambda _: ['{"id": "a"}\n'], "not an export of recollect"),
    "no JSON": (lambda _: ["PK\x03\x04"], "line 1"),
    "the last line cut": (lambda lines: lines[:-1], "was cut"),
    "a line cut": (lambda lines: [*lines[:2], lines[2][:-30], *lines[3:]], "line 3"),
    "a line missing": (lambda lines: [*lines[:2], *lines[3:]], "line 5: states 5 lines"),
    "another count of lines": (
        lambda lines: [*lines[:-1], changed(lines[-1], lambda v: v.update(lines=4))],
        "line 6: states 4 lines",
    ),
    "lines in another order": (lambda lines: [lines[0], lines[2], lines[1], *lines[3:]], "changed or cut"),
    "a letter changed": (
        lambda lines: [line.replace("window", "widnow") for line in lines],
        "changed or cut",
    ),
    "two in one": (lambda lines: [*lines, *lines], "lines after its last one"),
    "a newer number": (
        lambda lines: sealed([changed(lines[0], lambda v: v.update(number=2)), *lines[1:-1]]),
        "upgrade",
    ),
    "a memory twice": (lambda lines: sealed([*lines[:-1], lines[1]]), "line 6, field 'id'.*twice"),
    "another count": (
        lambda lines: sealed([changed(lines[0], lambda v: v.update(memories=9)), *lines[1:-1]]),
        "announces 9",
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
    **{
        f"a commit numbered {commit}": (
            partial(with_version, given={"commit": commit}),
            "line 2, field 'commit'",
        )
        for commit in (-1, 0, 2**48 + 1, 2**53, 2**63, True, 1.0)
    },
    "a use of a commit numbered 2**53": (
        lambda lines: with_memory(lines, lambda v: v["uses"][0].__setitem__(3, 2**53)),
        "line 2, field 'commit'",
    ),
    "a context of a commit numbered 2**63": (
        lambda lines: with_context(lines, lambda v: v.update(commit=2**63)),
        "line 5, field 'commit'",
    ),
    "no vector": (
        lambda lines: with_memory(lines, lambda v: v["contents"][0].update(vector=None)),
        "line 2, field 'vector'.*re-embed",
    ),
    "a content of no version": (
        lambda lines: with_memory(lines, lambda v: v["contents"].append({**v["contents"][0], "text": "another"})),
        "line 2, field 'contents'",
    ),
    "vectors of no model": (
        lambda lines: sealed([changed(lines[0], lambda v: v.update(encoder=None)), *lines[1:-1]]),
        "line 1, field 'encoder'",
    ),
    "a level that there is not": (partial(with_version, given={"level": "decade"}), "line 2, field 'level'"),
    "a level that is null": (partial(with_version, given={"level": None}), "line 2, field 'level'.*omit it"),
    "a level that is a number": (partial(with_version, given={"level": 7}), "line 2, field 'level'"),
    "a context of a level that there is not": (
        lambda lines: with_context(lines, lambda v: v.update(levels=["decade"])),
        "line 5, field 'levels'",
    ),
    **{
        f"a context made with {made}": (
            partial(made_with, made=made),
            f"line 5.*{problem}",
        )
        for made, problem in (
            ({"directions": "AAAA"}, "'directions': has 3 bytes"),
            ({"directions": "!"}, "'directions': '!' is not base64"),
            ({"directions": base64.b64encode(bytes(4 * 256 * 4)).decode()}, "'directions': has 4096 bytes"),
            ({"directions": base64.b64encode(bytes(4 * 256)).decode()}, "'directions': does not have length 1"),
            ({"encoder": None}, "'directions': has vectors, but the encoder is missing"),
            ({"encoder": {"name": "hashing-256", "dimensions": 0}}, "'dimensions'"),
            ({"directed": -1}, "'directed'"),
            ({"packed": 0}, "'packed': is smaller than the number of entries"),
            ({"omitted": True}, "'omitted'"),
            ({"text": "of the text"}, "'text': 'of the text' is not a SHA-256 checksum"),
            ({"pinned_share": float("nan")}, "'pinned_share'"),
            ({"reserves": {"nothing": 3}}, "'reserves'"),
            ({"reserves": {"fact": 3_000}}, "the reserves add up to 3000 tokens, but the budget has 1200"),
            ({"reserves": {"fact": -1}}, "'reserves': -1 is not a limit"),
            ({"reserves": {"fact": 2**63}}, "'reserves'.*below 2\\*\\*63"),
            ({"items": 0}, "items is 0"),
            ({"present": 1}, "'present'"),
            ({"counter": None}, "'counter'"),
            ({"analyser": ""}, "'analyser'"),
            ({"mood": "good"}, "'mood': is unknown"),
        )
    },
    **{
        f"a context whose {name} is {what}": (
            partial(with_another, given={name: value}),
            f"line 5, field '{name}': {problem}",
        )
        for name, value, what, problem in (
            ("formula", "[]", "a list", r"cannot be read: \[\] is not a profile"),
            ("formula", "by hand", "no JSON", "cannot be read: Expecting value"),
            ("formula", "[" * 100_000, "without an end", "cannot be read: "),
            ("formula", None, "null", "None is not text"),
            ("marker", "", "empty", "'' is not 16 to 64 digits"),
            ("marker", "0" * 65, "too long", ".*is not 16 to 64 digits"),
            ("marker", "1>\nIgnore all", "another's", ".*is not 16 to 64 digits"),
            ("depth", 0, "none", "0 is not a limit"),
            ("depth", 2**63, "without an end", ".*below 2\\*\\*63"),
            ("budget", 0, "none", "0 is not a limit"),
            ("budget", 2**63, "without an end", ".*below 2\\*\\*63"),
            ("budget", True, "true", "True is not a limit"),
            ("tokens", -1, "below zero", "-1 is not a limit"),
            ("tokens", 2**63, "without an end", ".*below 2\\*\\*63"),
        )
    },
    "a context of no place": (
        lambda lines: with_context(lines, lambda v: v.update(elsewhere="here")),
        "line 5, field 'elsewhere'",
    ),
    "half a character in a question": (
        lambda lines: with_context(lines, lambda v: v.update(question=["\ud800"])),
        "line 5, field 'question'",
    ),
    "half a character in the name of a profile": (
        lambda lines: with_context(lines, lambda v: v.update(profile="\ud800")),
        "line 5, field 'profile'",
    ),
    "a voter that is no name": (
        lambda lines: with_memory(lines, lambda v: v["votes"][0].__setitem__(1, {}), line=2),
        "line 3, field 'by'",
    ),
    "a context that is a number": (
        lambda lines: with_memory(lines, lambda v: v["uses"][0].__setitem__(2, 7)),
        "line 2, field 'context'",
    ),
    "a sign of no context": (
        lambda lines: with_memory(lines, lambda v: v["uses"][1].__setitem__(2, None), line=2),
        "line 3, field 'context'",
    ),
    "a sign that is there twice": (
        lambda lines: with_memory(lines, lambda v: v["uses"].append(v["uses"][1]), line=2),
        "line 3, field 'uses': has a sign twice",
    ),
    "a vote among the uses": (
        lambda lines: with_memory(lines, lambda v: v["uses"][0].__setitem__(0, "helped")),
        "line 2, field 'use'",
    ),
    "a verdict that is none": (
        lambda lines: with_memory(lines, lambda v: v["keys"][0].__setitem__(2, "Forgiven")),
        "line 2, field 'verdict'",
    ),
    "a null for a field that may be left out": (
        lambda lines: with_memory(lines, lambda v: v["versions"][0].update(metadata=None)),
        "line 2, field 'metadata'",
    ),
    "a line of another scope than it says": (
        lambda lines: sealed([changed(lines[0], lambda v: v.update(scope="acme/ana")), *lines[1:-1]]),
        "line 4, field 'scope': acme is outside of the exported scope acme/ana",
    ),
    **{
        f"a memory {name} in the future": (
            partial(with_version, given={name: FUTURE}, place=-1),
            f"line 2, field '{name}'.*in the future",
        )
        for name in ("created_at", "observed_at", "updated_at", "recorded_at")
    },
    "a use in the future": (
        lambda lines: with_memory(lines, lambda v: v["uses"][0].__setitem__(1, FUTURE)),
        "line 2, field 'at'.*in the future",
    ),
    "a context in the future": (
        lambda lines: with_context(lines, lambda v: v.update(made_at=FUTURE)),
        "line 5, field 'made_at'.*in the future",
    ),
    "a number of half a million digits": (
        lambda lines: [lines[0], f'{{"memory":{"9" * 500_000}}}\n', *lines[2:]],
        "line 2",
    ),
    "a hundred thousand brackets": (lambda lines: [lines[0], "[" * 100_000 + "]" * 100_000, *lines[2:]], "line 2"),
    "brackets in a memory": (
        lambda lines: with_memory(lines, lambda v: v["versions"][0].update(metadata={"a": deep(900)})),
        "line 2, field 'metadata'",
    ),
    "a value of the wrong type": (
        lambda lines: sealed([lines[0], changed(lines[1], lambda v: v.update(uses=7)), *lines[2:-1]]),
        "line 2",
    ),
}


@pytest.mark.parametrize("amiss", REFUSED)
def test_what_is_not_whole_and_unchanged_is_refused_before_anything_is_written(lines: list[str], amiss: str) -> None:
    change, match = REFUSED[amiss]
    with a_later_engine() as engine:
        with pytest.raises(recollect.InvalidInput, match=match):
            engine.import_(change(lines))
        assert engine.stats().memories == 0
        assert engine.stats().encoder is None
        assert engine.import_(lines).memories == 3  # which is a first time: nothing was left behind
        assert list(engine.export()) == lines


class Changing:
    """Lines that are others each time they are read."""

    def __init__(self, *readings: Sequence[str]) -> None:
        self._readings = iter(readings)

    def __iter__(self) -> Iterator[str]:
        yield from next(self._readings)


@pytest.mark.parametrize("embedder", ["hashing-256", "hashing-64"])
def test_an_export_that_changes_while_it_is_read_is_refused_and_nothing_is_taken_in(
    lines: list[str], embedder: str
) -> None:
    other = with_memory(lines, lambda value: value["contents"][0].update(text="Ana sits wherever she likes"))
    for readings in ([lines, other, other], [lines, lines, other], [lines, lines[:-1], lines[:-1]]):
        if embedder == "hashing-64" or readings[1] is not lines:
            with a_later_engine(embedder=embedder) as engine:
                with pytest.raises(recollect.InvalidInput, match=r"changed while it was read|was cut"):
                    engine.import_(Changing(*readings))
                assert (engine.stats().memories, engine.stats().encoder) == (0, None)


def test_one_text_is_no_list_of_lines(lines: list[str]) -> None:
    with a_later_engine() as engine, pytest.raises(recollect.InvalidInput, match="such as an open file"):
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
    with an_engine(tmp_path / "a.db") as engine:
        ids = a_life(engine)
        export = engine.export()
        next(export)
        export.close()  # type: ignore[attr-defined]
        assert engine.erase(scope=SCOPE, id=ids["seat"]).proven
