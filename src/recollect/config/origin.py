"""Origin: where the value of a setting comes from."""

from dataclasses import dataclass

from recollect.model.format import make_printable


@dataclass(frozen=True, slots=True)
class DefaultOrigin:
    """Nobody said anything."""

    def __str__(self) -> str:
        return "default"


@dataclass(frozen=True, slots=True)
class FileOrigin:
    """A file, by the path that it was named with, and the line where that is known."""

    path: str
    line: int | None = None

    def __str__(self) -> str:
        return make_printable(self.path) + ("" if self.line is None else f", line {self.line}")


@dataclass(frozen=True, slots=True)
class EnvironmentOrigin:
    """A variable of the environment."""

    variable: str

    def __str__(self) -> str:
        return self.variable


@dataclass(frozen=True, slots=True)
class FlagOrigin:
    """An option of the command line."""

    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class ArgumentOrigin:
    """Whoever called."""

    def __str__(self) -> str:
        return "given"


Origin = DefaultOrigin | FileOrigin | EnvironmentOrigin | FlagOrigin | ArgumentOrigin
