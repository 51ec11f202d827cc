"""`recollect profiles tune --from-feedback`: what users said of contexts in, a profile and a report out, or none."""

import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest

import recollect

from .learners import SCOPES, SUBJECTS, live, profile
from .shell import Shell
from .stores import on_both_stores


@pytest.fixture
def newest(tmp_path: Path) -> Path:
    return profile(tmp_path)


def called(newest: Path, out: Path, *more: str) -> tuple[str, ...]:
    """The command, with all scopes."""
    scopes = [part for scope in SCOPES for part in ("--scope", scope)]
    return ("profiles", "tune", "--from-feedback", *scopes, "--profile", str(newest), "--out", str(out), *more)


@pytest.fixture
def taught(shell: Shell, newest: Path) -> Shell:
    """A store whose users agree on what helps."""
    live(str(shell.store), newest)
    return shell


def test_a_profile_is_learned_and_written_with_a_report_that_the_check_accepts(
    taught: Shell, newest: Path, tmp_path: Path
) -> None:
    out = tmp_path / "ours.toml"
    said = taught(*called(newest, out))
    first = "newest 1 on feedback: 40 questions in 40 contexts of 2 scopes, embedder hashing-256"
    assert said.stdout.startswith(f"{first}\nvotes: 40 helped, 40 misled, by 5 principals\n")
    assert "held out by question, in 5 folds\n" in said.stdout
    assert said.stderr == f"written to {out}, with ours.report.json beside it\n"
    checked = taught("profiles", "check", str(out)).stdout
    assert checked == "ours 2 is a valid profile and matches its report ours.report.json\n"
    assert "# Tuned from newest 1 on feedback: 40 questions in 40 contexts of 2 scopes.\n" in out.read_text("utf-8")
    asked = (f"what about {SUBJECTS[0]}?", "--scope", SCOPES[0], "--as-of", "2026-03-03", "--profile")
    before, after = (taught.json("search", *asked, str(one))["results"][0]["text"] for one in (newest, out))
    assert (before, after) == (f"talk of {SUBJECTS[0]}", f"the rule for {SUBJECTS[0]}")


def test_the_report_tells_what_was_heard_and_no_word_of_anybody(taught: Shell, newest: Path, tmp_path: Path) -> None:
    out = tmp_path / "ours.toml"
    found = taught.json(*called(newest, out, "--folds", "4", "--seed", "7"))
    assert found["written"] == ["ours.toml", "ours.report.json"]
    kept = json.loads((tmp_path / "ours.report.json").read_text("utf-8"))
    assert kept == {name: value for name, value in found.items() if name != "written"}
    uses = {"helped": 40, "misled": 40, "quoted": 0}
    assert kept["feedback"]["uses"] == uses
    assert (kept["feedback"]["contexts"], kept["feedback"]["principals"], kept["feedback"]["seed"]) == (40, 5, 7)
    assert 0.0 <= kept["feedback"]["steepness"] <= 2.0
    facts = ("folder", "memories", "queries", "judgements", "scopes")
    assert [[one[fact] for fact in facts] for one in kept["folders"]] == [["feedback", 80, 40, 80, 2]]
    assert [one["measure"] for one in kept["figures"]] == ["worth"]
    assert kept["k"] is None
    assert [fold["questions"] for fold in kept["folds"]] == [10, 10, 10, 10]
    assert kept["carries_over"] is True
    assert kept["figures"][0]["gained"]["interval"][0] > 0.0
    words = (*SUBJECTS, "rule", "talk", "acme", "ana", "ben", "colleague", str(tmp_path))
    told = json.dumps(kept) + out.read_text("utf-8")
    assert [word for word in words if word in told] == []


def test_the_same_seed_gives_the_same_profile_and_report(taught: Shell, newest: Path, tmp_path: Path) -> None:
    out = tmp_path / "ours.toml"
    runs = [taught.json(*called(newest, out, "--force", "--seed", seed)) for seed in ("3", "3", "4")]
    first, again, other = ({**run, "made_at": ""} for run in runs)
    assert first == again
    assert other["feedback"]["seed"] == 4
    plain: list[dict[str, Any]] = [{**run, "feedback": None, "folds": None} for run in (first, other)]
    assert plain[0]["folders"] == plain[1]["folders"]


