"""The database: which server, extension, role, rights and store will do."""

from dataclasses import replace

from recollect.cli.doctor_checks import (
    Check,
    CheckStatus,
    check_catalog,
    check_database_store,
    check_pgvector,
    check_rights,
    check_row_security,
    check_server,
)
from recollect.config import Settings
from recollect.model.encoder import Encoder
from recollect.stores.postgres.inspect import (
    DatabaseCatalog,
    PgvectorInfo,
    PostgresRole,
    PostgresServer,
    StoreCatalog,
    StoreTable,
)
from tests.tables import table

SERVER = PostgresServer("18.1", 18, "UTF8", is_read_only=False)
FOLLOWER = replace(SERVER, is_read_only=True)
OWNER = PostgresRole("keeper", superuser=False, bypasses_security=False, may_create=True)
APP = PostgresRole("app", superuser=False, bypasses_security=False, may_create=False)
MEMORIES = StoreTable(
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
KEPT = StoreCatalog(tables=(ENCODERS, MEMORIES), schema=2, encoder=Encoder("hashing-64", 64))
NAME = "postgresql://app@host/memories"


def a_catalogue(
    *, kept: StoreCatalog | None = KEPT, role: PostgresRole = OWNER, server: PostgresServer = SERVER
) -> DatabaseCatalog:
    return DatabaseCatalog(
        name=NAME, server=server, role=role, vector=PgvectorInfo("0.8.2", "0.8.2", trusted=False), store=kept
    )


def server_checks(server: PostgresServer = SERVER, role: PostgresRole = OWNER) -> dict[str, Check]:
    """The checks of a server with a role, by name."""
    return {one.name: one for one in check_server(server, a_catalogue().vector, role)}


def others(kept: StoreCatalog, *, readable: bool = True, writable: bool = True) -> StoreCatalog:
    """The store, with tables that are somebody else's."""
    tables = (replace(one, owned=False, readable=readable, writable=writable) for one in kept.tables)
    return replace(kept, tables=tuple(tables))


def test_a_database_is_looked_at_from_the_ground_up() -> None:
    found = list(check_catalog(replace(a_catalogue(), store=replace(KEPT, schema=1)), Settings(embedder="hashing-64")))
    assert [one.name for one in found] == [
        *("server", "encoding", "pgvector", "role", "primary", "store", "rights", "row security", "model"),
    ]
    assert {one.finding for one in found} == {CheckStatus.OK}


def test_before_there_is_a_store_nothing_is_said_of_what_is_in_it() -> None:
    found = list(check_catalog(a_catalogue(kept=None), Settings()))
    assert [one.name for one in found] == ["server", "encoding", "pgvector", "role", "primary", "store"]


@table(("major", "finding"), [(14, CheckStatus.PROBLEM), (15, CheckStatus.OK), (19, CheckStatus.OK)])
def test_a_server_that_is_too_old_is_a_problem(major: int, finding: CheckStatus) -> None:
    check = server_checks(PostgresServer(f"{major}.1", major, "UTF8", is_read_only=False))["server"]
    assert check.finding is finding
    assert check.seen.startswith(f"PostgreSQL {major}.1 ")


def test_a_database_that_does_not_take_every_character_is_a_problem() -> None:
    check = server_checks(replace(SERVER, encoding="LATIN1"))["encoding"]
    assert (check.finding, check.seen) == (CheckStatus.PROBLEM, "LATIN1")
    assert server_checks()["encoding"].finding is CheckStatus.OK


@table(
    ("found", "role", "finding", "seen"),
    [
        (PgvectorInfo("0.8.2", None, trusted=False), APP, CheckStatus.OK, "0.8.2"),
        (PgvectorInfo("0.10.0", "0.10.0", trusted=False), APP, CheckStatus.OK, "0.10.0"),
        (PgvectorInfo("0.8.1", "0.8.2", trusted=False), OWNER, CheckStatus.PROBLEM, "0.8.1 is too old"),
        (PgvectorInfo(None, None, trusted=False), OWNER, CheckStatus.PROBLEM, "not available on the server"),
        (PgvectorInfo(None, "0.7.4", trusted=True), OWNER, CheckStatus.PROBLEM, "0.7.4 on the server is too old"),
        (
            PgvectorInfo(None, "0.8.2", trusted=True),
            OWNER,
            CheckStatus.OK,
            "0.8.2 will be installed when the store is created",
        ),
        (
            PgvectorInfo(None, "0.8.2", trusted=True),
            APP,
            CheckStatus.PROBLEM,
            "not installed in the database, and app may not install it",
        ),
        (PgvectorInfo(None, "0.8.2", trusted=False), OWNER, CheckStatus.PROBLEM, "and keeper may not install it"),
        (
            PgvectorInfo(None, "0.8.2", trusted=False),
            replace(APP, superuser=True),
            CheckStatus.OK,
            "0.8.2 will be installed",
        ),
    ],
)
def test_pgvector_has_to_be_there_or_to_be_had(
    found: PgvectorInfo, role: PostgresRole, finding: CheckStatus, seen: str
) -> None:
    check = check_pgvector(found, role)
    assert check.finding is finding
    assert seen in check.seen


@table(
    ("found", "finding", "seen"),
    [
        (OWNER, CheckStatus.OK, "keeper is subject to row-level security"),
        (replace(OWNER, superuser=True), CheckStatus.WARNING, "a superuser and bypasses row-level security"),
        (replace(OWNER, bypasses_security=True), CheckStatus.WARNING, "BYPASSRLS"),
    ],
)
def test_a_role_that_nothing_holds_is_worth_a_warning(found: PostgresRole, finding: CheckStatus, seen: str) -> None:
    check = server_checks(role=found)["role"]
    assert check.finding is finding
    assert seen in check.seen


def test_a_server_that_can_only_be_read_is_worth_a_warning() -> None:
    assert [server_checks(one)["primary"].finding for one in (SERVER, FOLLOWER)] == [
        CheckStatus.OK,
        CheckStatus.WARNING,
    ]


@table(
    ("seen", "finding", "says"),
    [
        (a_catalogue(), CheckStatus.OK, f"{NAME}, 1.5 MB, schema 2"),
        (a_catalogue(kept=None), CheckStatus.OK, "has no store yet; the first memory creates it"),
        (a_catalogue(kept=None, role=APP), CheckStatus.PROBLEM, "and app may not create a schema"),
        (a_catalogue(kept=None, role=replace(APP, superuser=True)), CheckStatus.OK, "has no store yet"),
        (a_catalogue(kept=None, server=FOLLOWER), CheckStatus.PROBLEM, "has no store and is read-only"),
        (a_catalogue(kept=replace(KEPT, schema=None), role=APP), CheckStatus.PROBLEM, "app may not access"),
        (a_catalogue(kept=replace(KEPT, schema=3)), CheckStatus.PROBLEM, "written by a newer recollect"),
        (a_catalogue(kept=replace(KEPT, moving=True)), CheckStatus.PROBLEM, "is not finished"),
        (
            a_catalogue(kept=replace(KEPT, schema=1)),
            CheckStatus.OK,
            "schema 1, will be migrated to 2 when it is next opened",
        ),
        (
            a_catalogue(kept=others(replace(KEPT, schema=1)), role=APP),
            CheckStatus.PROBLEM,
            "must be migrated to schema 2",
        ),
        (
            a_catalogue(kept=replace(KEPT, schema=1), server=FOLLOWER),
            CheckStatus.PROBLEM,
            "must be migrated to schema 2",
        ),
    ],
)
def test_a_store_has_to_be_one_that_this_program_knows(seen: DatabaseCatalog, finding: CheckStatus, says: str) -> None:
    check = check_database_store(seen, 2)
    assert check.finding is finding
    assert says in check.seen


def test_who_may_only_bring_a_store_up_is_named() -> None:
    check = check_database_store(a_catalogue(kept=others(replace(KEPT, schema=1)), role=APP), 2)
    assert check.remedy == "open it once on the primary server as keeper"


@table(
    ("kept", "server", "finding", "seen"),
    [
        (KEPT, SERVER, CheckStatus.OK, "app may read and write all tables"),
        (KEPT, FOLLOWER, CheckStatus.OK, "app may read all tables"),
        (others(KEPT, readable=False), SERVER, CheckStatus.PROBLEM, "app may not read encoders, memories"),
        (others(KEPT, writable=False), SERVER, CheckStatus.WARNING, "but not write encoders, memories"),
        (others(KEPT, writable=False), FOLLOWER, CheckStatus.OK, "app may read all tables"),
        (replace(KEPT, closed_sequences=("uses_numbers",)), SERVER, CheckStatus.WARNING, "but not write uses_numbers"),
    ],
)
def test_rights_that_are_lacking_are_told_with_the_statements_that_grant_them(
    kept: StoreCatalog, server: PostgresServer, finding: CheckStatus, seen: str
) -> None:
    check = check_rights(kept, APP, server)
    assert check.finding is finding
    assert seen in check.seen
    granted = (
        "run as keeper: GRANT USAGE ON SCHEMA recollect TO app; GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES"
    )
    assert finding is CheckStatus.OK or granted in str(check.remedy)


def test_what_was_erased_and_is_not_swept_is_worth_a_warning() -> None:
    settings = Settings(embedder="hashing-64")
    assert "erased" not in {one.name for one in check_catalog(a_catalogue(), settings)}
    (check,) = [
        one for one in check_catalog(a_catalogue(kept=replace(KEPT, unswept=2)), settings) if one.name == "erased"
    ]
    assert check.finding is CheckStatus.WARNING
    assert check.seen == "the files of PostgreSQL still have bytes of 2 erasures"
    assert "`recollect admin sweep` as keeper" in str(check.remedy)


def test_every_table_that_holds_memories_must_be_secured() -> None:
    assert check_row_security(KEPT.tables).seen == "enabled and forced on 1 table"
    check = check_row_security([replace(MEMORIES, name=f"memories_{n}", secured=False) for n in range(6)])
    assert check.finding is CheckStatus.PROBLEM
    assert check.seen == "not enabled and forced on memories_0, memories_1, memories_2, memories_3 and 2 more"
