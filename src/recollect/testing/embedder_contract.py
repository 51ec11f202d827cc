"""EmbedderContract: the tests that every embedder must pass.

A subclass supplies the fixture `embedder`.
"""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recollect.protocols import Embedder

SAMPLE_TEXTS = [
    "Deploys run on Fridays after review.",
    "Ana prefers window seats and short answers.",
    "用户喜欢简短的回答，不喜欢多余的细节。",
    "a",
    "Why did the release of 2 January fail, and who was asked to look into it? " * 8,
]
"""Ordinary texts, short and long."""

HOSTILE_TEXTS = {
    "empty": "",
    "blank": " \t\n",
    "punctuation": "?!… --",
    "NUL": "before\0after",
    "only NUL": "\0",
    "a lone surrogate": "half \ud83d a face",
    "only a lone surrogate": "\udc00",
    "two halves of a character": "\ud83d\ude00",
    "a character beyond the first plane": "😀",
    "marks without letters": "\u0301\u0302\u200b\u202e\ufeff",
    "a token of the model": "[CLS] <s> </s> [PAD] <|endoftext|>",
    "a megabyte of words": "memory " * 150_000,
    "a megabyte in one word": "x" * 2**20,
    "a megabyte of Han": "记" * 2**18,
}
"""Texts that an embedder must accept without an error: rejecting text is not its task."""

TOLERANCE = 1e-5
"""How far the components of a vector may differ when its text is embedded in another batch."""

Vectors = NDArray[Any]


def embed(embedder: Embedder, *texts: str) -> Vectors:
    """Return the vectors of these texts, embedded as memories."""
    return embedder.embed(texts, "memory")


def check_vectors(vectors: Vectors, count: int, dimensions: int) -> None:
    """Check that these are `count` float32 vectors of length 1."""
    assert vectors.shape == (count, dimensions)
    assert vectors.dtype == np.float32
    assert np.isfinite(vectors).all()
    lengths = np.linalg.norm(vectors.astype(np.float64), axis=1)
    np.testing.assert_allclose(lengths, np.ones(count), rtol=0, atol=1e-6)


class EmbedderContract:
    """The tests of an embedder. A subclass supplies the fixture `embedder`."""

    def test_it_has_a_name_and_dimensions(self, embedder: Embedder) -> None:
        assert embedder.name.strip() == embedder.name != ""
        assert type(embedder.dimensions) is int
        assert embedder.dimensions >= 1

    def test_each_text_gives_a_direction_of_length_one(self, embedder: Embedder) -> None:
        for purpose in ("memory", "query"):
            check_vectors(embedder.embed(SAMPLE_TEXTS, purpose), len(SAMPLE_TEXTS), embedder.dimensions)

    def test_no_texts_give_no_rows(self, embedder: Embedder) -> None:
        check_vectors(embedder.embed([], "memory"), 0, embedder.dimensions)

    def test_the_same_text_gives_the_same_vector_again(self, embedder: Embedder) -> None:
        np.testing.assert_array_equal(embed(embedder, *SAMPLE_TEXTS), embed(embedder, *SAMPLE_TEXTS))

    def test_a_text_has_the_same_vector_alone_and_among_others(self, embedder: Embedder) -> None:
        together = embed(embedder, *SAMPLE_TEXTS)
        alone = np.concatenate([embed(embedder, text) for text in SAMPLE_TEXTS])
        np.testing.assert_allclose(together, alone, rtol=0, atol=TOLERANCE)

    def test_vectors_come_in_the_order_of_the_texts(self, embedder: Embedder) -> None:
        forwards, backwards = embed(embedder, *SAMPLE_TEXTS), embed(embedder, *reversed(SAMPLE_TEXTS))
        np.testing.assert_allclose(forwards, backwards[::-1], rtol=0, atol=TOLERANCE)

    def test_a_text_that_is_there_twice_has_the_same_vector_twice(self, embedder: Embedder) -> None:
        first, _, again = embed(embedder, SAMPLE_TEXTS[0], SAMPLE_TEXTS[1], SAMPLE_TEXTS[0])
        np.testing.assert_allclose(first, again, rtol=0, atol=TOLERANCE)

    def test_different_texts_have_different_vectors(self, embedder: Embedder) -> None:
        likeness = embed(embedder, *SAMPLE_TEXTS) @ embed(embedder, *SAMPLE_TEXTS).T
        assert (likeness[~np.eye(len(SAMPLE_TEXTS), dtype=bool)] < 0.99).all()

    def test_many_texts_at_once_are_no_trouble(self, embedder: Embedder) -> None:
        texts = [f"{SAMPLE_TEXTS[0]} {number}" for number in range(150)]
        vectors = embed(embedder, *texts)
        check_vectors(vectors, len(texts), embedder.dimensions)
        np.testing.assert_allclose(vectors[-1:], embed(embedder, texts[-1]), rtol=0, atol=TOLERANCE)

    def test_whatever_a_text_is_made_of_it_has_a_direction(self, embedder: Embedder) -> None:
        check_vectors(embed(embedder, *HOSTILE_TEXTS.values()), len(HOSTILE_TEXTS), embedder.dimensions)

    def test_what_the_caller_does_to_a_vector_stays_with_the_caller(self, embedder: Embedder) -> None:
        before = embed(embedder, *SAMPLE_TEXTS)
        kept = before.copy()
        before[:] = 0.0
        np.testing.assert_array_equal(embed(embedder, *SAMPLE_TEXTS), kept)

    def test_several_threads_get_what_one_gets(self, embedder: Embedder) -> None:
        expected = [embed(embedder, text) for text in SAMPLE_TEXTS]
        with ThreadPoolExecutor(4) as pool:
            found = list(pool.map(lambda text: embed(embedder, text), SAMPLE_TEXTS * 8))
        np.testing.assert_allclose(found, expected * 8, rtol=0, atol=TOLERANCE)
