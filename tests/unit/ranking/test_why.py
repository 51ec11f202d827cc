"""Why a candidate stands or fell, and that the change named would really have put it in."""

import math
import re
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from recollect.errors import InvalidInput, NotFound
from recollect.model.candidate import Candidate
from recollect.model.enums import Kind, Status
from recollect.model.memory import MemoryId
from recollect.ranking import why
from recollect.ranking.profile import Factor, Gate, Profile, Term
from recollect.ranking.profile_toml import override_profile
from recollect.ranking.profiles import builtin_profile
from recollect.ranking.scorer import passes, rank_candidates
from recollect.ranking.signals import (
    Addressed,
    Dated,
    Frequency,
    Importance,
    Linked,
    Newest,
    Recency,
    Relevance,
    Salience,
    Setting,
    Substance,
    Thread,
)
from recollect.ranking.why import BelowMinimum, Gated, Outranked, Ranked, SignalChange, why_ranked
from recollect.testing import NOW, a_candidate, a_memory
from tests.tables import table
from tests.unit.ranking.sample import SAMPLE
from tests.unit.ranking.strategies import candidates, moments, profiles

DAY = timedelta(days=1)
SALIENCE = builtin_profile("salience")


def test_a_candidate_that_is_in_is_said_to_be_in() -> None:
    pool = [a_candidate("a", similarity=0.9), a_candidate("b", similarity=0.5)]
    for limit, place in ((None, 2), (2, 2)):
        reason = why_ranked("b", pool, SALIENCE, NOW, limit=limit)
        assert (reason.id, reason.fate, reason.changes) == ("b", Ranked(place), ())
        assert reason.explanation == rank_candidates(pool, SALIENCE, NOW)[1].explanation


def test_what_took_its_place_is_told_of_a_memory_alone() -> None:
    old = a_memory("old", status=Status.SUPERSEDED, superseded_by=MemoryId("new"))
    pool = [a_candidate("a", similarity=0.9), a_candidate(memory=old, similarity=0.5)]
    assert why_ranked("old", pool, SALIENCE, NOW).superseded_by == "new"
    assert why_ranked("a", pool, SALIENCE, NOW).superseded_by is None


def test_an_outranked_candidate_learns_which_signal_would_have_needed_which_value() -> None:
    pool = [a_candidate("a", similarity=0.8), a_candidate("b", similarity=0.5, served=1)]
    reason = why_ranked("b", pool, SALIENCE, NOW, limit=1)
    assert reason.fate == Outranked(2, 1)
    (change,) = reason.changes  # not even full salience would have been enough
    assert (change.signal, change.value) == ("similarity", 0.5)
    assert change.needed == pytest.approx(0.8 * 1.15, abs=1e-12)
    assert change.size == change.needed - 0.5


def test_the_smallest_change_comes_first() -> None:
    pool = [
        a_candidate("a", similarity=0.6, salience=0.6),
        a_candidate("b", similarity=0.5, salience=0.5, served=0),
    ]
    changes = why_ranked("b", pool, SALIENCE, NOW, limit=1).changes
    assert [change.signal for change in changes] == ["similarity", "salience"]
    assert changes[0].size < changes[1].size


def test_on_a_tie_the_id_decides_whether_equal_is_enough() -> None:
    rival = a_candidate("m", similarity=0.5)
    smaller = why_ranked("a", [rival, a_candidate("a", similarity=0.4)], SALIENCE, NOW, limit=1).changes[0]
    greater = why_ranked("z", [rival, a_candidate("z", similarity=0.4)], SALIENCE, NOW, limit=1).changes[0]
    assert smaller.needed <= 0.5 < greater.needed


def test_a_gated_candidate_learns_how_much_evidence_the_gate_wants() -> None:
    pool = [a_candidate("a", similarity=0.5), a_candidate("b", similarity=0.1, age=DAY)]
    reason = why_ranked("b", pool, SAMPLE, NOW, limit=5)
    assert reason.fate == Gated("relevance", 0.1, 0.15)
    assert reason.changes == (SignalChange("relevance", 0.1, 0.15),)


def test_behind_a_gate_more_of_anything_else_would_not_have_helped() -> None:
    pool = [a_candidate("a", similarity=0.9), a_candidate("b", similarity=0.1, importance=0.0)]
    (change,) = why_ranked("b", pool, SAMPLE, NOW, limit=1).changes
    assert change.signal == "relevance"
    assert change.needed > 0.9


