"""Origin: where the value of a setting comes from."""

from dataclasses import dataclass

from recollect.model.format import printable


@dataclass(frozen=True, slots=True)
class Default:
    """Nobody said anything."""

    def __str__(self) -> str:
        return "default"


@dataclass(frozen=True, slots=True)
class InFile:
    """A file, by the path that it was named with, and the line where that is known."""

    path: str
    line: int | None = None

    def __str__(self) -> str:
        return printable(self.path) + ("" if self.line is None else f", line {self.line}")


@dataclass(frozen=True, slots=True)
class InEnvironment:
    """A variable of the environment."""

    variable: str

    def __str__(self) -> str:
        return self.variable


@dataclass(frozen=True, slots=True)
class Flag:
    """An option of the command line."""

    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class Given:
    """Whoever called."""

    def __str__(self) -> str:
        return "given"


Origin = Default | InFile | InEnvironment | Flag | Given
