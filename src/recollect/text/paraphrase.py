"""Paraphrases: texts with the same meaning share a canonical form, and so a key.

Stores look the key up; `compare_meanings` explains how two forms differ.
"""

import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b

from recollect.model.enums import Kind
from recollect.model.memory import Memory, build_embedded_text
from recollect.model.validation import to_nfc
from recollect.text.canonicalize import canonicalize_sentence, is_greeting
from recollect.text.lexer import LEADING_NUMBER, SENTENCE_BREAK, Token, TokenKind, tokenize_sentences

VERSION = "2"
"""Prefix of every key; any change to the canonical form of any text needs a new version."""

MAX_SHOWN_WORDS = 12
"""Maximum words of a difference that are shown."""


@dataclass(frozen=True, slots=True)
class SameMeaning:
    """The two texts mean the same."""


@dataclass(frozen=True, slots=True)
class MeaningDifference:
    """The difference that carries meaning: its kind, and how each text words it.

    A side is empty if its text lacks it.
    """

    kind: TokenKind
    old: str
    new: str


MeaningComparison = SameMeaning | MeaningDifference


def meaning_key(text: str) -> str:
    """Return a short key, equal for texts that differ only in what carries no meaning.

    That is case where it makes no other word, punctuation, a "the", contractions, fillers, agreement of verbs,
    spelling, notation of numbers, dates, times and units, the place of a time or a condition in its sentence, and a few
    words that can always be exchanged. Everything else carries meaning: in doubt, two texts differ.
    """
    form = "\n".join(canonical_keys(text))
    return f"{VERSION}:{blake2b(form.encode('utf-8', 'surrogatepass'), digest_size=16).hexdigest()}"


def compare_meanings(old: str, new: str) -> MeaningComparison:
    """Return the first difference that carries meaning, or `SameMeaning` if the forms are equal."""
    before, after = canonicalize_text(old), canonicalize_text(new)
    if [token.key for token in before] == [token.key for token in after]:
        return SameMeaning()
    before, after = _strip_common_ends(before, after)
    removed, added = _find_missing(before, after), _find_missing(after, before)
    if not removed and not added:
        return MeaningDifference("order", _render_tokens(before), _render_tokens(after))
    if (
        removed
        and added
        and removed[0].key.partition("·")[1]
        and _extract_figures(removed[0]) == _extract_figures(added[0])
    ):
        return MeaningDifference("unit", removed[0].text, added[0].text)
    kind = min((*removed, *added), key=lambda token: _KIND_PRIORITY.index(token.kind)).kind
    return MeaningDifference(
        kind, _render_tokens(_select_kind(removed, kind)), _render_tokens(_select_kind(added, kind))
    )


def canonical_keys(text: str) -> tuple[str, ...]:
    """Return the keys of the text's canonical form in order; at least one."""
    return tuple([token.key for token in canonicalize_text(text)])


def canonicalize_text(text: str) -> list[Token]:
    """Return the canonical form of a text; the text itself if nothing in it can be read."""
    composed = to_nfc(text)
    form: list[Token] = []
    for sentence in tokenize_sentences(composed):
        tokens = canonicalize_sentence(sentence) if sentence else sentence
        if tokens and not is_greeting(tokens):
            if form:
                form.append(SENTENCE_BREAK)
            form += tokens
    return form or [Token(f"={' '.join(composed.split())}", "text", composed)]


# ── how a difference is shown ────────────────────────────────────────────────────────────────────────────────────────

_KIND_PRIORITY: tuple[TokenKind, ...] = (
    "negation",
    "number",
    "date",
    "time",
    "unit",
    "name",
    "quantity",
    "modality",
    "question",
    "word",
    "text",
    "order",
)
"""Which kind is reported if a difference has several: the first of these."""


def _strip_common_ends(old: list[Token], new: list[Token]) -> tuple[list[Token], list[Token]]:
    """Strip the tokens that both begin with and both end with."""
    most = min(len(old), len(new))
    start = next((at for at in range(most) if old[at].key != new[at].key), most)
    most -= start
    end = next((at for at in range(most) if old[-1 - at].key != new[-1 - at].key), most)
    return old[start : len(old) - end], new[start : len(new) - end]


def _find_missing(tokens: Sequence[Token], others: Sequence[Token]) -> list[Token]:
    """Return the tokens that the others do not have as often."""
    left = Counter(token.key for token in others)
    missing = []
    for token in tokens:
        if left[token.key] > 0:
            left[token.key] -= 1
        else:
            missing.append(token)
    return missing


def _extract_figures(token: Token) -> str:
    """Return the number of a quantity as written; empty for any other token."""
    return "".join(LEADING_NUMBER.findall(token.text)) if token.kind == "number" else ""


def _select_kind(tokens: list[Token], kind: TokenKind) -> list[Token]:
    """Return the tokens of that kind; all of them if there are none."""
    return [token for token in tokens if token.kind == kind] or tokens


def _render_tokens(tokens: Sequence[Token]) -> str:
    shown, before = [], SENTENCE_BREAK
    for token in tokens[:MAX_SHOWN_WORDS]:
        if token.text and (token.text is not before.text or token.key == before.key):  # show a contraction once
            shown.append(token.text)
        before = token
    return " ".join(shown)


MAX_COMPARED_CHARS = 2_000
"""Maximum length of a text that is compared by meaning; a longer one is a document, not a statement."""

NO_KEY = ""
"""The key of memories that are not compared: events, records of what happened, and long texts."""


def paraphrase_key(memory: Memory) -> str:
    """Return a key, equal for memories of one speaker that mean the same in any wording.

    It is `NO_KEY` for memories that are not compared.
    """
    return NO_KEY if memory.level is not None else paraphrase_key_of(memory.text, memory.speaker, memory.kind.value)


def paraphrase_key_of(text: str, speaker: str | None, kind: str) -> str:
    """Return the key of a plain memory with this text, speaker and kind."""
    if kind == Kind.EVENT or len(text) > MAX_COMPARED_CHARS:
        return NO_KEY
    key = meaning_key(build_embedded_text(None, text, speaker))
    if speaker is None:
        return key
    speaker_hash = hashlib.sha256(to_nfc(speaker).casefold().encode()).hexdigest()[:16]
    return f"{key} {speaker_hash}"


def are_paraphrases(one: Memory, other: Memory) -> bool:
    """Return whether two memories mean the same, however they are worded."""
    return paraphrase_key(one) != NO_KEY and paraphrase_key(one) == paraphrase_key(other)
