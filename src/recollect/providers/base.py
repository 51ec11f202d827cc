"""Shared parts of the embedders: checked vectors and texts, and wrappers around an embedder.

Vectors are float32 of length 1, never zero. Texts are lists of well-formed Unicode. `ConstantEmbedder` serves recalls
with a known vector, `MissingEmbedder` opens a store whose model is not installed, and `CachedEmbedder` caches vectors
by model, purpose and text.
"""

import hashlib
import json
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from recollect.errors import InvalidInput, ProviderError, RecollectError, show
from recollect.fork_safety import ForkSafeLock, register_fork_aware
from recollect.protocols import Embedder, Purpose

Vector = NDArray[np.float32]
"""One vector of length 1."""

Vectors = NDArray[np.float32]
"""Vectors of length 1, one per row."""


def check_rows(vectors: object, shape: tuple[int, int], name: str) -> NDArray[np.floating[Any]]:
    """Return an embedder's vectors as an array of floats; raise for another shape or type."""
    expected = f"expected {shape[0]} rows of {shape[1]} numbers"
    try:
        rows = np.asarray(vectors)
    except (TypeError, ValueError) as error:
        raise ProviderError(f"embedder {name!r} returned rows of different lengths; {expected}") from error
    if rows.shape != shape or rows.dtype.kind not in "fiu":
        description = f"{type(vectors).__name__} of {rows.dtype}, shape {rows.shape}"
        raise ProviderError(f"embedder {name!r} returned {description}; {expected}")
    return rows if rows.dtype in (np.float32, np.float64) else rows.astype(np.float64)


def normalize_rows(rows: NDArray[Any]) -> Vectors:
    """Scale each row to length 1; a row of zeros becomes `blank_vector`."""
    rows = rows.astype(np.float64)
    largest = np.abs(rows).max(axis=1, initial=0.0, keepdims=True)
    rows[largest[:, 0] == 0.0] = blank_vector(rows.shape[1])
    rows /= np.where(largest == 0.0, 1.0, largest)  # so that squares neither overflow nor underflow
    rows /= np.sqrt(np.square(rows).sum(axis=1, keepdims=True))
    return rows.astype(np.float32)


def blank_vector(dimensions: int) -> Vectors:
    """Return the vector of a blank text: the last axis, which is far from the vectors of other texts."""
    vector = np.zeros(dimensions, dtype=np.float32)
    vector[-1] = 1.0
    return vector


def clean_texts(texts: Sequence[str]) -> list[str]:
    """Return the texts as well-formed Unicode; raise for a single string instead of a list."""
    if isinstance(texts, str | bytes) or not isinstance(texts, Sequence):
        raise InvalidInput(f"texts is {show(texts)}; give a list of texts")
    return [_repair_surrogates(index, text) for index, text in enumerate(texts)]


def _repair_surrogates(index: int, text: str) -> str:
    """Replace lone surrogates with U+FFFD, as decoders do, and join surrogate pairs."""
    if not isinstance(text, str):
        raise InvalidInput(f"texts[{index}] is {show(text)}; give a text")
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


NUMPY_TYPES: Mapping[str, str] = {"F16": "<f2", "F32": "<f4", "I64": "<i8"}
"""The number types of our models, by their name in a safetensors header."""


def read_tensors(content: bytes) -> dict[str, NDArray[Any]]:
    """Read every tensor of a trusted safetensors file without copying.

    The file has the length of its header, a JSON header, and then the numbers.
    """
    start = 8 + int.from_bytes(content[:8], "little")
    header = json.loads(content[8:start])
    return {name: _read_tensor(content, start, entry) for name, entry in header.items() if name != "__metadata__"}


