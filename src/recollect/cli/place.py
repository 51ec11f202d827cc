"""Where the memories are that a command works on."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

import click

from recollect import config, wiring
from recollect.engine.engine import Engine
from recollect.errors import EmbedderMismatch, InvalidInput, NotFound
from recollect.model.encoder import Encoder
from recollect.model.limits import IN_MEMORY

DEFAULT = "recollect.db"
Open = Callable[[str], AbstractContextManager[Engine]]


@dataclass(frozen=True, slots=True)
class Place:
    """A store that is opened when a command needs it; `asked_for` if the user named it on the command line."""

    target: str
    asked_for: bool = False
    opened_by: Open = wiring.open

    def there(self) -> AbstractContextManager[Engine]:
        """The engine of a store that exists; a command that only looks makes none."""
        if not self.exists:
            raise NotFound(
                f"there is no store {self.target!r}; `recollect remember` makes one, "
                "or name yours with --db before the command"
            )
        return self.made()

    def made(self, encoder: Encoder | None = None) -> AbstractContextManager[Engine]:
        """The engine of the store, which is made if it is not there: with this model, if it is to be had here."""
        if not self.target:
            raise InvalidInput("--db is empty; name a file, as --db agent.db")
        found = config.configuration()
        named = found.settings.embedder is not None
        if encoder is not None and not named and wiring.can_embed(encoder):
            return wiring.open(self.target, embedder=encoder.name)
        try:
            return self.opened_by(self.target)
        except EmbedderMismatch as error:
            if not named:
                raise
            origin = found.origins["embedder"]
            remedy = "unset it" if isinstance(origin, config.InEnvironment) else "take it out"
            raise EmbedderMismatch(f"{error}; {origin} names one here: {remedy}") from error

    @property
    def exists(self) -> bool:
        """Whether there is anything to open; what cannot be looked at is left for opening to complain about."""
        if self.target == IN_MEMORY or "://" in self.target:
            return True
        try:
            return Path(self.target).exists()
        except OSError:
            return True


place = click.make_pass_decorator(Place)
"""Gives a command its place as the first argument."""
