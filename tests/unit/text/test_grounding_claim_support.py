"""Bearing: what has nothing to do with the passages, or comes from others than those named, is found out."""

from datetime import UTC, datetime, timedelta

from recollect.model.memory import MemoryId
from recollect.model.timeline import Passage
from recollect.text.grounding import CONTEXT_PASSAGES, MIN_DISTINCTIVE_STEMS, ClaimSupport
from tests.tables import table

MARCH = datetime(2026, 3, 5, tzinfo=UTC)


def bearing(*texts: str, speaker: str | None = None) -> ClaimSupport:
    return ClaimSupport(
        [
            Passage(text=text, at=MARCH + timedelta(days=place), cites=(MemoryId(f"e{place}"),), speaker=speaker)
            for place, text in enumerate(texts)
        ]
    )


TALK = (
    "I prefer window seats, the aisle makes me nervous.",
    "We meet Mia in Lisbon, at the Ritz.",
    "It costs 420 euros, paid from DE99.",
)


@table(
    ("text", "places"),
    [
        ("They preferred seats at the window.", {0}),  # by their stems
        ("PREFERENCE: windows", {0}),
        ("They meet Mia at the Ritz in Lisbon.", {1}),
        ("Mia costs 420 euros.", {1, 2}),
        ("Nervous of windows", {0}),
        ("The meeting in Lisbon costs 420.", {2}),  # where it is was said before
        ("Lisbon was where they would meet.", {0}),  # a capital at the beginning is no name
        ("They agreed. Lisbon was where they would meet.", {0}),
        ("On 5 March 2026 they preferred windows.", {0}),  # the day of the passage, and a month that nobody named
        ("On 05.03.2026 they preferred windows.", {0}),
        ("Paris has windows.", {0}),  # a name that nobody said is no sign of another passage
        ("They meet Mia and pay 420.", {1}),  # half of it was said there
    ],
)
def test_what_can_be_from_the_passages_named_is_borne_out(text: str, places: set[int]) -> None:
    assert bearing(*TALK).supports(text, places)


@table(
    ("text", "places"),
    [
        ("PWNED", {0}),
        ("I cannot do this.", {1}),
        ("...", {0, 1, 2}),
        ("They prefer Lisbon.", {0}),
        ("RITZ is preferred", {0}),  # so many capitals are a name also at the beginning
        ("They prefer to pay 420.", {0}),
        ("They prefer to pay 420.", {1}),
        ("The window of Mia: DE99 at the Ritz", {0}),
        ("On 7 March 2026 they preferred to pay 420.", {0}),
        ("They meet Mia and pay 420 from DE.", {1}),
    ],
)
def test_what_comes_from_elsewhere_is_not(text: str, places: set[int]) -> None:
    assert not bearing(*TALK).supports(text, places)


def test_a_name_may_have_been_said_just_before_and_no_earlier_or_later() -> None:
    talk = ["We fly to Lisbon with a little luck.", *["Nothing new of anybody, nowhere."] * (CONTEXT_PASSAGES + 3)]
    text = "They booked Lisbon."
    assert bearing(*talk).supports(text, {CONTEXT_PASSAGES})
    assert not bearing(*talk).supports(text, {CONTEXT_PASSAGES + 1})
    assert bearing(*talk).supports(text, {CONTEXT_PASSAGES + 1, 0})
    assert not bearing(*talk[::-1]).supports(text, {0})


def test_the_names_of_speakers_are_no_sign_of_where_it_was_said() -> None:
    talk = ("You know what I like best: windows.", "Well, Anna Lee, what about seats?")
    assert not bearing(*talk).supports("They told Anna what they like.", {0})
    assert bearing(*talk, speaker="Anna Lee").supports("They told Anna what they like.", {0})
    assert bearing(*talk, speaker="Bo").supports("And so said Bo.", {0})
    assert not bearing(*talk).supports("And so said Bo.", {0})


def test_the_numbers_of_the_day_are_no_sign_of_where_it_was_said() -> None:
    talk = bearing(*TALK, "Room 05 on floor 03, not 2026 nor 5 nor 3")
    for day in ("05.03.2026", "2026-03-05", "5/3/2026"):
        assert talk.supports(f"On {day} they preferred windows.", {0})
    assert not talk.supports("On 05.03.2026 they preferred windows.", {1})


def test_a_capital_alone_is_no_name() -> None:
    assert bearing("They talk of windows, seats, aisles, tables, chairs, benches, floors.", "I am here.").supports(
        "They and I talk of windows.", {0}
    )


def test_so_few_words_may_be_said_in_quite_other_ones() -> None:
    words = [f"{letter * 4}" for letter in "abcdefgh"]
    assert len(words) == MIN_DISTINCTIVE_STEMS
    assert bearing(" ".join(words[:-1])).supports("They agreed.", {0})
    assert not bearing(" ".join(words)).supports("They agreed.", {0})
    assert bearing("👍").supports("They approved.", {0})


def test_scripts_without_blanks_are_compared_by_pairs_of_characters() -> None:
    talk = bearing("我们三月去里斯本旅行", "酒店花了420欧元")
    assert talk.supports("他们去里斯本", {0})
    assert not talk.supports("今天天气很好", {0})
    assert not talk.supports("他们去里斯本花了420", {0})
    assert talk.supports("酒店花了420欧元", {1})
    assert talk.supports("2026年3月5日去里斯本", {0})


def test_one_character_is_a_word_too() -> None:
    assert bearing("我", "一二三四五六七八九十").supports("我", {0})
