"""Changes that nobody waits for are made in order, and what became of them is told to who asks."""

import threading

import pytest

from recollect.errors import StoreBusy, StoreError
from recollect.stores.sql import deferred
from recollect.stores.sql.deferred import BackgroundWrites


def failing(error: Exception) -> None:
    raise error


def test_they_are_made_in_the_order_they_came_and_waited_for() -> None:
    line, done = BackgroundWrites("store"), list[int]()
    for number in range(100):
        line.add(lambda number=number: done.append(number))  # type: ignore[misc]
    line.flush()
    assert done == list(range(100))
    line.add(lambda: done.append(100))
    line.close()
    assert done[-1] == 100


def test_who_flushes_is_told_how_many_failed_and_the_first_of_them_once() -> None:
    line = BackgroundWrites("store")
    for number in range(3):
        line.add(lambda number=number: failing(ValueError(f"no {number}")))  # type: ignore[misc]
    with pytest.raises(StoreError, match="store: 3 deferred writes failed, the first with: no 0") as told:
        line.flush()
    assert isinstance(told.value.__cause__, ValueError)
    line.flush()
    line.close()


def test_who_closes_while_the_server_is_away_does_not_wait_for_each_of_them() -> None:
    line, tried, closing = BackgroundWrites("store"), list[int](), threading.Event()

    def away(number: int) -> None:
        tried.append(number)
        assert closing.wait(60)
        raise StoreBusy("the server is away")

    for number in range(5):
        line.add(lambda number=number: away(number))  # type: ignore[misc]
    told: list[Exception] = []

    def close() -> None:
        try:
            line.close()
        except StoreBusy as error:
            told.append(error)

    closer = threading.Thread(target=close)
    closer.start()
    while not line._queue.closed:
        closing.wait(0.01)
    closing.set()
    closer.join()
    assert tried == [0]
    assert "5 deferred writes failed" in str(told[0])


def test_nothing_is_taken_after_the_end_also_from_who_waited_for_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deferred, "MAX_WAITING_WRITES", 1)
    line, go_on, began = BackgroundWrites("store"), threading.Event(), threading.Event()

    def slowly() -> None:
        began.set()
        go_on.wait(60)

    line.add(slowly)
    assert began.wait(60)
    line.add(lambda: None)  # which fills the line
    refused: list[Exception] = []

    def add() -> None:
        try:
            line.add(lambda: None)
        except StoreError as error:
            refused.append(error)

    waiting = threading.Thread(target=add)
    waiting.start()
    closer = threading.Thread(target=line.close)
    closer.start()
    waiting.join()
    go_on.set()
    closer.join()
    assert "is closed" in str(refused[0])
    with pytest.raises(StoreError, match="is closed"):
        line.add(lambda: None)
