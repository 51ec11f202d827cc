"""`recollect profiles tune`: folders in, a profile and its report out; and `check`, which holds the two together."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from recollect.ranking.profile_toml import override_profile, profile_to_toml
from recollect.ranking.profiles import PROFILE_TEXTS, builtin_profile
from tests.unit.evaluation.folder import a_memory, a_query, write_folder
from tests.unit.evaluation.fresh import WRONG, fresh_folder

from .shell import ENVIRONMENT, Shell


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return fresh_folder(tmp_path / "notes")


@pytest.fixture
def wrong(tmp_path: Path) -> Path:
    file = tmp_path / "wrong.toml"
    file.write_text(WRONG, encoding="utf-8")
    return file


@pytest.fixture
def better(shell: Shell, folder: Path, wrong: Path, tmp_path: Path) -> Path:
    """A profile that was tuned, with its report beside it."""
    out = tmp_path / "better.toml"
    shell("profiles", "tune", str(folder), "--profile", str(wrong), "--out", str(out), "--k", "3")
    return out


def replaced(file: Path, old: str, new: str) -> None:
    text = file.read_text(encoding="utf-8")
    assert old in text
    file.write_text(text.replace(old, new, 1), encoding="utf-8")


def test_a_profile_and_its_report_are_written_and_the_check_accepts_them(
    shell: Shell, better: Path, folder: Path, wrong: Path
) -> None:
    said = shell("profiles", "check", str(better)).stdout
    assert said == "better 2 is a valid profile and matches its report better.report.json\n"
    report = json.loads(better.with_name("better.report.json").read_text(encoding="utf-8"))
    assert (report["profile"], report["version"], report["from"]["profile"]) == ("better", "2", "wrong")
    called = ("eval", str(folder), "--k", "3", "--profile")
    measured = [shell.json(*called, str(profile))["recall@3"] for profile in (wrong, better)]
    told = next(one for one in report["figures"] if one["measure"] == "recall@3" and one["folder"] is None)
    assert measured == pytest.approx([told["before"]["mean"], told["after"]["mean"]])
    assert measured[0] < measured[1]
    shell("profiles", "check", str(better), "--json")


def test_a_weight_that_was_changed_since_is_refused(shell: Shell, better: Path) -> None:
    replaced(better, "importance = { weight = 0.12", "importance = { weight = 0.11")
    replaced(better, "confidence = { weight = 0.0", "confidence = { weight = 0.01")
    refused = shell("profiles", "check", str(better), code=2).stderr
    assert "its numbers differ from those that its report 'better.report.json' measured; tune it again" in refused
    replaced(better, 'report = "better.report.json"\n', "")
    shell("profiles", "check", str(better))


def test_an_option_that_was_changed_since_is_refused(shell: Shell, better: Path) -> None:
    replaced(better, 'half_life = "30d"', 'half_life = "31d"')
    assert "its numbers differ from those" in shell("profiles", "check", str(better), code=2).stderr


def test_words_may_change(shell: Shell, better: Path) -> None:
    replaced(better, 'about = "Rank', 'about = "Mine: rank')
    shell("profiles", "check", str(better))


def test_another_name_or_version_than_the_report_tells_of_is_refused(shell: Shell, better: Path) -> None:
    renamed = better.rename(better.with_name("best.toml"))
    refused = shell("profiles", "check", str(renamed), code=2).stderr
    assert "its report 'better.report.json' is about the profile 'better', not 'best'; tune it again" in refused
    renamed.rename(better)
    replaced(better, 'version = "2"', 'version = "2-mine"')
    refused = shell("profiles", "check", str(better), code=2).stderr
    assert "is about the version '2', not '2-mine'; tune it again" in refused


def test_a_report_that_is_not_there_or_is_none_is_refused(shell: Shell, better: Path) -> None:
    report = better.with_name("better.report.json")
    report.write_bytes(b"\xff")
    assert "cannot read its report 'better.report.json'" in shell("profiles", "check", str(better), code=2).stderr
    report.unlink()
    refused = shell("profiles", "check", str(better), code=2).stderr
    assert "its report 'better.report.json' is not in the same folder; put it there" in refused


def test_a_changed_copy_of_a_built_in_profile_needs_a_name_of_its_own(shell: Shell, tmp_path: Path) -> None:
    text = "".join(line for line in PROFILE_TEXTS["default"].splitlines(keepends=True) if not line.startswith("report"))
    copy = tmp_path / "default.toml"
    copy.write_text(text, encoding="utf-8")
    shell("profiles", "check", str(copy))
    changed = profile_to_toml(override_profile(builtin_profile("default"), {"min_score": 0.1}))
    copy.write_text(changed, encoding="utf-8")
    refused = shell("profiles", "check", str(copy), code=2).stderr
    assert "other numbers" in refused
    assert "rename it" in refused
    own = tmp_path / "mine.toml"
    own.write_text(changed, encoding="utf-8")
    shell("profiles", "check", str(own))


def test_several_folders_are_told_together_and_one_by_one(
    shell: Shell, folder: Path, wrong: Path, tmp_path: Path
) -> None:
    more = fresh_folder(tmp_path / "more", ("eve", "fay"))
    out = str(tmp_path / "both.toml")
    called = ("profiles", "tune", str(folder), str(more), "--profile", str(wrong), "--out", out, "--k", "3")
    found = shell.json(*called, "--folds", "3")
    assert [one["folder"] for one in found["folders"]] == ["notes", "more"]
    assert [one["folder"] for one in found["figures"]] == [None] * 3 + ["notes"] * 3 + ["more"] * 3
    assert (found["carries_over"], found["written"]) == (True, ["both.toml", "both.report.json"])
    assert len(found["folds"]) == 3
    kept = json.loads((tmp_path / "both.report.json").read_text(encoding="utf-8"))
    assert kept == {name: value for name, value in found.items() if name != "written"}


def test_without_a_name_it_is_the_old_one_with_the_new_version_in_the_present_folder(
    shell: Shell, folder: Path, wrong: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "here"
    place.mkdir()
    monkeypatch.chdir(place)
    said = shell("profiles", "tune", str(folder), "--profile", str(wrong), "--k", "3")
    assert sorted(one.name for one in place.iterdir()) == ["wrong-2.report.json", "wrong-2.toml"]
    assert "held out by scope, in 4 folds" in said.stdout
    told = "--db is not used here: --store FOLDER would keep the memories of each DIR in a file there\n"
    assert said.stderr == f"{told}written to wrong-2.toml, with wrong-2.report.json beside it\n"


def test_a_store_that_is_kept_is_found_again_and_gives_the_same(
    shell: Shell, folder: Path, wrong: Path, tmp_path: Path
) -> None:
    kept = tmp_path / "kept"
    called = ("profiles", "tune", str(folder), "--profile", str(wrong), "--k", "3", "--store", str(kept), "--force")
    runs = [shell.json(*called, "--out", str(tmp_path / "better.toml")) for _ in range(2)]
    assert [{**run, "made_at": ""} for run in runs] == [{**runs[0], "made_at": ""}] * 2
    assert [one.name for one in kept.glob("*.db")] == [f"notes-{runs[0]['folders'][0]['digest'][:12]}.db"]


def test_a_store_in_memory_is_none_that_is_kept(
    shell: Shell, folder: Path, wrong: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "here"
    place.mkdir()
    monkeypatch.chdir(place)
    shell("profiles", "tune", str(folder), "--profile", str(wrong), "--k", "3", "--store", ":memory:")
    assert sorted(one.name for one in place.iterdir()) == ["wrong-2.report.json", "wrong-2.toml"]


DYING = """
import os, sys
from recollect.cli.main import main
left = int(sys.argv.pop(1))

