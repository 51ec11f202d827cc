"""Postings: the plain formula to the last bit, however the rows came and whichever of them count."""

from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from numpy.typing import NDArray

from recollect.errors import FieldError
from recollect.retrieval import bm25
from recollect.retrieval.bm25 import (
    BLOCK_GROWTH_FACTOR,
    EligibleRows,
    Postings,
    TermStatistics,
    encode_terms,
)
from recollect.text.tokenizer import MAX_TERM_COUNT, count_terms, hash_term
from tests.tables import table

Counts = Mapping[str, int]


def decode_terms(blob: bytes) -> dict[int, int]:
    """The counts of stored terms by key."""
    entries = np.frombuffer(blob, [("key", "<u8"), ("count", "<u2")])
    return dict(zip(entries["key"].tolist(), entries["count"].tolist(), strict=True))


words = st.sampled_from("abcdefghijklmno")
memories = st.dictionaries(words, st.sampled_from([1, 1, 1, 2, 3, 1000, MAX_TERM_COUNT]), max_size=6)
questions = st.lists(words | st.just("unknown"), max_size=14)


@st.composite
def corpora(draw: st.DrawFn) -> tuple[list[Counts], EligibleRows]:
    """Memories, and which of them count: all, some or none."""
    pool: list[Counts] = draw(st.lists(memories, max_size=40))
    some = st.lists(st.booleans(), min_size=len(pool), max_size=len(pool))
    return pool, rows(draw(st.just([True] * len(pool)) | st.just([False] * len(pool)) | some))


def rows(counted: Iterable[bool]) -> EligibleRows:
    return np.array([*counted], dtype=np.bool_)


def indexed(pool: Iterable[Counts], steps: Sequence[int] = ()) -> Postings:
    """The postings of the memories: appended in steps of these sizes, and then the rest at once."""
    blobs = [encode_terms(memory) for memory in pool]
    postings = Postings()
    for size in (*steps, len(blobs)):
        postings, blobs = postings.append(Postings.of(blobs[:size])), blobs[size:]
    return postings


def bits(shares: Iterable[float | None] | NDArray[np.float64]) -> list[str]:
    """Every share down to the last bit."""
    return ["nan" if share is None else float(share).hex() for share in shares]


def expected(
    question: Sequence[str], pool: Sequence[Counts], eligible: EligibleRows
) -> tuple[TermStatistics, list[str]]:
    """What the plain formula says of every row."""
    statistics = bm25.count_terms(question, [memory for memory, counted in zip(pool, eligible, strict=True) if counted])
    shares = [
        bm25.score_terms(question, memory, statistics) if counted else None
        for memory, counted in zip(pool, eligible, strict=True)
    ]
    return statistics, bits(shares)


def found(question: Sequence[str], postings: Postings, eligible: EligibleRows) -> tuple[TermStatistics, list[str]]:
    """What the postings say of every row."""
    statistics = postings.statistics(question, eligible)
    return statistics, bits(postings.score_rows(question, eligible, statistics))


@given(corpora(), questions, st.lists(st.integers(0, 9)))
def test_postings_say_what_the_plain_formula_says_to_the_last_bit(
    corpus: tuple[list[Counts], EligibleRows], question: list[str], steps: list[int]
) -> None:
    pool, eligible = corpus
    assert found(question, indexed(pool, steps), eligible) == expected(question, pool, eligible)


@given(corpora(), questions)
def test_rows_that_came_one_by_one_are_found_like_those_that_came_at_once(
    corpus: tuple[list[Counts], EligibleRows], question: list[str]
) -> None:
    pool, eligible = corpus
    assert found(question, indexed(pool, [1] * len(pool)), eligible) == found(question, indexed(pool), eligible)


@given(corpora(), questions, st.lists(memories, min_size=40, max_size=40))
def test_the_words_of_rows_that_do_not_count_change_nothing(
    corpus: tuple[list[Counts], EligibleRows], question: list[str], others: list[Counts]
) -> None:
    pool, eligible = corpus
    changed = [memory if counted else other for memory, counted, other in zip(pool, eligible, others, strict=False)]
    assert found(question, indexed(changed), eligible) == found(question, indexed(pool), eligible)


@given(corpora(), corpora(), questions)
def test_postings_apart_say_the_same_as_together_if_their_statistics_are_added_up(
    own: tuple[list[Counts], EligibleRows], shared: tuple[list[Counts], EligibleRows], question: list[str]
) -> None:
    apart = [(indexed(pool), eligible) for pool, eligible in (own, shared)]
    first, second = (postings.statistics(question, eligible) for postings, eligible in apart)
    shares = [postings.score_rows(question, eligible, first + second) for postings, eligible in apart]
    together = expected(question, [*own[0], *shared[0]], np.concatenate([own[1], shared[1]]))
    assert (first + second, bits(np.concatenate(shares))) == together


@given(corpora(), questions)
def test_a_share_is_within_0_and_1_and_absent_where_no_word_is(
    corpus: tuple[list[Counts], EligibleRows], question: list[str]
) -> None:
    pool, eligible = corpus
    postings = indexed(pool)
    shares = postings.score_rows(question, eligible, postings.statistics(question, eligible))
    absent = [not counted or set(question).isdisjoint(memory) for memory, counted in zip(pool, eligible, strict=True)]
    assert np.isnan(shares).tolist() == absent
    assert ((shares > 0.0) & (shares <= 1.0))[~np.isnan(shares)].all()


