"""Keywords: what several texts are about, as weighted terms and as readable phrases.

The word lists at the end hold words that fit any topic, and therefore weigh little.
"""

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

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
"""Weight of a speaker's name: it stands before everything they say."""

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
    found = _CAPITALIZED_WORD.findall(text)
    return tokenize(" ".join(found)) if found else []


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
        having, times = Counter[str](), Counter[str]()
        for text in texts:
            times.update(text)
            having.update(list(dict.fromkeys(text)))
        proper = {term for term, count in Counter(named).items() if 2 * count > times[term]}
        called = {
            name[:end] for speaker in speakers for name in tokenize(speaker) for end in _name_prefix_lengths(name)
        }
        return cls(having, {term: SPEAKER_WEIGHT if term in called else _base_weight(term, proper) for term in having})

    def weights(self) -> dict[str, float]:
        """Return the weight of each term; it grows with the logarithm of its number of texts."""
        return {term: _frequency_weight(self.base_weights[term], count) for term, count in self.text_counts.items()}

    def top_phrases(self, texts: Sequence[Sequence[str]]) -> list[str]:
        """Return the phrases that describe the texts best, best first; no two share a term.

        Each text is given as its sentences. Words are shown in their most frequent spelling.
        """
        weights = self.weights()
        best = sorted(weights, key=lambda term: -weights[term])[:MAX_TERMS]  # of equals, the first ones
        read, uses = vague_terms().union(best), _PhraseUsage()
        for sentences in texts:
            uses.add_text([run for sentence in sentences for run in _find_runs(_find_words(sentence), read)])
        scores = {phrase: self._score_phrase(phrase, uses) for phrase in uses.having}
        ranked = sorted(scores, key=lambda phrase: (-scores[phrase], -len(phrase)))
        shown, taken = list[str](), set[str]()
        for phrase in ranked:
            if taken.isdisjoint(phrase) and scores[phrase] >= MIN_PHRASE_SHARE * scores[ranked[0]] > 0.0:
                shown.append(uses.most_common_form(phrase))
                taken.update(phrase)
        return shown

    def _score_phrase(self, phrase: Phrase, uses: "_PhraseUsage") -> float:
        """Return how well a phrase describes the texts.

        Days and numbers alone score 0. So does a phrase with a pleasantry, or with a vague word at its end, and one
        whose words stand together only once, unless it is a name.
        """
        colours, count = [self.base_weights[term] for term in phrase], uses.having[phrase]
        nounlike = uses.noun_factor(phrase[-1])
        if min(colours) >= NAME_WEIGHT:
            nounlike = max(nounlike, MIN_NOUN_FACTOR)
        if len(phrase) == 1:
            return 0.0 if colours[0] == NUMBER_WEIGHT else _frequency_weight(colours[0], count) * nounlike
        together = [VAGUE_PHRASE_WEIGHT if colour == VAGUE_WEIGHT else colour for colour in colours]
        if (count < 2 and min(colours) < NAME_WEIGHT) or min(together) < NUMBER_WEIGHT or colours[-1] == VAGUE_WEIGHT:
            return 0.0
        return _frequency_weight(sum(together) / len(together), count) * max(nounlike, MIN_NOUN_FACTOR) * PHRASE_FACTOR


def _frequency_weight(colour: float, count: int) -> float:
    """Return the weight of a term that `count` texts have; a pleasantry gains nothing by it."""
    return colour * math.log2(1 + count) if colour >= NUMBER_WEIGHT else colour


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
    """Whether it is a noun, judged by the stop word before it; None where that does not tell."""


def _find_words(sentence: str) -> list[_PhraseWord]:
    """Return the words of a sentence that have terms.

    In scripts without blanks, these are pairs of letters.
    """
    sentence = _strip_addresses(sentence[:MAX_SENTENCE_CHARS])
    found, end, follows = list[_PhraseWord](), -1, False
    noun: bool | None = None
    for match in _WORD.finditer(sentence):
        written = match[0].strip(_SURROUNDING_MARKS)
        if not written:
            continue
        start = match.start() + match[0].index(written)
        blank = start == end + 1 and sentence[end] == " "
        begins = end < 0 or _SENTENCE_BREAK.search(sentence, end, start) is not None
        end, known = start + len(written), tuple(tokenize(written))
        if not known:
            noun = _LEADS_TO_NOUN.get(written.lower())
        elif _UNSPACED.search(written):
            found += _pair_words(known)
        else:
            if blank and follows and found[-1].noun:
                found[-1] = found[-1]._replace(noun=None)  # it belongs to the next word, which is the noun
            elif follows or not blank:
                noun = None
            found.append(_PhraseWord(written, known, begins, blank and follows, noun))
        follows = bool(known)
    return found


def _pair_words(pairs: Sequence[str]) -> list[_PhraseWord]:
    """Return every two neighboring letters as a word, which shares a letter with the next."""
    return [_PhraseWord(pair, (pair,), begins=False, joined=place > 0, noun=None) for place, pair in enumerate(pairs)]


