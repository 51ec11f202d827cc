"""A check restores the file and finds whatever is wrong with it, in words."""

import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import apsw
import pytest

import recollect
from recollect.factory import verify
from recollect.model.archive import VerifyReport
from recollect.model.encoder import Encoder
from recollect.stores.sqlite import store_files
from recollect.stores.sqlite import verify as integrity_check
from tests.integration.sqlite.engines import NOW, SCOPE, OtherEngine, an_engine


def a_store(path: Path) -> None:
    """A store in which something of everything has happened."""
    with an_engine(path) as engine:
        for number in range(60):
            engine.remember(f"thing {number} is what it is", scope=SCOPE, title=f"Title {number}", key=f"key {number}")
        first, second, third, *_ = engine.memories(scope=SCOPE)
        engine.revise(first.id, "thing 0 is something else", scope=SCOPE)
        engine.pin(first.id, scope=SCOPE)
        engine.forget(second.id, scope=SCOPE)
        engine.remember(third.text, scope=SCOPE)
        for by in ("ana", "ben"):
            context = engine.recall("thing 0", scope=SCOPE)
            answer = "what thing 0 is: thing 0 is something else"
            engine.feedback(context.id or "", scope=SCOPE, helped=[first.id], by=by, answer=answer)
        engine.remember("for all of us", scope="acme", shared=True)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store, closed, and a backup of it."""
    folder = tmp_path_factory.mktemp("made")
    a_store(folder / "a.db")
    with an_engine(folder / "a.db") as engine:
        engine.admin.backup(folder / "b.db")
    return folder


@pytest.fixture
def store(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(made / "a.db", tmp_path))


@pytest.fixture
def backup(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(made / "b.db", tmp_path))


def flip(path: Path, place: int) -> None:
    """Change one bit of a file."""
    content = bytearray(path.read_bytes())
    content[place] ^= 0x10
    path.write_bytes(content)


def place_of(path: Path, said: bytes) -> int:
    place = path.read_bytes().find(said)
    assert place > 0
    return place


def test_a_good_backup_is_sealed_restored_and_recalled_from(backup: Path) -> None:
    before = backup.read_bytes()
    assert verify(backup) == VerifyReport(
        path=str(backup),
        bytes=len(before),
        sealed=True,
        schema=8,
        encoder=Encoder("hashing-256", 256),
        memories=61,
        versions=64,
        contexts=2,
        recalled=True,
    )
    assert backup.read_bytes() == before
    assert [path.name for path in backup.parent.iterdir()] == ["b.db"]


@pytest.mark.parametrize("share", [number / 16 for number in range(1, 16)])
def test_a_flipped_bit_in_a_backup_is_noticed_wherever_it_is(backup: Path, share: float) -> None:
    flip(backup, int(backup.stat().st_size * share))
    report = verify(backup)
    assert not report.ok
    assert not report.sealed
    assert "the file has changed since it was written" in report.problems[0]


@pytest.mark.parametrize("left", [0.0, 0.01, 0.3, 0.5, 0.9, 0.999])
def test_a_backup_that_was_cut_is_noticed(backup: Path, left: float) -> None:
    with backup.open("r+b") as file:
        file.truncate(int(backup.stat().st_size * left))
    assert not verify(backup).ok


def test_a_backup_whose_end_was_cut_is_noticed_down_to_the_last_byte(backup: Path) -> None:
    with backup.open("r+b") as file:
        file.truncate(backup.stat().st_size - 1)
    assert "its end is missing" in verify(backup).problems[0]


def test_a_backup_that_is_used_as_a_store_has_no_seal_any_more_and_is_good(backup: Path) -> None:
    with an_engine(backup) as engine:
        engine.get(engine.memories(scope=SCOPE)[0].id, scope=SCOPE)
    assert verify(backup).sealed
    with an_engine(backup) as engine:
        engine.remember("something new", scope=SCOPE)
        report = verify(backup)
        assert (report.ok, report.sealed, report.memories) == (True, False, 62)
    assert verify(backup) == replace(report, bytes=backup.stat().st_size)


def test_a_log_that_says_nothing_new_leaves_a_backup_as_sealed_as_it_was(backup: Path) -> None:
    with an_engine(backup) as engine:
        engine.search("thing 7", scope=SCOPE)
        assert beside(backup, "-wal").exists()
        assert verify(backup).sealed
    beside(backup, "-wal").touch()
    report = verify(backup)
    assert (report.ok, report.sealed) == (True, True)


def test_a_store_that_is_opened_written_and_closed_while_it_is_copied_is_good(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocks, times = store_files.read_blocks, iter(range(100))

    def disturbed(path: Path, **given: int) -> Iterator[tuple[int, bytes]]:
        for number, block in enumerate(blocks(path, **given)):
            yield block
            if number == 0 and path == store and next(times) < 2:
                other = OtherEngine("remembers", store, SCOPE, f"meanwhile {time.monotonic_ns()}")
                assert other.hear()
                other.end()

    monkeypatch.setattr(store_files, "BLOCK_BYTES", 65_536)
    monkeypatch.setattr(store_files, "read_blocks", disturbed)
    report = verify(store)
    assert (report.problems, report.memories) == ((), 63)


def test_a_store_that_never_rests_is_told_as_busy_and_not_as_damaged(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocks = store_files.read_blocks

    def disturbed(path: Path, **given: int) -> Iterator[tuple[int, bytes]]:
        os.utime(store)
        return blocks(path, **given)

    monkeypatch.setattr(store_files, "read_blocks", disturbed)
    with pytest.raises(recollect.StoreBusy, match="other processes keep writing to it"):
        verify(store)


def test_a_log_that_vanishes_while_it_is_copied_is_no_damage(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blocks = store_files.read_blocks
    journal = beside(store, "-journal")
    journal.write_bytes(b"left by somebody who is about to remove it")

    def vanishing(path: Path, **given: int) -> Iterator[tuple[int, bytes]]:
        if path == journal:
            journal.unlink()
        return blocks(path, **given)

    monkeypatch.setattr(store_files, "read_blocks", vanishing)
    assert verify(store).ok


def test_a_seal_is_at_the_end_of_a_file_and_not_in_its_last_page(tmp_path: Path) -> None:
    page = bytes(16) + (512).to_bytes(2) + bytes(512 - 18)
    file = tmp_path / "store.db"
    file.write_bytes(page + bytes(512 - store_files.CHECKSUM_BYTES) + store_files.CHECKSUM_MARK + bytes(32))
    assert store_files.read_checksum_state(file) is store_files.ChecksumState.ABSENT
    file.write_bytes(page + store_files.CHECKSUM_MARK + bytes(32))
    assert store_files.read_checksum_state(file) is store_files.ChecksumState.BROKEN
    file.write_bytes(page + bytes(48))
    assert store_files.read_checksum_state(file) is store_files.ChecksumState.CUT


def test_a_seal_that_is_taken_off_while_it_is_looked_at_is_not_broken(
    backup: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocks = store_files.read_blocks

    def taken_off(path: Path, **given: int) -> Iterator[tuple[int, bytes]]:
        if store_files.has_checksum(path):
            store_files.remove_checksum(path)
        return blocks(path, **given)

    monkeypatch.setattr(store_files, "read_blocks", taken_off)
    report = verify(backup)
    assert (report.ok, report.sealed) == (True, False)


def test_every_step_of_a_check_is_told(store: Path) -> None:
    told: list[tuple[int, int]] = []
    assert verify(store, progress=lambda done, total: told.append((done, total))).ok
    assert told == [(step, told[0][1]) for step in range(1, told[0][1] + 1)]
    assert len(told) == len(integrity_check.CHECKS) + 3
    with pytest.raises(recollect.errors.FieldError, match="progress"):
        verify(store, progress=7)  # type: ignore[arg-type]


def test_a_log_of_another_store_is_told(backup: Path, tmp_path: Path) -> None:
    with an_engine(tmp_path / "other.db") as engine:
        engine.remember_all([{"text": f"other {number}"} for number in range(50)], scope=SCOPE)
        shutil.copy(tmp_path / "other.db-wal", beside(backup, "-wal"))
    for _ in range(2):
        report = verify(backup)
        assert not report.sealed
        assert "b.db-wal beside it belongs to another store and would change this backup" in report.problems[0]
        flip(backup, backup.stat().st_size - 60_000)


def test_a_journal_that_would_be_played_back_into_a_backup_is_told_and_not_played_back(
    backup: Path, tmp_path: Path
) -> None:
    before = backup.read_bytes()
    shutil.copy(backup, tmp_path / "other.db")
    db = apsw.Connection(str(tmp_path / "other.db"))
    db.pragma("journal_mode", "delete")
    db.execute("UPDATE contents SET text = 'of another'; PRAGMA cache_size = 1; BEGIN; UPDATE contents SET text = 'x'")
    db.cache_flush()
    shutil.copy(tmp_path / "other.db-journal", beside(backup, "-journal"))
    db.close()
    report = verify(backup)
    assert not report.sealed
    assert "b.db-journal beside it belongs to another store and would change this backup" in report.problems[0]
    assert (len(report.problems), report.recalled) == (1, True)  # by itself it is good
    assert backup.read_bytes() == before


def beside(path: Path, end: str) -> Path:
    return path.with_name(f"{path.name}{end}")


def test_what_a_killed_check_left_goes_with_the_next_one(backup: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = backup.with_name("temporary")
    place.mkdir()
    monkeypatch.setenv("TMPDIR", str(place))
    monkeypatch.setattr(tempfile, "tempdir", None)
    other = OtherEngine("is_killed_while_verifying", backup)
    restored = Path(other.hear())
    other.kill()
    assert b"thing 33 is what it is" in restored.read_bytes()
    assert restored.parent.parent == place
    assert verify(backup).ok
    assert list(place.iterdir()) == []


def test_where_nothing_can_be_restored_it_is_said_what_to_do(backup: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(backup.with_name("nowhere")))
    with pytest.raises(recollect.StoreError, match="TMPDIR"):
        verify(backup)


def test_a_store_is_checked_while_others_use_it(store: Path) -> None:
    reader = OtherEngine("reads", store)
    reader.hear()
    with an_engine(store) as engine:
        new = engine.remember("something new", scope=SCOPE)
        report = verify(store)
        assert (report.ok, report.sealed, report.memories, report.recalled) == (True, False, 62, True)
        OtherEngine("remembers", store, SCOPE, "no lock was lost").end()
        assert engine.get(new.id, scope=SCOPE).text == "something new"
    reader.end()


def test_what_was_said_by_somebody_and_what_happened_are_sound(tmp_path: Path) -> None:
    path = tmp_path / "agent.db"
    with recollect.open(path, embedder="hashing") as memory:
        memory.remember("I love hiking", scope=SCOPE, speaker="Ana")
        memory.remember("I love hiking", scope=SCOPE, speaker="Bo", kind="event")
        memory.extract([{"text": "I am allergic to nuts.", "speaker": "Ana"}], scope=SCOPE)
    assert verify(path).problems == ()


def test_records_of_what_happened_are_sound_and_a_plain_memory_is_recalled(tmp_path: Path) -> None:
    path = tmp_path / "agent.db"
    with an_engine(path) as engine:
        plain = engine.remember("I love hiking", scope=SCOPE, speaker="Ana")
        said = {"text": "I love hiking", "speaker": "Ana"}
        engine.observe([{**said, "at": NOW - timedelta(days=days)} for days in range(3)], scope=SCOPE)
        engine.revise(plain.id, "I like hiking", scope=SCOPE)
        engine.admin.backup(tmp_path / "backup.db")
    for one in (path, tmp_path / "backup.db"):
        report = verify(one)
        assert (report.problems, report.memories, report.recalled) == ((), 4, True)


def test_an_empty_store_is_a_good_one(tmp_path: Path) -> None:
    with an_engine(tmp_path / "a.db") as engine:
        engine.admin.backup(tmp_path / "b.db")
    report = verify(tmp_path / "b.db")
    assert (report.ok, report.memories, report.recalled) == (True, 0, False)


def test_what_is_not_there_is_said_to_be_not_there(tmp_path: Path) -> None:
    with pytest.raises(recollect.NotFound, match=r"a\.db"):
        verify(tmp_path / "a.db")
    with pytest.raises(recollect.InvalidInput, match="pg_dump"):
        verify("postgresql://somewhere")


def test_a_file_of_something_else_is_no_store(tmp_path: Path) -> None:
    (tmp_path / "a.db").write_text("a letter, and not a short one. " * 500)
    assert any("not a SQLite database" in problem for problem in verify(tmp_path / "a.db").problems)
    db = apsw.Connection(str(tmp_path / "b.db"))
    db.execute("CREATE TABLE notes (note TEXT)")
    db.close()
    assert any("another program" in problem for problem in verify(tmp_path / "b.db").problems)


FLIPPED: dict[str, tuple[Callable[[Path], int], str]] = {
    "the header of the file": (lambda _: 63, "newer recollect"),
    "the header of a page": (lambda _: 3 * 8192 + 3, "damaged"),
    "a word": (lambda path: place_of(path, b"thing 33 is what"), "hash does not match the text"),
    "a word of a title": (lambda path: place_of(path, b"Title 33"), "terms do not match the text"),
    "a sum": (lambda path: place_of(path, b"thing 33 is what it is") + len("thing 33 is what it is") + 3, "hash"),
}


@pytest.mark.parametrize("what", FLIPPED)
def test_a_flipped_bit_in_a_store_that_has_no_seal_is_noticed_where_it_matters(store: Path, what: str) -> None:
    place, match = FLIPPED[what]
    flip(store, place(store))
    report = verify(store)
    assert not report.ok
    assert any(match in problem for problem in report.problems), report.problems


BRACKETS = "[" * 20_000 + "]" * 20_000

WRONG: dict[str, tuple[str, str]] = {
    "a text": ("UPDATE contents SET text = 'another' WHERE number = 3", "content 3: the hash does not match"),
    "the terms": ("UPDATE contents SET terms = x'' WHERE number = 3", "content 3: the terms do not match"),
    "the analyser": ("UPDATE contents SET analyser = '0' WHERE number = 3", "content 3 has terms of tokenizer '0'"),
    "the names": ("UPDATE contents SET entities = 'ana' WHERE number = 3", "content 3: the names do not match"),
    "the naming": ("UPDATE contents SET naming = '0' WHERE number = 3", "content 3 has names by rules '0'"),
    "a content of nobody": (
        (
            "INSERT INTO contents SELECT 99, title, text, hash, terms, analyser, entities, naming "
            "FROM contents WHERE number = 3"
        ),
        "belongs to no memory",
    ),
    "a short vector": ("UPDATE vectors SET value = x'0000803f' WHERE key / 256 = 3", "content 3 has 4 bytes"),
    "a vector of no direction": (
        "UPDATE vectors SET value = zeroblob(1024) WHERE key / 256 = 3",
        "does not have length 1",
    ),
    "a vector of NaN": (
        "UPDATE vectors SET value = CAST(x'0000c07f' || zeroblob(1020) AS BLOB) WHERE key / 256 = 3",
        "content 3",
    ),
    "no vector": ("DELETE FROM vectors WHERE key / 256 = 3", "1 contents have no vector of the current model"),
    "a vector of nothing": (
        "INSERT INTO vectors SELECT 256 * 99999 + key % 256, value FROM vectors LIMIT 1",
        "belongs to no content",
    ),
    "a vector of no model": ("UPDATE vectors SET key = key + 7 WHERE key / 256 = 3", "belongs to no model"),
    "an importance": ("UPDATE memories SET importance = 7 WHERE number = 3", "is not within 0..1"),
    "a kind": ("UPDATE memories SET kind = 'mood' WHERE number = 3", "cannot be read"),
    "a level": ("UPDATE memories SET level = 'decade' WHERE number = 3", "cannot be read"),
    "a level of something that is no record": (
        "UPDATE memories SET level = 'day' WHERE number = 3",
        "has the hash of another text",
    ),
    "a level of something that is like others": (
        "UPDATE versions SET level = 'day' WHERE number = 1",
        "has the paraphrase key of another text",
    ),
    "a checkpoint of nobody": ("INSERT INTO checkpoints VALUES (99, 'how far', 'here')", "refers to a row of scopes"),
    "the sum of a memory": ("UPDATE memories SET hash = 'x' WHERE number = 3", "has the hash of another text"),
    "two that say the same": (
        "DROP INDEX one_active_memory_says_it; UPDATE memories SET hash = 'same' WHERE number IN (3, 4)",
        "active memories with the same text",
    ),
    "two of one topic": (
        "DROP INDEX one_active_memory_of_a_topic; UPDATE memories SET topic_key = 'trip' WHERE number IN (3, 4)",
        "acme/ana has active memories with the same topic 'trip': ",
    ),
    "an index that is gone": (
        "DROP INDEX one_active_memory_of_a_topic",
        "the index one_active_memory_of_a_topic is missing",
    ),
    "an index that promises nothing": (
        """
        DROP INDEX one_active_memory_says_it;
        CREATE INDEX one_active_memory_says_it ON memories (scope, hash, coalesce(topic_key, ''))
        WHERE status = 'active'
        """,
        "the index one_active_memory_says_it differs from its definition in this version",
    ),
    "an index that does not know all": (
        """
        DROP INDEX one_active_memory_says_it;
        CREATE UNIQUE INDEX one_active_memory_says_it ON memories (scope, hash, coalesce(topic_key, ''))
        WHERE status = 'active' AND number <> 3;
        PRAGMA writable_schema = ON;
        UPDATE sqlite_schema SET sql = replace(sql, ' AND number <> 3', '') WHERE name = 'one_active_memory_says_it'
        """,
        "the file is damaged: row 3 missing from index one_active_memory_says_it",
    ),
    "a table that promises less": (
        """
        PRAGMA writable_schema = ON;
        UPDATE sqlite_schema SET sql = replace(sql, 'CHECK (present IN (0, 1))', '') WHERE name = 'encoders'
        """,
        "the table encoders differs from its definition in this version",
    ),
    "a trigger": (
        "CREATE TRIGGER quiet BEFORE DELETE ON memories BEGIN SELECT RAISE(IGNORE); END",
        "the trigger 'quiet' of 'memories' is not from recollect",
    ),
    "a memory that is there twice": (
        """
        PRAGMA writable_schema = ON;
        UPDATE sqlite_schema SET sql = replace(sql, 'NOT NULL UNIQUE', 'NOT NULL') WHERE name = 'memories';
        DELETE FROM sqlite_schema WHERE name = 'sqlite_autoindex_memories_1';
        PRAGMA writable_schema = RESET;
        UPDATE memories SET id = 'same' WHERE number IN (3, 4)
        """,
        "several memories have the name 'same'",
    ),
    "two present models": (
        "DROP INDEX one_present_encoder; INSERT INTO encoders VALUES (2, 'other', 3, 1)",
        "several models are marked as the current one: hashing-256, other",
    ),
    "no present model": ("UPDATE encoders SET present = 0", "no model is marked as the current one, so"),
    "a gap between versions": ("UPDATE versions SET until = until - 1 WHERE number = 1", "have a gap or overlap"),
    "a missing version": ("DELETE FROM versions WHERE number = 2", "have a gap or overlap"),
    "a version that ends before it begins": ("UPDATE versions SET changed = 9000 WHERE number = 1", "ends before it"),
    "the moment of a version": (
        "UPDATE memories SET recorded_at = recorded_at + 1 WHERE number = 3",
        "recorded at another time than its commit",
    ),
    "a lost commit": ("DELETE FROM commits WHERE number = 3", "commit 3 has rows but is not recorded"),
    "commits out of order": (
        "UPDATE commits SET recorded_at = recorded_at - 60000000 WHERE number = 3",
        "not in the order of their numbers",
    ),
    "a counter": ("UPDATE usage SET served = served + 1 WHERE served > 0", "the counters of memory"),
    "a lost use": ("DELETE FROM uses WHERE number = 1", "the counters of memory"),
    "a vote that is not counted": ("UPDATE usage SET helped = 1 WHERE helped = 2", "the counters of memory"),
    "a sign that is not counted": ("UPDATE usage SET quoted = 1 WHERE quoted = 2", "the counters of memory"),
    "a lost sign": ("DELETE FROM uses WHERE use = 'quoted' AND number % 2", "the counters of memory"),
    "a success that never was": ("UPDATE usage SET followed = 1 WHERE helped = 2", "the counters of memory"),
    "a sign that is there twice": (
        """
        DROP INDEX one_sign_of_a_context;
        INSERT INTO uses (memory, use, at, context, changed)
        SELECT memory, use, at, context, changed FROM uses WHERE use = 'quoted';
        UPDATE usage SET quoted = 2 * quoted;
        """,
        "one_sign_of_a_context",
    ),
    "lost counters": ("DELETE FROM usage WHERE helped = 2", "the counters of memory"),
    "counters of another scope": ("UPDATE usage SET scope = 99", "stored under another scope"),
    "a scope that knows nothing": (
        "UPDATE scopes SET changed = 0 WHERE path = 'acme/ana'",
        "acme/ana does not have the number of its last change",
    ),
    "a context": ("UPDATE contexts SET trace = '{}'", "cannot be read"),
    "a context of another": (
        "UPDATE contexts SET trace = replace(trace, 'acme/ana', 'acme/ben')",
        "another id or scope in its record",
    ),
    "brackets in a memory": (
        f"""UPDATE memories SET more = '{{"provenance": "import", "metadata": {BRACKETS}}}'""",  # noqa: S608
        "cannot be read (maximum recursion depth",
    ),
    "brackets in a context": (
        f"UPDATE contexts SET trace = '{BRACKETS}'",  # noqa: S608
        "cannot be read (maximum recursion depth",
    ),
    "a key": ("UPDATE keys SET verdict = '[]' WHERE key = 'key 3'", "the key 'key 3' of acme/ana cannot be read"),
    "a row that points to nothing": ("UPDATE memories SET scope = 99 WHERE number = 3", "refers to a row of scopes"),
}


@pytest.mark.parametrize("what", WRONG)
def test_a_row_that_does_not_fit_the_others_is_told_in_words(store: Path, what: str) -> None:
    change, match = WRONG[what]
    db = apsw.Connection(str(store))
    db.execute(change)
    db.close()
    report = verify(store)
    assert any(match in problem for problem in report.problems), report.problems


def test_a_table_and_an_index_that_somebody_added_are_left_alone(store: Path) -> None:
    db = apsw.Connection(str(store))
    db.execute("CREATE TABLE _copied (seq INTEGER); CREATE INDEX by_kind ON memories (kind); ANALYZE")
    db.close()
    assert verify(store).ok


def test_many_problems_of_one_sort_are_counted(store: Path) -> None:
    db = apsw.Connection(str(store))
    db.execute("UPDATE contents SET terms = x''")
    db.close()
    contents = [problem for problem in verify(store).problems if "terms" in problem or "more like" in problem]
    assert len(contents) == 21
    assert contents[-1] == f"and {61 - 20} more like the last one"
