"""SqliteSession: a transaction of a SQLite file, asked by the names of statements."""

from collections.abc import Iterator

import apsw

from recollect.model.scope import Scope
from recollect.stores.sql.transaction import Row
from recollect.stores.sqlite.sql import SQL, all_rows, one_row, the_row


class SqliteSession:
    """What a connection does inside its transaction; there is one realm, and statements say themselves whose it is."""

    realm = ""

    def __init__(self, db: apsw.Connection) -> None:
        self._db = db

    def enter(self, scope: Scope, *, wide: bool = False) -> None:
        """All scopes are at hand."""

    def all(self, statement: str, /, **given: object) -> list[Row]:
        return all_rows(self._db, statement, **given)

    def each(self, statement: str, /, **given: object) -> Iterator[Row]:
        return iter(self._db.execute(SQL[statement], given))

    def one(self, statement: str, /, **given: object) -> Row | None:
        return one_row(self._db, statement, **given)

    def the(self, statement: str, /, **given: object) -> Row:
        return the_row(self._db, statement, **given)

    def run(self, statement: str, /, **given: object) -> None:
        self._db.execute(SQL[statement], given)
