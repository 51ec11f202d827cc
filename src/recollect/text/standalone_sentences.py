"""Which sentences are plain statements that can be understood alone, and which form a procedure."""

import re
from collections.abc import Sequence

from recollect.text.data_files import alternation
from recollect.text.extraction_vocabulary import SEASON
from recollect.text.sentences import TextSpan

MIN_WORDS, MIN_CHARS = 2, 6
"""Minimum words and characters in a sentence."""


def _compile_words(words: str) -> re.Pattern[str]:
    return re.compile(rf"\b{alternation(words)}\b", re.IGNORECASE)


_JOKE = re.compile(r"\b(?:lol|lmao|rofl|ha(?:ha)+h?|he(?:he)+)\b|[😂🤣😜😝🙃😹]", re.IGNORECASE)
_RETRACTION = re.compile(
    r"\b(?:(?:just|only|i'm|am) (?:kidding|joking)|jk|kidding)\b|(?:^|\s)/s(?:\s|$)", re.IGNORECASE
)
_SUPPOSITION = _compile_words("""
    if, unless, whether, wish(?:es|ed)?, suppos(?:e|ing), imagin(?:e|ing), hypothetically, pretend(?:ing)?, as though,
    were to, should (?:i|we), let's, let us, someday, one day
""")
_MODAL = _compile_words("""
    would, wouldn't, could, couldn't, might, (?-i:may),
    (?:i|we|he|she|they|it)'d(?! (?:(?:much )?rather|like (?:all )?my)\\b)
""")
_REPORTED_SPEECH = _compile_words("""
    said, says?, told, tells, claims?, claimed, thinks?, asked, asks, according to, quote, quoting, apparently, heard,
    (?:he|she|they|people|everyone|everybody) (?:think|believe|call)s?, character, lyrics?, song goes
""")
_IRONIC_OPENING = re.compile(
    r"\b(?:yeah,? (?:right|sure)|oh,? (?:great|joy|wonderful|fantastic|perfect|how nice)|just (?:great|what i needed)|"
    r"as if|sure thing)\b",
    re.IGNORECASE,
)
_OWN_THOUGHT = re.compile(r"\b(?:i|we) (?:\w+ )?(?:think|believe)\b", re.IGNORECASE)
_SMALL_TALK = _compile_words("""
    i must (?:say|admit), i mean, means a lot, should be fun, first of all, can't wait, good luck, congrat\\w*, (?:it
    |that |this )(?:sounds?|looks?|feels?) like, (?:need|have|got|gotta) to (?:go|run|leave|head), gotta
    (?:go|run|leave|head), proud of (?:you|him|her|them), thank(?:s|ful)? (?:you|for), so happy for, nice to
    (?:meet|see|hear), talk (?:soon|later), take care, keep (?:me|ya|you) (?:posted|updated), believe in
    (?:you|yourself), here for you, there for you, have faith in
""")
_SECOND_PERSON = _compile_words("you, your, yours, yourself, you're, you've, you'll, you'd, u, ur, ya, y'all")
_SECRET = _compile_words("""
    pass ?(?:word|phrase|code)s?, api[ _-]?keys?, (?:access|auth|bearer|secret)[ _-](?:token|key)s?, private keys?,
    pin (?:code|number|is), credentials?
""")
_HEDGE = _compile_words("""
    maybe, perhaps, probably, possibly, presumably, i (?:think|guess|suppose|feel like), i believe(?! in), kind of,
    kinda, sort of, sorta, not (?:(?:really|quite|entirely) )?sure, more or less, i'm thinking of, thinking about,
    hopefully, tempted, seems?, supposedly, might
""")

