"""Choices: statements that are the same but for one side of a contrast, a grade, or what is preferred to what."""

from collections.abc import Sequence

from recollect.text.updates.statement import MAX_VERB_POSITION, Claim, Statement, base_form
from recollect.text.updates.subjects import SpeakerContext, canonical_key, is_name, resolve_person
from recollect.text.updates.word_lists import JOB_GRADES, JOB_TITLES, POINTER_WORDS, word_set

_MAX_CHOICE_WORDS = 9


def read_choice_claim(said: Statement, who: SpeakerContext) -> Claim | None:
    """Somebody prefers one to the other, or wants it short; in which grade somebody works."""
    words, lowered = said.words, said.lowered
    for at in range(1, min(len(words), MAX_VERB_POSITION)):
        if lowered[at] not in _CHOICE_VERBS:
            continue
        whose, rest = resolve_person(words[:at], who), words[at + 1 :]
        if whose is None or not 0 < len(rest) <= _MAX_CHOICE_WORDS or {word.lower() for word in rest} & POINTER_WORDS:
            return None
        if lowered[at] in ("is", "am"):
            found = _read_job(rest)
        else:
            found = (_read_preference_pair(rest) if base_form(lowered[at]) == "prefer" else None) or _mask_contrast(
                lowered[at], rest
            )
        return Claim(f"{whose}: {found}") if found else None
    return None


_CHOICE_VERBS = word_set("prefers prefer wants want is am")


def _read_preference_pair(words: Sequence[str]) -> str | None:
    """Both sides of a preference, whichever is preferred."""
    lowered = [word.lower() for word in words]
    at = next((at for at, word in enumerate(lowered) if word in ("over", "to") and 0 < at < len(words) - 1), None)
    if at is None:
        return None
    sides = sorted((canonical_key(" ".join(words[:at])), canonical_key(" ".join(words[at + 1 :]))))
    return f"prefers {sides[0]} or {sides[1]}"


def _mask_contrast(said: str, words: Sequence[str]) -> str | None:
    """The words with one side of a contrast as both; one may want and have both, but for how answers are."""
    verb, answers = base_form(said), not _ANSWER_NOUNS.isdisjoint(word.lower() for word in words)
    contrasts = _ANSWER_CONTRASTS if answers else _CONTRASTS if verb == "prefer" else {}
    masked, count = list[str](), 0
    for word in words:
        contrast = contrasts.get(word.lower().strip(","))
        if contrast is None or masked[-1:] != [contrast]:  # long, detailed answers
            count += contrast is not None
            masked.append(contrast or word)
    return f"{verb} {canonical_key(' '.join(masked))}" if count == 1 and len(words) > 1 else None


def _label_contrasts(*groups: str) -> dict[str, str]:
    return {word: "/".join(group.split()[:2]) for group in groups for word in group.split()}


_ANSWER_NOUNS = word_set("answers replies responses explanations summaries answer reply")
_LENGTH_WORDS = "short long brief concise detailed lengthy terse verbose"
_CONTRASTS = _label_contrasts(
    "window aisle",
    _LENGTH_WORDS,
    "dark light",
    "hot cold warm",
    "early late",
    "before after",
    "remote on-site onsite hybrid",
    "formal informal casual",
    "tabs spaces",
    "metric imperial",
)
_ANSWER_CONTRASTS = _label_contrasts(
    _LENGTH_WORDS,
    "formal informal casual",
    "english french german spanish italian portuguese dutch polish russian chinese japanese korean arabic turkish",
)


def _read_job(words: Sequence[str]) -> str | None:
    """The job of somebody at one employer; or what somebody is with any grade."""
    lowered = [word.lower() for word in words]
    if lowered[0] not in ("a", "an") or len(words) < 3:
        return None
    if "at" in lowered[2:-1]:
        at = lowered.index("at")
        where = words[at + 1 :]
        if lowered[at - 1] in JOB_TITLES and is_name(where):
            return f"job at {canonical_key(' '.join(where))}"
    graded = lowered[1] in JOB_GRADES and not JOB_TITLES.isdisjoint(lowered[2:])
    return f"is ~ {canonical_key(' '.join(words[2:]))}" if graded else None
