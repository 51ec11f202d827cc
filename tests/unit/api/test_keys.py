"""Keys: who is let in by which, how they are kept, and that a broken file lets nobody in."""

import json
import os
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from recollect.api.auth import WHOLE_STORE, Grant, Right, parse_reach
from recollect.api.keys import (
    SECRET_BYTES,
    ApiKey,
    KeyFile,
    authenticate_key,
    create_authenticator,
    describe_key,
    issue_key,
    read_or_create_token,
    read_private_file,
)
from recollect.errors import FieldError, InvalidInput, NotFound, RecollectError, Unauthenticated
from recollect.model.enums import Provenance
from tests.platforms import posix_only

NOW = datetime(2026, 11, 17, 9, 0, tzinfo=UTC)
GRANTS = (Grant(frozenset({Right.READ}), parse_reach("acme/ana")),)


def a_key(name: str = "ana", *, until: datetime | None = None) -> tuple[ApiKey, str]:
    return issue_key(name, GRANTS, at=NOW, expires_at=until)


@pytest.fixture
def file(tmp_path: Path) -> KeyFile:
    return KeyFile(tmp_path / "kept" / "keys.json")


@posix_only
def test_a_key_lets_its_caller_in_and_only_its_digest_is_kept(file: KeyFile) -> None:
    key, text = a_key()
    file.add(key)
    assert authenticate_key(file.keys(), text, NOW).name == "ana"
    written = file.path.read_text(encoding="utf-8")
    assert text.split("_", 2)[2] not in written
    assert "digest" not in describe_key(key)
    assert file.path.stat().st_mode & 0o777 == 0o600
    assert file.path.parent.stat().st_mode & 0o777 == 0o700


def test_a_key_is_read_as_it_was_written(file: KeyFile) -> None:
    grants = (Grant(frozenset(Right), WHOLE_STORE), Grant(frozenset({Right.READ}), parse_reach("acme")))
    key, _ = issue_key("tool", grants, at=NOW, expires_at=NOW + timedelta(days=1), provenance=Provenance.TOOL_EXTERNAL)
    file.add(key)
    assert KeyFile(file.path).keys() == {key.id: key}


def test_every_key_that_does_not_hold_is_refused_in_the_same_words(file: KeyFile) -> None:
    (key, text), (short, expired) = a_key(), a_key("bo", until=NOW + timedelta(hours=1))
    file.add(key)
    file.add(short)
    mark, id, secret = text.split("_", 2)
    later = NOW + timedelta(hours=1)
    wrong = [None, "", "rk", "rk__", id, secret, f"{mark}_{id}_", f"{mark}_{id}_{secret}x", f"xx_{id}_{secret}"]
    wrong += [f"{mark}_0_{secret}", text.upper(), f" {text}", "\udcff", "é", "x" * 100_000, expired]
    told = set()
    for shown in wrong:
        with pytest.raises(Unauthenticated) as raised:
            authenticate_key(file.keys(), shown, later)
        told.add(str(raised.value))
    assert len(told) == 1
    assert authenticate_key(file.keys(), expired, NOW).name == "bo"


def test_a_running_server_sees_what_was_added_and_revoked(file: KeyFile) -> None:
    server, (key, text) = KeyFile(file.path), a_key()
    authenticate = create_authenticator(server, None, lambda: NOW)
    with pytest.raises(Unauthenticated):
        authenticate(text)
    file.add(key)
    assert authenticate(text).name == "ana"
    assert file.revoke(key.id) == key
    with pytest.raises(Unauthenticated):
        authenticate(text)
    with pytest.raises(NotFound, match="recollect keys list"):
        file.revoke(key.id)


def test_whoever_is_refused_is_told_what_lets_in_now_and_alike_whatever_was_shown(file: KeyFile) -> None:
    token, (key, text) = "t" * 43, a_key()

    def told(token: str | None) -> str:
        """The one thing that everybody is told."""
        found = set()
        for shown in (None, "", "wrong", "t" * 42, text, "rk_0_0"):
            with pytest.raises(Unauthenticated) as raised:
                create_authenticator(file, token, lambda: NOW + timedelta(days=9))(shown)
            found.add(str(raised.value))
        (only,) = found
        return only

    assert "send the token of the server's owner" in told(token)
    assert "so it refuses all requests; create one with `recollect keys add`" in told(None)
    file.add(replace(key, expires_at=NOW + timedelta(days=1)))
    assert "the token of the server's owner is not accepted" in told(token)
    assert told(token) == told(None)
    assert str(file.path.parent) not in told(token)


def test_the_token_is_good_as_long_as_there_is_no_key(file: KeyFile, tmp_path: Path) -> None:
    token = read_or_create_token(tmp_path / "token")
    authenticate = create_authenticator(file, token, lambda: NOW)
    assert authenticate(token).name == "owner"
    for shown in (None, "", token[:-1], f"{token} "):
        with pytest.raises(Unauthenticated):
            authenticate(shown)
    key, text = a_key()
    file.add(key)
    assert authenticate(text).name == "ana"
    with pytest.raises(Unauthenticated):
        authenticate(token)


