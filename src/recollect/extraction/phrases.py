"""Phrases: memories read from a conversation by how sentences are built, without a model."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from recollect.admission.importance import importance_of
from recollect.admission.kind import kind_of
from recollect.admission.policy import ConfidencePolicy, ImportancePolicy
from recollect.admission.private import without_private
from recollect.extraction.firsthand import RULES
from recollect.extraction.sentences import Span, plain, sentences
from recollect.extraction.standing import addresses, governs, hedges, retracts, says_who, stands_alone, states
from recollect.extraction.steps import procedures
from recollect.extraction.vocabulary import either
from recollect.model.conversation import Extract, Role, Said
from recollect.model.memory import Kind, content_hash

HEARD = frozenset({Role.USER, Role.ASSISTANT})
"""Who is listened to: what a tool brings and what a system is told is nobody's word."""

IMPERSONAL = frozenset({Kind.CONSTRAINT, Kind.PROCEDURE, Kind.DEFINITION, Kind.DECISION})
"""The kinds that are of no person: they hold whoever says them."""

OF_A_GROUP = frozenset({Kind.DECISION, Kind.PATTERN})
"""The kinds that hold for a group, whoever is in it: what was decided, and what is done again and again."""

ENDINGS = ".!?)\"'%…"
"""The characters besides letters and digits that a memory may end with."""

