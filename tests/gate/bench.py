"""A test bench: judgements in a store, and what a profile finds of them, category by category."""

import statistics
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from recollect import wiring
from recollect.evaluation import trial
from recollect.evaluation.figures import Answer
from recollect.evaluation.judgements import Judgements, read_judgements
from recollect.evaluation.measures import scores
from recollect.ranking.profile import Profile

JUDGEMENTS = Path(__file__).parent / "judgements"
EMBEDDER = "wordllama"
"""The embedder that is there in every install."""

K = 10
MEASURES = (f"recall@{K}", f"ndcg@{K}")
WHOLE = "all"
"""The name of all categories together."""

Figures = Mapping[str, Mapping[str, float]]
"""The measures of every category, and of all together."""


@dataclass(frozen=True, slots=True)
class Bench:
    """A store that has the memories of some judgements."""

    store: Path
    embedder: str
    judgements: Judgements
    loaded: trial.Loaded

    def answers(self, profile: Profile, categories: Collection[str] = ()) -> list[Answer]:
        """What the profile answers, to all queries or only to those of the categories named."""
        queries = [query for query in self.judgements.queries if not categories or query.category in categories]
        asked, ended_at = replace(self.judgements, queries=tuple(queries)), self.judgements.ended_at
        # an engine of its own each time: what one has gathered once, it keeps
        with wiring.open(self.store, embedder=self.embedder, clock=lambda: ended_at) as engine:
            return trial.ask(engine, asked, self.loaded, profile, depth=K, tell=_unheard)

    def figures(self, profile: Profile, categories: Collection[str] = ()) -> Figures:
        """What the profile comes to, in all categories and together, or only in those named."""
        found: dict[str, list[Mapping[str, float]]] = {}
        for answer in self.answers(profile, categories):
            measured = scores(answer.found, answer.query.grades, (K,))
            for category in [answer.query.category] if categories else [WHOLE, answer.query.category]:
                found.setdefault(category, []).append(measured)
        return {
            category: {name: statistics.fmean(one[name] for one in each) for name in MEASURES}
            for category, each in sorted(found.items())
        }


@contextmanager
def bench(folder: Path = JUDGEMENTS, embedder: str = EMBEDDER) -> Iterator[Bench]:
    """The judgements of a folder in a store that is gone afterwards."""
    judgements = read_judgements(folder)
    written_at = judgements.written_at
    with TemporaryDirectory(prefix="recollect-gate-") as place:
        store = Path(place) / "judged.db"
        with wiring.open(store, embedder=embedder, clock=lambda: written_at) as engine:
            loaded = trial.load(engine, judgements, _unheard)
        yield Bench(store, embedder, judgements, loaded)


def _unheard(done: int, of: int) -> None:
    """Nobody is told how far it is."""
