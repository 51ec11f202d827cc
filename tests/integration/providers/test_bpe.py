"""The tokenizer of the static table gives the ids that the library `tokenizers` gives, for any text."""

import json
import random

from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer

from recollect.providers.embedder_assets import STATIC_TOKENIZER_FILE
from recollect.providers.static import MAX_CACHED_CHARS, SPACE_MARK, BytePairTokenizer
from tests.gate.bench import JUDGEMENTS

CONTENT = STATIC_TOKENIZER_FILE.read()
OURS = BytePairTokenizer(CONTENT)
THEIRS = Tokenizer.from_buffer(CONTENT)

VOCABULARY: list[str] = sorted(json.loads(CONTENT)["model"]["vocab"])
SPECIAL = ["<s>", "</s>", "<unk>", "<s", "s>", "<", "</", "<0x41>", "<0x0A>"]
SPACES = [
    " ",
    "  ",
    " " * 17,
    SPACE_MARK,
    SPACE_MARK * 3,
    "\t",
    "\n",
    "\r\n",
    "\u00a0",
    "\u3000",
    "\u200b",
    "\0",
    "\x7f",
]
PIECES = st.one_of(
    st.characters(exclude_categories=["Cs"]),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=20),
    st.sampled_from(VOCABULARY),
    st.sampled_from(SPECIAL),
    st.sampled_from(SPACES),
    st.sampled_from("etaoinshrdlu").flatmap(lambda letter: st.integers(1, 200).map(lambda times: letter * times)),
)


def encode_with_library(text: str) -> list[int]:
    return THEIRS.encode(text, add_special_tokens=False).ids


def find_differences(texts: list[str]) -> list[str]:
    return [text[:80] for text in texts if OURS.encode(text) != encode_with_library(text)]


@given(st.lists(PIECES, max_size=30).map("".join))
def test_any_text_has_the_same_ids(text: str) -> None:
    assert OURS.encode(text) == encode_with_library(text)


def test_the_texts_of_the_judgements_have_the_same_ids() -> None:
    texts = [text for name in ("memories", "queries") for text in read_texts(name)]
    assert len(texts) > 500
    assert find_differences(texts) == []


def read_texts(name: str) -> list[str]:
    lines = (JUDGEMENTS / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line)["text"] for line in lines]


def test_every_token_of_the_vocabulary_and_every_byte_has_the_same_ids() -> None:
    characters = [chr(code) for code in range(0x3000)] + ["\U0001f600", "\U0001f468\u200d\U0001f469", "\U0010ffff"]
    assert find_differences(["", *VOCABULARY, *characters]) == []


def test_words_longer_than_the_cache_takes_have_the_same_ids() -> None:
    letters = random.Random(7).choices("etaoinshrdlu你😀", k=100_000)
    around = ["ab" * (MAX_CACHED_CHARS // 2) + "c" * more for more in range(3)]
    assert find_differences([*around, "".join(letters), "x" * 100_000, " " * 100_000, SPACE_MARK * 99_999 + "x"]) == []


def test_no_token_has_a_space_behind_another_character() -> None:
    assert [token for token in VOCABULARY if SPACE_MARK in token.lstrip(SPACE_MARK)] == []
