"""Stored: a folder of judgements in a store of its own, which can be asked any number of times."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from recollect.engine.engine import DEPTH, Engine
from recollect.evaluation import runner
from recollect.evaluation.figures import Answer
from recollect.evaluation.judgments import Judgements
from recollect.evaluation.loaded_folder import Loaded
from recollect.ranking.profile import Profile


class Opens(Protocol):
    """Opens the store of a folder, by the clock that it is given."""

    def __call__(self, *, clock: Callable[[], datetime]) -> AbstractContextManager[Engine]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """A folder that is loaded: what became of its memories, the model of their vectors, and how it is opened."""

    judgements: Judgements
    loaded: Loaded
    embedder: str
    opens: Opens

    @property
    def merged(self) -> int:
        """How many memories say what an earlier one of their topic does, which is kept in their place."""
        return self.loaded.merged

    @property
    def outside(self) -> int:
        """How many judged memories were written when it was asked, but are not the scope's to see or were not valid.

        What counts is the stored memory as it was then: what one of two twins shares or ends, the other does.
        """
        return sum(len(self.loaded.outside(query)) for query in self.judgements.queries)

    @contextmanager
    def opened(self) -> Iterator[Engine]:
        """The store at the end of all that the folder tells.

        An engine of its own for whoever asks: what one has embedded already would make the next one look faster.
        """
        ended_at = self.judgements.ended_at
        with self.opens(clock=lambda: ended_at) as engine:
            yield engine

    def ask(self, profile: Profile, *, depth: int = DEPTH, tell: runner.Tell = runner.unheard) -> list[Answer]:
        """What the profile answers to every query."""
        with self.opened() as engine:
            return runner.ask(engine, self.judgements, self.loaded, profile, depth=depth, tell=tell)


def store(judgements: Judgements, opens: Opens, tell: runner.Tell = runner.unheard) -> Stored:
    """Load the folder into its store, unless that has it already, and say what is there to be asked."""
    written_at = judgements.written_at
    # by a clock of the memories' own time, so that what is kept of loading them is never too old
    with opens(clock=lambda: written_at) as engine:
        loaded = runner.load(engine, judgements, tell)
        return Stored(judgements=judgements, loaded=loaded, embedder=engine.embedder, opens=opens)
