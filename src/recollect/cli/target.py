"""Where the memories are that a command works on."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

import click

from recollect import config, factory
from recollect.diagnosis import postgres_catalog
from recollect.engine.engine import Engine
from recollect.errors import EmbedderMismatch, InvalidInput, NotFound
from recollect.model.encoder import Encoder
from recollect.model.validation import IN_MEMORY_TARGET

DEFAULT_TARGET = "recollect.db"
OpenEngine = Callable[[str], AbstractContextManager[Engine]]

SECRET_PARAMETERS = frozenset(
    {"password", "sslpassword", "oauth_client_secret", "scram_client_key", "scram_server_key"}
)
"""What an address may say behind its question mark and nobody else is to read."""


@dataclass(frozen=True, slots=True)
class StoreTarget:
    """A store that is opened when a command needs it; `is_explicit` if the user named it on the command line.

    `create_hint` is what makes one, for whoever has none.
    """

    target: str
    is_explicit: bool = False
    open_engine: OpenEngine = factory.open
    create_hint: str = "`recollect remember` or `recollect observe`"

    def open_existing(self) -> AbstractContextManager[Engine]:
        """The engine of a store that exists; a command that only looks makes none."""
        self.refuse_missing()
        return self.open_or_create()

    def refuse_missing(self) -> None:
        """Refuse a store that is not there."""
        if not self.exists:
            raise NotFound(
                f"there is no store {self.display_name!r}; {self.create_hint} makes one, "
                "or name yours with --db before the command"
            )

    def open_or_create(self, encoder: Encoder | None = None) -> AbstractContextManager[Engine]:
        """The engine of the store, which is made if it is not there: with this model, if it is to be had here."""
        if not self.target:
            raise InvalidInput("--db is empty; name a file, as --db agent.db")
        found = config.load_configuration()
        named = found.settings.embedder is not None
        if encoder is not None and not named and factory.can_embed(encoder):
            return factory.open(self.target, embedder=encoder.name)
        try:
            return self.open_engine(self.target)
        except EmbedderMismatch as error:
            if not named:
                raise
            origin = found.origins["embedder"]
            remedy = "unset it" if isinstance(origin, config.EnvironmentOrigin) else "take it out"
            raise EmbedderMismatch(f"{error}; {origin} names one here: {remedy}") from error

    @property
    def is_database(self) -> bool:
        """Whether it is an address of PostgreSQL, rather than a file."""
        return factory.is_database(self.target)

    @property
    def display_name(self) -> str:
        """What is told and typed for the store: an address without what is secret in it."""
        return strip_secrets(self.target) if self.is_database else self.target

    @property
    def full_name(self) -> str:
        """The same for whoever does not know from where it was named: a file by its whole path."""
        if self.is_database or self.target == IN_MEMORY_TARGET:
            return self.display_name
        return str(Path(self.target).absolute())

    @property
    def exists(self) -> bool:
        """Whether there is anything to open; what cannot be looked at is left for opening to complain about."""
        if self.is_database:
            return self._exists_in_database()
        if self.target == IN_MEMORY_TARGET or "://" in self.target:
            return True
        try:
            return Path(self.target).exists()
        except OSError:
            return True

    def _exists_in_database(self) -> bool:
        try:
            return postgres_catalog.has_store(self.target)
        except ImportError:
            return True


def expand_home(path: str) -> str:
    """The path, with the home of whoever runs this for a leading `~/`, which only a shell would have put there."""
    try:
        return str(Path(path).expanduser()) if path.startswith("~/") else path
    except RuntimeError:  # nobody knows whose home it would be
        return path


def strip_secrets(address: str) -> str:
    """The address as it may be read by others, and typed by whoever has the password elsewhere."""
    scheme, slashes, rest = address.partition("://")
    who, at, place = rest.partition("@")
    if at and "/" not in who:  # as PostgreSQL reads it: behind a slash, an @ is one like any other
        rest = f"{who.partition(':')[0]}@{place}"
    place, mark, options = rest.partition("?")
    kept = [one for one in options.split("&") if unquote(one.partition("=")[0]) not in SECRET_PARAMETERS]
    return f"{scheme}{slashes}{place}{mark if kept else ''}{'&'.join(kept)}"


pass_target = click.make_pass_decorator(StoreTarget)
"""Gives a command its place as the first argument."""
