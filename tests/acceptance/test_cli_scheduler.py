"""Jobs run, paused and looked at from the command line, and a scheduler that is told to end."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from threading import Event

import pytest

import recollect
from recollect.jobs.scheduler import JOBS
from tests.integration.providers.chat_server import summing_up
from tests.integration.providers.server import Act, Handler, Request, saying, serving

from .shell import ENVIRONMENT, Shell

OTHERS = (
    *("scheduler.extract", "scheduler.topics", "scheduler.consolidate"),
    *("lifecycle.vector.prune_schedule", "lifecycle.bm25.rebuild_schedule", "episodic.prune_schedule"),
)
ALONE = tuple(part for name in OTHERS for part in ("--setting", f"{name}="))
"""That no job but the rollup ever falls due."""

OFTEN = ("--setting", "scheduler.rollup=* * * * *", *ALONE)
POINT = {"text": "Somebody drinks tea.", "passages": [0]}
NOW = datetime.now(UTC)
LAST_WEEK, LONG_AGO = NOW - timedelta(days=7), datetime(2025, 6, 2, 9, tzinfo=UTC)
"""When jobs were first seen, and something happened, in a year that is over whenever the tests are run."""

ONCE_A_DAY = ("--setting", f"scheduler.rollup=0 {(NOW.hour + 12) % 24} * * *", *ALONE)
"""That it fell due half a day ago, and does not again while a test runs."""

ONCE_A_YEAR = ("--setting", f"scheduler.rollup=0 0 1 {(NOW.month + 5) % 12 + 1} *", *ALONE)
"""That it has not fallen due since last week."""


@pytest.fixture
def lived(shell: Shell) -> Shell:
    """A store whose jobs were first seen a week ago, and in two scopes of which something happened."""
    with recollect.open(shell.store, embedder="hashing") as memory:
        for scope in ("acme/ana", "acme/bo"):
            memory.observe([{"text": f"{scope} drinks tea", "at": LONG_AGO}], scope=scope)
    with recollect.scheduler(shell.store, embedder="hashing", clock=lambda: LAST_WEEK) as scheduler:
        assert scheduler.run_due() == []
    return shell


def test_what_is_due_is_run_once_and_told(lived: Shell) -> None:
    done = lived(*OFTEN, "scheduler", "run", "--once")
    (line,) = done.stdout.splitlines()
    assert line.startswith("rollup done at 20")
    assert line.endswith(": 2 scopes, 12 made")
    begun, coming = done.stderr.splitlines()
    assert begun.startswith("rollup started, due at 20")
    assert coming.startswith("next job: rollup at 20")
    days = lived("browse", "--scope", "acme/ana").stdout
    assert days.startswith("year\t")


def test_what_was_done_is_data_on_standard_output_and_the_rest_is_talk(lived: Shell) -> None:
    done = lived(*OFTEN, "scheduler", "run", "--once", "--json")
    told = json.loads(done.stdout)
    assert (told["job"], told["state"], told["attempt"], told["problem"]) == ("rollup", "done", 1, None)
    assert told["counts"] == {"scopes": 2, "made": 12, "revised": 0, "archived": 0}
    assert datetime.fromisoformat(told["due_at"]) <= datetime.fromisoformat(told["started_at"])
    jobs = {one["job"]: one for one in lived.json(*OFTEN, "scheduler", "status")["jobs"]}
    assert list(jobs) == list(JOBS)
    assert {**jobs["rollup"]["last"], "runs": []} == told  # which is told, and kept nowhere
    assert jobs["consolidate"] == {
        "job": "consolidate",
        "schedule": "",
        "paused": False,
        "next_at": None,
        "under_way": None,
        "last": None,
    }


def test_the_runs_of_a_job_are_told_with_the_way_back(lived: Shell) -> None:
    lived(*OFTEN, "scheduler", "run", "--once")
    often = ("--setting", "scheduler.rollup=", "--setting", "lifecycle.vector.prune_schedule=* * * * *")
    done = lived(*ALONE, *often, "scheduler", "run", "--once")
    assert done.stdout.startswith("prune-vectors done at 20")
    backs = [line for line in done.stderr.splitlines() if "to undo it" in line]
    assert [line.partition(": ")[0] for line in backs] == ["acme/ana", "acme/bo"]
    words = backs[0].split("recollect --db ")[1].split()
    assert words[1:3] == ["admin", "undo"]
    undone = lived.json(*words[1:])
    assert len(undone["memories"]) > 0
    (last,) = [one["last"] for one in lived.json("scheduler", "status")["jobs"] if one["job"] == "prune-vectors"]
    assert "runs" not in last
    rebuilds = ("--setting", "scheduler.rollup=", "--setting", "lifecycle.bm25.rebuild_schedule=* * * * *")
    told = lived.json(*ALONE, *rebuilds, "scheduler", "run", "--once")
    assert [set(one) for one in told["runs"]] == [{"scope", "run"}] * 2
    assert [one["scope"] for one in told["runs"]] == ["acme/ana", "acme/bo"]


def test_where_nothing_is_due_it_is_said_what_comes_next(shell: Shell) -> None:
    shell("remember", "a seat", "--scope", "acme")
    done = shell("scheduler", "run", "--once")
    assert done.stdout == ""
    assert done.stderr.startswith("next job: ")
    unset = [f"--setting=scheduler.{job}=" for job in ("rollup", "consolidate")]
    never = shell.json(*unset, "scheduler", "status")["jobs"]
    assert [one["next_at"] for one in never if one["job"] in ("rollup", "consolidate")] == [None, None]


def test_a_job_that_failed_is_told_with_its_reason_and_the_exit_code_is_one(lived: Shell) -> None:
    with serving(saying(b"", 503, Retry_After="0")) as server:
        failed = lived(*OFTEN, *asking(server.url), "scheduler", "run", "--once", code=1)
    assert failed.stdout.startswith("rollup failed at ")
    assert failed.stdout.endswith(": ProviderBusy in 2 scopes; 2 scopes\n")
    assert "rollup: acme/ana: " in failed.stderr
    assert "503" in failed.stderr
    assert "failed 20" in lived(*OFTEN, "scheduler", "status").stdout


def test_a_job_is_paused_and_resumed(lived: Shell) -> None:
    paused = lived("scheduler", "pause", "rollup").stdout.splitlines()
    assert [line.split("\t")[:3] for line in paused if "paused" in line] == [["rollup", "0 1 * * *", "paused"]]
    done = lived(*OFTEN, "scheduler", "run", "--once")
    assert done.stdout == ""
    every = lived("scheduler", "pause", "--json").stdout
    assert {one["paused"] for one in json.loads(every)["jobs"]} == {True}
    assert "no job is due: all are paused" in lived("scheduler", "run", "--once").stderr
    resumed = lived("scheduler", "resume").stdout
    assert "paused" not in resumed
    assert lived(*ONCE_A_DAY, "scheduler", "run", "--once").stdout == ""  # what fell due before is not made up for


def test_on_a_terminal_jobs_are_a_table(lived: Shell) -> None:
    lived(*OFTEN, "scheduler", "run", "--once")
    names, *rows = lived.terminal("scheduler", "status").splitlines()
    assert names.split("m", 1)[1].startswith("job")
    assert all(name in names for name in ("schedule", "next", "last"))
    assert any(row.startswith("rollup") and "done 20" in row for row in rows)
    assert any(row.startswith("consolidate") and row.endswith("–") for row in rows)


@pytest.mark.parametrize("act", ["pause", "resume"])
def test_a_job_that_is_none_is_refused(act: str, lived: Shell) -> None:
    assert "'rolup' is not a job; did you mean 'rollup'?" in lived("scheduler", act, "rolup", code=2).stderr


@pytest.mark.parametrize("arguments", [("status",), ("run", "--once"), ("pause",), ("resume", "rollup"), ("run",)])
def test_where_there_is_no_store_none_is_made(arguments: tuple[str, ...], shell: Shell) -> None:
    assert "does not exist" in shell("scheduler", *arguments, code=3).stderr
    assert not shell.store.exists()


def test_a_schedule_that_is_none_is_refused_with_what_to_write(lived: Shell) -> None:
    wrong = lived("--setting", "scheduler.rollup=daily", "scheduler", "status", code=2).stderr
    assert "scheduler.rollup" in wrong
    assert "use five cron fields" in wrong


def asking(address: str) -> tuple[str, ...]:
    """The settings by which a model is asked to sum up."""
    said = {
        "lifecycle.summariser": "llm",
        "extraction.address": address,
        "extraction.model": "tiny",
        "extraction.attempts": "1",
    }
    return tuple(part for name, value in said.items() for part in ("--setting", f"{name}={value}"))


def hear_interrupts() -> None:
    """Take SIGINT as usual, also where the tests run in the background and a shell has it ignored."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@contextmanager
