"""A test bench: judgements in a store, and what a profile finds of them, category by category."""

import statistics
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from recollect import factory
from recollect.evaluation import runner
from recollect.evaluation.judgments import Judgments, read_judgments
from recollect.evaluation.report import QueryAnswer
from recollect.evaluation.runner import JudgmentStore, load_judgment_store
from recollect.protocols import ignore_progress
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

    stored: JudgmentStore

    @property
    def judgements(self) -> Judgments:
        return self.stored.judgments

    def answers(self, profile: Profile, categories: Collection[str] = ()) -> list[QueryAnswer]:
        """What the profile answers, to all queries or only to those of the categories named."""
        queries = [query for query in self.judgements.queries if not categories or query.category in categories]
        asked = replace(self.judgements, queries=tuple(queries))
        with self.stored.open_engine() as engine:  # at the end of all queries, also of those that are not asked
            return runner.ask_queries(
                engine, asked, self.stored.loaded, profile, depth=K, report_progress=ignore_progress
            )

    def figures(self, profile: Profile, categories: Collection[str] = ()) -> Figures:
        """What the profile comes to, in all categories and together, or only in those named."""
        found: dict[str, list[Mapping[str, float]]] = {}
        for answer in self.answers(profile, categories):
            measured = answer.measure((K,))
            for category in [answer.query.category] if categories else [WHOLE, answer.query.category]:
                found.setdefault(category, []).append(measured)
        return {
            category: {name: statistics.fmean(one[name] for one in each) for name in MEASURES}
            for category, each in sorted(found.items())
        }


@contextmanager
def bench(folder: Path = JUDGEMENTS, embedder: str = EMBEDDER) -> Iterator[Bench]:
    """The judgements of a folder in a store that is gone afterwards."""
    with TemporaryDirectory(prefix="recollect-gate-") as place:
        opens = partial(factory.open, Path(place) / "judged.db", embedder=embedder)
        yield Bench(load_judgment_store(read_judgments(folder), opens))
