"""Words: what was said of memories that were shown, and how much of it counts."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from recollect.model.memory import MemoryId
from recollect.model.training_example import TrainingExample
from recollect.model.usage import Use, Vote, select_counted_votes

WORTH_BY_USE: Mapping[Use, float] = {Use.HELPED: 1.0, Use.MISLED: -1.0, Use.QUOTED: 0.5}
"""What one word is worth: a sign speaks less clearly than somebody who says so.

That success followed is said of all that a context shows alike, so it says nothing of which should come first.
"""

MAX_VOTES_PER_VOICE = 100
"""What one voice said in more words than this, and than some other did, counts for as many, each for less."""


@dataclass(frozen=True, slots=True)
class WeighedVotes:
    """What all words on a memory in a context are worth together, for it or, below zero, against it; how many there are
    of each use, and how many principals voted.
    """

    worth_by_memory: Mapping[tuple[str, MemoryId], float]
    count_by_use: Mapping[Use, int]
    principals: int


def weigh_votes(experiences: Sequence[TrainingExample]) -> WeighedVotes:
    """What counts of all that was said of what these contexts show.

    Of one voice the newest few words on a memory count, as for its usefulness. All that it said counts for no more than
    a hundred words, in however many contexts, so that it does not drown all others. Principals are voices, and so are
    the signs of a scope; but however many signs there are, no vote counts for less.
    """
    votes = select_counted_votes(_sort_votes(vote for one in experiences for vote in _shown_votes(one)))
    signs = select_counted_votes(_sort_votes(sign for one in experiences for sign in _quoted_signs(one)))
    principals, others = (Counter(word.by for word in words) for words in (votes, signs))
    everyone = [*principals.values(), *others.values()]
    said: dict[tuple[str, MemoryId], float] = {}
    for words, shares in (
        (votes, _vote_weights(principals, [*principals.values()])),
        (signs, _vote_weights(others, everyone)),
    ):
        for word in words:
            at = (word.context, word.memory)
            said[at] = said.get(at, 0.0) + WORTH_BY_USE[word.use] * shares[word.by]
    return WeighedVotes(said, Counter(word.use for word in (*votes, *signs)), len(principals))


def _sort_votes(words: Iterable[Vote]) -> list[Vote]:
    """The words, the oldest first, ties by context; an experience has its votes in no order of their own."""
    return sorted(words, key=lambda word: (word.at, word.context))


def _vote_weights(voices: Mapping[str, int], beside: Sequence[int]) -> dict[str, float]:
    """What one word of each voice counts for, beside voices of so many words: where all are loud, all of it does."""
    most = max(MAX_VOTES_PER_VOICE, min(beside, default=0))
    return {voice: min(1.0, most / words) for voice, words in voices.items()}


def _shown_votes(one: TrainingExample) -> Iterator[Vote]:
    """The votes on what was shown and is a candidate."""
    shown = {showing.memory for showing in one.shown}
    return (vote for vote in one.votes if vote.memory in shown)


def _quoted_signs(one: TrainingExample) -> Iterator[Vote]:
    """A word for each memory that was shown, quoted, and voted on by nobody; all of a scope are of one voice."""
    quoted = {sign.memory for sign in one.signs if sign.use is Use.QUOTED}
    voted = {vote.memory for vote in one.votes}
    for memory in sorted(({showing.memory for showing in one.shown} & quoted) - voted):
        yield Vote(context=one.context, memory=memory, by=f"quoted {one.scope}", use=Use.QUOTED, at=one.made_at)
