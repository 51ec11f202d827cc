"""Data files: the word lists, patterns and rules that the pure packages keep as TOML beside their code.

A module reads its file once, when it is imported. This is part of loading the code, as with the built-in profiles.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import Any, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class DataFile:
    """The contents of a TOML file. A key may be dotted: `time.months`."""

    name: str
    tables: Mapping[str, Any]

    def text(self, key: str) -> str:
        """Return a string, such as a pattern."""
        return self._get(key, str)

    def words(self, key: str) -> tuple[str, ...]:
        """Return the words of a string, split at white space."""
        return tuple(self.text(key).split())

    def lines(self, key: str) -> tuple[str, ...]:
        """Return the lines of a string, without blank lines and without white space around them."""
        return tuple(line.strip() for line in self.text(key).splitlines() if line.strip())

    def mapping(self, key: str) -> dict[str, str]:
        """Return a table whose values are strings, in the order of the file."""
        return dict(self._get(key, dict))

    def rows(self, key: str) -> tuple[Mapping[str, Any], ...]:
        """Return an array of tables."""
        return tuple(self._get(key, list))

    def _get(self, key: str, kind: type[T]) -> T:
        value: Any = self.tables
        for part in key.split("."):
            if not isinstance(value, Mapping) or part not in value:
                raise LookupError(f"{self.name} has no {key!r}")
            value = value[part]
        if not isinstance(value, kind):
            raise TypeError(f"{key!r} in {self.name} is not a {kind.__name__}")
        return value


def load_data_file(package: str, name: str) -> DataFile:
    """Read `name` (such as `en/lexicon.toml`) from the folder of a package, which is given by its dotted name."""
    return DataFile(name, tomllib.loads(files(package).joinpath(name).read_text(encoding="utf-8")))
