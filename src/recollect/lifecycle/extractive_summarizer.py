"""The summariser that needs no model: it chooses the points that carry most of what was said."""

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
"""How many characters of what somebody said make one point, if it has sentences."""

MAX_SPEAKER_CHARS = 60
"""How many characters of a name stand before what they say."""

LABEL_SEARCH_CHARS = 80
"""How many characters of a point are looked at for who said it."""

FIRST_PERSON_WEIGHT, QUESTION_WEIGHT, ASIDE_WEIGHT = 1.2, 0.5, 0.25
"""What words weigh where somebody speaks of themselves, asks, or says them by the way; elsewhere 1."""

MIN_SENTENCE_SHARE = 0.4
"""What share of its best sentence another one must carry to stay at the beginning or the end of a point."""

REPEATED_TERM_FACTOR = 0.15
"""What is left of the weight of a term with every point chosen that has it."""

MIN_POINT_SHARE = 0.2
"""What share of the best point another one must add to be one."""

MAX_GREETING_WORTH = 0.15
"""What a greeting adds at most."""

EXTRA_TERMS = 8
"""How many terms a point is taken to have besides its own when long and short ones are compared."""

MAX_TITLE_POINTS = 256
"""How many of the weightiest points are read for the words of the title."""

MAX_TITLE_PHRASES, MAX_TITLE_CHARS = 3, 60
"""How many phrases and characters are enough for a title."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractiveSummarizer:
    """Chooses the points that carry most of what was said, in the words in which it was said."""

    name: str = "extractive"
    verbatim: bool = True
    spent: LlmUsage = LlmUsage()

    def cost(self, spent: LlmUsage) -> float | None:
        """Nothing is asked of a model."""
        return None

    def summarise(self, passages: Sequence[Passage], *, level: Level, most: int) -> Summary:
        """At most so many points, in the order of time; the same for the same passages in whatever order.

        What somebody said is cut into sentences, and who said it stands before them. Points of finer summaries, for the
        levels of the calendar, are taken as they are.
        """
        validation.require_limit("most", most)
        if not passages:
            raise FieldError("is empty; give at least one of what was said", field="passages")
        ordered = sorted(passages, key=lambda one: (one.at, one.cites, one.text, one.speaker or ""))
        taken = level in CALENDAR_LEVELS
        speakers = _find_speaker_labels(ordered) if taken else frozenset(one.speaker for one in ordered if one.speaker)
        points = [
            point
            for one in ordered
            for point in (_point_of_summary(one, speakers) if taken else _split_into_points(one))
        ]
        themes = TopicTerms.of(
            [point.terms for point in points],
            (name for point in points for told in point.sentences for name in extract_name_terms(told.sentence.text)),
            speakers,
        )
        weights = themes.weights()
        carried = [point.term_weights(weights) for point in points]

        chosen = [points[place] for place in _choose_points(carried, min(most, MAX_BULLETS))]
        texts = [point.text(weights) for point in chosen]
        phrases = themes.top_phrases([points[place].lines for place in _heaviest_points(carried)])
        return Summary(
            title=make_title(phrases, texts) or format_count(len(ordered), "point" if taken else "event"),
            bullets=tuple(Bullet(text, point.passage.cites) for text, point in zip(texts, chosen, strict=True))
            or (Bullet(ELLIPSIS, ordered[0].cites),),
            keywords=tuple(phrases[:MAX_KEYWORDS]),
        )


@dataclass(frozen=True, slots=True)
class _WeightedSentence:
    """A sentence, its terms, and how much they weigh for how it says them."""

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
    """What may become a point: neighbouring sentences of one passage, without asides if there is anything else."""

    passage: Passage
    sentences: Sequence[_WeightedSentence]
    written: str | None = None
    """How it is written, where it is a point already."""

    @property
    def terms(self) -> list[str]:
        return [term for told in self.sentences for term in told.terms]

    @property
    def lines(self) -> list[str]:
        return [told.sentence.text for told in self.sentences]

    def term_weights(self, weights: Mapping[str, float]) -> dict[str, float]:
        """What each of its terms weighs where it says it best."""
        found = dict[str, float]()
        for told in self.sentences:
            for term in told.terms:
                weight = told.weight * weights[term]
                if weight > found.get(term, 0.0):
                    found[term] = weight
        return found

    def text(self, weights: Mapping[str, float]) -> str:
        """Its sentences from the first to the last that carries something, with who said them before."""
        if self.written is not None:
            return truncate(self.written, MAX_BULLET_CHARS)
        carries = [told.weight * sum(weights[term] for term in dict.fromkeys(told.terms)) for told in self.sentences]
        kept = [place for place, share in enumerate(carries) if share >= MIN_SENTENCE_SHARE * max(carries)]
        text = join_sentences([told.sentence.text for told in self.sentences[kept[0] : kept[-1] + 1]])
        return truncate(_attribute(text, self.passage.speaker), MAX_BULLET_CHARS)


def _attribute(text: str, speaker: str | None) -> str:
    """The text with who said it before it, once."""
    name = truncate(to_single_line(speaker or ""), MAX_SPEAKER_CHARS)
    return f"{name}: {text}" if name and not text.casefold().startswith(f"{name}:".casefold()) else text


def _split_into_points(passage: Passage) -> Iterator[_Point]:
    """What somebody said, as points of a few sentences; one that is longer is a point by itself."""
    told, length = list[_WeightedSentence](), 0
    for sentence in split_sentences(
        build_embedded_text(None, passage.text, passage.speaker)
    ):  # without the speaker's name before it
        if told and length + len(sentence.text) > MAX_POINT_CHARS:
            yield _Point(passage, _without_asides(told))
            told, length = [], 0
        told.append(_WeightedSentence.of(sentence))
        length += len(sentence.text) + 1
    if told:
        yield _Point(passage, _without_asides(told))


def _without_asides(told: Sequence[_WeightedSentence]) -> Sequence[_WeightedSentence]:
    """The sentences without asides, unless there is nothing else."""
    return [one for one in told if not one.sentence.aside] or told


def _point_of_summary(passage: Passage, labels: Set[str]) -> Iterator[_Point]:
    """A point of a finer summary, as it is; who said it is no part of what it says."""
    text = to_single_line(passage.text)
    label = _LABEL.match(text)
    told = [
        _WeightedSentence.of(one)
        for one in split_sentences(text[label.end() :] if label and label[1] in labels else text)
    ]
    if told:
        yield _Point(passage, told, text)


def _find_speaker_labels(passages: Iterable[Passage]) -> frozenset[str]:
    """Who said points, as it stands before a colon: what is written like a name or a role, or stands before several."""
    found = Counter(
        label[1] for one in passages if (label := _LABEL.match(to_single_line(one.text[:LABEL_SEARCH_CHARS])))
    )
    return frozenset(label for label, count in found.items() if count > 1 or label.istitle() or label in ROLE_LABELS)


def _choose_points(carried: Sequence[Mapping[str, float]], most: int) -> list[int]:
    """The places of the points that each add most to those chosen before, in their order.

    What a point adds never becomes more by what is chosen, so only the best of those waiting is looked at again.
    """
    said = Counter[str]()

    def adds(place: int) -> float:
        found = carried[place]
        total = sum(
            weight * REPEATED_TERM_FACTOR ** said[term] if term in said else weight for term, weight in found.items()
        )
        return total / math.sqrt(EXTRA_TERMS + len(found))

    waiting = [(-adds(place), place) for place in range(len(carried))]
    heapq.heapify(waiting)
    best, chosen = -waiting[0][0] if waiting else 0.0, list[int]()
    while waiting and len(chosen) < most:
        _, place = heapq.heappop(waiting)
        worth = adds(place)
        if waiting and (-worth, place) > waiting[0]:  # it adds less than it did: others may add more
            heapq.heappush(waiting, (-worth, place))
        elif chosen and worth <= max(MIN_POINT_SHARE * best, MAX_GREETING_WORTH):
            break
        else:
            chosen.append(place)
            said.update(carried[place].keys())
    return sorted(chosen)


def _heaviest_points(carried: Sequence[Mapping[str, float]]) -> list[int]:
    """The places of the points that carry most, in their order."""
    weights = [sum(found.values()) for found in carried]
    return sorted(heapq.nlargest(MAX_TITLE_POINTS, range(len(weights)), key=lambda place: (weights[place], -place)))


def make_title(phrases: Sequence[str], texts: Sequence[str]) -> str:
    """A few phrases, or the beginning of what there is; nothing if that has no word."""
    title = ""
    for phrase in phrases[:MAX_TITLE_PHRASES]:
        longer = f"{title}, {phrase}" if title else phrase
        title = longer if not title or len(longer) <= MAX_TITLE_CHARS else title
    if not title and any(map(str.isalpha, "".join(texts))):
        title = texts[0]
    first = title.partition(" ")[0]
    return truncate(f"{first[:1].upper()}{title[1:]}" if first.islower() else title, MAX_TITLE_CHARS)


_LABEL = re.compile(r"([^\s:.!?]{1,40}(?: [^\s:.!?]{1,40}){0,2}):\s+(?=\S)")