def test_neither_the_process_nor_the_order_of_scopes_changes_a_bit(taught: Shell, newest: Path, tmp_path: Path) -> None:
    scopes = [("--scope", SCOPES[0], "--scope", SCOPES[1]), ("--scope", SCOPES[1], "--scope", SCOPES[0])]
    reports = []
    for seed, named in zip(("1", "2"), scopes, strict=True):
        out = tmp_path / seed / "ours.toml"
        out.parent.mkdir()
        command = ("profiles", "tune", "--from-feedback", *named, "--profile", str(newest), "--out", str(out))
        said = taught.process(*command, "--json", PYTHONHASHSEED=seed).stdout
        reports.append({**json.loads(said), "made_at": ""})
        reports[-1]["profile file"] = out.read_text("utf-8")
    assert reports[0] == reports[1]


def test_contexts_that_nothing_can_be_learned_from_are_counted_and_told(
    taught: Shell, newest: Path, tmp_path: Path
) -> None:
    with recollect.open(str(taught.store), embedder="hashing") as engine:
        for _ in range(2):
            brief = engine.brief(scope=SCOPES[0])
            engine.feedback(brief.id or "", scope=SCOPES[0], helped=[brief.packed[0].id])
        context = engine.recall(f"what about {SUBJECTS[1]}?", scope=SCOPES[1], profile=str(newest))
        shown = [scored.id for scored in context.packed]
        engine.feedback(context.id or "", scope=SCOPES[1], helped=shown[:1], by="zoe")
        engine.erase(scope=SCOPES[1], id=shown[-1])
    out = tmp_path / "ours.toml"
    said = taught(*called(newest, out)).stdout.splitlines()
    assert "left out: 2 contexts without a question, which the profile needs" in said
    kept = json.loads((tmp_path / "ours.report.json").read_text("utf-8"))["feedback"]
    assert kept["left_out"] == {
        "elsewhere": 0,
        "followed": 0,
        "asked": 0,
        "unasked": 2,
        "otherwise": 0,
        "unrecorded": 0,
    }
    assert kept["unplaced"] >= 1
    assert any("with erased memories: position bias" in line for line in said)
    few = taught(*called(newest, out, "--force"), "--profile", "session", code=2).stderr
    assert (
        "(left out: 41 contexts with a question, which the profile does not use), but tuning needs at least 30;" in few
    )


def test_what_another_profile_ranked_teaches_nothing_and_the_refusal_says_what_to_do(
    taught: Shell, newest: Path, tmp_path: Path
) -> None:
    taught(*called(newest, tmp_path / "ours.toml"))
    refused = taught(*called(tmp_path / "ours.toml", tmp_path / "next.toml"), code=2).stderr
    assert "on 0 questions in acme/ana, acme/ben (left out: 40 contexts ranked by another profile), but" in refused
    assert "give feedback on contexts of this profile, or tune the other one, or name more scopes" in refused


def test_what_users_disagree_on_is_not_written_whatever_is_forced(shell: Shell, newest: Path, tmp_path: Path) -> None:
    live(str(shell.store), newest, torn=True)
    out = tmp_path / "ours.toml"
    for more in ([], ["--force"]):
        refused = shell(*called(newest, out, *more), code=1)
        assert "tuning found no improvement" in refused.stdout
        told = f"Error: {str(out)!r} was not written because the profile is no better than before\n"
        assert refused.stderr == told
    found = json.loads(shell(*called(newest, out, "--force", "--json"), code=1).stdout)
    assert (found["carries_over"], found["written"]) == (False, [])
    assert [one.name for one in tmp_path.glob("ours*")] == []


def test_force_replaces_files_and_nothing_else_does(taught: Shell, newest: Path, tmp_path: Path) -> None:
    out = tmp_path / "ours.toml"
    out.write_text("mine", encoding="utf-8")
    assert (
        "already exists; name another file, or replace it with --force" in taught(*called(newest, out), code=1).stderr
    )
    assert out.read_text("utf-8") == "mine"
    taught(*called(newest, out, "--force"))
    taught("profiles", "check", str(out))


