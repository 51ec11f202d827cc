"""Canonical form of a sentence: drop what carries no meaning, use one wording for the rest.

In reading order: synonyms, courtesies ("please note that …"), word order, and the steps that build the canonical form.
The words are in `en/paraphrase.toml`. Stored keys depend on all of it: a change needs a new `VERSION` in `paraphrase`.
"""

from collections.abc import Callable, Sequence
from itertools import chain

from recollect.text.amounts import NUMBER_WORDS, ORDINAL, merge_units, parse_number_words
from recollect.text.data_files import load_data_file
from recollect.text.lexer import COMMA, POSSESSIVE, Token, TokenKind, classify_word, singularize
from recollect.text.lexicon import (
    AUXILIARIES,
    CASE_SENSITIVE_NOUNS,
    FUNCTION_WORDS,
    MONTHS,
    RECURRING_TIMES,
    REPORTING_VERBS,
    VERB_FORMS,
    VERB_MONTHS,
    WEEKDAYS,
    to_american,
)

_WORDS = load_data_file("recollect.text", "en/paraphrase.toml")


def _word_set(key: str) -> frozenset[str]:
    return frozenset(_WORDS.words(key))


def exchange_synonyms(sentence: list[Token]) -> list[Token]:
    """Replace interchangeable words and phrases by one of them.

    A sentence without any of `SYNONYM_TRIGGERS` comes back unchanged.
    """
    result: list[Token] = []
    at = 0
    while at < len(sentence):
        for phrase, instead in _SYNONYM_PHRASES.get(sentence[at].key, ()):
            if _matches_phrase(sentence, at, phrase) and not _is_in_name(sentence, at, len(phrase)):
                written = " ".join(token.text for token in sentence[at : at + len(phrase)])
                named = any(token.kind == "name" for token in sentence[at : at + len(phrase)])
                result += [Token(word, "name" if named else classify_word(word), written) for word in instead]
                at += len(phrase)
                break
        else:
            result.append(sentence[at])
            at += 1
    return result


def _matches_phrase(sentence: Sequence[Token], at: int, phrase: Sequence[str]) -> bool:
    """Return whether the sentence has the phrase at this place."""
    if len(sentence) - at < len(phrase):
        return False
    for word in phrase:
        if sentence[at].key != word:
            return False
        at += 1
    return True


def _is_in_name(sentence: Sequence[Token], at: int, length: int) -> bool:
    """Return whether the words there are (part of) a name, in which no word is replaced."""
    first = sentence[at]
    if at == 0:
        after = sentence[length] if length < len(sentence) else None
        return first.key in _KIN_TITLES and first.text[:1].isupper() and after is not None and after.kind == "name"
    if first.key in _PROPER_NOUNS or first.key in _WORDS_BEFORE_DAY:
        return False
    return any(token.kind == "name" and token.text[1:].islower() for token in sentence[at : at + length])


_KIN_TITLES = _word_set("names.kin_titles")
_PROPER_NOUNS = _word_set("names.proper_nouns")
_WORDS_BEFORE_DAY = _word_set("names.before_day")

_Phrase = tuple[str, ...]


def _read_synonyms() -> dict[str, list[tuple[_Phrase, _Phrase]]]:
    """Return the phrases that are replaced and what replaces them, by first word and with the longest first."""
    pairs = [
        (tuple(way.split()), tuple(instead.split()))
        for instead, ways in _WORDS.mapping("synonyms").items()
        for way in ways.split("|")
    ]
    for day in WEEKDAYS:
        for way, kept in _WORDS.mapping("weekdays").items():
            wording = way.format(day=day, short=day[:3])
            pairs.append((tuple(wording.split()), tuple(kept.format(day=day).split())))
    by_first_word: dict[str, list[tuple[_Phrase, _Phrase]]] = {}
    for phrase, instead in pairs:
        by_first_word.setdefault(phrase[0], []).append((phrase, instead))
    return {word: sorted(ways, key=lambda pair: (-len(pair[0]), pair)) for word, ways in by_first_word.items()}


