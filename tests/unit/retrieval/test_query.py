"""What is asked: a text, or the last turns of a conversation as chat programs keep them."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.errors import FieldError
from recollect.retrieval.query import MAX_TURNS, parse_query
from tests.tables import table

IMAGE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
CALL = {"role": "assistant", "content": None, "tool_calls": [{"id": "c1", "function": {"name": "seats"}}]}


def text(words: str) -> dict[str, str]:
    return {"type": "text", "text": words}


@table(
    ("turn", "said"),
    [
        ("a seat", "a seat"),
        ({"text": "a seat"}, "a seat"),
        ({"role": "user", "content": "a seat"}, "a seat"),
        ({"role": "user", "text": None, "content": "a seat"}, "a seat"),
        ({"role": "user", "content": [text("a seat")]}, "a seat"),
        ({"role": "user", "content": [text("this one?"), IMAGE, text("or that?")]}, "this one?\nor that?"),
        ({"role": "user", "content": ["a seat", IMAGE]}, "a seat"),
        ({"role": "user", "content": (text("a seat"), text(""), text("by the window"))}, "a seat\nby the window"),
        ({"role": "user", "content": [{"type": "input_text", "text": "a seat"}]}, "a seat"),
        ({"role": "tool", "tool_call_id": "c1", "content": "12A is free"}, "12A is free"),
        ({"role": "tool", "tool_call_id": "c1", "content": [text("12A is free")]}, "12A is free"),
    ],
)
def test_the_text_of_a_turn_is_asked_about(turn: Any, said: str) -> None:
    assert parse_query([turn]).turns == (said,)


SILENT: list[Any] = [
    "  ",
    CALL,
    {"role": "assistant", "tool_calls": []},
    {"role": "user"},
    {"role": "user", "content": None},
    {"role": "user", "content": []},
    {"role": "user", "content": [IMAGE]},
    {"role": "user", "content": [None, 7, {"type": "text"}, {"type": "text", "text": None}, [text("deep")]]},
    {"type": "function_call", "name": "seats", "arguments": "{}"},
    {"type": "text", "text": ""},
]


@table("turn", SILENT)
def test_a_turn_without_text_is_passed_over(turn: Any) -> None:
    assert parse_query(["which seat?", turn]).turns == ("which seat?",)
    assert parse_query([*["which seat?"] * MAX_TURNS, *[turn] * 9]).turns == ("which seat?",) * MAX_TURNS


@table("turns", [[turn] for turn in SILENT] + [SILENT, []])
def test_turns_that_say_nothing_at_all_are_refused_with_the_remedy(turns: Any) -> None:
    with pytest.raises(FieldError, match="field 'query': is empty; ask something, or use `brief`"):
        parse_query(turns)


@table(
    "turn", [7, None, b"seat", ["a seat"], {}, {"contnet": "a seat"}, {"content": 7}, {"content": {"text": "a seat"}}]
)
def test_what_is_no_turn_is_refused_even_beside_one_that_is(turn: Any) -> None:
    with pytest.raises(FieldError, match="field 'query'"):
        parse_query(["which seat?", turn])


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.binary(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["role", "type", "text", "content", "tool_calls"]), inner, max_size=4)
    ),
    max_leaves=12,
)


@given(anything)
def test_whatever_is_given_is_a_question_or_is_refused(query: Any) -> None:
    try:
        turns = parse_query(query).turns
    except FieldError as refusal:
        turns = (refusal.field or "",)
    assert 1 <= len(turns) <= MAX_TURNS
    assert all(turn.strip() for turn in turns)
