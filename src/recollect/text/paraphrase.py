"""Sameness: when two texts say the same, told by a canonical form that can be looked up.

Likeness: what two memories have in common that say the same in other words.
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
from recollect.text.lexer import tokenize_sentences
from recollect.text.tokens import LEADING_NUMBER, SENTENCE_BREAK, Token, TokenKind

VERSION = "2"
"""Stands before every key. Whatever changes the canonical form of any text needs another."""

MAX_SHOWN_WORDS = 12
"""How many words of a difference are shown."""


@dataclass(frozen=True, slots=True)
class SameMeaning:
    """The two say the same."""


@dataclass(frozen=True, slots=True)
class MeaningDifference:
    """The difference that carries meaning: of which sort it is, and how either text has it; empty if it has not."""

    kind: TokenKind
    old: str
    new: str


MeaningComparison = SameMeaning | MeaningDifference


def meaning_key(text: str) -> str:
    """A short key, the same for texts that differ only in what carries no meaning.

    That is case where it makes no other word, punctuation, a "the", contractions, fillers, agreement of verbs,
    spelling, notation of numbers, dates, times and units, where a time or a condition stands in its sentence, and a
    few words that can always be exchanged. Everything else carries meaning: where it is in doubt, two texts differ.
    """
    form = "\n".join(canonical_keys(text))
    return f"{VERSION}:{blake2b(form.encode('utf-8', 'surrogatepass'), digest_size=16).hexdigest()}"


def compare_meanings(old: str, new: str) -> MeaningComparison:
    """What tells the two apart, the first that carries meaning; the same exactly if their meanings are."""
    before, after = canonicalize_text(old), canonicalize_text(new)
    if [token.key for token in before] == [token.key for token in after]:
        return SameMeaning()
    before, after = _strip_common_ends(before, after)
    gone, come = _find_missing(before, after), _find_missing(after, before)
    if not gone and not come:
        return MeaningDifference("order", _render_tokens(before), _render_tokens(after))
    if gone and come and gone[0].key.partition("·")[1] and _extract_figures(gone[0]) == _extract_figures(come[0]):
        return MeaningDifference("unit", gone[0].text, come[0].text)
    sort = min((*gone, *come), key=lambda token: _KIND_PRIORITY.index(token.kind)).kind
    return MeaningDifference(sort, _render_tokens(_select_kind(gone, sort)), _render_tokens(_select_kind(come, sort)))


def canonical_keys(text: str) -> tuple[str, ...]:
    """The keys of the text's canonical form in their order; never none."""
    return tuple([token.key for token in canonicalize_text(text)])


def canonicalize_text(text: str) -> list[Token]:
    """The canonical form of the text; if nothing can be read in it, the text itself."""
    whole = to_nfc(text)
    found: list[Token] = []
    for sentence in tokenize_sentences(whole):
        said = canonicalize_sentence(sentence) if sentence else sentence
        if said and not is_greeting(said):
            if found:
                found.append(SENTENCE_BREAK)
            found += said
    return found or [Token(f"={' '.join(whole.split())}", "text", whole)]


# ── how a difference is told ───────────────────────────────────────────────────────────────────────────────────────

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
"""Which sort is named first where a difference has several."""


def _strip_common_ends(old: list[Token], new: list[Token]) -> tuple[list[Token], list[Token]]:
    """Both without what they begin and end with alike."""
    most = min(len(old), len(new))
    start = next((at for at in range(most) if old[at].key != new[at].key), most)
    most -= start
    end = next((at for at in range(most) if old[-1 - at].key != new[-1 - at].key), most)
    return old[start : len(old) - end], new[start : len(new) - end]


def _find_missing(tokens: Sequence[Token], others: Sequence[Token]) -> list[Token]:
    """Those of the tokens that the others do not have as often."""
    left = Counter(token.key for token in others)
    missing = []
    for token in tokens:
        if left[token.key] > 0:
            left[token.key] -= 1
        else:
            missing.append(token)
    return missing


def _extract_figures(token: Token) -> str:
    """The number of a quantity as the text has it; of anything else, nothing."""
    return "".join(LEADING_NUMBER.findall(token.text)) if token.kind == "number" else ""


def _select_kind(tokens: list[Token], sort: TokenKind) -> list[Token]:
    """The tokens of that sort, or all if there are none."""
    return [token for token in tokens if token.kind == sort] or tokens


def _render_tokens(tokens: Sequence[Token]) -> str:
    shown, before = [], SENTENCE_BREAK
    for token in tokens[:MAX_SHOWN_WORDS]:
        if token.text and (token.text is not before.text or token.key == before.key):  # a contraction once
            shown.append(token.text)
        before = token
    return " ".join(shown)


MAX_COMPARED_CHARS = 2_000
"""How many characters a text may have to be compared by what it means; longer ones are documents, not statements."""

NO_KEY = ""
"""The likeness of what is like nothing else: events, which are raw, records of what happened, and long texts."""


def paraphrase_key(memory: Memory) -> str:
    """The same for two memories of one speaker that mean the same, however they are worded; `NO_KEY` for those that are
    not compared.
    """
    return NO_KEY if memory.level is not None else paraphrase_key_of(memory.text, memory.speaker, memory.kind.value)


def paraphrase_key_of(text: str, speaker: str | None, kind: str) -> str:
    """The likeness of a plain memory with that text, speaker and kind."""
    if kind == Kind.EVENT or len(text) > MAX_COMPARED_CHARS:
        return NO_KEY
    said = meaning_key(build_embedded_text(None, text, speaker))
    if speaker is None:
        return said
    whose = hashlib.sha256(to_nfc(speaker).casefold().encode()).hexdigest()[:16]
    return f"{said} {whose}"


def have_same_meaning(one: str, other: str) -> bool:
    """Whether two texts say the same, whoever says them; long ones only if they do so word for word."""
    return one == other or (max(len(one), len(other)) <= MAX_COMPARED_CHARS and meaning_key(one) == meaning_key(other))


def are_paraphrases(one: Memory, other: Memory) -> bool:
    """Whether both mean the same, however they are worded."""
    return paraphrase_key(one) != NO_KEY and paraphrase_key(one) == paraphrase_key(other)
