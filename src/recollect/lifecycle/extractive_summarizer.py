"""The summariser that needs no model: it chooses the points that carry most of what was said."""

import heapq
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass

from recollect.errors import FieldError
from recollect.model import validation
from recollect.model.format import counted
from recollect.model.level import NODES, Level
from recollect.model.llm_usage import Tally
from recollect.model.memory import embedded
from recollect.model.summary import LONGEST_BULLET, MOST_BULLETS, MOST_KEYWORDS, Bullet, Passage, Summary
from recollect.text.excerpts import MORE, Sentence, joined, plain, sentences, shortened
from recollect.text.keywords import Themes, names, read
from recollect.text.questions import ROLES, asks, in_first_person

ROOM = 240
"""How many characters of what somebody said make one point, if it has sentences."""

LONGEST_SPEAKER = 60
"""How many characters of a name stand before what they say."""

LONGEST_LABEL = 80
"""How many characters of a point are looked at for who said it."""

FIRSTHAND, QUESTION, ASIDE = 1.2, 0.5, 0.25
"""What words weigh where somebody speaks of themselves, asks, or says them by the way; elsewhere 1."""

KEPT = 0.4
"""What share of its best sentence another one must carry to stay at the beginning or the end of a point."""

REPEATED = 0.15
"""What is left of the weight of a term with every point chosen that has it."""

LEAST = 0.2
"""What share of the best point another one must add to be one."""

NOTHING = 0.15
"""What a greeting adds at most."""

DENSITY = 8
"""How many terms a point is taken to have besides its own when long and short ones are compared."""

READ = 256
"""How many of the weightiest points are read for the words of the title."""

