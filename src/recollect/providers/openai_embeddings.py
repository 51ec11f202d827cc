"""An embedder behind an address: anything that speaks OpenAI's `/v1/embeddings`."""

from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recollect.errors import InvalidInput, ProviderError, show
from recollect.fork_safety import Lock
from recollect.model import validation
from recollect.protocols import Purpose
from recollect.providers.http_client import PATIENCE, TIMEOUT, Endpoint, Patience, whole_address
from recollect.providers.texts import clean
from recollect.providers.vectors import Vectors, blank, unit

PREFIX = "http:"
"""What the recorded name of such a model begins with: the model is the server's, the address may change."""

PATH = "/embeddings"
MOST_TEXTS = 64
MOST_CHARACTERS = 200_000
"""How much is sent at once; a longer text goes alone."""


class Http:
    """Asks a server for vectors, and believes nothing it says before it is checked.

    `url` is what comes before `/embeddings`, such as `https://host/v1`, or the whole address. `dimensions`, if given,
    are asked for and insisted on; otherwise the first answer tells them. A blank text is not sent: it gives the
    direction `blank`. What is too long for the model is for the server to cut or refuse.
    """

    def __init__(
        self,
        url: str,
        model: str,
        dimensions: int | None = None,
        *,
        key: str | None = None,
        timeout: timedelta = TIMEOUT,
        patience: Patience = PATIENCE,
    ) -> None:
        if dimensions is not None and (type(dimensions) is not int or dimensions < 1):
            raise InvalidInput(f"dimensions is {show(dimensions)}; give a whole number of at least 1")
        self.name = validation.an_id("model", f"{PREFIX}{validation.an_id('model', model)}")
        self._endpoint = Endpoint(whole_address(url, PATH), key=key, timeout=timeout, patience=patience)
        self._request = {"model": model, "encoding_format": "float"}
        self._asked: dict[str, int] = {} if dimensions is None else {"dimensions": dimensions}
        self._dimensions = dimensions
        self._lock = Lock()

    def __repr__(self) -> str:
        return f"Http({str(self._endpoint)!r}, {self._request['model']!r})"

    @property
    def dimensions(self) -> int:
        """How many numbers a vector has; a server that has not been asked anything is asked now."""
        if self._dimensions is None:
            self._ask(["dimensions"])
        return self._agreed(None)

    def embed(self, texts: Sequence[str], purpose: Purpose) -> Vectors:
        """A row of numbers for each text, in their order."""
        texts = clean(texts)
        said = [place for place, text in enumerate(texts) if text.strip()]
        answers = [self._ask([texts[place] for place in batch]) for batch in _batches(said, texts)]
        vectors = np.tile(blank(self.dimensions), (len(texts), 1))
        if answers:
            vectors[said] = unit(np.concatenate(answers))
        return vectors

    def _ask(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """The server's vectors for a batch, checked."""
        answer = self._endpoint.post({**self._request, **self._asked, "input": list(texts)})
        rows = self._rows(answer, len(texts))
        for row in rows:
            if len(row) != self._agreed(len(row)):
                raise self._lie(f"a vector of {len(row)} dimensions, not {self._agreed(None)}")
        try:
            vectors = np.array(rows, dtype=np.float64)
        except OverflowError as error:
            raise self._lie("a number that is too large for one") from error
        if not np.isfinite(vectors).all():
            raise self._lie("a number that is not finite")
        if not vectors.any(axis=1).all():
            raise self._lie("a vector of zeros, which points nowhere")
        return vectors

    def _rows(self, answer: Any, texts: int) -> list[list[float]]:
        """The vectors as lists of numbers, in the order of the texts, whatever order they came in."""
        match answer:
            case {"data": [*items]}:
                pass
            case _:
                raise self._lie("no list called 'data'")
        if len(items) != texts:
            raise self._lie(f"{len(items)} vectors for {texts} texts")
        rows: dict[int, list[float]] = {}
        for item in items:
            match item:
                case {"index": int(index), "embedding": [_, *_] as row} if type(index) is int:
                    rows[index] = list(row)
                case _:
                    raise self._lie("an item without an 'index' and an 'embedding' of numbers")
            if not set(map(type, row)) <= {int, float}:
                raise self._lie("a vector with something in it that is no number")
        if rows.keys() != set(range(texts)):
            raise self._lie(f"the indexes {show(sorted(rows))} for {texts} texts")
        return [rows[place] for place in range(texts)]

    def _agreed(self, found: int | None) -> int:
        """The dimensions, which are those of the first vector found unless they were given."""
        with self._lock.here:
            if self._dimensions is None:
                self._dimensions = found
            return self._dimensions or 0

    def _lie(self, what: str) -> ProviderError:
        return ProviderError(f"{self._endpoint} gave {what}; is {self._request['model']!r} an embedding model there?")


def _batches(places: Sequence[int], texts: Sequence[str]) -> Iterator[list[int]]:
    """The places of the texts that are sent together."""
    batch: list[int] = []
    characters = 0
    for place in places:
        if batch and (len(batch) == MOST_TEXTS or characters + len(texts[place]) > MOST_CHARACTERS):
            yield batch
            batch, characters = [], 0
        batch.append(place)
        characters += len(texts[place])
    if batch:
        yield batch
