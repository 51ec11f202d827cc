"""Asking: whom a question names, and in whose words it is put."""

import unicodedata
from collections.abc import Callable
from typing import Literal

from hypothesis import assume, given
from hypothesis import strategies as st

from recollect.text.questions import (
    MIN_FOLDED_LETTERS,
    ROLE_LABELS,
    USER_LABELS,
    find_named_speakers,
    is_first_person,
    is_user_label,
    rephrase_as_speaker,
)
from recollect.text.tokenizer import STOP_WORDS
from tests.tables import table

TITLES = {"the", "a", "an", "my", "our", "mr", "mrs", "ms", "miss", "dr", "prof", "sir"}
SPEAKERS = [
    *("Caroline", "Ana García", "James", "Will", "May", "Jo", "太郎", "राम", "Dr. Smith", "The Boss", "Agent Smith"),
    *("O'Brien", "Jean-Luc Picard", "Ana Ana Bo", "user", "Assistant", "AI", "user 3", "", "!!", " "),
]
PIECES = [
    *(
        "Caroline",
        "ana",
        "ANA",
        "García",
        "Garci\u0301a",
        "James",
        "Will",
        "will",
        "Jo",
        "太",
        "郎",
        "राम",
        "Dr",
        "Smith",
    ),
    *("the", "boss", "Agent", "O'", "Brien", "Jean", "Luc", "Bo", "user", "3", "I", "my"),
    *("'s", "\u2019s", "'", "\u2018", "\u02bc", " ", " ", " ", "-", "_", ".", "\u0301", "\u034f"),
]
LONG = 200_000

anything = st.text(st.characters(exclude_categories=()))
"""Any text that Python can have, lone surrogates included."""

texts = anything | st.lists(st.sampled_from(PIECES) | anything).map("".join)
labels = st.sampled_from(SPEAKERS) | st.lists(st.sampled_from(PIECES)).map("".join) | anything
fillers = st.text(st.characters(codec="ascii"))
name_letters = st.text(st.sampled_from("abcdefghijklmnopqrstuvwxyz"), min_size=MIN_FOLDED_LETTERS)


def is_named(text: str, label: str) -> bool:
    """Whether the text names the speaker of this label."""
    return find_named_speakers(text, [label]) == (label,)


# Whom a text names.


@table(
    ("text", "label"),
    [
        ("Caroline", "Caroline"),
        ("Where does Caroline live?", "Caroline"),
        ("where does caroline live", "Caroline"),
        ("WHERE DOES CAROLINE LIVE", "Caroline"),
        ("Where does Caroline live?", "caroline"),
        ('(Caroline), "Caroline" or Caroline\'s', "Caroline"),
        ("Caroline-Anne", "Caroline"),
        ("_Caroline_", "Caroline"),
        ("@caroline", "Caroline"),
        ("Ana García", "Ana García"),
        ("what did ana garcía say?", "Ana García"),
        ("What did Ana say?", "Ana García"),
        ("Ana\n García", "Ana García"),
        ("jean-luc", "Jean-Luc Picard"),
        ("Jean Luc's ship", "Jean-Luc Picard"),
        ("o\u2019brien", "O'Brien"),
        ("Was it Caroline?", "  Caroline  "),
        ("Was it Caroline?", "!! Caroline"),
        ("Was it Caroline?", "Caroline (she/her)"),
    ],
)
def test_a_speaker_is_named_by_the_whole_label_or_by_its_first_word(text: str, label: str) -> None:
    assert is_named(text, label)


@table(
    ("text", "label"),
    [
        ("", "Caroline"),
        ("Where does Caro live?", "Caroline"),
        ("Carolines", "Caroline"),
        ("McCaroline", "Caroline"),
        ("Caroline2", "Caroline"),
        ("Caro line", "Caroline"),
        ("García", "Ana García"),
        ("Anna García", "Ana García"),
        ("Jean", "Jean-Luc Picard"),
        ("Luc Jean", "Jean-Luc Picard"),
        ("Brien", "O'Brien"),
        ("OBrien", "O'Brien"),
        ("she", "Caroline (she/her)"),
        ("Who is it?", ""),
        ("Who  is it?", " "),
        ("Who is it!!", "!!"),
        ("snake_case", "_"),
    ],
)
def test_part_of_a_word_another_word_and_what_has_no_letters_are_no_names(text: str, label: str) -> None:
    assert find_named_speakers(text, [label]) == ()


