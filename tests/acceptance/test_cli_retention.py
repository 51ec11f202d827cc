"""Records age, on the command line: counted before, done, told, and taken back."""

import json
from typing import Any

import pytest

from .shell import Shell

SCOPE = "acme/ana"
ANA = ("--scope", SCOPE)

SAID = (
    ("2025-03-03T09:00:00Z", "We fly to Lisbon on 14 April, and I want a window seat."),
    ("2025-03-03T09:01:00Z", "The budget for the hotel is 900 euros."),
    ("2025-04-07T11:00:00Z", "The vet gave Bruno drops for his ear, twice a day for a week."),
)


@pytest.fixture
def rolled(shell: Shell) -> Shell:
    told = [json.dumps({"timestamp": at, "content": text, "session": at[:10]}) for at, text in SAID]
    for scope in (SCOPE, "acme/ben"):
        shell("observe", "-", "--scope", scope, stdin="\n".join(told))
    shell("admin", "rollup")
    return shell


def outside(shell: Shell, index: str) -> set[str]:
    """The levels of which records have left an index."""
    listed = shell.json("list", *ANA)["memories"]
    return {one["level"] for one in listed if index in one["left"]}


class TestPruneVectors:
    def test_a_dry_run_counts_for_every_scope_and_writes_nothing(self, rolled: Shell) -> None:
        told = rolled("admin", "prune-vectors", "--dry-run")
        counted = [line.partition(": ")[2].partition(" (")[0] for line in told.stdout.splitlines()]
        assert counted == ["7 memories to prune, 2 memories to stand-in"] * 2
        assert "vector keeps event ever, segment 30 days, grip 30 days, day 365 days" in told.stdout
        assert told.stderr == "nothing was written\n"
        assert outside(rolled, "vector") == set()

    def test_what_is_done_is_told_with_the_way_back(self, rolled: Shell) -> None:
        told = rolled("admin", "prune-vectors", *ANA)
        assert told.stdout == f"{SCOPE}: 7 left, 2 stand in\n"
        assert outside(rolled, "vector") == {"segment", "grip", "day"}
        assert outside(rolled, "text") == set()
        run = told.stderr.split()[1].rstrip(";")
        assert f"admin undo {run} --scope {SCOPE}" in told.stderr
        rolled("admin", "undo", run, *ANA)
        assert outside(rolled, "vector") == set()

    def test_done_again_it_says_that_there_is_nothing_to_do(self, rolled: Shell) -> None:
        rolled("admin", "prune-vectors")
        again = rolled("admin", "prune-vectors")
        assert (again.stdout, again.stderr) == ("", "no record is past its retention; nothing was written\n")
        assert rolled("admin", "prune-vectors", "--dry-run").stderr == "no index would change\n"

    def test_what_is_not_summed_up_yet_is_told_with_what_comes_first(self, shell: Shell) -> None:
        told = [json.dumps({"timestamp": at, "content": text, "session": at[:10]}) for at, text in SAID]
        shell("observe", "-", *ANA, stdin="\n".join(told))
        short: dict[str, Any] = {"RECOLLECT_LIFECYCLE_VECTOR_EVENT_RETENTION_DAYS": "30"}
        first = "3 are old enough but not summarized yet; run `recollect admin rollup` first"
        dry = shell("admin", "prune-vectors", "--dry-run", **short)
        assert dry.stdout.endswith(f"); {first}\n")
        assert "3 memories to keep (records 3" in dry.stdout
        assert "untold" not in dry.stdout
        assert dry.stderr == "nothing was written\n"
        done = shell("admin", "prune-vectors", **short)
        assert (done.stdout, done.stderr) == ("", f"{SCOPE}: {first}\nnothing was written\n")
        shell("admin", "rollup")
        shell("observe", "-", *ANA, stdin=json.dumps({"timestamp": "2024-03-03T09:00:00Z", "content": "Late news."}))
        one = "1 is old enough but not summarized yet; run `recollect admin rollup` first"
        late = shell("admin", "prune-vectors", **short)
        assert late.stdout.startswith(f"{SCOPE}: ")
        assert late.stderr.endswith(f"\n{SCOPE}: {one}\n")

    def test_a_level_and_an_age(self, rolled: Shell) -> None:
        rolled("admin", "prune-vectors", "--level", "grip", "--age-days", "10")
        assert outside(rolled, "vector") == {"grip"}

    def test_an_age_without_a_level_is_refused_once(self, rolled: Shell) -> None:
        refused = rolled("admin", "prune-vectors", "--age-days", "10", code=2)
        assert refused.stderr == "Error: field 'age_days': is the age for one level; give level too\n"

    def test_as_json(self, rolled: Shell) -> None:
        (plan, _) = rolled.json("admin", "prune-vectors", "--dry-run")["plans"]
        assert (plan["job"], plan["scope"], plan["counts"]["prune"]) == ("prune-vectors", SCOPE, 7)
        (run,) = rolled.json("admin", "prune-vectors", *ANA)["runs"]
        assert set(run) == {"job", "scope", "run", "left", "stand_in", "memories"}
        assert (len(run["left"]["vector"]), run["left"]["text"], len(run["stand_in"])) == (7, [], 2)
        assert set(run["memories"]) == {*run["left"]["vector"], *run["stand_in"]}


