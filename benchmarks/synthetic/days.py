"""Notes of what happened on which day, and questions that name a time and nothing else."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from synthetic import vocabulary as words
from synthetic.script import Ask, Dice, Line, Script, Session

MONTHS = 6
YEAR = 2025


def days(scope: str, dice: Dice) -> Script:
    """Months of notes after a year of reveries: two on one day, and a third later; asked for soon, and at the end."""
    noted = [
        Session(datetime(YEAR - 1, month, dice.below(28) + 1, 20, tzinfo=UTC), [Line(reverie)], noted=True)
        for month, reverie in enumerate(dice.shuffled(words.REVERIES), 1)
    ]
    incidents, asks = iter(dice.shuffled(words.INCIDENTS)), list[Ask]()
    end = datetime(YEAR, MONTHS + 1, 20, 12, tzinfo=UTC)
    for month in range(1, MONTHS + 1):
        day = datetime(YEAR, month, dice.below(7) + 8, 18, tzinfo=UTC)
        first, second, third = (Line(next(incidents)) for _ in range(3))
        noted += [Session(day, [first, second], noted=True), Session(day + timedelta(days=9), [third], noted=True)]
        question, meant = words.NEWS[month % len(words.NEWS)]
        told = question.format(day=day.day, month=f"{day:%B}", year=YEAR)
        asks.append(Ask("period", told, [first, second] if meant == "day" else [first, second, third], end))
        asks.append(_soon(month, day, [first, second]))
    return Script(scope, noted, asks)


def _soon(number: int, day: datetime, answers: Sequence[Line]) -> Ask:
    """What is asked when the day is as long ago as the question says."""
    told, after = words.LATELY[number % len(words.LATELY)]
    later = 8 - day.weekday() if after is None else after
    return Ask("period", told, answers, day + timedelta(days=later))
