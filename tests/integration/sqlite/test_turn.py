"""Processes write one after the other, in the order they came, and none that dies keeps the others waiting."""

import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from recollect.stores.sqlite.turn import Gate, Line, NoTurn, Turn, turn
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
def test_who_came_first_goes_first(place: str) -> None:
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
def test_one_has_the_turn_at_a_time(place: str, make: Make) -> None:
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
    first.take()
    second.take()
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
