"""The analyser: which terms a text has, of whatever script, however broken and however long."""

import sys
import unicodedata
from concurrent.futures import ThreadPoolExecutor
from hashlib import blake2b, sha256
from itertools import product
from typing import Literal

from hypothesis import given
from hypothesis import strategies as st

from recollect.text import tokenizer
from recollect.text.tokenizer import (
    MAX_MARKS,
    MAX_TERM_CHARS,
    MAX_TERM_COUNT,
    STOP_WORDS,
    count_terms,
    hash_term,
    tokenize,
)
from tests.tables import table

anything = st.text(st.characters(exclude_categories=()))
"""Any text that Python can have, lone surrogates included."""

MEGABYTE = 1_000_000


@table(
    ("text", "found"),
    [
        ("", []),
        (" \t\n\0\x1f", []),
        ("The cats were running, and a cat ran.", ["cat", "run", "cat", "ran"]),
        ("Who am I? What would you not have done?", []),
        ("Caroline's got a U.S. visa; she’d asked.", ["carolin", "got", "u", "visa", "ask"]),
        ("She DOESN'T, doesn’t and doesn\u02bct eat meat", ["eat", "meat"]),
        ("snake_case and kebab-case", ["snake", "case", "kebab", "case"]),
        ("room 101, 2026-11-15, 3.5 km", ["room", "101", "2026", "11", "15", "3", "5", "km"]),
        ("x² costs ½ of ①", ["x2", "cost", "1", "2", "1"]),
        ("a\0b\0deploy", ["b", "deploy"]),
    ],
)
def test_english_words_become_stems_without_stop_words(text: str, found: list[str]) -> None:
    assert tokenize(text) == found


@table(
    ("text", "found"),
    [
        ("Die Größe der STRASSE, über Müller", ["die", "grösse", "der", "strass", "über", "müller"]),
        ("Ελληνικά ΛΌΓΟΣ λόγος", ["ελληνικά", "λόγοσ", "λόγοσ"]),
        ("Жизнь ЖИЗНЬ", ["жизнь", "жизнь"]),
        ("İstanbul ISTANBUL", ["istanbul", "istanbul"]),
        ("हिन्दी भाषा", ["हिन्दी", "भाषा"]),
        ("שָׁלוֹם", ["שָׁלוֹם"]),
        ("한국어 단어", ["한국어", "단어"]),
    ],
)
def test_words_of_other_languages_are_kept_without_their_case(text: str, found: list[str]) -> None:
    assert tokenize(text) == [unicodedata.normalize("NFKC", term) for term in found]


@table(
    ("text", "found"),
    [
        ("東京都", ["東京", "京都"]),
        ("猫", ["猫"]),
        ("猫。犬と鳥", ["猫", "犬と", "と鳥"]),
        ("スター・ウォーズ", ["スタ", "ター", "ウォ", "ォー", "ーズ"]),
        ("Python3の使い方", ["python3", "の使", "使い", "い方"]),
        ("the東京the", ["東京"]),
        ("𠮷野家", ["𠮷野", "野家"]),
        ("ﾊﾟﾝ", ["パン"]),
        ("ที่ดี", ["ที่ดี"]),
        ("ภาษาไทย", ["ภา", "าษ", "ษา", "าไ", "ไท", "ทย"]),
        ("ພາສາ", ["ພາ", "າສ", "ສາ"]),
        ("ភាសា", ["ភាសា"]),
        ("မြန်မာ", ["မြန်", "န်မာ"]),
    ],
)
def test_scripts_without_blanks_give_every_two_neighbouring_letters(text: str, found: list[str]) -> None:
    assert tokenize(text) == found


@table(
    ("text", "found"),
    [
        ("🎉 party ❤️ 👩‍👩‍👧 🇩🇪", ["parti"]),
        ("1️⃣", ["1"]),
        ("\u0301\u0316 \ufe0f", []),
        ("rec\u00adol\u00adlect", ["recollect"]),
        ("می\u200cخواهم", ["میخواهم"]),
        ("left\u200bright", ["left", "right"]),
        ("\ufeffbegin", ["begin"]),
        ("\ud800deploy\udfff", ["deploy"]),
        ("deploy\ud83d", ["deploy"]),
    ],
)
def test_what_is_no_part_of_a_word_is_left_out(text: str, found: list[str]) -> None:
    assert tokenize(text) == found


@table(
    ("text", "found"),
    [
        ('"deploy" AND (friday OR monday*)', ["deploy", "friday", "monday"]),
        ("NEAR(deploy friday, 5)", ["near", "deploy", "friday", "5"]),
        ("title:deploy ^friday - -monday", ["titl", "deploy", "friday", "monday"]),
        ("'; DROP TABLE memory; --", ["drop", "tabl", "memori"]),
        ('"', []),
    ],
)
def test_a_query_language_is_words_like_any_other_text(text: str, found: list[str]) -> None:
    assert tokenize(text) == found


@table("form", ["NFC", "NFD", "NFKC", "NFKD"])
@table("text", ["Café Zoë Ångström", "ệ ǰ ṩ", "한국어", "ガギグ", "ﬁnal ﬂow", "हिन्दी", "ΐ ᾳ"])
def test_a_text_has_the_same_terms_however_its_letters_are_composed(
    text: str, form: Literal["NFC", "NFD", "NFKC", "NFKD"]
) -> None:
    assert tokenize(unicodedata.normalize(form, text)) == tokenize(text) != []


@given(st.text(st.characters(exclude_categories=()), max_size=MAX_MARKS))
def test_any_text_has_the_same_terms_composed_and_decomposed(text: str) -> None:
    composed, decomposed = (unicodedata.normalize(form, text) for form in ("NFC", "NFD"))
    if len(decomposed) <= MAX_MARKS:
        assert tokenize(composed) == tokenize(decomposed) == tokenize(text)


