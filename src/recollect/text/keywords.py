"""Keywords: what several texts are about, as weighted terms and as readable phrases.

The words that fit any topic, and therefore weigh little, are in `en/keywords.toml`.
"""

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

from recollect.text.data_files import load_data_file
from recollect.text.lexicon import MONTHS, SHORT_MONTHS, SHORT_WEEKDAYS, WEEKDAYS
from recollect.text.tokenizer import tokenize

MAX_TERMS = 96
"""Number of terms, the weightiest ones, from which phrases are built."""

MAX_PHRASE_WORDS = 3
"""Maximum words in a phrase."""

MAX_SENTENCE_CHARS = 1_000
"""Characters of a sentence that are searched for phrases; most sentences are far shorter."""

MAX_WORD_CHARS = 32
"""Maximum length of a word that is shown; a longer one is a path or a checksum."""

PLEASANTRY_WEIGHT = 0.12
"""Weight of a word that fits any topic, relative to an ordinary word."""

VAGUE_WEIGHT, VAGUE_PHRASE_WEIGHT = 0.15, 0.8
"""Weight of a word that says little alone, as `support` does, and its weight in a phrase such as `support group`."""

SPEAKER_WEIGHT = 0.05
"""Weight of a speaker's name, which precedes each of their messages."""

NUMBER_WEIGHT, NAME_WEIGHT = 0.5, 1.3
"""Weight of a number, a day or a month, and weight of a name."""

PHRASE_FACTOR = 1.75
"""Factor for a phrase of several words, applied to the mean weight of its words."""

MIN_NOUN_FACTOR = 1.25
"""Minimum noun factor of a phrase of several words."""

MIN_PHRASE_SHARE = 0.3
"""Minimum weight of a phrase that is shown, as a share of the weightiest phrase."""

Phrase = tuple[str, ...]
"""The terms of consecutive words."""


def extract_terms(text: str) -> list[str]:
    """Return the terms of a text, without web addresses."""
    return tokenize(_strip_addresses(text))


def extract_name_terms(text: str) -> list[str]:
    """Return the terms that are capitalized where no sentence begins."""
    words = _CAPITALIZED_WORD.findall(text)
    return tokenize(" ".join(words)) if words else []


@dataclass(frozen=True, slots=True)
class TopicTerms:
    """The number of texts that have each term, and each term's own weight."""

    text_counts: Mapping[str, int]
    base_weights: Mapping[str, float]

    @classmethod
    def of(cls, texts: Sequence[Sequence[str]], named: Iterable[str], speakers: Iterable[str]) -> "TopicTerms":
        """Count the terms of several texts.

        `named` holds terms as often as they are written like names.
        """
        text_counts, uses = Counter[str](), Counter[str]()
        for text in texts:
            uses.update(text)
            text_counts.update(list(dict.fromkeys(text)))
        proper = {term for term, count in Counter(named).items() if 2 * count > uses[term]}
        speaker_terms = {
            name[:end] for speaker in speakers for name in tokenize(speaker) for end in _name_prefix_lengths(name)
        }
        return cls(
            text_counts,
            {term: SPEAKER_WEIGHT if term in speaker_terms else _base_weight(term, proper) for term in text_counts},
        )

    def weights(self) -> dict[str, float]:
        """Return the weight of each term; it grows with the logarithm of its number of texts."""
        return {term: _frequency_weight(self.base_weights[term], count) for term, count in self.text_counts.items()}

    def top_phrases(self, texts: Sequence[Sequence[str]]) -> list[str]:
        """Return the phrases that describe the texts best, best first; no two share a term.

        Each text is given as its sentences. Words are shown in their most frequent spelling.
        """
        weights = self.weights()
        best = sorted(weights, key=lambda term: -weights[term])[:MAX_TERMS]  # of equals, the first ones
        known_terms, usage = vague_terms().union(best), _PhraseUsage()
        for sentences in texts:
            usage.add_text([run for sentence in sentences for run in _find_runs(_find_words(sentence), known_terms)])
        scores = {phrase: self._score_phrase(phrase, usage) for phrase in usage.text_counts}
        ranked = sorted(scores, key=lambda phrase: (-scores[phrase], -len(phrase)))
        shown, taken = list[str](), set[str]()
        for phrase in ranked:
            if taken.isdisjoint(phrase) and scores[phrase] >= MIN_PHRASE_SHARE * scores[ranked[0]] > 0.0:
                shown.append(usage.most_common_form(phrase))
                taken.update(phrase)
        return shown

    def _score_phrase(self, phrase: Phrase, usage: "_PhraseUsage") -> float:
        """Return how well a phrase describes the texts.

        Days and numbers alone score 0. So does a phrase with a pleasantry, or with a vague word at its end, and one
        whose words stand together only once, unless it is a name.
        """
        weights, count = [self.base_weights[term] for term in phrase], usage.text_counts[phrase]
        nounlike = usage.noun_factor(phrase[-1])
        if min(weights) >= NAME_WEIGHT:
            nounlike = max(nounlike, MIN_NOUN_FACTOR)
        if len(phrase) == 1:
            return 0.0 if weights[0] == NUMBER_WEIGHT else _frequency_weight(weights[0], count) * nounlike
        phrase_weights = [VAGUE_PHRASE_WEIGHT if weight == VAGUE_WEIGHT else weight for weight in weights]
        if (
            (count < 2 and min(weights) < NAME_WEIGHT)
            or min(phrase_weights) < NUMBER_WEIGHT
            or weights[-1] == VAGUE_WEIGHT
        ):
            return 0.0
        return (
            _frequency_weight(sum(phrase_weights) / len(phrase_weights), count)
            * max(nounlike, MIN_NOUN_FACTOR)
            * PHRASE_FACTOR
        )


