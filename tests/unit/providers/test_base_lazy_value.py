"""A value that is made when it is first needed, and only then."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

from recollect.providers.base import Lazy


def test_nothing_is_made_before_it_is_needed_and_then_once() -> None:
    made: list[object] = []

    def make() -> object:
        made.append(object())
        return made[-1]

    lazily = Lazy(make)
    assert made == []
    assert lazily() is lazily()
    assert len(made) == 1


def test_threads_that_ask_at_the_same_time_get_the_same_value() -> None:
    together = Barrier(4)
    lazily = Lazy(object)

    def ask(_: int) -> object:
        together.wait()
        return lazily()

    with ThreadPoolExecutor(4) as pool:
        assert len(set(pool.map(ask, range(4)))) == 1


def test_after_a_failure_the_next_one_tries_again() -> None:
    outcomes = [OSError("not yet"), None]

    def make() -> str:
        outcome = outcomes.pop(0)
        if outcome is not None:
            raise outcome
        return "made"

    lazily = Lazy(make)
    with pytest.raises(OSError, match="not yet"):
        lazily()
    assert lazily() == "made"
