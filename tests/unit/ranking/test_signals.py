"""Every signal is finite, within 0..1 or silent, pure, and reachable from TOML."""

import math
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import given

from recollect.errors import ProfileError
from recollect.model.candidate import Candidate
from recollect.model.enums import Kind
from recollect.ranking.profile_toml import parse_profile
from recollect.ranking.quantities import Age, AgeClock, FieldValue, FusedRelevance, clock_date
from recollect.ranking.signals import (
    KIND_PRIORITIES,
    QUESTION_SIGNALS,
    SET_SIGNALS,
    SIGNALS,
    Addressed,
    Dated,
    Frequency,
    KindPriority,
    Linked,
    Newest,
    Rarity,
    Recency,
    Relevance,
    Revisions,
    SetSignal,
    Setting,
    Signal,
    Similarity,
    Substance,
    Thread,
    signal_value,
)
from recollect.testing import NOW, a_candidate
from tests.tables import table
from tests.unit.ranking.strategies import candidates, moments, signals

FORTNIGHT = timedelta(days=14)
DAY = timedelta(days=1)


@given(candidates(max_size=3), signals, moments)
def test_every_signal_is_within_0_and_1_or_silent_and_says_the_same_twice(
    pool: list[Candidate], signal: Signal | SetSignal, at: datetime
) -> None:
    for candidate in pool:
        if not isinstance(signal, SetSignal):
            value = signal_value(signal, candidate, at)
            assert value is None or 0.0 <= value <= 1.0
            assert signal_value(signal, candidate, at) == value


@table("name", sorted({**SIGNALS, **SET_SIGNALS}))
def test_every_signal_is_reachable_from_toml(name: str) -> None:
    option = ', half_life = "3d"' if name == "recency" else ""
    text = f'about = "x"\nversion = "1"\n[terms]\n{name} = {{ weight = 1.0, missing = 0.0{option} }}'
    assert parse_profile(text, name="p").terms[0].signal.name == name


@table("name", sorted(SIGNALS))
def test_every_signal_is_silent_about_a_candidate_of_which_nothing_is_known(name: str) -> None:
    signal = Recency(half_life=DAY) if name == "recency" else SIGNALS[name]()
    assert signal_value(signal, a_candidate(), NOW) is None


@table(
    ("name", "field"),
    [
        (name, name)
        for name in (
            "importance",
            "usefulness",
            "confidence",
            "salience",
            "similarity",
            "lexical",
            "addressed",
            "setting",
            "linked",
        )
    ],
)
def test_a_plain_signal_is_the_candidates_own_number(name: str, field: str) -> None:
    known: dict[str, Any] = {field: 0.3}
    assert signal_value(SIGNALS[name](), a_candidate(**known), NOW) == 0.3


@table(
    ("age", "expected"),
    [
        (0 * FORTNIGHT, 1.0),
        (1 * FORTNIGHT, 1 / 2),
        (2 * FORTNIGHT, 1 / 4),
        (-1 * FORTNIGHT, 1.0),  # a clock that runs ahead is not a bonus
    ],
)
def test_freshness_halves_with_every_half_life(age: timedelta, expected: float) -> None:
    assert signal_value(Recency(half_life=FORTNIGHT), a_candidate(age=age), NOW) == expected


@table(("days_off", "expected"), [(0.0, 1.0), (3.5, 0.5**0.5), (7.0, 1 / 2), (21.0, 1 / 8), (1e7, 0.0)])
def test_nearness_to_a_day_that_is_named_halves_with_every_half_life_whatever_its_own_date(
    days_off: float, expected: float
) -> None:
    candidate = a_candidate(days_off=days_off, created_at=NOW - 900 * DAY)
    assert signal_value(Dated(), candidate, NOW) == pytest.approx(expected, abs=1e-15)
    assert signal_value(Dated(14 * DAY), candidate, NOW) == pytest.approx(expected**0.5, abs=1e-15)
    assert signal_value(Dated(), a_candidate(created_at=NOW), NOW) is None


@table(("words", "value"), [(0, 0.0), (5, 0.25), (20, 1.0), (10**6, 1.0)])
def test_substance_is_full_at_twenty_words(words: int, value: float) -> None:
    assert signal_value(Substance(), a_candidate(words=words), NOW) == value


def test_a_rate_is_taken_literally() -> None:
    assert signal_value(Recency(rate_per_day=0.05), a_candidate(age=FORTNIGHT), NOW) == pytest.approx(0.4966, abs=1e-4)


@table("options", [{}, {"half_life": DAY, "rate_per_day": 1.0}])
def test_recency_fades_in_one_way(options: dict[str, object]) -> None:
    with pytest.raises(ProfileError, match="give exactly one of them"):
        Recency(**options)  # type: ignore[arg-type]


