"""Sameness: when two texts say the same, told by a canonical form that can be looked up."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b

from recollect.model.nfc import composed
from recollect.text.amounts import LEADING
from recollect.text.boilerplate import is_greeting
from recollect.text.canonical_form import canonical_form
from recollect.text.canonical_tokens import BREAK, Sort, Token
from recollect.text.lexer import read

VERSION = "2"
"""Stands before every key. Whatever changes the canonical form of any text needs another."""

MOST_SHOWN = 12
"""How many words of a difference are shown."""


@dataclass(frozen=True, slots=True)
class Same:
    """The two say the same."""


@dataclass(frozen=True, slots=True)
class Differs:
    """The difference that carries meaning: of which sort it is, and how either text has it; empty if it has not."""

    sort: Sort
    old: str
    new: str


Difference = Same | Differs


def meaning(text: str) -> str:
    """A short key, the same for texts that differ only in what carries no meaning.

    That is case where it makes no other word, punctuation, a "the", contractions, fillers, agreement of verbs,
    spelling, notation of numbers, dates, times and units, where a time or a condition stands in its sentence, and a
    few words that can always be exchanged. Everything else carries meaning: where it is in doubt, two texts differ.
    """
    form = "\n".join(canonical(text))
    return f"{VERSION}:{blake2b(form.encode('utf-8', 'surrogatepass'), digest_size=16).hexdigest()}"


def difference(old: str, new: str) -> Difference:
    """What tells the two apart, the first that carries meaning; the same exactly if their meanings are."""
    before, after = tokens(old), tokens(new)
    if [token.key for token in before] == [token.key for token in after]:
        return Same()
    before, after = _unshared(before, after)
    gone, come = _missing(before, after), _missing(after, before)
    if not gone and not come:
        return Differs("order", _shown(before), _shown(after))
    if gone and come and gone[0].key.partition("·")[1] and _figures_of(gone[0]) == _figures_of(come[0]):
        return Differs("unit", gone[0].said, come[0].said)
    sort = min((*gone, *come), key=lambda token: _TELLING.index(token.sort)).sort
    return Differs(sort, _shown(_run(gone, sort)), _shown(_run(come, sort)))


def canonical(text: str) -> tuple[str, ...]:
    """The keys of the text's canonical form in their order; never none."""
    return tuple([token.key for token in tokens(text)])


def tokens(text: str) -> list[Token]:
    """The canonical form of the text; if nothing can be read in it, the text itself."""
    whole = composed(text)
    found: list[Token] = []
    for sentence in read(whole):
        said = canonical_form(sentence) if sentence else sentence
        if said and not is_greeting(said):
            if found:
                found.append(BREAK)
            found += said
    return found or [Token(f"={' '.join(whole.split())}", "text", whole)]


# ── how a difference is told ───────────────────────────────────────────────────────────────────────────────────────

_TELLING: tuple[Sort, ...] = (
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


def _unshared(old: list[Token], new: list[Token]) -> tuple[list[Token], list[Token]]:
    """Both without what they begin and end with alike."""
    most = min(len(old), len(new))
    start = next((at for at in range(most) if old[at].key != new[at].key), most)
    most -= start
    end = next((at for at in range(most) if old[-1 - at].key != new[-1 - at].key), most)
    return old[start : len(old) - end], new[start : len(new) - end]


def _missing(tokens: Sequence[Token], others: Sequence[Token]) -> list[Token]:
    """Those of the tokens that the others do not have as often."""
    left = Counter(token.key for token in others)
    missing = []
    for token in tokens:
        if left[token.key] > 0:
            left[token.key] -= 1
        else:
            missing.append(token)
    return missing


def _figures_of(token: Token) -> str:
    """The number of a quantity as the text has it; of anything else, nothing."""
    return "".join(LEADING.findall(token.said)) if token.sort == "number" else ""


def _run(tokens: list[Token], sort: Sort) -> list[Token]:
    """The tokens of that sort, or all if there are none."""
    return [token for token in tokens if token.sort == sort] or tokens


def _shown(tokens: Sequence[Token]) -> str:
    shown, before = [], BREAK
    for token in tokens[:MOST_SHOWN]:
        if token.said and (token.said is not before.said or token.key == before.key):  # a contraction once
            shown.append(token.said)
        before = token
    return " ".join(shown)
