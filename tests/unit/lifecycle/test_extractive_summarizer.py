"""The summariser that needs no model: what it chooses, how it says it, and that nothing breaks it."""

import random
from collections.abc import Sequence
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.tables import table

from recollect.errors import FieldError
from recollect.lifecycle.extractive_summarizer import MAX_POINT_CHARS, ExtractiveSummarizer
from recollect.model.enums import CALENDAR_LEVELS, Level
from recollect.model.memory import MemoryId
from recollect.model.timeline import MAX_BULLET_CHARS, MAX_BULLETS, Bullet, Passage, Summary
from recollect.protocols import Summarizer
from recollect.testing.builders import NOW
from recollect.text.keywords import extract_terms

SUMMARISER: Summarizer = ExtractiveSummarizer()
MINUTE = timedelta(minutes=1)
SAID = [level for level in Level if level not in CALENDAR_LEVELS]
WORDS = ["window", "seats", "Lisbon", "budget", "hotel", "museum", "thanks", "great", "I", "the", "to", "we", "3000"]
SENTENCES = st.lists(st.sampled_from(WORDS), min_size=1, max_size=12).map(lambda words: f"{' '.join(words)}.")
SPEAKERS = st.sampled_from([None, "Ana", "Ben"])
WORDY = st.lists(
    st.tuples(st.lists(SENTENCES, min_size=1, max_size=6).map(" ".join), SPEAKERS, st.integers(0, 5)),
    min_size=1,
    max_size=15,
)
VISIBLE = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=900)
HOSTILE = st.lists(
    st.tuples(
        VISIBLE.filter(lambda text: not text.isspace()), st.one_of(st.none(), st.text(max_size=90)), st.integers(0, 5)
    ),
    min_size=1,
    max_size=8,
)

TRIP = [
    ("Ana", "Hi Ben!"),
    ("Ben", "Hello Ana, how are you?"),
    ("Ana", "I want window seats on the flight to Lisbon."),
    ("Ben", "ok"),
    ("Ben", "The budget for the hotel in Lisbon is 3,000 euros."),
    ("Ana", "Thanks!"),
    ("Ana", "I like window seats."),
]


def passages(*said: tuple[str | None, str]) -> list[Passage]:
    return [
        Passage(text=text, at=NOW + number * MINUTE, cites=(MemoryId(f"e{number}"),), speaker=speaker)
        for number, (speaker, text) in enumerate(said)
    ]


def made(*said: tuple[str | None, str], level: Level = Level.SEGMENT, most: int = 5) -> Summary:
    return SUMMARISER.summarise(passages(*said), level=level, most=most)


def texts(summary: Summary) -> list[str]:
    return [bullet.text for bullet in summary.bullets]


def drawn(given: Sequence[tuple[str, str | None, int]]) -> list[Passage]:
    return [
        Passage(text=text, at=NOW + minutes * MINUTE, cites=(MemoryId(f"e{number}"),), speaker=speaker)
        for number, (text, speaker, minutes) in enumerate(given)
    ]


def test_it_has_a_name_and_keeps_to_the_words_of_what_was_said() -> None:
    assert SUMMARISER.name == "extractive"
    assert SUMMARISER.verbatim


def test_a_talk_is_its_points_in_the_order_of_time_each_citing_what_it_is_from() -> None:
    summary = made(*TRIP)
    assert summary.bullets == (
        Bullet("Ana: I want window seats on the flight to Lisbon.", (MemoryId("e2"),)),
        Bullet("Ben: The budget for the hotel in Lisbon is 3,000 euros.", (MemoryId("e4"),)),
    )
    assert summary.title == "Window seats, Lisbon, flight"
    assert summary.keywords[:3] == ("window seats", "Lisbon", "flight")


def test_a_point_that_says_what_another_says_is_left_out() -> None:
    summary = made(*[("Ana", "I like window seats.")] * 5, *[("Ben", "The budget is 3,000 euros.")] * 3)
    assert texts(summary) == ["Ana: I like window seats.", "Ben: The budget is 3,000 euros."]


def test_at_most_so_many_points_are_made_and_never_more_than_a_summary_has() -> None:
    said = [("Ana", f"I saw place{number} near town{number}.") for number in range(30)]
    assert [len(made(*said, most=most).bullets) for most in (1, 3, 12, 500)] == [1, 3, MAX_BULLETS, MAX_BULLETS]


