"""The database: which server, extension, role, rights and store will do."""

from dataclasses import replace

from recollect.config import Settings
from recollect.diagnosis.postgres_catalog import Catalogue, Kept, Role, Server, Table, Vector
from recollect.diagnosis.postgres_store import (
    encoding,
    of_catalogue,
    primary,
    rights,
    role,
    security,
    store,
    vector,
    version,
)
from recollect.model.diagnosis import Finding
from recollect.model.encoder import Encoder
from tests.tables import table

SERVER = Server("18.1", 18, "UTF8", follows=False)
FOLLOWER = replace(SERVER, follows=True)
OWNER = Role("keeper", superuser=False, bypasses_security=False, may_create=True)
APP = Role("app", superuser=False, bypasses_security=False, may_create=False)
MEMORIES = Table(
    name="memories",
    owner="keeper",
    owned=True,
    private=True,
    secured=True,
    readable=True,
    writable=True,
    bytes=1_500_000,
)
ENCODERS = replace(MEMORIES, name="encoders", private=False, secured=False, bytes=0)
KEPT = Kept(tables=(ENCODERS, MEMORIES), schema=2, encoder=Encoder("hashing-64", 64))
NAME = "postgresql://app@host/memories"


def a_catalogue(*, kept: Kept | None = KEPT, role: Role = OWNER, server: Server = SERVER) -> Catalogue:
    return Catalogue(name=NAME, server=server, role=role, vector=Vector("0.8.2", "0.8.2", trusted=False), kept=kept)


def others(kept: Kept, *, readable: bool = True, writable: bool = True) -> Kept:
    """The store, with tables that are somebody else's."""
    tables = (replace(one, owned=False, readable=readable, writable=writable) for one in kept.tables)
    return replace(kept, tables=tuple(tables))


def test_a_database_is_looked_at_from_the_ground_up() -> None:
    found = list(of_catalogue(replace(a_catalogue(), kept=replace(KEPT, schema=1)), Settings(embedder="hashing-64")))
    assert [one.name for one in found] == [
        *("server", "encoding", "pgvector", "role", "primary", "store", "rights", "row security", "model"),
    ]
    assert {one.finding for one in found} == {Finding.OK}


def test_before_there_is_a_store_nothing_is_said_of_what_is_in_it() -> None:
    found = list(of_catalogue(a_catalogue(kept=None), Settings()))
    assert [one.name for one in found] == ["server", "encoding", "pgvector", "role", "primary", "store"]


@table(("major", "finding"), [(14, Finding.PROBLEM), (15, Finding.OK), (19, Finding.OK)])
def test_a_server_that_is_too_old_is_a_problem(major: int, finding: Finding) -> None:
    check = version(Server(f"{major}.1", major, "UTF8", follows=False))
    assert check.finding is finding
    assert check.seen.startswith(f"PostgreSQL {major}.1 ")


def test_a_database_that_does_not_take_every_character_is_a_problem() -> None:
    check = encoding(replace(SERVER, encoding="LATIN1"))
    assert (check.finding, check.seen) == (Finding.PROBLEM, "LATIN1")
    assert encoding(SERVER).finding is Finding.OK


@table(
    ("found", "role", "finding", "seen"),
    [
        (Vector("0.8.2", None, trusted=False), APP, Finding.OK, "0.8.2"),
        (Vector("0.10.0", "0.10.0", trusted=False), APP, Finding.OK, "0.10.0"),
        (Vector("0.8.1", "0.8.2", trusted=False), OWNER, Finding.PROBLEM, "0.8.1 is too old"),
        (Vector(None, None, trusted=False), OWNER, Finding.PROBLEM, "the server has none"),
        (Vector(None, "0.7.4", trusted=True), OWNER, Finding.PROBLEM, "the 0.7.4 of the server is too old"),
        (Vector(None, "0.8.2", trusted=True), OWNER, Finding.OK, "the database gets 0.8.2 when the store is made"),
        (Vector(None, "0.8.2", trusted=True), APP, Finding.PROBLEM, "the database has none, and app may not create it"),
        (Vector(None, "0.8.2", trusted=False), OWNER, Finding.PROBLEM, "and keeper may not create it"),
        (Vector(None, "0.8.2", trusted=False), replace(APP, superuser=True), Finding.OK, "gets 0.8.2"),
    ],
)
def test_pgvector_has_to_be_there_or_to_be_had(found: Vector, role: Role, finding: Finding, seen: str) -> None:
    check = vector(found, role)
    assert check.finding is finding
    assert seen in check.seen


