"""Metrics: how good a ranking is beside the judgements."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

DEPTH = 10


@dataclass(frozen=True, slots=True)
class Quality:
    """Means over all judged questions: how much of what answers is among the first ten, and how far up."""

    recall: float
    ndcg: float
    questions: int


def recall(found: Sequence[str], grades: Mapping[str, int], depth: int = DEPTH) -> float:
    """The share of the answering memories that are among the first."""
    return len(set(found[:depth]) & set(grades)) / len(grades)


def ndcg(found: Sequence[str], grades: Mapping[str, int], depth: int = DEPTH) -> float:
    """The gain of the first, discounted by place, beside that of the best order there is."""
    gains = (grades.get(id, 0) for id in found[:depth])
    return _gain(gains) / _gain(sorted(grades.values(), reverse=True)[:depth])


def quality(found: Mapping[str, Sequence[str]], judged: Mapping[str, Mapping[str, int]]) -> Quality:
    """The means over every judged question; one without an answer counts as nothing found."""
    answers = [(found.get(id, ()), grades) for id, grades in judged.items() if grades]
    if not answers:
        raise ValueError("no question is judged; a folder of judgements has a qrels.tsv with a line for each answer")
    return Quality(
        sum(recall(*answer) for answer in answers) / len(answers),
        sum(ndcg(*answer) for answer in answers) / len(answers),
        len(answers),
    )


def _gain(grades: Iterable[int]) -> float:
    return sum(grade / math.log2(place + 2) for place, grade in enumerate(grades))
