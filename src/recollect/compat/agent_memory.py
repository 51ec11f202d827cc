"""The functions of a ranking and lifecycle proposal (seed 004), on the `salience` profile."""

from typing import Protocol, runtime_checkable

from recollect.admission.classify import compute_salience as salience_of
from recollect.compat import coercion
from recollect.errors import InvalidInput, show
from recollect.lifecycle import episodes
from recollect.model.candidate import Candidate
from recollect.model.enums import Kind
from recollect.model.memory import MemoryId
from recollect.ranking.explanation import Explanation
from recollect.ranking.profiles import builtin_profile
from recollect.ranking.scorer import explain

PROFILE = builtin_profile("salience")


@runtime_checkable
class HasValueScore(Protocol):
    """An episode with a value."""

    @property
    def value_score(self) -> float | None: ...


def calculate_salience(text: str, kind: Kind | str, is_pinned: bool) -> float:
    """Return the salience of a memory by its length in characters, kind, and pin."""
    if not isinstance(text, str):
        raise InvalidInput(f"text is {show(text)}; give a text")
    if kind not in tuple(Kind):
        raise InvalidInput(f"kind is {show(kind)}; known are {', '.join(Kind)}")
    return salience_of(text, Kind(kind), pinned=is_pinned)


def usage_penalty(access_count: int) -> float:
    """Return the factor on the score of a memory served that often; 1 if never."""
    explanation = _explain(1.0, 1.0, access_count)
    return next(scale.times for scale in explanation.scales if scale.factor == "rarity")


def rank_result(similarity: float, salience: float, access_count: int) -> float:
    """Return the similarity, raised by salience and lowered by usage."""
    return _explain(similarity, salience, access_count).score


def calculate_value(outcome_score: float) -> float:
    """Return how much an episode teaches: most if the task was neither easy nor hopeless."""
    return episodes.compute_value(coercion.to_fraction("outcome_score", outcome_score))


def should_retain(episode: float | HasValueScore) -> bool:
    """Return whether an episode, given as such or by its value, is worth keeping.

    An unfinished episode has no value yet and is kept. `calculate_value` never returns a value so low that this is
    false; see `recollect.lifecycle.episodes`.
    """
    if isinstance(episode, HasValueScore):
        return episode.value_score is None or should_retain(episode.value_score)
    return episodes.is_retained(coercion.to_fraction("value_score", episode))


def _explain(similarity: float, salience: float, access_count: int) -> Explanation:
    memory = Candidate(
        id=MemoryId("memory"),
        similarity=coercion.to_cosine("similarity", similarity),
        salience=coercion.to_fraction("salience", salience),
        served=coercion.to_count("access_count", access_count),
    )
    return explain(memory, PROFILE, at=coercion.datetime_or_now(None))