def test_without_evidence_a_gate_says_so() -> None:
    reason = why_ranked("b", [a_candidate("a", similarity=0.5), a_candidate("b")], builtin_profile("three-signal"), NOW)
    assert reason.fate == Gated("similarity", None, 0.0)
    assert reason.changes == (SignalChange("similarity", None, 0.0),)


def test_two_closed_gates_are_not_opened_by_one_change() -> None:
    strict = override_profile(SAMPLE, {"gates": {"importance": 0.9}})
    reason = why_ranked("b", [a_candidate("a", similarity=0.5), a_candidate("b", similarity=0.1)], strict, NOW)
    assert reason.changes == ()


def test_a_gate_on_a_signal_that_is_no_term_is_named_too() -> None:
    strict = override_profile(SAMPLE, {"gates": {"confidence": 0.9}})
    reason = why_ranked("a", [a_candidate("a", similarity=0.5, confidence=0.4)], strict, NOW)
    assert reason.fate == Gated("confidence", 0.4, 0.9)
    assert reason.changes == (SignalChange("confidence", 0.4, 0.9),)


def test_a_score_below_the_minimum_learns_what_would_reach_it() -> None:
    profile = override_profile(builtin_profile("assistant"), {"min_score": 0.5})
    pool = [a_candidate("a", similarity=0.2, age=0 * DAY, importance=0.0)]
    reason = why_ranked("a", pool, profile, NOW)
    assert reason.fate == BelowMinimum(0.5)
    assert [change.signal for change in reason.changes] == ["similarity", "importance"]
    assert reason.changes[0].needed == pytest.approx((0.5 - 0.3) / 0.4)


@table(
    ("name", "low", "high", "signal", "means"),
    [
        ("session", {"age": 60 * DAY}, {"age": 30 * DAY}, "recency", "at most 29.9 days old"),
        ("session", {"revisions": 1}, {"revisions": 5}, "revisions", "revisions at least 6"),
        ("session", {"kind": Kind.SUMMARY}, {"kind": Kind.DECISION}, "kind", "as profile or preference"),
        ("five-signal", {"served": 1}, {"served": 30}, "frequency", "served at least 31"),
        ("five-signal", {"age": 30 * DAY}, {"age": 9 * DAY}, "recency", "at most 8.9 days old"),
        ("salience", {"served": 9}, {"served": 3}, "rarity", "served at most 2"),
        ("salience", {"salience": 0.1}, {"salience": 0.5}, "salience", None),
    ],
)
def test_a_change_is_said_in_the_signals_own_quantity(
    name: str, low: dict[str, Any], high: dict[str, Any], signal: str, means: str | None
) -> None:
    evidence: dict[str, Any] = {} if name == "session" else {"similarity": 0.9}
    pool = [a_candidate("a", **evidence, **high), a_candidate("b", **evidence, **low)]
    changes = {change.signal: change for change in why_ranked("b", pool, builtin_profile(name), NOW, limit=1).changes}
    assert changes[signal].means == means


@table(
    ("name", "low", "high", "signal", "means"),
    [
        ("session", {"kind": Kind.SUMMARY}, {"kind": Kind.DECISION}, "kind", "as profile or preference or decision"),
        ("five-signal", {"served": 1}, {"served": 30}, "frequency", "served at least 30"),
        ("salience", {"served": 9}, {"served": 3}, "rarity", "served at most 3"),
    ],
)
def test_where_a_tie_is_won_as_much_as_the_other_is_enough(
    name: str, low: dict[str, Any], high: dict[str, Any], signal: str, means: str
) -> None:
    evidence: dict[str, Any] = {} if name == "session" else {"similarity": 0.5}
    pool = [a_candidate("b", **evidence, **high), a_candidate("a", **evidence, **low)]
    changes = {change.signal: change for change in why_ranked("a", pool, builtin_profile(name), NOW, limit=1).changes}
    assert changes[signal].means == means


HEARD = Profile(
    name="heard",
    version="1",
    about="What a question and its session bring.",
    terms=(
        Term(Relevance(lexical_share=0.6), 0.2, 0.0),
        Term(Dated(), 0.2, 0.0),
        Term(Addressed(), 0.2, 0.0),
        Term(Setting(), 0.1, 0.0),
        Term(Linked(), 0.1, 0.0),
        Term(Substance(), 0.1, 0.0),
        Term(Thread(), 0.1, 0.0),
    ),
)


