"""How a context differs that was made again, and why."""

from dataclasses import replace
from typing import Any

from recollect.model.context import ContextRecord, DifferenceKind, PackedEntry, ReplayDifference, compare_records
from recollect.model.encoder import Encoder
from recollect.model.memory import MemoryId
from recollect.testing.builders import a_context_record, an_omitted_memory, some_replay_inputs
from tests.tables import table

MADE = a_context_record(
    "context", "a", "b", omitted=(an_omitted_memory("c"),), excluded={"limit": 4}, making=some_replay_inputs()
)
THERE = {MemoryId(id) for id in "abc"}
ANOTHER_TEXT = ReplayDifference(DifferenceKind.TEXT, None, some_replay_inputs().text, "another")


def told(
    was: ContextRecord = MADE, departed: int = 0, there: set[MemoryId] = THERE, **again: Any
) -> tuple[ReplayDifference, ...]:
    making = {name: again.pop(name) for name in [*again] if name in some_replay_inputs().__dataclass_fields__}
    now = replace(MADE, making=some_replay_inputs(**making), **again)
    return compare_records(was, now, there=there, departed=departed)


def test_nothing_differs_if_what_came_out_is_the_same_whatever_it_was_made_with() -> None:
    assert told() == ()
    assert told(encoder=Encoder("another", 3), counter="another", departed=7) == ()
    assert told(replace(MADE, elsewhere=True, formula="another"), there=set()) == ()


@table(
    ("again", "expected"),
    [
        (
            {"packed": (PackedEntry(MemoryId("a"), 0.5),)},
            [
                ReplayDifference(DifferenceKind.PACKED, "b", "0.5", None),
                ReplayDifference(DifferenceKind.PACKED, None, "2", "1"),
            ],
        ),
        (
            {"packed": (PackedEntry(MemoryId("a"), 0.5), PackedEntry(MemoryId("b"), 0.1 + 0.4 - 1e-17))},
            [],
        ),
        (
            {"packed": (PackedEntry(MemoryId("a"), 0.5), PackedEntry(MemoryId("b"), 0.5000000000000001))},
            [ReplayDifference(DifferenceKind.PACKED, "b", "0.5", "0.5000000000000001")],
        ),
        (
            {"omitted": (replace(an_omitted_memory("c"), cost=41),)},
            [ReplayDifference(DifferenceKind.OMITTED, "c", "0.25 budget 40", "0.25 budget 41")],
        ),
        (
            {"excluded": {"limit": 4, "status": 1}},
            [ReplayDifference(DifferenceKind.EXCLUDED, "status", None, "1")],
        ),
        ({"tokens": 11}, [ReplayDifference(DifferenceKind.TOKENS, None, "10", "11")]),
        ({"text": "another"}, [ANOTHER_TEXT]),
    ],
)
def test_every_part_of_a_context_that_differs_is_told(again: dict[str, Any], expected: list[ReplayDifference]) -> None:
    making = some_replay_inputs(
        packed=len(again.get("packed", MADE.packed)), text=again.get("text", some_replay_inputs().text)
    )
    parts = {name: value for name, value in again.items() if name != "text"}
    found = compare_records(MADE, replace(MADE, making=making, **parts), there=THERE)
    assert [one for one in found if one.what.is_effect] == expected


@table(
    ("again", "cause"),
    [
        ({"formula": "another"}, ReplayDifference(DifferenceKind.FORMULA, "default", "{}", "another")),
        (
            {"encoder": Encoder("another", 3), "directions": None, "directed": 9},
            ReplayDifference(DifferenceKind.ENCODER, None, "test (8 dimensions)", "another (3 dimensions)"),
        ),
        ({"directions": "another", "directed": 9}, ReplayDifference(DifferenceKind.QUESTION)),
        ({"directed": 9}, ReplayDifference(DifferenceKind.VECTOR_COUNT, None, "3", "9")),
        ({"analyser": "9"}, ReplayDifference(DifferenceKind.ANALYZER, None, "1", "9")),
        ({"naming": "9"}, ReplayDifference(DifferenceKind.NAMING, None, "1", "9")),
        ({"counter": "exact"}, ReplayDifference(DifferenceKind.COUNTER, None, "estimate", "exact")),
        ({"departed": 2}, ReplayDifference(DifferenceKind.RESTORED_VECTORS, None, None, "2")),
        ({"there": {MemoryId("a"), MemoryId("c")}}, ReplayDifference(DifferenceKind.MISSING, "b")),
        ({"was": replace(MADE, elsewhere=True)}, ReplayDifference(DifferenceKind.ELSEWHERE)),
    ],
)
def test_what_it_was_made_of_and_is_another_now_comes_first(again: dict[str, Any], cause: ReplayDifference) -> None:
    assert told(text="another", **again) == (cause, ANOTHER_TEXT)


def test_of_memories_that_are_gone_those_without_a_name_are_counted() -> None:
    gone = ReplayDifference(DifferenceKind.ERASED, None, "7", "5")
    excluded = ReplayDifference(DifferenceKind.EXCLUDED, "limit", "4", "2")
    assert told(excluded={"limit": 2}) == (gone, excluded)
    named = {MemoryId("a")}  # two are named, so nobody else is gone
    assert told(excluded={"limit": 2}, there=named) == (
        ReplayDifference(DifferenceKind.MISSING, "b"),
        ReplayDifference(DifferenceKind.MISSING, "c"),
        excluded,
    )
    assert told(excluded={"limit": 2}, directed=1) == (gone, excluded)  # which fewer memories would have too


def test_an_older_trace_cannot_tell_of_the_text() -> None:
    older = replace(MADE, making=None)
    found = told(older)
    assert [one.what for one in found] == [DifferenceKind.NOT_RECORDED, DifferenceKind.TEXT]
    assert found[1].was is None
