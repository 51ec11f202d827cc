"""Set signals: a newer twin wins, a thread goes on; said in words, and equal to a plain, slow statement of each."""

import math
import pickle
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.errors import FieldError, ProfileError
from recollect.model import validation
from recollect.model.candidate import Candidate
from recollect.model.scope import Scope
from recollect.model.table import CandidateTable
from recollect.ranking.columns import SignalColumns
from recollect.ranking.profile import Factor, Profile, Term
from recollect.ranking.profile_toml import override_profile
from recollect.ranking.profiles import builtin_profile
from recollect.ranking.quantities import AgeClock, clock_date
from recollect.ranking.scorer import compute_set_evidence, rank_candidates
from recollect.ranking.set_signals import all_rows, compute_set_signals, set_evidence
from recollect.ranking.signals import Newest, Relevance, SetSignal, SetSignalValue, Thread, signal_value
from recollect.testing import NOW, a_candidate
from tests.evidence import evidence_of
from tests.tables import table
from tests.unit.ranking.sample import SAMPLE
from tests.unit.ranking.strategies import blends, candidates, halves

DAY = timedelta(days=1)
EITHER, THREAD = Relevance(), Thread()


def found(pool: list[Candidate], profile: Profile = SAMPLE) -> dict[str, SetSignalValue]:
    return {id: given["newest"] for id, given in compute_set_evidence(pool, profile, NOW).items()}


def a_note(id: str, days: int, vector: tuple[float, ...] | None = (1.0, 0.0), **given: Any) -> Candidate:
    return a_candidate(id, age=days * DAY, vector=vector, **{"relevance": 0.5, **given})


def test_of_two_twins_the_newer_one_keeps_its_score_and_the_older_one_is_told_why() -> None:
    assert found([a_note("old", 9), a_note("new", 2), a_note("other", 1, (0.0, 1.0))]) == {
        "old": SetSignalValue(0.0, "newer and nearly the same (cosine 1.00): new"),
        "new": SetSignalValue(1.0),
        "other": SetSignalValue(1.0),
    }


def test_the_nearest_newer_twin_is_named_and_the_others_are_counted() -> None:
    pool = [a_note("old", 9), a_note("near", 3, (1.0, 0.1)), a_note("nearer", 5, (1.0, 0.01))]
    assert found(pool)["old"].note == "newer and nearly the same (cosine 1.00): nearer and 1 more"


def test_twins_of_the_same_age_leave_each_other_alone() -> None:
    assert found([a_note("a", 2), a_note("b", 2)]) == {"a": SetSignalValue(1.0), "b": SetSignalValue(1.0)}


def test_a_cosine_at_the_threshold_is_no_twin() -> None:
    profile = override_profile(SAMPLE, {"factors": {"newest": {"above": 0.8}}})
    assert found([a_note("old", 9), a_note("new", 2, (4.0, 3.0))], profile)["old"].value == 1.0
    assert found([a_note("old", 9), a_note("new", 2, (4.1, 3.0))], profile)["old"].value == 0.0


@table(
    "mute",
    [{"vector": None}, {"vector": (0.0, 0.0)}, {"created_at": None}],
    ids=["no vector", "no direction", "no date"],
)
def test_without_a_vector_or_a_date_there_is_no_telling(mute: dict[str, Any]) -> None:
    mute = {"days": 9, **mute}
    pool = [
        a_candidate(
            "mute",
            relevance=0.5,
            **{"created_at": NOW, "vector": (1.0, 0.0), **{k: v for k, v in mute.items() if k != "days"}},
        )
    ]
    assert found([*pool, a_note("new", 2)])["mute"] == SetSignalValue(None)


def test_without_any_vector_or_any_relevance_nobody_is_compared() -> None:
    assert found([a_note("a", 9, None), a_note("b", 2, None)]) == {"a": SetSignalValue(None), "b": SetSignalValue(None)}
    assert found([a_note("a", 9, relevance=None), a_note("b", 2, relevance=None)]) == {
        "a": SetSignalValue(1.0),
        "b": SetSignalValue(1.0),
    }