@given(name_letters, st.sampled_from([str.lower, str.upper, str.title, str.swapcase]))
def test_a_name_is_found_whatever_its_case(name: str, cased: Callable[[str], str]) -> None:
    assume(name not in STOP_WORDS | ROLE_LABELS | TITLES)
    assert is_named(f"ask {cased(name)}!", name.title())


@table("word", sorted(STOP_WORDS - ROLE_LABELS - TITLES))
def test_a_name_that_is_a_stop_word_must_be_written_as_the_label_has_it(word: str) -> None:
    name = word.title()
    assert is_named(f"Asked: {name}?", name)
    assert not is_named(f"Asked: {word}?", name)
    assert is_named(f"Asked: {word}?", word)
    assert not is_named(f"Asked: {name}?", word)


@table(
    ("text", "expected"),
    [
        ("What does Will want?", ("Will", "Will Smith")),
        ("Does Will's dog bark?", ("Will", "Will Smith")),
        ("What will it be?", ()),
        ("WHAT WILL IT BE?", ()),
        ("what does will smith want?", ("Will Smith",)),
        ("Is May here?", ("May",)),
        ("May Will come, may he?", ("May", "Will", "Will Smith")),
        ("he may", ()),
    ],
)
def test_will_and_may_are_speakers_only_in_capitals(text: str, expected: tuple[str, ...]) -> None:
    assert find_named_speakers(text, ["Will", "Will Smith", "May"]) == expected


def test_a_name_of_few_letters_must_be_written_as_the_label_has_it() -> None:
    short, long = "Xyzzyx"[: MIN_FOLDED_LETTERS - 1], "Xyzzyx"[:MIN_FOLDED_LETTERS]
    assert is_named(f"ask {short}", short)
    assert not is_named(f"ask {short.lower()}", short)
    assert not is_named(f"ask {short.upper()}", short)
    assert is_named(f"ask {long.lower()}", long)
    assert is_named(f"ask {long.upper()}", long)


def test_the_letters_of_all_words_of_a_name_are_counted() -> None:
    assert is_named("jo li", "Jo Li")
    assert is_named("Jo", "Jo Li")
    assert not is_named("jo", "Jo Li")
    assert not is_named("j r", "J. R.")
    assert is_named("J.R.", "J. R.")


@table("apostrophe", ["'", "\u2019", "\u02bc"])
def test_a_possessive_names_its_owner(apostrophe: str) -> None:
    text = f"Are James{apostrophe} cat, Caroline{apostrophe}s dog and JO{apostrophe}S bird friends?"
    assert find_named_speakers(text, ["James", "Caroline", "JO", "Cat"]) == ("Caroline", "Cat", "JO", "James")


@table("role", sorted(ROLE_LABELS))
def test_a_role_is_nobody_s_name_but_part_of_one(role: str) -> None:
    text = f"{role}, {role.title()} and {role.upper()}'s"
    assert (
        find_named_speakers(text, [role, role.title(), role.upper(), f"[{role}]:", f" {role} ", f"{role} Smith"]) == ()
    )
    assert find_named_speakers(f"the {role} smith", [role, f"{role} Smith"]) == (f"{role} Smith",)


def test_roles_with_a_number_or_a_name_are_called_by_the_whole_of_it() -> None:
    speakers = ["user", "user 3", "user 33", "Agent Smith", "agent"]
    assert find_named_speakers("What did user 3 tell agent Smith?", speakers) == ("Agent Smith", "user 3")
    assert find_named_speakers("What did the user tell the agent, 3 times?", speakers) == ()
    assert find_named_speakers("What did smith say?", speakers) == ()