@table(
    ("found", "finding", "seen"),
    [
        (OWNER, Finding.OK, "keeper, whom row-level security holds"),
        (replace(OWNER, superuser=True), Finding.WARNING, "a superuser, whom row-level security does not hold"),
        (replace(OWNER, bypasses_security=True), Finding.WARNING, "BYPASSRLS"),
    ],
)
def test_a_role_that_nothing_holds_is_worth_a_warning(found: Role, finding: Finding, seen: str) -> None:
    check = role(found)
    assert check.finding is finding
    assert seen in check.seen


def test_a_server_that_can_only_be_read_is_worth_a_warning() -> None:
    assert [primary(one).finding for one in (SERVER, FOLLOWER)] == [Finding.OK, Finding.WARNING]


@table(
    ("seen", "finding", "says"),
    [
        (a_catalogue(), Finding.OK, f"{NAME}, 1.5 MB, schema 2"),
        (a_catalogue(kept=None), Finding.OK, "has none yet, the first memory makes it"),
        (a_catalogue(kept=None, role=APP), Finding.PROBLEM, "and app may not make a schema there"),
        (a_catalogue(kept=None, role=replace(APP, superuser=True)), Finding.OK, "has none yet"),
        (a_catalogue(kept=None, server=FOLLOWER), Finding.PROBLEM, "has none, and can only be read"),
        (a_catalogue(kept=replace(KEPT, schema=None), role=APP), Finding.PROBLEM, "is closed to app"),
        (a_catalogue(kept=replace(KEPT, schema=3)), Finding.PROBLEM, "written by a newer recollect"),
        (a_catalogue(kept=replace(KEPT, moving=True)), Finding.PROBLEM, "is not whole yet"),
        (a_catalogue(kept=replace(KEPT, schema=1)), Finding.OK, "schema 1, brought up to 2 when it is next opened"),
        (a_catalogue(kept=others(replace(KEPT, schema=1)), role=APP), Finding.PROBLEM, "brought up to schema 2"),
        (a_catalogue(kept=replace(KEPT, schema=1), server=FOLLOWER), Finding.PROBLEM, "brought up to schema 2"),
    ],
)
def test_a_store_has_to_be_one_that_this_program_knows(seen: Catalogue, finding: Finding, says: str) -> None:
    check = store(seen, 2)
    assert check.finding is finding
    assert says in check.seen


def test_who_may_only_bring_a_store_up_is_named() -> None:
    check = store(a_catalogue(kept=others(replace(KEPT, schema=1)), role=APP), 2)
    assert check.remedy == "open it once on the primary server as keeper"


@table(
    ("kept", "server", "finding", "seen"),
    [
        (KEPT, SERVER, Finding.OK, "app may read and write all tables"),
        (KEPT, FOLLOWER, Finding.OK, "app may read all tables"),
        (others(KEPT, readable=False), SERVER, Finding.PROBLEM, "app may not read encoders, memories"),
        (others(KEPT, writable=False), SERVER, Finding.WARNING, "but not write encoders, memories"),
        (others(KEPT, writable=False), FOLLOWER, Finding.OK, "app may read all tables"),
        (replace(KEPT, closed=("uses_numbers",)), SERVER, Finding.WARNING, "but not write uses_numbers"),
    ],
)
def test_rights_that_are_lacking_are_told_with_the_statements_that_grant_them(
    kept: Kept, server: Server, finding: Finding, seen: str
) -> None:
    check = rights(kept, APP, server)
    assert check.finding is finding
    assert seen in check.seen
    granted = (
        "run as keeper: GRANT USAGE ON SCHEMA recollect TO app; GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES"
    )
    assert finding is Finding.OK or granted in str(check.remedy)


def test_what_was_erased_and_is_not_swept_is_worth_a_warning() -> None:
    settings = Settings(embedder="hashing-64")
    assert "erased" not in {one.name for one in of_catalogue(a_catalogue(), settings)}
    (check,) = [
        one for one in of_catalogue(a_catalogue(kept=replace(KEPT, unswept=2)), settings) if one.name == "erased"
    ]
    assert check.finding is Finding.WARNING
    assert check.seen == "2 erasures of which PostgreSQL still has bytes in its files"
    assert "`recollect admin sweep` as keeper" in str(check.remedy)


def test_every_table_that_holds_memories_must_be_secured() -> None:
    assert security(KEPT.tables).seen == "enabled and forced on 1 table"
    check = security([replace(MEMORIES, name=f"memories_{n}", secured=False) for n in range(6)])
    assert check.finding is Finding.PROBLEM
    assert check.seen == "not enabled and forced on memories_0, memories_1, memories_2, memories_3 and 2 more"