def test_only_the_most_relevant_are_compared_and_ties_go_to_the_id() -> None:
    profile = override_profile(SAMPLE, {"factors": {"newest": {"among": 2}}})
    pool = [a_note(id, days) for id, days in (("c", 1), ("b", 2), ("a", 9))]
    assert {id: given.value for id, given in found(pool, profile).items()} == {"a": 0.0, "b": 1.0, "c": 1.0}
    pool = [
        a_note("x", 9, relevance=0.9),
        a_note("a", 2, relevance=0.1),
        a_note("b", 2, (0.0, 1.0), relevance=0.8),
    ]
    assert found(pool, profile)["x"].value == 1.0


def test_a_clock_decides_who_is_newer() -> None:
    pool = [a_note("a", 9, valid_from=NOW), a_note("b", 2)]
    assert {id: given.value for id, given in found(pool).items()} == {"a": 1.0, "b": 0.0}
    created = override_profile(SAMPLE, {"factors": {"newest": {"clock": "created"}}})
    assert {id: given.value for id, given in found(pool, created).items()} == {"a": 0.0, "b": 1.0}


def test_a_newer_twin_wins_the_ranking_and_the_explanation_says_so() -> None:
    ranking = rank_candidates([a_note("old", 9, importance=0.9), a_note("new", 2)], SAMPLE, NOW)
    assert [scored.id for scored in ranking] == ["new", "old"]
    scale = ranking[1].explanation.scales[0]
    assert (scale.factor, scale.value, scale.times) == ("newest", 0.0, 0.9)
    assert scale.note == "newer and nearly the same (cosine 1.00): new"


def test_a_memory_behind_a_gate_is_nobodys_twin() -> None:
    ranking = rank_candidates([a_note("old", 9), a_note("new", 2, relevance=0.1)], SAMPLE, NOW)
    assert [(scored.id, scored.explanation.scales[0].value) for scored in ranking] == [("old", 1.0)]


def test_vectors_of_different_lengths_are_refused() -> None:
    with pytest.raises(FieldError, match="'b' has 3 dimensions, but others have 2"):
        found([a_note("a", 1), a_note("b", 2, (1.0, 0.0, 0.0))])


@table(
    ("options", "complaint"),
    [
        ({"above": 0.0}, "newest: above is 0.0; give a cosine above 0 and at most 1"),
        ({"above": 1.1}, "above is 1.1"),
        ({"above": math.nan}, "above is nan"),
        ({"among": 1}, "among is 1"),
        ({"above_inside": 0.0}, "above_inside is 0.0; give a cosine above 0"),
        ({"above_inside": math.nan}, "above_inside is nan"),
        ({"above": 0.8, "above_inside": 0.81}, "above_inside is 0.81; give at most 0.8, as above has"),
        ({"above": 0.8, "same": 0.8}, "same is 0.8; give a cosine above 0.8 and at most 1"),
        ({"above": 0.8, "same": 1.01}, "same is 1.01; give a cosine above 0.8 and at most 1"),
        ({"same": math.nan}, "same is nan"),
    ],
)
def test_options_that_find_no_twins_are_refused(options: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ProfileError, match=complaint):
        Newest(**options)


def plain_newest(pool: list[Candidate], signal: Newest, at: datetime) -> dict[str, float | None]:
    """The signal as one would say it, slowly: pairs among the most relevant, one cosine at a time."""
    asked = [(signal_value(Relevance(), one, at), one) for one in pool]
    heard = sorted(((-value, one.id), one) for value, one in asked if value is not None)
    rivals = [one for _, one in heard[: signal.among]]
    values: dict[str, float | None] = {one.id: 1.0 for one in pool}
    vectors_known = any(one.vector is not None for one in rivals)
    for one in rivals:
        when, unit = clock_date(one, signal.clock), _unit(one)
        if when is None or unit is None or not vectors_known:
            values[one.id] = None
            continue
        for other in rivals:
            later, direction = clock_date(other, signal.clock), _unit(other)
            if later is not None and direction is not None and later > when:
                cosine = math.fsum(a * b for a, b in zip(unit, direction, strict=True))
                voice = _voice(one) == _voice(other) and one.session is not None
                above = signal.above if signal.above_inside is None or not voice else signal.above_inside
                if abs(cosine - above) < 2e-9:
                    raise _TooClose
                if cosine > above:
                    unlike = 0.0 if signal.same is None else max((signal.same - cosine) / (signal.same - above), 0.0)
                    values[one.id] = min(values[one.id] or 0.0, unlike)
    return values


