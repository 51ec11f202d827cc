"""Themes: the words that tell what texts are about, as they are written there."""

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from recollect.text.keywords import (
    MAX_WORD_CHARS,
    NAME_WEIGHT,
    NUMBER_WEIGHT,
    PLEASANTRY_WEIGHT,
    SPEAKER_WEIGHT,
    TopicTerms,
    extract_name_terms,
    extract_terms,
    pleasantry_terms,
    vague_terms,
)
from tests.tables import table

TEXTS = st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=80), max_size=8)


def themes_of(texts: Sequence[str], speakers: Sequence[str] = ()) -> TopicTerms:
    return TopicTerms.of(
        [extract_terms(text) for text in texts], [name for text in texts for name in extract_name_terms(text)], speakers
    )


def phrases(*texts: str, speakers: Sequence[str] = ()) -> list[str]:
    return themes_of(texts, speakers).top_phrases([[text] for text in texts])


def test_words_of_more_texts_weigh_more_but_not_as_much_more() -> None:
    weights = themes_of(["budget Lisbon", "budget hotel", "budget museum"]).weights()
    assert weights["hotel"] < weights["budget"] < 3 * weights["hotel"]


def test_words_that_are_said_about_everything_weigh_little_however_often() -> None:
    weights = themes_of([f"thanks, great topic{number}" for number in range(50)]).weights()
    assert weights["great"] == PLEASANTRY_WEIGHT < weights["topic7"]


def test_who_speaks_is_no_theme_nor_what_they_are_called_for_short() -> None:
    themes = themes_of(["hey Mel, how is Lisbon", "Melanie loves Lisbon"], ["Melanie"])
    assert (themes.base_weights["mel"], themes.base_weights["melani"], themes.base_weights["lisbon"]) == (
        SPEAKER_WEIGHT,
        SPEAKER_WEIGHT,
        NAME_WEIGHT,
    )


def test_a_name_weighs_more_than_a_word_and_a_day_of_the_week_does_not() -> None:
    themes = themes_of(["we fly to Lisbon on Monday", "a lisbon is no name, but Lisbon and Lisbon are"])
    assert themes.base_weights["lisbon"] == NAME_WEIGHT
    assert themes.base_weights["monday"] == NUMBER_WEIGHT
    assert themes.base_weights["fli"] == 1.0


def test_words_that_are_said_together_twice_are_shown_together() -> None:
    found = phrases("I want window seats", "window seats to Lisbon", "the budget for Lisbon", "a hotel and a budget")
    assert found[0] == "window seats"
    assert {"Lisbon", "budget"} < set(found)
    assert not {"window", "seats"} & set(found)


def test_a_vague_word_is_shown_with_another_and_a_pleasantry_is_not() -> None:
    assert "support" in vague_terms()
    assert "great" in pleasantry_terms()
    found = phrases("the support group was great", "my support group has great guitars", "two great guitars")
    assert found[:2] == ["support group", "guitars"]


def test_a_name_of_several_words_is_shown_whole_though_it_is_said_once() -> None:
    assert "Amy Ellis Nutt" in phrases("a book by Amy Ellis Nutt", "the author of that book")


def test_words_are_shown_as_they_are_mostly_written() -> None:
    assert phrases("Budgets matter", "the budgets", "one budget", "his budgets")[0] == "budgets"
    assert phrases("my iPhone", "an iPhone", "the IPHONE")[0] == "iPhone"
    assert phrases("Ana's garden", "a garden")[0] == "garden"
    assert phrases("Camping is what we do", "Camping it was")[0] == "camping"


def test_what_names_something_comes_before_what_is_done() -> None:
    assert phrases("I cycled to the museum", "they cycled from a museum")[0] == "museum"


def test_numbers_days_addresses_and_endless_words_are_not_shown() -> None:
    long = "x" * (MAX_WORD_CHARS + 1)
    text = f"see https://shop.example/path?q=1 and 3000 and {long} on Friday for the budget"
    assert phrases(text, text) == ["budget"]


def test_scripts_without_blanks_are_shown_in_words_of_two_letters_or_more() -> None:
    chinese = phrases("我想要靠窗的座位，去里斯本。", "里斯本的酒店。", "靠窗的座位好。")
    assert chinese[0] == "里斯本"
    assert {"靠窗", "座位"} < set(chinese)
    assert phrases("東京出張の予定です。", "東京出張は火曜日です。")[0] == "東京出張"
    assert phrases("ภาษาไทยเป็นภาษาที่สวยงาม", "ฉันชอบเรียนภาษาไทยทุกวัน") == []


def test_words_of_other_languages_are_shown_without_their_stop_words() -> None:
    assert phrases("ich möchte nach Lissabon", "wir fahren nach Lissabon, und ich auch")[0] == "Lissabon"
    assert phrases("я хочу билет в Лиссабон", "бюджет поездки в Лиссабон")[0] == "Лиссабон"


@table("texts", [[], [""], ["👍", "🎉"], ["who am I", "so be it"]])
def test_what_has_no_words_has_no_phrases(texts: list[str]) -> None:
    assert phrases(*texts) == []


def test_greetings_are_shown_if_there_is_nothing_else() -> None:
    assert phrases("Hello", "thanks") == ["Hello", "thanks"]


@given(TEXTS)
def test_phrases_are_short_and_said(texts: list[str]) -> None:
    found = phrases(*texts)
    assert len(found) == len(set(found))
    for phrase in found:
        assert phrase.strip()
        assert len(phrase) <= 3 * MAX_WORD_CHARS + 2
        assert set(extract_terms(phrase)) <= {term for text in texts for term in extract_terms(text)} | set(
            extract_terms(phrase.upper())
        )
