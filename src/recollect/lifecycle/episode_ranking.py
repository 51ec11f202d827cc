"""Episodes: those of similar tasks by similarity × value, and what went wrong in them by similarity."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from recollect.model.episode import Episode, summarize_lessons
from recollect.model.format import format_count, shorten
from recollect.model.memory import MemoryId, content_hash
from recollect.ranking.explanation import Explanation, ScoreFactor, ScorePart


@dataclass(frozen=True, slots=True, kw_only=True)
class Similar:
    """An episode of a similar task, without its actions, and why it stands where it does."""

    episode: Episode
    explanation: Explanation

    def __repr__(self) -> str:
        taught = summarize_lessons(self.episode.lessons, self.episode.failure_modes)
        return f"<Similar {self.score:.3f} {shorten(self.episode.task)}{taught}>"

    @property
    def score(self) -> float:
        return self.explanation.score


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureMode:
    """What went wrong with similar tasks, in which of them, the most similar first, and why it stands where it does."""

    text: str
    episodes: tuple[MemoryId, ...]
    explanation: Explanation

    def __repr__(self) -> str:
        return f"<FailureMode {self.score:.3f} in {format_count(len(self.episodes), 'episode')}: {shorten(self.text)}>"

    @property
    def score(self) -> float:
        return self.explanation.score


def rank_similar(found: Iterable[tuple[Episode, float]], *, min_score: float) -> list[Similar]:
    """The finished ones of these episodes, each with how similar its task is, the best first; those that are not
    similar at all, or score less, are left out.
    """
    weighed = [
        Similar(episode=episode, explanation=_explain(similarity, episode.outcome.score, episode.value))
        for episode, similarity in found
        if episode.outcome is not None and episode.value is not None
    ]
    ranked = sorted(weighed, key=lambda one: (-one.score, one.episode.id))
    return [one for one in ranked if one.score > 0.0 and one.score >= min_score]


def rank_failure_modes(found: Iterable[tuple[Episode, float]], *, min_score: float) -> list[FailureMode]:
    """What went wrong in these, that of the most similar task first, however bad it was; what went wrong in several is
    told once, with all of them.
    """
    modes: dict[str, FailureMode] = {}
    for episode, similarity in sorted(found, key=lambda one: (-one[1], one[0].id)):
        for text in episode.failure_modes if similarity > 0.0 and similarity >= min_score else ():
            hash = content_hash(text.casefold())
            known = modes.get(hash) or FailureMode(
                text=text, episodes=(), explanation=Explanation((_similarity_part(similarity),))
            )
            modes[hash] = replace(known, episodes=tuple(dict.fromkeys((*known.episodes, episode.id))))
    return list(modes.values())


def _explain(similarity: float, outcome: float, value: float) -> Explanation:
    return Explanation(
        (_similarity_part(similarity),), (ScoreFactor("value", value, 0.0, note=f"outcome {outcome:g}"),)
    )


def _similarity_part(similarity: float) -> ScorePart:
    return ScorePart("similarity", min(max(similarity, 0.0), 1.0), 1.0)
