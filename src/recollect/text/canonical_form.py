"""The canonical form of a sentence: without what carries no meaning, and one way of saying the rest."""

from collections.abc import Callable, Sequence
from itertools import chain

from recollect.text.amounts import NUMBER_WORDS, ORDINAL, merge_units, parse_number_words
from recollect.text.boilerplate import strip_courtesies
from recollect.text.canonical_tokens import COMMA, POSSESSIVE, Token, TokenKind
from recollect.text.lexicon import (
    AUXILIARIES,
    CASE_SENSITIVE_NOUNS,
    FUNCTION_WORDS,
    REPORTING_VERBS,
    VERB_FORMS,
    singularize,
    split_words,
)
from recollect.text.synonyms import SYNONYM_TRIGGERS, exchange_synonyms
from recollect.text.word_order import normalize_order


def canonicalize_sentence(sentence: list[Token]) -> list[Token]:
    """The sentence, which has words, as all that mean the same have it; none if it says nothing."""
    has = set(chain.from_iterable(sentence))  # keys, and sorts besides: a step in vain only costs time
    if not CASE_SENSITIVE_NOUNS.isdisjoint(has):
        sentence = _restore_case(sentence)
    short = not _SHORT_FORMS.isdisjoint(has)
    said = strip_courtesies(_mark_first_name(_expand_contractions(sentence) if short else sentence))
    if short or len(said) < len(sentence):
        has = set(chain.from_iterable(said))
    for needed, reworded in _REWRITE_STEPS:
        if not needed.isdisjoint(has) and (other := reworded(said)) != said:
            said = other
            has = set(chain.from_iterable(said))
    if not _AGREEMENT_WORDS.isdisjoint(has):
        said = _normalize_agreement(said)
    for needed, shortened in _REMOVAL_STEPS:
        if not needed.isdisjoint(has):
            said = shortened(said)
    return normalize_order(said)


def _restore_case(sentence: list[Token]) -> list[Token]:
    """The sentence with the case of its words, but for the first; for one about something of which the case counts."""
    return [
        token._replace(key=token.text)
        if at and token.text.lower() == token.key != token.text and token.key not in FUNCTION_WORDS
        else token
        for at, token in enumerate(sentence)
    ]


def _mark_first_name(sentence: list[Token]) -> list[Token]:
    """The first word as a name if it is written and used like one."""
    first = sentence[0]
    if len(sentence) > 1 and first.kind == "word" and first.text[:1].isupper() and first.key not in FUNCTION_WORDS:
        after = sentence[1]
        if after.key in VERB_FORMS or after.key in AUXILIARIES or after.key == POSSESSIVE or after.kind == "name":
            return [Token(first.key, "name", first.text), *sentence[1:]]
    return sentence


def _expand_contractions(sentence: list[Token]) -> list[Token]:
    """'s and 'd as the words they are short for, where that is certain."""
    found = list(sentence)
    for at in range(1, len(found)):
        token, before = found[at], found[at - 1].key
        after = found[at + 1].key if at + 1 < len(found) else ""
        if token.key == POSSESSIVE and before in _WORDS_BEFORE_IS:
            if after in ("been", "got", "had"):
                found[at] = token._replace(key="have")
            elif after and not after.endswith(("ed", "en")) and after not in _PARTICIPLES:
                found[at] = token._replace(key="is")
        elif token.key == POSSESSIVE and after in ("the", "a", "an", "not"):
            found[at] = token._replace(key="is")
        elif token.key == "'d" and after in _WISH_VERBS:
            found[at] = token._replace(key="would", kind="modality")
    return found


_SHORT_FORMS = frozenset({POSSESSIVE, "'d"})
_WORDS_BEFORE_IS = frozenset(split_words("he she it that there what who where here how when this everything"))
_PARTICIPLES = frozenset(split_words("gone done left made come sent lost held kept met read put set cut hit built"))
_WISH_VERBS = frozenset(split_words("like love prefer rather want"))


def _normalize_agreement(sentence: list[Token]) -> list[Token]:
    """The sentence without what its verbs take over from who does it; nouns where it is no matter how many."""
    found: list[Token] = []
    choosing = False
    for token in sentence:
        agreed = Token(VERB_FORMS[token.key], token.kind, token.text) if token.key in VERB_FORMS else token
        choosing = choosing or agreed.key in _PREFERENCE_VERBS
        found.append(Token(singularize(agreed), agreed.kind, agreed.text) if choosing else agreed)
    return found


_PREFERENCE_VERBS = frozenset({"prefer", "favor"})
"""What is said of one of a kind when it is said of all: who prefers a window seat prefers window seats."""

_AGREEMENT_WORDS = _PREFERENCE_VERBS | VERB_FORMS.keys()


def _strip_fillers(sentence: list[Token]) -> list[Token]:
    return [
        token for at, token in enumerate(sentence) if token.key not in _POSSIBLE_FILLERS or not _is_filler(sentence, at)
    ]


