"""Extract memories from a conversation by phrase rules, without a model."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from recollect.admission.classify import detect_importance, detect_kind
from recollect.admission.policy import ConfidencePolicy, ImportancePolicy
from recollect.admission.screening import redact_private
from recollect.model.conversation import ConversationTurn, Extract, Extraction, Role
from recollect.model.enums import Kind
from recollect.model.memory import content_hash
from recollect.text.data_files import alternation
from recollect.text.first_person import (
    FIRST_PERSON_RULES,
    addresses_listener,
    find_procedures,
    has_hedge,
    has_retraction,
    is_ironic_opening,
    is_plain_statement,
    is_self_contained,
    makes_hypothetical,
    names_companions,
)
from recollect.text.sentences import TextSpan, find_sentence_spans, replace_typography

HEARD_ROLES = frozenset({Role.USER, Role.ASSISTANT})
"""The roles whose turns are read; tool output and system prompts are no person's statement."""

IMPERSONAL_KINDS = frozenset({Kind.CONSTRAINT, Kind.PROCEDURE, Kind.DEFINITION, Kind.DECISION})
"""The kinds that do not depend on the speaker."""

GROUP_KINDS = frozenset({Kind.DECISION, Kind.PATTERN})
"""The kinds that hold for a group, whatever its members: decisions and habits."""

LASTING_KINDS = frozenset({Kind.PROFILE, Kind.FACT, Kind.PREFERENCE, Kind.PATTERN})
"""The kinds that part of a sentence may express; an event needs the whole sentence."""

CLOSING_CHARACTERS = ".!?)\"'%…"
"""The characters besides letters and digits that a memory may end with."""

_NAME = r"(?-i:[A-Z][a-z]{1,20})"
_CALL = alternation("""
    hey, hi, hello, hiya, wow, whoa, woah, yeah, yep, yup, yes, oh, ooh, ah, aw, well, so, and, but, actually, also,
    plus, btw, by the way, honestly, anyways?, unfortunately, luckily, fortunately, thankfully, sadly, thanks, you know,
    (?:just )?fyi, just so you know, for the record, heads up
""")
_REMARK = alternation("""
    no, nah, nope, man, cool, great, nice, awesome, sure, of course, ok, okay, right, true, exactly, totally,
    absolutely, definitely, you know what, just so you know, fyi, guess what, on (?:a different|another) note, for me,
    personally, as for me, me too, same here, thank you, sorry, speaking of which, in fact, to be honest, tbh,
    frankly, (?:other than|apart from|besides) that, besides, then, still, good (?:morning|evening|afternoon), it's
    true, i know, i agree, not much, not bad, i'm good, agreed, (?:i )?gotta say, what can i say, remember, important,
    note, update, reminder, decision, so far, since (?:we last (?:spoke|talked|chatted|met)|we chatted last|our last
    chat)
""")
_ASK = alternation("""
    remember, note, keep in mind, bear in mind, (?:don't|do not|never) forget, make (?:a )?note, take note, write down,
    i (?:want|need) you to (?:know|remember|note), i'd like you to (?:know|remember|note), you should (?:know|remember),
    i should (?:mention|add|tell you), i (?:forgot|wanted) to (?:mention|tell you|say)
""")
_FIRST = r"(?=(?:i(?! is\b)|i'?m|i've|i'd|my|we|we're|we've|our)\b)"
_MEMORY_REQUEST = re.compile(
    rf"(?:(?:please|pls|also|do|just|and|so|always),? )*{_ASK}(?:,? please)?(?: this)?(?:\s*[,:-])?(?: that)?\s+"
    rf"{_FIRST}",
    re.IGNORECASE,
)
"""A request to remember what follows."""

