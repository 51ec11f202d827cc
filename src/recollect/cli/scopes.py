"""Scopes: something that is done to each of several scopes, of which one may fail without stopping the others."""

from collections.abc import Callable
from typing import TypeVar

from recollect.cli import output
from recollect.cli.progress import ReportProgress, progress_bar
from recollect.cli.target import StoreTarget
from recollect.engine.engine import Engine
from recollect.errors import RecollectError
from recollect.model.scope import Scope

T = TypeVar("T")


def run_for_each_scope(
    place: StoreTarget, scope: Scope | None, label: str, do: Callable[[Engine, Scope, ReportProgress], T]
) -> tuple[list[T], RecollectError | None]:
    """What came of it for this scope and those below it, or for all of the store; and what first went wrong."""
    done, failed = list[T](), list[RecollectError]()
    with place.open_existing() as engine:
        for one in engine.scopes(scope=scope):
            try:
                with progress_bar(f"{label} {one}") as show:
                    done.append(do(engine, one, show))
            except RecollectError as error:  # which is no reason to leave the others
                output.print_note(f"{one}: {error}")
                failed.append(error)
    return done, next(iter(failed), None)
