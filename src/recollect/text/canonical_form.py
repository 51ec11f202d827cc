"""The canonical form of a sentence: without what carries no meaning, and one way of saying the rest."""

from collections.abc import Callable, Sequence
from itertools import chain

from recollect.text.amounts import COUNTING, ORDINAL, counted, measured
from recollect.text.boilerplate import without_courtesies
from recollect.text.canonical_tokens import COMMA, POSSESSIVE, Sort, Token
from recollect.text.lexicon import AUXILIARIES, EXACT, GRAMMAR, REPORTING, VERBS, singular, words
from recollect.text.synonyms import EXCHANGED, exchanged
from recollect.text.word_order import ordered


def canonical_form(sentence: list[Token]) -> list[Token]:
    """The sentence, which has words, as all that mean the same have it; none if it says nothing."""
    has = set(chain.from_iterable(sentence))  # keys, and sorts besides: a step in vain only costs time
    if not EXACT.isdisjoint(has):
        sentence = _as_written(sentence)
    short = not _SHORT.isdisjoint(has)
    said = without_courtesies(_named_first(_resolved(sentence) if short else sentence))
    if short or len(said) < len(sentence):
        has = set(chain.from_iterable(said))
    for needed, reworded in _REWORDING:
        if not needed.isdisjoint(has) and (other := reworded(said)) != said:
            said = other
            has = set(chain.from_iterable(said))
    if not _AGREEING.isdisjoint(has):
        said = _agreeing(said)
    for needed, shortened in _SHORTENING:
        if not needed.isdisjoint(has):
            said = shortened(said)
    return ordered(said)


def _as_written(sentence: list[Token]) -> list[Token]:
    """The sentence with the case of its words, but for the first; for one about something of which the case counts."""
    return [
        token._replace(key=token.said)
        if at and token.said.lower() == token.key != token.said and token.key not in GRAMMAR
        else token
        for at, token in enumerate(sentence)
    ]


def _named_first(sentence: list[Token]) -> list[Token]:
    """The first word as a name if it is written and used like one."""
    first = sentence[0]
    if len(sentence) > 1 and first.sort == "word" and first.said[:1].isupper() and first.key not in GRAMMAR:
        after = sentence[1]
        if after.key in VERBS or after.key in AUXILIARIES or after.key == POSSESSIVE or after.sort == "name":
            return [Token(first.key, "name", first.said), *sentence[1:]]
    return sentence


def _resolved(sentence: list[Token]) -> list[Token]:
    """'s and 'd as the words they are short for, where that is certain."""
    found = list(sentence)
    for at in range(1, len(found)):
        token, before = found[at], found[at - 1].key
        after = found[at + 1].key if at + 1 < len(found) else ""
        if token.key == POSSESSIVE and before in _WITH_IS:
            if after in ("been", "got", "had"):
                found[at] = token._replace(key="have")
            elif after and not after.endswith(("ed", "en")) and after not in _PARTICIPLES:
                found[at] = token._replace(key="is")
        elif token.key == POSSESSIVE and after in ("the", "a", "an", "not"):
            found[at] = token._replace(key="is")
        elif token.key == "'d" and after in _WISHED:
            found[at] = token._replace(key="would", sort="modality")
    return found


_SHORT = frozenset({POSSESSIVE, "'d"})
_WITH_IS = frozenset(words("he she it that there what who where here how when this everything"))
_PARTICIPLES = frozenset(words("gone done left made come sent lost held kept met read put set cut hit built"))
_WISHED = frozenset(words("like love prefer rather want"))


def _agreeing(sentence: list[Token]) -> list[Token]:
    """The sentence without what its verbs take over from who does it; nouns where it is no matter how many."""
    found: list[Token] = []
    choosing = False
    for token in sentence:
        agreed = Token(VERBS[token.key], token.sort, token.said) if token.key in VERBS else token
        choosing = choosing or agreed.key in _CHOOSING
        found.append(Token(singular(agreed), agreed.sort, agreed.said) if choosing else agreed)
    return found


_CHOOSING = frozenset({"prefer", "favor"})
"""What is said of one of a kind when it is said of all: who prefers a window seat prefers window seats."""

_AGREEING = _CHOOSING | VERBS.keys()


def _without_fillers(sentence: list[Token]) -> list[Token]:
    return [token for at, token in enumerate(sentence) if token.key not in _PERHAPS_IDLE or not _fills(sentence, at)]