_OPENING = re.compile(
    rf"(?:{_CALL}(?:,? {_NAME}(?=\s*[,!-]))?(?:\s*[,!.:;]+|\s-|(?=\s))\s*|"
    rf"{_REMARK}(?:,? {_NAME}(?=\s*[,!-]))?(?:\s*[,!.:;]+|\s-)\s*|{_NAME}, (?=(?:i|i'm|i've|my|we|our)\b))+",
    re.IGNORECASE,
)
_SETTING = alternation("""
    last, next, this, yesterday, today, tomorrow, tonight, recently, lately, currently, besides, after, since, before,
    as, for, in, on, at, during, over, apart from, although, though, when, while, now that, these days, nowadays,
    once, until, with, due to, because of, ever since, growing up, back, a (?:few|couple), \\w+
    (?:years|months|weeks|days) ago
""")
_ADVERBIAL = alternation("""
    (?:last|next|this) \\w+(?: \\w+)?, yesterday, today, recently, lately, currently, nowadays, these days, now,
    personally, (?:i (?:think|guess|believe|feel like|(?:(?:just|recently) )?found out(?:
    recently)?)|maybe|perhaps)(?: that)?
""")
_INTRODUCTION = re.compile(
    rf"(?:{_SETTING}\b[^,.;!?]{{0,60}}, (?:(?:so|and|that's why) )?|{_ADVERBIAL} )?(?=(?:i|i'?m|i've|i'd|we|we've|"
    r"we're|my|our)\b)",
    re.IGNORECASE,
)
_REMARK_START = alternation(
    "it, it's, this, that, that's, who knows, there's, can't, i'm (?:so|super|really|sure|excited)"
)
_BREAK = re.compile(
    rf"\s-+\s|;\s|(?<=\w)-\s|,\s(?=(?:(?:so|but|and) )?{_REMARK_START}\b|(?:but|and|so) (?:i|i'm|i've|my)\b)",
    re.IGNORECASE,
)
_AND = re.compile(r",? and (?=(?:i|i'm|i've|my)\b)", re.IGNORECASE)
_FIRST_PERSON_START = re.compile(r"(?:i(?! is\b)|i'm|i am|i've|my|we|we're|we've|our)\b", re.IGNORECASE)
_CLOSING = re.compile(
    r"[\s,-]{1,4}(?:(?:just )?(?:btw|by the way|fyi|tbh|so you know)|"
    r"(?:please )?(?:remember|note|keep in mind|don't forget)(?: that| this| it)?)[\s.!]{0,8}$",
    re.IGNORECASE,
)
_CONTRAST = re.compile(r"(?:\s-+|;)\s(?:but|not|though|although|except|until|unless|or|yet)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class _PhraseMatch:
    """A match of a rule: the quote, its sentence, its kind, and whether it is stated explicitly."""

    quote: str
    sentence: str
    kind: Kind
    is_explicit: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class PhraseExtractor:
    """Extracts explicit statements, by rules that are narrow enough to be right."""

    importance: ImportancePolicy = ImportancePolicy()
    confidence: ConfidencePolicy = ConfidencePolicy()
    name: str = "phrases"
    verbatim: bool = True

    def extract(self, turns: Sequence[ConversationTurn], *, most: int) -> Extraction:
        """Return at most `most` extracts, in the words of the conversation."""
        found = extract_phrases(turns, most=most, importance=self.importance, confidence=self.confidence)
        return Extraction(extracts=found)


def extract_phrases(
    turns: Sequence[ConversationTurn], *, most: int, importance: ImportancePolicy, confidence: ConfidencePolicy
) -> tuple[Extract, ...]:
    """Return what speakers state about themselves that lasts, and the rules they set, in order.

    Of more than `most` extracts, the most important stay, then the most confident, then the earliest. Text by a model
    counts only as a constraint, a procedure, a definition or a decision, and then as implied.
    """
    extracts: dict[tuple[str | None, str], Extract] = {}
    for turn, said in enumerate(turns):
        for found in _match_turn(said):
            once = (said.speaker, content_hash(found.quote.casefold()))
            if once not in extracts and found.quote in said.text:
                extracts[once] = _build_extract(turn, found, importance, confidence)
    every = list(extracts.values())
    best = sorted(range(len(every)), key=lambda one: (*_extract_sort_key(every[one]), one))[:most]
    return tuple(every[one] for one in sorted(best))


def _extract_sort_key(extract: Extract) -> tuple[float, float]:
    """The sort key with the best extract first."""
    return -(extract.importance or 0.0), -(extract.confidence or 0.0)


def _build_extract(
    turn: int, found: _PhraseMatch, importance: ImportancePolicy, confidence: ConfidencePolicy
) -> Extract:
    worth = detect_importance(found.sentence, found.kind, importance)
    sure = confidence.stated if found.is_explicit else confidence.implied
    return Extract(
        text=found.quote[0].upper() + found.quote[1:],
        kind=found.kind,
        quote=found.quote,
        turn=turn,
        importance=importance.casual if worth is None else worth,
        confidence=confidence.uncertain if has_hedge(found.sentence) else sure,
    )


def _match_turn(said: ConversationTurn) -> Iterator[_PhraseMatch]:
    """Yield the matches of a turn, each sentence at most once.

    Private parts are not read, nor is a turn that takes something back.
    """
    written = redact_private(said.text)
    text = replace_typography(written)
    if said.role not in HEARD_ROLES or has_retraction(text):
        return
    spans = list(find_sentence_spans(text, said.speaker))
    done = 0
    laid_down = set(find_procedures(text, spans))
    for begin, end in sorted({*spans, *laid_down}, key=lambda span: (span[0], -span[1])):
        if (begin, end) in laid_down:
            yield _PhraseMatch(written[begin:end], text[begin:end], Kind.PROCEDURE, said.role is Role.USER)
            done = end
        elif begin >= done:
            yield from _match_sentence(written, text, (begin, end), said.role)


def _match_sentence(written: str, text: str, sentence: TextSpan, role: Role) -> Iterator[_PhraseMatch]:
    """Yield the statement of a sentence.

    The whole sentence is tried first, then its parts until one matches, then each of the sentences joined by "and".
    """
    begin, end = sentence
    whole, *parts = _split_sentence(text, begin, end)
    if is_ironic_opening(text[begin : whole[0]]):
        return
    asked = role is Role.USER and _asks_to_remember(text, begin, end)
    for first, last in (whole, *parts):
        kind, outright = _classify_sentence(text[first:last], role, asked=asked)
        if kind is not None and not makes_hypothetical(text[whole[0] : first]):
            yield _PhraseMatch(written[first:last], text[begin:end], kind, outright)
            return
    for first, last in _split_at_and(text, *whole):
        kind, outright = _classify_sentence(text[first:last], role, asked=asked)
        if kind is not None and kind in LASTING_KINDS and not makes_hypothetical(text[whole[0] : first]):
            yield _PhraseMatch(written[first:last], text[begin:end], kind, outright)


def _asks_to_remember(text: str, begin: int, end: int) -> bool:
    """Whether the sentence asks to remember what it says."""
    opening = _OPENING.match(text, begin, end)
    places = (begin, begin if opening is None else opening.end())
    return any(_MEMORY_REQUEST.match(text, place, end) for place in places)


def _split_at_and(text: str, begin: int, end: int) -> Iterator[TextSpan]:
    """Yield the spans of the sentences joined by "and", if each is about the speaker."""
    joints = list(_AND.finditer(text, begin, end)) if _FIRST_PERSON_START.match(text, begin, end) else []
    places = [begin, *(place for one in joints for place in one.span()), end]
    if joints:
        yield from zip(places[::2], places[1::2], strict=True)


def _split_sentence(text: str, begin: int, end: int) -> Iterator[TextSpan]:
    """Yield the span of the sentence without opening and closing remarks, then of its parts."""
    yield _trim_span(text, begin, end)
    breaks = [] if _CONTRAST.search(text, begin, end) else list(_BREAK.finditer(text, begin, end))
    places = [begin, *(place for one in breaks for place in one.span()), end]
    if breaks:
        for first, last in zip(places[::2], places[1::2], strict=True):
            yield _trim_span(text, first, last)


def _trim_span(text: str, begin: int, end: int) -> TextSpan:
    """Return the span without greetings in front, and marks and asides at the end."""
    first = begin
    for opening in (_OPENING, _MEMORY_REQUEST, _OPENING):
        found = opening.match(text, first, end)
        first = first if found is None else found.end()
    closing = _CLOSING.search(text, first, end)
    last = end if closing is None else closing.start()
    while last > first and not (text[last - 1].isalnum() or text[last - 1] in CLOSING_CHARACTERS):
        last -= 1
    return first, last


def _classify_sentence(sentence: str, role: Role, *, asked: bool) -> tuple[Kind | None, bool]:
    """Return the kind of memory in the sentence, and whether it is stated explicitly.

    If the user asked to remember it, any statement in the first person is a memory.
    """
    if not is_plain_statement(sentence) or addresses_listener(sentence) or not is_self_contained(sentence):
        return None, False
    if role is Role.USER:
        introduction = _INTRODUCTION.match(sentence)
        place = 0 if introduction is None else introduction.end()
        for rule in FIRST_PERSON_RULES:
            of_them = asked or rule.together or rule.kind in GROUP_KINDS
            if rule.pattern.match(sentence, place) and (of_them or names_companions(sentence[place:])):
                return rule.kind, rule.outright
    kind = detect_kind(sentence)
    if asked and _FIRST_PERSON_START.match(sentence):
        return kind or Kind.FACT, True
    return (kind, role is Role.USER) if kind in IMPERSONAL_KINDS else (None, False)
