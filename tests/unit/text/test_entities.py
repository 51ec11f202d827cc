"""Entities: which names a text mentions, and which of its words are none."""

import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from recollect.model.validation import find_invisible_character
from recollect.text.entities import (
    MAX_ENTITIES,
    MAX_NAME_CHARS,
    MAX_TEXT_CHARS,
    canonicalize_name,
    find_candidate_names,
    find_entities,
    may_be_name,
    speaker_entity,
)
from recollect.text.questions import ROLE_LABELS
from tests.tables import table

PIECES = [
    *("Ana", "Souza", "Rio", "de", "Janeiro", "NASA", "GitHub", "parse_line", "ana@acme.com", "@bob", "src/main.py"),
    *("the", "The", "went", "I", "I'm", "Will", "will", "James'", "\u2019s", "`", '"', "\u201c", "\u201d", "'", "."),
    *(
        " ",
        " ",
        "\n",
        "!",
        "://",
        "/",
        "_",
        "-",
        "&",
        "é",
        "e\u0301",
        "ẞ",
        "太郎",
        "\u3164",
        "\u200d",
        "\x7f",
        "\ud800",
    ),
]
texts = st.lists(st.sampled_from(PIECES), max_size=40).map("".join) | st.text(max_size=60)


@table(
    ("text", "names"),
    [
        ("we met Ana Souza in Rio de Janeiro", ["ana souza", "rio de janeiro"]),
        ("Ana works at Access Bank.", ["ana", "access bank"]),
        ("the Bank of America and Ana and Bob", ["bank of america", "ana", "bob"]),
        ("I asked Dr. Smith's friend J. Doe", ["smith", "doe"]),
        ("she read O'Brien\u2019s letter to Jean-Luc", ["o'brien", "jean-luc"]),
        ("James' dog and the Browns' cat", ["james", "browns"]),
        ("it runs on NASA and NYC time, at 9 AM", ["nasa", "nyc"]),
        ("GitHub has it, and so has my iPhone", ["github", "iphone"]),
        ("mail ana@acme.com or @bob, see https://www.github.com/x and docs.python.org.", None),
        ("call parse_line() of DictionaryStore in src/app/main.py or ~/notes", None),
        ("run `make test` twice", ["make test"]),
        ('we read "The Lord of the Rings" and \u201cDune\u201d', ["the lord of the rings", "dune"]),
        ('he said "I love it" and "Yes."', []),
        ("on Friday in May, and on Black Friday", ["black friday"]),
        ("I met Will in May", ["will"]),
        ("and/or he/she, 24/7, 11/05/2023, e.g. this", []),
    ],
)
def test_names_are_found_by_how_they_are_written(text: str, names: list[str] | None) -> None:
    expected = {
        "mail": ["ana@acme.com", "@bob", "github.com", "docs.python.org"],
        "call": ["parse_line", "dictionarystore", "src/app/main.py", "~/notes"],
    }
    assert list(find_entities(text)) == (expected[text[:4]] if names is None else names)


@table(
    ("text", "names"),
    [
        ("Please remember that. When Ana came, we left.", ["ana"]),
        ("Visited Paris last week. It's warm. Don't go.", ["paris"]),
        ("Ahmed left. Ted stayed.", ["ahmed", "ted"]),
        ("Turtles are slow, and turtles are old.", []),
        ("Rome is old. I like Rome.", ["rome"]),
        ("Then there: Hope came. I know Hope.", ["hope"]),
        ("- Lisbon\n- Ask the user", ["lisbon"]),
        ("PLEASE CALL ME BACK ABOUT IT", []),
        ("Notes From The Long Meeting About The Long New Roadmap Of Ours", []),
        ("nothing here", []),
        ("", []),
    ],
)
def test_where_a_sentence_begins_an_ordinary_word_is_no_name(text: str, names: list[str]) -> None:
    assert list(find_entities(text)) == names


def test_who_said_it_is_a_name_of_it_and_a_role_is_none() -> None:
    assert find_entities("I moved to Rome", "Ana  Souza") == ("rome", "ana souza")
    assert find_entities("Ana here", "Ana") == ("ana",)
    for role in sorted(ROLE_LABELS):
        assert find_entities("I moved to Rome", role.title()) == ("rome",)
    assert [speaker_entity(one) for one in (None, "", " ", "\u200d", "x" * 500)] == [None] * 5


@table("form", ["NFC", "NFD"])
def test_a_name_has_one_spelling(form: str) -> None:
    for written in ("José Ávila", "JOSÉ ÁVILA", "José  Ávila's", "José\tÁvila\u2019s"):
        assert canonicalize_name(unicodedata.normalize(form, written)) == "josé ávila"  # type: ignore[arg-type]
    assert find_entities(unicodedata.normalize(form, "with José Ávila")) == ("josé ávila",)  # type: ignore[arg-type]


def test_of_many_names_the_first_are_kept_and_of_a_long_text_the_beginning_is_read() -> None:
    many = [f"Na{chr(97 + n % 26)}{chr(97 + n // 26)}" for n in range(MAX_ENTITIES + 5)]
    assert find_entities(", ".join(["with", *many]), "Zoe") == (*(one.casefold() for one in many[:MAX_ENTITIES]), "zoe")
    assert find_entities("x" * MAX_TEXT_CHARS + " with Ana") == ()


def test_a_question_means_its_names_and_in_small_letters_any_of_its_words() -> None:
    assert set(find_candidate_names("where did Ana Souza put the books?")) >= {"ana souza", "ana", "souza"}
    assert "books" not in find_candidate_names("where did Ana Souza put the books?")
    assert set(find_candidate_names("where did ana souza's sister go?")) >= {"ana", "souza", "ana souza", "sister"}
    assert not {"where", "did", "go", "the"} & set(find_candidate_names("where did the ana go?"))
    assert find_candidate_names("") == ()
    assert [may_be_name(word) for word in ("ana", "x", "the", "friday", "please")] == [True, False, False, False, False]


@given(texts, st.none() | texts)
def test_any_text_has_some_names_or_none_each_once_and_short(text: str, speaker: str | None) -> None:
    found = find_entities(text, speaker)
    assert find_entities(text, speaker) == found
    assert len(found) == len(set(found)) <= MAX_ENTITIES + 1
    for name in found:
        assert 0 < len(name) <= MAX_NAME_CHARS
        assert canonicalize_name(name) in {name, canonicalize_name(name)}
        assert "\n" not in name
        assert name == name.strip()
        assert find_invisible_character(name) is None
    find_candidate_names(text)


@table(
    "piece",
    [
        "a",
        "A ",
        "`",
        '"',
        "A.b@",
        "Aa-",
        "./",
        "a_",
        "\u0301",
        "Ab de ",
        "x\n",
        ".",
        "Ab",
        "' ",
        '"A',
        "/a",
        "a.",
        "a@",
    ],
)
def test_a_megabyte_of_anything_is_read_to_its_end(piece: str) -> None:
    text = piece * (1_000_000 // len(piece))
    assert len(find_entities(text)) <= MAX_ENTITIES
    assert isinstance(find_candidate_names(text), tuple)
