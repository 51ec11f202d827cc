"""The cache gives what its embedder gives, and asks it as little as it can."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from copy import copy
from threading import Event
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.errors import InvalidInput, ProviderError
from recollect.protocols import Embedder, Purpose
from recollect.providers import base
from recollect.providers.base import CachedEmbedder, Vectors
from recollect.providers.hashing import HashingEmbedder
from recollect.testing.embedder_contract import EmbedderContract, embed
from tests.tables import table


class Recording:
    """A hashing embedder that remembers what it was asked, and can be disturbed while it works."""

    def __init__(self, disturb: Callable[[], None] = lambda: None) -> None:
        self.asked: list[tuple[str, ...]] = []
        self.name = "recording"
        self.dimensions = 64
        self._disturb = disturb

    def embed(self, texts: Sequence[str], purpose: Purpose) -> Vectors:
        self.asked.append(tuple(texts))
        self._disturb()
        return HashingEmbedder(self.dimensions).embed([f"{purpose} {text}" for text in texts], purpose)


class Liar(Recording):
    """An embedder that gives one vector, whatever it is asked."""

    def embed(self, texts: Sequence[str], purpose: Purpose) -> Vectors:
        return super().embed(texts[:1], purpose)


class TestCached(EmbedderContract):
    @pytest.fixture
    def embedder(self) -> Embedder:
        return CachedEmbedder(HashingEmbedder())


class TestCachedWithRoomForOne(EmbedderContract):
    @pytest.fixture
    def embedder(self) -> Embedder:
        return CachedEmbedder(HashingEmbedder(), size=1)


@given(st.lists(st.lists(st.sampled_from("abcdefgh"))), st.integers(1, 6))
def test_it_gives_what_its_embedder_gives_whatever_it_was_asked_before(calls: list[list[str]], size: int) -> None:
    cached, plain = CachedEmbedder(Recording(), size=size), Recording()
    for texts in calls:
        np.testing.assert_array_equal(embed(cached, *texts), embed(plain, *texts))


def test_it_is_known_whether_its_embedder_failed_when_it_was_last_asked_and_how_often() -> None:
    failures = [ProviderError("it is down"), ZeroDivisionError("its own fault"), InvalidInput("such a text")]

    def fail() -> None:
        if failures:
            raise failures.pop(0)

    cached = CachedEmbedder(Recording(fail))
    seen = [(cached.failing, cached.failures)]
    for _ in range(3):
        with pytest.raises((ProviderError, ZeroDivisionError, InvalidInput)):
            embed(cached, "tea")
        seen.append((cached.failing, cached.failures))
    embed(cached, "tea")
    seen.append((cached.failing, cached.failures))
    assert seen == [(False, 0), (True, 1), (True, 2), (True, 2), (False, 2)]


def test_an_embedder_that_is_silent_for_long_counts_as_one_that_fails_until_it_answers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked, go = Event(), Event()

    def keep_silent() -> None:
        asked.set()
        assert go.wait(60)

    cached = CachedEmbedder(Recording(keep_silent))
    with ThreadPoolExecutor() as threads:
        work = threads.submit(embed, cached, "tea")
        assert asked.wait(60)
        seen = [cached.failing]
        monkeypatch.setattr(base, "MAX_SILENT_SECONDS", 0.0)
        seen.append(cached.failing)
        heir = copy(cached)
        heir.after_fork()
        assert not heir.failing  # a child waits for nothing that its parent asked
        go.set()
        work.result(60)
    assert [*seen, cached.failing, cached.failures] == [False, True, False, 0]


def test_it_is_called_like_its_embedder() -> None:
    cached = CachedEmbedder(HashingEmbedder(8))
    assert (cached.name, cached.dimensions) == ("hashing-8", 8)
    assert repr(cached) == "CachedEmbedder(HashingEmbedder(dimensions=8), size=4096)"


def test_only_what_is_missing_is_asked_for_once_and_in_one_call() -> None:
    inner = Recording()
    cached = CachedEmbedder(inner)
    embed(cached, "a", "b", "a")
    embed(cached, "c", "b", "d", "c")
    embed(cached, "a", "b", "c", "d")
    assert inner.asked == [("a", "b"), ("c", "d")]


def test_nothing_is_asked_for_nothing() -> None:
    inner = Recording()
    assert embed(CachedEmbedder(inner)).shape == (0, 64)
    assert inner.asked == []


def test_a_memory_and_a_query_of_the_same_words_are_two_things() -> None:
    cached = CachedEmbedder(Recording())
    memory, query = (cached.embed(["a"], purpose)[0] for purpose in ("memory", "query"))
    assert not np.array_equal(memory, query)


def test_what_was_used_longest_ago_is_forgotten_first() -> None:
    inner = Recording()
    cached = CachedEmbedder(inner, size=2)
    for text in ("a", "b", "a", "c", "a", "b"):
        embed(cached, text)
    assert inner.asked == [("a",), ("b",), ("c",), ("b",)]


def test_more_texts_than_there_is_room_for_are_all_answered() -> None:
    inner = Recording()
    cached = CachedEmbedder(inner, size=2)
    np.testing.assert_array_equal(embed(cached, "a", "b", "c"), embed(Recording(), "a", "b", "c"))
    embed(cached, "b", "c")
    assert inner.asked == [("a", "b", "c")]


def test_forgetting_empties_it() -> None:
    inner = Recording()
    cached = CachedEmbedder(inner)
    embed(cached, "a")
    cached.forget()
    embed(cached, "a")
    assert inner.asked == [("a",), ("a",)]


def test_what_was_being_embedded_while_it_forgot_is_not_remembered() -> None:
    disturbances: list[Callable[[], None]] = []
    inner = Recording(lambda: disturbances.pop()() if disturbances else None)
    cached = CachedEmbedder(inner)
    disturbances.append(cached.forget)
    embed(cached, "a")
    embed(cached, "a")
    embed(cached, "a")
    assert inner.asked == [("a",), ("a",)]


def test_an_embedder_that_gives_too_few_vectors_is_not_believed() -> None:
    cached = CachedEmbedder(Liar())
    with pytest.raises(ProviderError, match=r"shape \(1, 64\); expected 2 rows of 64 numbers"):
        embed(cached, "a", "b")


@table("size", [0, -1, 1.5, True, None])
def test_a_size_that_cannot_be_is_refused(size: Any) -> None:
    with pytest.raises(InvalidInput, match="give a whole number of at least 1"):
        CachedEmbedder(HashingEmbedder(), size=size)


class Given:
    """An embedder that gives what it is told to."""

    name = "given"
    dimensions = 2

    def __init__(self, rows: Any) -> None:
        self.rows = rows

    def embed(self, texts: Sequence[str], purpose: Purpose) -> Any:
        return self.rows


@table("rows", [[[3.0, 4.0]], ((3, 4),), np.array([[3, 4]]), [np.array([3.0, 4.0])]])
def test_an_embedder_may_give_lists_and_whole_numbers(rows: Any) -> None:
    assert CachedEmbedder(Given(rows)).embed(["a"], "memory").tolist() == [[3.0, 4.0]]


@table("size", [1e-60, 1e300])
def test_numbers_are_kept_as_precise_as_they_came(size: float) -> None:
    cached = CachedEmbedder(Given([[3 * size, 4 * size]]))
    for _ in range(2):
        assert cached.embed(["a"], "memory").tolist() == [[3 * size, 4 * size]]


@table(
    ("rows", "told"),
    [
        (None, "NoneType of object"),
        ([[1.0], [1.0, 2.0]], "rows of different lengths"),
        ((row for row in [[1.0, 2.0]]), "generator of object"),
        ([["a", "b"]], "list of <U1"),
        (np.array([[1j, 2.0]]), "ndarray of complex128"),
        ([[True, False]], "list of bool"),
        ([[1.0, 2.0, 3.0]], "shape (1, 3); expected 1 rows of 2 numbers"),
    ],
)
def test_what_is_no_row_of_numbers_for_each_text_is_refused(rows: Any, told: str) -> None:
    with pytest.raises(ProviderError) as refused:
        CachedEmbedder(Given(rows)).embed(["a"], "memory")
    assert told in str(refused.value)