@table(
    ("low", "high", "signal", "means"),
    [
        ({"days_off": 30.0}, {"days_off": 3.25}, "dated", "at most 3.2 days from a day in the question"),
        ({}, {"days_off": 0.0}, "dated", "at most 0 days from a day in the question"),
        ({"words": 1}, {"words": 12}, "substance", "words at least 12"),
        ({"addressed": 0.0}, {"addressed": 0.4}, "addressed", "if the question named the speaker"),
        ({"setting": 0.1}, {"setting": 0.5}, "setting", None),
        ({"linked": 0.1}, {"linked": 0.5}, "linked", "if rarer names linked it to the question"),
        ({}, {"similarity": 0.5}, "relevance", None),
        (
            {"relevance": 1.0, "age": 9 * DAY},
            {"relevance": 1.0, "age": 2 * DAY},
            "thread",
            "if its session were more relevant, or fewer relevant memories were newer",
        ),
    ],
)
def test_what_a_question_would_have_had_to_name_is_said_in_its_own_quantity(
    low: dict[str, Any], high: dict[str, Any], signal: str, means: str | None
) -> None:
    pool = [a_candidate("b", **high), a_candidate("a", **low)]  # a tie goes to a
    changes = {change.signal: change for change in why_ranked("a", pool, HEARD, NOW, limit=1).changes}
    assert changes[signal].means == means


@given(st.lists(st.tuples(st.floats(0.0, 90.0), st.integers(0, 40)), min_size=2, max_size=6))
def test_a_candidate_as_near_to_the_day_or_as_wordy_as_it_was_told_is_in(rows: list[tuple[float, int]]) -> None:
    pool = [a_candidate(f"m{n}", similarity=0.5, days_off=days, words=words) for n, (days, words) in enumerate(rows)]
    for candidate in pool:
        for change in why_ranked(candidate.id, pool, HEARD, NOW, limit=1).changes:
            told = re.search(r"([\d.]+)", change.means or "")
            if told is not None and change.signal in ("dated", "substance"):
                near, wordy = {"days_off": float(told[1])}, {"words": int(float(told[1]))}
                as_told: dict[str, Any] = near if change.signal == "dated" else wordy
                changed = replace(candidate, **as_told)
                again = [changed if one is candidate else one for one in pool]
                assert [one.id for one in rank_candidates(again, HEARD, NOW, limit=1)] == [candidate.id]


def test_a_kind_no_table_names_is_offered_as_any_other() -> None:
    profile = override_profile(builtin_profile("session"), {"terms": {"kind": {"otherwise": 0.95}}})
    pool = [a_candidate("a", kind=Kind.PREFERENCE), a_candidate("b", kind=Kind.SUMMARY)]
    changes = {change.signal: change for change in why_ranked("b", pool, profile, NOW, limit=1).changes}
    assert (changes["kind"].needed, changes["kind"].means) == (0.95, "as profile or any other kind")


def test_a_quantity_beyond_all_counting_is_not_said() -> None:
    tiny = override_profile(builtin_profile("salience"), {"factors": {"rarity": {"rate": 1e-290}}, "min_score": 0.5})
    pool = [a_candidate("b", similarity=0.4, served=2**53, salience=1.0)]
    assert [change.signal for change in why_ranked("b", pool, tiny, NOW).changes] == ["similarity"]
    dull = override_profile(
        builtin_profile("salience"), {"factors": {"rarity": {"rate": 1e-17, "missing": 0.1}}, "min_score": 0.5}
    )
    silent = [a_candidate("b", similarity=0.6, salience=1.0)]
    changes = {change.signal: change for change in why_ranked("b", silent, dull, NOW).changes}
    assert changes["rarity"].means is None


def test_a_gate_that_another_signal_opens_offers_either_and_two_only_what_opens_both() -> None:
    by_date = Gate(Relevance(), 0.5, (Gate(Dated(), 0.9),))
    profile = Profile(name="p", version="1", about="A test.", terms=(Term(Salience(), 1.0, 0.0),), gates=(by_date,))
    pool = [a_candidate("a", relevance=0.4)]
    reason = why_ranked("a", pool, profile, NOW)
    assert reason.fate == Gated("relevance", 0.4, 0.5, {"dated": 0.9})
    a_day_off = "at most 1 day from a day in the question"
    assert reason.changes == (SignalChange("relevance", 0.4, 0.5), SignalChange("dated", None, 0.9, a_day_off))
    also_sure = replace(profile, gates=(by_date, Gate(Importance(), 0.5, (Gate(Dated(), 0.8),))))
    assert why_ranked("a", pool, also_sure, NOW).changes == (SignalChange("dated", None, 0.9, a_day_off),)


