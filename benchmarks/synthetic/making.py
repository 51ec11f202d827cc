"""Making: the scopes of a folder, by kind in turn."""

from itertools import cycle, islice
from pathlib import Path

from synthetic.days import days
from synthetic.figures import figures
from synthetic.notes import notes
from synthetic.replies import replies
from synthetic.script import Dice, Script, files
from synthetic.spelling import spelling
from synthetic.talk import talk
from synthetic.vocabulary import PAIRS
from synthetic.work import work

USUAL = ("talk", "work", "turns", "replies")
"""Conversations with the speaker's name in the text and without, notes of projects, and long replies."""

KINDS = (*USUAL, *USUAL, "figures", "spelling", "days", "notes")
"""Those, twice; and what turns on one part of a ranking each."""

ALONE = {
    "work": work,
    "replies": replies,
    "figures": figures,
    "spelling": spelling,
    "days": days,
    "notes": notes,
}
"""What makes the kinds that depend on nothing else."""


def scripts(seed: int, scopes: int) -> list[Script]:
    """So many scopes; what is in one depends on the seed and its number alone."""
    made: list[Script] = []
    talks = 0
    for number, kind in enumerate(islice(cycle(KINDS), scopes), 1):
        scope, dice = f"{kind}-{number}", Dice(f"{seed}/{number}")
        if kind in ALONE:
            made.append(ALONE[kind](scope, dice))
        else:
            pair = PAIRS[talks % len(PAIRS)]
            made.append(talk(scope, pair, dice, prefixed=kind == "talk", round=talks))
            talks += 1
    return made


def write(folder: Path, *, seed: int, scopes: int) -> None:
    """Write the folder of judgements, over what is there."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files(scripts(seed, scopes)).items():
        (folder / name).write_text(text, encoding="utf-8", newline="\n")