_NAME = r"(?-i:[A-Z][a-z]{1,20})"
_CALL = either("""
    hey, hi, hello, hiya, wow, whoa, woah, yeah, yep, yup, yes, oh, ooh, ah, aw, well, so, and, but, actually, also,
    plus, btw, by the way, honestly, anyways?, unfortunately, luckily, fortunately, thankfully, sadly, remember that,
    thanks, you know
""")
_REMARK = either("""
    no, nah, nope, man, cool, great, nice, awesome, sure, of course, ok, okay, right, true, exactly, totally,
    absolutely, definitely, you know what, just so you know, fyi, guess what, on (?:a different|another) note, for me,
    personally, as for me, me too, same here, thank you, sorry, speaking of which, in fact, to be honest, tbh,
    frankly, (?:other than|apart from|besides) that, besides, then, still, good (?:morning|evening|afternoon), it's
    true, i know, i agree, not much, not bad, i'm good, agreed, (?:i )?gotta say, what can i say, remember, important,
    note, update, reminder, decision, so far, since (?:we last (?:spoke|talked|chatted|met)|we chatted last|our last
    chat)
""")
_OPENING = re.compile(
    rf"(?:{_CALL}(?:,? {_NAME}(?=\s*[,!-]))?(?:\s*[,!.:;]+|\s-|(?=\s))\s*|"
    rf"{_REMARK}(?:,? {_NAME}(?=\s*[,!-]))?(?:\s*[,!.:;]+|\s-)\s*|{_NAME}, (?=(?:i|i'm|i've|my|we|our)\b))+",
    re.IGNORECASE,
)
_SETTING = either("""
    last, next, this, yesterday, today, tomorrow, tonight, recently, lately, currently, besides, after, since, before,
    as, for, in, on, at, during, over, apart from, although, though, when, while, now that, these days, nowadays,
    once, until, with, due to, because of, ever since, growing up, back, a (?:few|couple), \\w+
    (?:years|months|weeks|days) ago
""")
_ADVERBIAL = either("""
    (?:last|next|this) \\w+(?: \\w+)?, yesterday, today, recently, lately, currently, nowadays, these days, now,
    personally, (?:i (?:think|guess|believe|feel like|(?:(?:just|recently) )?found out(?:
    recently)?)|maybe|perhaps)(?: that)?
""")
_INTRODUCTION = re.compile(
    rf"(?:{_SETTING}\b[^,.;!?]{{0,60}}, (?:(?:so|and|that's why) )?|{_ADVERBIAL} )?(?=(?:i|i'?m|i've|i'd|we|we've|"
    r"we're|my|our)\b)",
    re.IGNORECASE,
)
_REMARKED = either("it, it's, this, that, that's, who knows, there's, can't, i'm (?:so|super|really|sure|excited)")
_BREAK = re.compile(
    rf"\s-+\s|;\s|(?<=\w)-\s|,\s(?=(?:(?:so|but|and) )?{_REMARKED}\b|(?:but|and|so) (?:i|i'm|i've|my)\b)", re.IGNORECASE
)
_CONTRAST = re.compile(r"(?:\s-+|;)\s(?:but|not|though|although|except|until|unless|or|yet)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class _Found:
    """What a rule found: the words, the whole sentence they are of, their kind, and whether they say so outright."""

    quote: str
    sentence: str
    kind: Kind
    outright: bool


def extract_phrases(
    turns: Sequence[Said], *, most: int = 10, importance: ImportancePolicy, confidence: ConfidencePolicy
) -> tuple[Extract, ...]:
    """What the speakers state of themselves that lasts, and what they lay down, in the order of the conversation.

    Of more than `most`, those that matter most stay, then the surest, then the earliest. What a model says counts only
    where it is a constraint, a procedure, a definition or a decision, and then as implied.
    """
    extracts: dict[tuple[str | None, str], Extract] = {}
    for turn, said in enumerate(turns):
        for found in _understood(said):
            once = (said.speaker, content_hash(found.quote.casefold()))
            if once not in extracts and found.quote in said.text:
                extracts[once] = _extract(turn, found, importance, confidence)
    every = list(extracts.values())
    best = sorted(range(len(every)), key=lambda one: (*_worth(every[one]), one))[:most]
    return tuple(every[one] for one in sorted(best))


def _worth(extract: Extract) -> tuple[float, float]:
    """What sorts the best first."""
    return -(extract.importance or 0.0), -(extract.confidence or 0.0)


def _extract(turn: int, found: _Found, importance: ImportancePolicy, confidence: ConfidencePolicy) -> Extract:
    worth = importance_of(found.sentence, found.kind, importance)
    sure = confidence.stated if found.outright else confidence.implied
    return Extract(
        text=found.quote[0].upper() + found.quote[1:],
        kind=found.kind,
        quote=found.quote,
        turn=turn,
        importance=importance.casual if worth is None else worth,
        confidence=confidence.uncertain if hedges(found.sentence) else sure,
    )


def _understood(said: Said) -> Iterator[_Found]:
    """What one turn states, each sentence at most once; nothing of what is private or taken back."""
    written = without_private(said.text)
    text = plain(written)
    if said.role not in HEARD or retracts(text):
        return
    spans = list(sentences(text, said.speaker))
    done = 0
    laid_down = set(procedures(text, spans))
    for begin, end in sorted({*spans, *laid_down}, key=lambda span: (span[0], -span[1])):
        if (begin, end) in laid_down:
            yield _Found(written[begin:end], text[begin:end], Kind.PROCEDURE, said.role is Role.USER)
            done = end
        elif begin >= done:
            yield from _stated(written, text, (begin, end), said.role)


def _stated(written: str, text: str, sentence: Span, role: Role) -> Iterator[_Found]:
    """What a sentence states as a whole, or else in the first of its parts that states anything."""
    whole, *parts = _pieces(text, *sentence)
    for first, last in (whole, *parts):
        kind, outright = _kind(text[first:last], role)
        if kind is not None and not governs(text[whole[0] : first]):
            yield _Found(written[first:last], text[slice(*sentence)], kind, outright)
            return


def _pieces(text: str, begin: int, end: int) -> Iterator[Span]:
    """Where the sentence is without what opens and ends it, then where each part is that can be parted from it."""
    yield _bare(text, begin, end)
    breaks = [] if _CONTRAST.search(text, begin, end) else list(_BREAK.finditer(text, begin, end))
    places = [begin, *(place for one in breaks for place in one.span()), end]
    if breaks:
        for first, last in zip(places[::2], places[1::2], strict=True):
            yield _bare(text, first, last)


def _bare(text: str, begin: int, end: int) -> Span:
    """Where the words are between two places, without greetings before them and signs behind them."""
    opening = _OPENING.match(text, begin, end)
    first = begin if opening is None else opening.end()
    last = end
    while last > first and not (text[last - 1].isalnum() or text[last - 1] in ENDINGS):
        last -= 1
    return first, last


def _kind(sentence: str, role: Role) -> tuple[Kind | None, bool]:
    """Which kind of memory the sentence is, and whether it says so outright."""
    if not states(sentence) or addresses(sentence) or not stands_alone(sentence):
        return None, False
    if role is Role.USER:
        introduction = _INTRODUCTION.match(sentence)
        place = 0 if introduction is None else introduction.end()
        for rule in RULES:
            if rule.begins.match(sentence, place) and (rule.kind in OF_A_GROUP or says_who(sentence[place:])):
                return rule.kind, rule.outright
    kind = kind_of(sentence)
    return (kind, role is Role.USER) if kind in IMPERSONAL else (None, False)
