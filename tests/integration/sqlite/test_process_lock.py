"""Processes write one after the other, in the order they came, and none that dies keeps the others waiting."""

import os
import threading
from collections.abc import Callable
from itertools import count
from pathlib import Path

import pytest

from recollect.stores.sqlite import process_lock as lines
from recollect.stores.sqlite.process_lock import FlockLock, NoWriteLock, TicketLock, WriteLock, open_process_lock
from tests.integration.sqlite.scene import Other, a_database, a_writer, note, notes

Make = Callable[[str, int], WriteLock]

needs_locks_of_open_files = pytest.mark.skipif(
    not hasattr(__import__("fcntl"), "F_OFD_SETLKW"), reason="this platform has no locks of open files"
)


@pytest.fixture
def place(tmp_path: Path) -> str:
    return str(tmp_path / "store.db-queue")


def standing(place: str) -> int:
    """How many have ever drawn a number here."""
    with Path(place).open("rb") as file:
        return int.from_bytes(file.read(8), "little")


def wait_until_drawn(place: str, number: int) -> None:
    while standing(place) < number:
        os.sched_yield()


@needs_locks_of_open_files
def test_who_came_first_goes_first(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "STALLED_SECONDS", 60.0)  # a busy machine must not look like a line that stands still
    first = TicketLock(place, 0o600)
    first.acquire()
    order: list[int] = []

    def wait(number: int) -> None:
        mine = TicketLock(place, 0o600)
        mine.acquire()
        order.append(number)
        mine.release()
        mine.close()

    threads = [threading.Thread(target=wait, args=(number,)) for number in range(5)]
    for number, thread in enumerate(threads):
        thread.start()
        wait_until_drawn(place, number + 2)
    first.release()
    for thread in threads:
        thread.join()
    assert order == [0, 1, 2, 3, 4]
    first.close()


@pytest.mark.parametrize(
    "make", [FlockLock, pytest.param(TicketLock, marks=needs_locks_of_open_files), open_process_lock]
)
def test_one_has_the_turn_at_a_time(place: str, make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "STALLED_SECONDS", 60.0)
    inside = 0
    most = 0

    def work() -> None:
        nonlocal inside, most
        mine = make(place, 0o600)
        for _ in range(50):
            mine.acquire()
            inside += 1
            most = max(most, inside)
            os.sched_yield()
            inside -= 1
            mine.release()
        mine.close()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == 1


def test_without_a_line_nobody_waits() -> None:
    first, second = NoWriteLock(), NoWriteLock()
    assert first.acquire()
    assert second.acquire(), "though the first has not left"
    first.release()
    second.close()