def _find_runs(words: Sequence[_PhraseWord], best: frozenset[str]) -> list[list[_PhraseWord]]:
    """Return the runs of consecutive words with these terms; numbers are left out."""
    runs, going = list[list[_PhraseWord]](), False
    for word in words:
        fits = len(word.written) <= MAX_WORD_CHARS and best.issuperset(word.terms)
        fits = fits and not all(map(str.isdigit, word.terms)) and not _UNSEGMENTED.search(word.written)
        if fits and going and word.joined:
            runs[-1].append(word)
        elif fits:
            runs.append([word])
        going = fits
    return runs


class _PhraseUsage:
    """How phrases are used: in how many texts, in which spellings, and whether as nouns."""

    def __init__(self) -> None:
        self.having = Counter[Phrase]()
        self._inside: dict[Phrase, Counter[str]] = {}
        self._first: dict[Phrase, Counter[str]] = {}
        self._nouns, self._told = Counter[str](), Counter[str]()
        self._naming = Counter[str]()

    def add_text(self, runs: Sequence[Sequence[_PhraseWord]]) -> None:
        """Count the phrases of one text."""
        met = dict[Phrase, None]()
        for run in runs:
            for first, word in enumerate(run):
                if word.noun is not None:
                    self._told.update(word.terms)
                    self._nouns.update(word.terms if word.noun else ())
                for end in range(first + 1, min(first + MAX_PHRASE_WORDS, len(run)) + 1):
                    phrase = tuple([term for one in run[first:end] for term in one.terms])
                    forms = self._first if word.begins else self._inside
                    written = _join_words(run[first:end])
                    forms.setdefault(phrase, Counter())[written] += 1
                    self._naming[written] += run[end - 1].noun is True
                    met[phrase] = None
        self.having.update(list(met))

    def noun_factor(self, term: str) -> float:
        """Return how likely the term is a noun; 1 without evidence."""
        return 0.25 + 1.5 * (self._nouns[term] + 1) / (self._told[term] + 2)

    def most_common_form(self, phrase: Phrase) -> str:
        """Return the most frequent spelling; sentence starts count only if there is no other."""
        forms = self._inside.get(phrase) or self._first[phrase]
        written = min(forms, key=lambda form: (-forms[form], -self._naming[form], form))
        ordinary = phrase not in self._inside and _ORDINARY_ENDING.search(written) and written[1:].islower()
        return written.lower() if ordinary else written


def _join_words(words: Sequence[_PhraseWord]) -> str:
    """Join the words with blanks, or without the letter that each shares with the next."""
    told = words[0].written
    for word in words[1:]:
        if _UNSPACED.search(word.written):
            shared = next((k for k in range(1, len(word.written)) if told.endswith(word.written[:k])), 0)
            told += word.written[shared:]
        else:
            told = f"{told} {word.written}"
    return _POSSESSIVE.sub("", told)


def _strip_addresses(text: str) -> str:
    return _ADDRESS.sub("|", text) if "://" in text or "www." in text else text


_WORDS_BEFORE_NOUNS = """
a an the my your his her its our their this that these those some any no each every another of in on at for with about
from into by
"""
_WORDS_BEFORE_OTHERS = """
i you he she it we they who will would can could may might must should shall do does did don't doesn't didn't won't
can't i'll you'll we'll i'd you'd we'd am is are was were be been being i'm you're we're they're it's that's he's she's
so very too just more most not
"""
_LEADS_TO_NOUN = {
    **dict.fromkeys(_WORDS_BEFORE_NOUNS.split(), True),
    **dict.fromkeys(_WORDS_BEFORE_OTHERS.split(), False),
}
"""Stop words, and whether the last word before the next stop word is then a noun."""

_ORDINARY_ENDING = re.compile(r"(?:ing|ings|ed|tions?|ments?|ness|ity|ities|ship)$")
"""Endings of words that are hardly names."""

_CAPITALIZED_WORD = re.compile(r"(?<=[\w,;] )[A-ZÀ-ÖØ-ÞΑ-ΩА-Я][\w'’&-]*")
_ADDRESS = re.compile(r"(?:https?://|www\.)\S+")
_SENTENCE_BREAK = re.compile(r"[^\s,;&/-]")
_WORD = re.compile(r"[^\s,;:!?()\[\]{}\"“”„«»<>|/\\=+*#~^`…—–。，、；：？！｡「」『』（）【】《》〈〉・·•]+")
_SURROUNDING_MARKS = ".'’‘ʼ-_&@$%€£"
_POSSESSIVE = re.compile(r"['’ʼ]s$")
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\u30ff\u31f0-\u31ff\u3400-\u9fff\ua9e0-\ua9ff\uaa60-\uaa7f"
    "\uf900-\ufaff\U0001aff0-\U0001b16f\U00020000-\U0003ffff]"
)
"""Scripts without blanks between words."""

_UNSEGMENTED = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\ua9e0-\ua9ff\uaa60-\uaa7f]")
"""Those of these scripts in which two letters are seldom a word."""

