"""Choices: statements that are the same but for one side of a contrast, a grade, or what is preferred to what."""

from collections.abc import Sequence

from recollect.text.updates.statement import LATEST, Reading, Statement, base_of
from recollect.text.updates.subjects import Speaking, is_name, key_of, person
from recollect.text.updates.word_lists import GRADES, JOBS, POINTERS, listed

_MOST_BEHIND = 9


def of_a_choice(said: Statement, who: Speaking) -> Reading | None:
    """Somebody prefers one to the other, or wants it short; in which grade somebody works."""
    words, lowered = said.words, said.lowered
    for at in range(1, min(len(words), LATEST)):
        if lowered[at] not in _CHOOSING:
            continue
        whose, rest = person(words[:at], who), words[at + 1 :]
        if whose is None or not 0 < len(rest) <= _MOST_BEHIND or {word.lower() for word in rest} & POINTERS:
            return None
        if lowered[at] in ("is", "am"):
            found = _graded(rest)
        else:
            found = (_over(rest) if base_of(lowered[at]) == "prefer" else None) or _contrasted(lowered[at], rest)
        return Reading(f"{whose}: {found}") if found else None
    return None


_CHOOSING = listed("prefers prefer wants want is am")


def _over(words: Sequence[str]) -> str | None:
    """Both sides of a preference, whichever is preferred."""
    lowered = [word.lower() for word in words]
    at = next((at for at, word in enumerate(lowered) if word in ("over", "to") and 0 < at < len(words) - 1), None)
    if at is None:
        return None
    sides = sorted((key_of(" ".join(words[:at])), key_of(" ".join(words[at + 1 :]))))
    return f"prefers {sides[0]} or {sides[1]}"


def _contrasted(said: str, words: Sequence[str]) -> str | None:
    """The words with one side of a contrast as both; one may want and have both, but for how answers are."""
    verb, answers = base_of(said), not _ANSWERS.isdisjoint(word.lower() for word in words)
    contrasts = _OF_ANSWERS if answers else _CONTRASTS if verb == "prefer" else {}
    masked, count = list[str](), 0
    for word in words:
        contrast = contrasts.get(word.lower().strip(","))
        if contrast is None or masked[-1:] != [contrast]:  # long, detailed answers
            count += contrast is not None
            masked.append(contrast or word)
    return f"{verb} {key_of(' '.join(masked))}" if count == 1 and len(words) > 1 else None


def _both(*groups: str) -> dict[str, str]:
    return {word: "/".join(group.split()[:2]) for group in groups for word in group.split()}


_ANSWERS = listed("answers replies responses explanations summaries answer reply")
_LENGTHS = "short long brief concise detailed lengthy terse verbose"
_CONTRASTS = _both(
    "window aisle",
    _LENGTHS,
    "dark light",
    "hot cold warm",
    "early late",
    "before after",
    "remote on-site onsite hybrid",
    "formal informal casual",
    "tabs spaces",
    "metric imperial",
)
_OF_ANSWERS = _both(
    _LENGTHS,
    "formal informal casual",
    "english french german spanish italian portuguese dutch polish russian chinese japanese korean arabic turkish",
)


def _graded(words: Sequence[str]) -> str | None:
    """The job of somebody at one employer; or what somebody is with any grade."""
    lowered = [word.lower() for word in words]
    if lowered[0] not in ("a", "an") or len(words) < 3:
        return None
    if "at" in lowered[2:-1]:
        at = lowered.index("at")
        where = words[at + 1 :]
        if lowered[at - 1] in JOBS and is_name(where):
            return f"job at {key_of(' '.join(where))}"
    graded = lowered[1] in GRADES and not JOBS.isdisjoint(lowered[2:])
    return f"is ~ {key_of(' '.join(words[2:]))}" if graded else None