@table("title", sorted(TITLES))
def test_a_title_or_an_article_is_no_first_word(title: str) -> None:
    label = f"{title.title()}. Boss"
    assert find_named_speakers(f"{title}, {title.title()} or boss", [label, title, title.title()]) == ()
    assert is_named(f"Did {title} boss say so?", label)
    assert is_named(f"Did {title.title()}. Boss say so?", label)


@table(
    ("text", "label"),
    [
        ("¿Dónde vive ANAÏS?", "Anaïs"),
        ("die STRASSE", "Straße"),
        ("ΟΔΥΣΣΕΥΣ", "Οδυσσεύς".replace("ύ", "υ")),
        ("где живёт ЮЛИЯ?", "Юлия"),
        ("राम कहाँ है?", "राम"),
        ("क्षितिज कहाँ है?", "क्षितिज"),
        ("أين مُحَمَّد؟", "مُحَمَّد"),
        ("איפה שָׂרָה?", "שָׂרָה"),
        ("지수 어디?", "지수"),
        ("علی\u200cرضا کجاست؟", "علی\u200cرضا"),
        ("\u212aarl", "Karl"),
        ("太郎は元気ですか", "太郎"),
        ("山田太郎さん", "太郎 (たろう)"),
        ("昨日スズキさんが来た", "スズキ"),
        ("昨日はなこが来た", "はなこ"),
        ("王小明今天去哪里了?", "王小明"),
        ("在𠮷田家", "𠮷田"),
        ("佐々木さん", "佐々木"),
        ("คุณสมชายอยู่ที่ไหน", "สมชาย"),
        ("ທ້າວສົມຢູ່ໃສ", "ສົມ"),
        ("ကိုအောင်ဘယ်မှာလဲ", "အောင်"),
        ("លោកសុខានៅឯណា", "សុខា"),
        ("Anaは太郎とMay", "Ana"),
    ],
)
def test_names_are_found_in_every_script_and_anywhere_where_words_have_no_blanks(text: str, label: str) -> None:
    assert is_named(text, label)


@table(
    ("text", "label"),
    [
        ("Anais", "Anaïs"),
        ("Ana\u0308", "Ana"),
        ("Ana\u0338", "Ana"),
        ("रामा", "राम"),
        ("रा", "र"),
        ("مُحَمَّد", "محم"),
        ("שָׂרָה", "ש"),
        ("علی\u200cرضا", "علی"),
        ("郎太", "太郎"),
        ("太は郎", "太郎"),
        ("太", "太郎"),
        ("지수는", "지수"),
    ],
)
def test_other_marks_and_other_letters_make_another_name(text: str, label: str) -> None:
    assert find_named_speakers(text, [label]) == ()


@table(
    "letter",
    [
        *("\u0e01", "\u0e81", "\u1000", "\u109f", "\u1780", "\u17ff"),
        *("\u3005", "\u3007", "\u3042", "\u30a2", "\u31f0", "\u31ff"),
        *("\u3400", "\u4dbf", "\u4e00", "\u9fff", "\ufa0e", "\U00020000", "\U00030000"),
    ],
)
def test_a_letter_of_a_script_without_blanks_is_found_between_others(letter: str) -> None:
    assert is_named(f"a{letter}b{letter}{letter}", letter)
    assert rephrase_as_speaker(f"太{letter}郎", letter) == "太I郎"


@table(
    "mark",
    [
        *("\u0300", "\u036f", "\u0483", "\u0489", "\u0591", "\u05bd", "\u05bf", "\u05c1", "\u05c4", "\u05c7"),
        *("\u0610", "\u061a", "\u064b", "\u065f", "\u0670", "\u06d6", "\u06ed", "\u0901", "\u0963", "\u0981", "\u0ddf"),
        *("\u1ab0", "\u1dc0", "\u1dff", "\u200c", "\u200d", "\u20d0", "\u20f0", "\ufe20", "\ufe2f"),
    ],
)
def test_a_mark_is_part_of_the_word_it_is_in(mark: str) -> None:
    name = f"Xyz{mark}zy"
    assert find_named_speakers(f"Was it {name}?", ["Xyz", "zy", name]) == (name,)


