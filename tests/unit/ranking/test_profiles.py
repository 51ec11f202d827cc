"""The built-in profiles have exactly the numbers of their sources, stated here a second time on purpose."""

import math
import re
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from recollect.model.candidate import Candidate
from recollect.ranking.profile import Hearing, QuestionPolicy
from recollect.ranking.profile_toml import profile_to_document
from recollect.ranking.profiles import BUILTIN_PROFILES, builtin_profile
from recollect.ranking.quantities import AgeClock
from recollect.ranking.scorer import compute_set_evidence, explain, rank_candidates
from recollect.ranking.signals import Newest, Thread, signal_value
from recollect.ranking.tuning_report_check import fingerprint
from recollect.testing import NOW, a_candidate
from tests.tables import table
from tests.unit.ranking.strategies import candidates, moments

DAY = timedelta(days=1)
ROOT = Path(__file__).parents[3]
DEFAULT = builtin_profile("default")


def days(since: datetime | None, at: datetime) -> float | None:
    return None if since is None else max((at - since).total_seconds() / 86_400, 0.0)


def known(value: float | None, otherwise: float) -> float:
    return otherwise if value is None else value


def cosine(candidate: Candidate) -> float:
    return min(max(known(candidate.similarity, 0.0), 0.0), 1.0)


def fused(candidate: Candidate) -> float:
    words = known(candidate.lexical, 0.0)
    return known(candidate.relevance, 1 - (1 - cosine(candidate)) * (1 - words) ** 3)


def faded(age: float | None, half_life: float) -> float:
    return 0.5 if age is None else 0.5 ** (age / half_life)


def decayed(age: float | None) -> float:
    return 0.5 if age is None else math.exp(-0.05 * age)


def five_signal(c: Candidate, at: datetime) -> float:
    return (
        0.40 * known(c.relevance, cosine(c))
        + 0.25 * decayed(days(c.created_at, at))
        + 0.20 * known(c.usefulness, 0.5)
        + 0.10 * known(c.confidence, 0.8)
        + 0.05 * min(known(c.served, 0) / 50, 1)
    )


def three_signal(c: Candidate, at: datetime) -> float:
    age = days(c.last_accessed_at or c.created_at, at)
    return 0.5 * cosine(c) + 0.3 * known(c.importance, 0.5) + 0.2 * decayed(age)


def assistant(
    c: Candidate, at: datetime, weights: tuple[float, float, float] = (0.4, 0.3, 0.3), half: float = 14
) -> float:
    dates = [moment for moment in (c.created_at, c.last_accessed_at) if moment is not None]
    age = days(max(dates), at) if dates else None
    semantic, recency, importance = weights
    return semantic * cosine(c) + recency * faded(age, half) + importance * known(c.importance, 0.5)


def search(c: Candidate, at: datetime) -> float:
    age = days(c.updated_at or c.created_at, at)
    return 0.60 * known(c.lexical, 0.0) + 0.25 * faded(age, 30) + 0.15 * min(known(c.revisions, 1) / 10, 1)


def session(c: Candidate, at: datetime) -> float:
    table = {
        "profile": 1.0,
        "preference": 0.9,
        "decision": 0.7,
        "pattern": 0.6,
        "discovery": 0.5,
        "summary": 0.3,
    }
    age = days(c.updated_at or c.created_at, at)
    kind = table.get(c.kind.value, 0.5) if c.kind else 0.5
    return 0.50 * faded(age, 30) + 0.30 * min(known(c.revisions, 1) / 10, 1) + 0.20 * kind


def salience(c: Candidate, _: datetime) -> float:
    return cosine(c) * (0.55 + 0.45 * known(c.salience, 0.5)) / (1 + 0.15 * known(c.served, 0))


def salience_hybrid(c: Candidate, _: datetime) -> float:
    return fused(c) * (0.55 + 0.45 * known(c.salience, 0.5)) / (1 + 0.15 * known(c.served, 0))


def blended(candidate: Candidate) -> float:
    meaning, words = cosine(candidate), known(candidate.lexical, 0.0)
    return known(candidate.relevance, (0.4 * meaning + 0.6 * words - 0.15 * meaning * words) / 0.85)