_SYNONYM_PHRASES = _read_synonyms()
_COMMON_WORDS = _word_set("matching.common_words")
SYNONYM_TRIGGERS = frozenset(
    max(phrase, key=lambda word: (word not in _COMMON_WORDS, len(word)))
    for ways in _SYNONYM_PHRASES.values()
    for phrase, _ in ways
)
"""The rarest word, roughly, of each phrase that can be replaced; a sentence without any of them has no synonym."""


def strip_courtesies(sentence: list[Token]) -> list[Token]:
    """Strip openings such as "please note that" and a closing "thanks".

    If an opening is a request ("could you please"), the question mark goes as well.
    """
    start, is_request = 0, False
    while phrase := _match_opening(sentence, start):
        start, is_request = start + len(phrase), is_request or phrase in _REQUEST_PHRASES
    sentence = _strip_thanks(sentence)
    if is_request:
        sentence = [token for token in sentence if token.key != "?"]
    if start == 0 or start >= len(sentence):
        return sentence
    first = sentence[start]
    lowered = first.text.lower()
    if lowered in FUNCTION_WORDS and first.text[1:].islower():
        first = Token(to_american(lowered), classify_word(lowered), first.text)
    return [first, *sentence[start + 1 :]]


def _match_opening(sentence: Sequence[Token], at: int) -> tuple[str, ...]:
    """Return the opening phrase at this place if something follows it, else an empty tuple."""
    for phrase in _OPENING_PHRASES.get(sentence[at].key, ()):
        if at + len(phrase) < len(sentence) and _matches_phrase(sentence, at, phrase):
            return phrase
    return ()


def _strip_thanks(sentence: list[Token]) -> list[Token]:
    """Strip a closing "thanks", "thank you" or "please" after a comma."""
    if sentence[-1].key not in _THANKS_LAST_WORDS:
        return sentence
    for thanks in _THANKS_PHRASES:
        if len(sentence) > len(thanks) + 1 and _matches_phrase(sentence, len(sentence) - len(thanks), thanks):
            return sentence[: -len(thanks)]
    return sentence


def is_greeting(sentence: Sequence[Token]) -> bool:
    """Return whether the sentence is only a greeting or thanks."""
    return len(sentence) <= _MAX_GREETING_WORDS and tuple([token.key for token in sentence]) in _GREETINGS


def _phrases(key: str) -> list[tuple[str, ...]]:
    return [tuple(line.split()) for line in _WORDS.lines(key)]


def _read_openings() -> dict[str, list[tuple[str, ...]]]:
    """Return the openings by first word, the longest first and requests last."""
    openings: dict[str, list[tuple[str, ...]]] = {}
    for phrase in sorted(_phrases("courtesies.openings"), key=lambda phrase: (-len(phrase), phrase)):
        openings.setdefault(phrase[0], []).append(phrase)
    for phrase in _phrases("courtesies.requests"):
        openings.setdefault(phrase[0], []).append(phrase)
    return openings


_OPENING_PHRASES = _read_openings()
_REQUEST_PHRASES = frozenset(_phrases("courtesies.requests"))
_THANKS_PHRASES = tuple(_phrases("courtesies.thanks"))
_THANKS_LAST_WORDS = frozenset(thanks[-1] for thanks in _THANKS_PHRASES)
_GREETINGS = frozenset(_phrases("courtesies.greetings"))
_MAX_GREETING_WORDS = max(map(len, _GREETINGS))

_MAX_PHRASE_TOKENS = 8


def normalize_order(sentence: list[Token]) -> list[Token]:
    """Move a time or condition from the front to the end, and sort the times at the end."""
    question_mark = sentence[-1:] if sentence and sentence[-1].key == "?" else []
    tokens = sentence[:-1] if question_mark else sentence
    front = _front_length(tokens)
    if front:
        rest = tokens[front:]
        if rest[0].key == ",":
            rest = rest[1:]
        tokens = rest + tokens[:front]
    return _sort_times(tokens) + question_mark if tokens else tokens


def _front_length(sentence: list[Token]) -> int:
    """Return how many tokens at the front can move to the end; 0 if that may change the meaning."""
    end = _time_phrase_end(sentence, 0)
    timely = end > 0
    if not timely and sentence and sentence[0].key in _FRONTABLE_WORDS:
        commas = [at for at, token in enumerate(sentence[: _MAX_PHRASE_TOKENS + 2]) if token.key == ","]
        end = commas[0] if commas else 0
    rest = sentence[end + 1 :] if end < len(sentence) and sentence[end].key == "," else sentence[end:]
    if (
        not end
        or not rest
        or rest[0].key in AUXILIARIES
        or rest[0].key in _NEVER_AFTER_FRONT
        or rest[0].key in VERB_FORMS
    ):
        return 0
    if len(rest) < 2 or any(_may_attract(rest, at, timely=timely) for at in range(len(rest))):
        return 0
    return end


