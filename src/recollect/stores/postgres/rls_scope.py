"""Reach: whose rows a transaction may see and touch, as it tells row-level security."""

from dataclasses import dataclass

from psycopg import sql

from recollect.model.scope import Scope

_RLS_SETTINGS = ("recollect.reach", "recollect.root", "recollect.paths")

_SET_SCOPE_NUMBERS = sql.SQL(
    "SELECT set_config('recollect.numbers', coalesce(array_agg(number)::text, '{{}}'), true)"
    " FROM scopes WHERE root = {root} AND path = ANY ({paths})"
)
"""Tells the policies the numbers of the scopes, as far as there are any yet."""


@dataclass(frozen=True, slots=True)
class RlsScope:
    """These scopes of a root, or all of the root if none is named, or everything if there is no root either."""

    root: str | None = None
    paths: tuple[str, ...] = ()

    @classmethod
    def of(cls, scope: Scope | None, *, wide: bool = False) -> "RlsScope":
        """A scope and its ancestors; all of its root if it is `wide`; everything if there is no scope."""
        if scope is None:
            return cls()
        paths = () if wide else tuple(str(one) for one in (scope, *scope.ancestors))
        return cls(scope.parts[0], paths)

    @property
    def settings_statement(self) -> sql.Composed:
        """The statement that says so, until the transaction ends."""
        how = "all" if self.root is None else "scopes" if self.paths else "root"
        values = (how, self.root or "", "\n".join(self.paths))
        return sql.SQL("SELECT {}").format(
            sql.SQL(", ").join(
                sql.SQL("set_config({}, {}, true)").format(sql.Literal(name), sql.Literal(value))
                for name, value in zip(_RLS_SETTINGS, values, strict=True)
            )
        )

    @property
    def numbers_statement(self) -> sql.Composable:
        """The statement that tells which scopes these are, after their root has been taken by who writes."""
        if not self.paths:
            return sql.SQL("SELECT")
        return _SET_SCOPE_NUMBERS.format(root=sql.Literal(self.root), paths=sql.Literal(list(self.paths)))

    @property
    def full_statement(self) -> sql.Composed:
        """Both statements."""
        return sql.SQL("{}; {}").format(self.settings_statement, self.numbers_statement)
