"""Where the memories are: what is typed for a store, and what is told of it."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from recollect.cli.main import cli
from recollect.cli.options import StoreTarget, expand_home
from tests.tables import table

TEA = ("remember", "Ana likes tea", "--scope", "acme/ana")


@table("path", ["agent.db", "~", "~other/agent.db", "a/~/agent.db", "/~/agent.db", ":memory:"])
def test_only_a_home_at_the_beginning_is_one(path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert expand_home(path) == path
    assert expand_home("~/agent.db") == str(tmp_path / "agent.db")


def test_a_store_is_named_by_its_whole_path_and_a_database_without_its_password(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert StoreTarget("agent.db").full_name == str(tmp_path / "agent.db")
    assert StoreTarget(":memory:").full_name == ":memory:"
    secret = StoreTarget("postgresql://ana:secret@db/memories?sslpassword=hidden&connect_timeout=3")
    assert secret.full_name == "postgresql://ana@db/memories?connect_timeout=3"


@pytest.mark.parametrize(("typed", "said"), [(("--db", "~/agent.db"), {}), ((), {"RECOLLECT_DB": "~/agent.db"})])
def test_a_home_that_no_shell_has_seen_is_found(
    typed: tuple[str, ...], said: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "home").mkdir()
    there = {"HOME": str(tmp_path / "home"), "RECOLLECT_EMBEDDER": "hashing", "RECOLLECT_CONFIG": "", **said}
    outcome = CliRunner().invoke(cli, [*typed, *TEA], env=there, catch_exceptions=False)
    assert outcome.exit_code == 0, outcome.output
    assert (tmp_path / "home" / "agent.db").exists()
    assert not (tmp_path / "~").exists()
