"""A caretaker who dictates figures: some are put right in the same breath, and others are nearly alike."""

from datetime import UTC, datetime, timedelta

from synthetic import vocabulary as words
from synthetic.script import Ask, Dice, Line, Script, Session

ROUNDS = 3
"""Of how many places figures are put right, and of as many others some are alike."""

SLIPS = 4
ALIKE = 3
"""How many figures of a place are put right, and how many have one that is alike."""

SPEAKER = "user"


def figures(scope: str, dice: Dice) -> Script:
    """What this caretaker dictates, and what is asked for at the end."""
    now = datetime(2025, 3, 3, 8, tzinfo=UTC) + timedelta(days=dice.below(60))
    places = iter(dice.shuffled(words.BUILDINGS))
    sessions, asked = list[Session](), list[tuple[str, str, Line]]()
    for _ in range(ROUNDS):
        now += timedelta(days=dice.below(4) + 2)
        lines, right = _put_right(dice, next(places))
        sessions.append(Session(now, lines))
        asked += [("corrected", question, line) for question, line in right]
        older, newer, alike = _alike(dice, next(places))
        for told in (older, newer):
            now += timedelta(days=dice.below(4) + 2)
            sessions.append(Session(now, told))
        asked += [("alike", question, line) for question, line in alike]
    at = now + timedelta(days=2)
    return Script(scope, sessions, [Ask(category, question, [line], at) for category, question, line in asked])


def _put_right(dice: Dice, place: str) -> tuple[list[Line], list[tuple[str, Line]]]:
    """Figures of one place, and those that hold instead, minutes later; and how these are asked for."""
    wrong, right, asked = list[Line](), list[Line](), list[tuple[str, Line]]()
    for figure in dice.some(words.FIGURES, SLIPS):
        epithet = dice.pick(words.EPITHETS)
        first, second = dice.some(range(11, 99), 2)
        wrong.append(Line(f"The {epithet} {figure} of the {place} is {first}.", SPEAKER))
        right.append(Line(dice.pick(words.SLIPS).format(figure=figure, place=place, value=second), SPEAKER))
        asked.append((f"What is the {epithet} {figure} of the {place}?", right[-1]))
    return [*wrong, *right], asked


def _alike(dice: Dice, place: str) -> tuple[list[Line], list[Line], list[tuple[str, Line]]]:
    """Figures of some parts after a question, on another day those of their counterparts; how the former are asked."""
    older, newer, asked = list[Line](), list[Line](), list[tuple[str, Line]]()
    for (reading, question), sides in zip(dice.some(words.READINGS, ALIKE), dice.some(words.SIDES, ALIKE), strict=True):
        one, other = dice.shuffled(sides)
        first, second = dice.some(range(11, 99), 2)
        older.append(Line(reading.format(side=one, place=place, value=first), SPEAKER))
        newer.append(Line(reading.format(side=other, place=place, value=second), SPEAKER))
        asked.append((question.format(side=one, place=place), older[-1]))
    wondering = Line(f"I wonder: {asked[0][0]}", SPEAKER)
    return [wondering, *older], newer, asked