def watch(event, arguments):
    global left
    if event in ("os.link", "os.rename") and str(arguments[1]).endswith((".toml", ".report.json")):
        left -= 1
        if left == 0:
            os._exit(9)

sys.addaudithook(watch)
main()
"""
"""The command line, ending at once when a file is to be given its name for the so-many-th time."""


@pytest.mark.parametrize("forced", [False, True])
@pytest.mark.parametrize(("death", "left"), [(1, []), (2, ["new.report.json"]), (3, ["new.report.json", "new.toml"])])
def test_a_run_that_is_cut_short_leaves_no_profile_without_its_report(
    death: int, left: list[str], forced: bool, shell: Shell, folder: Path, wrong: Path, tmp_path: Path
) -> None:
    place = tmp_path / "place"
    place.mkdir()
    called = ["profiles", "tune", str(folder), "--profile", str(wrong), "--k", "3", "--out", str(place / "new.toml")]
    command = [sys.executable, "-c", DYING, str(death), *called, *(["--force"] if forced else [])]
    ended = subprocess.run(command, env={**os.environ, **ENVIRONMENT}, capture_output=True, text=True)
    assert ended.returncode == (9 if death < 3 else 0), ended.stderr
    assert sorted(one.name for one in place.iterdir() if one.is_file()) == left
    if death == 3:
        shell("profiles", "check", str(place / "new.toml"))


def test_a_profile_that_kept_its_name_while_its_report_was_replaced_is_refused(
    shell: Shell, better: Path, folder: Path, wrong: Path
) -> None:
    before = better.read_text(encoding="utf-8")
    replaced(wrong, 'half_life = "30d"', 'half_life = "31d"')
    called = ["profiles", "tune", str(folder), "--profile", str(wrong), "--k", "3", "--out", str(better), "--force"]
    command = [sys.executable, "-c", DYING, "2", *called]
    ended = subprocess.run(command, env={**os.environ, **ENVIRONMENT}, capture_output=True, text=True)
    assert ended.returncode == 9, ended.stderr
    assert better.read_text(encoding="utf-8") == before
    assert "its numbers differ from those" in shell("profiles", "check", str(better), code=2).stderr


def test_what_is_no_better_is_told_and_not_written(shell: Shell, better: Path, folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "best.toml"
    called = ("profiles", "tune", str(folder), "--profile", str(better), "--out", str(out), "--k", "3")
    told = shell(*called, code=1)
    assert "tuning found no improvement" in told.stdout
    assert "was not written because the profile is no better than before" in told.stderr
    found = json.loads(shell(*called, "--json", code=1).stdout)
    assert (found["carries_over"], found["written"]) == (False, [])
    assert not out.exists()
    assert not out.with_name("best.report.json").exists()


def torn(folder: Path) -> Path:
    """Two people of whom one needs what is old and the other what is new: what suits the one hurts the other."""
    old = [("m-old", "seats were decided", "2025-01-01T00:00Z"), ("m-new", "talk of meals", "2026-01-30T00:00Z")]
    memories = [
        a_memory(f"{who}-{id}-{number}", f"{text}, {number}", scope=f"acme/{who}", created_at=at)
        for who in ("ana", "ben")
        for id, text, at in old
        for number in range(4)
    ]
    queries = [a_query(f"{who}-{n}", "seats?", scope=f"acme/{who}") for who in ("ana", "ben") for n in range(3)]
    qrels = [(f"ana-{n}", f"ana-m-old-{one}", 1) for n in range(3) for one in range(4)]
    return write_folder(folder, memories, queries, [*qrels, ("ben-0", "ben-m-new-0", 1)])


def test_what_suits_some_and_hurts_others_is_written_by_force_alone(shell: Shell, wrong: Path, tmp_path: Path) -> None:
    folder, out = torn(tmp_path / "torn"), tmp_path / "better.toml"
    called = ("profiles", "tune", str(folder), "--profile", str(wrong), "--out", str(out), "--k", "4")
    refused = shell(*called, code=1)
    assert "tuning found no improvement that carries over: held-out queries gained" in refused.stdout
    assert "; --force writes it anyway" in refused.stderr
    assert not out.exists()
    assert shell.json(*called, "--force")["carries_over"] is False
    told = shell("profiles", "check", str(out), code=2).stderr
    assert "its numbers are no better on data they were not fitted to (carries_over is false)" in told
    replaced(out, 'report = "better.report.json"\n', "")
    shell("profiles", "check", str(out))


def test_a_report_with_only_a_fingerprint_or_with_a_key_twice_is_refused(shell: Shell, better: Path) -> None:
    report = better.with_name("better.report.json")
    whole = report.read_text(encoding="utf-8")
    report.write_text(json.dumps({"fingerprint": json.loads(whole)["fingerprint"]}), encoding="utf-8")
    assert "has no list of folders; tune it again" in shell("profiles", "check", str(better), code=2).stderr
    report.write_text(whole.replace('"k": 3', '"k": 3, "k": 9'), encoding="utf-8")
    assert "field 'k': occurs twice in one object" in shell("profiles", "check", str(better), code=2).stderr
    report.write_text(whole, encoding="utf-8")
    shell("profiles", "check", str(better))


def test_a_report_that_contradicts_its_profile_or_itself_is_refused(shell: Shell, better: Path) -> None:
    report = better.with_name("better.report.json")
    whole = json.loads(report.read_text(encoding="utf-8"))
    first, *others = whole["figures"]
    wrongs = {
        "has no folder in one of its folders": {"folders": [{}]},
        "does not have the weight of lexical,": {"numbers": whole["numbers"][1:]},
        "has nan for 'k', which is not a finite number": {"k": float("nan")},
        "a gain of -0.5": {"figures": [{**first, "gained": {**first["gained"], "mean": -0.5}}, *others]},
    }
    for complaint, wrong in wrongs.items():
        report.write_text(json.dumps({**whole, **wrong}), encoding="utf-8")
        assert complaint in shell("profiles", "check", str(better), code=2).stderr


def test_folds_that_do_not_agree_are_warned_of(shell: Shell, wrong: Path, tmp_path: Path) -> None:
    folder, out = torn(tmp_path / "torn"), tmp_path / "better.toml"
    called = ("profiles", "tune", str(folder), "--profile", str(wrong), "--out", str(out), "--k", "4", "--force")
    assert re.search(r"^the folds disagree on .*recency \(0\.\d+ to 0\.\d+\)", shell(*called).stdout, re.MULTILINE)


def test_what_is_there_is_not_replaced_unless_that_is_wished(
    shell: Shell, better: Path, folder: Path, wrong: Path
) -> None:
    called = ("profiles", "tune", str(folder), "--profile", str(wrong), "--out", str(better), "--k", "3")
    assert "already exists; name another file, or replace it with --force" in shell(*called, code=1).stderr
    better.unlink()
    assert "better.report.json" in shell(*called, code=1).stderr
    shell(*called, "--force")
    shell("profiles", "check", str(better))


def test_a_memory_that_was_replaced_counts_in_tuning_as_it_does_in_an_evaluation(
    shell: Shell, wrong: Path, tmp_path: Path
) -> None:
    said = [
        ("A", "the cat sat on the mat", "2026-01-01T00:00Z"),
        ("B", "the dog lay under a table", "2026-03-01T00:00Z"),
    ]
    memories = [
        a_memory(f"{who}-{id}", text, scope=f"acme/{who}", topic_key="cat", created_at=at)
        for who in ("ana", "ben")
        for id, text, at in said
    ]
    asked = {"february": "2026-02-01T00:00Z", "april": "2026-04-01T00:00Z"}
    queries = [
        a_query(f"{who}-{month}", "where is the cat?", scope=f"acme/{who}", asked_at=at)
        for who in ("ana", "ben")
        for month, at in asked.items()
    ]
    qrels = [(query["id"], f"{query['id'][:3]}-A", 1) for query in queries]
    folder = write_folder(tmp_path / "pets", memories, queries, qrels)
    called = ("--profile", str(wrong), "--k", "1", "--json")
    measured = shell.json("eval", str(folder), *called[:-1])
    assert (measured["recall@1"], measured["ndcg@1"], measured["replaced"], measured["merged"]) == (0.5, 0.5, 2, 0)
    out = str(tmp_path / "out.toml")
    found = json.loads(shell("profiles", "tune", str(folder), "--out", out, *called, code=1).stdout)
    whole = {one["measure"]: one["before"]["mean"] for one in found["figures"]}
    assert (whole["recall@1"], whole["ndcg@1"]) == (measured["recall@1"], measured["ndcg@1"])


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--out", "better.txt"], "does not end in .toml"),
        (["--out", "No Name.toml"], "lowercase letters"),
        (["--profile", "session"], "takes no question"),
        (["--profile", "nowhere"], "unknown profile"),
        (["--folds", "1"], "--folds"),
        (["--k", "0"], "--k"),
        (["--store", ""], "--store is empty; name a folder, such as --store judged"),
        (["--store", "postgresql://host/db"], "--store takes a folder, not a database; name one"),
    ],
)
def test_what_cannot_be_is_refused(shell: Shell, folder: Path, arguments: list[str], complaint: str) -> None:
    codes = {"nowhere": 3}
    refused = shell("profiles", "tune", str(folder), *arguments, code=codes.get(arguments[1], 2))
    assert complaint in refused.stderr


def test_one_scope_cannot_be_held_out_of_itself(shell: Shell, tmp_path: Path) -> None:
    alone = fresh_folder(tmp_path / "alone", ("ana",))
    out = str(tmp_path / "better.toml")
    refused = shell("profiles", "tune", str(alone), "--out", out, code=2).stderr
    assert "the queries have only 1 scope, and whole scopes are held out; tune with more scopes" in refused


def test_a_folder_is_named_once(shell: Shell, folder: Path, tmp_path: Path) -> None:
    out = str(tmp_path / "better.toml")
    refused = shell("profiles", "tune", str(folder), str(folder), "--out", out, code=2).stderr
    assert "two folders have the name 'notes'" in refused
    assert "DIR" in shell("profiles", "tune", code=2).stderr


def test_someone_at_a_terminal_sees_how_far_it_is(shell: Shell, folder: Path, wrong: Path, tmp_path: Path) -> None:
    out = str(tmp_path / "better.toml")
    seen = shell.terminal("profiles", "tune", str(folder), "--profile", str(wrong), "--out", out, "--k", "3")
    for label in ("loading notes", "asking notes", "fitting"):
        assert label in seen
