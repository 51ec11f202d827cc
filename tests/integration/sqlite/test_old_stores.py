"""Stores of former versions open, and everything in them is where it belongs."""

from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import apsw
import pytest

import recollect
from recollect.factory import verify
from recollect.model.context import ContextRecord
from recollect.model.enums import Level, Status, Trust
from recollect.model.memory import said_hash
from recollect.model.scope import Scope
from recollect.stores.sql.migrations import load_migrations
from recollect.stores.sqlite.connection import MIGRATIONS
from recollect.stores.sqlite.store import SqliteStore
from recollect.testing.builders import ManualClock, set_checkpoint
from recollect.text import entities, paraphrase, tokenizer

OLD = sorted((Path(__file__).parent.parent / "old").glob("schema-*.sql"))
ANA = "acme/ana"


def as_it_was(script: Path, folder: Path) -> Path:
    """The store that the script wrote, in a file."""
    path = folder / "old.db"
    db = apsw.Connection(str(path))
    db.execute(script.read_text()).fetchall()
    db.close()
    return path


def now() -> datetime:
    return datetime(2026, 2, 1, tzinfo=UTC)


@pytest.mark.parametrize("script", OLD, ids=lambda one: one.stem)
def test_a_store_of_each_former_schema_opens_and_is_whole(script: Path, tmp_path: Path) -> None:
    path = as_it_was(script, tmp_path)
    with recollect.open(path, clock=now) as memory:
        texts = {one.text: one for one in memory.memories(scope="acme", below=True, statuses=tuple(Status))}
        assert len(texts) == 5
        assert [one.text for one in memory.history(texts["Ana prefers aisle seats"].id, scope=ANA)] == [
            "Ana prefers window seats",
            "Ana prefers aisle seats",
        ]
        context = memory.recall("which seat does Ana like?", scope=ANA)
        assert "Ana prefers aisle seats" in context.text
        usage = memory.contexts.usage(texts["Ana prefers aisle seats"].id, scope=ANA)
        assert (usage.helped, usage.quoted, usage.followed) == (1, 0, 0)
        noted = memory.feedback(context.id or "", scope=ANA, answer="Ana prefers aisle seats, I think")
        assert noted.quoted == (texts["Ana prefers aisle seats"].id,)
        assert memory.contexts.usage(texts["Ana prefers aisle seats"].id, scope=ANA).quoted == 1
    assert verify(path).problems == ()


@pytest.mark.parametrize("script", OLD, ids=lambda one: one.stem)
def test_what_was_kept_before_is_known_again(script: Path, tmp_path: Path) -> None:
    with recollect.open(as_it_was(script, tmp_path), clock=now) as memory:
        again = memory.remember("Ana prefers an aisle seat", scope=ANA)
        assert again.memory.text == "Ana prefers aisle seats"  # which has a subject by now, and had none
        assert again.verdict == recollect.types.Updated(again.memory.revisions)
        hiking = memory.remember("I love hiking", scope=ANA, speaker="Ana", kind="event")
        assert isinstance(hiking.verdict, recollect.types.Reinforced)
        assert hiking.memory.hash == said_hash("I love hiking", "Ana", "event")
        assert (
            memory.remember("I love hiking", scope=ANA, speaker="Bo", kind="event").verdict == recollect.types.Created()
        )
        rome = memory.remember("Ana is in Rome", scope=ANA)
        assert rome.memory.status is Status.ACTIVE
        assert rome.memory.revisions == 2
        (bo,) = memory.memories(scope="acme")
        assert (bo.trust, rome.memory.trust) == (Trust.STATED, Trust.INFERRED)


@pytest.mark.parametrize("script", OLD, ids=lambda one: one.stem)
def test_what_was_kept_before_there_were_levels_is_plain_and_records_come_beside_it(
    script: Path, tmp_path: Path
) -> None:
    path = as_it_was(script, tmp_path)
    with recollect.open(path, clock=now) as memory:
        former = memory.memories(scope="acme", below=True, statuses=tuple(Status))
        assert {one.level for one in former} == {None}
        assert {one.level for old in former for one in memory.history(old.id, scope=old.scope)} == {None}
        said = {"text": "Ana prefers aisle seats", "at": datetime(2026, 1, 31, tzinfo=UTC)}
        (event,) = memory.observe([said], scope=ANA)
        assert event.verdict == recollect.types.Created()
    with closing(SqliteStore(path, now)) as store:
        scope = Scope.parse(ANA)
        assert [one.id for one in store.timeline(scope, tuple(Level))] == [event.id]
        assert store.changed_dates(scope, Level.EVENT, 0) == ([said["at"]], event.memory.commit)
        assert store.checkpoint(scope, "how far") is None
        store.write(lambda writing: set_checkpoint(writing, scope, "how far", "here"))
        assert store.checkpoint(scope, "how far") == "here"
        traces = [item for item in store.export(None)[1] if isinstance(item, ContextRecord)]
        assert [one.levels for one in traces] == [()]
    assert verify(path).problems == ()


@pytest.mark.parametrize("script", OLD, ids=lambda one: one.stem)
def test_the_jobs_of_a_former_store_begin_with_what_falls_due_next(script: Path, tmp_path: Path) -> None:
    path = as_it_was(script, tmp_path)
    clock = ManualClock(now())
    with recollect.scheduler(path, clock=clock) as scheduler:
        assert scheduler.run_due() == []
        clock.move(timedelta(days=1))
        assert "rollup" in [one.job for one in scheduler.run_due() if one.problem is None]
    assert verify(path).problems == ()


READ_BY = {8: {"terms": "1", "likeness": "2", "names": "1"}}
"""Of the last schema, by which rules what it keeps beside a text was read from it."""


def test_other_rules_of_reading_come_with_a_migration_that_reads_again() -> None:
    rules = {"terms": tokenizer.VERSION, "likeness": paraphrase.VERSION, "names": entities.VERSION}
    assert {len(load_migrations(MIGRATIONS)): rules} == READ_BY
