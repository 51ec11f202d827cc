"""`recollect config`, `--config` and `--setting`: what is set, where it comes from, and that commands go by it."""

import json
import os
import subprocess
import sys
import tomllib
from collections.abc import Mapping
from functools import reduce
from operator import getitem
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from recollect.cli.main import cli
from recollect.config import OPTIONS, Settings
from tests.tables import table

from .shell import Shell

ANA = ("--scope", "acme/ana")


@pytest.fixture(autouse=True)
def nothing_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in [name for name in os.environ if name.startswith("RECOLLECT_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "xdg"))
    monkeypatch.chdir(tmp_path)


def run(*arguments: str, code: int = 0, env: Mapping[str, str] | None = None) -> Result:
    outcome = CliRunner().invoke(cli, arguments, env=env, catch_exceptions=False)
    assert outcome.exit_code == code, outcome.output
    return outcome


def origins(*arguments: str, **environment: str) -> dict[str, dict[str, object]]:
    """Every setting by its name, with its origin."""
    rows = json.loads(run(*arguments, "config", "show", "--origin", "--json", env=environment).stdout)
    return {row.pop("name"): row for row in rows}


def a_file(path: Path, text: str) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return str(path)


def test_every_setting_is_shown_as_toml_which_is_a_configuration(tmp_path: Path) -> None:
    shown = run("config", "show").stdout
    document = tomllib.loads(shown)
    for path, option in OPTIONS.items():
        if option.default is None:
            assert f"\n# {option.name} is not set" in f"\n{shown}", path
        else:
            assert reduce(getitem, path.split("."), document) == option.default, path
    a_file(tmp_path / "all.toml", shown)
    said = sum(1 for option in OPTIONS.values() if option.default is not None)
    assert run("config", "check", "all.toml").stdout == f"all.toml is a valid configuration with {said} settings\n"
    a_file(tmp_path / "one.toml", "busy_timeout = 1")
    assert run("config", "check", "one.toml").stdout == "one.toml is a valid configuration with 1 setting\n"


def test_each_origin_is_named(tmp_path: Path) -> None:
    a_file(tmp_path / "agent.toml", "[novelty]\nenabled = true\nthreshold = 0.7\n[duplicates]\nthreshold = 0.8\n")
    options = ("--config", "agent.toml", "--setting", "duplicates.threshold=0.95")
    shown = run(*options, "config", "show", "--origin", env={"RECOLLECT_NOVELTY_THRESHOLD": "0.9"}).stdout.splitlines()
    assert "enabled = true  # agent.toml, line 2" in shown
    assert "threshold = 0.9  # RECOLLECT_NOVELTY_THRESHOLD" in shown
    assert "threshold = 0.95  # --setting" in shown
    assert "busy_timeout = 30.0  # default" in shown
    rows = origins(*options, RECOLLECT_NOVELTY_THRESHOLD="0.9")
    assert rows["novelty.enabled"] == {"value": True, "origin": "file", "file": "agent.toml", "line": 2}
    assert rows["novelty.threshold"] == {
        "value": 0.9,
        "origin": "environment",
        "variable": "RECOLLECT_NOVELTY_THRESHOLD",
    }
    assert rows["duplicates.threshold"] == {"value": 0.95, "origin": "flag", "flag": "--setting"}
    assert rows["busy_timeout"] == {"value": 30.0, "origin": "default"}
    assert rows.keys() == OPTIONS.keys()


def test_alone_it_shows_them() -> None:
    for options in ([], ["--origin"], ["--json"], ["--origin", "--json"]):
        assert run("config", *options).stdout == run("config", "show", *options).stdout


def test_without_being_asked_no_origin_is_named() -> None:
    assert "default" not in run("config", "show").stdout
    assert all("origin" not in row for row in json.loads(run("config", "show", "--json").stdout))


def test_a_key_is_set_or_not_and_never_shown() -> None:
    keys = {"RECOLLECT_EMBEDDER_KEY": "k-1", "RECOLLECT_EXTRACTION_KEY": "k-2"}
    shown = run("config", "show", "--origin", env=keys).output
    assert "# embedder_key is set  # RECOLLECT_EMBEDDER_KEY\n" in shown
    assert "# key is set  # RECOLLECT_EXTRACTION_KEY\n" in shown
    rows = origins(**keys)
    assert rows["extraction.key"]["set"] is rows["embedder_key"]["set"] is True
    assert origins()["embedder_key"]["set"] is False
    told = run("config", "show", "--origin", "--json", env=keys).output
    assert not [key for key in keys.values() for output in (shown, told) if key in output]


@pytest.mark.parametrize("path", [path for path, option in OPTIONS.items() if option.secret])
def test_a_key_in_a_file_or_an_option_is_refused_with_its_variable(path: str, tmp_path: Path) -> None:
    option = OPTIONS[path]
    header = "" if option.section is None else f"[{option.section}]\n"
    a_file(tmp_path / "a.toml", f"{header}{option.name} = 'k-1'\n")
    for outcome in (
        run("config", "check", "a.toml", code=2),
        run("--config", "a.toml", "config", "show", code=2),
        run("--setting", f"{path}=k-1", "config", "show", code=2),
    ):
        assert f"set {option.variable} in the environment" in outcome.stderr
        assert "k-1" not in outcome.output


def test_the_users_file_is_read_and_that_of_the_working_directory_is_not(tmp_path: Path) -> None:
    a_file(tmp_path / "recollect.toml", "busy_timeout = 1")
    assert origins()["busy_timeout"]["origin"] == "default"
    users = a_file(tmp_path / "xdg" / "recollect" / "config.toml", "busy_timeout = 2")
    assert origins()["busy_timeout"] == {"value": 2.0, "origin": "file", "file": users, "line": 1}
    assert origins(RECOLLECT_CONFIG="recollect.toml")["busy_timeout"]["file"] == "recollect.toml"
    named = a_file(tmp_path / "c.toml", "")
    assert origins("--config", named, RECOLLECT_CONFIG="recollect.toml")["busy_timeout"]["origin"] == "default"
    assert origins(RECOLLECT_CONFIG="")["busy_timeout"]["origin"] == "default"


@table("command", [["config", "show"], ["profiles", "list"], ["list", *ANA]])
def test_what_is_typed_before_a_command_is_refused_whatever_the_command_needs(command: list[str]) -> None:
    assert "configuration file 'nope.toml' does not exist" in run("--config", "nope.toml", *command, code=3).stderr
    assert "--config is empty" in run("--config", "", *command, code=2).stderr
    wrong = run("--setting", "novelty.treshold=1", *command, code=2).stderr
    assert "'novelty.treshold': unknown setting; did you mean 'novelty.threshold'?" in wrong


def test_a_broken_file_of_the_user_is_in_the_way_of_no_command_that_needs_no_settings(tmp_path: Path) -> None:
    users = a_file(tmp_path / "xdg" / "recollect" / "config.toml", "[novelty]\nenabled = 7\n")
    run("profiles", "list")
    run("--help")
    run("config", "check", a_file(tmp_path / "sound.toml", ""))
    for command in (["config", "show"], ["remember", "seat", *ANA]):
        refused = run(*command, code=2).stderr
        assert refused == (
            f"Error: field 'novelty.enabled': 7 is neither true nor false; it comes from {users}, line 2\n"
        )
    assert not (tmp_path / "recollect.db").exists()


def test_options_behind_the_command_are_told_to_stand_before_it() -> None:
    told = run("list", *ANA, "--config", "a.toml", code=2).stderr
    assert "--config belongs before the command: recollect --config FILE COMMAND …" in told
    told = run("list", *ANA, "--setting", "a=b", code=2).stderr
    assert "--setting belongs before the command: recollect --setting NAME=VALUE COMMAND …" in told


def test_a_command_goes_by_the_file_and_the_options(tmp_path: Path, shell: Shell) -> None:
    store = ("--db", str(shell.store))
    a_file(tmp_path / "agent.toml", "embedder = 'hashing'\n")
    run(*store, "--config", "agent.toml", "remember", "Ana prefers window seats", *ANA)
    assert json.loads(run(*store, "stats", "--json").stdout)["embedder"]["name"] == "hashing-256"
    search = ("search", "seats", *ANA, "--profile", "salience", "--explain")
    assert "rarity" in run(*store, *search).stdout
    assert "rarity" not in run(*store, "--setting", "usage_decay.enabled=no", *search).stdout
    assert "rarity" in run(*store, *search).stdout  # it was for that run


def test_an_embedder_that_a_file_names_wrongly_is_told_with_its_line(tmp_path: Path, shell: Shell) -> None:
    shell("remember", "something", *ANA)
    a_file(tmp_path / "agent.toml", "\nembedder = 'hashing-64'\n")
    outcome = run("--db", str(shell.store), "--config", "agent.toml", "list", *ANA, code=2)
    assert outcome.stderr.endswith("; agent.toml, line 2 sets an embedder: remove it\n")


def test_a_variable_that_sets_nothing_is_told_beside_the_settings() -> None:
    outcome = run("config", "show", env={"RECOLLECT_NOVELTY_TRESHOLD": "0.9"})
    assert outcome.stderr == "RECOLLECT_NOVELTY_TRESHOLD is not a setting; did you mean RECOLLECT_NOVELTY_THRESHOLD?\n"
    assert "sets nothing" not in outcome.stdout


def test_a_check_is_of_the_file_alone(tmp_path: Path) -> None:
    a_file(tmp_path / "agent.toml", "[extraction]\nextractor = 'llm'\n")
    outcome = run("config", "check", "agent.toml", "--json", env={"RECOLLECT_BUSY_TIMEOUT": "soon"})
    rows = {row["name"]: row for row in json.loads(outcome.stdout)}
    assert rows["extraction.extractor"] == {
        "name": "extraction.extractor",
        "value": "llm",
        "origin": "file",
        "file": "agent.toml",
        "line": 2,
    }
    assert rows["busy_timeout"]["value"] == Settings().busy_timeout
    assert "configuration file 'nope.toml' does not exist" in run("config", "check", "nope.toml", code=3).stderr


def test_names_of_settings_are_completed() -> None:
    words = "recollect --setting novelty."
    told = {"_RECOLLECT_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": "2"}
    script = "from recollect.cli.main import cli; cli(prog_name='recollect')"
    outcome = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env={**os.environ, **told})
    offered = [line.partition(",")[2] for line in outcome.stdout.splitlines()]
    assert offered == ["novelty.enabled=", "novelty.threshold="]


def test_a_ranking_without_a_store_goes_by_the_settings_too(tmp_path: Path) -> None:
    a_file(tmp_path / "a.jsonl", '{"id": "a", "similarity": 0.7, "served": 3, "salience": 0.5}\n')
    ranked = ("rank", "--profile", "salience", "a.jsonl")
    assert "rarity" in run(*ranked).stdout
    assert "rarity" not in run("--setting", "usage_decay.enabled=no", *ranked).stdout
    assert "salience, version 1," in run(*ranked).stdout
    assert "salience, version 1+" in run("--setting", "usage_decay.decay_factor=0.3", *ranked).stdout
