"""A server that follows another can be read, and once it is the primary, it can be written."""

import ctypes
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest

from recollect.errors import StoreError
from tests.integration.postgres.scene import an_engine, until
from tests.postgres import ADMIN, Server, a_server

ANA = "acme/ana"


FOLLOWED = {"wal_level": "replica", "max_wal_senders": "4"}
"""The settings of a server that others follow."""


class Follower:
    """A server that follows another one, in a folder of its own, from a copy that was made while that one was down."""

    def __init__(self, folder: Path, primary: Server, programs: Path) -> None:
        self._folder = folder
        self._programs = programs
        self._owner = primary.folder.stat().st_uid
        self._port = primary.port  # its sockets are in another folder
        (folder / "data" / "standby.signal").touch()
        settings = [
            f"primary_conninfo=host={primary.folder} port={primary.port} user={ADMIN}",
            f"unix_socket_directories={folder}",
            "listen_addresses=",
        ]
        options = [word for setting in settings for word in ("-c", setting)]
        self.process = subprocess.Popen(
            [programs / "postgres", "-D", folder / "data", "-p", str(self._port), *options],
            user=self._owner,
            cwd=folder,
            env={"LC_ALL": "C"},
            stdin=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            preexec_fn=_end_with_us,  # noqa: PLW1509 - it runs nothing of ours
        )

    def url(self, database: str) -> str:
        return f"postgresql://recollect@/{database}?host={self._folder}&port={self._port}"

    def answers(self, database: str) -> bool:
        """Whether it lets anybody in."""
        try:
            psycopg.connect(self.url(database)).close()
        except psycopg.OperationalError:
            return False
        return True

    def promote(self) -> None:
        """Have it follow nobody any more."""
        command: list[str | Path] = [self._programs / "pg_ctl", "promote", "--pgdata", self._folder / "data"]
        subprocess.run(command, user=self._owner, cwd=self._folder, env={}, check=True, capture_output=True)


def _end_with_us() -> None:
    """Where the system can do so, let it end with tests that were killed."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGQUIT)


@contextmanager
def a_follower(primary: Server, database: str) -> Iterator[Follower]:
    """A server that follows another one, for as long as it is needed."""
    with primary.admin() as admin:
        (programs,) = admin.execute("SELECT setting FROM pg_config WHERE name = 'BINDIR'").fetchone() or ("",)
    folder = Path(tempfile.mkdtemp(prefix="recollect-follower-"))
    shutil.chown(folder, primary.folder.stat().st_uid)
    primary.stop()
    subprocess.run(["cp", "-a", primary.folder / "data", folder], check=True)
    primary.start()
    try:
        follower = Follower(folder, primary, Path(str(programs)))
        try:
            until(lambda: follower.answers(database))
            yield follower
        finally:
            follower.process.send_signal(signal.SIGQUIT)
            follower.process.wait()
    finally:
        shutil.rmtree(folder)


def test_a_follower_is_read_and_once_it_is_the_primary_it_is_written() -> None:
    with a_server(FOLLOWED) as primary, primary.database() as database:
        primary.trust_vector(database)
        with an_engine(primary.url(database)) as engine:
            seat = engine.remember("Ana prefers window seats", scope=ANA)
        with (
            a_follower(primary, database) as follower,
            an_engine(primary.url(database)) as there,
            an_engine(follower.url(database)) as here,
        ):
            assert here._deps.store.read_only
            assert here.search("which seat?", scope=ANA)[0].id == seat.id
            assert "window seats" in here.recall("which seat?", scope=ANA).text
            with pytest.raises(StoreError, match="is a replica; connect to the primary server as a role"):
                here.remember("Ana drinks tea", scope=ANA)

            tea = there.remember("Ana drinks tea", scope=ANA)
            until(lambda: here.search("tea", scope=ANA)[0].id == tea.id)  # what is in memory is brought up to date
            assert list(here.export()) == list(there.export())

            follower.promote()
            until(lambda: not here._deps.store.read_only)
            coffee = here.remember("Ana drinks coffee as well", scope=ANA)
            assert here.search("coffee", scope=ANA)[0].id == coffee.id
            assert coffee.id not in [one.id for one in there.search("coffee", scope=ANA)]
