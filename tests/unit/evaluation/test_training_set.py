"""What signals say of every candidate: a ranking made of it is the engine's own, to the id."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import recollect
from recollect.evaluation import runner
from recollect.evaluation.judgments import Judgments, read_judgments
from recollect.evaluation.runner import LoadedFolder
from recollect.evaluation.training_set import (
    JudgedRows,
    JudgmentTrainingSet,
    TunableNumbers,
    build_training_set,
    score_candidates,
)
from recollect.ranking.profile import Profile
from recollect.ranking.profile_toml import parse_profile
from recollect.ranking.profiles import builtin_profile
from tests.tables import table

from .folder import a_memory, a_query, write_folder
from .fresh import fresh_folder, wrong

K = 3


def untold(done: int, total: int) -> None:
    """Nobody wants to know how far it is."""


def rank_ids(found: JudgmentTrainingSet, query: int, numbers: TunableNumbers) -> tuple[str, ...]:
    """The ids that a query finds with these numbers, best first."""
    rows = slice(found.starts[query], found.starts[query + 1])
    scores, ids = score_candidates(found.opinions, numbers)[rows], found.ids[rows]
    order = np.argsort(-scores, kind="stable").tolist()
    return tuple(ids[row] for row in order if scores[row] >= found.min_score)


@contextmanager
def loaded(folder: Path) -> Iterator[tuple[recollect.Engine, Judgments, LoadedFolder]]:
    judgements = read_judgments(folder)
    with recollect.open(":memory:", embedder="hashing", clock=lambda: judgements.ended_at) as engine:
        yield engine, judgements, runner.load_folder(engine, judgements, untold)


def gathered(folder: Path, profile: Profile) -> JudgmentTrainingSet:
    with loaded(folder) as (engine, judgements, there):
        return build_training_set(engine, judgements, there, profile, k=K, report_progress=untold)


def a_folder_with_twins(folder: Path) -> Path:
    """Memories that repeat, that came later and that another scope has; grades of several sizes."""
    texts = [
        "window seats on flights",
        "the aisle",
        "window seats in trains",
        "flights from Lisbon",
        "no early flights",
    ]
    memories = [
        a_memory(f"m{number}", f"Ana prefers {text}", importance=number / 5) for number, text in enumerate(texts)
    ]
    twins = [a_memory("twin", "Ana prefers the aisle"), a_memory("a twin", "Ana prefers window seats on flights")]
    later = a_memory("later", "Ana prefers the aisle", created_at="2026-01-20T00:00:00+00:00", project="x")
    theirs = a_memory("theirs", "Ben prefers window seats", scope="acme/ben")
    queries = [
        a_query("q", "which seats does Ana prefer on flights?"),
        a_query("early", "aisle or window seats?", asked_at="2026-01-10T00:00:00+00:00"),
        a_query("bens", "which seats?", scope="acme/ben"),
        a_query("nothing", "zzz"),
    ]
    qrels = [("q", "m0", 2), ("q", "a twin", 1), ("q", "m3", 3), ("early", "later", 1), ("early", "twin", 2)]
    qrels += [("bens", "theirs", 1), ("nothing", "m1", 1), ("q", "never written", 1)]
    return write_folder(folder, [*memories, *twins, later, theirs], queries, qrels)


@table("name", ["default", "five-signal", "salience", "assistant", "three-signal", "search"])
def test_a_ranking_by_features_is_that_of_the_engine_to_the_id(name: str, tmp_path: Path) -> None:
    profile = builtin_profile(name)
    for folder in (a_folder_with_twins(tmp_path / "twins"), fresh_folder(tmp_path / "fresh")):
        with loaded(folder) as (engine, judgements, there):
            found = build_training_set(engine, judgements, there, profile, k=K, report_progress=untold)
            answers = runner.ask_queries(engine, judgements, there, profile, report_progress=untold)
        numbers = TunableNumbers.of(profile)
        ranked = [rank_ids(found, place, numbers) for place in range(len(answers))]
        assert ranked == [answer.found_ids for answer in answers]
        recalls, ndcgs = found.measure(numbers).values()
        measured = [answer.measure([K]) for answer in answers]
        assert recalls.tolist() == [one[f"recall@{K}"] for one in measured]
        assert ndcgs == pytest.approx([one[f"ndcg@{K}"] for one in measured])


@table("k", [1, 2, 3, 9])
def test_three_twins_are_measured_as_an_evaluation_does(k: int, tmp_path: Path) -> None:
    """Twins are of one topic. Some are judged, and with different grades; of one text only the later twin is."""
    said = ["window seats", "the aisle", "window seats in trains", "trains"]
    memories = [
        a_memory(f"{letter}{number}", f"Ana prefers {text}", topic_key=text)
        for letter in "mn"
        for number, text in enumerate(said)
    ]
    later = "2026-01-20T00:00:00+00:00"
    memories += [a_memory("o0", "Ana prefers window seats", topic_key="window seats", created_at=later)]
    queries = [
        a_query("now", "window seats"),
        a_query("early", "window seats", asked_at="2026-01-10T00:00:00+00:00"),
        a_query("trains", "trains or the aisle?"),
    ]
    qrels = [("now", "m0", 1), ("now", "n0", 3), ("now", "o0", 2), ("now", "m2", 3), ("early", "o0", 2)]
    qrels += [("early", "n0", 1), ("trains", "n3", 2), ("trains", "n1", 1), ("trains", "m1", 3)]
    profile = builtin_profile("five-signal")
    with loaded(write_folder(tmp_path, memories, queries, qrels)) as (engine, judgements, there):
        found = build_training_set(engine, judgements, there, profile, k=k, report_progress=untold)
        answers = runner.ask_queries(engine, judgements, there, profile, report_progress=untold)
    recalls, ndcgs = found.measure(TunableNumbers.of(profile)).values()
    measured = [answer.measure([k]) for answer in answers]
    assert [answer.twins for answer in answers][:2] == [{"n0": "m0", "o0": "m0"}, {"n0": "m0"}]
    assert recalls.tolist() == [one[f"recall@{k}"] for one in measured]
    assert ndcgs == pytest.approx([one[f"ndcg@{k}"] for one in measured])


def test_other_numbers_rank_as_the_engine_does_with_a_profile_that_has_them(tmp_path: Path) -> None:
    profile = builtin_profile("five-signal")
    other = TunableNumbers((0.05, 0.5, 0.2, 0.1, 0.15), ())
    with loaded(fresh_folder(tmp_path)) as (engine, judgements, there):
        found = build_training_set(engine, judgements, there, profile, k=K, report_progress=untold)
        answers = runner.ask_queries(engine, judgements, there, other.apply_to(profile), report_progress=untold)
    assert [rank_ids(found, place, other) for place in range(len(answers))] == [answer.found_ids for answer in answers]


def test_who_is_below_the_minimum_by_some_numbers_is_there_for_others(tmp_path: Path) -> None:
    text = """
    about = "A test."
    version = "1"
    min_score = 0.3
    [terms]
    lexical = { weight = 0.5, missing = 0.0 }
    recency = { weight = 0.5, missing = 0.5, half_life = "2d" }
    """
    profile = parse_profile(text, name="strict")
    found = gathered(fresh_folder(tmp_path), profile)
    strict, lax = TunableNumbers((0.01, 0.99), ()), TunableNumbers((0.99, 0.01), ())
    assert "ana-seats" not in rank_ids(found, 0, strict)
    assert rank_ids(found, 0, lax)[0] == "ana-seats"
    assert found.measure(strict)[f"recall@{K}"][0] == 0.0
    assert found.measure(lax)[f"recall@{K}"][0] == 1.0


def test_numbers_are_taken_from_a_profile_and_put_back() -> None:
    profile = builtin_profile("salience")
    assert TunableNumbers.of(profile).apply_to(profile) == profile
    other = TunableNumbers((1.0,), (0.5, 0.25))
    assert TunableNumbers.of(other.apply_to(profile)) == other


def test_a_signal_that_says_the_same_of_all_candidates_of_a_query_is_not_varied(tmp_path: Path) -> None:
    profile = wrong()
    names = [use.signal.name for use in profile.uses]
    varied = dict(zip(names, gathered(fresh_folder(tmp_path), profile).find_varied_signals(), strict=True))
    assert varied == {
        "lexical": True,
        "recency": True,
        "importance": False,
        "substance": True,
        "confidence": False,
        "rarity": False,
    }


def test_a_folder_whose_queries_find_nothing_is_measured_too(tmp_path: Path) -> None:
    folder = write_folder(tmp_path, [a_memory("m")], [a_query("q", "zzz", scope="acme/nobody")])
    found = gathered(folder, builtin_profile("five-signal"))
    numbers = TunableNumbers.of(builtin_profile("five-signal"))
    assert [one.tolist() for one in found.measure(numbers).values()] == [[0.0], [0.0]]
    assert not any(found.find_varied_signals())


@given(st.lists(st.lists(st.tuples(st.sampled_from([0.1, 0.2, 0.3]), st.booleans()), max_size=7), max_size=5))
def test_places_are_those_of_a_stable_sort(queries: list[list[tuple[float, bool]]]) -> None:
    starts = np.cumsum([0, *(len(rows) for rows in queries)])
    grades = np.array([float(judged) for rows in queries for _, judged in rows])
    scores = np.array([score for rows in queries for score, _ in rows])
    expected = []
    for rows in queries:
        order = sorted(range(len(rows)), key=lambda place: (-rows[place][0], place))
        expected += [order.index(place) + 1 for place, (_, judged) in enumerate(rows) if judged]
    assert JudgedRows.of(grades, starts).places(scores).tolist() == expected
