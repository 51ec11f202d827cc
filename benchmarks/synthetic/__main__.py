"""Write a folder of made-up judgements, for `recollect eval`: scripts/bench synthetic --out DIR --seed N --scopes N."""

import argparse
from pathlib import Path

from synthetic.making import KINDS, write

SEED, SCOPES = 3, len(KINDS)
"""What the judgements of the gate are made with."""


def main() -> None:
    arguments = argparse.ArgumentParser(prog="scripts/bench synthetic", description=__doc__)
    arguments.add_argument("--out", type=Path, required=True, metavar="DIR", help="the folder to write")
    arguments.add_argument("--seed", type=int, default=SEED, help=f"another one makes other judgements [{SEED}]")
    arguments.add_argument("--scopes", type=int, default=SCOPES, help=f"how many scopes [{SCOPES}]")
    given = arguments.parse_args()
    write(given.out, seed=given.seed, scopes=given.scopes)
    print(f"{given.out}: {given.scopes} scopes made of the seed {given.seed}; recollect eval {given.out} measures it")


if __name__ == "__main__":
    main()
