"""A statement: the only sentence of a short text in the present tense, with its negation told apart."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from recollect.model.nfc import composed
from recollect.text.updates.state_changes import settled
from recollect.text.updates.word_lists import DOUBTFUL, listed

LATEST = 10
"""Behind how many words the verb of a statement is not looked for."""

MOST_WORDS = 24
"""More words say more than one thing."""


@dataclass(frozen=True, slots=True)
class Statement:
    """The words of a statement as if it were not negated, and whether it is."""

    words: tuple[str, ...]
    negated: bool = False
    lowered: list[str] = field(init=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "lowered", [word.lower() for word in self.words])


@dataclass(frozen=True, slots=True)
class Reading:
    """What a statement is about, and what it says of that in its words, part by part as far as it is known; if it is
    `denied`, that it is not so. Without any value nothing is known of what it says.
    """

    subject: str
    value: tuple[str | None, ...] = ()
    denied: bool = False


def statement_of(text: str) -> Statement | None:
    """The statement that a text is; none if it is more than one, asked, hedged, past, conditional or counted up."""
    plain = " ".join(composed(text).replace("\u2019", "'").split()).strip()
    plain = _FILLER.sub("", plain).rstrip(".! ")
    if not plain or _NO_STATEMENT.search(plain):
        return None
    split = plain.split()
    if len(split) > _MOST_SPLIT or not _SURELY_DOUBTFUL.isdisjoint(map(str.lower, split)):
        return None
    words = _perfect([full for word in split for full in _SHORT.get(word, (word,))])
    words, ceased = settled(words)
    words = [word for at, word in enumerate(words) if at == 0 or word.lower() not in _IDLE]
    if len(words) > 2 and words[-1].lower() == "again":
        words.pop()
    if len(words) > MOST_WORDS:
        return None
    words, negations = _affirmed(words)
    negations += ceased
    if negations > 1 or any(map(_doubtful, words)):
        return None
    return Statement(tuple(words), negations == 1) if words else None


_MOST_SPLIT = 2 * MOST_WORDS
_SURELY_DOUBTFUL = DOUBTFUL - listed("may was been ago last yesterday today instead about")
"""What makes a statement doubtful wherever it stands, and is looked for first; the others may be part of a moment or of
what came to be.
"""


def _doubtful(word: str) -> bool:
    said = word.strip(",").lower()
    return (said in DOUBTFUL and word != "May") or _NOT.search(said) is not None


_FILLER = re.compile(
    r"^(?:please )?(?:note|remember|reminder|fyi|btw|just so you know|by the way)(?: that\b|:|,)?\s+", re.IGNORECASE
)
_NO_STATEMENT = re.compile(r"[?;!…\n\"“”„«»()\[\]{}]|[.] (?!\d)(?<![DM]r[.] )(?<!Mrs[.] )|n't$| - | [—–] ")
_IDLE = frozenset(["currently", "now", "actually", "really", "presently", "still", "already"])
_SHORT = {"I'm": ("I", "am"), "Don't": ("Do", "not"), "can't": ("can", "not"), "cannot": ("can", "not")} | {
    f"{verb}n't": (verb, "not") for verb in ("is", "are", "do", "does")
}
_NOT = re.compile(r"n't$|'(?:d|ll|ve|re|m)$|^(?:not|no|never)$")


def _perfect(words: list[str]) -> list[str]:
    """The words with what something came to as what it now is: has been paid, was merged."""
    for at in range(1, len(words) - 1):
        said = words[at].lower()
        end = at + 2 if said == "has" and words[at + 1].lower() == "been" else at + 1
        if (end == at + 2 or said == "was") and _lasts([word.lower() for word in words[end:]]):
            return [*words[:at], "is", *words[end:]]
    return words


def _lasts(said: Sequence[str]) -> bool:
    """Whether what was done goes on being so, and was done once."""
    return (len(said) == 1 and said[0] in _ACHIEVED) or tuple(said[:2]) in _FOR_GOOD


_ACHIEVED = listed("merged accepted approved rejected cancelled canceled paid completed resolved lifted")
_FOR_GOOD = {
    (verb, preposition)
    for verbs, prepositions in (
        ("born founded established", "in on"),
        ("moved postponed rescheduled", "to for"),
    )
    for verb in verbs.split()
    for preposition in prepositions.split()
}


def _affirmed(words: Sequence[str]) -> tuple[list[str], int]:
    """The words without what negates them, and how often they were negated."""
    kept, count, at = list[str](), 0, 0
    lowered = [word.lower() for word in words]
    while at < len(words):
        said, after = lowered[at], lowered[at + 1] if at + 1 < len(words) else ""
        if (said, after) in _NEGATING:
            at, count = at + 2, count + 1
        elif (
            said == "never"
            or (said == "not" and kept and kept[-1].lower() in _BEFORE_NOT)
            or (said == "no" and kept and kept[-1].lower() in _BEFORE_NO)
        ):
            at, count = at + 1, count + 1
        else:
            kept.append(words[at])
            at += 1
    while count == 1 and kept and [word.lower() for word in kept[-2:]] in (["any", "more"], ["any", "longer"]):
        kept = kept[:-2]
    if count == 1 and kept and kept[-1].lower() == "anymore":
        kept.pop()
    return kept, count


_NEGATING = {("do", "not"), ("does", "not"), ("no", "longer")}
_BEFORE_NOT = frozenset(["is", "am", "are", "can", "must"])
_BEFORE_NO = frozenset(["has", "have", "needs", "need", "requires", "require", "offers", "contains"])


def base_of(verb: str) -> str:
    """The verb as it is without who does it."""
    if verb in _IRREGULAR:
        return _IRREGULAR[verb]
    if verb.endswith("ies") and len(verb) > 4:
        return f"{verb[:-3]}y"
    if verb.endswith(("ches", "shes", "sses", "xes", "zzes")):
        return verb[:-2]
    return verb[:-1] if verb.endswith("s") and not verb.endswith("ss") and len(verb) > 2 else verb


_IRREGULAR = {"is": "be", "am": "be", "are": "be", "has": "have", "does": "do", "goes": "go"}
