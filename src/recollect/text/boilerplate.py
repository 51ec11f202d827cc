"""Courtesies: what a sentence begins and ends with that only asks for attention."""

from collections.abc import Sequence

from recollect.text.canonical_tokens import Token, matches_phrase
from recollect.text.lexicon import FUNCTION_WORDS, classify_word
from recollect.text.synonyms import to_american


def strip_courtesies(sentence: list[Token]) -> list[Token]:
    """The sentence without words that only ask for attention, and without thanks."""
    start, asked = 0, False
    while phrase := _match_opening(sentence, start):
        start, asked = start + len(phrase), asked or phrase in _REQUEST_PHRASES
    sentence = _strip_thanks(sentence)
    if asked:
        sentence = [token for token in sentence if token.key != "?"]
    if start == 0 or start >= len(sentence):
        return sentence
    first = sentence[start]
    lowered = first.text.lower()
    if lowered in FUNCTION_WORDS and first.text[1:].islower():
        first = Token(to_american(lowered), classify_word(lowered), first.text)
    return [first, *sentence[start + 1 :]]


def _match_opening(sentence: Sequence[Token], at: int) -> tuple[str, ...]:
    """The phrase there that only asks for attention, if something follows it; otherwise none."""
    for phrase in _OPENING_PHRASES.get(sentence[at].key, ()):
        if at + len(phrase) < len(sentence) and matches_phrase(sentence, at, phrase):
            return phrase
    return ()


def _strip_thanks(sentence: list[Token]) -> list[Token]:
    """The sentence without thanks behind a comma."""
    if sentence[-1].key not in _THANKS_LAST_WORDS:
        return sentence
    for thanks in _THANKS_PHRASES:
        if len(sentence) > len(thanks) + 1 and matches_phrase(sentence, len(sentence) - len(thanks), thanks):
            return sentence[: -len(thanks)]
    return sentence


def is_greeting(sentence: Sequence[Token]) -> bool:
    """Whether the sentence says nothing."""
    return len(sentence) <= _MAX_GREETING_WORDS and tuple([token.key for token in sentence]) in _GREETINGS


_OPENING_PHRASES: dict[str, list[tuple[str, ...]]] = {}
for _opening in """
please note that|please note :|please note ,|please note|please remember that|please remember :|note that|note :|nb :
please be aware that|please|kindly|remember that|remember :|remember ,|reminder :|reminder that|a reminder that
just a reminder that|just a reminder :|friendly reminder :|as a reminder ,|as a reminder :|as a reminder
just so you know ,|just so you know :|just so you know|just fyi ,|just fyi :|just fyi|fyi ,|fyi :|fyi
btw ,|btw :|btw
for your information ,|for your information :|for your information|by the way ,|by the way|also ,|actually ,|well ,|so ,
oh ,|ok ,|okay ,|hey ,|hi ,|hello ,|basically ,|of course ,|keep in mind that|please keep in mind that|keep in mind :
bear in mind that|it should be noted that|it is worth noting that|worth noting :|important to note :|to be clear ,
just to be clear ,|for the record ,|for reference ,|for reference :|memo :|indeed ,|just note that
just wanted to say that|i just wanted to say that|i want you to know that|please know that|know that
""".replace("\n", "|").split("|"):
    if _opening:
        _OPENING_PHRASES.setdefault(_opening.split()[0], []).append(tuple(_opening.split()))
for _phrases in _OPENING_PHRASES.values():
    _phrases.sort(key=lambda phrase: (-len(phrase), phrase))

_REQUEST_PHRASES = frozenset((verb, "you", "please") for verb in ("can", "could", "would", "will"))
for _request in sorted(_REQUEST_PHRASES):
    _OPENING_PHRASES.setdefault(_request[0], []).append(_request)
_THANKS_PHRASES = ((",", "thanks"), (",", "thank", "you"), (",", "please"))
_THANKS_LAST_WORDS = frozenset(thanks[-1] for thanks in _THANKS_PHRASES)
_GREETINGS = frozenset([("hi",), ("hello",), ("hey",), ("thanks",), ("thank", "you"), ("okay",)])
"""Sentences that say nothing."""

_MAX_GREETING_WORDS = max(map(len, _GREETINGS))
