"""Vectors as an embedder gives them: float32 directions of length 1, never zero.

Texts as an embedder takes them: a list of well-formed Unicode.

Tensors in a safetensors file: a length, a JSON header, then the numbers.

Lazily: a value that is made when it is first needed.

An embedder that gives every text the one direction it was made with: for recalling what is known already.

An embedder that is not installed: a store can be read without it, and whatever needs it says what is missing.

A cache around an embedder: remembers vectors by model, purpose and text.
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
"""One direction."""

Vectors = NDArray[np.float32]
"""One direction per row."""


def check_rows(given: object, shape: tuple[int, int], name: str) -> NDArray[np.floating[Any]]:
    """What an embedder gave, be it lists, as an array of floats; refused if it is not what was promised."""
    wanted = f"it promised {shape[0]} rows of {shape[1]} numbers"
    try:
        found = np.asarray(given)
    except (TypeError, ValueError) as error:
        raise ProviderError(f"embedder {name!r} gave rows of different lengths; {wanted}") from error
    if found.shape != shape or found.dtype.kind not in "fiu":
        what = f"{type(given).__name__} of {found.dtype}, shape {found.shape}"
        raise ProviderError(f"embedder {name!r} gave {what}; {wanted}")
    return found if found.dtype in (np.float32, np.float64) else found.astype(np.float64)


def normalize_rows(rows: NDArray[Any]) -> Vectors:
    """Each row scaled to length 1; a row of zeros, which points nowhere, becomes `blank_vector`."""
    rows = rows.astype(np.float64)
    largest = np.abs(rows).max(axis=1, initial=0.0, keepdims=True)
    rows[largest[:, 0] == 0.0] = blank_vector(rows.shape[1])
    rows /= np.where(largest == 0.0, 1.0, largest)  # so that no square is too large or too small for a float
    rows /= np.sqrt(np.square(rows).sum(axis=1, keepdims=True))
    return rows.astype(np.float32)


def blank_vector(dimensions: int) -> Vectors:
    """The direction of a text that says nothing: the last axis, to which what says something is hardly near."""
    vector = np.zeros(dimensions, dtype=np.float32)
    vector[-1] = 1.0
    return vector


def clean_texts(texts: Sequence[str]) -> list[str]:
    """The texts, each well formed; one text instead of a list is refused, for its letters are not meant."""
    if isinstance(texts, str | bytes) or not isinstance(texts, Sequence):
        raise InvalidInput(f"texts is {show(texts)}; give a list of texts")
    return [_repair_surrogates(place, text) for place, text in enumerate(texts)]


def _repair_surrogates(place: int, text: str) -> str:
    """The text with U+FFFD for half a character (a lone surrogate), as decoders do; two halves become one."""
    if not isinstance(text, str):
        raise InvalidInput(f"texts has {show(text)} at {place}, which is no text")
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


NUMPY_TYPES: Mapping[str, str] = {"F16": "<f2", "F32": "<f4", "I64": "<i8"}
"""The number types our models have, by the name they go by in the header."""


def read_tensors(content: bytes) -> dict[str, NDArray[Any]]:
    """Every tensor of the file by its name, without copying; the content is trusted to be one we know."""
    start = 8 + int.from_bytes(content[:8], "little")
    header = json.loads(content[8:start])
    return {name: _read_tensor(content, start, told) for name, told in header.items() if name != "__metadata__"}


def _read_tensor(content: bytes, start: int, told: Mapping[str, Any]) -> NDArray[Any]:
    first, end = told["data_offsets"]
    type_ = np.dtype(NUMPY_TYPES[told["dtype"]])
    numbers = np.frombuffer(content, type_, count=(end - first) // type_.itemsize, offset=start + first)
    return numbers.reshape(told["shape"])


T = TypeVar("T")


class Lazy(Generic[T]):
    """Calls `make` once, however many threads ask; if it fails, the next one to ask tries again."""

    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make
        self._lock = ForkSafeLock()
        self._made: list[T] = []

    def __call__(self) -> T:
        with self._lock.rlock:
            if not self._made:
                self._made.append(self._make())
            return self._made[0]


@dataclass(frozen=True, slots=True, eq=False)
class ConstantEmbedder:
    """Speaks for a model that need not be installed, as long as only this direction is asked for."""

    name: str
    vector: Vector

    @property
    def dimensions(self) -> int:
        return len(self.vector)

    def embed(self, texts: Sequence[str], purpose: Purpose) -> Vectors:
        """The same row of numbers for each text."""
        return np.tile(self.vector, (len(texts), 1))


@dataclass(frozen=True, slots=True)
class MissingEmbedder:
    """Stands for the model of a store's vectors where it is not to be had."""

    name: str
    dimensions: int
    problem: RecollectError

    def embed(self, texts: Sequence[str], purpose: Purpose) -> Vectors:
        """No vectors, but what is missing, and the other way out."""
        raise ProviderError(
            f"{self.problem}; or change the store's model: `recollect admin re-embed --embedder wordllama`"
        ) from self.problem