def test_a_silent_signal_at_a_gate_is_told_as_silent() -> None:
    fresh = Recency(half_life=DAY)
    gone = Profile(name="p", version="1", about="A test.", terms=(Term(fresh, 1.0, 0.0),), gates=(Gate(fresh, 0.0),))
    assert why_ranked("b", [a_candidate("b")], gone, NOW).changes == (SignalChange("recency", None, 0.0),)


def test_why_answers_where_rank_does_also_for_what_the_profile_insists_on() -> None:
    strict = Profile(
        name="strict",
        version="1",
        about="A test.",
        terms=(Term(Importance(), 1.0),),
        factors=(Factor(Salience()),),
        gates=(Gate(Importance(), 0.5),),
    )
    pool = [a_candidate("a", importance=0.9, salience=1.0), a_candidate("b")]
    assert rank_candidates(pool, strict, NOW).excluded == {"gate:importance": 1}
    reason = why_ranked("b", pool, strict, NOW)
    assert (reason.fate, reason.changes) == (Gated("importance", None, 0.5), ())  # salience would be missed then
    assert reason.explanation.score == 0.0
    assert [part.value for part in reason.explanation.parts] == [0.0]
    assert [scale.value for scale in reason.explanation.scales] == [0.0]
    known = [pool[0], a_candidate("b", salience=1.0)]
    assert why_ranked("b", known, strict, NOW).changes == (SignalChange("importance", None, 0.5),)


def test_what_a_change_means_is_really_enough_on_a_tie_too() -> None:
    profile = Profile(
        name="p", version="1", about="A test.", terms=(Term(Frequency(50), 0.3, 0.0), Term(Importance(), 0.7, 0.5))
    )
    pool = [a_candidate("a", served=35), a_candidate("b", served=3)]
    changes = {change.signal: change for change in why_ranked("b", pool, profile, NOW, limit=1).changes}
    assert changes["frequency"].means == "served at least 36"


@given(
    st.lists(st.tuples(st.integers(0, 60), st.integers(0, 60), st.floats(0.0, 90.0)), min_size=2, max_size=6),
    st.sampled_from(["five-signal", "salience", "session"]),
)
def test_a_candidate_given_the_quantity_it_was_told_is_in(rows: list[tuple[int, int, float]], name: str) -> None:
    evidence: dict[str, Any] = {} if name == "session" else {"similarity": 0.5}
    pool = [a_candidate(f"m{n}", served=s, revisions=r, age=d * DAY, **evidence) for n, (s, r, d) in enumerate(rows)]
    for candidate in pool:
        for change in why_ranked(candidate.id, pool, builtin_profile(name), NOW, limit=1).changes:
            told = re.search(r"([\d.]+)", change.means or "")
            if told is None:
                continue
            number = float(told[1])
            changed: dict[str, Any] = {"created_at": NOW - number * DAY}
            if change.signal != "recency":
                changed = {"revisions" if change.signal == "revisions" else "served": int(number)}
            again = [replace(one, **changed) if one is candidate else one for one in pool]
            assert [one.id for one in rank_candidates(again, builtin_profile(name), NOW, limit=1)] == [candidate.id]


def test_a_kind_no_table_knows_is_not_offered() -> None:
    pool = [a_candidate("a", kind=Kind.PROFILE), a_candidate("b", kind=Kind.PREFERENCE, revisions=0)]
    assert "kind" not in {
        change.signal for change in why_ranked("b", pool, builtin_profile("session"), NOW, limit=1).changes
    }


def test_an_older_twin_learns_that_without_the_newer_one_it_would_have_been_in() -> None:
    twin: dict[str, Any] = {"relevance": 0.5, "vector": (1.0, 0.0)}
    pool = [a_candidate("old", age=3 * DAY, importance=0.9, **twin), a_candidate("new", age=2 * DAY, **twin)]
    changes = {change.signal: change for change in why_ranked("old", pool, SAMPLE, NOW, limit=1).changes}
    assert changes["newest"] == SignalChange("newest", 0.0, 1.0, "if no newer memory said nearly the same")


def test_where_twins_count_by_degrees_any_degree_may_be_enough() -> None:
    twin: dict[str, Any] = {"relevance": 0.5, "importance": 0.5}
    old = a_candidate("old", age=3 * DAY, vector=(1.0, 0.0), **{**twin, "importance": 0.7})
    new = a_candidate("new", age=2 * DAY, vector=(1.0, 0.1), **twin)
    graded = override_profile(SAMPLE, {"factors": {"newest": {"same": 0.999}}})
    changes = {change.signal: change for change in why_ranked("old", [old, new], graded, NOW, limit=1).changes}
    assert 0.0 < (changes["newest"].value or 0.0) < changes["newest"].needed < 1.0
    assert changes["newest"].means == Newest.how_to_raise


