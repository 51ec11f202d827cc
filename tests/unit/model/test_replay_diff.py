"""How a context differs that was made again, and why."""

from dataclasses import replace
from typing import Any

from recollect.model.context_record import Placed, Trace
from recollect.model.encoder import Encoder
from recollect.model.memory import MemoryId
from recollect.model.replay_diff import Difference, What, differences
from recollect.testing.store_builders import a_making, a_trace, passed_over
from tests.tables import table

MADE = a_trace("context", "a", "b", omitted=(passed_over("c"),), excluded={"limit": 4}, making=a_making())
THERE = {MemoryId(id) for id in "abc"}
ANOTHER_TEXT = Difference(What.TEXT, None, a_making().text, "another")


def told(was: Trace = MADE, departed: int = 0, there: set[MemoryId] = THERE, **again: Any) -> tuple[Difference, ...]:
    making = {name: again.pop(name) for name in [*again] if name in a_making().__dataclass_fields__}
    now = replace(MADE, making=a_making(**making), **again)
    return differences(was, now, there=there, departed=departed)


def test_nothing_differs_if_what_came_out_is_the_same_whatever_it_was_made_with() -> None:
    assert told() == ()
    assert told(encoder=Encoder("another", 3), counter="another", departed=7) == ()
    assert told(replace(MADE, elsewhere=True, formula="another"), there=set()) == ()


@table(
    ("again", "expected"),
    [
        (
            {"packed": (Placed(MemoryId("a"), 0.5),)},
            [Difference(What.PACKED, "b", "0.5", None), Difference(What.PACKED, None, "2", "1")],
        ),
        (
            {"packed": (Placed(MemoryId("a"), 0.5), Placed(MemoryId("b"), 0.1 + 0.4 - 1e-17))},
            [],
        ),
        (
            {"packed": (Placed(MemoryId("a"), 0.5), Placed(MemoryId("b"), 0.5000000000000001))},
            [Difference(What.PACKED, "b", "0.5", "0.5000000000000001")],
        ),
        (
            {"omitted": (replace(passed_over("c"), cost=41),)},
            [Difference(What.OMITTED, "c", "0.25 budget 40", "0.25 budget 41")],
        ),
        (
            {"excluded": {"limit": 4, "status": 1}},
            [Difference(What.EXCLUDED, "status", None, "1")],
        ),
        ({"tokens": 11}, [Difference(What.TOKENS, None, "10", "11")]),
        ({"text": "another"}, [ANOTHER_TEXT]),
    ],
)
def test_every_part_of_a_context_that_differs_is_told(again: dict[str, Any], expected: list[Difference]) -> None:
    making = a_making(packed=len(again.get("packed", MADE.packed)), text=again.get("text", a_making().text))
    parts = {name: value for name, value in again.items() if name != "text"}
    found = differences(MADE, replace(MADE, making=making, **parts), there=THERE)
    assert [one for one in found if one.what.effect] == expected


@table(
    ("again", "cause"),
    [
        ({"formula": "another"}, Difference(What.FORMULA, "default", "{}", "another")),
        (
            {"encoder": Encoder("another", 3), "directions": None, "directed": 9},
            Difference(What.ENCODER, None, "test (8 dimensions)", "another (3 dimensions)"),
        ),
        ({"directions": "another", "directed": 9}, Difference(What.QUESTION)),
        ({"directed": 9}, Difference(What.DIRECTED, None, "3", "9")),
        ({"analyser": "9"}, Difference(What.ANALYSER, None, "1", "9")),
        ({"naming": "9"}, Difference(What.NAMING, None, "1", "9")),
        ({"counter": "exact"}, Difference(What.COUNTER, None, "estimate", "exact")),
        ({"departed": 2}, Difference(What.DEPARTED, None, None, "2")),
        ({"there": {MemoryId("a"), MemoryId("c")}}, Difference(What.MISSING, "b")),
        ({"was": replace(MADE, elsewhere=True)}, Difference(What.ELSEWHERE)),
    ],
)
def test_what_it_was_made_of_and_is_another_now_comes_first(again: dict[str, Any], cause: Difference) -> None:
    assert told(text="another", **again) == (cause, ANOTHER_TEXT)


def test_of_memories_that_are_gone_those_without_a_name_are_counted() -> None:
    gone = Difference(What.ERASED, None, "7", "5")
    excluded = Difference(What.EXCLUDED, "limit", "4", "2")
    assert told(excluded={"limit": 2}) == (gone, excluded)
    named = {MemoryId("a")}  # two are named, so nobody else is gone
    assert told(excluded={"limit": 2}, there=named) == (
        Difference(What.MISSING, "b"),
        Difference(What.MISSING, "c"),
        excluded,
    )
    assert told(excluded={"limit": 2}, directed=1) == (gone, excluded)  # which fewer memories would have too


def test_an_older_trace_cannot_tell_of_the_text() -> None:
    older = replace(MADE, making=None)
    found = told(older)
    assert [one.what for one in found] == [What.UNNOTED, What.TEXT]
    assert found[1].was is None
