"""Stored: a folder of judgements in a store of its own, which can be asked any number of times."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from recollect.engine.engine import DEFAULT_DEPTH, Engine
from recollect.evaluation import runner
from recollect.evaluation.figures import QueryAnswer
from recollect.evaluation.judgments import Judgments
from recollect.evaluation.loaded_folder import LoadedFolder
from recollect.ranking.profile import Profile


class StoreOpener(Protocol):
    """Opens the store of a folder, by the clock that it is given."""

    def __call__(self, *, clock: Callable[[], datetime]) -> AbstractContextManager[Engine]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgmentStore:
    """A folder that is loaded: what became of its memories, the model of their vectors, and how it is opened."""

    judgments: Judgments
    loaded: LoadedFolder
    embedder: str
    open_store: StoreOpener

    @property
    def merged_count(self) -> int:
        """How many memories say what an earlier one of their topic does, which is kept in their place."""
        return self.loaded.merged_count

    @property
    def invisible_count(self) -> int:
        """How many judged memories were written when it was asked, but are not the scope's to see or were not valid.

        What counts is the stored memory as it was then: what one of two twins shares or ends, the other does.
        """
        return sum(len(self.loaded.find_invisible(query)) for query in self.judgments.queries)

    @contextmanager
    def open_engine(self) -> Iterator[Engine]:
        """The store at the end of all that the folder tells.

        An engine of its own for whoever asks: what one has embedded already would make the next one look faster.
        """
        ended_at = self.judgments.ended_at
        with self.open_store(clock=lambda: ended_at) as engine:
            yield engine

    def ask(
        self, profile: Profile, *, depth: int = DEFAULT_DEPTH, tell: runner.ProgressCallback = runner.ignore_progress
    ) -> list[QueryAnswer]:
        """What the profile answers to every query."""
        with self.open_engine() as engine:
            return runner.ask_queries(engine, self.judgments, self.loaded, profile, depth=depth, tell=tell)


def load_judgment_store(
    judgements: Judgments, opens: StoreOpener, tell: runner.ProgressCallback = runner.ignore_progress
) -> JudgmentStore:
    """Load the folder into its store, unless that has it already, and say what is there to be asked."""
    written_at = judgements.written_at
    # by a clock of the memories' own time, so that what is kept of loading them is never too old
    with opens(clock=lambda: written_at) as engine:
        loaded = runner.load_folder(engine, judgements, tell)
        return JudgmentStore(judgments=judgements, loaded=loaded, embedder=engine.embedder, open_store=opens)