def begun(shell: Shell, *arguments: str) -> Iterator["subprocess.Popen[str]"]:
    """A command that goes on for as long as the test does not end it."""
    command = [sys.executable, "-m", "recollect", "--db", str(shell.store), *arguments]
    with subprocess.Popen(
        command,
        env={**os.environ, **ENVIRONMENT},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=hear_interrupts,  # noqa: PLW1509 - nothing of ours runs in another thread
    ) as process:
        try:
            yield process
        finally:
            process.kill()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_scheduler_that_waits_ends_well_when_it_is_told_to(number: signal.Signals, lived: Shell) -> None:
    with begun(lived, *ONCE_A_YEAR, "scheduler", "run") as process:
        assert process.stderr is not None
        assert process.stderr.readline().endswith("; Ctrl-C stops it\n")
        process.send_signal(number)
        _, told = process.communicate(timeout=60)
    assert process.returncode == 0
    assert told.startswith("stopping")


@pytest.mark.parametrize("once", [(), ("--once",)])
def test_a_job_that_is_under_way_ends_after_its_scope_and_the_next_scheduler_goes_on(
    once: tuple[str, ...], lived: Shell
) -> None:
    asked, told_to_end = Event(), Event()
    well = summing_up(POINT)

    def waiting(handler: Handler, request: Request) -> None:
        asked.set()
        assert told_to_end.wait(60)
        well(handler, request)

    acts: tuple[Act, ...] = (waiting, well)
    quick = ("--setting", "scheduler.jitter_seconds=0")
    with serving(*acts) as server:
        with begun(lived, *OFTEN, *quick, *asking(server.url), "scheduler", "run", *once) as process:
            assert asked.wait(60)
            process.send_signal(signal.SIGTERM)
            assert process.stderr is not None
            assert any(line.startswith("stopping") for line in process.stderr)
            told_to_end.set()
            shown, _ = process.communicate(timeout=60)
        assert process.returncode == (1 if once else 0)
        assert shown.startswith("rollup interrupted at ")
        under_way = {one["job"]: one for one in lived.json(*OFTEN, "scheduler", "status")["jobs"]}["rollup"][
            "under_way"
        ]
        assert (under_way["state"], under_way["counts"]["scopes"]) == ("interrupted", 1)
        again = lived(*OFTEN, *asking(server.url), "scheduler", "run", "--once", "--json").stdout.splitlines()
        first = json.loads(again[0])
        assert (first["due_at"], first["attempt"], first["state"]) == (under_way["due_at"], 2, "done")
        assert first["counts"]["made"] == 6  # what was left: the second scope