def test_each_scope_is_named_and_no_other_is_looked_at(taught: Shell, newest: Path, tmp_path: Path) -> None:
    one = ("profiles", "tune", "--from-feedback", "--profile", str(newest), "--out", str(tmp_path / "ours.toml"))
    few = taught(*one, "--scope", SCOPES[0], code=2).stderr
    assert few == (
        "Error: there is feedback on 20 questions in acme/ana, but tuning needs at least 30; give more, or name more "
        "scopes\n"
    )
    twice = taught(*one, "--scope", SCOPES[0], "--scope", SCOPES[0], code=2).stderr
    assert twice == few
    above = taught(*one, "--scope", "acme", code=2).stderr
    assert "on 0 questions in acme, but" in above
    assert above.endswith("give more, or name more scopes, such as acme/ana, acme/ben\n")
    both = taught(*one, "--scope", "acme", "--scope", SCOPES[0], code=2).stderr
    assert "on 20 questions in acme, acme/ana, but" in both
    assert both.endswith(", such as acme/ben\n")
    taught("remember", "nobody asked", "--scope", "globex/zoe")
    nobody = taught(*one, "--scope", "globex", code=2).stderr
    assert nobody.endswith("in globex, but tuning needs at least 30; give more, or name more scopes\n")
    taught(*one, "--scope", SCOPES[0], "--scope", SCOPES[1])


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ([], "Name a DIR of judgments, or use --from-feedback with --scope."),
        (["--from-feedback"], "Name the scope whose contexts to learn from, for example: --scope acme/ana"),
        (["judged", "--from-feedback", "--scope", "acme/ana"], "DIR is for tuning from judgments; remove it"),
        (["--from-feedback", "--scope", "a", "--k", "5"], "--k is for tuning from judgments; remove it"),
        (["--from-feedback", "--scope", "a", "--store", "x"], "--store is for tuning from judgments; remove it"),
        (["--from-feedback", "--scope", "a", "--embedder", "hashing"], "--embedder is for tuning from judgments"),
        (["judged", "--scope", "acme/ana"], "--scope is for tuning from feedback; add --from-feedback."),
        (["judged", "--seed", "1"], "--seed is for tuning from feedback; add --from-feedback."),
        (["--from-feedback", "--scope", "a//b"], "scope"),
        (["--from-feedback", "--scope", "a", "--seed", "-1"], "--seed"),
        (["--from-feedback", "--scope", "a", "--out", "better.txt"], "does not end in .toml"),
    ],
)
def test_what_cannot_be_is_refused(shell: Shell, arguments: list[str], complaint: str) -> None:
    assert complaint in shell("profiles", "tune", *arguments, code=2).stderr


def test_a_store_that_is_not_there_is_not_made(shell: Shell, newest: Path, tmp_path: Path) -> None:
    refused = shell(*called(newest, tmp_path / "ours.toml"), code=3).stderr
    assert "does not exist" in refused
    assert not shell.store.exists()


def test_who_may_not_read_the_store_may_not_read_what_was_learned_from_it(
    taught: Shell, newest: Path, tmp_path: Path
) -> None:
    taught.store.chmod(0o600)
    out = tmp_path / "ours.toml"
    old = os.umask(0o022)
    try:
        taught(*called(newest, out))
    finally:
        os.umask(old)
    assert [stat.S_IMODE(one.stat().st_mode) for one in tmp_path.glob("ours.*")] == [0o600, 0o600]
    beside = taught.store.with_suffix(".toml")
    beside.hardlink_to(taught.store)
    assert "is the store itself" in taught(*called(newest, beside, "--force"), code=2).stderr


def test_learning_counts_as_no_use(taught: Shell, newest: Path, tmp_path: Path) -> None:
    before = taught.json("stats")
    taught(*called(newest, tmp_path / "ours.toml"))
    after = taught.json("stats")
    assert {**after, "bytes": 0} == {**before, "bytes": 0}


def test_someone_at_a_terminal_sees_how_far_it_is(taught: Shell, newest: Path, tmp_path: Path) -> None:
    seen = taught.terminal(*called(newest, tmp_path / "ours.toml"))
    for label in ("asking acme/ana again", "asking acme/ben again", "fitting"):
        assert label in seen


@on_both_stores
def test_both_sorts_of_stores_teach(target: str, shell: Shell, newest: Path, tmp_path: Path) -> None:
    live(target, newest)
    there = tmp_path / "there"
    there.mkdir()
    found = shell.json("--db", target, *called(newest, there / "ours.toml"))
    assert {one["signal"]: one["after"] for one in found["numbers"]}["importance"] > 0.25
    asked = (f"what about {SUBJECTS[1]}?", "--scope", SCOPES[1], "--as-of", "2026-03-03", "--profile")
    first = shell.json("--db", target, "search", *asked, str(there / "ours.toml"))["results"][0]
    assert first["text"] == f"the rule for {SUBJECTS[1]}"