@pytest.mark.parametrize(
    "broken",
    [
        "",
        "{",
        "[]",
        "null",
        "{}",
        '{"format": 1}',
        '{"format": 1, "keys": {}}',
        '{"format": true, "keys": []}',
        '{"format": 1, "keys": [], "keys": []}',
        '{"format": 1, "keys": ""}',
        '{"format": 1, "keys": [5]}',
        '{"format": 1, "keys": [{}]}',
        '{"format": 2, "keys": []}',
        "[" * 100_000,
        " " * 2_000_000,
    ],
    ids=lambda text: text[:30],
)
def test_a_file_that_breaks_lets_nobody_in_and_says_so_without_its_place(file: KeyFile, broken: str) -> None:
    key, text = a_key()
    file.add(key)
    authenticate = create_authenticator(file, "t" * SECRET_BYTES, lambda: NOW)
    assert authenticate(text).name == "ana"
    file.path.write_text(broken, encoding="utf-8")
    for shown in (text, "t" * SECRET_BYTES, None):
        with pytest.raises(RecollectError, match="cannot read its key file, so it refuses all requests") as raised:
            authenticate(shown)
        assert str(file.path) not in str(raised.value)
    with pytest.raises(InvalidInput):
        file.add(key)
    assert file.path.read_text(encoding="utf-8") == broken


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("digest", "x" * 64),
        ("digest", 5),
        ("name", "ana/bo"),
        ("name", ""),
        ("id", None),
        ("grants", []),
        ("grants", [{"rights": [], "reach": "acme"}]),
        ("grants", [{"rights": ["own"], "reach": "acme"}]),
        ("grants", [{"rights": ["read"], "reach": ""}]),
        ("provenance", "king"),
        ("expires_at", "soon"),
        ("expires_at", 5),
        ("created_at", "2026-01-01"),
    ],
)
def test_a_key_that_was_edited_into_something_odd_is_refused(file: KeyFile, field: str, value: object) -> None:
    file.add(a_key()[0])
    whole = json.loads(file.path.read_text(encoding="utf-8"))
    whole["keys"][0][field] = value
    file.path.write_text(json.dumps(whole), encoding="utf-8")
    with pytest.raises(InvalidInput):
        file.keys()


def test_two_keys_of_one_id_let_nobody_in(file: KeyFile) -> None:
    (key, text), (other, _) = a_key(), a_key("bo")
    file.add(key)
    file.add(other)
    whole = json.loads(file.path.read_text(encoding="utf-8"))
    whole["keys"][1]["id"] = key.id
    file.path.write_text(json.dumps(whole), encoding="utf-8")
    with pytest.raises(RecollectError, match="it refuses all requests"):
        create_authenticator(file, "t" * SECRET_BYTES, lambda: NOW)(text)
    with pytest.raises(InvalidInput, match="two keys have the same id"):
        file.revoke(key.id)


def test_a_name_with_a_slash_and_a_moment_that_is_over_are_refused() -> None:
    with pytest.raises(FieldError, match="has a slash"):
        a_key("ana/bo")
    with pytest.raises(FieldError, match="is in the past"):
        a_key(until=NOW)


@posix_only
def test_a_file_that_others_may_read_is_refused_with_the_remedy(file: KeyFile) -> None:
    file.add(a_key()[0])
    file.path.chmod(0o640)
    with pytest.raises(InvalidInput, match="chmod 600"):
        read_private_file(file.path)


@posix_only
def test_a_change_that_keeps_the_size_and_the_time_of_the_file_is_seen(file: KeyFile) -> None:
    key, text = a_key()
    file.add(key)
    authenticate = create_authenticator(file, None, lambda: NOW)
    assert authenticate(text).name == "ana"
    was, whole = file.path.stat(), file.path.read_text(encoding="utf-8")
    while file.path.stat().st_ctime_ns == was.st_ctime_ns:  # a clock of files ticks a few hundred times a second
        file.path.write_text(whole.replace(key.digest, "0" * 64), encoding="utf-8")
        os.utime(file.path, ns=(was.st_atime_ns, was.st_mtime_ns))
    assert file.path.stat().st_size == was.st_size
    with pytest.raises(Unauthenticated):
        authenticate(text)


@posix_only
def test_a_server_that_runs_sees_that_others_may_read_the_file(file: KeyFile) -> None:
    key, text = a_key()
    file.add(key)
    authenticate = create_authenticator(file, None, lambda: NOW)
    assert authenticate(text).name == "ana"
    was = file.path.stat()
    while file.path.stat().st_ctime_ns == was.st_ctime_ns:
        file.path.chmod(0o604)
    with pytest.raises(RecollectError, match="it refuses all requests"):
        authenticate(text)


@posix_only
def test_what_is_no_ordinary_file_is_refused_without_waiting_for_it(file: KeyFile, tmp_path: Path) -> None:
    file.path.parent.mkdir()
    os.mkfifo(file.path, 0o600)  # to which nobody ever writes
    with pytest.raises(RecollectError, match="it refuses all requests"):
        create_authenticator(file, None, lambda: NOW)("any")
    for path in (file.path, Path(os.devnull), tmp_path):
        with pytest.raises(InvalidInput, match="is not a regular file; replace it with one"):
            read_private_file(path)


@posix_only
def test_a_token_is_made_once_for_its_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "token"
    token = read_or_create_token(path)
    assert read_or_create_token(path) == token
    assert path.stat().st_mode & 0o777 == 0o600
    path.write_text("short\n", encoding="utf-8")
    with pytest.raises(InvalidInput, match="delete it"):
        read_or_create_token(path)


def test_where_nothing_can_be_written_it_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(InvalidInput, match="cannot write"):
        KeyFile(tmp_path / "file" / "keys.json").add(a_key()[0])
    with pytest.raises(InvalidInput, match="cannot write"):
        read_or_create_token(tmp_path / "file" / "token")
    assert [one.name for one in tmp_path.iterdir()] == ["file"]
