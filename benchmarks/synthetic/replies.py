"""A user who says things in passing, and an assistant whose long replies repeat them."""

from datetime import UTC, datetime, timedelta

from synthetic import vocabulary as words
from synthetic.script import Ask, Dice, Line, Script, Session

SHORTEST, LONGEST = 150, 400
"""How many words a reply has."""

FACTS = 9


def replies(scope: str, dice: Dice) -> Script:
    """What this user says of themselves, three things a session, and asks for at the end."""
    now = datetime(2025, 2, 3, 18, tzinfo=UTC) + timedelta(days=dice.below(60))
    sessions, said = list[Session](), list[tuple[str, Line]]()
    facts = dice.some(words.FACTS, FACTS)
    for begun in range(0, len(facts), 3):
        now += timedelta(days=dice.below(9) + 3)
        lines: list[Line] = []
        for fact, question, about in facts[begun : begun + 3]:
            given = _given(dice)
            told = Line(f"{fact.format(**given)} {dice.pick(words.REQUESTS)}", "user")
            topics = about.format(**given).split(", ")
            lines += [told, Line(_reply(dice, topics), "assistant"), Line(dice.pick(words.REQUESTS), "user")]
            lines.append(Line(_reply(dice, topics), "assistant"))
            said.append((question, told))
        sessions.append(Session(now, lines))
    at = now + timedelta(days=4)
    return Script(scope, sessions, [Ask("long-replies", question, [line], at) for question, line in said])


def _given(dice: Dice) -> dict[str, str]:
    return {
        "place": dice.pick(words.PLACES),
        "food": dice.pick(words.FOODS),
        "who": dice.pick(words.PEOPLE),
        "paper": dice.pick(words.PAPER),
        "dog": dice.pick(words.DOGS),
        "colour": dice.pick(words.COLOURS).lower(),
        "thing": dice.pick(words.FAMILIES[0]),
        "milk": dice.pick(words.MILK),
        "subject": dice.pick(words.SUBJECTS),
        "floor": dice.pick(words.FLOORS),
        "weekday": dice.pick(words.WEEKDAYS),
        "month": dice.pick(words.MONTHS),
    }


def _reply(dice: Dice, topics: list[str]) -> str:
    """Advice on these topics, of a length that is drawn."""
    wanted = SHORTEST + dice.below(LONGEST - SHORTEST - 25)
    said: list[str] = []
    advice: list[str] = []
    while sum(len(sentence.split()) for sentence in said) < wanted:
        advice = advice or dice.shuffled(words.ADVICE)
        said.append(advice.pop().format(x=dice.pick(topics)))
    return " ".join(said)
