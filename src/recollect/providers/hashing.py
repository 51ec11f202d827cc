"""An embedder that hashes words: deterministic, offline, and without any meaning."""

import hashlib
import math
import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from recollect.errors import InvalidInput, show
from recollect.model.validation import to_stream_safe
from recollect.protocols import Purpose
from recollect.providers.base import Vectors, clean_texts, normalize_rows

WORD_PATTERN = re.compile(r"\w+")
GRAM_CHARS = 3
"""How many characters of a word make a gram; its start and end count as characters."""

GRAM_WEIGHT = 0.5
"""The weight of a gram; a whole word has weight 1."""


@dataclass(frozen=True, slots=True)
class HashingEmbedder:
    """For tests and demonstrations: texts that share words or parts of words are similar.

    A text without words is hashed as a whole, so it is similar only to itself.
    """

    dimensions: int = 256

    def __post_init__(self) -> None:
        if type(self.dimensions) is not int or self.dimensions < 1:
            raise InvalidInput(f"dimensions is {show(self.dimensions)}; give a whole number of at least 1")

    @property
    def name(self) -> str:
        return f"hashing-{self.dimensions}"

    def embed(self, texts: Sequence[str], purpose: Purpose) -> Vectors:
        """Return a row of numbers for each text, in order."""
        rows = [self._embed_text(text) for text in clean_texts(texts)]
        return normalize_rows(np.array(rows).reshape(len(rows), self.dimensions))

    def _embed_text(self, text: str) -> NDArray[np.float64]:
        """Return the sum of the text's features; the hash of each gives its dimension and sign."""
        features = _extract_features(text)
        digests = (hashlib.blake2b(name.encode(), digest_size=8).digest() for name in features)
        hashes = np.frombuffer(b"".join(digests), "<u8")
        signs = np.where(hashes % 2 == 0, 1.0, -1.0)
        places = (hashes // 2 % self.dimensions).astype(np.intp)
        weights = signs * np.array(list(features.values()))
        return np.bincount(places, weights, self.dimensions).astype(np.float64)


def _extract_features(text: str) -> dict[str, float]:
    """Return words and parts of words, weighted by the square root of their counts."""
    words = Counter(WORD_PATTERN.findall(unicodedata.normalize("NFKC", to_stream_safe(text)).casefold()))
    grams: Counter[str] = Counter()
    for word, times in words.items():
        edged = f"<{word}>"
        for start in range(len(edged) - GRAM_CHARS + 1):
            grams[edged[start : start + GRAM_CHARS]] += times
    features = {f"word {word}": math.sqrt(times) for word, times in words.items()}
    features |= {f"gram {gram}": GRAM_WEIGHT * math.sqrt(times) for gram, times in grams.items()}
    return features or {f"text {text}": 1.0}