_GREETINGS = """
absolutely afternoon ah aha alright amazing aw awesome aww awww beautiful brilliant btw bye cheers congrats
congratulations cool definitely evening exactly excellent fab fantastic fine fyi good goodbye gorgeous gosh gotcha
great ha haha hahaha hello hey hi hiya hm hmm hour huh image impressive incredible indeed lol lovely minute morning nah
nice night nope oh ok okay omg ooh pardon perfect photo pic picture please pm right second sorry stunning super sure
sweet terrific thank thx tonight totally uh um welcome whoa wonderful wow yay yeah yep yes yup
"""
_SMALL_TALK = """
able actually ago agree almost already always anybody anymore anyone anything anywhere apparently appreciate ask
available aware away back bad based basically became become believe best bet better big bit bright brighter bring
brought busy call care certain challenging check clear come completely connected considering contagious couple crazy
crucial curious current cute decent determined different difficult easy either else enjoy enough entire especially
essential even ever every everybody everyone everything everywhere excited experienced extra extremely fair familiar
far fave favorite favourite feel felt final find follow forward found fun funny gave general generous get give given
glad go goes gone gonna got gotta gotten grab grateful guess guy happen happy hear heard hectic help hold honest huge
humbling ideal imagine important including insane instead interested keen keep kept kind kinda knew know known large
last later learn least leave less lets like little look lot lucky made main make many matter maybe mean meaningful
meant memorable mention mind moment motivated much need nervous never new next nobody none nothing nowadays obvious
often one ordinary others overall particular past per perhaps popular positive pretty previous probably proper proud
put quick quite rather ready real really recent refreshing related remarkable remember rewarding rough sad said
satisfying saw say scary see seem seen send serious several share show similar simple since single small somebody
somehow someone something sometime somewhere soon sort sound special spend spent start stay still stop strong stuck
suggest supposed swamped take taken talk tell tend terrible thing think tho though thought three till today together
told tomorrow took top tough tricky tried true truly two understand unfortunately unique unless upon use user usual
various via wait wanna want warm watch well went whatever whenever wherever whether whole wild willing wise wish within
without worry worth wrong yesterday yet younger
"""
_VAGUE_WORDS = """
add alone along another anyways area around aspect balance beyond blast blown cause chance change comfort common
content continue cos count create cuz day deal dear decide decision deserve despite details early effect effort
encourage end energy ensure example experience explain express face fact fast fear figure fill first focus force form
free fresh full future gain gift goal grow growth half hang hard hit hopes however hug idea impact inspiration issue
item journey joy key lack late left level life list live loads long lost manage memories mine mix month mood move mtg
natural near number old open option otherwise overcome part path peace people person piece place plan plus point
possibility power present process progress push quality question rad realise realize reason recommend relax reminder
result rid risk scene sense set shame short side sit situation smile somewhat speak spoke spot spread state step
stories strength stress struggle stuff success suit support surprise tackle thrill time tips truth turn type vibe way
week weekend whatnot word work world year
"""
_FOREIGN_WORDS = """
aan aber algo ante auch auf aus aux avec bei bij bis ces cette che chi com comme como cuando dans das dass dat dei del
della dem der des desde deze dich dir dit doch donde dos een ein einem einen einer ela ele ella elle ellos entre est
esta esto está euch eux foi für gli haben hasta het hij hoe há ich ihm ihn ihr isso ist jij já kan kann las les leur
los lui maar mais mein meu mia mich mij minha mio mir mis mit moi mucho muito muy más même möchte naar nach nas nel
nella nicht niet noch nog nos nous nur não nós oder ons ook où para pas pela pelo perché pero più por porque quando que
qui quien schon sehr sem ses seu sich sie sind sobre sono sont sta sua sul suo sur sus são también também tem toi très
uit uma una und une uno você vom von voor vor vous waar wat weil wel wenn wie wij wir wird wordt zich zij zijn zum zur
à ça é él était être über а бы был было в вам вас во вот все вы да для до его ее если есть еще же за и из или им их к
как ко когда кто ли мне мы на не нет но ну о об он она они оно от по при с со так там то тоже только ты у уже что чтобы
это я
"""
"""Function words of other languages, except those that mean something in English."""

_CALENDAR_WORDS = """
apr april aug august dec december feb february fri friday jan january jul july jun june mar march mon monday nov
november oct october sat saturday sep sept september sun sunday thu thur thursday tue tuesday wed wednesday
"""


@cache
def pleasantry_terms() -> frozenset[str]:
    """Return the terms of words that fit any topic."""
    return frozenset(tokenize(" ".join((_GREETINGS, _SMALL_TALK, _FOREIGN_WORDS))))


@cache
def calendar_terms() -> frozenset[str]:
    """Return the terms of days and months, which are written like names."""
    return frozenset(tokenize(_CALENDAR_WORDS))


@cache
def vague_terms() -> frozenset[str]:
    """Return the terms of words that mean something only together with others."""
    return frozenset(tokenize(_VAGUE_WORDS))


JOINING_LETTERS = re.compile(
    "[\u3041-\u309f的了是我你他她它们在有和就不也都要吗呢吧啊这那个很会能着过到与及对把被让给但而或]"
)
"""Letters that connect Chinese and Japanese sentences; a pair with one of them is seldom a word."""
