"""Which texts an answer has words of."""

from hypothesis import given
from hypothesis import strategies as st

from recollect.text.grounding import find_quoted_texts, quotes_all_texts
from recollect.text.tokenizer import STOP_WORDS
from tests.tables import table

SEAT = "Ana prefers window seats on long flights"
MEAL = "Ben orders the vegetarian meal before every trip"
LATE = "The early train to Basel was cancelled last winter"
TEXTS = [SEAT, MEAL, LATE]


@table(
    ("answer", "places"),
    [
        ("I booked a seat at the window, as she prefers for flights.", []),  # her words, and nowhere three in a row
        ("Since Ana prefers window seats, I took 12A.", [0]),
        ("ANA PREFERRED A WINDOW-SEAT; and a vegetarian meal before every trip!", [0, 1]),
        ("You said that the early trains to Basel were cancelled.", [2]),
        ("window seats prefers Ana", []),  # in another order
        ("window or other seats, long or direct flights", [0]),  # stop words between them are none
        ("window side seats, long direct flights", []),  # with other words between
        ("Ana prefers. Window seats", [0]),  # a stop is no word
        ("", []),
        ("nothing of that", []),
    ],
)
def test_a_text_is_quoted_where_three_of_its_words_stand_in_a_row(answer: str, places: list[int]) -> None:
    assert find_quoted_texts(answer, TEXTS) == places


def test_an_answer_that_quotes_every_text_can_be_told_from_one_that_quotes_none() -> None:
    for answer, every in ((". ".join(TEXTS), True), (SEAT, False), ("nothing of that", False)):
        assert quotes_all_texts(answer, TEXTS) is every
    assert quotes_all_texts(SEAT, [SEAT]) is False, "who quotes the only one prefers it"


def test_words_that_several_texts_have_are_of_none_of_them() -> None:
    texts = ["Ana likes green tea with honey", "Ana likes green tea with milk"]
    assert find_quoted_texts("Ana likes green tea", texts) == []
    assert find_quoted_texts("Ana likes green tea with milk", texts) == [1]
    assert find_quoted_texts("green tea with honey, please", texts) == [0]
    assert find_quoted_texts(SEAT, [SEAT, SEAT, MEAL]) == [], "twins are not told apart"


def test_words_of_the_question_are_of_no_text() -> None:
    question = "Does Ana prefer window seats?"
    assert find_quoted_texts("Ana prefers window seats.", TEXTS, question) == []
    assert find_quoted_texts("Ana prefers window seats on long flights.", TEXTS, question) == [0]


def test_a_short_text_is_quoted_as_a_whole_and_one_word_never() -> None:
    texts = ["green tea", "Tea", "the", "", MEAL]
    assert find_quoted_texts("tea, green or not, and a trip", texts) == []
    assert find_quoted_texts("she drinks green tea, and tea alone", ["green tea", "coffee", MEAL]) == [0]
    assert find_quoted_texts("tea tea tea the the the", ["tea", "the", MEAL]) == []


def test_stop_words_alone_quote_nothing() -> None:
    stop = " ".join(sorted(STOP_WORDS))
    assert find_quoted_texts(stop, [stop, "it is what it is", MEAL]) == []
    assert find_quoted_texts(SEAT, [stop, SEAT, MEAL]) == [1]


@table("order", [TEXTS, TEXTS[::-1]])
def test_an_answer_that_quotes_all_of_several_prefers_none(order: list[str]) -> None:
    assert find_quoted_texts("\n".join(order), TEXTS) == []
    assert find_quoted_texts("\n".join(order), [*TEXTS, "yes"]) == [], "what nobody can quote is no exception"
    assert find_quoted_texts("\n".join(order[:2]), TEXTS) == sorted(TEXTS.index(one) for one in order[:2])
    assert find_quoted_texts(SEAT, [SEAT]) == [0], "a text on its own is not one of several"


def test_scripts_without_blanks_are_quoted_by_their_letters() -> None:
    assert find_quoted_texts("她喜欢靠窗的座位。", ["安娜喜欢靠窗的座位", MEAL]) == [0]
    assert find_quoted_texts("座位", ["安娜喜欢靠窗的座位", MEAL]) == []


def test_long_texts_are_read_and_half_characters_are_no_words() -> None:
    long = " ".join(f"word{number}" for number in range(40_000))
    assert find_quoted_texts(long, [SEAT, "word7 word8 word9", "word9 word8 word5"]) == [1]
    assert find_quoted_texts(long, [SEAT, "word7 word8 word9", long]) == [2]
    assert find_quoted_texts("\ud800 Ana \ud800 prefers\0 window\udfff seats", [SEAT, "\ud800\ud800", MEAL]) == [0]
    assert find_quoted_texts("a" * 1_000_000, ["a" * 1_000_000, MEAL]) == []


words = st.lists(st.sampled_from(["ana", "tea", "green", "seat", "the", "not", "茶", "\ud800", "1"]), max_size=9)
texts = words.map(" ".join) | st.text(max_size=20)


@given(texts, st.lists(texts, max_size=5), texts)
def test_whatever_is_said_few_are_quoted_and_always_the_same(answer: str, given: list[str], question: str) -> None:
    places = find_quoted_texts(answer, given, question)
    assert places == sorted(set(places))
    assert find_quoted_texts(answer, given[::-1], question) == sorted(len(given) - 1 - place for place in places)
    assert len(places) < len(given) or len(given) < 2
    assert find_quoted_texts("", given, question) == []
    assert find_quoted_texts(question, given, question) == [], "who says what was asked quotes nobody"
    assert find_quoted_texts(answer, given, f"{question} {answer}") == [], "whoever else said it"
