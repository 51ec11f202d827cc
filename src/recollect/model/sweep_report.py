"""Sweeping: what was written anew, so that no file has what was erased."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepReport:
    """The tables that were written anew, how many bytes they took `before` and take `after`, and of how many erasures
    there is nothing in their files any more.
    """

    tables: tuple[str, ...] = ()
    before: int = 0
    after: int = 0
    erasures: int = 0

    def __add__(self, other: "SweepReport") -> "SweepReport":
        return SweepReport(
            tables=(*self.tables, *(one for one in other.tables if one not in self.tables)),
            before=self.before + other.before,
            after=self.after + other.after,
            erasures=self.erasures + other.erasures,
        )