@given(anything)
def test_any_text_has_terms_that_are_words_or_pairs_of_letters(text: str) -> None:
    found = tokenize(text)
    assert found == tokenize(text)
    for term in found:
        assert term[0].isalnum()
        assert not any(character.isspace() or character == "_" for character in term)
        assert len(term) <= max(MAX_TERM_CHARS, 2 + 2 * 2 * MAX_MARKS)


@given(st.text(st.characters(max_codepoint=127)))
def test_the_case_of_english_says_nothing(text: str) -> None:
    assert tokenize(text.upper()) == tokenize(text.lower()) == tokenize(text)


@given(anything, anything)
def test_texts_side_by_side_have_the_terms_of_both(one: str, other: str) -> None:
    assert tokenize(f"{one}\n{other}") == tokenize(one) + tokenize(other)


def test_a_word_without_end_is_cut() -> None:
    assert tokenize("z" * (MAX_TERM_CHARS + 1)) == tokenize("z" * MAX_TERM_CHARS) == ["z" * MAX_TERM_CHARS]


@table(
    ("text", "many"),
    [
        ("deploy " * (MEGABYTE // 7), MEGABYTE // 7),
        ("z" * MEGABYTE, 1),
        ("東" * (MEGABYTE // 5), MEGABYTE // 5 - 1),
        ("\u0301" * (MEGABYTE // 2) + "\u0316" * (MEGABYTE // 2), 0),
        ("\u0301\u0316" * (MEGABYTE // 2), 0),
        ("\uff9e\u0334" * (MEGABYTE // 2), 0),
        ("\u0301\u00ad\u0316\u00ad" * (MEGABYTE // 4), 0),
        ("e" + "\u0301\u0316" * (MEGABYTE // 2), 1),
        ("\ud800" * MEGABYTE, 0),
    ],
    ids=["words", "a word", "Han", "sorted marks", "marks", "half-width marks", "hidden hyphens", "a letter", "halves"],
)
def test_a_megabyte_is_read_in_one_go_even_if_it_is_made_to_be_slow(text: str, many: int) -> None:
    assert len(tokenize(text)) == many


@table("pile", ["\u0316", "\u0316\u00ad", "\u0316\ufe0f"])
def test_no_more_marks_are_read_than_a_script_could_have(pile: str) -> None:
    assert tokenize("x" + pile * (2 * MAX_MARKS)) == ["x" + "\u0316" * MAX_MARKS]


def test_everything_that_normalising_sorts_is_a_mark_that_is_cut() -> None:
    scripts = tokenizer._script_patterns()
    for code in range(sys.maxunicode + 1):
        character = chr(code)
        if unicodedata.combining(unicodedata.normalize("NFKD", character)[0]):
            assert scripts.mark_pile.fullmatch(character * (MAX_MARKS + 1)), hex(code)
        assert bool(scripts.letter.match(character)) != (unicodedata.category(character) in {"Mn", "Mc"}), hex(code)


def test_threads_agree_on_the_terms() -> None:
    texts = [f"{a}{b} {b}{a}" for a, b in product(["runn", "hopp", "nation", "relat", "general"], ENDINGS.split())] * 10
    alone = list(map(tokenize, texts))
    tokenizer._stem.cache_clear()
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(tokenize, texts, chunksize=5)) == alone


BEGINNINGS = list(map("".join, product(["", "b", "str", "inter"], "aeiouy", ["b", "c", "ll", "nt", "s", "z"])))
ENDINGS = """
s es ed edly ing ingly ly er ers est y ies ied ness ful fully ation ational ization izer ive iveness al alism ally
ous ously ment ency able ably bility ogi ist ee ion sis gether ence enci ic ical ate ated ating ement ant ance
"""
CHANGED_BEFORE = "added emergency evening organization lateral internal international intervals skis"


def test_stems_are_those_of_version_1() -> None:
    """They are stored. Where this fails, the stemmer has changed: keep the old one, or raise the version."""
    made_up = " ".join(map("".join, product(BEGINNINGS, ENDINGS.split())))
    stems = " ".join(tokenize(f"{CHANGED_BEFORE} {made_up}"))
    assert tokenizer.VERSION == "1"
    assert sha256(stems.encode()).hexdigest() == "fe8397ce80b2be70a4992fe09ecff25088ac1fa63c211e3e253871b88b1c0596"


def test_a_question_and_a_memory_meet_in_their_stems() -> None:
    assert set(tokenize("When did Ana organise her emergencies?")) <= set(tokenize("Ana organised an emergency drill"))


def test_stop_words_are_words_as_the_analyser_reads_them() -> None:
    assert all(word.isascii() and word.isalpha() and word == word.lower() for word in STOP_WORDS)
    assert {"not", "no", "nor", "don", "t"} <= STOP_WORDS


def test_counts_are_in_order_of_first_occurrence() -> None:
    assert list(count_terms("cats deploy a cat; deploys of cats").items()) == [("cat", 3), ("deploy", 2)]


def test_a_term_is_not_counted_more_often_than_a_store_can_say() -> None:
    assert count_terms("deploy " * (MAX_TERM_COUNT + 1)) == {"deploy": MAX_TERM_COUNT}


@given(anything)
def test_a_key_is_the_hash_of_the_term_as_64_bits(term: str) -> None:
    digest = blake2b(term.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    assert hash_term(term) == int.from_bytes(digest, "little") < 2**64


def test_keys_are_the_same_on_every_machine() -> None:
    assert hash_term("deploy") == 0x06E6_B35E_531F_53B2
