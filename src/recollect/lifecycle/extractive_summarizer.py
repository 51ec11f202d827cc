"""A summarizer that needs no model: it selects the sentences that carry the most."""

import heapq
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass

from recollect.errors import FieldError
from recollect.model import validation
from recollect.model.conversation import LlmUsage
from recollect.model.enums import CALENDAR_LEVELS, Level
from recollect.model.format import format_count
from recollect.model.memory import build_embedded_text
from recollect.model.timeline import MAX_BULLET_CHARS, MAX_BULLETS, MAX_KEYWORDS, Bullet, Passage, Summary
from recollect.text.keywords import TopicTerms, extract_name_terms, extract_terms
from recollect.text.questions import ROLE_LABELS, is_first_person, is_question
from recollect.text.sentences import ELLIPSIS, Sentence, join_sentences, split_sentences, to_single_line, truncate

MAX_POINT_CHARS = 240
"""How many characters of an event make one point, if it has several sentences."""

MAX_SPEAKER_CHARS = 60
"""How many characters of a speaker's name are put before a point."""

LABEL_SEARCH_CHARS = 80
"""How many characters of a point are searched for a speaker label."""

FIRST_PERSON_WEIGHT, QUESTION_WEIGHT, ASIDE_WEIGHT = 1.2, 0.5, 0.25
"""The weights of first-person sentences, questions and asides; other sentences have 1."""

MIN_SENTENCE_SHARE = 0.4
"""The share of the best sentence's weight that a point's first and last sentence must have."""

REPEATED_TERM_FACTOR = 0.15
"""The factor on the weight of a term for every chosen point that has it."""

MIN_POINT_SHARE = 0.2
"""The share of the best point that another point must add to be chosen."""

MAX_GREETING_WORTH = 0.15
"""Maximum gain of a greeting."""

EXTRA_TERMS = 8
"""How many terms are added to the length of each point, to balance long and short ones."""

MAX_TITLE_POINTS = 256
"""How many of the heaviest points are read for the title."""

MAX_TITLE_PHRASES, MAX_TITLE_CHARS = 3, 60
"""How many phrases and characters a title has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractiveSummarizer:
    """Summarizes by selecting points, word for word."""

    name: str = "extractive"
    verbatim: bool = True
    spent: LlmUsage = LlmUsage()

    def cost(self, spent: LlmUsage) -> float | None:
        """Return `None`: no model is used."""
        return None

    def summarise(self, passages: Sequence[Passage], *, level: Level, most: int) -> Summary:
        """Return at most `most` points, in order of time; the order of the passages does not matter.

        Events are split into sentences, with the speaker in front. For calendar levels, the points of finer summaries
        are taken unchanged.
        """
        validation.require_limit("most", most)
        if not passages:
            raise FieldError("is empty; pass at least one passage", field="passages")
        ordered = sorted(passages, key=lambda one: (one.at, one.cites, one.text, one.speaker or ""))
        from_summaries = level in CALENDAR_LEVELS
        speakers = (
            _find_speaker_labels(ordered)
            if from_summaries
            else frozenset(one.speaker for one in ordered if one.speaker)
        )
        points = [
            point
            for one in ordered
            for point in (_point_of_summary(one, speakers) if from_summaries else _split_into_points(one))
        ]
        themes = TopicTerms.of(
            [point.terms for point in points],
            (
                name
                for point in points
                for weighted in point.sentences
                for name in extract_name_terms(weighted.sentence.text)
            ),
            speakers,
        )
        weights = themes.weights()
        term_weights = [point.term_weights(weights) for point in points]

        chosen = [points[place] for place in _choose_points(term_weights, min(most, MAX_BULLETS))]
        texts = [point.text(weights) for point in chosen]
        phrases = themes.top_phrases([points[place].lines for place in _heaviest_points(term_weights)])
        return Summary(
            title=make_title(phrases, texts) or format_count(len(ordered), "point" if from_summaries else "event"),
            bullets=tuple(Bullet(text, point.passage.cites) for text, point in zip(texts, chosen, strict=True))
            or (Bullet(ELLIPSIS, ordered[0].cites),),
            keywords=tuple(phrases[:MAX_KEYWORDS]),
        )


@dataclass(frozen=True, slots=True)
class _WeightedSentence:
    """A sentence, its terms, and its weight by the kind of sentence."""

    sentence: Sentence
    terms: Sequence[str]
    weight: float

    @classmethod
    def of(cls, sentence: Sentence) -> "_WeightedSentence":
        return cls(sentence, extract_terms(sentence.text), _sentence_weight(sentence))


def _sentence_weight(sentence: Sentence) -> float:
    if sentence.aside:
        return ASIDE_WEIGHT
    if is_question(sentence.text):
        return QUESTION_WEIGHT
    return FIRST_PERSON_WEIGHT if is_first_person(sentence.text) else 1.0


@dataclass(frozen=True, slots=True)
class _Point:
    """A candidate point: neighboring sentences of one passage, without asides if possible."""

    passage: Passage
    sentences: Sequence[_WeightedSentence]
    written: str | None = None
    """The text of the point, if it comes from a finer summary."""

    @property
    def terms(self) -> list[str]:
        return [term for weighted in self.sentences for term in weighted.terms]

    @property
    def lines(self) -> list[str]:
        return [weighted.sentence.text for weighted in self.sentences]

    def term_weights(self, weights: Mapping[str, float]) -> dict[str, float]:
        """Return the weight of each term in its heaviest sentence."""
        heaviest = dict[str, float]()
        for weighted in self.sentences:
            for term in weighted.terms:
                weight = weighted.weight * weights[term]
                if weight > heaviest.get(term, 0.0):
                    heaviest[term] = weight
        return heaviest

    def text(self, weights: Mapping[str, float]) -> str:
        """Return the sentences from the first to the last that carry enough, after the speaker."""
        if self.written is not None:
            return truncate(self.written, MAX_BULLET_CHARS)
        sentence_weights = [
            weighted.weight * sum(weights[term] for term in dict.fromkeys(weighted.terms))
            for weighted in self.sentences
        ]
        heavy = [
            place for place, share in enumerate(sentence_weights) if share >= MIN_SENTENCE_SHARE * max(sentence_weights)
        ]
        text = join_sentences([weighted.sentence.text for weighted in self.sentences[heavy[0] : heavy[-1] + 1]])
        return truncate(_attribute(text, self.passage.speaker), MAX_BULLET_CHARS)


def _attribute(text: str, speaker: str | None) -> str:
    """Put the speaker's name before the text, unless the text begins with it."""
    name = truncate(to_single_line(speaker or ""), MAX_SPEAKER_CHARS)
    return f"{name}: {text}" if name and not text.casefold().startswith(f"{name}:".casefold()) else text


