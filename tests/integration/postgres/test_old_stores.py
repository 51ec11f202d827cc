"""A database of a former schema opens, everything in it is where it belongs, and whoever might use it still may."""

from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import psycopg
import pytest

import recollect
from recollect.model.context import ContextRecord
from recollect.model.enums import Level, Status
from recollect.model.scope import Scope
from recollect.stores.postgres.connection import MIGRATIONS, PostgresMigrationLog
from recollect.stores.postgres.store import PostgresStore
from recollect.stores.sql.migrations import load_migrations
from recollect.testing.builders import set_checkpoint
from tests.integration.postgres.scene import AGENT, a_role, grant, named
from tests.postgres import ROLE, Server, admin_url

ROWS = Path(__file__).parent.parent / "old" / "postgres-1.sql"
ANA = "acme/ana"


def now() -> datetime:
    return datetime(2026, 2, 1, tzinfo=UTC)


@pytest.fixture
def old_url(postgres_server: Server, postgres_url: str) -> str:
    """A database with the tables of schema 1, in which somebody has lived, and which another role may use."""
    first, *_ = load_migrations(MIGRATIONS)
    with psycopg.connect(postgres_url, autocommit=True) as db:
        db.execute("CREATE EXTENSION vector")
        PostgresMigrationLog(db, "an old database", "public").advance(first)
    with psycopg.connect(admin_url(postgres_url)) as db:
        db.execute("SET LOCAL search_path = recollect, public")
        db.execute(ROWS.read_text(encoding="utf-8").encode())
    a_role(postgres_server, AGENT)
    grant(postgres_server, named(postgres_url))
    return postgres_url


def test_what_a_former_schema_kept_is_there_and_plain(old_url: str) -> None:
    with recollect.open(old_url, clock=now) as memory:
        every = tuple(Status)
        found = [*memory.memories(scope="acme", below=True, statuses=every), *memory.memories(scope="labs/bo")]
        assert sorted(one.text for one in found) == [
            "Ana is in Rome",
            "Ana prefers aisle seats",
            "I love hiking",
            "The deploy runs on Fridays",
            "Tickets are bought by Bo",
        ]
        assert {version.level for one in found for version in memory.history(one.id, scope=one.scope)} == {None}
        (seat,) = [one for one in found if "seats" in one.text]
        assert [one.text for one in memory.history(seat.id, scope=ANA)] == ["Ana prefers window seats", seat.text]
        context = memory.recall("which seat does Ana like?", scope=ANA)
        assert seat.text in context.text
        assert memory.feedback(context.id or "", scope=ANA, answer=seat.text).quoted == (seat.id,)
        usage = memory.contexts.usage(seat.id, scope=ANA)
        assert (usage.helped, usage.quoted, usage.followed) == (1, 1, 0)
        assert isinstance(
            memory.remember("I love hiking", scope=ANA, speaker="Ana", kind="event").verdict, recollect.types.Reinforced
        )


def test_records_and_checkpoints_come_beside_what_was_there(old_url: str) -> None:
    scope = Scope.parse(ANA)
    said = {"text": "Ana prefers aisle seats", "at": datetime(2026, 1, 31, tzinfo=UTC)}
    with recollect.open(old_url, clock=now) as memory:
        (event,) = memory.observe([said], scope=ANA)
        assert event.verdict == recollect.types.Created()
    with closing(PostgresStore(old_url, now)) as store:
        assert [one.id for one in store.timeline(scope, tuple(Level))] == [event.id]
        assert store.changed_dates(scope, Level.EVENT, 0) == ([said["at"]], event.memory.commit)
        assert store.checkpoint(scope, "how far") is None
        store.write(lambda writing: set_checkpoint(writing, scope, "how far", "here"))
        assert store.checkpoint(scope, "how far") == "here"
        (trace,) = [item for item in store.export(None)[1] if isinstance(item, ContextRecord)]
        assert trace.levels == ()


def test_who_might_use_the_tables_may_use_the_new_ones(postgres_server: Server, old_url: str) -> None:
    PostgresStore(old_url, now).close()
    url, scope = postgres_server.url(named(old_url), AGENT), Scope.parse(ANA)
    with closing(PostgresStore(url, now)) as store:
        store.write(lambda writing: set_checkpoint(writing, scope, "how far", "here"))
        (hiking,) = [
            one for one in store.memories(scope, below=False, statuses=[Status.ACTIVE]) if "hiking" in one.text
        ]
        assert store.write(lambda writing: writing.erase(scope, [hiking.id])).ids == (hiking.id,)
        assert store.checkpoint(scope, "how far") is None
    new = ("checkpoints", "jobs", "occurrences")
    with postgres_server.admin(named(old_url)) as admin:
        rights = (
            "SELECT privilege_type FROM information_schema.role_table_grants WHERE table_name = %s AND grantee = %s"
        )
        of = {
            (table, role): {what for (what,) in admin.execute(rights, [table, role])}
            for table in ("keys", *new)
            for role in (AGENT, ROLE)
        }
    for table in new:
        assert of[table, AGENT] == of["keys", AGENT] == {"SELECT", "INSERT", "UPDATE", "DELETE"}
        assert of[table, ROLE] == of["keys", ROLE]
