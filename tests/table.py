"""A table of cases as one test that lists every case that fails."""

from collections.abc import Callable, Iterable
from typing import TypeVar

Case = TypeVar("Case")


def check_each(cases: Iterable[Case], check: Callable[[Case], None]) -> None:
    """Check every case, then raise the failures of all of them together."""
    failures: list[Exception] = []
    for case in cases:
        try:
            check(case)
        except Exception as error:
            error.add_note(f"in the case {case!r}")
            failures.append(error)
    if failures:
        raise ExceptionGroup("cases that fail", failures)