def _may_attract(rest: Sequence[Token], at: int, *, timely: bool) -> bool:
    """Return whether a phrase at the end may attach to this token instead of the sentence."""
    token = rest[at]
    if token.key in _CLAUSE_WORDS or token.key in REPORTING_VERBS or (at > 2 and token.key in _EVENT_NOUNS):
        return True
    if token.key == "to":
        after = rest[at + 1] if at + 1 < len(rest) else None
        return after is None or (after.kind == "word" and after.key not in _TIME_WORDS)
    return not timely and (token.kind == "negation" or token.key == "only")


def _time_phrase_end(sentence: Sequence[Token], at: int) -> int:
    """Return where the time phrase that starts here ends; `at` itself if there is none."""
    start = at
    if at < len(sentence) and sentence[at].key in _TIME_PREPOSITIONS:
        at += 1
    prepositional = at > start
    while at < len(sentence) and at - start < _MAX_PHRASE_TOKENS and sentence[at].key in _TIME_DETERMINERS:
        at += 1
    begin = at
    if begin == start and at < len(sentence):  # alone, only what is never a name or a subject
        token = sentence[at]
        if token.kind not in ("date", "time") and token.key not in _BARE_TIMES:
            return start
    while at < len(sentence) and at - start < _MAX_PHRASE_TOKENS and _is_time(sentence[at], yearly=prepositional):
        at += 1
    return at if at > begin else start


def _is_time(token: Token, *, yearly: bool) -> bool:
    if token.kind in ("date", "time") or token.key in _TIME_WORDS:
        return True
    return yearly and token.kind == "number" and len(token.key) == 4 and token.key[0] in "12"


def _sort_times(sentence: list[Token]) -> list[Token]:
    """Sort adjacent time phrases at the end of the sentence."""
    if not _is_time(sentence[-1], yearly=True):
        return sentence
    phrases: list[tuple[int, int]] = []
    at = 0
    while at < len(sentence):
        end = _time_phrase_end(sentence, at)
        if end > at:
            if not phrases or phrases[-1][1] != at:
                phrases = []
            phrases.append((at, end))
            at = end
        else:
            at += 1
    if len(phrases) < 2 or phrases[-1][1] != len(sentence):
        return sentence
    openings = [sentence[start].key for start, _ in phrases]
    if len(set(openings)) != len(openings):
        return sentence
    parts = sorted((sentence[start:end] for start, end in phrases), key=lambda part: [token.key for token in part])
    return sentence[: phrases[0][0]] + [token for part in parts for token in part]


_TIME_WORDS = frozenset({*WEEKDAYS, *RECURRING_TIMES, *MONTHS, *_WORDS.words("order.time_words")}) - VERB_MONTHS
_BARE_TIMES = _word_set("order.bare_times")
_TIME_PREPOSITIONS = _word_set("order.time_prepositions")
_TIME_DETERMINERS = _word_set("order.time_determiners")
_FRONTABLE_WORDS = _word_set("order.frontable_words")
_NEVER_AFTER_FRONT = _word_set("order.never_after_front")
_CLAUSE_WORDS = _word_set("order.clause_words")
_EVENT_NOUNS = _word_set("order.events")


def canonicalize_sentence(sentence: list[Token]) -> list[Token]:
    """Return the canonical form of a non-empty sentence; it may be empty, as that of a mere courtesy."""
    keys = set(chain.from_iterable(sentence))  # keys mixed with kinds and texts: a needless step only costs time
    if not CASE_SENSITIVE_NOUNS.isdisjoint(keys):
        sentence = _restore_case(sentence)
    short = not _SHORT_FORMS.isdisjoint(keys)
    tokens = strip_courtesies(_mark_first_name(_expand_contractions(sentence) if short else sentence))
    if short or len(tokens) < len(sentence):
        keys = set(chain.from_iterable(tokens))
    for needed, reworded in _REWRITE_STEPS:
        if not needed.isdisjoint(keys) and (changed := reworded(tokens)) != tokens:
            tokens = changed
            keys = set(chain.from_iterable(tokens))
    if not _AGREEMENT_WORDS.isdisjoint(keys):
        tokens = _normalize_agreement(tokens)
    for needed, shortened in _REMOVAL_STEPS:
        if not needed.isdisjoint(keys):
            tokens = shortened(tokens)
    return normalize_order(tokens)