def default(c: Candidate, _: datetime) -> float:
    when = 0.0 if c.days_off is None else 0.5 ** (c.days_off / 7)
    asked = 0.53 * blended(c) + 0.155 * when + 0.095 * known(c.addressed, 0.0) + 0.06 * known(c.setting, 0.0)
    worth = 0.02 * min(known(c.words, 0) / 20, 1) + 0.03 * known(c.importance, 0.5) + 0.02 * known(c.usefulness, 0.5)
    return asked + worth


def graph(c: Candidate, at: datetime) -> float:
    return 0.95 * default(c, at) + 0.05 * known(c.linked, 0.0)


FORMULAS: dict[str, Callable[[Candidate, datetime], float]] = {
    "five-signal": five_signal,
    "three-signal": three_signal,
    "assistant": assistant,
    "assistant-support": lambda c, at: assistant(c, at, (0.5, 0.3, 0.2), 7),
    "assistant-knowledge": lambda c, at: assistant(c, at, (0.6, 0.1, 0.3), 180),
    "assistant-news": lambda c, at: assistant(c, at, (0.35, 0.5, 0.15), 2),
    "assistant-companion": lambda c, at: assistant(c, at, (0.35, 0.2, 0.45), 60),
    "search": search,
    "session": session,
    "salience": salience,
    "salience-hybrid": salience_hybrid,
    "default": default,  # without its set signals: for a candidate alone, no thread and no newer twin is assumed
    "graph": graph,
}


def test_every_built_in_profile_is_stated_here() -> None:
    assert set(FORMULAS) == set(BUILTIN_PROFILES)


@pytest.mark.parametrize("name", sorted(FORMULAS))
@given(pool=candidates(max_size=6), at=moments)
def test_a_built_in_profile_is_the_formula_of_its_source(name: str, pool: list[Candidate], at: datetime) -> None:
    for candidate in pool:
        assert explain(candidate, builtin_profile(name), at).score == pytest.approx(
            FORMULAS[name](candidate, at), abs=1e-9
        )


@given(candidates(max_size=12), moments)
def test_default_adds_the_thread_and_takes_a_fifth_off_what_a_newer_twin_says(
    pool: list[Candidate], at: datetime
) -> None:
    gathered = compute_set_evidence(pool, DEFAULT, at)
    for candidate in pool:
        found = gathered[candidate.id]
        thread, newest = known(found["thread"].value, 0.0), known(found["newest"].value, 1.0)
        expected = (default(candidate, at) + 0.09 * thread) * (0.8 + 0.2 * newest)
        assert explain(candidate, DEFAULT, at, found).score == pytest.approx(expected, abs=1e-9)


def test_the_set_signals_of_default_have_these_options() -> None:
    assert DEFAULT.set_signals == (
        Thread(half=8, half_inside=3, clock=AgeClock.CURRENT),
        Newest(above=0.8, among=30, clock=AgeClock.CURRENT, same=0.95, above_inside=0.75),
    )


@table("name", sorted(BUILTIN_PROFILES))
def test_only_our_own_hear_memories_as_turns(name: str) -> None:
    assert builtin_profile(name).hearing is (Hearing.TURNS if name in ("default", "graph") else Hearing.ALONE)


def test_graph_is_default_with_a_twentieth_for_the_names_that_link() -> None:
    ours, graph = profile_to_document(DEFAULT), profile_to_document(builtin_profile("graph"))
    linked = graph["terms"].pop("linked")
    assert (linked["weight"], linked["missing"]) == (0.05, 0.0)
    for name, term in ours["terms"].items():
        assert graph["terms"][name] == {**term, "weight": pytest.approx(0.95 * term["weight"], abs=1e-12)}
    for key in ("factors", "gates", "question", "hearing"):
        assert graph[key] == ours[key]


