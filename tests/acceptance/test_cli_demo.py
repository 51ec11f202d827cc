"""The demo: it tells its story whole, the same each time, and leaves nothing behind."""

import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from recollect.cli.demo import STORY
from recollect.cli.main import cli

from .shell import Shell


def tell(*before: str) -> Result:
    outcome = CliRunner().invoke(cli, [*before, "demo"], env={"COLUMNS": "80"}, catch_exceptions=False)
    assert outcome.exit_code == 0, outcome.output
    return outcome


def outcomes(told: str) -> dict[str, list[str]]:
    """What came of each command, line by line."""
    found: dict[str, list[str]] = {}
    for part in re.split(r"^\$ ", told.partition("\nNow you:")[0], flags=re.MULTILINE)[1:]:
        typed = next(typed for step in STORY for typed in step.commands if part.startswith(typed))
        found[typed] = part.removeprefix(typed).split("\n\n")[0].strip().splitlines()
    return found


def words(typed: str) -> list[str]:
    return shlex.split(typed.replace("\\\n", ""))[1:]


@pytest.fixture(scope="module")
def told() -> str:
    return tell().stdout


def test_it_recalls_what_deserves_a_place_and_keeps_room_for_the_pinned(told: str) -> None:
    lines = outcomes(told)[STORY[2].commands[0]]
    assert re.findall(r' id="(\w+)"', "\n".join(lines)) == ["economy", "window", "peanuts", "lisbon"]
    summary = [line.strip() for line in lines[-3:]]
    assert summary[0].startswith("context ")
    assert " ".join(summary).endswith("left out: 1 by budget, 1 by no_longer_valid, 1 by gate:relevance")
    assert max(map(len, lines[-3:])) <= 80


def test_it_shows_how_a_draft_is_judged(told: str) -> None:
    again, moved, secret = (outcomes(told)[typed] for typed in STORY[1].commands)
    assert again == ["window", "nothing new (the same in other words); counted as a repetition"]
    assert moved[0] == "lisbon"
    assert moved[1].startswith("created; replaces porto (")
    assert moved[2].endswith("to undo it: recollect curate undo 8 --scope acme/ana")
    assert secret == ["lounge", "created", "removed before storing: password"]


def test_it_explains_what_the_budget_cut_and_what_would_have_done(told: str) -> None:
    first, score, *parts = outcomes(told)[STORY[3].commands[0]]
    pattern = r"late was ranked but not packed: it costs \d+ tokens, \d+ were left; a budget of (\d+) .*"
    needed = re.fullmatch(pattern, first)
    assert needed is not None
    assert int(needed[1]) > 300
    points = [float(part.split()[1]) for part in parts if part.strip().startswith("+")]
    assert float(score.removeprefix("score ")) == pytest.approx(sum(points), abs=2e-3)
    assert any("▇" in part for part in parts)


def test_another_scope_sees_nothing_of_it_but_what_the_team_shares(told: str) -> None:
    _, *rows, _ = outcomes(told)[STORY[4].commands[0]]
    assert [row.split()[1] for row in rows] == ["economy", "aisle"]


def test_a_month_ago_the_answer_was_another(told: str) -> None:
    _, row, _ = outcomes(told)[STORY[5].commands[0]]
    assert row.split()[1] == "porto"
    assert "[until 2025-12-20] Ana lives in Porto. [" in row


def test_it_is_short_and_narrow_enough_for_a_screen(told: str) -> None:
    lines = told.splitlines()
    assert len(lines) <= 86
    assert [line for line in lines if len(line) > 100 and "delimit" not in line] == []


def test_headings_and_commands_fit_in_80_columns(told: str) -> None:
    headings = [line for line in told.splitlines() if re.match(r"\d\. ", line)]
    typed = [line for step in STORY for one in step.commands for line in f"$ {one}".splitlines()]
    assert len(headings) == len(STORY)
    assert [line for line in (*told.splitlines()[:2], *headings, *typed) if len(line) > 80] == []


def test_it_says_the_same_each_time_but_for_the_marker_and_what_it_costs(told: str) -> None:
    def settled(text: str) -> str:
        text = re.sub(r"context \S+:", "context", re.sub(r"\b(memory-|carry )[0-9a-f]{16,}", r"\1", text))
        return re.sub(r"\d+( of \d+)? tokens|\d+ were left|\d+ in all", "", text)

    assert settled(tell().stdout) == settled(told)


def test_it_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    tell()
    assert list(tmp_path.iterdir()) == []


def test_it_is_kept_where_the_user_says_and_can_be_repeated_by_hand(tmp_path: Path) -> None:
    kept = Shell(tmp_path / "story.db")
    told = tell("--db", str(kept.store)).stdout
    assert f"The story is kept in {kept.store}" in told
    last = STORY[-1].commands[0]
    by_hand = [line.split("\t") for line in kept(*words(last), RECOLLECT_EMBEDDER="wordllama").stdout.splitlines()]
    assert [row[:2] for row in by_hand] == [row.split()[:2] for row in outcomes(told)[last][1:-1]]
    refused = CliRunner().invoke(cli, ["--db", str(kept.store), "demo"])
    assert (refused.exit_code, "already exists" in refused.stderr) == (2, True)


def test_what_it_types_works_in_a_store_of_ones_own(shell: Shell) -> None:
    for typed in [typed for step in STORY for typed in step.commands]:
        shell(*words(typed))
    kept = shell.json("list", "--scope", "acme", "--below")["memories"]
    assert sorted(one["id"] for one in kept) == ["aisle", "economy", "late", "lisbon", "lounge", "peanuts", "window"]
    assert all("Gate7" not in one["text"] for one in kept)


def test_the_environment_does_not_make_it_write_to_a_store(tmp_path: Path) -> None:
    store = tmp_path / "mine.db"
    outcome = CliRunner().invoke(cli, ["demo"], env={"RECOLLECT_DB": str(store)})
    assert (outcome.exit_code, store.exists()) == (0, False)
