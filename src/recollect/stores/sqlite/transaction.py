"""SqliteSession: a transaction of a SQLite file, asked by the names of statements."""

from collections.abc import Iterator

import apsw

from recollect.model.scope import Scope
from recollect.stores.sql.transaction import Row
from recollect.stores.sqlite.sql import SQL, fetch_all, fetch_first, fetch_one


class SqliteTransaction:
    """What a connection does inside its transaction; there is one realm, and statements say themselves whose it is."""

    realm = ""

    def __init__(self, db: apsw.Connection) -> None:
        self._db = db

    def enter_scope(self, scope: Scope, *, wide: bool = False) -> None:
        """All scopes are at hand."""

    def fetch_all(self, statement: str, /, **given: object) -> list[Row]:
        return fetch_all(self._db, statement, **given)

    def fetch_each(self, statement: str, /, **given: object) -> Iterator[Row]:
        return iter(self._db.execute(SQL[statement], given))

    def fetch_first(self, statement: str, /, **given: object) -> Row | None:
        return fetch_first(self._db, statement, **given)

    def fetch_one(self, statement: str, /, **given: object) -> Row:
        return fetch_one(self._db, statement, **given)

    def execute(self, statement: str, /, **given: object) -> None:
        self._db.execute(SQL[statement], given)