def _restore_case(sentence: list[Token]) -> list[Token]:
    """Restore the case of all words but the first, for sentences about case-sensitive things."""
    return [
        token._replace(key=token.text)
        if at and token.text.lower() == token.key != token.text and token.key not in FUNCTION_WORDS
        else token
        for at, token in enumerate(sentence)
    ]


def _mark_first_name(sentence: list[Token]) -> list[Token]:
    """Mark the first word as a name if it is written and used like one."""
    first = sentence[0]
    if len(sentence) > 1 and first.kind == "word" and first.text[:1].isupper() and first.key not in FUNCTION_WORDS:
        after = sentence[1]
        if after.key in VERB_FORMS or after.key in AUXILIARIES or after.key == POSSESSIVE or after.kind == "name":
            return [Token(first.key, "name", first.text), *sentence[1:]]
    return sentence


def _expand_contractions(sentence: list[Token]) -> list[Token]:
    """Expand 's and 'd to full words where that is certain."""
    result = list(sentence)
    for at in range(1, len(result)):
        token, before = result[at], result[at - 1].key
        after = result[at + 1].key if at + 1 < len(result) else ""
        if token.key == POSSESSIVE and before in _WORDS_BEFORE_IS:
            if after in _WORDS_AFTER_HAS:
                result[at] = token._replace(key="have")
            elif after and not after.endswith(_PARTICIPLE_ENDINGS) and after not in _PARTICIPLES:
                result[at] = token._replace(key="is")
        elif token.key == POSSESSIVE and after in _WORDS_AFTER_IS:
            result[at] = token._replace(key="is")
        elif token.key == "'d" and after in _WISH_VERBS:
            result[at] = token._replace(key="would", kind="modality")
    return result


_SHORT_FORMS = frozenset({POSSESSIVE, "'d"})
_WORDS_BEFORE_IS = _word_set("contractions.before_is")
_WORDS_AFTER_HAS = _word_set("contractions.after_has")
_WORDS_AFTER_IS = _word_set("contractions.after_is")
_PARTICIPLE_ENDINGS = _WORDS.words("contractions.participle_endings")
_PARTICIPLES = _word_set("contractions.participles")
_WISH_VERBS = _word_set("contractions.wishes")


def _normalize_agreement(sentence: list[Token]) -> list[Token]:
    """Undo verb agreement, and put nouns after "prefer" in the singular."""
    result: list[Token] = []
    after_prefer = False
    for token in sentence:
        agreed = Token(VERB_FORMS[token.key], token.kind, token.text) if token.key in VERB_FORMS else token
        after_prefer = after_prefer or agreed.key in _PREFERENCE_VERBS
        result.append(Token(singularize(agreed), agreed.kind, agreed.text) if after_prefer else agreed)
    return result


_PREFERENCE_VERBS = _word_set("articles.preference_verbs")
"""After these verbs singular and plural mean the same: "prefers a window seat", "prefers window seats"."""

_AGREEMENT_WORDS = _PREFERENCE_VERBS | VERB_FORMS.keys()


def _strip_fillers(sentence: list[Token]) -> list[Token]:
    return [
        token for at, token in enumerate(sentence) if token.key not in _POSSIBLE_FILLERS or not _is_filler(sentence, at)
    ]


def _is_filler(sentence: Sequence[Token], at: int) -> bool:
    """Return whether the sentence means the same without this token."""
    key = sentence[at].key
    before = sentence[at - 1] if at else None
    after = sentence[at + 1].key if at + 1 < len(sentence) else ""
    if key in _FILLERS:
        return len(sentence) > 1 and (before is None or before.kind != "negation")
    if key == "just":
        return after in _VERBS_AFTER_JUST
    if before is None:
        return False
    match key:
        case ":":
            return before.key in REPORTING_VERBS
        case "that":
            return before.key in _STATING_VERBS and after not in AUXILIARIES
        case _:
            return after in ("", "?")


