"""Processes write one after the other, in the order they came, and none that dies keeps the others waiting."""

import os
import threading
from collections.abc import Callable
from itertools import count
from pathlib import Path

import pytest

from recollect.stores.sqlite import process_lock as lines
from recollect.stores.sqlite.process_lock import Gate, Line, NoTurn, Turn, turn
from tests.integration.sqlite.scene import Other, a_database, a_writer, note, notes

Make = Callable[[str, int], Turn]

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
    monkeypatch.setattr(lines, "STANDSTILL", 60.0)  # a busy machine must not look like a line that stands still
    first = Line(place, 0o600)
    first.take()
    order: list[int] = []

    def wait(number: int) -> None:
        mine = Line(place, 0o600)
        mine.take()
        order.append(number)
        mine.leave()
        mine.close()

    threads = [threading.Thread(target=wait, args=(number,)) for number in range(5)]
    for number, thread in enumerate(threads):
        thread.start()
        wait_until_drawn(place, number + 2)
    first.leave()
    for thread in threads:
        thread.join()
    assert order == [0, 1, 2, 3, 4]
    first.close()


@pytest.mark.parametrize("make", [Gate, pytest.param(Line, marks=needs_locks_of_open_files), turn])
def test_one_has_the_turn_at_a_time(place: str, make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "STANDSTILL", 60.0)
    inside = 0
    most = 0

    def work() -> None:
        nonlocal inside, most
        mine = make(place, 0o600)
        for _ in range(50):
            mine.take()
            inside += 1
            most = max(most, inside)
            os.sched_yield()
            inside -= 1
            mine.leave()
        mine.close()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == 1


def test_without_a_line_nobody_waits() -> None:
    first, second = NoTurn(), NoTurn()
    assert first.take()
    assert second.take(), "though the first has not left"
    first.leave()
    second.close()


def test_the_companion_file_has_the_rights_of_the_database(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    database = a_database(path)
    path.chmod(0o640)
    database.turn().close()
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


@pytest.mark.parametrize("make", [Gate, pytest.param(Line, marks=needs_locks_of_open_files)])
def test_who_waits_goes_past_one_that_does_not_move(
    place: str, make: Callable[[str, int], Gate | Line], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lines, "STANDSTILL", 0.05)
    still, second, third = (make(place, 0o600) for _ in range(3))
    assert still.take()
    assert not second.take()
    second.leave()
    third.take()
    third.leave()
    still.leave()
    for one in (second, third):
        while not one.take():  # until the locks are gone that nobody waits for any more
            one.leave()
        one.leave()
    for one in (still, second, third):
        one.close()


@needs_locks_of_open_files
def test_one_that_was_gone_past_has_its_turn_when_it_moves_again(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "STANDSTILL", 0.05)
    still, second = Line(place, 0o600), Line(place, 0o600)
    assert still.take()
    assert not second.take()
    still.leave()
    assert still.take()
    still.leave()
    second.leave()
    assert second.take()
    for one in (still, second):
        one.close()


@needs_locks_of_open_files
def test_a_line_moves_if_somebody_has_left_who_was_before_us(place: str) -> None:
    first, second, mine, last = (Line(place, 0o600) for _ in range(4))
    assert first.take()
    for one in (second, mine, last):  # as they do who then have to wait
        assert one._got_soon(lines._lock(Line._COUNTER))
        assert one._drawn()

    def stands_still() -> bool:
        return mine._stands_still(mine._open())

    assert stands_still()
    first.leave()
    assert [stands_still(), stands_still()] == [False, True]
    second.leave()
    assert [stands_still(), stands_still()] == [False, True]
    last.leave()
    assert stands_still()  # which is why it could leave
    for one in (first, second, mine, last):
        one.close()


@needs_locks_of_open_files
def test_who_was_overtaken_does_not_wait_for_those_who_overtook_it(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "STANDSTILL", 0.05)
    still, second = Line(place, 0o600), Line(place, 0o600)
    assert still.take()
    over = threading.Event()

    def go_round() -> None:
        """Leave again and again, always with a number behind the second one's."""
        wait_until_drawn(place, 2)
        others = [Line(place, 0o600), Line(place, 0o600)]
        while not over.is_set():
            for other in others:
                other.take()
                other.leave()
        for other in others:
            other.close()

    rushing = threading.Thread(target=go_round)
    rushing.start()
    assert not second.take()
    over.set()
    rushing.join()
    for one in (still, second):
        one.close()


@needs_locks_of_open_files
def test_one_that_is_suspended_while_it_draws_a_number_is_waited_for_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lines, "STANDSTILL", 0.05)
    database = a_database(tmp_path / "store.db")
    other = Other("draws_a_number_for_ever", database.path)
    assert other.hear() == "ready"
    with a_writer(database) as writer:
        writer.write(note("first"))
        monkeypatch.setattr(lines, "STANDSTILL", 3600.0)
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
    first, second, third = (Line(place, 0o600) for _ in range(3))
    assert first.take()
    Path(place).write_bytes(b"")
    assert not second.take()  # its number is the first one's
    second.leave()
    first.leave()
    for _ in range(3):
        for one in (first, second, third):
            one.take()
            one.leave()
    assert third.take()
    for one in (first, second, third):
        one.close()