@table("form", ["NFC", "NFD"])
@table("name", ["Zoë", "Ana García", "Nguyễn", "Йосиф", "が太郎", "지수"])
def test_a_name_is_found_however_its_letters_are_composed(name: str, form: Literal["NFC", "NFD"]) -> None:
    written = unicodedata.normalize(form, f"Is {name} here?")
    for label in (unicodedata.normalize("NFC", name), unicodedata.normalize("NFD", name)):
        assert is_named(written, label)
        assert rephrase_as_speaker(written, label) == "Is I here?"


@table(
    ("text", "expected"),
    [
        ("What do James and Caroline do?", ("Caroline", "James")),
        ("Caroline, James, Caroline and Ana", ("Ana Bo", "Ana García", "Caroline", "James")),
        ("Ana García", ("Ana Bo", "Ana García")),
        ("太郎とJames", ("James", "太郎")),
        ("What do they do?", ()),
    ],
)
def test_everyone_who_is_named_is_there_once_and_sorted(text: str, expected: tuple[str, ...]) -> None:
    speakers = ["太郎", "James", "Caroline", "Ana García", "Ana Bo", "James", "user"]
    assert find_named_speakers(text, speakers) == expected
    assert find_named_speakers(text, frozenset(speakers)) == expected


def test_nobody_is_named_where_nobody_speaks() -> None:
    assert find_named_speakers("Caroline", []) == ()


@given(texts, st.lists(labels))
def test_whoever_is_named_is_one_of_the_speakers_and_would_be_named_alone(text: str, speakers: list[str]) -> None:
    found = find_named_speakers(text, speakers)
    assert set(found) <= set(speakers)
    assert list(found) == sorted(set(found))
    assert set(found) == {label for label in speakers if is_named(text, label)}


@given(st.text(max_size=10), st.text(max_size=10) | st.sampled_from(SPEAKERS))
def test_how_letters_are_composed_never_matters(text: str, label: str) -> None:
    for written in (text, f"{text} {label}"):
        composed, decomposed = unicodedata.normalize("NFC", written), unicodedata.normalize("NFD", written)
        assert is_named(composed, label) == is_named(decomposed, label)
        assert is_named(composed, label) == is_named(composed, unicodedata.normalize("NFD", label))


# The question as the one named would put it.


@table(
    ("text", "name", "expected"),
    [
        ("Where does Caroline live?", "Caroline", "Where does I live?"),
        ("What is Caroline's dog called?", "Caroline", "What is my dog called?"),
        ("what is caroline\u2019s dog called?", "Caroline", "what is my dog called?"),
        ("CAROLINE'S DOG", "Caroline", "my DOG"),
        ("Caroline\u02bcs dog", "Caroline", "my dog"),
        ("Did Caroline find Caroline's dog, Caroline?", "Caroline", "Did I find my dog, I?"),
        ("Is it Caroline's?", "Caroline", "Is it my?"),
        ("Caroline' dog", "Caroline", "I' dog"),
        ("Caroline'sea", "Caroline", "I'sea"),
        ("Caroline's5", "Caroline", "I's5"),
        ("_Caroline's_", "Caroline", "_my_"),
        ("Caroline_Caroline", "Caroline", "I_I"),
        ("James' dog", "James", "my dog"),
        ("James\u2019 dog", "James", "my dog"),
        ("the dog is James'", "James", "the dog is my"),
        ("James's dog", "James", "my dog"),
        ("MARX' dog, Liz' dog", "Marx", "my dog, Liz' dog"),
        ("MARX' dog, Liz' dog", "Liz", "MARX' dog, my dog"),
        ("JAMES' DOG", "James", "my DOG"),
        ("James'x", "James", "I'x"),
        ("Who is 'James' here?", "James", "Who is 'I' here?"),
        ("Who is \u2018James\u2019 here?", "James", "Who is \u2018I\u2019 here?"),
        ("Who is \u201bJames\u2019 here?", "James", "Who is \u201bI\u2019 here?"),
        ("'James's dog'", "James", "'my dog'"),
        ("太郎の犬", "太郎", "Iの犬"),
        ("太太郎郎", "太郎", "太I郎"),
    ],
)
def test_a_name_becomes_i_and_its_possessive_my(text: str, name: str, expected: str) -> None:
    assert rephrase_as_speaker(text, name) == expected


