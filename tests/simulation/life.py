"""Life: what happens to some people day by day, and what they do with their memories; the same for the same seed."""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from enum import StrEnum
from itertools import accumulate, pairwise
from typing import Any
from zoneinfo import ZoneInfo

PEOPLE = ("home/ana", "home/ben", "work/cleo")
SHARES = (0.6, 0.3, 0.1)
"""Whose life it is, and how much of all that happens is theirs."""

ZONES = ("UTC", "Europe/Lisbon", "America/New_York", "Australia/Lord_Howe", "Asia/Kolkata")
CANARY, SECRET = "canary", "quoll"
"""How the words begin that are looked for: one a month that must be found, and those that are erased again."""

PROJECTS = ("the garden", "the new flat", "the trip to Lisbon", "piano lessons", "the budget", "Bruno the dog")
DONE = ("needs a plan", "went well", "was put off", "costs too much", "made me happy", "is due", "has to be repaired")
WHEN = ("today", "on Friday", "next month", "before the summer", "since March", "after work", "at noon")
HABITS = ("watered the tomatoes", "walked the dog by the river", "read the news over coffee")
NOTES = ("keeps the spare key", "keeps the spare key in the shed", "keeps the spare key in the shed behind the pots")
"""What people note of each other, ever longer, so that one note can speak for all."""

WEEKEND = 0.5
"""How much less happens on a Saturday or Sunday."""

YEAR = 365
RETENTION = {"segment": 30, "grip": 30, "day": 330, "week": 1825}
"""How many days of a year records can be found; days leave before it is over, so that weeks stand in for them too."""

PAUSE = timedelta(minutes=45)
"""Longer than a segment's."""


class Act(StrEnum):
    """What somebody does with a record."""

    PIN = "pin"
    UNPIN = "unpin"
    FORGET = "forget"
    RESTORE = "restore"
    REVISE = "revise"


ACTS = {Act.PIN: 0.10, Act.UNPIN: 0.04, Act.FORGET: 0.08, Act.RESTORE: 0.04, Act.REVISE: 0.06}
"""How likely each is on a day."""


