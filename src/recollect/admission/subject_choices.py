"""Choices: statements that are the same but for one side of a contrast, a grade, or what is preferred to what."""

from collections.abc import Sequence

from recollect.admission.subject_statement import LATEST, Statement, base_of
from recollect.admission.subject_things import Speaking, is_name, key_of, person
from recollect.admission.subject_words import GRADES, JOBS, POINTERS, listed

_MOST_BEHIND = 9


def of_a_choice(said: Statement, who: Speaking) -> str | None:
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
            verb = base_of(lowered[at])
            if (verb == "like" and rest[0].lower() != "the") or (verb == "have" and "access" not in rest):
                return None
            found = (_over(rest) if verb == "prefer" else None) or _contrasted(verb, rest)
        return f"{whose}: {found}" if found else None
    return None


_CHOOSING = listed("prefers prefer wants want likes like has have is am")


def _over(words: Sequence[str]) -> str | None:
    """Both sides of a preference, whichever is preferred."""
    lowered = [word.lower() for word in words]
    at = next((at for at, word in enumerate(lowered) if word in ("over", "to") and 0 < at < len(words) - 1), None)
    if at is None or (lowered[at] == "to" and at == 0):
        return None
    sides = sorted((key_of(" ".join(words[:at])), key_of(" ".join(words[at + 1 :]))))
    return f"prefers {sides[0]} or {sides[1]}"


def _contrasted(verb: str, words: Sequence[str]) -> str | None:
    """The words with one side of a contrast as both."""
    masked, count = list[str](), 0
    for word in words:
        contrast = _CONTRASTS.get(word.lower().strip(","))
        if contrast is None or masked[-1:] != [contrast]:  # long, detailed answers
            count += contrast is not None
            masked.append(contrast or word)
    return f"{verb} {key_of(' '.join(masked))}" if count == 1 and len(words) > 1 else None


_CONTRASTS = {
    word: "/".join(group.split()[:2])
    for group in (
        "window aisle",
        "short long brief concise detailed lengthy terse verbose",
        "dark light",
        "morning evening afternoon",
        "hot cold warm",
        "early late",
        "before after",
        "remote on-site onsite hybrid",
        "formal informal casual",
        "tabs spaces",
        "metric imperial",
        "read-only read-write admin full write limited",
        "english french german spanish italian portuguese dutch polish russian chinese japanese korean arabic turkish",
    )
    for word in group.split()
}


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
    if lowered[1] in _RANKS and lowered[2] in ("in", "of"):
        return f"rank {key_of(' '.join(words[2:]))}"
    return f"is ~ {key_of(' '.join(words[2:]))}" if lowered[1] in GRADES else None


_RANKS = listed("lieutenant captain sergeant major colonel corporal private general commander")