_CLAUSE_STOP = r"(?=[.,;:!?)]|$)"
_TIME_WORD = alternation(f"""
    week\\w*, month, year, morning, afternoon, evening, {SEASON}, season, semester, term, quarter, coming, past, last,
    mon, tues, wednes, thurs, fri, satur, sun
""")
_WORD_AFTER_THAT = alternation("""
    is, was, one, kind, sort, way, same, stuff, thing, moment, day, time, place, feeling, experience, pic, photo,
    painting, name, for, to, with, in, on, and, but, so, too, as
""")
_PRONOUN = alternation("both, either, neither, mine, yours, such")
_CONTINUATION_WORD = alternation("with, for, in, on, and, but, to, too, that, last, from")
_VAGUE_ADJECTIVE = alternation("similar, like, else, new, different, cool, exciting, special, big, awesome")
_POINTER_PATTERNS = (
    rf"this(?! {_TIME_WORD})",
    r"these(?! days)",
    r"those(?! (?:who|with|in need|of us))",
    r"here(?:'s)?",
    r"there(?!'s| (?:is|are|was|were)\b)",
    rf"that(?:{_CLAUSE_STOP}|(?='s\b| {_WORD_AFTER_THAT}\b))",
    r"(?<=[,;-] )that",
    r"(?<=\bso )that(?= (?:might|would|could|will|may|was|is)\b)",
    r"like (?:that|this|those|these)",
    r"the (?:same(?! \w+ as (?:me|mine|us)\b)|other(?! day\b)|latter|former)",
    r"(?:another|the (?:first|second|third|last|next|new|old|only)|a (?:new|different|second)) one",
    (
        rf"(?:(?<!one )another|(?<!my )one(?! another)|(?<!\w )ones|{_PRONOUN})"
        rf"(?:{_CLAUSE_STOP}|(?= {_CONTINUATION_WORD}\b))"
    ),
    rf"(?:a few|any|some){_CLAUSE_STOP}",
    r"a few more",
    r"(?:do|doing|did|done|tried|try|trying) so",
    r"as usual",
    rf"something {_VAGUE_ADJECTIVE}",
    r"(?:(?<=\bwe )|(?<=\bwe're ))(?:both|all)",
)
_POINTER = re.compile(rf"\b(?:{'|'.join(_POINTER_PATTERNS)})\b", re.IGNORECASE)
_VAGUE_AMOUNT = alternation("""
    an?, some, another, (?:a )?few, lots of, many, several, more, any, other, such, different, all (?:kinds|sorts) of,
    one of, that
""")
_PALE_ADJECTIVE = alternation("""
    new, big, cool, great, amazing, awesome, nice, good, really, super, pretty, different, interesting, little, small,
    special, similar, certain, fun, tough, hard, huge, exciting, crazy, rad, wicked, personal, important, other, few,
    lot, more, fantastic, lovely, couple of
""")
_VAGUE_NOUN = alternation("""
    books?, events?, places?, tours?, trip, movies?, games?, things?, projects?, shows?, trophy, challenges?, story,
    stories, series, experiences?, ideas?, opportunit(?:y|ies), options?, goals?, stuff, people, pics?, pictures?,
    photos?, moments?, changes?, steps?, plans?, news, ways?, issues?, problems?, questions?, tips, advice, bits,
    progress, pieces?, recipes?, songs?, activit(?:y|ies), one, ones, time, fun, others
""")
_VAGUE_OBJECT = re.compile(
    rf"\b(?:{_VAGUE_AMOUNT} )+(?:{_PALE_ADJECTIVE} )*{_VAGUE_NOUN}(?=\W*$|[.,;!:)]| -(?! an? )|"
    r" (?:and|which|but|so|too|lately|recently|last|today|yesterday|together|really|i|we|now|right|next|this|as|"
    r"for (?:me|us)|that (?:really|was|is|i|made|blew|has|had))\b)",
    re.IGNORECASE,
)
_THING_PRONOUN = _compile_words("it, its, they, them, their, theirs, they're, they've, it's")
_PERSON_PRONOUN = _compile_words("he, she, him, her, his, hers, he's, she's")
_KIN_WORDS = """
    family, fam, kids?, child, children, wife, husband, partner, fianc[eé]e?, girlfriend, boyfriend, son, daughter,
    parents?, mother, father, mom, mum, dad, siblings?, brother, sister, dogs?, cats?, pups?, puppy, kitty,
    kitten, pets?
"""
_KNOWN_PERSON = alternation(f"""
    {_KIN_WORDS}, grand\\w+, aunt, uncle, cousin, niece, nephew, friend, boss, teacher, mentor, coach, neighbou?r,
    colleague, coworker, youngest, oldest, eldest, baby, boy, girl, woman, man, lady, guy, couple
""")
_PERSON_MENTION = re.compile(rf"\b(?:(?i:{_KNOWN_PERSON})|(?<=\s)(?!I\b)[A-Z][a-z]+)\b")
_CLAUSE_BREAK = re.compile(
    r"[,;:(]|\s-+\s|\s(?:and|but|so|because|'?cause|since|which|when|while|as|where|although|though|who|that)\s",
    re.IGNORECASE,
)
_WE = re.compile(r"(?:we|we're|we've|we'll|our)\b", re.IGNORECASE)
_COMPANIONS = _compile_words(f"""
    {_KIN_WORDS}, with (?:my|some|our), at work, in production, (?:my|our) (?:\\w+
    )?(?:friends?|team|teammates|colleagues|coworkers|workmates|band|class|neighbou?rs?|group|company|church)
""")