def _split_into_points(passage: Passage) -> Iterator[_Point]:
    """Split an event into points of a few sentences; a long sentence is a point by itself."""
    sentences, length = list[_WeightedSentence](), 0
    for sentence in split_sentences(
        build_embedded_text(None, passage.text, passage.speaker)
    ):  # without the speaker's name in front
        if sentences and length + len(sentence.text) > MAX_POINT_CHARS:
            yield _Point(passage, _without_asides(sentences))
            sentences, length = [], 0
        sentences.append(_WeightedSentence.of(sentence))
        length += len(sentence.text) + 1
    if sentences:
        yield _Point(passage, _without_asides(sentences))


def _without_asides(sentences: Sequence[_WeightedSentence]) -> Sequence[_WeightedSentence]:
    """Return the sentences without asides, unless there are only asides."""
    return [one for one in sentences if not one.sentence.aside] or sentences


def _point_of_summary(passage: Passage, labels: Set[str]) -> Iterator[_Point]:
    """Take a point of a finer summary unchanged; a speaker label does not count for its weight."""
    text = to_single_line(passage.text)
    label = _LABEL.match(text)
    sentences = [
        _WeightedSentence.of(one)
        for one in split_sentences(text[label.end() :] if label and label[1] in labels else text)
    ]
    if sentences:
        yield _Point(passage, sentences, text)


def _find_speaker_labels(passages: Iterable[Passage]) -> frozenset[str]:
    """Return the speaker labels before a colon: written like a name, a role, or used repeatedly."""
    found = Counter(
        label[1] for one in passages if (label := _LABEL.match(to_single_line(one.text[:LABEL_SEARCH_CHARS])))
    )
    return frozenset(label for label, count in found.items() if count > 1 or label.istitle() or label in ROLE_LABELS)


def _choose_points(term_weights: Sequence[Mapping[str, float]], most: int) -> list[int]:
    """Return the indexes of the chosen points, in order; each adds most to those chosen before.

    The gain of a point never grows, so only the best one waiting is computed again.
    """
    chosen_terms = Counter[str]()

    def adds(place: int) -> float:
        weights = term_weights[place]
        total = sum(
            weight * REPEATED_TERM_FACTOR ** chosen_terms[term] if term in chosen_terms else weight
            for term, weight in weights.items()
        )
        return total / math.sqrt(EXTRA_TERMS + len(weights))

    waiting = [(-adds(place), place) for place in range(len(term_weights))]
    heapq.heapify(waiting)
    best, chosen = -waiting[0][0] if waiting else 0.0, list[int]()
    while waiting and len(chosen) < most:
        _, place = heapq.heappop(waiting)
        gain = adds(place)
        if waiting and (-gain, place) > waiting[0]:  # its gain fell, so another may be better now
            heapq.heappush(waiting, (-gain, place))
        elif chosen and gain <= max(MIN_POINT_SHARE * best, MAX_GREETING_WORTH):
            break
        else:
            chosen.append(place)
            chosen_terms.update(term_weights[place].keys())
    return sorted(chosen)


def _heaviest_points(term_weights: Sequence[Mapping[str, float]]) -> list[int]:
    """Return the indexes of the heaviest points, in order."""
    weights = [sum(terms.values()) for terms in term_weights]
    return sorted(heapq.nlargest(MAX_TITLE_POINTS, range(len(weights)), key=lambda place: (weights[place], -place)))


def make_title(phrases: Sequence[str], texts: Sequence[str]) -> str:
    """Join a few phrases into a title, or take the start of the texts; empty without letters."""
    title = ""
    for phrase in phrases[:MAX_TITLE_PHRASES]:
        longer = f"{title}, {phrase}" if title else phrase
        title = longer if not title or len(longer) <= MAX_TITLE_CHARS else title
    if not title and any(map(str.isalpha, "".join(texts))):
        title = texts[0]
    first = title.partition(" ")[0]
    return truncate(f"{first[:1].upper()}{title[1:]}" if first.islower() else title, MAX_TITLE_CHARS)


_LABEL = re.compile(r"([^\s:.!?]{1,40}(?: [^\s:.!?]{1,40}){0,2}):\s+(?=\S)")
