"""Session: one transaction of a database, asked by the names of statements that every dialect has.

Statements: SQL that lives in files, each piece under its name.

Transactions: what is seen or changed in one of all that a database has, for what belongs to no scope.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from importlib.resources import files
from typing import Any, Protocol, TypeVar

from recollect.model.encoder import Encoder
from recollect.model.scope import Scope

Row = tuple[Any, ...]

_AFTER_ALL_PATHS = chr(0x10FFFF)
"""What no path begins with, because it is no character."""


class Transaction(Protocol):
    """A transaction. Each dialect has its statements in files; their names, parameters and columns are the same."""

    @property
    def realm(self) -> str:
        """Within what commits are counted: the root of the scope that was entered last, or all that there is."""
        ...

    def enter_scope(self, scope: Scope, *, wide: bool = False) -> None:
        """Go on for that scope: what follows sees and touches what is its own or its ancestors', and commits there.

        If it is `wide`, all scopes of its realm, for what must be seen to wherever it is.
        """
        ...

    def fetch_all(self, statement: str, /, **given: object) -> list[Row]:
        """All rows of a statement."""
        ...

    def fetch_each(self, statement: str, /, **given: object) -> Iterator[Row]:
        """The rows of a statement as they come, for those that are many."""
        ...

    def fetch_first(self, statement: str, /, **given: object) -> Row | None:
        """The first row of a statement, if there is one."""
        ...

    def fetch_one(self, statement: str, /, **given: object) -> Row:
        """The row of a statement that always has one."""
        ...

    def execute(self, statement: str, /, **given: object) -> None:
        """Run a statement for what it does."""
        ...


def subtree_params(scope: Scope | None, *, below: bool) -> dict[str, str | None]:
    """The parameters that say which scopes a statement is about: one, with those below it if asked, or all."""
    if scope is None:
        return {"path": None, "first": "", "beyond": _AFTER_ALL_PATHS}
    path = str(scope)
    return {"path": path, "first": f"{path}/", "beyond": f"{path}0" if below else f"{path}/"}  # "0" comes after "/"


def visible_params(scope: Scope, **given: object) -> dict[str, object]:
    """The parameters that say whose memories may be seen, and others."""
    return {"path": str(scope), "ancestors": json.dumps([str(one) for one in scope.ancestors]), **given}


_STATEMENT_NAME = re.compile(r"^-- name: (\w+)$", re.MULTILINE)


def load_statements(package: str, *names: str) -> Mapping[str, str]:
    """The statements of a package's files of these names (`queries.sql`, if none is named), by name."""
    texts = [files(package).joinpath(name).read_text(encoding="utf-8") for name in names or ("queries.sql",)]
    pieces = [piece for text in texts for piece in _STATEMENT_NAME.split(text)[1:]]
    return {name: piece.strip() for name, piece in zip(pieces[::2], pieces[1::2], strict=True)}


T = TypeVar("T")


class TransactionRunner(Protocol):
    """A database, in small transactions between those of others."""

    def read(self, look: Callable[[Transaction], T]) -> T:
        """What is seen in one transaction; it may be looked more than once."""
        ...

    def write(self, change: Callable[[Transaction], T]) -> T:
        """What comes of a change; it may be made again, and must then find done what it did."""
        ...

    def close(self) -> None:
        """Let go of the database."""
        ...


def read_current_encoder(db: Transaction) -> tuple[int, Encoder | None]:
    """The model that the vectors come from, with its number; 0 and nothing before the first vector."""
    row = db.fetch_first("present_encoder")
    return (0, None) if row is None else (int(row[0]), Encoder(row[1], row[2]))