def _voice(one: Candidate) -> tuple[object, ...]:
    return (one.scope, one.session, one.speaker)


class _TooClose(Exception):
    """A cosine so near the threshold that two ways of adding may differ about it."""


def _unit(candidate: Candidate) -> list[float] | None:
    if candidate.vector is None or not any(candidate.vector):
        return None
    peak = max(map(abs, candidate.vector))
    scaled = [part / peak for part in candidate.vector]
    return [part / math.hypot(*scaled) for part in scaled]


@pytest.mark.parametrize(
    "signal",
    [
        Newest(0.7, 5),
        Newest(0.7, 12, same=0.99),
        Newest(0.9, 12, above_inside=0.5),
        Newest(0.9, 9, AgeClock.CREATED, same=0.95, above_inside=0.4),
    ],
)
@given(pool=candidates())
def test_the_column_form_of_newest_equals_the_plain_one(signal: Newest, pool: list[Candidate]) -> None:
    profile = replace(SAMPLE, factors=(Factor(signal, 0.9, 1.0),))
    try:
        expected = plain_newest(pool, signal, NOW)
    except _TooClose:
        return
    assert {id: given.value for id, given in found(pool, profile).items()} == {
        id: None if value is None else pytest.approx(value, abs=1e-6) for id, value in expected.items()
    }


def graded(cosine: float, **given: Any) -> list[Candidate]:
    """An old memory of Ana's in session s, and a newer one that is so near."""
    said: dict[str, Any] = {"session": "s", "speaker": "Ana"}
    return [
        a_note("old", 9, **said),
        a_note("new", 2, (cosine, math.sqrt(1.0 - cosine**2)), **{**said, **given}),
    ]


@table(("cosine", "value"), [(0.79, 1.0), (0.85, 2 / 3), (0.9, 1 / 3), (0.95, 0.0), (1.0, 0.0)])
def test_with_same_a_newer_memory_takes_the_more_the_nearer_it_is(cosine: float, value: float) -> None:
    profile = replace(SAMPLE, factors=(Factor(Newest(0.8, same=0.95), 0.9, 1.0),))
    given = found(graded(cosine), profile)["old"]
    assert given.value == pytest.approx(value, abs=1e-8)
    assert given.note == (None if value == 1.0 else f"newer and nearly the same (cosine {cosine:.2f}): new")


def test_of_several_that_are_newer_the_one_that_takes_the_most_is_named() -> None:
    signal = Newest(0.8, same=0.95, above_inside=0.5)
    profile = replace(SAMPLE, factors=(Factor(signal, 0.9, 1.0),))
    old, new = graded(0.84)  # 0.84 of the same voice is a third of the way, 0.86 of another is three fifths of it
    other = a_note("other", 3, (0.86, -math.sqrt(1.0 - 0.86**2)))
    given = found([old, new, other], profile)["old"]
    assert given.value == pytest.approx((0.95 - 0.84) / 0.45, abs=1e-8)
    assert given.note == "newer and nearly the same (cosine 0.84): new and 1 more"


