"""An embedder for any server that implements OpenAI's `/v1/embeddings`."""

from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recollect.errors import InvalidInput, ProviderError, show
from recollect.fork_safety import ForkSafeLock
from recollect.model import validation
from recollect.protocols import Purpose
from recollect.providers.base import Vectors, blank_vector, clean_texts, normalize_rows
from recollect.providers.http_client import DEFAULT_RETRY_POLICY, DEFAULT_TIMEOUT, Endpoint, RetryPolicy, complete_url

MODEL_NAME_PREFIX = "http:"
"""The prefix of recorded model names, which do not contain the address: it may change."""

EMBEDDINGS_PATH = "/embeddings"
MAX_BATCH_TEXTS = 64
MAX_BATCH_CHARS = 200_000
"""How many characters are sent at once; a longer text is sent alone."""


class OpenAIEmbedder:
    """Requests vectors from a server and checks every answer.

    `url` is the part before `/embeddings`, such as `https://host/v1`, or the whole address. `dimensions`, if given,
    are requested and required; otherwise the first answer determines them. A blank text is not sent: its vector is
    `blank_vector`. A text that is too long for the model is left to the server to truncate or refuse.
    """

    def __init__(
        self,
        url: str,
        model: str,
        dimensions: int | None = None,
        *,
        key: str | None = None,
        timeout: timedelta = DEFAULT_TIMEOUT,
        patience: RetryPolicy = DEFAULT_RETRY_POLICY,
    ) -> None:
        if dimensions is not None and (type(dimensions) is not int or dimensions < 1):
            raise InvalidInput(f"dimensions is {show(dimensions)}; give a whole number of at least 1")
        self.name = validation.require_id("model", f"{MODEL_NAME_PREFIX}{validation.require_id('model', model)}")
        self._endpoint = Endpoint(complete_url(url, EMBEDDINGS_PATH), key=key, timeout=timeout, patience=patience)
        self._request = {"model": model, "encoding_format": "float"}
        self._dimensions_option: dict[str, int] = {} if dimensions is None else {"dimensions": dimensions}
        self._dimensions = dimensions
        self._lock = ForkSafeLock()

    def __repr__(self) -> str:
        return f"OpenAIEmbedder({str(self._endpoint)!r}, {self._request['model']!r})"

    @property
    def dimensions(self) -> int:
        """The dimensions of a vector; the first access may send a request."""
        if self._dimensions is None:
            self._request_vectors(["dimensions"])
        return self._agree_on_dimensions(None)

    def embed(self, texts: Sequence[str], purpose: Purpose) -> Vectors:
        """Return a row of numbers for each text, in order."""
        texts = clean_texts(texts)
        filled = [index for index, text in enumerate(texts) if text.strip()]
        answers = [
            self._request_vectors([texts[index] for index in batch]) for batch in _split_into_batches(filled, texts)
        ]
        vectors = np.tile(blank_vector(self.dimensions), (len(texts), 1))
        if answers:
            vectors[filled] = normalize_rows(np.concatenate(answers))
        return vectors

    def _request_vectors(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """Request the vectors of a batch and check them."""
        answer = self._endpoint.post({**self._request, **self._dimensions_option, "input": list(texts)})
        rows = self._read_rows(answer, len(texts))
        for row in rows:
            if len(row) != self._agree_on_dimensions(len(row)):
                raise self._bad_answer(f"a vector of {len(row)} dimensions, not {self._agree_on_dimensions(None)}")
        try:
            vectors = np.array(rows, dtype=np.float64)
        except OverflowError as error:
            raise self._bad_answer("a number that is too large") from error
        if not np.isfinite(vectors).all():
            raise self._bad_answer("a number that is not finite")
        if not vectors.any(axis=1).all():
            raise self._bad_answer("a vector of zeros")
        return vectors

    def _read_rows(self, answer: Any, texts: int) -> list[list[float]]:
        """Return the vectors as lists of numbers, in the order of the texts."""
        match answer:
            case {"data": [*items]}:
                pass
            case _:
                raise self._bad_answer("no list 'data'")
        if len(items) != texts:
            raise self._bad_answer(f"{len(items)} vectors for {texts} texts")
        rows: dict[int, list[float]] = {}
        for item in items:
            match item:
                case {"index": int(index), "embedding": [_, *_] as row} if type(index) is int:
                    rows[index] = list(row)
                case _:
                    raise self._bad_answer("an item without an 'index' and an 'embedding' of numbers")
            if not set(map(type, row)) <= {int, float}:
                raise self._bad_answer("a vector with a value that is not a number")
        if rows.keys() != set(range(texts)):
            raise self._bad_answer(f"the indexes {show(sorted(rows))} for {texts} texts")
        return [rows[place] for place in range(texts)]

    def _agree_on_dimensions(self, length: int | None) -> int:
        """Return the dimensions; unless they are configured, the first vector determines them."""
        with self._lock.rlock:
            if self._dimensions is None:
                self._dimensions = length
            return self._dimensions or 0

    def _bad_answer(self, problem: str) -> ProviderError:
        model = self._request["model"]
        return ProviderError(f"{self._endpoint} returned {problem}; check that {model!r} is an embedding model")


def _split_into_batches(indexes: Sequence[int], texts: Sequence[str]) -> Iterator[list[int]]:
    """Yield batches of texts to send together, as lists of indexes."""
    batch: list[int] = []
    characters = 0
    for index in indexes:
        if batch and (len(batch) == MAX_BATCH_TEXTS or characters + len(texts[index]) > MAX_BATCH_CHARS):
            yield batch
            batch, characters = [], 0
        batch.append(index)
        characters += len(texts[index])
    if batch:
        yield batch
