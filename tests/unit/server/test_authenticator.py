"""Who is let in and by which names, as the settings have it."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from recollect.api.auth import WHOLE_STORE, Grant, Right
from recollect.api.keys import ApiKey, KeyFile, issue_key
from recollect.config import ServerSettings
from recollect.errors import AccessDenied, FieldError, InvalidInput, RecollectError, Unauthenticated
from recollect.server.authenticator import (
    AUTH_OK,
    KEYS_EXPIRED,
    KEYS_UNREADABLE,
    NO_KEYS,
    TOKEN_AUTH,
    AuthStatus,
    create_authentication,
    create_host_policy,
    is_loopback,
)
from tests.platforms import posix_only
from tests.tables import table


def a_place(folder: Path, host: str = "127.0.0.1") -> ServerSettings:
    return ServerSettings(host=host, keys=str(folder / "keys.json"), token_file=str(folder / "token"))


@table(
    ("host", "expected"),
    [
        *((one, True) for one in ("127.0.0.1", "127.9.9.9", "::1", "[::1]", "localhost", "LocalHost")),
        *((one, False) for one in ("0.0.0.0", "::", "10.0.0.5", "localhost.evil.example.org", "", "example.org")),  # noqa: S104
    ],
)
def test_an_address_of_this_machine_alone_is_known(host: str, expected: bool) -> None:
    assert is_loopback(host) is expected


def test_where_others_can_call_a_key_is_needed(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="recollect keys add"):
        create_authentication(a_place(tmp_path, "10.0.0.5"))
    assert list(tmp_path.iterdir()) == []
    found = create_authentication(a_place(tmp_path))
    assert found.status() == AuthStatus(TOKEN_AUTH)
    assert found.authenticate((tmp_path / "token").read_text(encoding="utf-8").strip()).name == "owner"


def a_key(at: datetime, **more: Any) -> ApiKey:
    return issue_key("ana", [Grant(frozenset({Right.READ}), WHOLE_STORE)], at=at, **more)[0]


@posix_only
def test_nobody_can_come_in_by_keys_that_are_broken_or_over_or_from_elsewhere_if_they_are_gone(tmp_path: Path) -> None:
    file, now = KeyFile(tmp_path / "keys.json"), datetime.now(UTC)
    over = a_key(now - timedelta(days=2), expires_at=now - timedelta(days=1))
    file.add(over)
    found = create_authentication(a_place(tmp_path, "10.0.0.5"))
    assert not (tmp_path / "token").exists()
    assert (found.status(), found.status().accepts_callers) == (AuthStatus(KEYS_EXPIRED), False)
    good = a_key(now)
    file.add(good)
    assert (found.status(), found.status().accepts_callers) == (AUTH_OK, True)
    file.path.chmod(0o644)
    kept = file.path.read_text(encoding="utf-8")
    file.path.write_text(f"{kept} ", encoding="utf-8")
    assert (found.status(), found.status().accepts_callers) == (AuthStatus(KEYS_UNREADABLE), False)
    file.path.chmod(0o600)
    for key in (over, good):
        file.revoke(key.id)
    assert (found.status(), found.status().accepts_callers) == (AuthStatus(NO_KEYS), False)


def test_a_file_of_keys_that_is_gone_lets_nobody_in_not_even_by_the_token(tmp_path: Path) -> None:
    file, key = KeyFile(tmp_path / "keys.json"), a_key(datetime.now(UTC))
    file.add(key)
    found = create_authentication(a_place(tmp_path))
    kept = file.path.read_bytes()
    file.path.unlink()
    assert found.status() == AuthStatus(KEYS_UNREADABLE)
    with pytest.raises(RecollectError, match="it refuses all requests"):
        found.authenticate((tmp_path / "token").read_text(encoding="utf-8").strip())
    file.path.write_bytes(kept)
    file.path.chmod(0o600)
    assert found.status() == AUTH_OK


def test_on_this_machine_the_token_lets_in_once_the_last_key_is_revoked_though_it_began_with_keys(
    tmp_path: Path,
) -> None:
    file, key = KeyFile(tmp_path / "keys.json"), a_key(datetime.now(UTC))
    file.add(key)
    found = create_authentication(a_place(tmp_path))
    assert (
        found.description == f"by the keys in {file.path}; by the token in {tmp_path / 'token'} once no keys are left"
    )
    token = (tmp_path / "token").read_text(encoding="utf-8").strip()
    with pytest.raises(Unauthenticated):
        found.authenticate(token)
    file.revoke(key.id)
    assert found.authenticate(token).name == "owner"
    assert found.status() == AuthStatus(TOKEN_AUTH)


def test_a_token_that_cannot_be_had_is_not_missed_as_long_as_there_are_keys(tmp_path: Path) -> None:
    file, key = KeyFile(tmp_path / "keys.json"), a_key(datetime.now(UTC))
    file.add(key)
    (tmp_path / "token").write_text("short", encoding="utf-8")
    found = create_authentication(a_place(tmp_path))
    assert (found.description, found.status()) == (f"by the keys in {file.path}", AUTH_OK)
    file.revoke(key.id)
    assert found.status() == AuthStatus(NO_KEYS)
    with pytest.raises(Unauthenticated):
        found.authenticate("short")


def test_it_is_called_by_where_it_listens_and_by_what_the_settings_name() -> None:
    found = create_host_policy(
        ServerSettings(host="10.0.0.5", hosts="memory.example.org, ", origins=" https://a.example.org "), 9
    )
    for host in ("10.0.0.5:9", "127.0.0.1:9", "memory.example.org"):
        found.require_allowed(host, "https://a.example.org")
    everywhere = create_host_policy(ServerSettings(host="0.0.0.0"), 9)  # noqa: S104
    for host in ("0.0.0.0:9", "10.0.0.5:9", ""):
        with pytest.raises(AccessDenied):
            everywhere.require_allowed(host, None)
    create_host_policy(ServerSettings(host="fd00::5"), 9).require_allowed("[fd00::5]:9", None)


@table(
    ("field", "value"),
    [
        ("host", ""),
        ("port", -1),
        ("port", 65_536),
        ("grpc_port", 70_000),
        ("body_bytes", 0),
        ("body_bytes", 2**40),
        ("seconds", 0.0),
        ("seconds", float("inf")),
        ("threads", 0),
        ("threads", 10**6),
        ("waiting", -1),
        ("drain_seconds", float("nan")),
        ("scheduler", "yes"),
        ("keys", 5),
        ("hosts", 5),
    ],
)
def test_settings_that_cannot_be_are_refused_by_their_name(field: str, value: object) -> None:
    with pytest.raises(FieldError) as raised:
        ServerSettings(**{field: value})  # type: ignore[arg-type]
    assert raised.value.field == field