class TestRebuildIndex:
    def test_both_indexes_have_what_the_settings_say(self, rolled: Shell) -> None:
        rolled("admin", "rebuild-index", *ANA)
        assert outside(rolled, "text") == outside(rolled, "vector") == {"segment", "grip", "day"}
        rolled("admin", "rebuild-index", *ANA, RECOLLECT_LIFECYCLE_BM25_SEGMENT_RETENTION_DAYS="never")
        assert outside(rolled, "text") == {"grip", "day"}
        assert outside(rolled, "vector") == {"segment", "grip", "day"}

    def test_how_coarse_and_how_old_may_be_said(self, rolled: Shell) -> None:
        rolled("admin", "rebuild-index", *ANA, "--min-level", "year", "--max-age-days", "30")
        assert outside(rolled, "text") == outside(rolled, "vector") == {"segment", "grip", "day", "week"}
        refused = rolled("admin", "rebuild-index", "--min-level", "grip", code=2)
        assert "'grip' is not one of day, week, month, year" in refused.stderr

    def test_a_plan_is_kept_and_applied(self, rolled: Shell, tmp_path_factory: pytest.TempPathFactory) -> None:
        file = str(tmp_path_factory.mktemp("plans") / "plan.json")
        planned = rolled("admin", "plan", "rebuild-index", *ANA, "--output", file)
        assert "segment older than 30 days leaves text and vector; " in planned.stdout
        done = rolled("admin", "apply", file)
        assert done.stdout == f"{SCOPE}: 7 left, 2 stand in\n"
        assert done.stderr.startswith("run ")
        assert outside(rolled, "text") == {"segment", "grip", "day"}
        assert "changed since" in rolled("admin", "apply", file, code=1).stderr

    @pytest.mark.parametrize("columns", ["80", "120"])
    def test_on_a_terminal_no_reason_is_cut(self, columns: str, rolled: Shell) -> None:
        seen = rolled.terminal("admin", "plan", "rebuild-index", *ANA, NO_COLOR="1", COLUMNS=columns)
        lines = seen.splitlines()
        names = next(place for place, line in enumerate(lines) if line.startswith("act "))
        shown = " ".join(" ".join(lines[names:]).split())
        for step in rolled.json("admin", "plan", "rebuild-index", *ANA)["steps"]:
            assert step["reason"] in shown
        table = [line for line in lines if not line.startswith("plan ")]
        assert max(map(len, table)) <= int(columns)

    def test_what_comes_back_and_who_stands_in_no_longer_is_counted(self, rolled: Shell) -> None:
        rolled("admin", "rebuild-index", *ANA)
        ever: dict[str, Any] = {
            f"RECOLLECT_LIFECYCLE_{index}_{level}_RETENTION_DAYS": "never"
            for index in ("VECTOR", "BM25")
            for level in ("SEGMENT", "GRIP", "DAY")
        }
        assert rolled("admin", "rebuild-index", *ANA, **ever).stdout == f"{SCOPE}: 7 came back, 2 no longer stand in\n"

    def test_what_has_left_is_told_so(self, rolled: Shell) -> None:
        rolled("admin", "rebuild-index", *ANA)
        grip = next(one["id"] for one in rolled.json("list", *ANA)["memories"] if one["level"] == "grip")
        told = rolled("why", grip, "which seat?", *ANA).stdout
        assert "it was old enough to leave the indexes; a coarser record is found in its place" in told
        found = rolled("search", "which seat on the flight to Lisbon?", *ANA, "--level", "segment").stdout
        assert "week-2025-W10" in found
