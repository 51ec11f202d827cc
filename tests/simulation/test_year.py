"""Lives with crashes, clocks that go wrong and people who change their minds: all holds after every day."""

import subprocess
import sys
from pathlib import Path

import pytest

import recollect

from .life import SECRET, Life
from .rows import Row
from .year import Broken, Year

DAYS = 45
"""In which records age as fast as if it were a year."""


@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.thorough)])  # events leave in the first one
def test_all_holds_after_every_day_of_a_life_in_a_file(seed: int, tmp_path: Path) -> None:
    year = Year(Life(seed, events=150, days=DAYS), str(tmp_path / "life.db"))
    year.live()
    assert _went_through(year, "killed", "erased", "pin", "forget", "rollup done", "rebuild-index done")
    assert {level for one in _left(year) for level in [one.level]} >= {"segment", "grip", "day"}
    assert ("event" in {one.level for one in _left(year)}) is (year.life.event_days is not None)
    assert recollect.verify(year.target).problems == ()


def test_all_holds_after_every_day_of_a_life_in_a_database(postgres_store_url: str) -> None:
    year = Year(Life(5, events=60, days=16), postgres_store_url)
    year.live()
    assert _went_through(year, "killed", "rollup done", "rebuild-index done", "prune-vectors done")
    assert {one.level for one in _left(year)} >= {"segment", "grip"}


def _went_through(year: Year, *what: str) -> bool:
    return all(year.counts[one] for one in what)


def _left(year: Year) -> list[Row]:
    assert year.rows is not None
    return [one for one in year.rows.memories.values() if one.left]


def test_a_seed_gives_the_same_life_and_another_one_another() -> None:
    assert list(Life(7, 400, 60)) == list(Life(7, 400, 60))
    assert list(Life(8, 400, 60)) != list(Life(7, 400, 60))


def test_as_much_happens_as_is_said() -> None:
    told = [turn for day in Life(3, 1_000, 90) for one in day.told for turn in one.turns]
    said = {(turn["at"], turn["text"]) for turn in told if turn["session"].startswith("d")}
    assert len(said) == 1_000


def test_what_is_to_be_erased_was_told_before() -> None:
    told, erased = set[str](), list[str]()
    for day in Life(4, 300, 120):
        assert set(day.erased) <= told
        erased += day.erased
        told |= {word for one in day.told for turn in one.turns for word in turn["text"].split() if SECRET in word}
    assert erased


def test_a_failure_says_how_to_see_it_again() -> None:
    life = Life(9, 300, 40)
    day = list(life)[11]
    told = str(Broken(life, day, ["one is lost", *(f"{number} more" for number in range(30))]))
    assert told.startswith(f"seed 9, day 11 ({day.date}):\none is lost\n")
    assert told.endswith("and 11 more\nagain: scripts/simulate --seed 9 --events 300 --days 40")


def test_the_command_lives_a_life_to_its_end() -> None:
    command = [sys.executable, "-m", "tests.simulation", "--seed", "2", "--events", "20", "--days", "3"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=Path(__file__).parents[2])
    assert done.returncode == 0, done.stdout + done.stderr
    assert "seed 2: 20 events over 3 days" in done.stdout
