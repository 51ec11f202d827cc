"""Statements: SQL that lives in files, each piece under its name."""

import re
from collections.abc import Mapping
from importlib.resources import files

_STATEMENT_NAME = re.compile(r"^-- name: (\w+)$", re.MULTILINE)


def load_statements(package: str, *names: str) -> Mapping[str, str]:
    """The statements of a package's files of these names (`queries.sql`, if none is named), by name."""
    texts = [files(package).joinpath(name).read_text(encoding="utf-8") for name in names or ("queries.sql",)]
    pieces = [piece for text in texts for piece in _STATEMENT_NAME.split(text)[1:]]
    return {name: piece.strip() for name, piece in zip(pieces[::2], pieces[1::2], strict=True)}
