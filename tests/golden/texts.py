"""The 20,000 texts whose stored keys are frozen: texts of the repository, generated statements, and variations.

`words.json` has what statements are made of, and texts that a tokenizer or a rule may get wrong.
"""

import json
import random
import re
import unicodedata
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

from tests.golden.entry_points import GATE, PAIRS
from tests.upgrades.scenario import KEYED_DRAFTS, KINDS, SIMILAR_TEXTS

TEXT_COUNT = 20_000
BLOCK_SIZE = 100
SEED = 20_000

WORDS: dict[str, Any] = json.loads((Path(__file__).parent / "words.json").read_text(encoding="utf-8"))
LONG_TEXTS = ("word " * 300, "Ana lives in Rome. " * 110, "tea" * 60, "é" * 100, "東" * 90, "a" + "\u0301" * 40)

LOOK_ALIKES = str.maketrans("aeopcxyABEKMHOPCTX", "аеорсхуАВЕКМНОРСТХ")
"""Latin letters to the Cyrillic ones that look the same."""

FULL_WIDTH = {code: code + 0xFEE0 for code in range(0x21, 0x7F)} | {0x20: 0x3000}
ARABIC_DIGITS = str.maketrans("0123456789", "٠١٢٣٤٥٦٧٨٩")
CURLY = str.maketrans({"'": "’", '"': "”", "-": "–"})
INVISIBLE = ("\u200b", "\u200d", "\u00ad", "\u2060", "\ufe0f", "\u0301", "\u200f")
BLANKS = ("  ", "\n", "\t", " \u00a0 ", "\u3000")
CONTRACTIONS = {
    "is not": "isn't",
    "isn't": "is not",
    "does not": "doesn't",
    "doesn't": "does not",
    "do not": "don't",
    "don't": "do not",
    "I am": "I'm",
    "I'm": "I am",
    "will not": "won't",
    "cannot": "can't",
}


def _exchange_contraction(text: str) -> str:
    old = next((one for one in CONTRACTIONS if one in text), None)
    return text if old is None else text.replace(old, CONTRACTIONS[old])


PLAIN_VARIATIONS: tuple[Callable[[str], str], ...] = (
    str.upper,
    str.lower,
    str.title,
    str.swapcase,
    _exchange_contraction,
    lambda text: re.sub(r"[^\w\s]", "", text),
    lambda text: re.sub(r"\s", "", text),
    lambda text: re.sub(r"\b(is|are|was|has|will|can)\b", r"\1 not", text, count=1),
    lambda text: text.replace(" ", "_"),
    lambda text: text.replace(" ", "-"),
    lambda text: text.replace(", ", "; ").replace(".", "!"),
    lambda text: text.replace("e", "é").replace("o", "ö"),
    lambda text: text.translate(LOOK_ALIKES),
    lambda text: text.translate(FULL_WIDTH),
    lambda text: text.translate(ARABIC_DIGITS),
    lambda text: text.translate(CURLY),
    lambda text: unicodedata.normalize("NFD", text),
    lambda text: f"{text} {text}",
    lambda text: f'"{text}"',
    lambda text: f"`{text}`",
)


def _reorder(text: str, rng: random.Random) -> str:
    words = text.split()
    rng.shuffle(words)
    return " ".join(words)


def _drop_word(text: str, rng: random.Random) -> str:
    words = text.split()
    dropped = rng.randrange(len(words) + 1)
    return " ".join(words[:dropped] + words[dropped + 1 :])


def _repeat_word(text: str, rng: random.Random) -> str:
    words = text.split()
    repeated = rng.randrange(len(words) + 1)
    return " ".join(words[: repeated + 1] + words[repeated:])


def _insert_invisible(text: str, rng: random.Random) -> str:
    place = rng.randrange(len(text) + 1)
    return text[:place] + rng.choice(INVISIBLE) + text[place:]


RANDOM_VARIATIONS: tuple[Callable[[str, random.Random], str], ...] = (
    _reorder,
    _drop_word,
    _repeat_word,
    _insert_invisible,
    lambda text, rng: text[: rng.randrange(1, 13)],
    lambda text, rng: text[rng.randrange(len(text) + 1) :],
    lambda text, rng: f"{text} {rng.choice(WORDS['hard'])}",
    lambda text, rng: rng.choice(WORDS["openings"]) + text,
    lambda text, rng: text + rng.choice(WORDS["endings"]),
    lambda text, rng: rng.choice(BLANKS).join(text.split(" ")),
    lambda text, rng: re.sub("[0-9]+", lambda _: str(rng.randrange(100_000)), text),
    lambda text, rng: re.sub("Ana|Bo|Bruno|Priya|Globex", lambda _: rng.choice(WORDS["blanks"]["person"]), text),
)


@cache
def make_texts() -> tuple[str, ...]:
    """Return the texts, each once, in an order that mixes all sorts in every block."""
    rng = random.Random(SEED)
    texts = dict.fromkeys(_repository_texts())
    sources = list(texts)
    while len(texts) < TEXT_COUNT:
        text = rng.choice(sources) if rng.randrange(3) else _statement(rng)
        for _ in range(rng.randrange(3)):
            text = _vary(text, rng)
        texts[text] = None
    order = list(texts)
    rng.shuffle(order)
    return tuple(order)


def number_texts(block: int) -> list[tuple[int, str]]:
    """Return the texts of a block, each with its number among all texts."""
    first = block * BLOCK_SIZE
    return list(enumerate(make_texts()[first : first + BLOCK_SIZE], first))


def _repository_texts() -> Iterator[str]:
    for pair in _read_lines(PAIRS):
        yield from (pair["old"], pair["new"])
    for name in ("memories.jsonl", "queries.jsonl"):
        yield from (line["text"] for line in _read_lines(GATE / name))
    yield from (*KINDS.values(), *SIMILAR_TEXTS, *(draft["text"] for draft in KEYED_DRAFTS.values()))
    yield from (*WORDS["hard"], *LONG_TEXTS)


def _read_lines(path: Path) -> list[dict[str, str]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def _statement(rng: random.Random) -> str:
    """Return a statement with words in its blanks, such as "{person} lives in {place}"."""
    return re.sub(r"\{(\w+)\}", lambda blank: rng.choice(WORDS["blanks"][blank[1]]), rng.choice(WORDS["statements"]))


def _vary(text: str, rng: random.Random) -> str:
    number = rng.randrange(len(PLAIN_VARIATIONS) + len(RANDOM_VARIATIONS))
    if number < len(PLAIN_VARIATIONS):
        return PLAIN_VARIATIONS[number](text)
    return RANDOM_VARIATIONS[number - len(PLAIN_VARIATIONS)](text, rng)
