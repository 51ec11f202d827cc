"""A statement: the only sentence of a short text in the present tense, with its negation told apart."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from recollect.model.nfc import to_nfc
from recollect.text.updates.state_changes import resolve_state_change
from recollect.text.updates.word_lists import DOUBTFUL_WORDS, word_set

MAX_VERB_POSITION = 10
"""Behind how many words the verb of a statement is not looked for."""

MAX_STATEMENT_WORDS = 24
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
class Claim:
    """What a statement is about, and what it says of that in its words, part by part as far as it is known; if it is
    `denied`, that it is not so. Without any value nothing is known of what it says.
    """

    subject: str
    value: tuple[str | None, ...] = ()
    denied: bool = False


def parse_statement(text: str) -> Statement | None:
    """The statement that a text is; none if it is more than one, asked, hedged, past, conditional or counted up."""
    plain = " ".join(to_nfc(text).replace("\u2019", "'").split()).strip()
    plain = _OPENING_FILLER.sub("", plain).rstrip(".! ")
    if not plain or _NOT_STATEMENT.search(plain):
        return None
    split = plain.split()
    if len(split) > _MAX_SPLIT_WORDS or not _ALWAYS_DOUBTFUL.isdisjoint(map(str.lower, split)):
        return None
    words = _resolve_perfect([full for word in split for full in _CONTRACTIONS.get(word, (word,))])
    words, ceased = resolve_state_change(words)
    words = [word for at, word in enumerate(words) if at == 0 or word.lower() not in _IDLE_ADVERBS]
    if len(words) > 2 and words[-1].lower() == "again":
        words.pop()
    if len(words) > MAX_STATEMENT_WORDS:
        return None
    words, negations = _strip_negations(words)
    negations += ceased
    if negations > 1 or any(map(_is_doubtful, words)):
        return None
    return Statement(tuple(words), negations == 1) if words else None


_MAX_SPLIT_WORDS = 2 * MAX_STATEMENT_WORDS
_ALWAYS_DOUBTFUL = DOUBTFUL_WORDS - word_set("may was been ago last yesterday today instead about")
"""What makes a statement doubtful wherever it stands, and is looked for first; the others may be part of a moment or of
what came to be.
"""


def _is_doubtful(word: str) -> bool:
    said = word.strip(",").lower()
    return (said in DOUBTFUL_WORDS and word != "May") or _NEGATED_WORD.search(said) is not None


_OPENING_FILLER = re.compile(
    r"^(?:please )?(?:note|remember|reminder|fyi|btw|just so you know|by the way)(?: that\b|:|,)?\s+", re.IGNORECASE
)
_NOT_STATEMENT = re.compile(r"[?;!…\n\"“”„«»()\[\]{}]|[.] (?!\d)(?<![DM]r[.] )(?<!Mrs[.] )|n't$| - | [—–] ")
_IDLE_ADVERBS = frozenset(["currently", "now", "actually", "really", "presently", "still", "already"])
_CONTRACTIONS = {"I'm": ("I", "am"), "Don't": ("Do", "not"), "can't": ("can", "not"), "cannot": ("can", "not")} | {
    f"{verb}n't": (verb, "not") for verb in ("is", "are", "do", "does")
}
_NEGATED_WORD = re.compile(r"n't$|'(?:d|ll|ve|re|m)$|^(?:not|no|never)$")


def _resolve_perfect(words: list[str]) -> list[str]:
    """The words with what something came to as what it now is: has been paid, was merged."""
    for at in range(1, len(words) - 1):
        said = words[at].lower()
        end = at + 2 if said == "has" and words[at + 1].lower() == "been" else at + 1
        if (end == at + 2 or said == "was") and _is_lasting([word.lower() for word in words[end:]]):
            return [*words[:at], "is", *words[end:]]
    return words


def _is_lasting(said: Sequence[str]) -> bool:
    """Whether what was done goes on being so, and was done once."""
    return (len(said) == 1 and said[0] in _LASTING_PARTICIPLES) or tuple(said[:2]) in _LASTING_PHRASES


_LASTING_PARTICIPLES = word_set("merged accepted approved rejected cancelled canceled paid completed resolved lifted")
_LASTING_PHRASES = {
    (verb, preposition)
    for verbs, prepositions in (
        ("born founded established", "in on"),
        ("moved postponed rescheduled", "to for"),
    )
    for verb in verbs.split()
    for preposition in prepositions.split()
}


def _strip_negations(words: Sequence[str]) -> tuple[list[str], int]:
    """The words without what negates them, and how often they were negated."""
    kept, count, at = list[str](), 0, 0
    lowered = [word.lower() for word in words]
    while at < len(words):
        said, after = lowered[at], lowered[at + 1] if at + 1 < len(words) else ""
        if (said, after) in _NEGATING_PAIRS:
            at, count = at + 2, count + 1
        elif (
            said == "never"
            or (said == "not" and kept and kept[-1].lower() in _WORDS_BEFORE_NOT)
            or (said == "no" and kept and kept[-1].lower() in _WORDS_BEFORE_NO)
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


_NEGATING_PAIRS = {("do", "not"), ("does", "not"), ("no", "longer")}
_WORDS_BEFORE_NOT = frozenset(["is", "am", "are", "can", "must"])
_WORDS_BEFORE_NO = frozenset(["has", "have", "needs", "need", "requires", "require", "offers", "contains"])


def base_form(verb: str) -> str:
    """The verb as it is without who does it."""
    if verb in _IRREGULAR_VERBS:
        return _IRREGULAR_VERBS[verb]
    if verb.endswith("ies") and len(verb) > 4:
        return f"{verb[:-3]}y"
    if verb.endswith(("ches", "shes", "sses", "xes", "zzes")):
        return verb[:-2]
    return verb[:-1] if verb.endswith("s") and not verb.endswith("ss") and len(verb) > 2 else verb


_IRREGULAR_VERBS = {"is": "be", "am": "be", "are": "be", "has": "have", "does": "do", "goes": "go"}