def test_real_sentences_are_found_by_their_stems() -> None:
    pool = [
        count_terms("Ana deploys on Fridays"),
        count_terms("東京で猫を飼っています"),
        count_terms("🎉"),
        count_terms("The deployment failed, and Ana deployed again"),
    ]
    everyone = rows([True] * 4)
    assert found(["ana", "deploy"], indexed(pool), everyone) == expected(["ana", "deploy"], pool, everyone)
    cat = list(count_terms("猫を飼う"))
    assert [share != "nan" for share in found(cat, indexed(pool), everyone)[1]] == [False, True, False, False]


@given(st.lists(memories), st.lists(st.integers(0, 9)))
def test_lengths_are_the_terms_of_every_row_with_repetitions(pool: list[Counts], steps: list[int]) -> None:
    postings = indexed(pool, steps)
    assert len(postings) == len(pool)
    assert postings.lengths.tolist() == [sum(memory.values()) for memory in pool]


@example([BLOCK_GROWTH_FACTOR, 1])
@example([BLOCK_GROWTH_FACTOR + 1, 1])
@given(st.lists(st.integers(1, 20), max_size=60))
def test_blocks_stay_few_because_each_is_much_larger_than_the_next(steps: list[int]) -> None:
    postings = indexed([{"a": 1}] * sum(steps), steps)
    sizes = list(map(len, postings.blocks))
    assert sum(sizes) == sum(steps)
    assert all(larger > BLOCK_GROWTH_FACTOR * smaller for larger, smaller in pairwise(sizes))


def test_appending_nothing_changes_nothing() -> None:
    postings = indexed([{"a": 1}])
    assert postings.append(Postings.of([])).blocks == postings.blocks
    assert Postings().append().blocks == ()


@given(corpora(), questions, st.lists(memories, min_size=1, max_size=12))
def test_a_reader_goes_on_seeing_what_it_saw_while_rows_are_appended(
    corpus: tuple[list[Counts], EligibleRows], question: list[str], more: list[Counts]
) -> None:
    pool, eligible = corpus
    before = indexed(pool)
    after = before
    for memory in more:
        after = after.append(Postings.of([encode_terms(memory)]))
    assert len(after) == len(pool) + len(more)
    assert found(question, before, eligible) == expected(question, pool, eligible)


def test_readers_in_other_threads_need_no_lock() -> None:
    pool = [{"a": 1 + n % 3, f"w{n % 7}": 1} for n in range(300)]
    question = ["a", "w3"]
    newest = [Postings()]

    def read(_: int) -> bool:
        postings = newest[0]
        everyone = rows([True] * len(postings))
        return found(question, postings, everyone) == expected(question, pool[: len(postings)], everyone)

    with ThreadPoolExecutor(4) as readers:
        answers = readers.map(read, range(100))
        for memory in pool:
            newest[0] = newest[0].append(Postings.of([encode_terms(memory)]))
        assert all(answers)


def test_what_is_indexed_cannot_be_written_to() -> None:
    (block,) = indexed([{"a": 1}]).blocks
    for column in (block.keys, block.starts, block.rows, block.counts, block.lengths):
        with pytest.raises(ValueError, match="read-only"):
            column[0] = 0


@given(memories)
def test_stored_terms_are_read_back_by_their_keys(memory: Counts) -> None:
    assert decode_terms(encode_terms(memory)) == {hash_term(term): times for term, times in memory.items()}


def test_stored_terms_are_a_key_of_8_bytes_and_a_count_of_2_by_ascending_key() -> None:
    entries = sorted((hash_term(term), times) for term, times in (("deploy", 3), ("friday", 1)))
    written = [number.to_bytes(size, "little") for entry in entries for number, size in zip(entry, (8, 2), strict=True)]
    assert encode_terms({"deploy": 3, "friday": 1}) == encode_terms({"friday": 1, "deploy": 3}) == b"".join(written)


def test_a_memory_without_terms_is_stored_as_nothing() -> None:
    assert encode_terms({}) == encode_terms({"a": 0}) == b""
    assert decode_terms(b"") == {}


def test_a_count_that_has_no_room_is_kept_as_the_largest_that_has() -> None:
    assert decode_terms(encode_terms({"a": MAX_TERM_COUNT + 1})) == {hash_term("a"): MAX_TERM_COUNT}


@table(
    ("blob", "problem"),
    [
        (b"x", "not a multiple of 10 bytes"),
        (encode_terms({"a": 1, "b": 1})[:-1], "not a multiple of 10 bytes"),
        (encode_terms({"a": 1}) * 2, "keys are not in ascending order"),
        (encode_terms({"a": 1, "b": 1})[10:] + encode_terms({"a": 1, "b": 1})[:10], "keys are not in ascending order"),
        (bytes(10), "has a term with a count of 0"),
    ],
)
def test_bytes_that_are_no_terms_are_refused_by_row(blob: bytes, problem: str) -> None:
    with pytest.raises(FieldError, match=f"row 0 .*{problem}; tokenize its text again"):
        Postings.of([blob])
    with pytest.raises(FieldError, match=f"row 2 .*{problem}"):
        Postings.of([encode_terms({"a": 1}), b"", blob])


@table("eligible", [np.ones(1, np.bool_), np.ones(3, np.bool_), np.ones(2, np.int64), np.ones((2, 1), np.bool_)])
def test_a_mask_that_is_not_true_or_false_for_each_row_is_refused(eligible: EligibleRows) -> None:
    postings = indexed([{"a": 1}, {"b": 1}])
    with pytest.raises(FieldError, match="for 2 rows; give true or false for each"):
        postings.statistics(["a"], eligible)
    with pytest.raises(FieldError, match="for 2 rows; give true or false for each"):
        postings.score_rows(["a"], eligible, TermStatistics(count=2, total_length=2, frequencies={"a": 1}))


def test_a_scope_without_memories_has_no_shares() -> None:
    assert found(["a"], Postings(), rows([])) == (TermStatistics(count=0, total_length=0, frequencies={"a": 0}), [])