def test_of_all_that_was_said_the_point_that_carries_most_of_it_is_the_first_chosen() -> None:
    assert texts(made(*TRIP, most=1)) == ["Ana: I want window seats on the flight to Lisbon."]


def test_greetings_and_short_answers_are_left_out_where_there_is_anything_better() -> None:
    summary = made(("Ana", "Hi!"), ("Ben", "ok"), ("Ana", "Great, thanks!"), ("Ben", "The hotel is near the sea."))
    assert texts(summary) == ["Ben: The hotel is near the sea."]
    assert texts(made(("Ana", "Hi!"), ("Ben", "ok"), ("Ana", "bye"))) == ["Ana: Hi!"]


def test_a_statement_goes_before_a_question_with_the_same_words() -> None:
    summary = made(("Ana", "Is the hotel near the museum?"), ("Ben", "The hotel is near the museum."), most=1)
    assert texts(summary) == ["Ben: The hotel is near the museum."]


def test_a_passage_is_shown_without_what_says_nothing_at_its_ends() -> None:
    said = "Hey Ben! Good to see you! I booked the hotel near the museum. How are you? [shares a picture: a boat]"
    assert texts(made(("Ana", said))) == ["Ana: I booked the hotel near the museum."]


def test_a_long_passage_gives_its_best_sentences_and_a_long_sentence_is_cut_behind_a_word() -> None:
    filler = "Well, it was all very nice and we had a great time there together. "
    (best,) = texts(made(("Ana", f"{filler * 9}The hotel in Lisbon costs 3,000 euros. {filler * 9}"), most=1))
    assert "The hotel in Lisbon costs 3,000 euros." in best
    assert len(best) <= MAX_POINT_CHARS + len("Ana: ")
    (cut,) = texts(made(("Ana", "museum " * 200), most=1))
    assert cut == f"Ana: {' '.join(['museum'] * 56)}…"
    assert len(cut) <= MAX_BULLET_CHARS


@table(
    ("speaker", "text", "shown"),
    [
        ("Ana", "Ana: I like museums", "Ana: I like museums"),
        ("Ana", "ANA : I like museums", "Ana: I like museums"),
        ("Ana", "**Ana:** I like museums", "Ana: I like museums"),
        ("Ana", "Anabel: I like museums", "Ana: Anabel: I like museums"),
        ("a: b", "a: b: I like museums", "a: b: I like museums"),
        (None, "I like museums", "I like museums"),
        ("\u202e\n", "I like museums", "I like museums"),
        ("A\nna", "I like museums", "A na: I like museums"),
        ("A" * 300, "I like museums", f"{'A' * 59}…: I like museums"),
    ],
)
def test_who_said_it_stands_before_it_once(speaker: str | None, text: str, shown: str) -> None:
    assert texts(made((speaker, text))) == [shown]


@table("level", SAID)
def test_what_was_said_is_cut_into_sentences_at_every_level_below_the_calendar(level: Level) -> None:
    assert texts(made(("Ana", "Hi! I like **museums**."), level=level)) == ["Ana: I like museums."]


@table("level", CALENDAR_LEVELS)
def test_points_of_finer_summaries_are_taken_as_they_are(level: Level) -> None:
    points = ["Ana: Hi! I like **museums**.", "Ben: The hotel [in Lisbon] is near. Is it?", "Ana: We go in June."]
    summary = made(*[(None, point) for point in points], level=level)
    assert texts(summary) == points
    assert not {"Ana", "Ben"} & {word for phrase in summary.keywords for word in phrase.split()}


def test_what_stands_before_several_points_is_who_said_them_however_it_is_written() -> None:
    points = ["the ana: I like museums.", "the ana: The hotel is near.", "user: We go in June."]
    assert made(*[(None, point) for point in points], level=Level.DAY).keywords == ("hotel", "museums")
    assert "sea" in made((None, "the sea: I like museums."), level=Level.DAY).keywords


def test_the_title_of_a_coarser_level_is_what_its_points_share() -> None:
    points = [
        "Ana: I like window seats.",
        "Ben: The budget for Lisbon is 3,000 euros.",
        "Ana: Window seats, for Lisbon.",
    ]
    assert made(*[(None, point) for point in points], level=Level.DAY).title == "Window seats, Lisbon, budget"


def test_a_point_that_was_written_by_hand_and_is_too_long_is_cut() -> None:
    (point,) = texts(made((None, "museum " * 200), level=Level.DAY))
    assert point == f"{' '.join(['museum'] * 57)}…"


