"""Seed 000: the six tests it names, what it accepts, and each slip of its sketch set right."""

import copy
import dataclasses
import math
import os
import shutil
import subprocess
import sys
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import recollect
from recollect.compat import five_signal as scorer
from recollect.compat.five_signal import MemoryScorer, ScoredMemory
from recollect.errors import InvalidInput
from recollect.ranking.profiles import builtin_profile
from recollect.testing import NOW
from tests.tables import table

QUERY = [1.0, 0.0]
DAY = timedelta(days=1)


def a_record(**given: Any) -> dict[str, Any]:
    """A memory of which everything is known, so that nothing need be assumed."""
    known = {
        "similarity": 0.5,
        "created_at": NOW,
        "usefulness_score": 0.5,
        "confidence": 0.5,
        "retrieval_count": 5,
    }
    return {"id": "m", **known, **given}


def score(*memories: dict[str, Any], query: Any = QUERY) -> list[ScoredMemory]:
    return MemoryScorer(NOW).score(list(memories), query)


def score_one(**given: Any) -> ScoredMemory:
    (scored,) = score(a_record(**given))
    return scored


# The six tests of the seed, by its names.


def test_scorer_weights_sum_to_one() -> None:
    weights = [scorer.WEIGHT_RELEVANCE, scorer.WEIGHT_RECENCY, scorer.WEIGHT_USEFULNESS]
    weights += [scorer.WEIGHT_CONFIDENCE, scorer.WEIGHT_FREQUENCY]
    assert math.fsum(weights) == 1.0


def test_relevance_dominates() -> None:
    """It does not, and the seed asks that this be said: all else together is worth 0.60, relevance 0.40."""
    long_ago = NOW - 36_500 * DAY
    nothing = {"usefulness_score": 0.0, "confidence": 0.0, "retrieval_count": 0, "created_at": long_ago}
    everything = {"usefulness_score": 1.0, "confidence": 1.0, "retrieval_count": 50, "created_at": NOW}
    relevant = {"id": "relevant", "similarity": 1.0, **nothing}
    popular = {"id": "popular", "similarity": 0.0, **everything}
    best, second = score(relevant, popular)
    assert (best.memory, second.memory) == (popular, relevant)
    assert best.composite_score == pytest.approx(1.0 - scorer.WEIGHT_RELEVANCE, abs=1e-12)
    assert second.composite_score == pytest.approx(scorer.WEIGHT_RELEVANCE, abs=1e-12)


def test_recency_decay_14_day_half_life() -> None:
    fortnight = score_one(created_at=NOW - 14 * DAY).recency_score
    assert fortnight == math.exp(-0.05 * 14)
    assert fortnight == pytest.approx(0.5, abs=0.004)


def test_frequency_caps_at_50() -> None:
    assert score_one(retrieval_count=100).frequency_score == 1.0
    assert score_one(retrieval_count=50).frequency_score == 1.0
    assert score_one(retrieval_count=49).frequency_score == 49 / 50


def test_unknown_memory_age_neutral() -> None:
    record = a_record()
    del record["created_at"]
    (scored,) = score(record)
    assert scored.recency_score == 0.5
    assert scored.assumed == ("created_at",)


@given(st.lists(st.floats(0, 1)))
def test_scores_sorted_descending(similarities: list[float]) -> None:
    scored = score(*(a_record(id=place, similarity=value) for place, value in enumerate(similarities)))
    scores = [one.composite_score for one in scored]
    assert scores == sorted(scores, reverse=True)
    assert len(scores) == len(similarities)


# What the seed accepts.


def test_the_constants_are_those_of_the_document() -> None:
    assert scorer.WEIGHT_RELEVANCE == 0.40
    assert scorer.WEIGHT_RECENCY == 0.25
    assert scorer.WEIGHT_USEFULNESS == 0.20
    assert scorer.WEIGHT_CONFIDENCE == 0.10
    assert scorer.WEIGHT_FREQUENCY == 0.05
    assert scorer.RECENCY_DECAY_LAMBDA == 0.05
    assert scorer.ACCESS_FREQUENCY_CAP == 50.0


def test_every_signal_of_the_profile_is_read_from_a_key() -> None:
    assert list(scorer.KEY_BY_SIGNAL) == [term.signal.name for term in builtin_profile("five-signal").terms]