def test_an_id_nobody_brought_is_not_found() -> None:
    with pytest.raises(NotFound, match="candidate 'x' does not exist"):
        why_ranked("x", [a_candidate("a", similarity=0.5)], SALIENCE, NOW)
    with pytest.raises(InvalidInput, match="limit is 0"):
        why_ranked("a", [a_candidate("a", similarity=0.5)], SALIENCE, NOW, limit=0)


@given(candidates(max_size=12), profiles(), moments, st.integers(1, 4), st.data())
def test_every_change_named_is_enough_and_nothing_less_is(
    pool: list[Candidate], profile: Profile, at: datetime, limit: int, data: st.DataObject
) -> None:
    assume(pool)
    chosen = data.draw(st.sampled_from(pool))
    reason = why_ranked(chosen.id, pool, profile, at, limit=limit)
    others = [one for one in rank_candidates([*pool], profile, at) if one.id != chosen.id]
    rival = others[limit - 1] if len(others) >= limit else None

    def in_with(score: float) -> bool:
        ahead = rival is None or (-score, chosen.id) < (-float(rival.score), rival.id)
        return score >= profile.min_score and ahead

    def changed_to(signal: str, value: float) -> float:
        parts = [replace(p, value=value) if p.signal == signal else p for p in reason.explanation.parts]
        scales = [replace(s, value=value) if s.factor == signal else s for s in reason.explanation.scales]
        return replace(reason.explanation, parts=tuple(parts), scales=tuple(scales)).score

    for change in reason.changes:
        assert 0.0 <= (change.value or 0.0) <= change.needed <= 1.0
        assert in_with(changed_to(change.signal, change.needed))
        closed = [gate for gate in profile.gates if not passes(gate, chosen, at)]
        opening = [way.at_least for gate in closed for way in gate.alternatives if way.signal.name == change.signal]
        assert len(opening) == len(closed)
        floor = max(opening, default=0.0)
        less = math.nextafter(change.needed, 0.0)
        if change.signal not in ("kind", "newest", "addressed") and change.needed > less >= max(
            floor, change.value or 0.0
        ):
            assert not in_with(changed_to(change.signal, less))


@given(st.lists(st.tuples(*[st.floats(0.0, 1.0)] * 3), min_size=2, max_size=8), st.integers(1, 3))
def test_a_candidate_changed_as_told_and_ranked_again_is_in(rows: list[tuple[float, ...]], limit: int) -> None:
    pool = [a_candidate(f"m{n}", similarity=s, importance=i, age=DAY * 100 * d) for n, (s, i, d) in enumerate(rows)]
    profile = builtin_profile("three-signal")
    for candidate in pool:
        for change in why_ranked(candidate.id, pool, profile, NOW, limit=limit).changes:
            if change.signal in ("similarity", "importance"):
                told: dict[str, Any] = {change.signal: change.needed}
                changed = replace(candidate, **told)
                again = [changed if one is candidate else one for one in pool]
                assert candidate.id in [one.id for one in rank_candidates(again, profile, NOW, limit=limit)]


@table("rate", [1e-15, 1e-19, 1e-22, 1e-25])
def test_a_curve_too_flat_for_floats_is_answered_at_once(rate: float) -> None:
    profile = override_profile(builtin_profile("salience"), {"factors": {"rarity": {"rate": rate}, "salience": None}})
    for steps in range(1, 60):
        least = 1.0 - steps * 2**-53
        pool = [a_candidate("a", similarity=1.0, served=2**53)]
        reason = why_ranked("a", pool, override_profile(profile, {"min_score": least}), NOW)
        for change in reason.changes:
            if change.signal == "rarity" and change.means is not None:
                told = int(change.means.removeprefix("served at most "))
                assert 1.0 / (1.0 + rate * told) >= change.needed


def test_a_quantity_that_is_nowhere_near_is_not_said() -> None:
    assert why._first_sufficient(lambda number: number <= 0, 100, -1) is None
    assert why._first_sufficient(lambda number: number <= 90, 100, -1) == 90
    assert why._first_sufficient(lambda number: number >= 100 + why.MAX_TRIED_QUANTITIES, 100, 1) is None
