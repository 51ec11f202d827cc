"""A profile with a bit of everything, so that no test of how profiles work depends on the numbers of a built-in one."""

from datetime import timedelta

from recollect.ranking.profile import Factor, Gate, Profile, QuestionPolicy, Term
from recollect.ranking.quantities import AgeClock
from recollect.ranking.signals import Importance, Newest, Recency, Relevance, Usefulness

SAMPLE = Profile(
    name="sample",
    version="1",
    about="Relevance leads, freshness and worth follow, and a newer twin wins.",
    terms=(
        Term(Relevance(), 0.81, 0.0),
        Term(Recency(AgeClock.CURRENT, timedelta(days=14)), 0.09, 0.5),
        Term(Importance(), 0.06, 0.5),
        Term(Usefulness(), 0.04, 0.5),
    ),
    factors=(Factor(Newest(), 0.9, 1.0),),
    gates=(Gate(Relevance(), 0.15),),
    question=QuestionPolicy.NEEDED,
)