@table(
    "make",
    [
        lambda: Recency(half_life=0 * DAY),
        lambda: Frequency(0),
        lambda: Rarity(0),
        lambda: Revisions(0),
        lambda: Substance(0),
        lambda: Substance(math.nan),
        lambda: Dated(0 * DAY),
        lambda: Dated(-DAY),
    ],
)
def test_a_signal_checks_its_options_when_made(make: type[Frequency]) -> None:
    with pytest.raises(ProfileError, match="above 0"):
        make()


def test_relevance_checks_its_options_when_made() -> None:
    with pytest.raises(ProfileError, match="lexical_strength"):
        Relevance(-1)
    with pytest.raises(ProfileError, match="lexical_share is 2"):
        Relevance(lexical_share=2)
    with pytest.raises(ProfileError, match=r"overlap is 0\.5; give at most 0\.1"):
        Relevance(lexical_share=0.1, overlap=0.5)
    with pytest.raises(ProfileError, match=r"overlap is 0\.1, but lexical_share is not set; set both"):
        Relevance(overlap=0.1)


OLD, NEW = NOW - 9 * DAY, NOW - 2 * DAY


@table(
    ("clock", "known", "expected"),
    [
        (AgeClock.CREATED, {"created_at": OLD, "updated_at": NEW}, OLD),
        (AgeClock.CREATED, {"updated_at": NEW}, None),
        (AgeClock.UPDATED, {"created_at": NEW, "updated_at": OLD}, OLD),
        (AgeClock.UPDATED, {"created_at": OLD}, OLD),
        (AgeClock.ACCESSED, {"created_at": OLD, "last_accessed_at": NEW}, NEW),
        (AgeClock.ACCESSED, {"created_at": OLD}, OLD),
        (AgeClock.REFERENCED, {"created_at": NEW, "last_accessed_at": OLD}, NEW),
        (AgeClock.REFERENCED, {"created_at": OLD, "last_accessed_at": NEW}, NEW),
        (AgeClock.CURRENT, {"created_at": NEW, "updated_at": NEW, "valid_from": OLD}, OLD),
        (AgeClock.CURRENT, {"created_at": OLD, "updated_at": NEW}, NEW),
        (AgeClock.CURRENT, {}, None),
    ],
)
def test_a_clock_goes_by_its_dates(clock: AgeClock, known: dict[str, Any], expected: datetime | None) -> None:
    assert clock_date(a_candidate(**known), clock) == expected


@table(("signal", "value"), [(Frequency(50), 1.0), (Rarity(0.15), 1 / 16)])
def test_use_is_a_merit_or_a_fault(signal: Signal, value: float) -> None:
    assert signal_value(signal, a_candidate(served=100), NOW) == value


@table(("revisions", "value"), [(5, 0.5), (50, 1.0)])
def test_revisions_are_full_at_ten(revisions: int, value: float) -> None:
    assert signal_value(Revisions(), a_candidate(revisions=revisions), NOW) == value


@table("kind", Kind)
def test_a_kind_is_worth_what_the_table_says_and_half_otherwise(kind: Kind) -> None:
    assert signal_value(KindPriority(), a_candidate(kind=kind), NOW) == KIND_PRIORITIES.get(kind, 0.5)
    assert signal_value(KindPriority({kind: 0.25}), a_candidate(kind=kind), NOW) == 0.25
    assert signal_value(KindPriority({}, otherwise=0.1), a_candidate(kind=kind), NOW) == 0.1


def test_the_priorities_are_those_of_the_source() -> None:
    words = {
        "profile": 1.00,
        "preference": 0.90,
        "decision": 0.70,
        "pattern": 0.60,
        "discovery": 0.50,
        "summary": 0.30,
    }
    assert words == {kind.value: worth for kind, worth in KIND_PRIORITIES.items()}


@table("options", [({Kind.FACT: 1.5}, 0.5), ({}, -0.1)])
def test_a_priority_outside_0_and_1_is_refused(options: tuple[dict[Kind, float], float]) -> None:
    with pytest.raises(ProfileError, match="not within"):
        KindPriority(*options)


def test_an_age_that_counts_from_another_day_than_that_of_the_text_says_so() -> None:
    revised = a_candidate(created_at=NOW - 200 * DAY, updated_at=NOW, valid_from=NOW - 100 * DAY)
    assert Age(AgeClock.CURRENT).remark(revised, NOW) == f"since {(NOW - 100 * DAY).date()}, when it became valid"
    assert Age(AgeClock.UPDATED).remark(revised, NOW) is None
    assert Age(AgeClock.CURRENT).remark(replace(revised, valid_from=NOW), NOW) is None
    assert Age(AgeClock.CURRENT).remark(replace(revised, valid_from=None), NOW) is None


