"""Two people who talk, and notes beside it that are nobody's: some memories have speakers and sessions, some none."""

from datetime import UTC, datetime, timedelta

from synthetic import vocabulary as words
from synthetic.script import Ask, Dice, Line, Script, Session


def notes(scope: str, dice: Dice) -> Script:
    """Of each trait, one of the two tells and the other does not; theirs is only noted, beside those of strangers."""
    now = datetime(2025, 4, 7, 19, tzinfo=UTC) + timedelta(days=dice.below(60))
    pair = dice.pick(words.PAIRS)
    sessions, asked = list[Session](), list[tuple[str, Line]]()
    for what, trait, question, choices in dice.shuffled(words.TRAITS):
        silent, telling = dice.shuffled(pair)
        told, *kept = (f"{what} {trait.format(choice)}" for choice in dice.some(choices, 4))
        of = (silent, *dice.some(words.PEOPLE, 2))
        written = [Line(f"{name}'s {one}.") for name, one in zip(of, kept, strict=True)]
        said = Line(dice.pick(words.TELLING).format(told), telling)
        dodge = Line(dice.pick(words.DODGES).format(what), silent)
        first, last = dice.some(words.SMALL_TALK, 2)
        now += timedelta(days=dice.below(4) + 1)
        sessions.append(Session(now, [Line(first, telling), dodge, Line(last, silent), said]))
        sessions.append(Session(now + timedelta(hours=1), dice.shuffled(written), noted=True))
        asked += [(question.format(name=silent), written[0]), (question.format(name=telling), said)]
    at = now + timedelta(days=4)
    return Script(scope, sessions, [Ask("mixed", text, [line], at) for text, line in asked])
