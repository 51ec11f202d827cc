"""A simulated year over a store of its own; it ends with 1 and says how to see it again if anything does not hold."""

import argparse
import sys
import tempfile
import time
from pathlib import Path

import click

import recollect

from .life import Day, Life
from .year import Broken, Year


def main() -> None:
    arguments = argparse.ArgumentParser(prog="scripts/simulate", description=__doc__)
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("--events", type=int, default=50_000)
    arguments.add_argument("--days", type=int, default=365)
    given = arguments.parse_args()
    life, began = Life(given.seed, given.events, given.days), time.monotonic()
    click.echo(f"seed {life.seed}: {life.events} events over {life.days} days from {life.began}, {life.settings}")
    with tempfile.TemporaryDirectory() as folder:
        year = Year(life, str(Path(folder) / "life.db"))

        def told(day: Day) -> None:
            if day.number % 10 == 9:
                memories = len(year.rows.memories) if year.rows else 0
                click.echo(f"day {day.number + 1}: {memories} memories, {time.monotonic() - began:.0f} s")

        try:
            year.live(told)
        except Broken as broken:
            click.echo(broken)
            sys.exit(1)
        click.echo(f"{time.monotonic() - began:.0f} s: {dict(sorted(year.counts.items()))}")
        click.echo(f"{len(year.ledger.events)} events; {recollect.verify(year.target)}")


if __name__ == "__main__":
    main()
