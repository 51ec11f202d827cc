"""The place: which SQLite and how much room will do."""

from recollect.diagnosis.sqlite_store import LITTLE_ROOM, NO_ROOM, room, sqlite_of
from recollect.model.diagnosis import Finding
from tests.tables import table


@table(
    ("library", "finding"),
    [
        ("3.40.1", Finding.PROBLEM),
        ("3.51.2", Finding.PROBLEM),
        ("3.51.3", Finding.OK),
        ("3.100.0", Finding.OK),
        ("4.0", Finding.OK),
    ],
)
def test_a_sqlite_that_may_lose_what_was_written_is_a_problem(library: str, finding: Finding) -> None:
    check = sqlite_of(library, "3.50.1.0")
    assert check.finding is finding
    assert check.seen.startswith(f"{library}, by apsw 3.50.1.0")


@table(
    ("free", "used", "finding"),
    [
        (NO_ROOM - 1, 0, Finding.PROBLEM),
        (NO_ROOM, 0, Finding.WARNING),
        (LITTLE_ROOM - 1, 0, Finding.WARNING),
        (LITTLE_ROOM, 0, Finding.OK),
        (LITTLE_ROOM, LITTLE_ROOM + 1, Finding.WARNING),
        (LITTLE_ROOM + 1, LITTLE_ROOM + 1, Finding.OK),
    ],
)
def test_room_is_measured_by_what_is_needed_to_build_the_store_anew(free: int, used: int, finding: Finding) -> None:
    assert room(free, used).finding is finding