def _fills(sentence: Sequence[Token], at: int) -> bool:
    """Whether the sentence says the same without the token."""
    key = sentence[at].key
    before = sentence[at - 1] if at else None
    after = sentence[at + 1].key if at + 1 < len(sentence) else ""
    if key in _FILLERS:
        return len(sentence) > 1 and (before is None or before.sort != "negation")
    if key == "just":
        return after in _JUST
    if before is None:
        return False
    match key:
        case ":":
            return before.key in REPORTING
        case "that":
            return before.key in _STATING and after not in AUXILIARIES
        case _:
            return after in ("", "?")


_FILLERS = frozenset(words("really actually also basically indeed kindly"))
_PERHAPS_IDLE = _FILLERS | {"just", "too", "please", ":", "that"}
_JUST = frozenset(words("love like prefer hate adore"))
"""Not those before which it may mean only."""

_STATING = frozenset(
    words(
        "say says said state states stated mention mentions mentioned think thinks believe believes confirm confirmed"
    )
)
"""Behind these a "that" only joins; behind others it may point at something."""


def _without_articles(sentence: list[Token]) -> list[Token]:
    """The sentence without "the", and with every other article as an "a"; the other way round for what is chosen."""
    found: list[Token] = []
    last = len(sentence) - 1
    chosen = False
    for at, token in enumerate(sentence):
        key = token.key
        chosen = chosen or key in _CHOOSING
        if key not in _ARTICLES or at == last:
            found.append(token)
        elif key == "the":
            if chosen:
                found.append(token)
        elif _bound(sentence, at, chosen=chosen):
            found.append(token if key == "a" else Token("a", token.sort, token.said))
    return found


_ARTICLES = frozenset({"the", "a", "an"})


def _bound(sentence: Sequence[Token], at: int, *, chosen: bool) -> bool:
    """Whether an "a" says more than nothing would: a CEO, a few, a third, plan A; not a dozen, which is a number."""
    after = sentence[at + 1]
    if after.key in _AFTER_A or ORDINAL.fullmatch(after.key) or after.key in (",", ":", "?"):
        return True
    if after.key in AUXILIARIES or (after.sort != "number" and not chosen):
        return True
    return sentence[at].key == "a" and at > 0 and sentence[at - 1].key in _LETTERED


_LETTERED = frozenset(
    words("""
    plan vitamin hepatitis type option team group class grade section point exhibit model version variant block building
    terminal gate list appendix part step level tier series phase route line zone unit room row seat column category
    influenza schedule blood side
    """)
)
"""What an A may be one of."""

_AFTER_A = frozenset(words("few little bit lot number couple while third half quarter"))


def _punctuated(sentence: list[Token]) -> list[Token]:
    """The sentence with only those commas and dashes that may tell one list from another."""
    found: list[Token] = []
    last = len(sentence) - 1
    for at, token in enumerate(sentence):
        if token.key not in _COMMAS:
            found.append(token)
            continue
        if token.key == "-" and found and at == last:  # what is read from, and an option
            found.append(token)
        if not found or at == last:
            continue
        before, after = found[-1], sentence[at + 1]
        if token.key == "-" and before.sort in _FIGURED and after.sort in _FIGURED:
            found.append(Token("to", token.sort, token.said))
            continue
        if token.key == "-" and before.sort == "number":
            continue
        if token.key == "-" and len(before.key) == len(after.key) == 1:  # a difference
            found.append(token)
            continue
        if before.key not in _ENDS and after.key not in _BEHIND_A_COMMA:
            found.append(COMMA)
    while found and found[-1].key in _ENDS:
        found.pop()
    return found


_COMMAS = frozenset({",", "-"})
_ENDS = frozenset({",", ":"})
_BEHIND_A_COMMA = frozenset(words(", and or but ? because so then if when while although though unless since"))
_FIGURED: frozenset[Sort] = frozenset({"number", "date", "time", "unit"})


_Step = tuple[frozenset[str], Callable[[list[Token]], list[Token]]]
"""What a sentence must have one of to be changed, and how it then is."""

_REWORDING: tuple[_Step, ...] = (
    (EXCHANGED, exchanged),
    (COUNTING, counted),
    (frozenset({"number"}), measured),
)
_SHORTENING: tuple[_Step, ...] = (
    (_PERHAPS_IDLE, _without_fillers),
    (_ARTICLES, _without_articles),
    (_COMMAS | _ENDS, _punctuated),
)
"""Only leave out, so that what a sentence had before them tells enough."""