def _frequency_weight(weight: float, count: int) -> float:
    """Return the weight of a term that `count` texts have; a pleasantry gains nothing by it."""
    return weight * math.log2(1 + count) if weight >= NUMBER_WEIGHT else weight


def _name_prefix_lengths(name: str) -> Iterable[int]:
    """Return how many letters of a name people may use: all, or any prefix of two or more."""
    return {len(name), *range(2, len(name))}


def _base_weight(term: str, proper: Set[str]) -> float:
    """Return the weight of a term by itself."""
    if term.isdigit() or term in calendar_terms():
        return NUMBER_WEIGHT
    if term in proper:
        return NAME_WEIGHT
    if term in vague_terms():
        return VAGUE_WEIGHT
    if term in pleasantry_terms() or (len(term) < 3 and (term.isascii() or JOINING_LETTERS.search(term))):
        return PLEASANTRY_WEIGHT
    return 1.0


class _PhraseWord(NamedTuple):
    """A word that has terms, as written."""

    written: str
    terms: tuple[str, ...]
    begins: bool
    """Whether a sentence may begin with it, so that its capital carries no information."""
    joined: bool
    """Whether it follows another word with at most a blank between them."""
    noun: bool | None
    """Whether it is a noun, judged by the stop word before it; None if that is unclear."""


def _find_words(sentence: str) -> list[_PhraseWord]:
    """Return the words of a sentence that have terms.

    In scripts without blanks, these are pairs of letters.
    """
    sentence = _strip_addresses(sentence[:MAX_SENTENCE_CHARS])
    words, end, follows = list[_PhraseWord](), -1, False
    noun: bool | None = None
    for match in _WORD.finditer(sentence):
        written = match[0].strip(_SURROUNDING_MARKS)
        if not written:
            continue
        start = match.start() + match[0].index(written)
        blank = start == end + 1 and sentence[end] == " "
        begins = end < 0 or _SENTENCE_BREAK.search(sentence, end, start) is not None
        end, terms = start + len(written), tuple(tokenize(written))
        if not terms:
            noun = _LEADS_TO_NOUN.get(written.lower())
        elif _UNSPACED.search(written):
            words += _pair_words(terms)
        else:
            if blank and follows and words[-1].noun:
                words[-1] = words[-1]._replace(noun=None)  # it belongs to the next word, which is the noun
            elif follows or not blank:
                noun = None
            words.append(_PhraseWord(written, terms, begins, blank and follows, noun))
        follows = bool(terms)
    return words


def _pair_words(pairs: Sequence[str]) -> list[_PhraseWord]:
    """Return every two neighboring letters as a word, which shares a letter with the next."""
    return [_PhraseWord(pair, (pair,), begins=False, joined=place > 0, noun=None) for place, pair in enumerate(pairs)]


def _find_runs(words: Sequence[_PhraseWord], known_terms: frozenset[str]) -> list[list[_PhraseWord]]:
    """Return the runs of consecutive words with these terms; numbers are left out."""
    runs, in_run = list[list[_PhraseWord]](), False
    for word in words:
        fits = len(word.written) <= MAX_WORD_CHARS and known_terms.issuperset(word.terms)
        fits = fits and not all(map(str.isdigit, word.terms)) and not _UNSEGMENTED.search(word.written)
        if fits and in_run and word.joined:
            runs[-1].append(word)
        elif fits:
            runs.append([word])
        in_run = fits
    return runs