@table(
    ("text", "name", "expected"),
    [
        ("Ana García's dog", "Ana García", "my dog"),
        ("Ana's dog and Ana García", "Ana García", "my dog and I"),
        ("Ana García García", "Ana García", "I García"),
        ("Ana Ana Bo and Ana", "Ana Ana Bo", "I and I"),
        ("Ana Ana Ana", "Ana Ana", "I I"),
        ("the boss's boss", "The Boss", "my boss"),
        ("What did Agent Smith's agent do?", "Agent Smith", "What did my agent do?"),
        ("Will will smith ask will?", "Will Smith", "I I ask will?"),
        ("will smith and Will", "Will Smith", "I and I"),
        ("Jo Li or Jo or jo", "Jo Li", "I or I or jo"),
    ],
)
def test_the_whole_label_is_replaced_where_it_stands_and_its_first_word_elsewhere(
    text: str, name: str, expected: str
) -> None:
    assert rephrase_as_speaker(text, name) == expected


@table(
    ("text", "name"),
    [
        *(("", "Caroline"), ("Carolines", "Caroline"), ("What will it be?", "Will"), ("García", "Ana García")),
        *(("the user's dog", "user"), ("what the dr said", "Dr. Smith"), ("cafe\u0301", "Caroline"), ("Who?", "")),
    ],
)
def test_a_text_that_does_not_name_them_stays_as_it_is(text: str, name: str) -> None:
    assert rephrase_as_speaker(text, name) == text


def test_a_text_that_is_put_otherwise_is_composed() -> None:
    assert rephrase_as_speaker("the cafe\u0301 of Zoe\u0308", "Zoë") == "the caf\u00e9 of I"


@given(texts, labels)
def test_a_text_is_put_otherwise_exactly_if_it_names_them(text: str, label: str) -> None:
    assert (rephrase_as_speaker(text, label) != text) == is_named(text, label)


@given(fillers, fillers, st.sampled_from(["Xavier", "XAVIER", "xavier"]))
def test_everything_but_the_name_stays(before: str, after: str, name: str) -> None:
    assume(not is_named(f"{before} {after}", "Xavier"))
    assert rephrase_as_speaker(f"{before} {name} {after}", "Xavier") == f"{before} I {after}"
    assert rephrase_as_speaker(f"{before} {name}'s {after}", "Xavier") == f"{before} my {after}"


@given(texts, st.sampled_from(["Caroline", "James", "Will", "Jo", "太郎", "राम", "O'Brien"]))
def test_what_somebody_says_of_themselves_does_not_name_them(text: str, name: str) -> None:
    assert not is_named(rephrase_as_speaker(text, name), name)


# Whether a text is about whoever asks.


@table(
    "text",
    [
        *("I", "i", "me", "my", "mine", "myself", "we", "us", "our", "ours", "ourselves", "im", "ive"),
        *("ME", "My", "MINE", "Myself", "WE", "Us", "OUR", "Ours", "OURSELVES", "Im", "IVE"),
        *("I'm", "i'm", "I\u2019m", "I've", "I\u2019ve", "I'll", "I'd", "we're", "We've"),
        *("Who am I?", "Tell me.", "(my dog)", '"I"', "\u2014I", "Where do we\nlive", "me, too", "Did you see us...?"),
        *("I - of all people", "e.g. me", "not the US but us", "私 me"),
    ],
)
def test_a_text_may_speak_of_whoever_says_it(text: str) -> None:
    assert is_first_person(text)
    assert is_first_person(f"So {text} then")


