"""An assistant's notes of several projects that go on side by side, and what is asked in the middle of them."""

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from synthetic import vocabulary as words
from synthetic.script import Ask, Dice, Line, Script, Session

PROJECTS = 5
ROUNDS = 5
"""How often each project is taken up."""

PAPERS = 8
"""Of how many sorts of papers somebody wants something, and how many want it."""
WANTED = 5


def work(scope: str, dice: Dice) -> Script:
    """The notes of one assistant's months."""
    diary = _Diary(dice, datetime(2025, 1, 6, 9, tzinfo=UTC) + timedelta(days=dice.below(60)))
    projects = dice.some(words.PROJECTS, PROJECTS)
    tasks = {project: dice.shuffled(words.TASKS) for project in projects}
    parts = {
        project: [Part(name, dice.pick(words.STANDINGS)) for name in dice.some(words.PARTS, 2)] for project in projects
    }
    for round in range(ROUNDS):
        for project in dice.shuffled(projects):
            diary.session(project, round, tasks[project][3 * round : 3 * round + 3], parts[project])
    diary.rules()
    diary.history()
    return Script(scope, diary.sessions, diary.asks)


Task = tuple[str, str]
"""What is to be done, and the same in other words."""


@dataclass(frozen=True, slots=True)
class Part:
    """What there is a figure of, and how firm it was called."""

    name: str
    standing: str


@dataclass(slots=True)
class _Diary:
    dice: Dice
    now: datetime
    sessions: list[Session] = field(default_factory=list[Session])
    asks: list[Ask] = field(default_factory=list[Ask])
    old: list[tuple[str, Task, Line]] = field(default_factory=list[tuple[str, Task, Line]])
    """What was to be done for which project, in the first rounds."""

    def session(self, project: str, round: int, tasks: list[Task], parts: list[Part]) -> None:
        """A project is taken up again: what is to be done now, and a figure that is stated or changed."""
        self.now += timedelta(days=self.dice.below(4) + 2, hours=self.dice.below(5))
        chores = [Line(f"For the {project}, {self.dice.pick(words.PEOPLE)} is to {task}.") for task, _ in tasks]
        lines = [*chores]
        if round < 2:
            self.old += [(project, task, line) for task, line in zip(tasks, chores, strict=True)]
            part = parts[round]
            lines.append(Line(f"The {part.standing} {part.name} of the {project} is {self.value(part.name)}."))
        if round in (2, 3):
            part = parts[round - 2]
            changed = Line(f"The {part.name} of the {project} is now {self.value(part.name)}.")
            lines.append(changed)
            asked = f"What is the {part.standing} {part.name} of the {project}?"
            self.asks.append(Ask("update", asked, [changed], self.now + timedelta(days=9)))
        if round in (2, 4):
            asked = f"Let us go on with the {project}. Who is to do what?"
            self.asks.append(Ask("thread", asked, chores, self.now + timedelta(days=1)))
        self.sessions.append(Session(self.now, self.dice.shuffled(lines)))

    def value(self, part: str) -> str:
        if part in ("budget", "ticket price", "insurance limit"):
            return self.dice.pick(words.AMOUNTS)
        if part in ("contact person", "supplier", "sponsor"):
            return self.dice.pick(words.PEOPLE)
        if part in ("deadline", "opening date", "delivery slot"):
            return f"{self.dice.below(28) + 1} {self.dice.pick(words.MONTHS)}"
        return f"{self.dice.below(30) + 3} people" if part == "team size" else self.dice.pick(words.PLACES)

    def history(self) -> None:
        """At the end, what was to be done long ago; others were to do the same later, for something else."""
        at = self.now + timedelta(days=3)
        for project, (task, others), line in self.dice.some(self.old, 10):
            wording = self.dice.pick((task, others))
            self.asks.append(Ask("history", f"Who was to {wording} for the {project}?", [line], at))

    def rules(self) -> None:
        """Noted in one moment, what several people want of the same papers; one of them matters."""
        self.now += timedelta(days=2)
        papers = self.dice.some(words.PAPERS, PAPERS)
        for matter in papers:
            people = self.dice.some(words.PEOPLE, WANTED)
            rules = self.dice.some(words.RULES, WANTED)
            weights = [0.95, 0.3, 0.2, 0.1, 0.05]
            lines = [
                Line(rule.format(who=who, matter=matter) + ".", importance=weight)
                for rule, who, weight in zip(rules, people, weights, strict=True)
            ]
            self.sessions.append(Session(self.now, self.dice.shuffled(lines), noted=True))
            asked = f"Who wants {matter}, and how?"
            self.asks.append(Ask("importance", asked, [lines[0]], self.now + timedelta(days=5)))