def test_the_companion_file_has_the_rights_of_the_database(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    database = a_database(path)
    path.chmod(0o640)
    database.open_write_lock().close()
    mask = os.umask(0)
    os.umask(mask)
    assert (tmp_path / "store.db-queue").stat().st_mode & 0o777 == 0o640 & ~mask


def test_a_process_that_is_killed_in_its_turn_lets_the_next_one_write(tmp_path: Path) -> None:
    database = a_database(tmp_path / "store.db")
    other = Other("holds_the_turn", database.path)
    assert other.hear() == "ready"
    with a_writer(database) as writer:
        waiting = threading.Thread(target=writer.write, args=(note("after all"),))
        waiting.start()
        other.kill()
        waiting.join()
    assert notes(database) == ["after all"]


def test_a_process_that_is_killed_in_a_transaction_leaves_nothing_of_it(tmp_path: Path) -> None:
    database = a_database(tmp_path / "store.db")
    other = Other("is_in_a_change", database.path)
    assert other.hear() == "ready"
    other.kill()
    with a_writer(database) as writer:
        writer.write(note("whole"))
    assert notes(database) == ["whole"]


@needs_locks_of_open_files
def test_a_process_that_is_killed_while_it_stands_in_line_does_not_break_it(tmp_path: Path) -> None:
    database = a_database(tmp_path / "store.db")
    place = f"{database.path}-queue"
    first, second = Other("holds_the_turn", database.path), Other("stands_in_line", database.path)
    assert (first.hear(), second.hear()) == ("ready", "ready")
    wait_until_drawn(place, 2)
    with a_writer(database) as writer:
        waiting = threading.Thread(target=writer.write, args=(note("after both"),))
        waiting.start()
        wait_until_drawn(place, 3)
        second.kill()
        first.tell()
        assert first.end() == ["left"]
        waiting.join()
    assert notes(database) == ["after both"]


# --- a line that does not move


def test_a_process_that_is_suspended_in_line_keeps_nobody_from_writing(tmp_path: Path) -> None:
    database = a_database(tmp_path / "store.db")
    first = Other("holds_the_turn", database.path)
    assert first.hear() == "ready"
    suspended = Other("takes_a_turn", database.path)
    assert suspended.hear() == "ready"
    wait_until_drawn(f"{database.path}-queue", 2)
    suspended.suspend()
    first.tell()
    assert first.end() == ["left"]
    others = [Other("writes", database.path, name, 2, 20) for name in "ab"]
    assert [other.end() for other in others] == [[], []]
    expected = {f"{name} {thread} {number}" for name in "ab" for thread in range(2) for number in range(20)}
    assert set(notes(database)) == expected
    suspended.resume()
    suspended.tell()
    assert suspended.end() == ["taken", "left"]
    with a_writer(database) as writer:
        writer.write(note("after all"))
    assert set(notes(database)) == {*expected, "after all"}


@pytest.mark.parametrize("make", [FlockLock, pytest.param(TicketLock, marks=needs_locks_of_open_files)])
def test_who_waits_goes_past_one_that_does_not_move(
    place: str, make: Callable[[str, int], FlockLock | TicketLock], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lines, "STALLED_SECONDS", 0.05)
    still, second, third = (make(place, 0o600) for _ in range(3))
    assert still.acquire()
    assert not second.acquire()
    second.release()
    third.acquire()
    third.release()
    still.release()
    for one in (second, third):
        while not one.acquire():  # until the locks are gone that nobody waits for any more
            one.release()
        one.release()
    for one in (still, second, third):
        one.close()


@needs_locks_of_open_files
def test_one_that_was_gone_past_has_its_turn_when_it_moves_again(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "STALLED_SECONDS", 0.05)
    still, second = TicketLock(place, 0o600), TicketLock(place, 0o600)
    assert still.acquire()
    assert not second.acquire()
    still.release()
    assert still.acquire()
    still.release()
    second.release()
    assert second.acquire()
    for one in (still, second):
        one.close()


@needs_locks_of_open_files
def test_a_line_moves_if_somebody_has_left_who_was_before_us(place: str) -> None:
    first, second, mine, last = (TicketLock(place, 0o600) for _ in range(4))
    assert first.acquire()
    for one in (second, mine, last):  # as they do who then have to wait
        assert one._lock_unless_stalled(lines._byte_lock(TicketLock._COUNTER_OFFSET))
        assert one._draw_ticket()

    def stands_still() -> bool:
        return mine._is_stalled(mine._open_lock_file())

    assert stands_still()
    first.release()
    assert [stands_still(), stands_still()] == [False, True]
    second.release()
    assert [stands_still(), stands_still()] == [False, True]
    last.release()
    assert stands_still()  # which is why it could leave
    for one in (first, second, mine, last):
        one.close()


@needs_locks_of_open_files
def test_who_was_overtaken_does_not_wait_for_those_who_overtook_it(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "STALLED_SECONDS", 0.05)
    still, second = TicketLock(place, 0o600), TicketLock(place, 0o600)
    assert still.acquire()
    over = threading.Event()

    def go_round() -> None:
        """Leave again and again, always with a number behind the second one's."""
        wait_until_drawn(place, 2)
        others = [TicketLock(place, 0o600), TicketLock(place, 0o600)]
        while not over.is_set():
            for other in others:
                other.acquire()
                other.release()
        for other in others:
            other.close()

    rushing = threading.Thread(target=go_round)
    rushing.start()
    assert not second.acquire()
    over.set()
    rushing.join()
    for one in (still, second):
        one.close()


@needs_locks_of_open_files
def test_one_that_is_suspended_while_it_draws_a_number_is_waited_for_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lines, "STALLED_SECONDS", 0.05)
    database = a_database(tmp_path / "store.db")
    other = Other("draws_a_number_for_ever", database.path)
    assert other.hear() == "ready"
    with a_writer(database) as writer:
        writer.write(note("first"))
        monkeypatch.setattr(lines, "STALLED_SECONDS", 3600.0)
        for number in range(5):
            writer.write(note(f"{number}"))
        assert standing(f"{database.path}-queue") == 0
        other.kill()
        for later in count(5):  # a thread that has given up may be handed the lock before it is free
            writer.write(note(f"{later}"))
            if standing(f"{database.path}-queue"):
                break
        assert standing(f"{database.path}-queue") == 1
    assert notes(database) == ["first", *(f"{number}" for number in range(later + 1))]


@needs_locks_of_open_files
def test_a_line_that_was_cut_is_no_obstacle(place: str) -> None:
    first, second, third = (TicketLock(place, 0o600) for _ in range(3))
    assert first.acquire()
    Path(place).write_bytes(b"")
    assert not second.acquire()  # its number is the first one's
    second.release()
    first.release()
    for _ in range(3):
        for one in (first, second, third):
            one.acquire()
            one.release()
    assert third.acquire()
    for one in (first, second, third):
        one.close()
