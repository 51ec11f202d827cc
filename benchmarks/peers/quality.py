"""Quality: how good what a peer found is, by the measures that recollect evaluates itself with."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from recollect.evaluation.judgments import JudgedQuery
from recollect.evaluation.measures import ndcg, recall

DEPTH = 10


@dataclass(frozen=True, slots=True)
class Quality:
    """Means over all judged questions: how much of what answers is among the first ten, and how far up."""

    recall: float
    ndcg: float
    questions: int


def quality(found: Mapping[str, Sequence[str]], queries: Sequence[JudgedQuery]) -> Quality:
    """The means over every judged question; one without an answer counts as nothing found."""
    answers = [(found.get(query.id, ()), query.grades) for query in queries]
    return Quality(
        fmean(recall(ids, grades, DEPTH) for ids, grades in answers),
        fmean(ndcg(ids, grades, DEPTH) for ids, grades in answers),
        len(answers),
    )