@table(
    ("name", "question", "min_score", "max_items", "gates"),
    [
        ("five-signal", QuestionPolicy.NEEDED, 0.0, None, {}),
        ("three-signal", QuestionPolicy.NEEDED, 0.0, None, {"similarity": 0.0}),
        ("assistant", QuestionPolicy.NEEDED, 0.1, 20, {}),
        ("search", QuestionPolicy.NEEDED, 0.0, None, {}),
        ("session", QuestionPolicy.REFUSED, 0.0, None, {}),
        ("salience", QuestionPolicy.NEEDED, 0.0, None, {}),
        ("salience-hybrid", QuestionPolicy.NEEDED, 0.0, None, {}),
        ("default", QuestionPolicy.NEEDED, 0.0, None, {"relevance": {"at_least": 0.05, "or": {"dated": 0.9}}}),
        ("graph", QuestionPolicy.NEEDED, 0.0, None, {"relevance": {"at_least": 0.05, "or": {"dated": 0.9}}}),
    ],
)
def test_limits_and_gates_are_those_of_the_source(
    name: str, question: QuestionPolicy, min_score: float, max_items: int | None, gates: dict[str, Any]
) -> None:
    profile = builtin_profile(name)
    assert (profile.question, profile.min_score, profile.max_items) == (question, min_score, max_items)
    assert profile_to_document(profile)["gates"] == gates


VERSIONS = {
    "assistant": ("1", "25aa385bf941"),
    "assistant-companion": ("1", "5e9df1c1f70d"),
    "assistant-knowledge": ("1", "5ddae28928fd"),
    "assistant-news": ("1", "cb1277d0b047"),
    "assistant-support": ("1", "630c002d9620"),
    "default": ("3", "06ba713e9066"),
    "five-signal": ("1", "d83fad656dfa"),
    "graph": ("1", "b9ed8794339a"),
    "salience": ("1", "ca8ada95f68c"),
    "salience-hybrid": ("1", "ebaaad493bdc"),
    "search": ("1", "992e59475e6d"),
    "session": ("1", "447effc4df1b"),
    "three-signal": ("1", "92d728deb473"),
}
"""The version of each profile, and how the fingerprint of its numbers begins."""


@table("name", sorted(BUILTIN_PROFILES))
def test_other_numbers_are_another_version(name: str) -> None:
    profile = builtin_profile(name)
    assert VERSIONS[name] == (profile.version, fingerprint(profile)[:12]), "give it a new version, and write it here"


def test_relevance_alone_does_not_beat_everything_else_in_five_signal() -> None:
    relevant = a_candidate("relevant", similarity=1.0, age=100_000 * DAY / 10, usefulness=0.0, confidence=0.0, served=0)
    liked = a_candidate("liked", similarity=0.0, age=0 * DAY, usefulness=1.0, confidence=1.0, served=50)
    ranking = rank_candidates([relevant, liked], builtin_profile("five-signal"), NOW)
    assert [(one.id, round(float(one.score), 9)) for one in ranking] == [("liked", 0.60), ("relevant", 0.40)]


GATE = DEFAULT.gates[0].at_least
UNLIKED: dict[str, Any] = {"words": 0, "importance": 0.0, "usefulness": 0.0}
LIKED: dict[str, Any] = {"words": 10**6, "importance": 1.0, "usefulness": 1.0}
ELSEWHERE: dict[str, Any] = {"addressed": 0.0, "days_off": 1e7, "setting": 0.0}
NAMED: dict[str, Any] = {"addressed": 1.0, "days_off": 0.0, "setting": 1.0}


def test_relevance_is_outvoted_in_default_by_less_than_a_quarter_of_it_only_without_more_from_the_question() -> None:
    worth = math.fsum(DEFAULT.weight(signal) for signal in ("substance", "importance", "usefulness"))
    outvoted = worth / DEFAULT.weight("relevance")
    assert outvoted < 0.25
    said: dict[str, Any] = {"session": "s", "created_at": NOW}  # in one thread, so that it decides nothing
    relevant = a_candidate("relevant", relevance=1.0, **UNLIKED, **said)
    liked = [
        a_candidate(id, relevance=1.0 - gap, **LIKED, **said)
        for id, gap in (("close", outvoted - 1e-9), ("far", outvoted + 1e-9))
    ]
    stranger = a_candidate("stranger", relevance=GATE - 1e-9, **LIKED, **said)
    assert [one.id for one in rank_candidates([*liked, stranger, relevant], DEFAULT, NOW)] == [
        "close",
        "relevant",
        "far",
    ]


