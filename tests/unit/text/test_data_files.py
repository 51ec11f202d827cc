"""Data files: word lists and patterns as TOML, read with clear errors."""

import re

import pytest

from recollect.text.data_files import DataFile, load_data_file
from tests.tables import table

FILE = DataFile(
    "en/sample.toml",
    {
        "greetings": "hello\n  good day\n\nhi",
        "plural": {"mouse": "mice", "house": "houses"},
        "lists": {"weekday": "monday, tuesday", "day": "{weekday}, week\n end"},
        "patterns": {"count": r"\d{1,2}", "when": "{count} {day}s?"},
        "rules": [{"kind": "habit", "pattern": "every {weekday}"}],
        "lexicon": {
            "few": {"words": "numbers.small", "first": "one", "last": "two"},
            "number_or_sign": {"words": "numbers.small signs"},
        },
    },
    DataFile("en/lexicon.toml", {"numbers": {"small": "zero one two three"}, "signs": "e.g"}),
)


def test_a_string_gives_words_or_lines() -> None:
    assert FILE.words("greetings") == ("hello", "good", "day", "hi")
    assert FILE.lines("greetings") == ("hello", "good day", "hi")


def test_a_table_gives_a_mapping_in_the_order_of_the_file() -> None:
    assert list(FILE.mapping("plural").items()) == [("mouse", "mice"), ("house", "houses")]


def test_a_fragment_stands_for_a_pattern_or_for_any_word_of_a_list() -> None:
    assert FILE.pattern("patterns.when") == r"\d{1,2} (?:(?:monday|tuesday)|week end)s?"
    assert re.fullmatch(FILE.pattern("patterns.when"), "12 mondays")


def test_a_pattern_in_a_row_is_expanded() -> None:
    assert [FILE.expand(row["pattern"]) for row in FILE.rows("rules")] == ["every (?:monday|tuesday)"]


def test_a_fragment_stands_for_words_of_the_lexicon() -> None:
    assert FILE.lexicon_words("few") == ("one", "two")
    assert FILE.expand("{few} {day}s") == "(?:one|two) (?:(?:monday|tuesday)|week end)s"
    assert FILE.expand("{number_or_sign}") == r"(?:three|zero|one|two|e\.g)"  # the longest first


def test_without_the_lexicon_its_words_cannot_be_read() -> None:
    alone = DataFile("en/alone.toml", {"lexicon": {"few": {"words": "numbers.small"}}})
    with pytest.raises(LookupError, match=re.escape("en/alone.toml is loaded without the lexicon")):
        alone.expand("{few}")


@table(
    ("key", "problem"),
    [
        ("missing", "en/sample.toml has no 'missing'"),
        ("plural.louse", "en/sample.toml has no 'plural.louse'"),
        ("greetings.hello", "en/sample.toml has no 'greetings.hello'"),
    ],
)
def test_a_missing_key_is_named_with_its_file(key: str, problem: str) -> None:
    with pytest.raises(LookupError, match=re.escape(problem)):
        FILE.text(key)


def test_a_fragment_that_the_file_lacks_is_named() -> None:
    with pytest.raises(LookupError, match=re.escape("en/sample.toml has no 'patterns.month'")):
        FILE.expand("every {month}")


def test_a_value_of_another_type_is_refused() -> None:
    with pytest.raises(TypeError, match=re.escape("'plural' in en/sample.toml is not a str")):
        FILE.text("plural")


def test_a_file_is_read_from_the_folder_of_a_package() -> None:
    with pytest.raises(FileNotFoundError):
        load_data_file("recollect.text", "en/absent.toml")
