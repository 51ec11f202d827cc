"""A real PgBouncer in transaction mode before a server of the tests, which starts by itself and ends with them."""

import atexit
import ctypes
import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import psycopg
from psycopg.rows import dict_row

from tests.postgres import ADMIN, ROLE, Server

NAME = "pgbouncer"
PLACES = os.pathsep.join((os.environ.get("PATH", os.defpath), "/usr/sbin"))
LIBRARIES = ("libevent", "libc-ares", "libcares")
"""How the names begin of what it needs and a small machine may not have."""

PORT = 6432
"""The name of its socket, which is in a folder of its own: no port of the machine has to be free for it."""

PATIENCE = 30.0
ATTEMPTS = 4
"""How often the packages of the system are asked for it."""

SETTINGS = """
[databases]
* = host={server} port={server_port}

[pgbouncer]
listen_addr =
listen_port = {port}
unix_socket_dir = {folder}
auth_type = trust
auth_file = {folder}/users
admin_users = {admin}
pool_mode = transaction
default_pool_size = {connections}
max_client_conn = 200
server_login_retry = 0.2
"""


class Pooler:
    """A pooler whose clients share few connections of a server."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def url(self, database: str, role: str = ROLE) -> str:
        """The address of a database through the pooler."""
        return f"postgresql://{role}@/{database}?{urlencode({'host': self._folder, 'port': PORT})}"

    def shown(self, what: str) -> list[dict[str, Any]]:
        """What the pooler says of itself."""
        with psycopg.connect(self.url(NAME, ADMIN), autocommit=True, row_factory=dict_row) as console:
            return console.execute(f"SHOW {what}").fetchall()


@contextmanager
def a_pooler(server: Server, *, connections: int) -> Iterator[Pooler]:
    """A pooler before a server, with so many connections for all clients of a database and role."""
    with tempfile.TemporaryDirectory(prefix="recollect-pooler-") as name:
        folder = Path(name)
        folder.chmod(0o777)  # the pooler, which makes its socket there, is somebody else, if we are root
        program, libraries = _program()
        told = {"server": server.folder, "server_port": server.port, "folder": folder, "port": PORT}
        (folder / "settings").write_text(SETTINGS.format(**told, admin=ADMIN, connections=connections))
        (folder / "users").write_text(f'"{ROLE}" ""\n"{ADMIN}" ""\n')
        with (
            (folder / "log").open("wb") as log,
            subprocess.Popen(
                [program, "--quiet", folder / "settings"],
                env={"LD_LIBRARY_PATH": libraries},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                user=_nobody(),
                preexec_fn=_end_with_us,  # noqa: PLW1509 - it runs nothing of ours
            ) as process,
        ):
            try:
                _wait_for(folder / f".s.PGSQL.{PORT}", process, folder / "log")
                yield Pooler(folder)
            finally:
                process.kill()


@cache
def _program() -> tuple[Path, str]:
    """The program that is installed, or one from the packages of the system; and where its libraries are."""
    found = shutil.which(NAME, path=PLACES)
    if found is not None:
        return Path(found), ""
    folder = Path(tempfile.mkdtemp(prefix="recollect-pooler-"))
    atexit.register(shutil.rmtree, folder)
    folder.chmod(0o755)
    for left in reversed(range(ATTEMPTS)):
        try:
            _fetch(folder)
            break
        except (OSError, subprocess.CalledProcessError) as error:
            said = getattr(error, "stderr", None) or error
            if not left:
                raise RuntimeError(f"these tests need PgBouncer, which is not here ({said}); install {NAME}") from error
            _update()
    return folder / "usr" / "sbin" / NAME, os.pathsep.join(map(str, folder.glob("usr/lib/*")))


def _fetch(folder: Path) -> None:
    """Unpack the program, and what it needs, into a folder; nothing is installed."""
    needed = subprocess.run(["apt-cache", "depends", NAME], check=True, capture_output=True, text=True).stdout
    libraries = [word for word in needed.split() if word.startswith(LIBRARIES)]
    as_root = ("-o", "APT::Sandbox::User=root")  # others may not write here
    download = ["apt-get", *as_root, "download", NAME, *libraries]
    subprocess.run(download, check=True, capture_output=True, cwd=folder)
    for package in folder.glob("*.deb"):
        subprocess.run(["dpkg-deb", "--extract", package, folder], check=True, capture_output=True)


def _update() -> None:
    """Have the system learn of packages, which a new one has not; another worker may be at it just now."""
    with suppress(OSError):
        subprocess.run(["apt-get", "update"], capture_output=True, check=False)
    time.sleep(2.0)


def _nobody() -> int | None:
    """It refuses to be run by root."""
    return pwd.getpwnam("nobody").pw_uid if os.geteuid() == 0 else None


def _wait_for(place: Path, process: "subprocess.Popen[bytes]", log: Path) -> None:
    over = time.monotonic() + PATIENCE
    while True:
        try:
            with socket.socket(socket.AF_UNIX) as there:
                there.connect(str(place))
        except (FileNotFoundError, ConnectionRefusedError):
            if process.poll() is not None or time.monotonic() > over:
                raise RuntimeError(f"{NAME} does not run: {log.read_text()}") from None
            time.sleep(0.01)
        else:
            return


def _end_with_us() -> None:
    """Where the system can do so, let it end with tests that were killed."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)