@table(
    ("said", "value"),
    [
        ({}, 0.0),
        ({"speaker": None}, 1.0),
        ({"speaker": "Ben"}, 1.0),
        ({"session": "t"}, 1.0),
        ({"scope": Scope.parse("elsewhere")}, 1.0),
        ({"session": None}, 1.0),
    ],
)
def test_only_one_speaker_in_one_session_corrects_from_above_inside_on(said: dict[str, Any], value: float) -> None:
    profile = replace(SAMPLE, factors=(Factor(Newest(0.8, above_inside=0.6), 0.9, 1.0),))
    assert found(graded(0.7, **said), profile)["old"].value == value
    assert found(graded(0.9, **said), profile)["old"].value == 0.0
    assert found(graded(0.5, **said), profile)["old"].value == 1.0


def test_nobody_in_particular_in_one_session_is_one_voice_and_without_a_session_there_is_none() -> None:
    profile = replace(SAMPLE, factors=(Factor(Newest(0.8, above_inside=0.6), 0.9, 1.0),))
    old, new = (replace(one, speaker=None) for one in graded(0.7))
    assert found([old, new], profile)["old"].value == 0.0
    assert found([replace(old, session=None), replace(new, session=None)], profile)["old"].value == 1.0
    table = replace(CandidateTable.of([old, new]), labels={})
    assert compute_set_signals(SignalColumns(table, NOW), profile, all_rows(table))["newest"].values.tolist() == [
        1.0,
        1.0,
    ]


def threaded(signal: Thread, relevance: Relevance = EITHER) -> Profile:
    terms = (Term(signal, 0.5, 0.0), Term(relevance, 0.5, 0.0))
    return Profile(name="threaded", version="1", about="A test.", terms=terms)


def threads(pool: list[Candidate], signal: Thread = THREAD, relevance: Relevance = EITHER) -> dict[str, SetSignalValue]:
    return {id: given["thread"] for id, given in compute_set_evidence(pool, threaded(signal, relevance), NOW).items()}


def a_turn(id: str, days: float, session: str | None, relevance: float | None = 0.8) -> Candidate:
    return a_candidate(id, age=days * DAY, session=session, relevance=relevance)


def test_a_thread_fades_with_what_is_relevant_and_newer_in_other_sessions_and_in_its_own() -> None:
    pool = [
        a_turn("first", 4, "s"),
        a_turn("second", 3, "s", 0.1),  # as relevant as the best of its session
        a_turn("other", 2, "t", 0.4),  # half as relevant as the best: it counts a quarter
        a_turn("alone", 9, None),
    ]
    relevant = "its session is 100% as relevant as the best"
    expected = {
        "first": (2 ** -(0.25 / 8 + 1 / 3), f"{relevant}; 1.2 relevant since"),
        "second": (2 ** -(0.25 / 8), f"{relevant}; 0.2 relevant since"),
        "other": (0.5, "its session is 50% as relevant as the best; nothing relevant since"),
        "alone": (2 ** -((1 + 1 + 0.25) / 8), "100% as relevant as the best; 2.2 relevant since"),
    }
    found = threads(pool)
    assert {id: given.note for id, given in found.items()} == {id: note for id, (_, note) in expected.items()}
    assert {id: given.value for id, given in found.items()} == {
        id: pytest.approx(value, abs=1e-9) for id, (value, _) in expected.items()
    }


@table(
    ("relevance", "steps"), [(0.8, 16), (math.nextafter(0.8, 0.0), 15), (0.75, 15), (0.05, 1), (0.0499, 0), (0.0, 0)]
)
def test_relevance_is_told_apart_in_sixteen_steps_of_the_best_rounded_down(relevance: float, steps: int) -> None:
    found = threads([a_turn("best", 1, "s"), a_turn("other", 1, "t", relevance)])
    assert (found["best"].value, found["other"].value) == (1.0, steps / 16)


def test_what_is_of_the_same_moment_is_not_newer_whatever_the_zone() -> None:
    there = (NOW - DAY).astimezone(timezone(timedelta(hours=14)))
    pool = [a_turn("a", 1, "s"), a_turn("b", 1, "t"), a_candidate("c", created_at=there, relevance=0.8, session="s")]
    assert {given.value for given in threads(pool).values()} == {1.0}
    newer = [*pool, a_candidate("d", created_at=there + timedelta(microseconds=1), relevance=0.8)]
    assert [threads(newer)[id].value for id in "abc"] == [pytest.approx(2 ** -(1 / 8), abs=1e-9)] * 3


