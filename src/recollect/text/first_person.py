"""Statements about oneself: the rules that find lasting ones, and which sentences can be understood alone.

The rules are in `en/first_person.toml`, the words and patterns of the functions in `en/standalone.toml`. Both are read
and compiled at the first use: there are hundreds of patterns, and only extraction needs them.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from recollect.model.enums import Kind
from recollect.text.data_files import DataFile, load_data_file
from recollect.text.lexicon import LEXICON
from recollect.text.sentences import TextSpan

GROUP_KINDS = frozenset({Kind.DECISION, Kind.PATTERN})
"""The kinds that apply to a group of any members: decisions and habits."""


@dataclass(frozen=True, slots=True)
class FirstPersonRule:
    """How a sentence of one type begins, and which kind of memory it makes.

    `explicit` is false for what the sentence only implies. `allows_group` is whether it holds for the speaker even if
    "we" includes unknown people.
    """

    kind: Kind
    pattern: re.Pattern[str]
    explicit: bool = True
    allows_group: bool = False


def find_rule(sentence: str, *, for_any_group: bool) -> FirstPersonRule | None:
    """Return the first rule that matches the sentence after its introduction.

    A statement about "we" counts if it holds for any group, or tells who "we" are, or its rule does not need this.
    """
    introduction = _pattern("introduction").match(sentence)
    place = 0 if introduction is None else introduction.end()
    for rule in _load_rules():
        of_speaker = for_any_group or rule.allows_group or rule.kind in GROUP_KINDS
        if rule.pattern.match(sentence, place) and (of_speaker or _names_companions(sentence[place:])):
            return rule
    return None


def _names_companions(sentence: str) -> bool:
    """Return whether the sentence tells who "we" are; True if it does not begin with "we"."""
    return _pattern("we").match(sentence) is None or _phrases("companions").search(sentence) is not None


@cache
def _load_rules() -> tuple[FirstPersonRule, ...]:
    """Return the rules in the order in which they are tried."""
    file = load_data_file("recollect.text", "en/first_person.toml", LEXICON)
    return tuple(
        FirstPersonRule(
            Kind(row["kind"]),
            re.compile(file.expand(row["pattern"]), re.IGNORECASE),
            row.get("explicit", True),
            row.get("allows_group", False),
        )
        for row in file.rows("rule")
    )


@cache
def _load_words() -> DataFile:
    return load_data_file("recollect.text", "en/standalone.toml")


@cache
def _phrases(name: str) -> re.Pattern[str]:
    """Return the pattern of a list: any of its phrases, as whole words."""
    return re.compile(_load_words().expand(rf"\b{{{name}}}\b"), re.IGNORECASE)


@cache
def _pattern(name: str) -> re.Pattern[str]:
    return re.compile(_load_words().pattern(f"patterns.{name}"), re.IGNORECASE)


MIN_WORDS, MIN_CHARS = 2, 6
"""Minimum words and characters in a sentence."""


def stands_alone(sentence: str) -> bool:
    """Return whether the sentence is a statement, does not address a listener, and can be understood alone."""
    return (
        _is_plain_statement(sentence)
        and _phrases("second_person").search(sentence) is None
        and _is_self_contained(sentence)
    )


def _is_plain_statement(sentence: str) -> bool:
    """Return whether the sentence states something and has no secret.

    It must not ask, suppose, joke, cite or make small talk.
    """
    if "?" in sentence or len(sentence) < MIN_CHARS or len(sentence.split()) < MIN_WORDS:
        return False
    modal = _phrases("modal").search(sentence)
    if modal is not None and _pattern("clause_break").search(sentence, 0, modal.start() + 1) is None:
        return False
    if _phrases("reported_speech").search(_pattern("own_thought").sub("", sentence)):
        return False
    marks = (_phrases("supposition"), _phrases("small_talk"), _pattern("joke"), _phrases("credential"))
    return not any(mark.search(sentence) for mark in marks)


def _is_self_contained(sentence: str) -> bool:
    """Return whether the sentence names its subject and refers to no other sentence.

    "It" may stand for what an earlier clause names, and "she" for a person who is named before it.
    """
    if _any_pointer().search(sentence):
        return False
    clause = _pattern("clause_break").search(sentence)
    first = len(sentence) if clause is None else clause.start()
    if _phrases("thing_pronoun").search(sentence, 0, first):
        return False
    vague = _pattern("vague_object").search(sentence)  # a book or an event, but not which
    if vague is not None and vague.start() < first:
        return False
    person = _phrases("person_pronoun").search(sentence)
    return person is None or _person_mention().search(sentence, 0, person.start()) is not None


@cache
def _any_pointer() -> re.Pattern[str]:
    file = _load_words()
    return re.compile(rf"\b(?:{'|'.join(map(file.expand, file.lines('pointers.patterns')))})\b", re.IGNORECASE)


@cache
def _person_mention() -> re.Pattern[str]:
    """Return the pattern of a known person or of a name, which begins with a capital letter."""
    return re.compile(_load_words().pattern("patterns.person_mention"))


def has_retraction(text: str) -> bool:
    """Return whether the speaker takes something back as a joke."""
    return _pattern("retraction").search(text) is not None


def makes_hypothetical(before: str) -> bool:
    """Return whether the text before makes what follows a supposition or reported speech."""
    return any(_phrases(name).search(before) for name in ("supposition", "reported_speech"))


def has_hedge(sentence: str) -> bool:
    """Return whether the speaker is not sure."""
    return _phrases("hedge").search(sentence) is not None


MAX_PROCEDURE_CHARS = 2000
"""Maximum length of a procedure; a longer text is a document."""

MAX_ASIDE_SENTENCES = 2
"""Maximum sentences between two steps."""

_HEADING = re.compile(r":$")


def find_procedures(text: str, spans: Sequence[TextSpan]) -> list[TextSpan]:
    """Return the spans of procedures with two steps or more; a narrative is not a procedure."""
    procedures: list[TextSpan] = []
    place = 0
    while place < len(spans):
        last = _find_last_step(text, spans, place)
        if last > place:
            headed = place > 0 and _HEADING.search(text, *spans[place - 1]) is not None
            begin, end = spans[place - headed][0], spans[last][1]
            if end - begin <= MAX_PROCEDURE_CHARS and _pattern("narration").search(text, begin, end) is None:
                procedures.append((begin, end))
        place = last + 1
    return procedures


def _find_last_step(text: str, spans: Sequence[TextSpan], place: int) -> int:
    """Return the place of the last step of the procedure at `place`; `place` without one."""
    last = place
    if _pattern("first_step").match(text, *spans[place]):
        for later in range(place + 1, len(spans)):
            if later - last > MAX_ASIDE_SENTENCES + 1:
                break
            if _pattern("next_step").match(text, *spans[later]):
                last = later
    return last


CLOSING_CHARACTERS = ".!?)\"'%…"
"""The characters besides letters and digits that a statement may end with."""


def asks_to_remember(text: str, begin: int, end: int) -> bool:
    """Return whether the sentence asks to remember what it says."""
    opening = _pattern("opening").match(text, begin, end)
    places = (begin, begin if opening is None else opening.end())
    return any(_pattern("memory_request").match(text, place, end) for place in places)


def begins_in_first_person(text: str, begin: int, end: int) -> bool:
    """Return whether the sentence begins with "I", "my", "we" or "our"."""
    return _pattern("first_person_start").match(text, begin, end) is not None


def split_at_and(text: str, begin: int, end: int) -> Iterator[TextSpan]:
    """Yield the spans of the sentences joined by "and", if each is about the speaker."""
    joints = list(_pattern("and").finditer(text, begin, end)) if begins_in_first_person(text, begin, end) else []
    places = [begin, *(place for one in joints for place in one.span()), end]
    if joints:
        yield from zip(places[::2], places[1::2], strict=True)


def split_sentence(text: str, begin: int, end: int) -> Iterator[TextSpan]:
    """Yield the span of the sentence without opening and closing remarks, then of its parts.

    A sentence with an ironic opening means the opposite and has none.
    """
    trimmed = _trim_span(text, begin, end)
    if _pattern("ironic_opening").search(text[begin : trimmed[0]]):
        return
    yield trimmed
    breaks = [] if _pattern("contrast").search(text, begin, end) else list(_pattern("break").finditer(text, begin, end))
    places = [begin, *(place for one in breaks for place in one.span()), end]
    if breaks:
        for first, last in zip(places[::2], places[1::2], strict=True):
            yield _trim_span(text, first, last)


def _trim_span(text: str, begin: int, end: int) -> TextSpan:
    """Return the span without greetings in front, and marks and asides at the end."""
    first = begin
    for name in ("opening", "memory_request", "opening"):
        match = _pattern(name).match(text, first, end)
        first = first if match is None else match.end()
    closing = _pattern("closing").search(text, first, end)
    last = end if closing is None else closing.start()
    while last > first and not (text[last - 1].isalnum() or text[last - 1] in CLOSING_CHARACTERS):
        last -= 1
    return first, last
