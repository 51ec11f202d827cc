"""Plan, apply, undo and consolidate on the command line."""

import json
from pathlib import Path

import pytest

from .shell import Shell

ANA = ("--scope", "acme/ana")
COFFEE = (
    "The kitchen smells of coffee in the morning",
    "The kitchen smells of fresh coffee in the morning",
    "The kitchen smells of fresh coffee in the early morning",
)
FEW = ("--setting", "consolidation.more_than=2")


@pytest.fixture
def ids(shell: Shell) -> list[str]:
    return [shell("remember", text, *ANA).stdout.strip() for text in COFFEE]


def statuses(shell: Shell, ids: list[str]) -> list[str]:
    return [shell.json("show", id, *ANA)["status"] for id in ids]


def test_a_plan_is_shown_written_applied_once_and_undone(shell: Shell, ids: list[str], tmp_path: Path) -> None:
    file = tmp_path / "plan.json"
    planned = shell(*FEW, "admin", "plan", "consolidate", *ANA, "--output", str(file))
    rows = [line.split("\t") for line in planned.stdout.splitlines()]
    assert [row[0] for row in rows] == ["create", "consolidate", "consolidate", "consolidate"]
    assert [row[1] for row in rows[1:]] == ids
    assert rows[0][3].startswith(f"{COFFEE[2]} [replaces 3 memories, with the text of the one that covers all of them")
    assert "1 memory to create, 3 memories to consolidate (active 3, near 3, compared 3" in planned.stderr
    assert planned.stderr.endswith(f"to apply it: recollect --db {shell.store} admin apply {file}\n")
    assert statuses(shell, ids) == ["active"] * 3
    assert file.stat().st_mode & 0o077 == shell.store.stat().st_mode & 0o066

    done = shell("admin", "apply", str(file))
    assert done.stderr.startswith("3 memories of acme/ana are now recalled through 1\nrun 4; to undo it: ")
    assert statuses(shell, ids) == ["consolidated"] * 3
    assert "already exists; plan again" in shell("admin", "apply", str(file), code=1).stderr

    undone = shell.json("admin", "undo", "4", *ANA)
    assert (undone["undone"], len(undone["memories"])) == (4, 4)
    assert statuses(shell, ids) == ["active"] * 3


def test_consolidate_does_both_at_once_and_a_dry_run_only_looks(shell: Shell, ids: list[str]) -> None:
    dry = shell(*FEW, "admin", "consolidate", *ANA, "--dry-run", "--json")
    (plan,) = json.loads(dry.stdout)["plans"]
    assert (plan["job"], plan["counts"]["create"], len(plan["steps"])) == ("consolidate", 1, 4)
    assert statuses(shell, ids) == ["active"] * 3
    (run,) = json.loads(shell(*FEW, "admin", "consolidate", *ANA, "--json").stdout)["runs"]
    assert (run["plan"], run["run"], len(run["memories"])) == (plan["hash"], 4, 4)
    assert statuses(shell, ids) == ["consolidated"] * 3
    again = shell("--setting", "consolidation.more_than=0", "admin", "consolidate", *ANA)
    assert (again.stdout, again.stderr) == ("", "nothing to do in acme/ana; nothing was written\n")


def test_a_plan_is_read_from_standard_input_and_a_changed_one_is_refused(shell: Shell, ids: list[str]) -> None:
    plan = shell(*FEW, "admin", "plan", "consolidate", *ANA, "--json").stdout
    changed = plan.replace(ids[0], ids[0][::-1])
    assert "it was edited, so plan again" in shell("admin", "apply", "-", stdin=changed, code=2).stderr
    assert "is not JSON" in shell("admin", "apply", "-", stdin="plan", code=2).stderr
    assert statuses(shell, ids) == ["active"] * 3
    assert json.loads(shell("admin", "apply", "-", "--json", stdin=plan).stdout)["run"] == 4


def test_a_small_scope_and_one_that_is_not_there_have_nothing_to_do(shell: Shell, ids: list[str]) -> None:
    planned = shell("admin", "plan", "consolidate", *ANA)
    assert planned.stdout == ""
    few = "skipped: 3 active memories, but more than 20 are needed ([consolidation] more_than)\n"
    assert planned.stderr.endswith(f" for acme/ana: {few}")
    for dry in ((), ("--dry-run",)):
        assert shell("admin", "consolidate", *ANA, *dry).stderr == f"acme/ana: {few}"
    assert "nothing to do" in shell(*FEW, "admin", "consolidate", "--scope", "acme/nobody").stderr
    shell("remember", "alone", "--scope", "acme/ben")
    every = "nothing to do in 2 scopes (2 skipped: more than 20 are needed ([consolidation] more_than))"
    assert shell("admin", "consolidate").stderr == f"{every}; nothing was written\n"
    assert len(ids) == 3


def test_without_a_scope_all_are_gone_through_and_with_one_those_below_it_too(shell: Shell, ids: list[str]) -> None:
    for scope in ("acme", "elsewhere"):
        for text in COFFEE:
            shell("remember", text, "--scope", scope)
    below = json.loads(shell(*FEW, "admin", "consolidate", "--scope", "acme", "--dry-run", "--json").stdout)["plans"]
    assert [one["scope"] for one in below] == ["acme", "acme/ana"]
    done = shell(*FEW, "admin", "consolidate")
    told = [line for line in done.stderr.splitlines() if "recalled through" in line]
    assert [line.split()[3] for line in told] == ["acme", "acme/ana", "elsewhere"]
    assert statuses(shell, ids) == ["consolidated"] * 3


def test_what_is_left_for_a_human_is_told_with_the_command_that_lists_it(shell: Shell) -> None:
    for day in ("Monday", "Tuesday", "Friday"):
        shell("remember", f"The big meeting with all of the sales team is on {day} in the large room", *ANA)
    done = shell(*FEW, "admin", "consolidate", *ANA)
    way = f"recollect --db {shell.store} admin plan consolidate --scope acme/ana"
    assert done.stderr.startswith(f"3 need your review: {way}\n")
    assert len(shell(*FEW, "admin", "plan", "consolidate", *ANA).stdout.splitlines()) == 3


@pytest.mark.parametrize(
    ("job", "command"),
    [("rollup", "admin rollup"), ("extract", "admin extract"), ("topics", "topics --refresh")],
)
def test_a_job_without_a_plan_says_what_runs_it(job: str, command: str, shell: Shell, ids: list[str]) -> None:
    refused = shell("admin", "plan", job, *ANA, code=2).stderr
    assert f"'{job}' has no plan; run it with `recollect {command}`" in refused
    shell(*command.split())
    assert len(ids) == 3


def test_what_cannot_be_is_refused(shell: Shell, ids: list[str], tmp_path: Path) -> None:
    assert "is not a valid job; known are consolidate" in shell("admin", "plan", "tidy", *ANA, code=2).stderr
    assert "--scope acme/ana" in shell("admin", "plan", "consolidate", code=2).stderr
    assert "No such file" in shell("admin", "apply", str(tmp_path / "none.json"), code=2).stderr
    there = tmp_path / "there.json"
    there.write_text("mine")
    shell(*FEW, "admin", "plan", "consolidate", *ANA, "--output", str(there), code=1)
    assert there.read_text() == "mine"
    shell(*FEW, "admin", "plan", "consolidate", *ANA, "--output", str(there), "--force")
    assert json.loads(there.read_text())["job"] == "consolidate"
    assert "run 99 does not exist" in shell("admin", "undo", "99", *ANA, code=3).stderr
    assert len(ids) == 3