def test_nothing_else_together_beats_full_relevance_in_default() -> None:
    weight = DEFAULT.weight("relevance")
    assert weight > weight * GATE + (1.0 - weight)
    match = a_candidate("match", relevance=1.0, session="s", age=9 * DAY, **UNLIKED, **ELSEWHERE)
    rival = a_candidate("rival", relevance=GATE, session="s", age=0 * DAY, **LIKED, **NAMED)
    ranking = rank_candidates([rival, match], DEFAULT, NOW)
    assert [one.id for one in ranking] == ["match", "rival"]
    assert float(ranking[1].score) == pytest.approx(weight * GATE + (1.0 - weight), abs=1e-9)


def test_the_case_of_the_decision_record_comes_out_as_it_says() -> None:
    match = a_candidate("match", similarity=1.0, age=365 * DAY)
    popular = a_candidate("popular", similarity=0.1, age=0 * DAY, usefulness=0.9, confidence=1.0, served=50)
    ranking = rank_candidates([match, popular], builtin_profile("five-signal"), NOW)
    record = (ROOT / "docs/adr/0040-five-signal-weights.md").read_text(encoding="utf-8")
    for one in ranking:
        points = " | ".join(f"{part.points:.3f}" for part in one.explanation.parts)
        assert f"| {one.id} | {points} | {float(one.score):.3f} |" in record
    assert [one.id for one in ranking] == ["popular", "match"]


def test_a_six_month_old_perfect_match_beats_a_brand_new_non_match_in_search() -> None:
    old = a_candidate("old", lexical=1.0, age=182 * DAY)
    new = a_candidate("new", lexical=0.0, age=0 * DAY)
    assert [one.id for one in rank_candidates([old, new], builtin_profile("search"), NOW)] == ["old", "new"]


def test_search_and_session_name_the_same_signals_and_declare_the_absent_one_with_weight_0() -> None:
    one, other = builtin_profile("search"), builtin_profile("session")
    assert {term.signal.name for term in one.terms} == {term.signal.name for term in other.terms}
    assert (one.weight("kind"), other.weight("lexical")) == (0.0, 0.0)
    shared = {term.signal.name: term.signal for term in one.terms}
    assert all(term.signal == shared[term.signal.name] for term in other.terms)


@table("name", ["default", "graph", *(name for name in sorted(BUILTIN_PROFILES) if name.startswith("assistant"))])
def test_factors_of_our_own_profiles_never_take_more_than_half(name: str) -> None:
    assert math.prod(factor.floor for factor in builtin_profile(name).factors) >= 0.5


def test_a_memory_never_served_has_the_silence_of_one_served_0_times() -> None:
    for name in ("five-signal", "salience"):
        for use in builtin_profile(name).uses:
            if use.signal.name in ("frequency", "rarity"):
                assert use.missing == signal_value(use.signal, a_candidate(served=0), NOW)  # type: ignore[arg-type]
    for name in ("search", "session"):
        for use in builtin_profile(name).uses:
            if use.signal.name == "revisions":
                assert use.missing == signal_value(use.signal, a_candidate(revisions=1), NOW)  # type: ignore[arg-type]


def test_the_page_the_profile_and_the_scorer_say_the_same_formula() -> None:
    page = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    stated = dict(re.findall(r"^\s*(?:Score =|\+)\s*0\.(\d+) × (\w+)_score$", page, re.MULTILINE))
    weights = {name: float(f"0.{digits}") for digits, name in stated.items()}
    profile = builtin_profile("five-signal")
    names = {"access_frequency": "frequency"}
    assert {names.get(name, name): weight for name, weight in weights.items()} == {
        term.signal.name: term.weight for term in profile.terms
    }
    candidate = a_candidate(similarity=0.9, age=3 * DAY, usefulness=0.7, confidence=0.6, served=10)
    values = {part.signal: part.value for part in explain(candidate, profile, NOW).parts}
    total = sum(weight * values[names.get(name, name)] for name, weight in weights.items())
    assert explain(candidate, profile, NOW).score == pytest.approx(total, abs=1e-12)
    assert "λ = 0.05" in page
