"""A cache around an embedder: remembers vectors by model, purpose and text."""

import hashlib
import time
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recollect.errors import InvalidInput, show
from recollect.fork_safety import ForkSafeLock, register_fork_aware
from recollect.protocols import Embedder, Purpose
from recollect.providers.texts import clean_texts
from recollect.providers.vectors import check_rows

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