_FILLERS = _word_set("fillers.anywhere")
_POSSIBLE_FILLERS = _FILLERS | {"just", "too", "please", ":", "that"}
_VERBS_AFTER_JUST = _word_set("fillers.after_just")
_STATING_VERBS = _word_set("fillers.stating_verbs")


def _normalize_articles(sentence: list[Token]) -> list[Token]:
    """Drop "the", and write other articles as "a"; before a number they go too.

    After "prefer" it is the other way round: "the" stays and "a" goes, unless "a" carries meaning.
    """
    result: list[Token] = []
    last = len(sentence) - 1
    after_prefer = False
    for at, token in enumerate(sentence):
        key = token.key
        after_prefer = after_prefer or key in _PREFERENCE_VERBS
        if key not in _ARTICLES or at == last:
            result.append(token)
        elif key == "the":
            if after_prefer:
                result.append(token)
        elif _keeps_article(sentence, at, after_prefer=after_prefer):
            result.append(token if key == "a" else Token("a", token.kind, token.text))
    return result


_ARTICLES = _word_set("articles.articles")


def _keeps_article(sentence: Sequence[Token], at: int, *, after_prefer: bool) -> bool:
    """Return whether "a" carries meaning here.

    It does in "a CEO", "a few", "a third" and "plan A"; not in "a dozen", which is a number.
    """
    after = sentence[at + 1]
    if after.key in _QUANTITIES_AFTER_A or ORDINAL.fullmatch(after.key) or after.key in (",", ":", "?"):
        return True
    if after.key in AUXILIARIES or (after.kind != "number" and not after_prefer):
        return True
    return sentence[at].key == "a" and at > 0 and sentence[at - 1].key in _LETTERED_NOUNS


_LETTERED_NOUNS = _word_set("articles.lettered_nouns")
_QUANTITIES_AFTER_A = _word_set("articles.quantities_after_a")


def _normalize_punctuation(sentence: list[Token]) -> list[Token]:
    """Drop commas and marks that change nothing; a dash becomes a comma, or "to" between numbers."""
    result: list[Token] = []
    last = len(sentence) - 1
    for at, token in enumerate(sentence):
        if token.key not in _COMMA_KEYS:
            result.append(token)
            continue
        if token.key == "-" and result and at == last:  # standard input, or an option
            result.append(token)
        if not result or at == last:
            continue
        before, after = result[-1], sentence[at + 1]
        if token.key == "-" and before.kind in _NUMERIC_KINDS and after.kind in _NUMERIC_KINDS:
            result.append(Token("to", token.kind, token.text))
            continue
        if token.key == "-" and before.kind == "number":
            continue
        if token.key == "-" and len(before.key) == len(after.key) == 1:  # a difference, as in "a - b"
            result.append(token)
            continue
        if before.key not in _TRAILING_MARKS and after.key not in _KEYS_AFTER_COMMA:
            result.append(COMMA)
    while result and result[-1].key in _TRAILING_MARKS:
        result.pop()
    return result


_COMMA_KEYS = frozenset({",", "-"})
_TRAILING_MARKS = frozenset({",", ":"})
_KEYS_AFTER_COMMA = _word_set("commas.dropped_before")
_NUMERIC_KINDS: frozenset[TokenKind] = frozenset({"number", "date", "time", "unit"})


_RewriteStep = tuple[frozenset[str], Callable[[list[Token]], list[Token]]]
"""Words or kinds without which a step is skipped, and the step itself."""

_REWRITE_STEPS: tuple[_RewriteStep, ...] = (
    (SYNONYM_TRIGGERS, exchange_synonyms),
    (NUMBER_WORDS, parse_number_words),
    (frozenset({"number"}), merge_units),
)
_REMOVAL_STEPS: tuple[_RewriteStep, ...] = (
    (_POSSIBLE_FILLERS, _strip_fillers),
    (_ARTICLES, _normalize_articles),
    (_COMMA_KEYS | _TRAILING_MARKS, _normalize_punctuation),
)
"""Last steps. They add no word that another of them looks for, so the words before them decide which are needed."""
