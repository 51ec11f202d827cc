"""The installation: what is new enough, and where models that were made can be kept."""

from pathlib import Path

import pytest

from recollect.cli.doctor_checks import (
    MIN_PYTHON,
    Check,
    CheckStatus,
    check_cache_folders,
    check_platform,
    format_megabytes,
    ok,
)
from tests.tables import table


@table(
    ("version", "finding"),
    [((3, 10, 99), CheckStatus.PROBLEM), ((*MIN_PYTHON, 0), CheckStatus.OK), ((4, 0, 0), CheckStatus.OK)],
)
def test_a_python_that_is_too_old_is_a_problem(version: tuple[int, ...], finding: CheckStatus) -> None:
    _, check = check_platform(version)
    assert (check.finding, check.seen) == (finding, ".".join(map(str, version)))


def test_a_cache_is_told_with_its_size(tmp_path: Path) -> None:
    (tmp_path / "graph").write_bytes(b"x" * 250_000)
    (tmp_path / "folder").mkdir()
    assert check_cache_folders([tmp_path]) == ok("model cache", f"{tmp_path} has 0.2 MB")


def test_a_cache_that_is_not_there_yet_is_not_made(tmp_path: Path) -> None:
    folder = tmp_path / "deep" / "down"
    assert check_cache_folders([folder]) == ok("model cache", f"{folder} is created when it is needed")
    assert list(tmp_path.iterdir()) == []


def test_where_the_first_folder_cannot_be_the_next_one_is_taken(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert check_cache_folders([tmp_path / "file" / "cache", tmp_path]).seen.startswith(str(tmp_path))


@pytest.mark.parametrize("folders", [[], ["file"], ["file/below"]], ids=str)
def test_where_nothing_can_be_kept_there_is_a_warning(folders: list[str], tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    check = check_cache_folders([tmp_path / name for name in folders])
    assert check.finding is CheckStatus.WARNING
    assert check.remedy is not None
    assert "XDG_CACHE_HOME" in check.remedy


def test_bytes_are_told_in_megabytes() -> None:
    assert [format_megabytes(count) for count in (0, 1_500_000, 2 * 10**9)] == ["0.0 MB", "1.5 MB", "2,000.0 MB"]


def test_a_check_is_a_value() -> None:
    assert ok("python", "3.11") == Check("python", CheckStatus.OK, "3.11")
