"""Which SQLite and how much room on the disk will do."""

from recollect.cli.doctor import LOW_DISK_BYTES, MIN_DISK_BYTES, check_disk, check_sqlite_versions
from recollect.cli.doctor_checks import CheckStatus
from tests.tables import table


@table(
    ("library", "finding"),
    [
        ("3.40.1", CheckStatus.PROBLEM),
        ("3.51.2", CheckStatus.PROBLEM),
        ("3.51.3", CheckStatus.OK),
        ("3.100.0", CheckStatus.OK),
        ("4.0", CheckStatus.OK),
    ],
)
def test_a_sqlite_that_may_lose_what_was_written_is_a_problem(library: str, finding: CheckStatus) -> None:
    check = check_sqlite_versions(library, "3.50.1.0")
    assert check.finding is finding
    assert check.seen.startswith(f"{library}, by apsw 3.50.1.0")


@table(
    ("free", "used", "finding"),
    [
        (MIN_DISK_BYTES - 1, 0, CheckStatus.PROBLEM),
        (MIN_DISK_BYTES, 0, CheckStatus.WARNING),
        (LOW_DISK_BYTES - 1, 0, CheckStatus.WARNING),
        (LOW_DISK_BYTES, 0, CheckStatus.OK),
        (LOW_DISK_BYTES, LOW_DISK_BYTES + 1, CheckStatus.WARNING),
        (LOW_DISK_BYTES + 1, LOW_DISK_BYTES + 1, CheckStatus.OK),
    ],
)
def test_room_is_measured_by_what_is_needed_to_build_the_store_anew(free: int, used: int, finding: CheckStatus) -> None:
    assert check_disk(free, used).finding is finding
