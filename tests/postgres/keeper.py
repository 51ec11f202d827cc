"""Keeps a PostgreSQL server while its own input is open, and leaves nothing of it, whatever became of the tests.

Runs by itself, with the folder of the package that PostgreSQL is in and, if they are to be others than those of the
tests, the server's settings as JSON and the folder to keep it in. It tells where it keeps the server, then follows one
order a line, `start`, `stop` or `kill` with the ids of the server's processes, and answers each with JSON.
"""

import ctypes
import json
import os
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterable, Mapping
from contextlib import ExitStack, suppress
from pathlib import Path
from random import SystemRandom
from typing import TypedDict

SETTINGS = {
    "autovacuum": "off",  # nothing happens that no test asked for
    "fsync": "off",  # whoever kills the server still finds what was committed; only the machine may not fail
    "full_page_writes": "off",
    "io_method": "sync",
    "jit": "off",
    "listen_addresses": "127.0.0.1",
    "max_connections": "100",
    "max_wal_senders": "0",
    "max_wal_size": "128MB",
    "scram_iterations": "1",
    "shared_buffers": "32MB",
    "wal_level": "minimal",
}
PROGRAMS, EXTENSIONS = "pginstall/bin", "pginstall/share/extension"
IN_MEMORY, ENOUGH = Path("/dev/shm"), 2 << 30  # noqa: S108
"""Where databases are copied six times as quickly as on disk, if there is room."""

PORTS = range(15_000, 30_000)
"""Below those that systems hand out to whoever asks for any."""

READY = "ready to accept connections"
TAKEN = "could not create any TCP/IP sockets"


class Owner(TypedDict, total=False):
    """As whom the server runs, unless as ourselves."""

    user: int
    group: int
    extra_groups: list[int]


class Failed(Exception):
    """A program of PostgreSQL gave up; the message is what it said."""