def test_a_memory_without_a_session_is_a_session_of_its_own() -> None:
    pool = [a_turn("a", 2, None), a_turn("b", 1, None, 0.4)]
    assert {id: given.value for id, given in threads(pool).items()} == {
        "a": pytest.approx(2 ** -(0.25 / 8), abs=1e-9),
        "b": 0.5,
    }


def test_without_a_date_or_a_relevance_there_is_no_telling_and_it_counts_for_nobody() -> None:
    undated = a_candidate("undated", relevance=1.0, session="s")
    unheard = a_turn("unheard", 0, "s", None)
    found = threads([undated, unheard, a_turn("told", 3, "s", 0.4)])
    assert (found["undated"], found["unheard"]) == (SetSignalValue(None), SetSignalValue(None))
    assert found["told"] == SetSignalValue(1.0, "its session is 100% as relevant as the best; nothing relevant since")
    assert set(threads([undated]).values()) | set(threads([unheard]).values()) == {SetSignalValue(None)}
    assert threads([]) == {}
    bare = CandidateTable(ids=[undated.id])
    assert compute_set_signals(SignalColumns(bare, NOW), threaded(THREAD), all_rows(bare))["thread"].note(0) is None


def test_where_nothing_is_relevant_no_thread_is_going_on() -> None:
    pool = [a_turn("a", 2, "s", 0.0), a_turn("b", 1, None, 0.0)]
    assert threads(pool) == {
        "a": SetSignalValue(0.0, "its session is 0% as relevant as the best; nothing relevant since"),
        "b": SetSignalValue(0.0, "0% as relevant as the best; nothing relevant since"),
    }


@table(
    ("half", "half_inside", "first", "alone"),
    [(1e308, 1e308, 1.0, 1.0), (5e-324, 1e308, 0.0, 0.0), (1e308, 5e-324, 0.0, 1.0)],
)
def test_halves_at_the_ends_of_numbers_are_halves_like_any_other(
    half: float, half_inside: float, first: float, alone: float
) -> None:
    pool = [a_turn("first", 4, "s"), a_turn("second", 3, "s"), a_turn("alone", 4, None), a_turn("last", 2, None)]
    found = threads(pool, Thread(half, half_inside))
    assert (found["first"].value, found["alone"].value, found["last"].value) == (first, alone, 1.0)


def test_a_best_of_next_to_nothing_that_is_known_by_and_by_is_settled_without_a_warning() -> None:
    pool = [a_candidate(id, similarity=s, age=DAY) for id, s in (("a", 5e-324), ("b", 0.0), ("c", 5e-324))]
    rough = CandidateTable.of(pool).with_evidence(similarity=np.array([1e-3, 1e-3, -1e-3]), similarity_error=1e-3)
    columns = SignalColumns(rough, NOW, evidence=evidence_of(pool, rough))
    assert compute_set_signals(columns, threaded(THREAD), all_rows(rough))["thread"].values.tolist() == [1.0, 0.0, 1.0]


def test_the_first_and_the_last_moment_there_are_are_moments_like_any_other() -> None:
    last = validation.LATEST_DATETIME - timedelta(microseconds=1)
    pool = [
        a_candidate("old", created_at=validation.EARLIEST_DATETIME, relevance=0.8),
        a_candidate("new", created_at=last, relevance=0.8),
    ]
    assert {id: given.value for id, given in threads(pool).items()} == {
        "old": pytest.approx(2 ** -(1 / 8), abs=1e-9),
        "new": 1.0,
    }


def test_a_thread_goes_by_its_clock() -> None:
    pool = [replace(a_turn("a", 9, None), valid_from=NOW), a_turn("b", 2, None)]
    assert [threads(pool)[id].value == 1.0 for id in "ab"] == [True, False]
    assert [threads(pool, Thread(clock=AgeClock.CREATED))[id].value == 1.0 for id in "ab"] == [False, True]


