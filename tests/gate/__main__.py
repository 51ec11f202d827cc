"""What `default` comes to at the gate, beside its floors; `python -m tests.gate --write` makes new floors of it."""

import argparse

import click

from recollect.ranking.profiles import builtin_profile

from . import floors
from .bench import MEASURES, bench


def main() -> None:
    arguments = argparse.ArgumentParser(prog="python -m tests.gate", description=__doc__)
    arguments.add_argument("--write", action="store_true", help="make new floors of these figures")
    given = arguments.parse_args()
    with bench() as judged:
        figures = judged.figures(builtin_profile("default"))
    if given.write:
        floors.write(floors.floors_of(figures))
    held = floors.read()
    for category, measured in figures.items():
        floor = held.get(category, dict.fromkeys(MEASURES, 0.0))  # a new category has none yet
        told = [f"{name} {measured[name]:.3f} (floor {floor[name]:.3f})" for name in MEASURES]
        click.echo(f"{category:<14} {'   '.join(told)}")


if __name__ == "__main__":
    main()