def is_plain_statement(sentence: str) -> bool:
    """Return whether the sentence states something and has no secret.

    It must not ask, suppose, joke, cite or make small talk.
    """
    if "?" in sentence or len(sentence) < MIN_CHARS or len(sentence.split()) < MIN_WORDS:
        return False
    modal = _MODAL.search(sentence)
    if modal is not None and _CLAUSE_BREAK.search(sentence, 0, modal.start() + 1) is None:
        return False
    if _REPORTED_SPEECH.search(_OWN_THOUGHT.sub("", sentence)):
        return False
    return not any(found.search(sentence) for found in (_SUPPOSITION, _SMALL_TALK, _JOKE, _SECRET))


def has_retraction(text: str) -> bool:
    """Return whether the speaker takes something back as a joke."""
    return _RETRACTION.search(text) is not None


def makes_hypothetical(before: str) -> bool:
    """Return whether the text before makes what follows a supposition or reported speech."""
    return any(found.search(before) for found in (_SUPPOSITION, _REPORTED_SPEECH))


def is_ironic_opening(opening: str) -> bool:
    """Return whether a sentence that opens like this means the opposite."""
    return _IRONIC_OPENING.search(opening) is not None


def addresses_listener(sentence: str) -> bool:
    """Return whether the sentence addresses a listener."""
    return _SECOND_PERSON.search(sentence) is not None


def has_hedge(sentence: str) -> bool:
    """Return whether the speaker is not sure."""
    return _HEDGE.search(sentence) is not None


def names_companions(sentence: str) -> bool:
    """Return whether the sentence tells who "we" are; True if it does not begin with "we"."""
    return _WE.match(sentence) is None or _COMPANIONS.search(sentence) is not None


def is_self_contained(sentence: str) -> bool:
    """Return whether the sentence names its subject and refers to no other sentence.

    "It" may stand for what an earlier clause names, and "she" for a person who is named before it.
    """
    if _POINTER.search(sentence):
        return False
    clause = _CLAUSE_BREAK.search(sentence)
    first = len(sentence) if clause is None else clause.start()
    if _THING_PRONOUN.search(sentence, 0, first) or _is_vague(sentence, first):
        return False
    person = _PERSON_PRONOUN.search(sentence)
    return person is None or _PERSON_MENTION.search(sentence, 0, person.start()) is not None


def _is_vague(sentence: str, first: int) -> bool:
    """Return whether the first clause has a vague object: a book or an event, but not which."""
    vague = _VAGUE_OBJECT.search(sentence)
    return vague is not None and vague.start() < first


MAX_PROCEDURE_CHARS = 2000
"""Maximum length of a procedure; a longer text is a document."""

MAX_ASIDE_SENTENCES = 2
"""Maximum sentences between two steps."""

_FIRST_STEP = re.compile(
    r"(?:(?:in order )?(?:how )?to [^,:.\n]{3,80}[,:] )?"
    r"(?:step (?:1|one)\b|first(?:ly)?,? (?!of all|time|thing|i\b|i'|we\b|he\b|she\b|they\b|my\b|and\b))",
    re.IGNORECASE,
)
_NEXT_STEP = re.compile(
    r"(?:and )?(?:step (?:\d{1,2}|[a-z]{3,6})\b|second(?:ly)?,|third(?:ly)?,|then,? |next,? |after that,? |"
    r"afterwards,? |finally,? |lastly,? )",
    re.IGNORECASE,
)
_NARRATION = re.compile(
    r"\b(?:i|we|he|she|they) (?!(?:must|should|need|have to|always)\b)\w|\b(?:was|were|went|had|did|got|felt|i'm|"
    r"we're|i've|we've)\b",
    re.IGNORECASE,
)
_HEADING = re.compile(r":$")


def find_procedures(text: str, spans: Sequence[TextSpan]) -> list[TextSpan]:
    """Return the spans of procedures with two steps or more; a narrative is not a procedure."""
    found: list[TextSpan] = []
    place = 0
    while place < len(spans):
        last = _find_last_step(text, spans, place)
        if last > place:
            headed = place > 0 and _HEADING.search(text, *spans[place - 1]) is not None
            begin, end = spans[place - headed][0], spans[last][1]
            if end - begin <= MAX_PROCEDURE_CHARS and _NARRATION.search(text, begin, end) is None:
                found.append((begin, end))
        place = last + 1
    return found


def _find_last_step(text: str, spans: Sequence[TextSpan], place: int) -> int:
    """Return the place of the last step of the procedure at `place`; `place` without one."""
    last = place
    if _FIRST_STEP.match(text, *spans[place]):
        for later in range(place + 1, len(spans)):
            if later - last > MAX_ASIDE_SENTENCES + 1:
                break
            if _NEXT_STEP.match(text, *spans[later]):
                last = later
    return last
