"""Looking after a store on the command line: erased, counted, exported, imported, backed up, verified."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from click.testing import CliRunner

import recollect
from recollect.cli.main import cli

from .shell import ENVIRONMENT, Shell

ANA = ("--scope", "acme/ana")
BEN = ("--scope", "acme/ben")
ALLERGY = "Ana is allergic to peanuts, and nobody but her doctor may know"
SEAT = "Ana prefers window seats"
MANY = 100

HOLD = """
import sqlite3, sys
other = sqlite3.connect(sys.argv[1], isolation_level=None)
other.execute(sys.argv[2])
other.execute("SELECT count(*) FROM sqlite_schema").fetchone()
print("held", flush=True)
sys.stdin.read()
"""


@contextmanager
def held(store: Path, how: str) -> Iterator[Callable[[], object]]:
    """Another process has a transaction open, of the sort that `how` begins; until the end, or until it is told."""
    command = [sys.executable, "-c", HOLD, str(store), how]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "held\n"
        yield other.communicate
        if other.returncode is None:
            other.communicate()


@pytest.fixture
def filled(shell: Shell) -> Shell:
    shell("remember", ALLERGY, *ANA, "--id", "allergy", "--kind", "fact", "--source", "letter-7")
    shell("remember", "the kitchen is told to leave out nuts", *ANA, "--id", "lesson", "--derived-from", "allergy")
    shell("remember", SEAT, *ANA, "--id", "seat", "--kind", "preference")
    shell("remember", "Ben takes the train", *BEN, "--id", "train")
    shell("recall", "what is Ana allergic to?", *ANA)
    return shell


@pytest.fixture
def large(shell: Shell) -> Shell:
    with recollect.open(shell.store, embedder="hashing") as engine:
        engine.remember_all([{"text": f"note {number} of many"} for number in range(MANY)], scope="acme/ana")
    return shell


def ids(shell: Shell, *scope: str) -> list[str]:
    return [one["id"] for one in shell.json("list", *scope)["memories"]]


def folder(shell: Shell) -> set[str]:
    return {path.name for path in shell.store.parent.iterdir()}


def bytes_of(shell: Shell) -> bytes:
    return b"".join(path.read_bytes() for path in shell.store.parent.iterdir())


def yes() -> str:
    return "y"


def test_what_is_erased_is_in_no_file_and_what_was_derived_from_it_goes_too(filled: Shell) -> None:
    assert ALLERGY.encode() in bytes_of(filled)
    outcome = filled.process("erase", *ANA, "--id", "allergy", "--yes")
    assert outcome.stdout.splitlines()[:5] == [
        "erased       2 memories of acme/ana with 2 versions, and all of it in 1 context",
        "ids          allergy, lesson",
        "with it      its words in the text index, 2 vectors, 2 uses, 0 votes, 0 keys, 0 checkpoints",
        "searched     agent.db, agent.db-wal, agent.db-shm, agent.db-queue",
        "proved       nothing of it was found there",
    ]
    assert "out of reach backups and exports of this store" in outcome.stdout
    assert ALLERGY.encode() not in bytes_of(filled)
    assert ids(filled, *ANA) == ["seat"]
    assert ids(filled, *BEN) == ["train"]


def test_an_erasure_in_json_says_what_was_proved_and_what_is_out_of_reach(filled: Shell) -> None:
    erasure = filled.json("erase", *ANA, "--source", "letter-7", "--yes")
    assert (erasure["scope"], erasure["ids"]) == ("acme/ana", ["allergy", "lesson"])
    assert (erasure["memories"], erasure["versions"], erasure["contexts"]) == (2, 2, 1)
    assert (erasure["proven"], erasure["retryable"]) == (True, False)
    assert erasure["search"]["files"] == ["agent.db", "agent.db-wal", "agent.db-shm", "agent.db-queue"]
    assert (erasure["search"]["remains"], erasure["search"]["unfinished"]) == ([], None)
    assert "backups and exports" in erasure["out_of_reach"][0]


def test_everything_is_everything_of_exactly_that_scope(filled: Shell) -> None:
    filled("remember", "below", "--scope", "acme/ana/trips", "--id", "below")
    assert filled.json("erase", *ANA, "--everything", "--yes")["memories"] == 3
    assert ids(filled, "--scope", "acme", "--below") == ["below", "train"]


def test_a_pipe_is_not_asked_and_nothing_is_erased_without_yes(filled: Shell) -> None:
    outcome = filled.process("erase", *ANA, "--id", "allergy", code=2)
    assert "pass --yes to erase for good" in outcome.stderr
    assert outcome.stdout == ""
    assert "allergy" in ids(filled, *ANA)


@pytest.mark.parametrize(
    ("what", "question"),
    [
        (
            ("--id", "allergy"),
            f"Erase for good allergy ({ALLERGY[:60].rstrip()}…), and all that was derived from it? [y/N]",
        ),
        (("--source", "letter-7"), "all that came to acme/ana from letter-7, and all that was derived from it? [y/N]"),
        (("--everything",), "everything in acme/ana, 3 memories and the contexts made for it? [y/N]"),
    ],
    ids=lambda value: value[0],
)
def test_a_terminal_is_asked_and_no_means_no(what: tuple[str, ...], question: str, filled: Shell) -> None:
    def no() -> str:
        return ""

    seen = filled.talk({"[y/N]": no}, "erase", *ANA, *what, code=1)
    assert question in seen
    assert "Aborted!" in seen
    assert "allergy" in ids(filled, *ANA)
    assert "proved" in filled.talk({"[y/N]": yes}, "erase", *ANA, *what)
    assert "allergy" not in ids(filled, *ANA)


def test_one_memory_is_one_memory(filled: Shell) -> None:
    seen = filled.talk({"[y/N]": yes}, "erase", *BEN, "--everything")
    assert "everything in acme/ben, 1 memory and the contexts made for it?" in seen


def test_what_is_not_there_is_told_before_anybody_is_asked(filled: Shell) -> None:
    seen = filled.talk({"[y/N]": yes}, "erase", *BEN, "--id", "allergy", code=3)
    assert "[y/N]" not in seen


@pytest.mark.parametrize("what", [(), ("--id", "allergy", "--everything"), ("--id", "a", "--source", "b")], ids=str)
def test_exactly_one_thing_is_erased(what: tuple[str, ...], filled: Shell) -> None:
    assert (
        "exactly one of --id ID, --source ID and --everything" in filled("erase", *ANA, *what, "--yes", code=2).stderr
    )
    assert "allergy" in ids(filled, *ANA)


@pytest.mark.parametrize("what", [("--id", "nope"), ("--source", "nope"), ("--everything",)], ids=str)
def test_nothing_to_erase_has_exit_code_3(what: tuple[str, ...], filled: Shell) -> None:
    before = filled("export").stdout
    outcome = filled("erase", "--scope", "nobody", *what, "--yes", code=3)
    assert "nobody" in outcome.stderr
    assert outcome.stdout == ""
    assert filled("export").stdout == before


def test_an_erasure_that_somebody_keeps_from_being_proved_has_exit_code_1(filled: Shell) -> None:
    with held(filled.store, "BEGIN"):
        outcome = filled("erase", *ANA, "--id", "allergy", "--yes", code=1, RECOLLECT_BUSY_TIMEOUT="0.1")
    assert "not proved   agent.db: another connection reads an older snapshot" in outcome.stdout
    assert "close the programs that have it open" in outcome.stdout
    assert "left         agent.db" in outcome.stdout
    assert "allergy" not in ids(filled, *ANA)


def test_who_cannot_look_again_is_told_how_to_be_sure_and_that_works(filled: Shell, tmp_path: Path) -> None:
    with held(filled.store, "BEGIN"):
        outcome = filled("erase", *ANA, "--id", "allergy", "--yes", "--json", code=1, RECOLLECT_BUSY_TIMEOUT="0.1")
    erasure = json.loads(outcome.stdout)
    assert (erasure["proven"], erasure["retryable"]) == (False, True)
    assert "`recollect export FILE` and `recollect --db NEW import FILE` make a store without it" in outcome.stderr
    assert "prove_erased" not in outcome.output
    exported, new = str(tmp_path / "all.jsonl"), Shell(tmp_path / "anew" / "agent.db")
    new.store.parent.mkdir()
    filled("export", exported)
    new("import", exported)
    assert ids(new, *ANA) == ids(filled, *ANA)
    assert ALLERGY.encode() not in bytes_of(new)


def test_on_a_terminal_it_is_looked_again_once_the_reader_has_gone(filled: Shell) -> None:
    with held(filled.store, "BEGIN") as let_go:

        def after_closing_it() -> str:
            let_go()
            return "y"

        answers = {"[y/N]": yes, "Search again now? [Y/n]": after_closing_it}
        seen = filled.talk(answers, "erase", *ANA, "--id", "allergy", environment={"RECOLLECT_BUSY_TIMEOUT": "0.1"})
    assert "nothing of it was found there" in seen
    assert ALLERGY.encode() not in bytes_of(filled)


def test_stats_count_a_part_or_all(filled: Shell) -> None:
    whole, part = filled.json("stats"), filled.json("stats", *ANA)
    assert (whole["scope"], part["scope"]) == (None, "acme/ana")
    assert (whole["memories"], part["memories"]) == (4, 3)
    assert whole["largest"] == [{"scope": "acme/ana", "memories": 3}, {"scope": "acme/ben", "memories": 1}]
    assert part["kinds"] == {"fact": 1, "observation": 1, "preference": 1}
    assert part["statuses"] == {"active": 3}
    assert (part["contexts"], part["uses"]["helped"]) == (1, 0)
    assert part["embedder"] == {"name": "hashing-256", "dimensions": 256}
    assert whole["bytes"] > filled.store.stat().st_size / 2


def test_stats_are_a_table_on_a_terminal_and_fields_in_a_pipe(filled: Shell) -> None:
    seen = filled.terminal("stats", NO_COLOR="1").splitlines()
    assert [line.split() for line in seen[:3]] == [
        ["what", "count", "which"],
        ["memories", "4"],
        ["status", "4", "active"],
    ]
    piped = filled.process("stats").stdout.splitlines()
    assert piped[:2] == ["memories\t4\t", "status\t4\tactive"]
    assert "scope\t3\tacme/ana" in piped


def test_an_export_taken_in_by_a_new_store_is_exported_the_same_again(filled: Shell, tmp_path: Path) -> None:
    first, copy = tmp_path / "first.jsonl", Shell(tmp_path / "copy.db")
    assert filled.process("export", str(first)).stderr == "exported 4 memories and 1 context\n"
    taken = copy.process("import", str(first)).stdout
    assert taken == "added 4 memories and 1 context; skipped 0 that were there already\n"
    assert copy("export").stdout == first.read_text()
    assert copy("search", "peanuts", *ANA).stdout.split("\t")[1] == "allergy"


def test_an_export_goes_through_a_pipe(filled: Shell, tmp_path: Path) -> None:
    ours = [sys.executable, "-m", "recollect", "--db"]
    there = {**os.environ, **ENVIRONMENT}
    copy = str(tmp_path / "copy.db")
    with subprocess.Popen([*ours, str(filled.store), "export", *ANA], stdout=subprocess.PIPE, env=there) as export:
        taken = subprocess.run(
            [*ours, copy, "import", "-", "--json"], stdin=export.stdout, stdout=subprocess.PIPE, env=there
        )
    assert (export.returncode, taken.returncode) == (0, 0)
    assert json.loads(taken.stdout) == {"memories": 3, "contexts": 1, "skipped": 0, "re_embedded": None}


def test_what_is_there_already_is_skipped_and_what_says_something_else_is_a_conflict(
    filled: Shell, tmp_path: Path
) -> None:
    exported = str(tmp_path / "a.jsonl")
    filled("export", exported)
    assert filled.json("import", exported) == {"memories": 0, "contexts": 0, "skipped": 5, "re_embedded": None}
    other = Shell(tmp_path / "other.db")
    other("remember", "something else", *ANA, "--id", "allergy")
    assert "allergy" in other("import", exported, code=1).stderr
    assert ids(other, *ANA) == ["allergy"]


def test_vectors_of_another_model_are_made_anew_and_that_is_said(filled: Shell, tmp_path: Path) -> None:
    exported = str(tmp_path / "a.jsonl")
    filled("export", exported)
    copy = Shell(tmp_path / "copy.db")
    outcome = copy("import", exported, RECOLLECT_EMBEDDER="wordllama")
    assert "re-embedded: the vectors of the export were from hashing-256 (256 dimensions)" in outcome.stdout


def test_an_export_replaces_a_file_only_if_that_is_wished(filled: Shell, tmp_path: Path) -> None:
    target = tmp_path / "a.jsonl"
    target.write_text("mine")
    outcome = filled("export", str(target), code=1)
    assert f"'{target}' already exists; name another file, or replace it with --force" in outcome.stderr
    assert target.read_text() == "mine"
    filled("export", str(target), "--force")
    assert target.read_text() == filled("export").stdout


def test_an_export_follows_a_link_to_the_file_that_is_meant(filled: Shell, tmp_path: Path) -> None:
    link, target = tmp_path / "link.jsonl", tmp_path / "target.jsonl"
    link.symlink_to(target)
    filled("export", str(link))
    assert link.is_symlink()
    assert target.read_text() == filled("export").stdout


@pytest.mark.parametrize("command", ["export", "backup"])
def test_nothing_but_a_file_of_its_own_is_ever_replaced(command: str, filled: Shell) -> None:
    before = filled("export").stdout
    for other in ("agent.db", "agent.db-wal", "agent.db-queue"):
        path = str(filled.store.with_name(other))
        assert "is the store itself" in filled(command, path, "--force", code=2).stderr
    alias = filled.store.with_name("alias.db")
    alias.symlink_to(filled.store)
    assert "is the store itself" in filled(command, str(alias), "--force", code=2).stderr
    assert "is not a regular file" in filled(command, str(filled.store.parent), "--force", code=2).stderr
    assert "is not a regular file" in filled(command, "/dev/null", "--force", code=2).stderr
    assert "No such file or directory" in filled(command, str(filled.store.parent / "no" / "a"), code=1).stderr
    assert filled("export").stdout == before


@pytest.mark.parametrize("command", ["export", "backup"])
def test_a_file_is_whole_or_not_there_and_one_that_is_there_stays(command: str, large: Shell, tmp_path: Path) -> None:
    before = folder(large)
    target = tmp_path / "target"
    line = f"ulimit -f 64; {sys.executable} -m recollect --db {large.store} {command} {target}"
    there = {**os.environ, **ENVIRONMENT}
    outcome = subprocess.run(["bash", "-c", line], capture_output=True, text=True, env=there)
    assert outcome.returncode == 1, outcome.stderr
    assert outcome.stderr.startswith("Error: ")
    assert folder(large) == before
    target.write_text("mine")
    subprocess.run(["bash", "-c", f"{line} --force"], capture_output=True, text=True, env=there)
    assert target.read_text() == "mine"
    assert folder(large) == {*before, "target"}


@pytest.mark.parametrize("command", ["export", "backup"])
def test_who_may_not_read_the_store_may_not_read_what_was_made_of_it(
    command: str, filled: Shell, tmp_path: Path
) -> None:
    filled.store.chmod(0o640)
    filled(command, str(tmp_path / "target"))
    assert (tmp_path / "target").stat().st_mode & 0o777 == 0o640


def test_an_export_that_cannot_be_written_to_standard_output_has_exit_code_1(large: Shell) -> None:
    command = [sys.executable, "-m", "recollect", "--db", str(large.store), "export"]
    with Path("/dev/full").open("w") as full:
        outcome = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True)
    assert outcome.returncode == 1
    assert outcome.stderr == "Error: the output cannot be written: No space left on device\n"


@pytest.mark.parametrize("command", [("export", "target"), ("backup", "target"), ("export",)], ids=str)
def test_a_bar_is_seen_on_a_terminal_unless_the_lines_are(
    command: tuple[str, ...], large: Shell, tmp_path: Path
) -> None:
    given = [command[0], *(str(tmp_path / name) for name in command[1:])]
    label = {"export": "exporting", "backup": "copying"}[command[0]]
    seen = large.terminal(*given)
    assert (label in seen and "100%" in seen) == (len(command) > 1)
    if len(command) > 1:
        assert label not in large.process(*given, "--force").stderr


def test_an_import_has_a_bar_on_a_terminal(large: Shell, tmp_path: Path) -> None:
    exported = str(tmp_path / "a.jsonl")
    large("export", exported)
    assert "importing" in Shell(tmp_path / "copy.db").terminal("import", exported)
    assert Shell(tmp_path / "other.db").process("import", exported).stderr == ""


def cut(lines: list[bytes]) -> list[bytes]:
    return lines[:-1]


def cut_in_a_line(lines: list[bytes]) -> list[bytes]:
    return [*lines[:2], lines[2][:50]]


def changed(lines: list[bytes]) -> list[bytes]:
    return [line.replace(b"peanuts", b"walnuts") for line in lines]


def of_a_kind_that_is_none(lines: list[bytes]) -> list[bytes]:
    return [line.replace(b'"kind":"preference"', b'"kind":"whim"') for line in lines]


def not_text(lines: list[bytes]) -> list[bytes]:
    return [lines[0], b"\xff\xfe\n", *lines[1:]]


def something_else(_: list[bytes]) -> list[bytes]:
    return [b'{"id": "a"}\n']


def nothing(_: list[bytes]) -> list[bytes]:
    return []


@pytest.mark.parametrize(
    ("damage", "complaint"),
    [
        (cut, "the export was cut: its last line is missing"),
        (cut_in_a_line, "line 3: this is not JSON"),
        (changed, "the export was changed or cut"),
        (of_a_kind_that_is_none, "line 4, field 'kind': 'whim'"),
        (not_text, "line 2 is not UTF-8"),
        (something_else, "line 1: this is not an export of recollect"),
        (nothing, "line 1: this is not JSON"),
    ],
)
@pytest.mark.parametrize("piped", [False, True], ids=["file", "pipe"])
def test_a_damaged_export_is_refused_with_its_line_and_makes_or_changes_no_store(
    damage: Callable[[list[bytes]], list[bytes]], complaint: str, piped: bool, filled: Shell, tmp_path: Path
) -> None:
    exported = tmp_path / "a.jsonl"
    filled("export", str(exported))
    exported.write_bytes(b"".join(damage(exported.read_bytes().splitlines(keepends=True))))
    new, before = Shell(tmp_path / "new.db"), filled("export").stdout
    for shell in (new, filled):
        outcome = shell("import", "-" if piped else str(exported), code=2, stdin=exported.read_bytes())
        assert complaint in outcome.stderr
    assert not new.store.exists()
    assert filled("export").stdout == before


def test_an_export_that_is_cut_on_its_way_through_a_pipe_makes_no_store(filled: Shell, tmp_path: Path) -> None:
    line = f"recollect --db {filled.store} export | head -c 3000 | recollect --db {tmp_path / 'new.db'} import -"
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    there = {**os.environ, **ENVIRONMENT, "PATH": path}
    outcome = subprocess.run(["bash", "-c", line], capture_output=True, text=True, env=there)
    assert outcome.returncode == 2
    assert "line 3: this is not JSON" in outcome.stderr
    assert not (tmp_path / "new.db").exists()


def test_an_export_that_is_not_there_has_exit_code_2(shell: Shell) -> None:
    assert "No such file or directory" in shell("import", "nope.jsonl", code=2).stderr
    assert not shell.store.exists()


def test_a_backup_is_made_while_others_write_and_is_a_store_like_any_other(filled: Shell, tmp_path: Path) -> None:
    copy = Shell(tmp_path / "backup.db")
    with held(filled.store, "BEGIN IMMEDIATE"):
        outcome = filled.process("backup", str(copy.store), RECOLLECT_BUSY_TIMEOUT="0.1")
    assert outcome.stdout == ""
    assert outcome.stderr == f"copied; `recollect verify {copy.store}` checks it\n"
    assert copy("export").stdout == filled("export").stdout


def test_a_backup_replaces_a_file_only_if_that_is_wished(filled: Shell, tmp_path: Path) -> None:
    target = tmp_path / "backup.db"
    filled("backup", str(target))
    before = target.read_bytes()
    filled("remember", "something new", *ANA)
    assert "replace it with --force" in filled("backup", str(target), code=1).stderr
    assert target.read_bytes() == before
    filled("backup", str(target), "--force")
    assert b"something new" in target.read_bytes()


def test_a_store_in_use_is_not_replaced_by_a_backup_however_it_is_wished(filled: Shell, tmp_path: Path) -> None:
    other = Shell(tmp_path / "other.db")
    other("remember", "of another store", *ANA, "--id", "other")
    with recollect.open(other.store, embedder="hashing"):
        assert "is a store in use" in filled("backup", str(other.store), "--force", code=1).stderr
    assert ids(other, *ANA) == ["other"]


def test_a_backup_is_verified_by_restoring_it(filled: Shell, tmp_path: Path) -> None:
    target = tmp_path / "backup.db"
    filled("backup", str(target))
    outcome = filled.process("verify", str(target))
    assert outcome.stdout.splitlines()[0] == f"{target}  4 memories and 1 context"
    assert "unchanged since the backup was made; a test recall found the expected memories" in outcome.stdout
    report = filled.json("verify", str(target))
    assert (report["ok"], report["problems"], report["sealed"], report["recalled"]) == (True, [], True, True)
    assert (report["memories"], report["versions"], report["contexts"]) == (4, 4, 1)
    assert report["embedder"] == {"name": "hashing-256", "dimensions": 256}
    assert report["bytes"] == target.stat().st_size


def test_without_a_file_the_store_is_verified(filled: Shell) -> None:
    report = filled.json("verify")
    assert (report["path"], report["ok"], report["sealed"]) == (str(filled.store), True, False)
    assert "the store has no checksum" in filled("verify").stdout


def test_a_backup_with_one_byte_changed_is_found_out(filled: Shell, tmp_path: Path) -> None:
    target = tmp_path / "backup.db"
    filled("backup", str(target))
    whole = target.read_bytes()
    place = whole.index(ALLERGY.encode())
    target.write_bytes(whole[:place] + b"E" + whole[place + 1 :])
    outcome = filled("verify", str(target), code=1)
    assert "problem  the file has changed since it was written" in outcome.stdout
    assert "the hash does not match the text" in outcome.stdout
    report = json.loads(filled("verify", str(target), "--json", code=1).stdout)
    assert not report["ok"]
    assert len(report["problems"]) >= 2


@pytest.mark.parametrize(
    ("damage", "problem"),
    [(b"", "the file is empty"), (b"dear diary, " * 1000, "backup.db is not a SQLite database")],
    ids=["empty", "a diary"],
)
def test_what_is_no_store_is_a_problem_of_the_file_that_was_named(
    damage: bytes, problem: str, shell: Shell, tmp_path: Path
) -> None:
    target = tmp_path / "backup.db"
    target.write_bytes(damage)
    outcome = shell("verify", str(target), code=1)
    assert outcome.stdout.splitlines()[-1] == f"problem  it cannot be used as a store: {problem}"
    assert target.read_bytes() == damage


def test_half_a_backup_is_named_as_the_user_named_it(filled: Shell, tmp_path: Path) -> None:
    target = tmp_path / "backup.db"
    filled("backup", str(target))
    target.write_bytes(target.read_bytes()[: target.stat().st_size // 2])
    outcome = filled("verify", str(target), code=1)
    assert "restored.db" not in outcome.stdout
    assert "recollect verify" not in outcome.stdout


def test_a_file_that_is_not_there_has_exit_code_3(shell: Shell) -> None:
    assert "the file 'nope.db' does not exist" in shell("verify", "nope.db", code=3).stderr
    shell("verify", code=3)
    assert folder(shell) == set()


@pytest.mark.parametrize("command", [("stats",), ("export",), ("export", "a.jsonl"), ("backup", "a.db")], ids=str)
def test_a_store_that_is_not_there_is_neither_counted_nor_copied(command: tuple[str, ...], shell: Shell) -> None:
    given = [str(shell.store.with_name(word)) if "." in word else word for word in command]
    assert "does not exist" in shell(*given, code=3).stderr
    assert folder(shell) == set()


def test_a_new_store_has_the_model_of_the_export_it_is_made_from(shell: Shell, tmp_path: Path) -> None:
    with recollect.open(shell.store, embedder="hashing-64") as memory:
        memory.remember("Ana prefers window seats", scope="acme/ana")
    copy = tmp_path / "copy.db"
    for store, command, file in ((shell.store, "export", "one"), (copy, "import", "one"), (copy, "export", "two")):
        arguments = ["--db", str(store), command, str(tmp_path / f"{file}.jsonl")]
        outcome = CliRunner().invoke(cli, arguments, env={"RECOLLECT_EMBEDDER": None})
        assert outcome.exit_code == 0, outcome.output
    assert (tmp_path / "one.jsonl").read_bytes() == (tmp_path / "two.jsonl").read_bytes()