def _is_filler(sentence: Sequence[Token], at: int) -> bool:
    """Whether the sentence says the same without the token."""
    key = sentence[at].key
    before = sentence[at - 1] if at else None
    after = sentence[at + 1].key if at + 1 < len(sentence) else ""
    if key in _FILLERS:
        return len(sentence) > 1 and (before is None or before.kind != "negation")
    if key == "just":
        return after in _VERBS_AFTER_JUST
    if before is None:
        return False
    match key:
        case ":":
            return before.key in REPORTING_VERBS
        case "that":
            return before.key in _STATING_VERBS and after not in AUXILIARIES
        case _:
            return after in ("", "?")


_FILLERS = frozenset(split_words("really actually also basically indeed kindly"))
_POSSIBLE_FILLERS = _FILLERS | {"just", "too", "please", ":", "that"}
_VERBS_AFTER_JUST = frozenset(split_words("love like prefer hate adore"))
"""Not those before which it may mean only."""

_STATING_VERBS = frozenset(
    split_words(
        "say says said state states stated mention mentions mentioned think thinks believe believes confirm confirmed"
    )
)
"""Behind these a "that" only joins; behind others it may point at something."""


def _normalize_articles(sentence: list[Token]) -> list[Token]:
    """The sentence without "the", and with every other article as an "a"; the other way round for what is chosen."""
    found: list[Token] = []
    last = len(sentence) - 1
    chosen = False
    for at, token in enumerate(sentence):
        key = token.key
        chosen = chosen or key in _PREFERENCE_VERBS
        if key not in _ARTICLES or at == last:
            found.append(token)
        elif key == "the":
            if chosen:
                found.append(token)
        elif _keeps_article(sentence, at, chosen=chosen):
            found.append(token if key == "a" else Token("a", token.kind, token.text))
    return found


_ARTICLES = frozenset({"the", "a", "an"})


def _keeps_article(sentence: Sequence[Token], at: int, *, chosen: bool) -> bool:
    """Whether an "a" says more than nothing would: a CEO, a few, a third, plan A; not a dozen, which is a number."""
    after = sentence[at + 1]
    if after.key in _QUANTITIES_AFTER_A or ORDINAL.fullmatch(after.key) or after.key in (",", ":", "?"):
        return True
    if after.key in AUXILIARIES or (after.kind != "number" and not chosen):
        return True
    return sentence[at].key == "a" and at > 0 and sentence[at - 1].key in _LETTERED_NOUNS


_LETTERED_NOUNS = frozenset(
    split_words("""
    plan vitamin hepatitis type option team group class grade section point exhibit model version variant block building
    terminal gate list appendix part step level tier series phase route line zone unit room row seat column category
    influenza schedule blood side
    """)
)
"""What an A may be one of."""

_QUANTITIES_AFTER_A = frozenset(split_words("few little bit lot number couple while third half quarter"))


def _normalize_punctuation(sentence: list[Token]) -> list[Token]:
    """The sentence with only those commas and dashes that may tell one list from another."""
    found: list[Token] = []
    last = len(sentence) - 1
    for at, token in enumerate(sentence):
        if token.key not in _COMMA_KEYS:
            found.append(token)
            continue
        if token.key == "-" and found and at == last:  # what is read from, and an option
            found.append(token)
        if not found or at == last:
            continue
        before, after = found[-1], sentence[at + 1]
        if token.key == "-" and before.kind in _NUMERIC_KINDS and after.kind in _NUMERIC_KINDS:
            found.append(Token("to", token.kind, token.text))
            continue
        if token.key == "-" and before.kind == "number":
            continue
        if token.key == "-" and len(before.key) == len(after.key) == 1:  # a difference
            found.append(token)
            continue
        if before.key not in _TRAILING_MARKS and after.key not in _KEYS_AFTER_COMMA:
            found.append(COMMA)
    while found and found[-1].key in _TRAILING_MARKS:
        found.pop()
    return found


_COMMA_KEYS = frozenset({",", "-"})
_TRAILING_MARKS = frozenset({",", ":"})
_KEYS_AFTER_COMMA = frozenset(split_words(", and or but ? because so then if when while although though unless since"))
_NUMERIC_KINDS: frozenset[TokenKind] = frozenset({"number", "date", "time", "unit"})


_RewriteStep = tuple[frozenset[str], Callable[[list[Token]], list[Token]]]
"""What a sentence must have one of to be changed, and how it then is."""

_REWRITE_STEPS: tuple[_RewriteStep, ...] = (
    (SYNONYM_TRIGGERS, exchange_synonyms),
    (NUMBER_WORDS, parse_number_words),
    (frozenset({"number"}), merge_units),
)
_REMOVAL_STEPS: tuple[_RewriteStep, ...] = (
    (_POSSIBLE_FILLERS, _strip_fillers),
    (_ARTICLES, _normalize_articles),
    (_COMMA_KEYS | _TRAILING_MARKS, _normalize_punctuation),
)
"""Only leave out, so that what a sentence had before them tells enough."""
