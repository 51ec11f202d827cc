"""Extract memories from a conversation by phrase rules, without a model."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from recollect.admission.classify import detect_importance, detect_kind
from recollect.admission.policy import ConfidencePolicy, ImportancePolicy
from recollect.admission.screening import redact_private
from recollect.model.conversation import ConversationTurn, Extract, Extraction, Role
from recollect.model.enums import Kind
from recollect.model.memory import content_hash
from recollect.text.first_person import (
    asks_to_remember,
    begins_in_first_person,
    find_procedures,
    find_rule,
    has_hedge,
    has_retraction,
    makes_hypothetical,
    split_at_and,
    split_sentence,
    stands_alone,
)
from recollect.text.sentences import TextSpan, find_sentence_spans, replace_typography

HEARD_ROLES = frozenset({Role.USER, Role.ASSISTANT})
"""The roles whose turns are read; tool output and system prompts are not statements of a person."""

IMPERSONAL_KINDS = frozenset({Kind.CONSTRAINT, Kind.PROCEDURE, Kind.DEFINITION, Kind.DECISION})
"""The kinds that do not depend on the speaker."""

LASTING_KINDS = frozenset({Kind.PROFILE, Kind.FACT, Kind.PREFERENCE, Kind.PATTERN})
"""The kinds that part of a sentence may express; an event needs the whole sentence."""


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
        extracts = extract_phrases(turns, most=most, importance=self.importance, confidence=self.confidence)
        return Extraction(extracts=extracts)


def extract_phrases(
    turns: Sequence[ConversationTurn], *, most: int, importance: ImportancePolicy, confidence: ConfidencePolicy
) -> tuple[Extract, ...]:
    """Return what speakers state about themselves that lasts, and the rules they set, in order.

    Of more than `most` extracts, the most important stay, then the most confident, then the earliest. Text by a model
    counts only as a constraint, a procedure, a definition or a decision, and then as implied.
    """
    extracts: dict[tuple[str | None, str], Extract] = {}
    for place, turn in enumerate(turns):
        for match in _match_turn(turn):
            key = (turn.speaker, content_hash(match.quote.casefold()))
            if key not in extracts and match.quote in turn.text:
                extracts[key] = _build_extract(place, match, importance, confidence)
    found_extracts = list(extracts.values())
    best = sorted(range(len(found_extracts)), key=lambda one: (*_extract_sort_key(found_extracts[one]), one))[:most]
    return tuple(found_extracts[one] for one in sorted(best))


def _extract_sort_key(extract: Extract) -> tuple[float, float]:
    """The sort key with the best extract first."""
    return -(extract.importance or 0.0), -(extract.confidence or 0.0)


def _build_extract(
    turn: int, match: _PhraseMatch, importance: ImportancePolicy, confidence: ConfidencePolicy
) -> Extract:
    detected = detect_importance(match.sentence, match.kind, importance)
    certainty = confidence.stated if match.is_explicit else confidence.implied
    return Extract(
        text=match.quote[0].upper() + match.quote[1:],
        kind=match.kind,
        quote=match.quote,
        turn=turn,
        importance=importance.casual if detected is None else detected,
        confidence=confidence.uncertain if has_hedge(match.sentence) else certainty,
    )


def _match_turn(turn: ConversationTurn) -> Iterator[_PhraseMatch]:
    """Yield the matches of a turn, each sentence at most once.

    Private parts and turns that take something back are skipped.
    """
    written = redact_private(turn.text)
    text = replace_typography(written)
    if turn.role not in HEARD_ROLES or has_retraction(text):
        return
    spans = list(find_sentence_spans(text, turn.speaker))
    done = 0
    procedures = set(find_procedures(text, spans))
    for begin, end in sorted({*spans, *procedures}, key=lambda span: (span[0], -span[1])):
        if (begin, end) in procedures:
            yield _PhraseMatch(written[begin:end], text[begin:end], Kind.PROCEDURE, turn.role is Role.USER)
            done = end
        elif begin >= done:
            yield from _match_sentence(written, text, (begin, end), turn.role)


def _match_sentence(written: str, text: str, sentence: TextSpan, role: Role) -> Iterator[_PhraseMatch]:
    """Yield the statement of a sentence.

    The whole sentence is tried first, then its parts until one matches, then each of the sentences joined by "and".
    """
    begin, end = sentence
    spans = list(split_sentence(text, begin, end))
    if not spans:
        return
    trimmed = spans[0]
    asked = role is Role.USER and asks_to_remember(text, begin, end)
    for first, last in spans:
        kind, explicit = _classify_sentence(text[first:last], role, asked=asked)
        if kind is not None and not makes_hypothetical(text[trimmed[0] : first]):
            yield _PhraseMatch(written[first:last], text[begin:end], kind, explicit)
            return
    for first, last in split_at_and(text, *trimmed):
        kind, explicit = _classify_sentence(text[first:last], role, asked=asked)
        if kind is not None and kind in LASTING_KINDS and not makes_hypothetical(text[trimmed[0] : first]):
            yield _PhraseMatch(written[first:last], text[begin:end], kind, explicit)


def _classify_sentence(sentence: str, role: Role, *, asked: bool) -> tuple[Kind | None, bool]:
    """Return the kind of memory in the sentence, and whether it is stated explicitly.

    If the user asked to remember it, any statement in the first person is a memory.
    """
    if not stands_alone(sentence):
        return None, False
    if role is Role.USER:
        rule = find_rule(sentence, for_any_group=asked)
        if rule is not None:
            return rule.kind, rule.explicit
    kind = detect_kind(sentence)
    if asked and begins_in_first_person(sentence, 0, len(sentence)):
        return kind or Kind.FACT, True
    return (kind, role is Role.USER) if kind in IMPERSONAL_KINDS else (None, False)