FloatRows = NDArray[np.floating[Any]]
"""The numbers of a text, as precise as the embedder gave them."""

MAX_CACHED_VECTORS = 4096
"""How many vectors are remembered: 6 MB of 384 dimensions."""

MAX_SILENT_SECONDS = 20.0
"""For how many seconds an embedder may be silent before it counts as one that fails."""


class CachedEmbedder:
    """The same embedder, which asks only for what it does not remember, at most once per call.

    Remembers the `size` vectors used last; texts are not kept, only their digests. Two threads that ask for the same
    new text at the same time may both have it embedded.
    """

    def __init__(self, embedder: Embedder, size: int = MAX_CACHED_VECTORS) -> None:
        if type(size) is not int or size < 1:
            raise InvalidInput(f"size is {show(size)}; give a whole number of at least 1")
        self._embedder = embedder
        self._size = size
        self._lock = ForkSafeLock()
        self._known: OrderedDict[bytes, FloatRows] = OrderedDict()
        self._failed = False
        self._asked_at: dict[object, float] = {}
        self.failures = 0
        """How often it has failed."""
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
        """Whether the embedder failed when it was last asked, or has been silent for long."""
        with self._lock.rlock:
            oldest = min(self._asked_at.values(), default=None)
        return self._failed or (oldest is not None and time.monotonic() - oldest > MAX_SILENT_SECONDS)

    def embed(self, texts: Sequence[str], purpose: Purpose) -> FloatRows:
        """A row of numbers for each text, in their order."""
        texts = clean_texts(texts)
        keys = [self._key(text, purpose) for text in texts]
        found, known = self._get_cached(keys)
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in found}
        if missing:
            new = dict(zip(missing, self._embed_checked(list(missing.values()), purpose), strict=True))
            self._add_to_cache(new, known)
            found |= new
        return np.array([found[key] for key in keys]) if keys else np.empty((0, self.dimensions), np.float32)

    def _embed_checked(self, texts: list[str], purpose: Purpose) -> FloatRows:
        """What the embedder gives, with a note of whether it does; that a text cannot be is no failure of it."""
        try:
            with self._track_request():
                given = self._embedder.embed(texts, purpose)
            rows = check_rows(given, (len(texts), self.dimensions), self.name)
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
        """Note since when an answer is waited for."""
        one = object()
        with self._lock.rlock:
            self._asked_at[one] = time.monotonic()
        try:
            yield
        finally:
            with self._lock.rlock:
                self._asked_at.pop(one, None)  # a child has none of its parent's

    def after_fork(self) -> None:
        """Wait for nothing that the parent asked."""
        self._asked_at = {}

    def forget(self) -> None:
        """Remember nothing, not even what is being embedded at this moment."""
        with self._lock.rlock:
            self._known = OrderedDict()

    def _get_cached(self, keys: Sequence[bytes]) -> tuple[dict[bytes, FloatRows], object]:
        """What is known of these, and where it is known from: another place, once all was forgotten."""
        with self._lock.rlock:
            found = {key: self._known[key] for key in keys if key in self._known}
            for key in found:
                self._known.move_to_end(key)
            return found, self._known

    def _add_to_cache(self, new: dict[bytes, FloatRows], known: object) -> None:
        with self._lock.rlock:
            if self._known is not known:
                return
            for key, vector in new.items():
                self._known[key] = vector.copy()  # a view would keep the whole batch alive
                self._known.move_to_end(key)
            while len(self._known) > self._size:
                self._known.popitem(last=False)

    def _key(self, text: str, purpose: Purpose) -> bytes:
        return hashlib.sha256("\0".join((self.name, purpose, text)).encode()).digest()