class Keeper:
    """One server, in a folder of its own."""

    def __init__(self, package: Path, folder: Path, owner: Owner) -> None:
        self._package = package
        self._folder = folder
        self._owner = owner
        self._port: int | None = None
        self._server: subprocess.Popen[str] | None = None
        self._log = threading.Thread()

    def prepare(self, others: Mapping[str, str]) -> None:
        """Lay out the files of a new server, some of whose settings are others than those of the tests."""
        settings = {**SETTINGS, **others, "unix_socket_directories": str(self._folder)}
        making = self._popen(
            *("initdb", "--pgdata", str(self._folder / "data"), "--username", "postgres", "--encoding", "UTF8"),
            *("--locale", "C", "--auth-local", "trust", "--auth-host", "scram-sha-256", "--no-sync"),
            *(word for name, value in settings.items() for word in ("--set", f"{name}={value}")),
        )
        _, said = making.communicate()
        if making.returncode != 0:
            raise Failed(said)
        self._trust_vector()

    def _trust_vector(self) -> None:
        """Lay out a pgvector beside the one that is installed which any owner of a database may create."""
        there, here = self._package / EXTENSIONS, self._folder / "share" / "extension"
        here.mkdir(parents=True)
        control = here / "vector.control"
        says = (there / "vector.control").read_text(encoding="utf-8")
        control.write_text(f"{says}\ntrusted = true\ndirectory = '{there}'\n", encoding="utf-8")
        for path in (control, here, here.parent):
            _give(path, self._owner)

    def follow(self, order: str) -> dict[str, object]:
        """What there is to answer to the order."""
        match order.split():
            case ["start"]:
                return {"port": self._start()}
            case ["stop"]:
                self.end(signal.SIGINT)
            case ["kill", *processes]:
                self._kill(map(int, processes))
            case _:
                raise Failed(f"nobody knows how to {order}")
        return {}

    def _start(self) -> int:
        """The port, which is the same when the server is started again."""
        free = [self._port] if self._port is not None else SystemRandom().sample(PORTS, 20)
        for port in free:
            try:
                self._serve(port)
            except Failed as failure:
                if TAKEN not in str(failure) or port == free[-1]:
                    raise
            else:
                self._port = port
                break
        return port

    def _serve(self, port: int) -> None:
        server = self._popen("postgres", "-D", str(self._folder / "data"), "-p", str(port))
        assert server.stderr is not None
        said = []
        for line in server.stderr:
            said.append(line)
            if READY in line:
                self._server = server
                self._log = threading.Thread(target=_copy, args=(server.stderr, self._folder / "log"))
                self._log.start()
                return
        server.wait()
        raise Failed("".join(said))

    def _kill(self, processes: Iterable[int]) -> None:
        """End all at once: the first process is stopped meanwhile, for it would tell the others when one is gone."""
        assert self._server is not None
        self._server.send_signal(signal.SIGSTOP)
        for process in processes:
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        self.end(signal.SIGKILL)

    def end(self, how: signal.Signals) -> None:
        """Let the server end, and its last process with it."""
        if self._server is not None:
            self._server.send_signal(how)
            self._server.wait()
            self._log.join()  # it ends when nobody is left who could write to it
            self._server = None

    def _popen(self, program: str, *arguments: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [self._package / PROGRAMS / program, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            cwd=self._folder,
            env={"LC_ALL": "C"},
            preexec_fn=_end_with_us,  # noqa: PLW1509 - no other thread runs code of ours
            **self._owner,
        )


def keep(package: Path, settings: str = "{}", within: str | None = None) -> None:
    """Keep a server until there are no more orders."""
    owner = _owner()
    with ExitStack() as stack:
        package = _reachable(package, owner, stack)
        in_memory = IN_MEMORY if _roomy(IN_MEMORY) else None
        folder = _folder(stack, in_memory if within is None else Path(within), owner)
        keeper = Keeper(package, folder, owner)
        stack.callback(keeper.end, signal.SIGQUIT)
        keeper.prepare(json.loads(settings))
        _answer(folder=str(folder))
        for line in sys.stdin:
            _answer(**keeper.follow(line))


def _owner() -> Owner:
    """PostgreSQL refuses to be run by root, who runs it as nobody."""
    if os.geteuid() != 0:
        return {}
    nobody = pwd.getpwnam("nobody")
    return {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}


def _reachable(package: Path, owner: Owner, stack: ExitStack) -> Path:
    """The package, or a copy of it if it is in a folder that the owner may not enter."""
    try:
        subprocess.run([package / PROGRAMS / "postgres", "--version"], check=True, capture_output=True, **owner)
    except PermissionError:
        folder = _folder(stack, None, owner)
        for part in package.parent.glob(f"{package.name}*"):  # beside it are the libraries it needs
            shutil.copytree(part, folder / part.name, symlinks=True)
        for path in folder.rglob("*"):
            _give(path, owner)
        return folder / package.name
    return package


def _folder(stack: ExitStack, within: Path | None, owner: Owner) -> Path:
    """A new folder of the owner's; its path is short, as those of sockets have to be."""
    folder = Path(tempfile.mkdtemp(prefix="recollect-postgres-", dir=within))
    stack.callback(shutil.rmtree, folder)
    _give(folder, owner)
    return folder


def _give(path: Path, owner: Owner) -> None:
    if owner:
        os.chown(path, owner["user"], owner["group"], follow_symlinks=False)


def _roomy(folder: Path) -> bool:
    return os.access(folder, os.W_OK) and shutil.disk_usage(folder).free > ENOUGH


def _end_with_us() -> None:
    """Where the system can do so, let it end the server of a keeper who was killed."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGQUIT)


def _copy(lines: Iterable[str], target: Path) -> None:
    with target.open("a", encoding="utf-8") as file:
        file.writelines(lines)


def _answer(**what: object) -> None:
    sys.stdout.write(json.dumps(what) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())
    try:
        keep(Path(sys.argv[1]), *sys.argv[2:])
    except (Failed, OSError, subprocess.SubprocessError) as failure:
        _answer(failed=f"{type(failure).__name__}: {failure}")
