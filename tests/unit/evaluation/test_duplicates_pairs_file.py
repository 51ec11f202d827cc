"""The labelled pairs that near-duplicate decisions are measured on: whether the file itself is sound."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

from recollect.evaluation import duplicates
from tests.tables import table

FILE = Path(duplicates.__file__).with_name("pairs.jsonl")
CATEGORIES = {
    "same": {
        "articles",
        "casing",
        "contraction",
        "date notation",
        "markdown",
        "number notation",
        "order",
        "paraphrase",
        "plural",
        "politeness",
        "punctuation",
        "spelling",
        "unit notation",
    },
    "update": {
        "amount",
        "date",
        "name",
        "negation",
        "number",
        "place",
        "preference",
        "role",
        "status",
        "time",
        "unit",
        "version",
    },
    "other": {
        "attribute",
        "condition",
        "detail",
        "former",
        "item",
        "kin",
        "person",
        "plan",
        "question",
        "schedule",
        "site",
        "swapped",
        "thing",
    },
}
MEANING_BEARING = {"number", "date", "name", "negation", "unit"}
"""What must never be taken as the same; each is a category of updates."""
REQUIRED = {"id", "old", "new", "label", "category"}
OPTIONAL = {"speaker", "note"}
LINES = FILE.read_text(encoding="utf-8").splitlines()
PAIRS: list[dict[str, Any]] = [json.loads(line) for line in LINES]


def test_every_line_has_the_fields_and_no_others() -> None:
    for pair in PAIRS:
        assert set(pair) >= REQUIRED, pair
        assert set(pair) <= REQUIRED | OPTIONAL, pair


def test_every_field_is_a_text_that_is_not_blank() -> None:
    for pair in PAIRS:
        for name, value in pair.items():
            assert isinstance(value, str), (pair["id"], name)
            assert value.strip() == value != "", (pair["id"], name)


def test_ids_count_up_from_one() -> None:
    assert [pair["id"] for pair in PAIRS] == [f"p{number:03d}" for number in range(1, len(PAIRS) + 1)]


def test_every_category_belongs_to_its_label() -> None:
    for pair in PAIRS:
        assert pair["category"] in CATEGORIES.get(pair["label"], set()), pair["id"]


def test_no_category_stands_for_two_labels() -> None:
    names = [name for categories in CATEGORIES.values() for name in categories]
    assert len(names) == len(set(names))


def test_no_pair_is_there_twice_in_either_direction() -> None:
    seen = Counter(frozenset((pair["old"], pair["new"])) for pair in PAIRS)
    assert [texts for texts, count in seen.items() if count > 1] == []


def test_the_two_texts_of_a_pair_differ() -> None:
    assert [pair["id"] for pair in PAIRS if pair["old"] == pair["new"]] == []


def test_texts_are_at_most_sixty_words_long() -> None:
    longest = max(len(pair[side].split()) for pair in PAIRS for side in ("old", "new"))
    assert longest <= 60


@table(("label", "least"), [("same", 220), ("update", 180), ("other", 200)])
def test_there_are_enough_pairs_of_each_label(label: str, least: int) -> None:
    assert sum(pair["label"] == label for pair in PAIRS) >= least


@table("category", sorted(name for names in CATEGORIES.values() for name in names))
def test_every_category_has_at_least_ten_pairs(category: str) -> None:
    assert sum(pair["category"] == category for pair in PAIRS) >= 10


def test_there_are_enough_true_paraphrases() -> None:
    assert sum(pair["category"] == "paraphrase" for pair in PAIRS) >= 90


def test_there_are_enough_meaning_bearing_pairs() -> None:
    assert CATEGORIES["update"] >= MEANING_BEARING
    assert sum(pair["category"] in MEANING_BEARING for pair in PAIRS) >= 120


def test_the_file_stays_small() -> None:
    assert FILE.stat().st_size < 120_000