TITLE_PHRASES, TITLE_ROOM = 3, 60
"""How many phrases and characters are enough for a title."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractiveSummariser:
    """Chooses the points that carry most of what was said, in the words in which it was said."""

    name: str = "extractive"
    verbatim: bool = True
    spent: Tally = Tally()

    def cost(self, spent: Tally) -> float | None:
        """Nothing is asked of a model."""
        return None

    def summarise(self, passages: Sequence[Passage], *, level: Level, most: int) -> Summary:
        """At most so many points, in the order of time; the same for the same passages in whatever order.

        What somebody said is cut into sentences, and who said it stands before them. Points of finer summaries, for the
        levels of the calendar, are taken as they are.
        """
        validation.a_limit("most", most)
        if not passages:
            raise FieldError("is empty; give at least one of what was said", field="passages")
        ordered = sorted(passages, key=lambda one: (one.at, one.cites, one.text, one.speaker or ""))
        taken = level in NODES
        speakers = _labels(ordered) if taken else frozenset(one.speaker for one in ordered if one.speaker)
        points = [point for one in ordered for point in (_taken(one, speakers) if taken else _said(one))]
        themes = Themes.of(
            [point.terms for point in points],
            (name for point in points for told in point.stated for name in names(told.sentence.text)),
            speakers,
        )
        weights = themes.weights()
        carried = [point.carried(weights) for point in points]

        chosen = [points[place] for place in _chosen(carried, min(most, MOST_BULLETS))]
        texts = [point.text(weights) for point in chosen]
        phrases = themes.phrases([points[place].lines for place in _weightiest(carried)])
        return Summary(
            title=titled(phrases, texts) or counted(len(ordered), "point" if taken else "event"),
            bullets=tuple(Bullet(text, point.passage.cites) for text, point in zip(texts, chosen, strict=True))
            or (Bullet(MORE, ordered[0].cites),),
            keywords=tuple(phrases[:MOST_KEYWORDS]),
        )


@dataclass(frozen=True, slots=True)
class _Told:
    """A sentence, its terms, and how much they weigh for how it says them."""

    sentence: Sentence
    terms: Sequence[str]
    clarity: float

    @classmethod
    def of(cls, sentence: Sentence) -> "_Told":
        return cls(sentence, read(sentence.text), _clarity(sentence))


def _clarity(sentence: Sentence) -> float:
    if sentence.aside:
        return ASIDE
    if asks(sentence.text):
        return QUESTION
    return FIRSTHAND if in_first_person(sentence.text) else 1.0


@dataclass(frozen=True, slots=True)
class _Point:
    """What may become a point: neighbouring sentences of one passage, without asides if there is anything else."""

    passage: Passage
    stated: Sequence[_Told]
    written: str | None = None
    """How it is written, where it is a point already."""

    @property
    def terms(self) -> list[str]:
        return [term for told in self.stated for term in told.terms]

    @property
    def lines(self) -> list[str]:
        return [told.sentence.text for told in self.stated]

    def carried(self, weights: Mapping[str, float]) -> dict[str, float]:
        """What each of its terms weighs where it says it best."""
        found = dict[str, float]()
        for told in self.stated:
            for term in told.terms:
                weight = told.clarity * weights[term]
                if weight > found.get(term, 0.0):
                    found[term] = weight
        return found

    def text(self, weights: Mapping[str, float]) -> str:
        """Its sentences from the first to the last that carries something, with who said them before."""
        if self.written is not None:
            return shortened(self.written, LONGEST_BULLET)
        carries = [told.clarity * sum(weights[term] for term in dict.fromkeys(told.terms)) for told in self.stated]
        kept = [place for place, share in enumerate(carries) if share >= KEPT * max(carries)]
        text = joined([told.sentence.text for told in self.stated[kept[0] : kept[-1] + 1]])
        return shortened(_attributed(text, self.passage.speaker), LONGEST_BULLET)


def _attributed(text: str, speaker: str | None) -> str:
    """The text with who said it before it, once."""
    name = shortened(plain(speaker or ""), LONGEST_SPEAKER)
    return f"{name}: {text}" if name and not text.casefold().startswith(f"{name}:".casefold()) else text


def _said(passage: Passage) -> Iterator[_Point]:
    """What somebody said, as points of a few sentences; one that is longer is a point by itself."""
    told, length = list[_Told](), 0
    for sentence in sentences(embedded(None, passage.text, passage.speaker)):  # without the speaker's name before it
        if told and length + len(sentence.text) > ROOM:
            yield _Point(passage, _stated(told))
            told, length = [], 0
        told.append(_Told.of(sentence))
        length += len(sentence.text) + 1
    if told:
        yield _Point(passage, _stated(told))


def _stated(told: Sequence[_Told]) -> Sequence[_Told]:
    """The sentences without asides, unless there is nothing else."""
    return [one for one in told if not one.sentence.aside] or told


def _taken(passage: Passage, labels: Set[str]) -> Iterator[_Point]:
    """A point of a finer summary, as it is; who said it is no part of what it says."""
    text = plain(passage.text)
    label = _LABEL.match(text)
    told = [_Told.of(one) for one in sentences(text[label.end() :] if label and label[1] in labels else text)]
    if told:
        yield _Point(passage, told, text)


def _labels(passages: Iterable[Passage]) -> frozenset[str]:
    """Who said points, as it stands before a colon: what is written like a name or a role, or stands before several."""
    found = Counter(label[1] for one in passages if (label := _LABEL.match(plain(one.text[:LONGEST_LABEL]))))
    return frozenset(label for label, count in found.items() if count > 1 or label.istitle() or label in ROLES)


def _chosen(carried: Sequence[Mapping[str, float]], most: int) -> list[int]:
    """The places of the points that each add most to those chosen before, in their order.

    What a point adds never becomes more by what is chosen, so only the best of those waiting is looked at again.
    """
    said = Counter[str]()

    def adds(place: int) -> float:
        found = carried[place]
        total = sum(weight * REPEATED ** said[term] if term in said else weight for term, weight in found.items())
        return total / math.sqrt(DENSITY + len(found))

    waiting = [(-adds(place), place) for place in range(len(carried))]
    heapq.heapify(waiting)
    best, chosen = -waiting[0][0] if waiting else 0.0, list[int]()
    while waiting and len(chosen) < most:
        _, place = heapq.heappop(waiting)
        worth = adds(place)
        if waiting and (-worth, place) > waiting[0]:  # it adds less than it did: others may add more
            heapq.heappush(waiting, (-worth, place))
        elif chosen and worth <= max(LEAST * best, NOTHING):
            break
        else:
            chosen.append(place)
            said.update(carried[place].keys())
    return sorted(chosen)


def _weightiest(carried: Sequence[Mapping[str, float]]) -> list[int]:
    """The places of the points that carry most, in their order."""
    weights = [sum(found.values()) for found in carried]
    return sorted(heapq.nlargest(READ, range(len(weights)), key=lambda place: (weights[place], -place)))


def titled(phrases: Sequence[str], texts: Sequence[str]) -> str:
    """A few phrases, or the beginning of what there is; nothing if that has no word."""
    title = ""
    for phrase in phrases[:TITLE_PHRASES]:
        longer = f"{title}, {phrase}" if title else phrase
        title = longer if not title or len(longer) <= TITLE_ROOM else title
    if not title and any(map(str.isalpha, "".join(texts))):
        title = texts[0]
    first = title.partition(" ")[0]
    return shortened(f"{first[:1].upper()}{title[1:]}" if first.islower() else title, TITLE_ROOM)


_LABEL = re.compile(r"([^\s:.!?]{1,40}(?: [^\s:.!?]{1,40}){0,2}):\s+(?=\S)")
