"""What the commands on judgements share: where the memories of their folders are kept meanwhile, or for longer."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import click

from recollect import factory
from recollect.cli import output
from recollect.cli.options import F
from recollect.cli.target import StoreTarget
from recollect.errors import InvalidInput, show
from recollect.model.validation import IN_MEMORY_TARGET


def store_option(metavar: str, keeps: str, example: str) -> Callable[[F], F]:
    """The option that keeps memories; refused if it names nothing, or what is on no disk."""

    def named(_: click.Context, __: click.Parameter, value: str | None) -> str | None:
        if value is not None and not value:
            raise InvalidInput(f"--store is empty; name a {metavar.lower()}, as --store {example}")
        if value is not None and factory.is_database(value):
            raise InvalidInput(f"--store is for a {metavar.lower()} here, not for a database; name one, as {example}")
        if value is not None:
            factory.refuse_url(value)
        return value

    told = f"{keeps}, and find them there the next time; {IN_MEMORY_TARGET} keeps nothing, as without it."
    return click.option("--store", metavar=metavar, callback=named, help=told)


def warn_db_unused(place: StoreTarget, store: str | None, instead: str) -> None:
    """Say that `--db` is of no use here, and what is instead; to be called at once, for loading may take long."""
    if place.is_explicit and store is None:
        output.print_note(f"--db is not used here: --store {instead}")


@contextmanager
def open_store_file(store: str | None) -> Iterator[str]:
    """The file in which memories are kept: the one that is named, or one that is gone afterwards."""
    if store is not None and store != IN_MEMORY_TARGET:
        yield store
        return
    with _temporary_folder() as folder:
        yield str(folder / "judged.db")


@contextmanager
def open_store_folder(store: str | None) -> Iterator[Path]:
    """The folder in which memories are kept, made if it is not there: the one that is named, or one that goes again."""
    if store is None or store == IN_MEMORY_TARGET:
        with _temporary_folder() as folder:
            yield folder
        return
    try:
        Path(store).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidInput(f"{show(store)} is no folder and cannot be made one: {error.strerror}") from error
    yield Path(store)


@contextmanager
def _temporary_folder() -> Iterator[Path]:
    with TemporaryDirectory(prefix="recollect-judged-") as folder:
        yield Path(folder)
