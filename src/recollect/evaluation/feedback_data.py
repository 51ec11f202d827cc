"""Shown: recorded contexts as material, where a ranking is worth what the memories that helped gain by their places."""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from recollect.evaluation.features import Rivals
from recollect.evaluation.position_bias import Places, fit_places
from recollect.evaluation.training_set import Numbers, Source, scores, varied
from recollect.evaluation.votes import Words
from recollect.model.table import Floats, Rows
from recollect.model.training_example import Experience, Showing
from recollect.ranking.profile import Profile
from recollect.ranking.tuning_report_check import WORTH
from recollect.text.tokenizer import terms

NAME = "feedback"
"""What this material is called in a report."""

Heard = tuple[Showing, float]
"""A memory that was shown, and what was said of it is worth."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Shown:
    """The candidates of contexts, and of those that were shown what each counts for.

    There is a list of candidates, from one start to the next, for what speaks for memories of a context, and one for
    what speaks against some. In the first are all candidates: what helped should come before everything else, also
    before what nobody was shown. In the second are only those down to the last that somebody spoke of: that one misled
    says that others which were looked at should have come first, and nothing of those that nobody may have seen. So
    nothing is gained by showing what is unknown in place of what is known.

    `counts` is what each of the judged gains at the first place, and `queries` of which question it is; `groups` says
    which questions there are, by a key that has none of their words.
    """

    source: Source
    groups: tuple[str, ...]
    min_score: float
    opinions: Floats
    starts: Rows
    rivals: Rivals
    counts: Floats
    queries: Rows

    def measured(self, numbers: Numbers) -> dict[str, Floats]:
        """What every question gains by these numbers: on average 1 if all that helped is first and nothing misled."""
        said, judged = scores(self.opinions, numbers), self.rivals.judged
        gained = self.counts / np.log2(self.rivals.places(said) + 1.0)
        gained[said[judged] < self.min_score] = 0.0
        most = np.abs(self.counts).sum() / len(self.groups)
        return {WORTH: np.bincount(self.queries, gained, minlength=len(self.groups)) / most}

    def varied(self) -> list[bool]:
        """Whether each term, and then each factor, says different things of two candidates of any one context."""
        return varied(self.opinions, self.starts)


def find_places(experiences: Sequence[Experience], heard: Words) -> Places:
    """How steeply attention falls from place to place, by what was said of what these contexts show; those of which the
    places are not known say nothing of it.
    """
    placed = [one for one in experiences if one.placed]
    rows = [(number, one, showing) for number, one in enumerate(placed) for showing in one.shown]
    words = np.array([heard.said.get((one.context, showing.memory), 0.0) for _, one, showing in rows])
    return fit_places(
        np.array([number for number, *_ in rows], dtype=np.intp),
        np.array([showing.place for *_, showing in rows], dtype=np.intp),
        np.array([one.opinions[:, showing.candidate] for _, one, showing in rows], dtype=np.float64).T,
        np.abs(words),
    )


def shown(experiences: Sequence[Experience], heard: Words, places: Places, profile: Profile, *, seed: int) -> Shown:
    """The contexts as material for the profile; the seed decides in which folds their questions come to be."""
    numbers: dict[str, int] = {}
    opinions: list[Floats] = []
    counts: list[Floats] = []
    queries: list[int] = []
    for one in experiences:
        words = [(showing, heard.said.get((one.context, showing.memory))) for showing in one.shown]
        said = [(showing, worth) for showing, worth in words if worth is not None]
        for candidates, worth in _lists(one, said, places):
            opinions.append(one.opinions[:, candidates])
            counts.append(worth)
            queries.append(numbers.setdefault(_question(one, seed), len(numbers)))
    starts = np.cumsum([0, *(len(one) for one in counts)], dtype=np.intp)
    worth = np.concatenate([np.zeros(0), *counts])
    rivals = Rivals.of((worth != 0.0).astype(np.float64), starts)
    return Shown(
        source=_source(experiences, heard, len(numbers)),
        groups=tuple(numbers),
        min_score=profile.min_score,
        opinions=np.ascontiguousarray(np.hstack([np.zeros((len(profile.uses), 0)), *opinions])),
        starts=starts,
        rivals=rivals,
        counts=worth[rivals.judged],
        queries=np.array(queries, dtype=np.intp)[rivals.queries],
    )


def _lists(one: Experience, said: Sequence[Heard], places: Places) -> Iterator[tuple[Rows, Floats]]:
    """Which candidates what was said for memories of a context is about, and what was said against some, with what
    each of the candidates counts for; a list of which nothing was said is left out.
    """
    everyone = np.arange(one.opinions.shape[1])
    looked_at = _looked_at(one, said)
    counts = np.zeros(len(everyone))
    for showing, value in said:
        times = 1.0 if showing.place is None else places.times(np.array([showing.place])).item()
        counts[showing.candidate] = value * times
    for candidates, worth in ((everyone, np.maximum(counts, 0.0)), (looked_at, np.minimum(counts, 0.0)[looked_at])):
        if worth.any():
            yield candidates, worth


def _looked_at(one: Experience, said: Sequence[Heard]) -> Rows:
    """Who stands no further down than the last that somebody spoke of; where nobody knows places, who was spoken of."""
    last = max((showing.place or 0 for showing, _ in said), default=0)
    spoken_of = {showing.candidate for showing, _ in said}
    above = {showing.candidate for showing in one.shown if showing.place is not None and showing.place <= last}
    return np.array(sorted(spoken_of | above), dtype=np.intp)


def _question(one: Experience, seed: int) -> str:
    """A key that contexts have in common which were asked the same, whoever asked: by the terms of the question.

    Without a question, or a term in it, it is the day that they have in common.
    """
    asked = " ".join(terms("\n".join(one.question))) or f"{one.made_at.date()}"
    return hashlib.sha256(f"{seed}\n{asked}".encode("utf-8", "surrogatepass")).hexdigest()


def _source(experiences: Sequence[Experience], heard: Words, questions: int) -> Source:
    said = sorted((context, memory, worth) for (context, memory), worth in heard.said.items())
    spoken_of = {context for context, *_ in said}
    return Source(
        name=NAME,
        digest=hashlib.sha256(repr(said).encode()).hexdigest(),
        memories=len({memory for _, memory, _ in said}),
        queries=questions,
        judgements=len(said),
        scopes=len({one.scope for one in experiences if one.context in spoken_of}),
    )
