"""Conversations of two people over months, and what is asked about them at the end."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import product

from synthetic import vocabulary as words
from synthetic.script import Ask, Dice, Line, Script, Session

EACH = 4
"""How many questions of a category are asked in one conversation."""

SESSIONS = 9
"""One a month."""


@dataclass(frozen=True, slots=True)
class Block:
    """Turns that follow each other; in any session, or in one of a given number."""

    lines: Sequence[Line]
    session: int | None = None


@dataclass(frozen=True, slots=True)
class Part:
    """What one category adds to a conversation."""

    blocks: Sequence[Block]
    asks: Sequence[Ask]
    calls: Sequence[Session] = ()
    """Short conversations between the others."""


def talk(scope: str, pair: tuple[str, str], dice: Dice, *, prefixed: bool, round: int) -> Script:
    """A conversation of these two. The round says which of the paraphrases are its own."""
    talk = _Talk(pair, dice, _dates(dice), round)
    parts = [talk.words(), talk.meaning(), talk.who(), talk.when(), talk.context(), talk.chatter(), talk.setting()]
    sessions = talk.sessions([block for part in parts for block in part.blocks])
    sessions += [call for part in parts for call in part.calls]
    return Script(scope, sessions, [ask for part in parts for ask in part.asks], prefixed)


def _dates(dice: Dice) -> list[datetime]:
    year, first = 2024, dice.below(8) + 1
    return [
        datetime(year + (month // 12), month % 12 + 1, dice.below(24) + 3, dice.below(12) + 9, tzinfo=UTC)
        for month in range(first, first + SESSIONS)
    ]


@dataclass(frozen=True, slots=True)
class _Talk:
    pair: tuple[str, str]
    dice: Dice
    dates: Sequence[datetime]
    round: int

    @property
    def asked_at(self) -> datetime:
        return self.dates[-1] + timedelta(days=2)

    def other(self, name: str) -> str:
        return self.pair[1] if name == self.pair[0] else self.pair[0]

    def ask(self, category: str, text: str, answer: Line) -> Ask:
        return Ask(category, text, [answer], self.asked_at)

    def things(self, count: int) -> list[tuple[str, str, str]]:
        """So many things of different families, each with two others of its family."""
        families = self.dice.some(words.FAMILIES, count)
        chosen = [self.dice.some(family, 3) for family in families]
        return [(one, other, third) for one, other, third in chosen]

    def words(self) -> Part:
        """A long turn tells of a thing among other matters; short ones are about things of its sort."""
        blocks, asks = list[Block](), list[Ask]()
        for thing, like, alike in self.things(EACH):
            name = self.dice.pick(self.pair)
            fate, question, lure = self.dice.pick(words.FATES)
            given = {"who": self.dice.pick(words.PEOPLE), "place": self.dice.pick(words.PLACES), "name": name}
            first, second, third = self.dice.some(words.CHORES, 3)
            told = fate.format(thing=thing, **given)
            answer = Line(f"What a day: {first}, {second}, {told}, and on top of it all {third}.", name)
            blocks.append(Block([answer]))
            blocks += [Block([Line(lure.format(thing=other, **given), name)]) for other in (like, alike)]
            blocks.append(Block([Line(self.dice.pick(words.MENTIONS).format(thing=like), name)]))
            asks.append(self.ask("words", question.format(thing=thing, **given), answer))
        return Part(blocks, asks)

    def meaning(self) -> Part:
        """What is asked for in other words; another turn has the very words and is about something else."""
        blocks, asks = list[Block](), list[Ask]()
        first = self.round * EACH
        for place in range(first, first + EACH):
            said, question, trap = words.PARAPHRASES[place % len(words.PARAPHRASES)]
            name = self.dice.pick(self.pair)
            answer = Line(said, name)
            blocks += [Block([answer]), Block([Line(trap, name)])]
            asks.append(self.ask("meaning", question.format(name=name), answer))
        return Part(blocks, asks)

    def who(self) -> Part:
        """Both say the same of themselves, and one calls the other by name; and one quotes somebody else."""
        blocks, asks = list[Block](), list[Ask]()
        for claim, question, choices in self.dice.some(words.CLAIMS, EACH):
            name = self.dice.pick(self.pair)
            mine, theirs, others = self.dice.some(choices, 3)
            answer = Line(claim.format(mine), name)
            calling, quoting = self.dice.pick(words.CALLING), self.dice.pick(words.OTHERS)
            rival = Line(calling.format(name=name, claim=claim.format(theirs)), self.other(name))
            quoted = Line(quoting.format(claim=claim.format(others)), name)
            blocks += [Block([answer]), Block([rival]), Block([quoted])]
            asks.append(self.ask("who", question.format(name=name), answer))
        return Part(blocks, asks)

    def when(self) -> Part:
        """One does the same again and again; the question names the month or the day."""
        blocks, asks = list[Block](), list[Ask]()
        for deed, question, choices in self.dice.some(words.DEEDS, 2):
            name = self.dice.pick(self.pair)
            months = sorted(self.dice.some(range(SESSIONS), 5))
            lines = [Line(deed.format(what), name) for what in self.dice.some(choices, 5)]
            blocks += [Block([line], month) for line, month in zip(lines, months, strict=True)]
            for number, place in enumerate(self.dice.some(range(5), EACH // 2)):
                date = self.dates[months[place]]
                day = f"on {date.day} {date:%B %Y}" if number % 2 else f"in {date:%B}"
                asks.append(self.ask("when", question.format(name=name, when=day), lines[place]))
        return Part(blocks, asks)

    def context(self) -> Part:
        """A short answer has none of the words that the question before it has."""
        blocks, asks = list[Block](), list[Ask]()
        exchanges = self.dice.some(words.EXCHANGES, EACH)
        for (asked, replied, question), (thing, like, _) in zip(exchanges, self.things(EACH), strict=True):
            name = self.dice.pick(self.pair)
            given = {
                "thing": thing,
                "spot": self.dice.pick(words.SPOTS),
                "who": self.dice.pick(words.PEOPLE),
                "number": self.dice.pick(words.NUMBERS),
                "colour": self.dice.pick(words.COLOURS),
                "weekday": self.dice.pick(words.WEEKDAYS),
                "place": self.dice.pick(words.PLACES),
            }
            answer = Line(replied.format(**given), name)
            blocks.append(Block([Line(asked.format(**given), self.other(name)), answer]))
            mention, idle = self.dice.some(words.MENTIONS, 2)
            blocks.append(Block([Line(mention.format(thing=thing), name)]))
            blocks.append(Block([Line(idle.format(thing=like), name)]))
            asks.append(self.ask("context", question.format(name=name, **given), answer))
        return Part(blocks, asks)

    def chatter(self) -> Part:
        """A tale, and short turns that have its words and say nothing."""
        blocks, asks = list[Block](), list[Ask]()
        for outing in self.dice.some(words.OUTINGS, EACH + 1):
            name = self.dice.pick(self.pair)
            given = {"outing": outing, "place": self.dice.pick(words.PLACES), "who": self.dice.pick(words.PEOPLE)}
            answer = Line(self.dice.pick(words.TALES).format(**given), name)
            echoes = [echo.format(outing=outing) for echo in self.dice.some(words.ECHOES, 6)]
            session = self.dice.below(SESSIONS)
            blocks.append(Block([answer, Line(echoes[0], self.other(name))], session))
            blocks += [Block([Line(echo, name)], session) for echo in echoes[1:5]]
            blocks.append(Block([Line(echoes[5], name)]))
            asks.append(self.ask("chatter", f"What about {name}'s {outing}?", answer))
        return Part(blocks, asks)

    def setting(self) -> Part:
        """A call begins with an event, a place and a friend; a later remark names none; other calls share one each."""
        calls, asks = list[Session](), list[Ask]()
        name = self.dice.pick(self.pair)
        remark, question = self.dice.pick(words.REMARKS)
        events, places = self.dice.some(words.EVENTS, 2), self.dice.some(words.PLACES, 2)
        people, idle = iter(self.dice.shuffled(words.PEOPLE)), iter(self.dice.shuffled(words.ASIDES))
        friends = (next(people), next(people))
        dates = self.dice.some(self.dates[:-1], EACH)
        for (one, other), date, who in zip(product((0, 1), (0, 1)), dates, people, strict=False):
            given = {"event": events[one], "place": places[other], "friend": friends[one ^ other], "name": name}
            answer = Line(remark.format(who=who), name)
            told = [self.dice.pick(these) for these in (words.OPENINGS, words.SCENERY, words.COMPANY)]
            lines = [Line(line.format(**given), self.other(name)) for line in self.dice.shuffled(told)]
            asides = [Line(next(idle), name), Line(next(idle), self.other(name))]
            calls.append(Session(date + timedelta(days=self.dice.below(12) + 2), [*lines, *asides, answer]))
            asks.append(self.ask("setting", question.format(**given), answer))
        return Part([], asks, calls)

    def sessions(self, blocks: Sequence[Block]) -> list[Session]:
        """The blocks spread over the sessions, with small talk before and between them."""
        dealt: list[list[Block]] = [[] for _ in self.dates]
        for block in self.dice.shuffled(blocks):
            least = min(range(SESSIONS), key=lambda place: (sum(len(one.lines) for one in dealt[place]), place))
            dealt[least if block.session is None else block.session].append(block)
        sessions: list[Session] = []
        idle = iter(self.dice.shuffled(words.SMALL_TALK))
        for at, here in zip(self.dates, dealt, strict=True):
            lines: list[Line] = []
            for number, block in enumerate(self.dice.shuffled(here)):
                if number % 8 == 1 and (said := next(idle, None)) is not None:
                    lines.append(Line(said, self.other(block.lines[0].speaker or "")))
                lines += block.lines
            sessions.append(Session(at, lines))
        return sessions