def test_what_was_changed_on_the_way_to_a_value_is_remarked() -> None:
    ahead = a_candidate(created_at=NOW + DAY)
    rule = Relevance(3).quantity
    assert Age(AgeClock.CREATED).remark(ahead, NOW) == "dated in the future: counts as new"
    assert Age(AgeClock.CREATED).remark(a_candidate(created_at=NOW), NOW) is None
    assert Age(AgeClock.CREATED).remark(a_candidate(), NOW) is None
    assert FieldValue("similarity").remark(a_candidate(similarity=-0.25), NOW) == "-0.25 counts as 0"
    assert FieldValue("similarity").remark(a_candidate(similarity=0.0), NOW) is None
    assert Similarity().quantity.remark(a_candidate(), NOW) is None
    assert Dated().quantity.remark(a_candidate(days_off=0.0), NOW) == "on a date in the question"
    assert Dated().quantity.remark(a_candidate(days_off=2.5), NOW) == "counts as 2.5 days from a date in the question"
    assert Substance().quantity.remark(a_candidate(words=1), NOW) == "1 informative word"
    by_ana = [a_candidate(addressed=value, speaker="Ana") for value in (0.0, 0.5, 1.0)]
    assert [Addressed().quantity.remark(one, NOW) for one in by_ana] == [
        "said by Ana, but the question is about others",
        None,
        "said by Ana, whom the question is about",
    ]
    assert Addressed().quantity.remark(a_candidate(addressed=1.0), NOW) is None
    assert Linked().quantity.remark(a_candidate(linked=0.4, link="ana souza"), NOW) == "by ana souza"
    through = "ana souza → access bank"
    assert Linked().quantity.remark(a_candidate(linked=0.2, link=through), NOW) == f"by {through}"
    assert Linked().quantity.remark(a_candidate(linked=0.4), NOW) is None
    assert Linked().quantity.remark(a_candidate(link="ana souza"), NOW) is None
    assert isinstance(rule, FusedRelevance)
    assert rule.remark(a_candidate(similarity=0.5), NOW) == "no lexical evidence: counts as 0"
    assert rule.remark(a_candidate(), NOW) == "no similarity or lexical evidence: counts as 0"
    assert rule.remark(a_candidate(similarity=-0.5, relevance=0.5), NOW) is None
    assert rule.remark(a_candidate(similarity=-0.5), NOW) == (
        "no lexical evidence: counts as 0; similarity -0.5 counts as 0"
    )
    assert rule.remark(a_candidate(similarity=0.0, lexical=0.5), NOW) is None
    assert rule.remark(a_candidate(similarity=0.5, lexical=0.5), NOW) is None
    assert KindPriority().quantity.remark(a_candidate(), NOW) is None


@table(
    ("signal", "fields"),
    [
        (Similarity(), ("similarity",)),
        (Relevance(3), ("relevance", "similarity", "lexical")),
        (Relevance(0), ("relevance", "similarity")),
        (Relevance(lexical_share=0.6), ("relevance", "similarity", "lexical")),
        (Dated(), ("days_off",)),
        (Substance(), ("words",)),
        (Addressed(), ("addressed",)),
        (Setting(), ("setting",)),
        (Linked(), ("linked",)),
        (Recency(AgeClock.CURRENT, DAY), ("valid_from", "created_at", "updated_at")),
        (KindPriority(), ("kind",)),
    ],
)
def test_a_signal_says_which_fields_it_reads(signal: Signal, fields: tuple[str, ...]) -> None:
    assert signal.quantity.fields == fields


def test_options_left_out_are_these() -> None:
    assert (Frequency().cap, Rarity().rate, Revisions().cap, Substance().cap) == (50.0, 0.15, 10.0, 20.0)
    assert (Relevance().lexical_share, Relevance().overlap, Dated().half_life) == (None, 0.0, 7 * DAY)
    assert (Relevance().lexical_strength, KindPriority().otherwise, KindPriority().priorities) == (
        3,
        0.5,
        KIND_PRIORITIES,
    )
    assert Newest() == Newest(above=0.88, among=30, clock=AgeClock.CURRENT, same=None, above_inside=None)
    assert Thread() == Thread(half=8.0, half_inside=3.0, clock=AgeClock.CURRENT)
    assert Recency(half_life=DAY).clock is AgeClock.CREATED


def test_what_only_a_question_can_feed_is_evidence() -> None:
    assert {"relevance", "similarity", "lexical", "addressed", "dated", "setting", "linked"} == QUESTION_SIGNALS
    assert set(SIGNALS) > QUESTION_SIGNALS