@table(
    ("said", "level", "title", "shown"),
    [
        (["👍", "🎉🎉", "👍"], Level.SEGMENT, "3 events", ["👍"]),
        (["\u200b"], Level.SEGMENT, "1 event", ["…"]),
        (["\u200b", "\ufeff"], Level.WEEK, "2 points", ["…"]),
        (["42", "1337"], Level.SEGMENT, "2 events", ["42", "1337"]),
        (["Who am I?"], Level.SEGMENT, "Who am I?", ["Who am I?"]),
        (["ภาษาไทยเป็นภาษาที่สวยงาม"], Level.SEGMENT, "ภาษาไทยเป็นภาษาที่สวยงาม", ["ภาษาไทยเป็นภาษาที่สวยงาม"]),
        (["里斯本的酒店。", "里斯本很美。"], Level.SEGMENT, "里斯本", ["里斯本的酒店。"]),
        (["```\nprint(x)\n```"], Level.SEGMENT, "Print", ["print(x)"]),
    ],
)
def test_a_summary_always_comes_out(said: list[str], level: Level, title: str, shown: list[str]) -> None:
    summary = made(*[(None, text) for text in said], level=level)
    assert texts(summary) == shown
    assert summary.title == title


def test_nothing_and_no_points_are_refused() -> None:
    with pytest.raises(FieldError, match="'passages': is empty"):
        SUMMARISER.summarise([], level=Level.SEGMENT, most=5)
    for most in (0, -1):
        with pytest.raises(FieldError, match="'most'"):
            made(*TRIP, most=most)


@given(WORDY, st.sampled_from(Level), st.integers(1, 20), st.randoms(use_true_random=False))
def test_the_same_passages_in_any_order_have_the_same_summary(
    given: list[tuple[str, str | None, int]], level: Level, most: int, dice: random.Random
) -> None:
    ordered = drawn(given)
    shuffled = dice.sample(ordered, len(ordered))
    summary = SUMMARISER.summarise(ordered, level=level, most=most)
    assert SUMMARISER.summarise(shuffled, level=level, most=most) == summary


@given(WORDY, st.sampled_from(Level), st.integers(1, 20))
def test_every_point_is_in_the_words_of_what_it_cites(
    given: list[tuple[str, str | None, int]], level: Level, most: int
) -> None:
    ordered = drawn(given)
    summary = SUMMARISER.summarise(ordered, level=level, most=most)
    sources = {passage.cites: passage for passage in ordered}
    for bullet in summary.bullets:
        source = sources[bullet.cites]
        assert set(extract_terms(bullet.text)) <= {*extract_terms(source.text), *extract_terms(source.speaker or "")}
    assert len(summary.bullets) <= most
    times = [sources[bullet.cites].at for bullet in summary.bullets]
    assert times == sorted(times)


@given(HOSTILE, st.sampled_from(Level), st.integers(1, 20))
def test_no_text_breaks_it(given: list[tuple[str, str | None, int]], level: Level, most: int) -> None:
    ordered = drawn(given)
    summary = SUMMARISER.summarise(ordered, level=level, most=most)  # which a Summary out of its limits would refuse
    cited = {passage.cites for passage in ordered}
    for bullet in summary.bullets:
        assert bullet.cites in cited
        assert bullet.text.splitlines() == [bullet.text]
    assert summary.title.splitlines() == [summary.title]


@table(
    "text",
    [
        *("word " * 40_000, "x" * 200_000, "." * 200_000 + "a", "[a" * 100_000, "**a" * 60_000, "a\n" * 20_000),
        *("I like Lisbon. " * 5_000, "里斯本的酒店" * 10_000, "a" + "\u0301" * 200_000, "Alpha Beta " * 20_000),
        *("www.a" * 40_000, "<a " * 60_000, "\U0001f469\u200d\U0001f467" * 70_000, "A: " * 60_000),
    ],
    ids=lambda text: text[:8],
)
@table("level", [Level.SEGMENT, Level.DAY])
def test_a_very_long_text_of_one_thing_has_a_summary(text: str, level: Level) -> None:
    assert len(made(("Ana", text), level=level).bullets) >= 1


def test_thousands_of_passages_and_speakers_have_a_summary() -> None:
    said = [(f"Speaker number{number}", f"I like subject{number} a lot.") for number in range(2_000)]
    assert len(made(*said, most=12).bullets) == MAX_BULLETS
