"""Keys made, listed and revoked from the command line; two who add one at once lose none."""

import os
import re
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from recollect.api.keys import KeyFile

from .shell import ENVIRONMENT, Shell

READ = ("--right", "read", "--scope", "acme")


@pytest.fixture
def own(tmp_path: Path) -> tuple[str, str]:
    return ("--setting", f"server.keys={tmp_path / 'own' / 'keys.json'}")


@pytest.mark.parametrize("said", [("--right", "read", "--right", "write"), ("--right", "write, read")], ids=" ".join)
def test_a_key_is_shown_once_and_listed_by_what_it_allows(
    said: tuple[str, ...], shell: Shell, own: tuple[str, str], tmp_path: Path
) -> None:
    rights = (*said, "--scope", "acme/ana", "--scope", "acme/bo")
    made = shell(*own, "keys", "add", "agent-7", *rights, "--expires", "90d", "--provenance", "tool_external")
    assert re.fullmatch(r"rk_[0-9a-f]{12}_[\w-]{43}\n", made.stdout)
    assert "shown only once" in made.stderr
    (told,) = shell.json(*own, "keys", "list")["keys"]
    until = datetime.fromisoformat(told.pop("expires_at")) - datetime.fromisoformat(told.pop("created_at"))
    assert timedelta(days=89) < until <= timedelta(days=90)
    assert told == {
        "id": made.stdout.split("_")[1],
        "name": "agent-7",
        "grants": [{"rights": ["read", "write"], "reach": f"acme/{one}"} for one in ("ana", "bo")],
        "provenance": "tool_external",
    }
    line = shell(*own, "keys", "list").stdout
    assert "read write in acme/ana, read write in acme/bo" in line
    assert made.stdout.strip().split("_", 2)[2] not in line + (tmp_path / "own" / "keys.json").read_text()
    assert shell(*own, "keys", "revoke", told["id"]).stdout == f"revoked {told['id']} of agent-7\n"
    assert shell.json(*own, "keys", "list") == {"keys": []}
    assert "recollect keys list" in shell(*own, "keys", "revoke", told["id"], code=3).stderr
    assert not shell.store.exists()


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("ana", "--right", "read"), "--scope acme/ana, or use --whole-store"),
        (("ana", *READ, "--whole-store"), "Use --scope or --whole-store, not both."),
        (("ana", "--scope", "acme"), "--right"),
        (("ana", "--right", "rule", "--scope", "acme"), "--right"),
        (("ana", "--right", "read,rule", "--scope", "acme"), "'rule'"),
        (("ana", "--right", "read,", "--scope", "acme"), "--right"),
        (("ana", "--right", "read", "--scope", "*"), "use --whole-store"),
        (("ana", "--right", "read", "--scope", "acme//x"), "scope"),
        (("ana/bo", *READ), "has a slash"),
        (("", *READ), "name"),
        (("ana", *READ, "--expires", "soon"), "write a duration, such as 90d"),
        (("ana", *READ, "--expires", "9" * 400 + "d"), "--expires"),
        (("ana", *READ, "--expires", "99999999d"), "--expires"),
        (("ana", *READ, "--expires", "0d"), "is in the past"),
        (("ana", *READ, "--expires", "2020-01-01T00:00Z"), "is in the past"),
        (("ana", *READ, "--provenance", "king"), "--provenance"),
    ],
)
def test_a_key_that_makes_no_sense_is_refused(
    arguments: tuple[str, ...], told: str, shell: Shell, own: tuple[str, str], tmp_path: Path
) -> None:
    assert told in shell(*own, "keys", "add", *arguments, code=2).stderr
    assert not (tmp_path / "own" / "keys.json").exists()


def test_what_is_made_and_revoked_is_told_as_json(shell: Shell, own: tuple[str, str]) -> None:
    made = shell.json(*own, "keys", "add", "ana", *READ)
    assert made.pop("key").startswith(f"rk_{made['id']}_")
    assert shell.json(*own, "keys", "revoke", made["id"]) == {"revoked": made}


def test_a_key_is_revoked_by_its_name_if_no_other_has_it(shell: Shell, own: tuple[str, str]) -> None:
    first, second = (shell.json(*own, "keys", "add", "ana", *READ)["id"] for _ in range(2))
    several = shell(*own, "keys", "revoke", "ana", code=2).stderr
    assert first in several
    assert second in several
    shell(*own, "keys", "revoke", first)
    assert shell(*own, "keys", "revoke", "ana").stdout == f"revoked {second} of ana\n"
    none = shell(*own, "keys", "list")
    assert (none.stdout, "there are no keys in " in none.stderr) == ("", True)


def test_a_key_expires_at_its_moment(shell: Shell, own: tuple[str, str], tmp_path: Path) -> None:
    moment = datetime.now(UTC) + timedelta(hours=1)
    shell(*own, "keys", "add", "ana", *READ, "--expires", moment.isoformat())
    (key,) = KeyFile(tmp_path / "own" / "keys.json").keys().values()
    assert key.is_valid(moment - timedelta(microseconds=1))
    assert not key.is_valid(moment)


def test_several_who_add_a_key_at_once_lose_none(own: tuple[str, str], tmp_path: Path) -> None:
    command = [sys.executable, "-m", "recollect", *own, "keys", "add"]
    there = {**os.environ, **ENVIRONMENT}
    processes = [
        subprocess.Popen(
            [*command, f"agent-{number}", *READ], env=there, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        for number in range(4)
    ]
    for one in processes:
        _, told = one.communicate(timeout=60)
        assert one.returncode == 0, told
    kept = KeyFile(tmp_path / "own" / "keys.json").keys().values()
    assert sorted(one.name for one in kept) == [f"agent-{number}" for number in range(4)]


def test_keys_are_beside_the_configuration_of_the_user(shell: Shell, tmp_path: Path) -> None:
    shell("keys", "add", "ana", *READ, XDG_CONFIG_HOME=str(tmp_path / "home"))
    made = tmp_path / "home" / "recollect" / "keys.json"
    assert made.stat().st_mode & 0o777 == 0o600
    made.chmod(0o644)
    assert "chmod 600" in shell("keys", "list", code=2, XDG_CONFIG_HOME=str(tmp_path / "home")).stderr


def test_whoever_makes_a_key_is_told_what_that_means_for_the_token_and_for_a_name_that_is_taken(
    shell: Shell, own: tuple[str, str]
) -> None:
    first, second, again = (shell(*own, "keys", "add", name, *READ).stderr for name in ("ana", "bo", "ana"))
    assert ["the token" in one for one in (first, second, again)] == [True, False, False]
    assert ["ana already had a key" in one for one in (first, second, again)] == [False, False, True]
