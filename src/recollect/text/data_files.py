"""Data files: the word lists, patterns and rules that the pure packages keep as TOML beside their code.

A module reads its file once, when it is imported. This is part of loading the code, as with the built-in profiles.

A pattern may name fragments of the same file: `{weekday}` stands for the pattern `patterns.weekday`, or for any of the
comma-separated words in `lists.weekday`. Quantifiers such as `{2,3}` are left alone.

Words that the lexicon has are not repeated: a row of the table `lexicon` gives them a name in this file. Its `words`
are the keys of one or more lists of the lexicon, and `first` and `last` limit them to a part:
`units = { words = "numbers.small", first = "one", last = "nine" }`. Then `{units}` stands for any of them.
"""

import re
import tomllib
from collections.abc import Mapping
from importlib.resources import files
from typing import Any, TypeVar

T = TypeVar("T")

_FRAGMENT = re.compile(r"\{([a-z][a-z_]*)\}")


def alternation(words: str) -> str:
    """Return a pattern for any of the comma-separated words or patterns.

    A list may be broken across lines between words or after a bar.
    """
    return f"(?:{'|'.join(' '.join(word.split()).replace('| ', '|') for word in words.split(','))})"


class DataFile:
    """The contents of a TOML file. A key may be dotted: `time.months`."""

    def __init__(self, name: str, tables: Mapping[str, Any], lexicon: "DataFile | None" = None) -> None:
        self.name = name
        self._tables = tables
        self._lexicon = lexicon
        self._fragments: dict[str, str] = {}

    def text(self, key: str) -> str:
        """Return a string."""
        return self._get(key, str)

    def pattern(self, key: str) -> str:
        """Return a pattern with its fragments filled in."""
        return self.expand(self.text(key))

    def expand(self, pattern: str) -> str:
        """Fill in the fragments of a pattern that stands in a row of this file."""
        return _FRAGMENT.sub(lambda found: self._fragment(found[1]), pattern)

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

    def lexicon_words(self, name: str) -> tuple[str, ...]:
        """Return the lexicon words that this file calls `name`."""
        if self._lexicon is None:
            raise LookupError(f"{self.name} is loaded without the lexicon; pass `lexicon` to load_data_file")
        row = self._get(f"lexicon.{name}", dict)
        words = tuple(word for key in row["words"].split() for word in self._lexicon.words(key))
        start = words.index(row["first"]) if "first" in row else 0
        end = words.index(row["last"]) + 1 if "last" in row else len(words)
        return words[start:end]

    def _fragment(self, name: str) -> str:
        if name not in self._fragments:
            if name in self._tables.get("lists", {}):
                self._fragments[name] = alternation(self.pattern(f"lists.{name}"))
            elif name in self._tables.get("lexicon", {}):
                longest_first = sorted(self.lexicon_words(name), key=len, reverse=True)  # "sept" before "sep"
                self._fragments[name] = f"(?:{'|'.join(map(re.escape, longest_first))})"
            else:
                self._fragments[name] = self.pattern(f"patterns.{name}")
        return self._fragments[name]

    def _get(self, key: str, kind: type[T]) -> T:
        value: Any = self._tables
        for part in key.split("."):
            if not isinstance(value, Mapping) or part not in value:
                raise LookupError(f"{self.name} has no {key!r}")
            value = value[part]
        if not isinstance(value, kind):
            raise TypeError(f"{key!r} in {self.name} is not a {kind.__name__}")
        return value


def load_data_file(package: str, name: str, lexicon: DataFile | None = None) -> DataFile:
    """Read `name` (such as `en/dates.toml`) from the folder of a package, which is given by its dotted name.

    `lexicon` is needed if the file refers to its words.
    """
    return DataFile(name, tomllib.loads(files(package).joinpath(name).read_text(encoding="utf-8")), lexicon)
