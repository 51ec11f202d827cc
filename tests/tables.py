"""Tests over a table: one test that tries every row and lists those that fail."""

import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

import pytest

Test = Callable[..., None]
Case = TypeVar("Case")
Ids = Callable[[Any], object] | Iterable[str] | None
Failure = (Exception, pytest.fail.Exception)


def table(names: str | Sequence[str], rows: Iterable[Any], ids: Ids = None) -> Callable[[Test], Test]:
    """Call the test once for each row, as `parametrize` does, but as one item that lists every failing row.

    All rows share the test's fixtures, so a test whose rows need a folder or a patch of their own takes
    `pytest.mark.parametrize`.
    """
    columns = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
    cases = [_values(row, len(columns)) for row in rows]
    if not cases:
        raise ValueError(f"table of {', '.join(columns)} has no rows; give at least one, or remove the test")
    label = _labeler(cases, ids)

    def decorate(test: Test) -> Test:
        def try_every_row(*own: Any, **fixtures: Any) -> None:
            def check(number: int) -> None:
                test(*own, **dict(zip(columns, cases[number], strict=True)), **fixtures)

            check_each(range(len(cases)), check, label=label)

        signature = inspect.signature(test)
        others = [parameter for name, parameter in signature.parameters.items() if name not in columns]
        try_every_row.__signature__ = signature.replace(parameters=others)  # type: ignore[attr-defined]
        for name in ("__name__", "__qualname__", "__module__", "__doc__"):
            setattr(try_every_row, name, getattr(test, name))
        try_every_row.pytestmark = getattr(test, "pytestmark", [])  # type: ignore[attr-defined]
        return try_every_row

    return decorate


def check_each(cases: Iterable[Case], check: Callable[[Case], None], *, label: Callable[[Case], str] = repr) -> None:
    """Check every case, then raise the failures of all of them together.

    To skip is a failure too: it would leave out the cases behind.
    """

    def check_without_skip(case: Case) -> None:
        try:
            check(case)
        except pytest.skip.Exception as skip:
            raise RuntimeError(f"row skips the test ({skip}); remove the row, or use pytest.mark.parametrize") from skip

    failures: list[BaseException] = []
    for case in cases:
        try:
            check_without_skip(case)
        except Failure as failure:
            failure.add_note(f"row: {label(case)}")
            failures.append(failure)
    if len(failures) == 1:
        raise failures[0]
    if failures:
        raise BaseExceptionGroup(f"{len(failures)} rows failed", failures)


def _values(row: Any, width: int) -> tuple[Any, ...]:
    if isinstance(row, type(pytest.param())):
        return tuple(row.values)
    return (row,) if width == 1 else tuple(row)


def _labeler(cases: Sequence[tuple[Any, ...]], ids: Ids) -> Callable[[int], str]:
    """Return what names a row by its number."""
    if ids is None:
        return lambda number: "-".join(map(_short, cases[number]))
    if callable(ids):
        return lambda number: "-".join(str(ids(value)) for value in cases[number])
    return list(ids).__getitem__


def _short(value: object) -> str:
    try:
        return repr(value)[:200]
    except ValueError:  # an integer too long to print
        return f"a long {type(value).__name__}"