@dataclass(frozen=True, slots=True)
class Told:
    """What is observed in one go, for one scope."""

    scope: str
    turns: Sequence[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Wish:
    """Something to be done with a record of that level; `dice` says with which."""

    act: Act
    level: str
    dice: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Day:
    """A day, and the night after it: what is told, late, again and once more; what is erased, wished and noted."""

    number: int
    date: date
    told: Sequence[Told]
    wishes: Sequence[Wish] = ()
    notes: Sequence[tuple[str, str]] = ()
    erased: Sequence[str] = ()
    canary: str | None = None
    kills: Sequence[float] = ()
    """Where in the work of the day a process is killed, in shares of what there is to do about."""
    goes_back: timedelta = timedelta()
    """How far the clock goes back for a while."""
    together: bool = False
    """Whether both schedulers look at the same moment, so that one may be at a job while the other is at the next."""
    undoes: bool = False
    """Whether somebody takes back what the night let go of."""


@dataclass(frozen=True, slots=True)
class Life:
    """So many events over so many days."""

    seed: int
    events: int
    days: int
    zone: ZoneInfo = field(init=False)
    began: date = field(init=False)
    event_days: int | None = field(init=False)
    """How many days events can be found, where they leave at all."""

    def __post_init__(self) -> None:
        dice = random.Random(f"{self.seed}")
        for name, value in (
            ("zone", ZoneInfo(ZONES[self.seed % len(ZONES)])),
            ("began", date(2023, 1, 1) + timedelta(days=dice.randrange(700))),
            ("event_days", dice.randrange(20, 90) if self.seed % 2 else None),
        ):
            object.__setattr__(self, name, value)

    @property
    def settings(self) -> dict[str, Any]:
        """The settings that this life is lived by."""
        kept: dict[str, Any] = {f"{level}_retention_days": self.keeps(days) for level, days in RETENTION.items()}
        if self.event_days is not None:
            kept["event_retention_days"] = self.keeps(self.event_days)
        return {"lifecycle": {"time_zone": self.zone.key, "vector": kept, "bm25": kept}}

    def keeps(self, days: int) -> int:
        """How many days something can be found that can be for so many in a year; in a short life all ages faster."""
        return max(days * min(self.days, YEAR) // YEAR, 1)

    def at(self, number: int, hour: float) -> datetime:
        """That hour of a day by the clocks there."""
        day = datetime.combine(self.began + timedelta(days=number), time(), self.zone)
        return (day + timedelta(hours=hour)).astimezone(UTC)

    def __iter__(self) -> Iterator[Day]:
        canaries = self._canaries()
        quiet = set() if self.event_days is None else set(canaries)  # so that what tells the day tells its canary
        weights = [0.0 if number in quiet else self._weight(number) for number in range(self.days)]
        shares = [0, *(round(self.events * one / sum(weights)) for one in accumulate(weights))]
        secrets: list[tuple[int, str]] = []
        for number, (before, after) in enumerate(pairwise(shares)):
            day = self._day(number, after - before, canaries.get(number), secrets)
            secrets = [(when, word) for when, word in secrets if when > number]
            yield day

    def _weight(self, number: int) -> float:
        return WEEKEND if self._date(number).weekday() > 4 else 1.0

    def _date(self, number: int) -> date:
        return self.began + timedelta(days=number)

    def _canaries(self) -> dict[int, str]:
        """On which day of each month its word is told."""
        dice = random.Random(f"{self.seed} canaries")
        months: dict[tuple[int, int], list[int]] = {}
        for number in range(self.days):
            there = self._date(number)
            months.setdefault((there.year, there.month), []).append(number)
        return {dice.choice(days): f"{CANARY}{_word(dice)}" for days in months.values()}

    def _day(self, number: int, count: int, canary: str | None, secrets: list[tuple[int, str]]) -> Day:
        dice = random.Random(f"{self.seed}/{number}")
        told = list(self._sessions(number, count, dice))
        if canary is not None:
            told.append(Told(PEOPLE[0], [self._turn(number, 12.0, f"the word of the month is {canary}", "canary")]))
        if dice.random() < 0.1:
            word = f"{SECRET}{_word(dice)}"
            secrets.append((number + dice.randrange(1, 60), word))
            told.append(Told(PEOPLE[0], [self._turn(number, 13.0, f"the hiding place is called {word}", "secret")]))
        if number > 3 and dice.random() < 0.15:  # somebody was offline, and tells it days later
            late = number - dice.randrange(1, min(number, 45))
            told.append(Told(PEOPLE[0], [self._turn(late, 15.0 + dice.random(), _said(dice), f"late{number}")]))
        if told and dice.random() < 0.2:
            told.append(dice.choice(told))
        erased = [word for when, word in secrets if when == number]
        return Day(
            number=number,
            date=self._date(number),
            told=told,
            wishes=[
                Wish(act, dice.choice(("event", "event", "segment", "grip", "day", "week")), dice.random())
                for act, share in ACTS.items()
                if dice.random() < share
            ],
            notes=[(PEOPLE[0], f"{_name(number // 3)} {NOTES[number % 3]}")] if number % 2 else [],
            erased=erased,
            canary=canary,
            kills=[dice.random() for _ in range(2) if dice.random() < 0.12],
            goes_back=timedelta(days=dice.randrange(1, 9)) if dice.random() < 0.05 else timedelta(),
            together=dice.random() < 0.2,
            undoes=dice.random() < 0.03,
        )

    def _sessions(self, number: int, count: int, dice: random.Random) -> Iterator[Told]:
        """All that is said on a day, in sessions of different length."""
        place = 0
        while count > 0:
            size = min(count, dice.choice((1, 2, 5, 10, 20, 40)))
            hour, turns = dice.uniform(6.0, 20.0), list[dict[str, Any]]()
            for turn in range(size):
                text = dice.choice(HABITS) if dice.random() < 0.1 else _said(dice)
                turns.append(self._turn(number, min(hour, 23.5), text, f"d{number}s{place}", turn))
                hour += (PAUSE.total_seconds() if dice.random() < 0.03 else dice.uniform(5.0, 120.0)) / 3600
            yield Told(dice.choices(PEOPLE, SHARES)[0], turns)
            count, place = count - size, place + 1

    def _turn(self, number: int, hour: float, text: str, session: str, turn: int = 0) -> dict[str, Any]:
        role = "assistant" if turn % 2 else "user"
        return {"text": text, "at": self.at(number, hour), "session": session, "role": role}


def _said(dice: random.Random) -> str:
    return f"{dice.choice(PROJECTS)} {dice.choice(DONE)} {dice.choice(WHEN)}, number {dice.randrange(10_000)}"


def _word(dice: random.Random) -> str:
    """Letters that make no other word."""
    return "".join(dice.choice("bdfgkmprtvz") + dice.choice("aiou") for _ in range(5)) + "k"


def _name(number: int) -> str:
    return _word(random.Random(number)).capitalize()
