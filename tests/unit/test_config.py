"""Profiles by name or file."""

from pathlib import Path

import pytest

from recollect import config
from recollect.errors import NotFound, ProfileError
from recollect.ranking.profiles import TEXTS, built_in


def test_a_profile_comes_by_name_or_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "session.toml"
    file.write_text(TEXTS["session"], encoding="utf-8")
    assert config.profile("session") == config.profile(file) == config.profile(str(file)) == built_in("session")


def test_overrides_apply_to_either() -> None:
    assert config.profile("session", {"min_score": 0.2}).min_score == 0.2


@pytest.mark.parametrize("content", [b"\xff", b"about = "])
def test_a_file_that_is_no_profile_is_refused(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "broken.toml"
    file.write_bytes(content)
    with pytest.raises(ProfileError, match="broken"):
        config.profile(file)


def test_a_file_that_is_not_there_is_not_found_and_a_folder_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match=r"no profile file .*nope\.toml"):
        config.profile(tmp_path / "nope.toml")
    (tmp_path / "folder.toml").mkdir()
    with pytest.raises(ProfileError, match="cannot be read"):
        config.profile(tmp_path / "folder.toml")