class _PhraseUsage:
    """How phrases are used: in how many texts, in which spellings, and whether as nouns."""

    def __init__(self) -> None:
        self.text_counts = Counter[Phrase]()
        """In how many texts each phrase occurs."""
        self._forms_within: dict[Phrase, Counter[str]] = {}
        self._forms_at_start: dict[Phrase, Counter[str]] = {}
        """The spellings of each phrase inside sentences and at their start."""
        self._judged_counts, self._noun_counts = Counter[str](), Counter[str]()
        """How often it is clear whether a term is a noun, and how often it is one."""
        self._noun_form_counts = Counter[str]()
        """How often each spelling ends with a noun."""

    def add_text(self, runs: Sequence[Sequence[_PhraseWord]]) -> None:
        """Count the phrases of one text."""
        phrases = dict[Phrase, None]()
        for run in runs:
            for first, word in enumerate(run):
                if word.noun is not None:
                    self._judged_counts.update(word.terms)
                    self._noun_counts.update(word.terms if word.noun else ())
                for end in range(first + 1, min(first + MAX_PHRASE_WORDS, len(run)) + 1):
                    phrase = tuple([term for one in run[first:end] for term in one.terms])
                    forms = self._forms_at_start if word.begins else self._forms_within
                    written = _join_words(run[first:end])
                    forms.setdefault(phrase, Counter())[written] += 1
                    self._noun_form_counts[written] += run[end - 1].noun is True
                    phrases[phrase] = None
        self.text_counts.update(list(phrases))

    def noun_factor(self, term: str) -> float:
        """Return how likely the term is a noun; 1 without evidence."""
        return 0.25 + 1.5 * (self._noun_counts[term] + 1) / (self._judged_counts[term] + 2)

    def most_common_form(self, phrase: Phrase) -> str:
        """Return the most frequent spelling; sentence starts count only if there is no other."""
        forms = self._forms_within.get(phrase) or self._forms_at_start[phrase]
        written = min(forms, key=lambda form: (-forms[form], -self._noun_form_counts[form], form))
        ordinary = phrase not in self._forms_within and _ORDINARY_ENDING.search(written) and written[1:].islower()
        return written.lower() if ordinary else written


def _join_words(words: Sequence[_PhraseWord]) -> str:
    """Join the words with blanks, or without the letter that each shares with the next."""
    phrase = words[0].written
    for word in words[1:]:
        if _UNSPACED.search(word.written):
            shared = next((k for k in range(1, len(word.written)) if phrase.endswith(word.written[:k])), 0)
            phrase += word.written[shared:]
        else:
            phrase = f"{phrase} {word.written}"
    return _POSSESSIVE.sub("", phrase)


def _strip_addresses(text: str) -> str:
    return _ADDRESS.sub("|", text) if "://" in text or "www." in text else text


_ENGLISH = load_data_file("recollect.text", "en/keywords.toml")

_LEADS_TO_NOUN = {
    **dict.fromkeys(_ENGLISH.words("before.nouns"), True),
    **dict.fromkeys(_ENGLISH.words("before.others"), False),
}
"""Stop words, and whether the last word before the next stop word is then a noun."""

_ORDINARY_ENDING = re.compile(_ENGLISH.pattern("patterns.ordinary_ending"))
"""Endings of words that are hardly names."""

_CAPITALIZED_WORD = re.compile(r"(?<=[\w,;] )[A-ZÀ-ÖØ-ÞΑ-ΩА-Я][\w'’&-]*")
_ADDRESS = re.compile(r"(?:https?://|www\.)\S+")
_SENTENCE_BREAK = re.compile(r"[^\s,;&/-]")
_WORD = re.compile(r"[^\s,;:!?()\[\]{}\"“”„«»<>|/\\=+*#~^`…—–。，、；：？！｡「」『』（）【】《》〈〉・·•]+")
"""A word as it is shown: everything between blanks, brackets and punctuation; stores keep the topics made of them."""

_SURROUNDING_MARKS = ".'’‘ʼ-_&@$%€£"
_POSSESSIVE = re.compile(r"['’ʼ]s$")
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\u30ff\u31f0-\u31ff\u3400-\u9fff\ua9e0-\ua9ff\uaa60-\uaa7f"
    "\uf900-\ufaff\U0001aff0-\U0001b16f\U00020000-\U0003ffff]"
)
"""Scripts without blanks between words."""

_UNSEGMENTED = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\ua9e0-\ua9ff\uaa60-\uaa7f]")
"""Those of these scripts in which two letters are seldom a word."""


@cache
def pleasantry_terms() -> frozenset[str]:
    """Return the terms of words that fit any topic."""
    return frozenset(tokenize(" ".join(map(_ENGLISH.text, ("greetings", "small_talk", "foreign")))))


@cache
def calendar_terms() -> frozenset[str]:
    """Return the terms of days and months, which are written like names."""
    days = (*WEEKDAYS, *(name[:3] for name in WEEKDAYS), *SHORT_WEEKDAYS)
    return frozenset(tokenize(" ".join([*MONTHS, *SHORT_MONTHS, *days])))


@cache
def vague_terms() -> frozenset[str]:
    """Return the terms of words that mean something only together with others."""
    return frozenset(tokenize(_ENGLISH.text("vague")))


JOINING_LETTERS = re.compile(_ENGLISH.pattern("patterns.joining_letters"))
"""Letters that connect Chinese and Japanese sentences; a pair with one of them is seldom a word."""
