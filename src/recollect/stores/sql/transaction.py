"""Transactions of a SQL database that run statements by name.

Every dialect keeps its SQL in files (`load_statements`) under the same statement names. `TransactionRunner` is for work
that belongs to no scope.
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
"""Sorts after every path, because it is not a character."""


class Transaction(Protocol):
    """A transaction; each dialect has statements with the same names, parameters and columns."""

    @property
    def realm(self) -> str:
        """The unit in which commits are numbered: the current scope's root, or the whole store.

        The current scope is the one entered last. Which of the two applies depends on the dialect.
        """
        ...

    def enter_scope(self, scope: Scope, *, wide: bool = False) -> None:
        """Make this the current scope: later statements see it and its ancestors, and commit there.

        With `wide`, they see all scopes of its realm.
        """
        ...

    def fetch_all(self, statement: str, /, **params: object) -> list[Row]:
        """Return all rows of a statement."""
        ...

    def fetch_each(self, statement: str, /, **params: object) -> Iterator[Row]:
        """Iterate over the rows of a statement as they come, for large results."""
        ...

    def fetch_first(self, statement: str, /, **params: object) -> Row | None:
        """Return the first row of a statement, or None."""
        ...

    def fetch_one(self, statement: str, /, **params: object) -> Row:
        """Return the row of a statement that always has one."""
        ...

    def execute(self, statement: str, /, **params: object) -> None:
        """Run a statement without a result."""
        ...


def subtree_params(scope: Scope | None, *, below: bool) -> dict[str, str | None]:
    """Return the parameters that select one scope, a scope with all below it, or all scopes."""
    if scope is None:
        return {"path": None, "first": "", "beyond": _AFTER_ALL_PATHS}
    path = str(scope)
    return {"path": path, "first": f"{path}/", "beyond": f"{path}0" if below else f"{path}/"}  # "0" comes after "/"


def visible_params(scope: Scope, **params: object) -> dict[str, object]:
    """Return the parameters that select the memories a scope may see, plus the given ones."""
    return {"path": str(scope), "ancestors": json.dumps([str(one) for one in scope.ancestors]), **params}


_STATEMENT_NAME = re.compile(r"^-- name: (\w+)$", re.MULTILINE)


def load_statements(package: str, *names: str) -> Mapping[str, str]:
    """Read the SQL statements of these files of a package (default: `queries.sql`), by name."""
    texts = [files(package).joinpath(name).read_text(encoding="utf-8") for name in names or ("queries.sql",)]
    parts = [part for text in texts for part in _STATEMENT_NAME.split(text)[1:]]
    return {name: part.strip() for name, part in zip(parts[::2], parts[1::2], strict=True)}


T = TypeVar("T")


class TransactionRunner(Protocol):
    """A database that runs small transactions between those of other processes."""

    def read(self, read: Callable[[Transaction], T]) -> T:
        """Return what `read` returns in one transaction; `read` may be called more than once."""
        ...

    def write(self, change: Callable[[Transaction], T]) -> T:
        """Return what `change` returns in one transaction.

        `change` may run again after it was committed; the second run must find its work done.
        """
        ...

    def close(self) -> None:
        """Close the database."""
        ...


def read_current_encoder(db: Transaction) -> tuple[int, Encoder | None]:
    """Return the number and the model of the current vectors; (0, None) before the first vector."""
    row = db.fetch_first("present_encoder")
    return (0, None) if row is None else (int(row[0]), Encoder(row[1], row[2]))
