"""By the catalogue: whatever holds memories is spread by their root, found by it, and shown to nobody unasked."""

import re
from collections.abc import Iterator

import psycopg
import pytest

from tests.integration.postgres.scene import Db
from tests.postgres import admin_url

OF_NOBODY = {"encoders", "jobs", "migrated", "moving", "occurrences", "unswept"}
"""The tables that hold nothing of any root."""

TABLES = """
    SELECT c.relname, c.relkind = 'p', c.relispartition, c.relrowsecurity, c.relforcerowsecurity
    FROM pg_class c WHERE c.relnamespace = 'recollect'::regnamespace AND c.relkind IN ('r', 'p')
"""

SPREAD = """
    SELECT c.relname, p.partstrat::text,
           ARRAY(SELECT a.attname::text FROM unnest(p.partattrs::smallint[]) WITH ORDINALITY k (number, place)
                 LEFT JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = k.number ORDER BY k.place)
    FROM pg_partitioned_table p JOIN pg_class c ON c.oid = p.partrelid
    WHERE c.relnamespace = 'recollect'::regnamespace
"""

PARTS = """
    SELECT parent.relname, count(*)
    FROM pg_inherits i JOIN pg_class parent ON parent.oid = i.inhparent
    WHERE parent.relnamespace = 'recollect'::regnamespace AND parent.relkind = 'p'
    GROUP BY parent.relname
"""

INDEXES = """
    SELECT t.relname, c.relname, a.attname
    FROM pg_index i
    JOIN pg_class c ON c.oid = i.indexrelid
    JOIN pg_class t ON t.oid = i.indrelid
    LEFT JOIN pg_attribute a ON a.attrelid = t.oid AND a.attnum = i.indkey[0]
    WHERE t.relnamespace = 'recollect'::regnamespace
"""

FOREIGN_KEYS = """
    SELECT k.conrelid::regclass::text || ' ' || k.conname,
           array_position(k.conkey, (
               SELECT a.attnum FROM pg_attribute a WHERE a.attrelid = k.conrelid AND a.attname = 'root'
           )) = array_position(k.confkey, (
               SELECT a.attnum FROM pg_attribute a WHERE a.attrelid = k.confrelid AND a.attname = 'root'
           ))
    FROM pg_constraint k
    WHERE k.contype = 'f' AND k.connamespace = 'recollect'::regnamespace
"""

POLICIES = """
    SELECT c.relname, p.polpermissive, p.polcmd::text, p.polroles = '{0}', p.polwithcheck IS NULL
    FROM pg_policy p JOIN pg_class c ON c.oid = p.polrelid
    WHERE c.relnamespace = 'recollect'::regnamespace
"""


@pytest.fixture
def catalogue(postgres_store_url: str) -> Iterator[Db]:
    """The catalogue of a database with a store."""
    with psycopg.connect(admin_url(postgres_store_url), autocommit=True) as db:
        yield db


def spread(catalogue: Db) -> set[object]:
    """The tables that hold something of a root, without their partitions."""
    return {name for name, _, is_part, *_ in catalogue.execute(TABLES) if not is_part} - OF_NOBODY


def test_every_table_with_something_of_a_root_is_hash_partitioned_by_the_root_alone(
    catalogue: Db,
) -> None:
    tables = spread(catalogue)
    assert tables
    assert {name: (how, columns) for name, how, columns in catalogue.execute(SPREAD)} == {
        name: ("h", ["root"]) for name in tables
    }
    assert dict(catalogue.execute(PARTS).fetchall()) == dict.fromkeys(tables, 8)


def test_a_table_that_is_not_spread_has_no_column_for_a_root_or_a_scope(
    catalogue: Db,
) -> None:
    found = catalogue.execute(
        "SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = 'recollect'"
    )
    columns = {(table, column) for table, column in found if table in OF_NOBODY}
    assert {table for table, _ in columns} == OF_NOBODY
    assert not {column for _, column in columns} & {"root", "scope", "memory", "content", "path", "text"}


def test_every_index_begins_with_the_root(catalogue: Db) -> None:
    indexes = [found for found in catalogue.execute(INDEXES) if found[0] not in OF_NOBODY]
    assert len(indexes) > 200
    others = {re.sub("_[0-9]+_", "_", name) for _, name, first in indexes if first != "root"}
    by_number = {"contents_by_number", "memories_by_number"}  # for what goes through those of all roots; no keys
    assert others == {*by_number, "contents_number_idx", "memories_number_idx"}


def test_every_foreign_key_has_the_root_on_both_sides(catalogue: Db) -> None:
    keys = catalogue.execute(FOREIGN_KEYS).fetchall()
    assert len(keys) > 12
    assert [name for name, same in keys if not same] == []


def test_row_level_security_is_enabled_and_forced_on_every_table_and_each_of_its_partitions(
    catalogue: Db,
) -> None:
    held = {name: flags for name, _, _, *flags in catalogue.execute(TABLES) if name not in OF_NOBODY}
    assert len(held) == 9 * len(spread(catalogue))
    assert {name for name, flags in held.items() if flags != [True, True]} == set()


def test_there_is_one_policy_for_each_table_and_it_is_for_everybody_and_everything(
    catalogue: Db,
) -> None:
    found = catalogue.execute(POLICIES).fetchall()
    assert sorted(found) == sorted((name, True, "*", True, True) for name in spread(catalogue))