def test_rows_that_are_not_looked_at_belong_to_no_thread() -> None:
    table = CandidateTable.of([a_turn("a", 3, "s"), a_turn("b", 2, "s"), a_turn("c", 1, "s", 1.0)])
    found = compute_set_signals(SignalColumns(table, NOW), threaded(THREAD), np.array([0, 1]))["thread"]
    assert found.values[:2].tolist() == [pytest.approx(2 ** -(1 / 3), abs=1e-9), 1.0]
    assert np.isnan(found.values[2])
    assert [found.note(row) is None for row in range(3)] == [False, False, True]
    missing = compute_set_signals(SignalColumns(table, NOW), threaded(THREAD), np.array([0, 2]))["thread"]
    assert missing.note(1) is None


@table("option", ["half", "half_inside"])
@table("half", [0.0, -1.0, math.inf, math.nan])
def test_a_half_that_is_none_is_refused(option: str, half: float) -> None:
    options: dict[str, Any] = {option: half}
    with pytest.raises(ProfileError, match=f"thread: {option} is {half!r}; give a finite number above 0"):
        Thread(**options)


def plain_thread(pool: list[Candidate], signal: Thread, relevance: Relevance, at: datetime) -> dict[str, float | None]:
    """The signal as one would say it, slowly: for every memory, all others one by one."""
    told = {}
    for one in pool:
        when, value = clock_date(one, signal.clock), signal_value(relevance, one, at)
        if when is not None and value is not None:
            told[one.id] = ((one.scope, one.session) if one.session else one.id, when, value)
    best = max((value for *_, value in told.values()), default=0.0)
    worth: dict[object, float] = {}
    for session, _, value in told.values():
        step = math.floor(16 * value / best) if best > 0.0 else 0
        worth[session] = max(worth.get(session, 0.0), step / 16)
    values: dict[str, float | None] = {one.id: None for one in pool}
    for id, (session, when, _) in told.items():
        halvings = 0.0
        for other, later, _ in told.values():
            if later > when:
                halvings += worth[other] ** 2 / (signal.half_inside if other == session else signal.half)
        values[id] = worth[session] * 0.5**halvings
    return values


@given(candidates(), st.builds(Thread, halves, halves, st.sampled_from(AgeClock)), blends | st.builds(Relevance))
def test_the_column_form_of_a_thread_equals_the_plain_one(
    pool: list[Candidate], signal: Thread, relevance: Relevance
) -> None:
    found = threads(pool, signal, relevance)
    assert {id: given.value for id, given in found.items()} == {
        id: None if value is None else pytest.approx(value, abs=1e-9)
        for id, value in plain_thread(pool, signal, relevance, NOW).items()
    }
    assert all((given.note is None) == (given.value is None) for given in found.values())


@given(candidates(), st.randoms(use_true_random=False))
def test_the_order_of_candidates_does_not_show_in_a_thread(pool: list[Candidate], chance: Random) -> None:
    assert threads(chance.sample(pool, len(pool))) == threads(pool)


def test_rows_that_are_not_looked_at_are_not_looked_at() -> None:
    table = CandidateTable.of([a_note("old", 9), a_note("new", 2)])
    sets = compute_set_signals(SignalColumns(table, NOW), SAMPLE, all_rows(table)[:1])
    assert set_evidence(sets, 0) == {"newest": SetSignalValue(1.0)}
    assert np.array_equal(all_rows(table), [0, 1])


def test_a_profile_without_set_signals_gathers_nothing() -> None:
    assert compute_set_evidence([a_note("old", 9)], builtin_profile("five-signal"), NOW) == {}


@table("signal", [Newest, Thread])
def test_a_pickle_that_names_the_former_module_of_a_set_signal_loads(signal: type[SetSignal]) -> None:
    assert pickle.loads(f"crecollect.ranking.set_signals\n{signal.__name__}\n.".encode()) is signal  # noqa: S301
