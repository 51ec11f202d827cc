"""Tests over a table: one test that tries every row and lists those that fail."""

import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

import pytest

Test = Callable[..., None]
Case = TypeVar("Case")
Ids = Callable[[Any], object] | Iterable[str] | None
Failure = (Exception, pytest.fail.Exception)


def table(
    names: str | Sequence[str], rows: Iterable[Any], ids: Callable[[Any], object] | Iterable[str] | None = None
) -> Callable[[Test], Test]:
    """Call the test once for each row, as `parametrize` does, but as one item that lists every failing row.

    All rows share the test's fixtures, so a test whose rows need a folder or a patch of their own takes
    `pytest.mark.parametrize`.
    """
    columns = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
    cases = [_values(row, len(columns)) for row in rows]
    labels = ids if ids is None or callable(ids) else list(ids)

    def decorate(test: Test) -> Test:
        def try_every_row(*own: Any, **fixtures: Any) -> None:
            def check(number: int) -> None:
                test(*own, **dict(zip(columns, cases[number], strict=True)), **fixtures)

            check_each(range(len(cases)), check, label=lambda number: _label(number, cases[number], labels))

        signature = inspect.signature(test)
        others = [parameter for name, parameter in signature.parameters.items() if name not in columns]
        try_every_row.__signature__ = signature.replace(parameters=others)  # type: ignore[attr-defined]
        for name in ("__name__", "__qualname__", "__module__", "__doc__"):
            setattr(try_every_row, name, getattr(test, name))
        try_every_row.pytestmark = getattr(test, "pytestmark", [])  # type: ignore[attr-defined]
        return try_every_row

    return decorate


def check_each(cases: Iterable[Case], check: Callable[[Case], None], *, label: Callable[[Case], str] = repr) -> None:
    """Check every case, then raise the failures of all of them together."""
    failures: list[BaseException] = []
    for case in cases:
        try:
            check(case)
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


def _label(number: int, case: tuple[Any, ...], ids: Ids) -> str:
    if callable(ids):
        return "-".join(str(ids(value)) for value in case)
    if ids is not None:
        return str(list(ids)[number])
    return "-".join(map(_short, case))


def _short(value: object) -> str:
    try:
        return repr(value)[:200]
    except ValueError:  # an integer too long to print
        return f"a long {type(value).__name__}"