@table(
    "text",
    [
        *(
            "",
            "you",
            "Where does Caroline live?",
            "him and them",
            "home",
            "game",
            "myth",
            "miner",
            "wet",
            "bus",
            "hours",
        ),
        *("the US", "US", "uS", "U.S.", "u.s", "us-east", "AUS"),
        *("i.e.", "I.T.", "I-5", "me-too", "Wi-me", "me_too", "_me", "iPhone", "ii", "I2", "2I", "a.me"),
        *("\u0131", "\u0130", "\uff29", "our\u017f", "we\u00e9"),
    ],
)
def test_parts_of_words_other_persons_and_the_country_are_not_the_first_person(text: str) -> None:
    assert not is_first_person(text)


@given(texts, texts)
def test_the_first_person_is_found_between_any_texts(before: str, after: str) -> None:
    assert is_first_person(f"{before} my {after}")
    assert is_first_person(f"{before} {after}") == (is_first_person(before) or is_first_person(after))


# Who asks.


@table("label", sorted(USER_LABELS))
def test_a_user_is_one_in_any_case_and_with_blanks(label: str) -> None:
    assert all(map(is_user_label, [label, label.upper(), label.title(), f" {label}", f"\t{label.upper()}\u00a0\n"]))


@table(
    "label",
    [
        *sorted(ROLE_LABELS - USER_LABELS),
        "",
        " ",
        "users",
        "user 3",
        "the user",
        "us er",
        "user:",
        "Caroline",
        "\uff55ser",
    ],
)
def test_anyone_else_is_no_user(label: str) -> None:
    assert not is_user_label(label)
    assert not is_user_label(label.upper())


def test_users_have_no_names_and_roles_are_in_small_letters() -> None:
    assert USER_LABELS < ROLE_LABELS
    assert {role.strip().casefold() for role in ROLE_LABELS} == ROLE_LABELS


@given(texts, labels | st.sampled_from(sorted(USER_LABELS)).map(" {} ".format))
def test_whoever_asks_is_never_named(text: str, label: str) -> None:
    assert not (is_user_label(label) and find_named_speakers(f"{text} {label}", [label]))


# Long texts.


@table(
    "text",
    [
        *("Ana García ", "Ana ", "Ana's", "a ", " ", ".", ". ", "\n", "'", "I", "太郎", "\u0301\u0316", "x", "me.me-"),
        *("e\u0301", "Ana'", "_", "\u200d", "\ud800", "\u02bc", "राम"),
    ],
)
def test_a_long_text_that_is_made_to_be_slow_is_read_in_one_go(text: str) -> None:
    long = text * (LONG // 4 // len(text))
    assert set(find_named_speakers(long, SPEAKERS)) <= set(SPEAKERS)
    assert (rephrase_as_speaker(long, "Ana García") != long) == ("Ana García" in find_named_speakers(long, SPEAKERS))
    assert is_first_person(f"{long} I")


def test_a_label_without_end_is_looked_for_in_one_go() -> None:
    label = "xyz " * (LONG // 8)
    assert rephrase_as_speaker("xyz " * (LONG // 4), label).split() == ["I", "I"]
    assert rephrase_as_speaker(label, f"the {label}") == label


def test_every_place_of_a_long_text_is_replaced() -> None:
    many = LONG // len("Ana's Ana ")
    assert rephrase_as_speaker("Ana's Ana " * many, "Ana García") == "my I " * many


def test_marks_without_end_are_part_of_one_word() -> None:
    word = "Ana" + "\u0301\u0316" * (LONG // 2)
    assert find_named_speakers(f"Was it {word}?", ["Ana", word]) == (word,)
    assert rephrase_as_speaker(f"Was it {word}'s?", word) == "Was it my?"


def test_any_number_of_speakers_may_be_asked_for() -> None:
    speakers = [f"Ana{number}" for number in range(LONG // 100)]
    assert find_named_speakers("Ana7, ana77 and Ana", speakers) == ("Ana7", "Ana77")
