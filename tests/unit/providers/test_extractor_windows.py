"""Transcript: whatever was said is shown whole, in order, within its lines and its windows."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.errors import FieldError
from recollect.model.conversation import ConversationTurn, Role
from recollect.providers.chat import MAX_WINDOWS, PIECE_CHARS, WINDOW_CHARS, Window
from recollect.providers.extractor import split_conversation
from tests.examples import at_most
from tests.tables import table

ALPHABET = st.characters(exclude_categories=["Cs"], exclude_characters="\0") | st.sampled_from('<>[]{}"\\/\n &\u200b')
TEXTS = st.text(ALPHABET, min_size=1, max_size=80).filter(lambda text: not text.isspace())
LONG = st.builds(lambda text, times: text * times, TEXTS, st.sampled_from([1, 1, 1, 400]))
TURNS = st.lists(st.builds(ConversationTurn, text=LONG, role=st.sampled_from(Role)), max_size=12)


def read(window: Window[ConversationTurn]) -> list[tuple[int, str]]:
    """The turns and their texts, as a reader of JSON has them."""
    told = [json.loads(line) for line in window.lines.split("\n")[:-1]]
    return [(line["turn"], line["text"]) for line in told]


@at_most(50)
@given(TURNS)
def test_what_was_said_is_shown_whole_and_in_its_order(turns: list[ConversationTurn]) -> None:
    texts = [""] * len(turns)
    places: list[int] = []
    for window in split_conversation(turns):
        for place, text in read(window):
            texts[place] += text
            places.append(place)
        assert window.items == {place: turns[place] for place, _ in read(window)}
    assert texts == [turn.text for turn in turns]
    assert places == sorted(places)


@at_most(50)
@given(TURNS)
def test_a_window_has_no_more_than_fits_unless_it_is_one_line(turns: list[ConversationTurn]) -> None:
    for window in split_conversation(turns):
        assert len(window.lines) <= WINDOW_CHARS or window.lines.count("\n") == 1


@at_most(50)
@given(TURNS)
def test_nothing_that_was_said_can_look_like_a_tag(turns: list[ConversationTurn]) -> None:
    for window in split_conversation(turns):
        assert not set("<>") & set(window.lines)
        assert window.marker not in window.lines
        assert window.fenced_text.count(window.marker) == 2


@table("text", ["\x01" * 2**16, "\U000e0041" * 2**15, "<" * 2**16, "a" * 2**19, "a " * 2**18, '"' * 2**18])
def test_an_endless_turn_is_shown_in_pieces_that_fit(text: str) -> None:
    found = split_conversation([ConversationTurn(text=text + "b")])
    assert "".join(piece for window in found for _, piece in read(window)) == text + "b"
    assert all(0 < len(window.lines) <= WINDOW_CHARS + PIECE_CHARS for window in found)


def test_a_long_turn_is_cut_between_words() -> None:
    text = "words " * WINDOW_CHARS
    pieces = [piece for window in split_conversation([ConversationTurn(text=text)]) for _, piece in read(window)]
    assert all(piece.endswith(" ") for piece in pieces)


def test_the_marker_is_the_same_for_the_same_turns_and_another_for_others() -> None:
    (one,), (same,), (other,) = (split_conversation([ConversationTurn(text=text)]) for text in ("a", "a", "b"))
    assert one.marker == same.marker != other.marker


def test_as_many_windows_as_there_may_be_are_read_and_no_more() -> None:
    turns = [ConversationTurn(text="a" * (WINDOW_CHARS - 100))] * MAX_WINDOWS
    assert len(split_conversation(turns)) == MAX_WINDOWS
    with pytest.raises(FieldError, match=f"more than {MAX_WINDOWS * WINDOW_CHARS} characters; extract from its parts"):
        split_conversation([*turns, *turns])


def test_nothing_said_is_no_window() -> None:
    assert split_conversation([]) == []
