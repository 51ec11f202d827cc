"""Notes in one spelling and questions in another: only their meaning is alike, and other notes have the words."""

from datetime import UTC, datetime, timedelta

from synthetic import vocabulary as words
from synthetic.script import Ask, Dice, Line, Script, Session

LISTS = 10
THINGS = 7
"""How many things each list has."""

ALLUSIONS = 5
"""How many notes have two words of a question and answer nothing."""


def spelling(scope: str, dice: Dice) -> Script:
    """Who has what, noted in one moment among allusions to the same things, and asked for a week later."""
    at = datetime(2025, 5, 5, 10, tzinfo=UTC) + timedelta(days=dice.below(60))
    lines, asks = list[Line](), list[Ask]()
    for _ in range(LISTS):
        pairs = dice.some(words.SPELLINGS, THINGS)
        answer = Line(f"{dice.pick(words.PEOPLE)} has the {_listed([theirs for theirs, _ in pairs])}.")
        asked = [ours for _, ours in pairs]
        lines += [answer, *(Line(one.format(*dice.some(asked, 2))) for one in dice.some(words.ALLUSIONS, ALLUSIONS))]
        asks.append(Ask("spelling", f"Who has the {_listed(asked)}?", [answer], at + timedelta(days=7)))
    return Script(scope, [Session(at, dice.shuffled(lines), noted=True)], asks)


def _listed(things: list[str]) -> str:
    return f"{', the '.join(things[:-1])} and the {things[-1]}"
