"""The embedder from nothing but hashing keeps the promises of every embedder, and a few of its own."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.errors import InvalidInput
from recollect.protocols import Embedder
from recollect.providers.hashing import HashingEmbedder
from recollect.testing.embedder_contract import EmbedderContract, check_vectors, embed
from tests.tables import table

ANY_TEXT = st.text(st.characters(exclude_categories=()))


class TestHashing(EmbedderContract):
    @pytest.fixture
    def embedder(self) -> Embedder:
        return HashingEmbedder()


def likeness(one: str, other: str) -> float:
    first, second = embed(HashingEmbedder(1024), one, other)
    return float(first @ second)


@given(st.lists(ANY_TEXT, max_size=4), st.integers(1, 64))
def test_any_texts_have_directions_in_any_number_of_dimensions(texts: list[str], dimensions: int) -> None:
    check_vectors(embed(HashingEmbedder(dimensions), *texts), len(texts), dimensions)


def test_its_name_says_how_many_dimensions_it_has() -> None:
    assert [(one.name, one.dimensions) for one in (HashingEmbedder(), HashingEmbedder(1024))] == [
        ("hashing-256", 256),
        ("hashing-1024", 1024),
    ]


def test_texts_that_share_words_are_nearer_than_texts_that_do_not() -> None:
    asked = "when do deploys run?"
    assert likeness(asked, "deploys run on Fridays") > 0.3 > likeness(asked, "Ana likes window seats")


def test_texts_that_share_parts_of_words_are_nearer_than_texts_that_do_not() -> None:
    assert likeness("deploying", "deployment") > 0.3 > likeness("deploying", "vacation")


@table(("one", "other"), [("DEPLOY", "deploy"), ("deploy", "deploy!"), ("ﬁsh", "fish")])
def test_case_punctuation_and_ligatures_make_no_difference(one: str, other: str) -> None:
    assert likeness(one, other) == pytest.approx(1.0)


@table("text", ["", "?!", " ", "😀"])
def test_a_text_without_words_is_near_to_itself_and_to_nothing_else(text: str) -> None:
    assert likeness(text, text) == pytest.approx(1.0)
    assert abs(likeness(text, f"{text}…")) < 0.5
    assert abs(likeness(text, "deploys run on Fridays")) < 0.5


def test_vectors_are_the_same_on_every_machine_and_in_every_version() -> None:
    expected = np.array([-1, -4, -1, 0, 0, 0, 0, 2]) / math.sqrt(22)
    np.testing.assert_allclose(embed(HashingEmbedder(8), "deploys run")[0], expected, rtol=0, atol=1e-7)


@table("dimensions", [0, -1, 2.0, True, "256", None])
def test_dimensions_that_cannot_be_are_refused(dimensions: Any) -> None:
    with pytest.raises(InvalidInput, match="give a whole number of at least 1"):
        HashingEmbedder(dimensions)