def _read_tensor(content: bytes, start: int, entry: Mapping[str, Any]) -> NDArray[Any]:
    first, end = entry["data_offsets"]
    type_ = np.dtype(NUMPY_TYPES[entry["dtype"]])
    numbers = np.frombuffer(content, type_, count=(end - first) // type_.itemsize, offset=start + first)
    return numbers.reshape(entry["shape"])


T = TypeVar("T")


class Lazy(Generic[T]):
    """Calls `make` once for all threads; if it fails, the next call tries again."""

    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make
        self._lock = ForkSafeLock()
        self._values: list[T] = []

    def __call__(self) -> T:
        with self._lock.rlock:
            if not self._values:
                self._values.append(self._make())
            return self._values[0]


@dataclass(frozen=True, slots=True, eq=False)
class ConstantEmbedder:
    """Returns the same vector for every text, in place of a model that may not be installed."""

    name: str
    vector: Vector

    @property
    def dimensions(self) -> int:
        return len(self.vector)

    def embed(self, texts: Sequence[str], purpose: Purpose) -> Vectors:
        """Return the same vector for each text."""
        return np.tile(self.vector, (len(texts), 1))


@dataclass(frozen=True, slots=True)
class MissingEmbedder:
    """Stands in for the model of a store's vectors if it is not installed.

    The store can be read; only embedding fails.
    """

    name: str
    dimensions: int
    problem: RecollectError

    def embed(self, texts: Sequence[str], purpose: Purpose) -> Vectors:
        """Raise an error that says what is missing, and how to change the store's model."""
        raise ProviderError(
            f"{self.problem}; or change the store's model: `recollect admin re-embed --embedder wordllama`"
        ) from self.problem


FloatRows = NDArray[np.floating[Any]]
"""The numbers of a text, in the embedder's own precision."""

MAX_CACHED_VECTORS = 4096
"""How many vectors are cached: 6 MB for 384 dimensions."""

MAX_SILENT_SECONDS = 20.0
"""How many seconds an embedder may take before it counts as failing."""


class CachedEmbedder:
    """An embedder with a cache: it embeds only unknown texts, each at most once per call.

    It keeps the `size` most recently used vectors. Texts are not kept, only their digests. Two threads that need the
    same new text at the same time may both embed it.
    """

    def __init__(self, embedder: Embedder, size: int = MAX_CACHED_VECTORS) -> None:
        if type(size) is not int or size < 1:
            raise InvalidInput(f"size is {show(size)}; give a whole number of at least 1")
        self._embedder = embedder
        self._size = size
        self._lock = ForkSafeLock()
        self._cache: OrderedDict[bytes, FloatRows] = OrderedDict()
        self._failed = False
        self._started_at: dict[object, float] = {}
        self.failures = 0
        """How often the embedder has failed."""
        register_fork_aware(self)

    def __repr__(self) -> str:
        return f"CachedEmbedder({self._embedder!r}, size={self._size})"

    @property
    def name(self) -> str:
        return self._embedder.name

    @property
    def dimensions(self) -> int:
        return self._embedder.dimensions

    @property
    def failing(self) -> bool:
        """Whether the last request failed, or one has been waiting for too long."""
        with self._lock.rlock:
            oldest = min(self._started_at.values(), default=None)
        return self._failed or (oldest is not None and time.monotonic() - oldest > MAX_SILENT_SECONDS)

    def embed(self, texts: Sequence[str], purpose: Purpose) -> FloatRows:
        """Return a row of numbers for each text, in order."""
        texts = clean_texts(texts)
        keys = [hashlib.sha256("\0".join((self.name, purpose, text)).encode()).digest() for text in texts]
        vectors, cache = self._get_cached(keys)
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in vectors}
        if missing:
            new = dict(zip(missing, self._embed_checked(list(missing.values()), purpose), strict=True))
            self._add_to_cache(new, cache)
            vectors |= new
        return np.array([vectors[key] for key in keys]) if keys else np.empty((0, self.dimensions), np.float32)

    def _embed_checked(self, texts: list[str], purpose: Purpose) -> FloatRows:
        """Embed the texts and count failures; rejecting a text is not a failure of the embedder."""
        try:
            with self._track_request():
                vectors = self._embedder.embed(texts, purpose)
            rows = check_rows(vectors, (len(texts), self.dimensions), self.name)
        except InvalidInput:
            raise
        except BaseException:
            with self._lock.rlock:
                self.failures += 1
            self._failed = True
            raise
        self._failed = False
        return rows

    @contextmanager
    def _track_request(self) -> Iterator[None]:
        """Record when a request started, until it ends."""
        request = object()
        with self._lock.rlock:
            self._started_at[request] = time.monotonic()
        try:
            yield
        finally:
            with self._lock.rlock:
                self._started_at.pop(request, None)  # a forked child has no entry of its parent's requests

    def after_fork(self) -> None:
        """Forget the requests of the parent process."""
        self._started_at = {}

    def forget(self) -> None:
        """Empty the cache; vectors that are being computed now are not added either."""
        with self._lock.rlock:
            self._cache = OrderedDict()

    def _get_cached(self, keys: Sequence[bytes]) -> tuple[dict[bytes, FloatRows], object]:
        """Return the cached vectors, and the cache they came from; `forget` replaces the cache."""
        with self._lock.rlock:
            vectors = {key: self._cache[key] for key in keys if key in self._cache}
            for key in vectors:
                self._cache.move_to_end(key)
            return vectors, self._cache

    def _add_to_cache(self, new: dict[bytes, FloatRows], cache: object) -> None:
        with self._lock.rlock:
            if self._cache is not cache:
                return
            for key, vector in new.items():
                self._cache[key] = vector.copy()  # a view would keep the whole batch alive
                self._cache.move_to_end(key)
            while len(self._cache) > self._size:
                self._cache.popitem(last=False)