@pytest.mark.parametrize("optimised", ["", "-O"])
def test_weights_that_do_not_add_up_fail_the_import(tmp_path: Path, optimised: str) -> None:
    package = tmp_path / "recollect"
    assert recollect.__file__
    shutil.copytree(Path(recollect.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__", ".*"))
    profile = package / "ranking" / "profiles" / "five-signal.toml"
    profile.write_text(profile.read_text().replace("0.40", "0.41"))
    command = [sys.executable, *filter(None, [optimised]), "-c", "import recollect.compat.five_signal"]
    ran = subprocess.run(
        command, env={**os.environ, "PYTHONPATH": str(tmp_path)}, capture_output=True, text=True, cwd=tmp_path
    )
    assert ran.returncode != 0
    assert "the weights add up to 1.01, not 1" in ran.stderr


@table("days", [0, 1, 7, 14, 30, 60])
def test_recency_falls_exponentially_and_not_in_a_line(days: int) -> None:
    assert score_one(created_at=NOW - days * DAY).recency_score == math.exp(-0.05 * days)


def test_a_scored_memory_has_the_fields_of_the_seed_and_cannot_be_changed() -> None:
    fields = [field.name for field in dataclasses.fields(ScoredMemory)]
    signals = ["relevance_score", "recency_score", "usefulness_score", "confidence_score", "frequency_score"]
    assert fields == ["memory", "composite_score", *signals, "assumed"]
    with pytest.raises(dataclasses.FrozenInstanceError):
        score_one().composite_score = 1.0  # type: ignore[misc]


def test_no_memories_give_no_scores() -> None:
    assert score() == []


def test_a_memory_of_which_everything_is_known_has_nothing_assumed() -> None:
    record = a_record(similarity=0.9, confidence=0.7, created_at=NOW - 30 * DAY, retrieval_count=10)
    (scored,) = score(record)
    assert scored == ScoredMemory(
        memory=record,
        composite_score=math.fsum([0.4 * 0.9, 0.25 * math.exp(-1.5), 0.2 * 0.5, 0.1 * 0.7, 0.05 * (10 / 50)]),
        relevance_score=0.9,
        recency_score=math.exp(-1.5),
        usefulness_score=0.5,
        confidence_score=0.7,
        frequency_score=10 / 50,
    )
    assert scored.memory is record


def test_a_memory_of_which_nothing_is_known_says_so() -> None:
    empty: dict[str, Any] = {}
    unknown = dict.fromkeys(scorer.KEY_BY_SIGNAL.values())
    for scored in score(empty, unknown):
        assert scored.composite_score == math.fsum([0.0, 0.25 * 0.5, 0.2 * 0.5, 0.1 * 0.8, 0.0])
        assert scored.assumed == tuple(scorer.KEY_BY_SIGNAL.values())


# The slips of the sketch.


@table(
    "written",
    [
        NOW - DAY,
        (NOW - DAY).replace(tzinfo=None),
        (NOW - DAY).astimezone(timezone(timedelta(hours=14))),
        (NOW - DAY).isoformat(),
        (NOW - DAY).astimezone(timezone(timedelta(hours=-11))).isoformat(),
        (NOW - DAY).replace(tzinfo=None).isoformat(),
        (NOW - DAY).strftime("%Y-%m-%dT%H:%M:%SZ"),
        (NOW - DAY).date(),
    ],
    ids=str,
)
def test_a_date_is_the_same_age_however_it_is_written(written: object) -> None:
    scored = score_one(created_at=written)
    assert scored.recency_score == math.exp(-0.05)
    assert scored.assumed == ()


@table(
    "written",
    ["", "last week", 1_700_000_000, True, [], "9999-12-31", NOW.replace(year=1899), "2200-01-01T00:00:00Z"],
    ids=str,
)
def test_an_unreadable_date_is_neutral_and_named(written: object) -> None:
    scored = score_one(created_at=written)
    assert scored.recency_score == 0.5
    assert scored.assumed == ("created_at",)


def test_the_future_counts_as_new_and_not_as_more() -> None:
    assert score_one(created_at=NOW + 365 * DAY) == dataclasses.replace(
        score_one(created_at=NOW), memory=a_record(created_at=NOW + 365 * DAY)
    )


def test_one_call_has_one_now() -> None:
    records = [a_record(id=str(n), created_at=datetime.now(UTC) - 14 * DAY) for n in range(3)]
    for record in records:
        record["created_at"] = records[0]["created_at"]
    assert len({one.recency_score for one in MemoryScorer().score(records, QUERY)}) == 1


def test_without_a_now_the_present_is_meant() -> None:
    before = datetime.now(UTC)
    record = a_record(created_at=before - 14 * DAY)
    (present,) = MemoryScorer().score([record], QUERY)
    (first,), (last,) = (MemoryScorer(now).score([record], QUERY) for now in (before, datetime.now(UTC)))
    assert last.recency_score <= present.recency_score <= first.recency_score == pytest.approx(math.exp(-0.7))


def test_a_now_without_a_time_zone_is_taken_as_utc() -> None:
    naive = MemoryScorer(NOW.replace(tzinfo=None)).score([a_record(created_at=NOW - DAY)], QUERY)
    assert naive == score(a_record(created_at=NOW - DAY))


def test_a_now_outside_the_calendar_is_refused() -> None:
    with pytest.raises(InvalidInput, match="now is"):
        MemoryScorer(datetime(9999, 1, 1, tzinfo=UTC)).score([], QUERY)


@table(("cosine", "relevance"), [(-1.0, 0.0), (-0.2, 0.0), (1.0 + 1e-9, 1.0)])
def test_a_cosine_below_zero_is_worth_nothing_and_rounding_is_forgiven(cosine: float, relevance: float) -> None:
    scored = score_one(similarity=cosine)
    assert scored.relevance_score == relevance
    assert scored.assumed == ()


@table(
    ("key", "value", "field", "held"),
    [
        ("similarity", 7.0, "relevance_score", 1.0),
        ("similarity", -7.0, "relevance_score", 0.0),
        ("usefulness_score", 1.5, "usefulness_score", 1.0),
        ("usefulness_score", -0.5, "usefulness_score", 0.0),
        ("confidence", 80, "confidence_score", 1.0),
        ("confidence", Decimal("-1"), "confidence_score", 0.0),
        ("retrieval_count", -3, "frequency_score", 0.0),
        ("retrieval_count", 2.5, "frequency_score", 2 / 50),
        ("retrieval_count", 10**20, "frequency_score", 1.0),
    ],
)
def test_a_value_out_of_range_is_held_within_it_and_named(key: str, value: Any, field: str, held: float) -> None:
    scored = score_one(**{key: value})
    assert getattr(scored, field) == held
    assert scored.assumed == (key,)


@table("key", ["similarity", "usefulness_score", "confidence", "retrieval_count"])
@table("value", [math.nan, math.inf, -math.inf, "0.5", True, [1], b"1", Decimal("NaN"), 10**400])
def test_what_is_no_finite_number_is_refused_naming_memory_and_field(key: str, value: Any) -> None:
    with pytest.raises(InvalidInput, match=rf"^memory 'm-7': {key} is .*; give a finite number$"):
        score(a_record(), a_record(id="m-7", **{key: value}))


def test_a_refused_memory_without_an_id_is_named_by_its_place() -> None:
    with pytest.raises(InvalidInput, match=r"^memory number 1: confidence is nan"):
        score({}, {"confidence": math.nan})


@table("memory", [None, "text", 3, [("id", 1)]])
def test_what_is_no_dictionary_is_refused(memory: Any) -> None:
    with pytest.raises(InvalidInput, match=r"^memory number 0 is .*; give a dictionary$"):
        score(memory)


@table("number", [Decimal("0.25"), np.float32(0.25), np.float64(0.25)])
def test_numbers_of_database_drivers_are_numbers(number: Any) -> None:
    scored = score_one(similarity=number, usefulness_score=number, confidence=number, retrieval_count=Decimal(25))
    assert (scored.relevance_score, scored.usefulness_score, scored.confidence_score) == (0.25, 0.25, 0.25)
    assert scored.frequency_score == 25 / 50
    assert scored.assumed == ()


def test_order_is_by_full_precision() -> None:
    ahead = math.nextafter(0.5, 1.0) + 1e-12
    best, _ = score(a_record(id="a", similarity=0.5), a_record(id="b", similarity=ahead))
    assert best.memory["id"] == "b"
    assert best.relevance_score == ahead


@given(st.permutations(["a", "b", 3, "10", "c"]))
def test_equal_scores_go_by_id_as_text_whatever_order_they_came_in(ids: list[object]) -> None:
    scored = score(*(a_record(id=name) for name in ids))
    assert [one.memory["id"] for one in scored] == ["10", 3, "a", "b", "c"]


def test_equal_scores_of_equal_ids_keep_the_order_they_came_in() -> None:
    records = [{**a_record(), "text": text} for text in ("first", "second", "third")]
    assert [one.memory["text"] for one in score(*records)] == ["first", "second", "third"]


@table("id", ["", " padded ", "\0", "x" * 1000, None, 7, ("a", 1)], ids=lambda name: repr(name)[:9])
def test_any_id_will_do_for_there_is_no_telling_what_others_use(id: object) -> None:
    assert score_one(id=id) == dataclasses.replace(score_one(), memory=a_record(id=id))


# The similarity that the sketch forgot to compute.


def cosine_of(embedding: Any, query: Any = QUERY) -> ScoredMemory:
    record = a_record(embedding=embedding)
    del record["similarity"]
    (scored,) = score(record, query=query)
    return scored


def test_a_missing_similarity_is_the_cosine_of_the_embeddings() -> None:
    scored = cosine_of([3.0, 4.0])
    assert scored.relevance_score == pytest.approx(3 / 5, abs=1e-15)
    assert scored.assumed == ()


def test_arrays_are_embeddings_too() -> None:
    assert cosine_of(np.array([3, 4]), np.array([1, 0])).relevance_score == cosine_of([3, 4]).relevance_score


def test_a_similarity_that_is_there_is_not_computed_again() -> None:
    assert score_one(similarity=0.25, embedding=[1.0, 0.0]).relevance_score == 0.25


@table("embedding", [None, [], [1.0], [1.0, 0.0, 0.0], [0.0, 0.0]])
@table("query", [QUERY, [0.0, 0.0], [], None])
def test_without_two_directions_to_compare_there_is_no_similarity(embedding: Any, query: Any) -> None:
    scored = cosine_of(embedding, query)
    assert scored.relevance_score == 0.0
    assert scored.assumed == ("similarity",)


@given(st.lists(st.tuples(st.floats(-1e300, 1e300), st.floats(-1e300, 1e300)), min_size=1, max_size=9))
def test_a_cosine_is_within_its_range_and_depends_on_no_length(pairs: list[tuple[float, float]]) -> None:
    embedding, query = [one for one, _ in pairs], [other for _, other in pairs]
    assert 0.0 <= cosine_of(embedding, query).relevance_score <= 1.0
    if any(embedding):
        assert cosine_of(embedding, embedding).relevance_score == pytest.approx(1.0, abs=1e-12)


@table("size", [1e-320, 1e-160, 1e160, 1e308])
def test_no_size_of_an_embedding_overflows_or_vanishes(size: float) -> None:
    assert cosine_of([size, size], [size, 0.0]).relevance_score == pytest.approx(math.sqrt(0.5), abs=1e-9)


@table("embedding", [[math.nan, 0.0], [math.inf, 0.0], ["1", 0.0], "[1,0]", b"\0\0", 5])
def test_an_embedding_that_is_no_row_of_numbers_is_refused(embedding: Any) -> None:
    with pytest.raises(InvalidInput, match=r"^memory 'm': embedding is "):
        cosine_of(embedding)
    with pytest.raises(InvalidInput, match=r"^query_embedding is "):
        cosine_of([1.0, 0.0], embedding)


# Properties.

NAIVE = NOW.replace(tzinfo=None)
RECORDS = st.fixed_dictionaries(
    {},
    optional={
        "similarity": st.none() | st.floats(-1, 1),
        "created_at": st.none()
        | st.datetimes(NAIVE.replace(year=1990), NAIVE.replace(year=2030), timezones=st.just(UTC)),
        "usefulness_score": st.none() | st.floats(0, 1),
        "confidence": st.none() | st.floats(0, 1),
        "retrieval_count": st.none() | st.integers(0, 10**6),
    },
)


def by_the_document(memory: dict[str, Any]) -> float:
    """The formula once more, as the seed's table has it."""

    def known(key: str, default: float) -> float:
        return default if memory.get(key) is None else float(memory[key])

    recency = 0.5
    if memory.get("created_at") is not None:
        recency = math.exp(-0.05 * max((NOW - memory["created_at"]).total_seconds() / 86_400, 0.0))
    return (
        0.40 * max(known("similarity", 0.0), 0.0)
        + 0.25 * recency
        + 0.20 * known("usefulness_score", 0.5)
        + 0.10 * known("confidence", 0.8)
        + 0.05 * min(known("retrieval_count", 0) / 50, 1.0)
    )


@given(st.lists(RECORDS, max_size=8))
def test_every_score_is_what_the_document_says(records: list[dict[str, Any]]) -> None:
    before = copy.deepcopy(records)
    for scored in score(*records):
        assert scored.composite_score == pytest.approx(by_the_document(scored.memory), abs=1e-9)
        assert 0.0 <= scored.composite_score <= 1.0
        unknown = {key for key in scorer.KEY_BY_SIGNAL.values() if scored.memory.get(key) is None}
        assert set(scored.assumed) == unknown
    assert records == before


ANYTHING = st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary() | st.decimals()


@given(
    st.lists(
        st.dictionaries(st.sampled_from([*scorer.KEY_BY_SIGNAL.values(), "id", "embedding"]), ANYTHING), max_size=4
    )
)
def test_whatever_comes_in_is_scored_or_refused_by_name(records: list[dict[str, Any]]) -> None:
    try:
        scored = score(*records)
    except InvalidInput as refused:
        assert str(refused).startswith("memory ")  # noqa: PT017
    else:
        assert all(0.0 <= one.composite_score <= 1.0 for one in scored)
