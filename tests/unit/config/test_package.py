"""Settings, and profiles by name or file."""

import os
from pathlib import Path

import pytest

from recollect import config
from recollect.errors import FieldError, NotFound, ProfileError
from recollect.ranking.profiles import PROFILE_TEXTS, builtin_profile
from tests.platforms import posix_only
from tests.tables import table


def test_a_profile_comes_by_name_or_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "session.toml"
    file.write_text(PROFILE_TEXTS["session"], encoding="utf-8")
    assert config.profile("session") == config.profile(file) == config.profile(str(file)) == builtin_profile("session")


def test_overrides_apply_to_either() -> None:
    assert config.profile("session", {"min_score": 0.2}).min_score == 0.2


@pytest.mark.parametrize("content", [b"\xff", b"about = "])
def test_a_file_that_is_no_profile_is_refused(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "broken.toml"
    file.write_bytes(content)
    with pytest.raises(ProfileError, match="broken"):
        config.profile(file)


def test_a_file_that_is_not_there_is_not_found_and_a_folder_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match=r"profile file .*nope\.toml' does not exist"):
        config.profile(tmp_path / "nope.toml")
    (tmp_path / "folder.toml").mkdir()
    with pytest.raises(ProfileError, match="cannot read"):
        config.profile(tmp_path / "folder.toml")


@posix_only
def test_a_pipe_or_a_device_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.toml")
    with pytest.raises(ProfileError, match=r"cannot read .*: it is not a regular file"):
        config.profile(tmp_path / "pipe.toml")
    (tmp_path / "mine.toml").write_text("report = 'mine.report.json'\n" + PROFILE_TEXTS["session"])
    (tmp_path / "mine.report.json").symlink_to("/dev/zero")
    with pytest.raises(ProfileError, match=r"cannot read its report 'mine.report.json': it is not a regular file"):
        config.load_checked_profile_file(tmp_path / "mine.toml")


def test_a_setting_is_the_one_given_else_the_environments_else_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("EMBEDDER", "EMBEDDER_KEY", "BUSY_TIMEOUT", "CACHE_BYTES"):
        monkeypatch.delenv(f"RECOLLECT_{name}", raising=False)
    assert config.load_settings() == config.Settings()
    monkeypatch.setenv("RECOLLECT_EMBEDDER", "hashing")
    monkeypatch.setenv("RECOLLECT_EMBEDDER_KEY", "k-1")
    monkeypatch.setenv("RECOLLECT_BUSY_TIMEOUT", "2.5")
    monkeypatch.setenv("RECOLLECT_CACHE_BYTES", "1024")
    assert config.load_settings() == config.Settings(
        embedder="hashing", embedder_key="k-1", busy_timeout=2.5, cache_bytes=1024
    )
    assert config.load_settings({"busy_timeout": 1}).busy_timeout == 1
    assert config.load_settings({"busy_timeout": 1}).cache_bytes == 1024
    whole = config.Settings(cache_bytes=7)
    assert config.load_settings(whole) is whole


@table(
    ("given", "problem"),
    [
        ({"busy_timout": 1}, "field 'busy_timout': unknown setting; did you mean 'busy_timeout'"),
        ({"busy_timeout": 0}, "field 'busy_timeout'"),
        ({"busy_timeout": float("inf")}, "field 'busy_timeout'"),
        ({"busy_timeout": "5"}, "field 'busy_timeout'"),
        ({"cache_bytes": -1}, "field 'cache_bytes'"),
        ({"cache_bytes": 1.5}, "field 'cache_bytes'"),
        ({"embedder": 7}, "field 'embedder': 7 is not text"),
        ({"embedder_key": b"secret"}, "field 'embedder_key': bytes is not a string"),
    ],
)
def test_a_setting_that_cannot_be_is_refused_by_name(given: dict[str, object], problem: str) -> None:
    with pytest.raises(FieldError, match=problem):
        config.load_settings(given)


def test_a_key_is_never_shown() -> None:
    assert "k-1" not in repr(config.Settings(embedder_key="k-1"))
