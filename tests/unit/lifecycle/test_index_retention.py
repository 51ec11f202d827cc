"""Ageing: what leaves an index is old, not pinned, and told by something coarser that stays; all else stays."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.tables import table

from recollect.errors import FieldError
from recollect.lifecycle.index_retention import AgingResult, IndexRetention, age_records, find_uncovered
from recollect.lifecycle.policy import Bm25Policy, LifecyclePolicy, VectorPolicy, retention_of
from recollect.model.enums import CALENDAR_LEVELS, TIMELINE_LEVELS, Index, Level, Status
from recollect.model.memory import Memory
from recollect.model.plan import AGING_LEVELS, Job, RetentionOverrides
from recollect.testing.builders import a_note

NOW = datetime(2026, 11, 1, tzinfo=UTC)
DAY = timedelta(days=1)
EVENT, SEGMENT, GRIP, DAY_, WEEK, MONTH, YEAR = TIMELINE_LEVELS
USUAL = retention_of(VectorPolicy())


def a_record(id: str, level: Level, age: float, *parts: str, **given: Any) -> Memory:
    return a_note(id, level=level, created_at=NOW - age * DAY, derived_from=parts, **given)


def a_day(age: float, *, told: bool = True, **given: Any) -> list[Memory]:
    """An event of so long ago, with all that was made of it."""
    made = [
        a_record("segment", SEGMENT, age, "event"),
        a_record("grip", GRIP, age, "event"),
        *([a_record("day", DAY_, age, "segment"), a_record("week", WEEK, age, "day")] if told else []),
        *([a_record("month", MONTH, age, "day"), a_record("year", YEAR, age, "month")] if told else []),
    ]
    return [
        a_record("event", EVENT, age),
        *(one.with_changes(**given) if one.id in ("segment", "grip") else one for one in made),
    ]


def keeping(index: Index = Index.VECTOR, **given: Any) -> list[IndexRetention]:
    return [IndexRetention(index, USUAL, **given)]


def left(found: AgingResult) -> dict[str, tuple[Index, ...]]:
    return {one.memory.id: one.left for one in found.changed if one.left != one.memory.left}


def told_by(found: AgingResult) -> set[str]:
    return {one.id for aged in found.changed for some in aged.stand_ins.values() for one in some}


def stand_ins(found: AgingResult) -> dict[str, tuple[Level, ...]]:
    return {one.memory.id: one.stands_for for one in found.changed if one.stands_for != one.memory.stands_for}


@table(
    ("age", "gone", "by", "standing"),
    [
        (30, [], None, ()),
        (30.001, ["segment", "grip"], "day", (SEGMENT, GRIP)),
        (365, ["segment", "grip"], "day", (SEGMENT, GRIP)),
        (366, ["day", "segment", "grip"], "week", (SEGMENT, GRIP, DAY_)),
        (1826, ["week", "day", "segment", "grip"], "month", (SEGMENT, GRIP, DAY_, WEEK)),
        (30_000, ["week", "day", "segment", "grip"], "month", (SEGMENT, GRIP, DAY_, WEEK)),
    ],
)
def test_each_level_leaves_when_its_own_time_is_over_and_the_finest_that_stays_stands_in(
    age: float, gone: list[str], by: str | None, standing: tuple[Level, ...]
) -> None:
    found = age_records(a_day(age), keeping(), NOW)
    assert left(found) == dict.fromkeys(gone, (Index.VECTOR,))
    assert [one.memory.id for one in found.changed if one.leaves_an_index] == gone
    assert stand_ins(found) == ({} if by is None else {by: standing})
    assert told_by(found) == ({by} if by is not None else set())


def test_nothing_leaves_that_nothing_coarser_tells_and_it_is_named() -> None:
    found = age_records(a_day(400, told=False), keeping(), NOW)
    assert found.changed == ()
    assert [one.id for one in found.uncovered] == ["segment", "grip"]


def test_a_day_that_is_put_away_tells_nothing() -> None:
    there = [one for one in a_day(400) if one.id not in ("day", "week", "month", "year")]
    assert age_records(there, keeping(), NOW).changed == ()


def test_what_is_pinned_never_leaves_and_is_named() -> None:
    found = age_records(a_day(400, pinned=True), keeping(), NOW)
    assert left(found) == {"day": (Index.VECTOR,)}
    assert [one.id for one in found.pinned] == ["segment", "grip"]


def test_what_is_of_the_future_is_not_old() -> None:
    assert age_records(a_day(-10_000), keeping(), NOW) == AgingResult((), (), ())


def test_events_stay_unless_it_is_said_how_long_they_are_kept() -> None:
    assert "event" not in left(age_records(a_day(30_000), keeping(), NOW))
    kept = {EVENT: 7 * DAY}
    found = age_records(a_day(8), [IndexRetention(Index.TEXT, kept)], NOW)
    assert left(found) == {"event": (Index.TEXT,)}
    assert stand_ins(found) == {"day": (EVENT,)}


@table(("least", "by"), [(DAY_, "day"), (WEEK, "week"), (MONTH, "month"), (YEAR, "year")])
def test_who_stands_in_is_as_coarse_as_it_is_said(least: Level, by: str) -> None:
    found = age_records(a_day(40), keeping(min_level=least), NOW)
    assert told_by(found) == {by}
    without = [one for one in a_day(40) if one.id != by and not (by == "month" and one.id == "year")]
    coarser = [
        level
        for level in CALENDAR_LEVELS[CALENDAR_LEVELS.index(least) + 1 :]
        if f"{level.value}" in {one.id for one in without}
    ]
    assert bool(left(age_records(without, keeping(min_level=least), NOW))) is (by == "week" and bool(coarser))


def test_a_week_stays_until_months_tell_all_of_its_days() -> None:
    week = [
        a_record("d1", DAY_, 2000, "s"),
        a_record("d2", DAY_, 1999, "s"),
        a_record("week", WEEK, 1999, "d1", "d2"),
        a_record("m1", MONTH, 2000, "d1"),
    ]
    assert "week" not in left(age_records(week, keeping(), NOW))
    both = [*week, a_record("m2", MONTH, 1990, "d2")]
    assert left(age_records(both, keeping(), NOW)) == dict.fromkeys(["week", "d1", "d2"], (Index.VECTOR,))
    assert stand_ins(age_records(both, keeping(), NOW)) == {"m1": (DAY_, WEEK), "m2": (DAY_, WEEK)}


def test_what_has_left_comes_back_only_where_an_index_is_rebuilt() -> None:
    gone = [
        one.with_changes(left=(Index.VECTOR,))
        if one.level in (SEGMENT, GRIP)
        else one.with_changes(stands_for=(SEGMENT, GRIP))
        for one in a_day(10)[1:3]
    ] + [one.with_changes(stands_for=(SEGMENT, GRIP)) if one.level is DAY_ else one for one in a_day(10)[3:]]
    assert age_records(gone, keeping(), NOW).changed == ()
    found = age_records(gone, keeping(restores=True), NOW)
    assert left(found) == {"segment": (), "grip": ()}
    assert stand_ins(found) == {"day": ()}
    assert all(
        one.returns_to_an_index and not one.leaves_an_index for one in found.changed if one.memory.level is not DAY_
    )


def test_what_is_told_in_part_by_now_is_found_in_part() -> None:
    week = [
        a_record("d1", DAY_, 2000, "s"),
        a_record("d2", DAY_, 1999, "s"),
        a_record("week", WEEK, 1999, "d1", "d2", left=(Index.VECTOR,)),
        a_record("m1", MONTH, 2000, "d1", stands_for=(WEEK,)),
        a_record("m2", MONTH, 1990, "d2", stands_for=(WEEK,)),
    ]
    assert find_uncovered(week) == []
    half = week[:-1]
    assert [one.id for one in find_uncovered(half, before=week)] == ["week"]
    assert find_uncovered(half, before=half) == []
    then = age_records(half, [IndexRetention(Index.VECTOR, {})], NOW)
    assert stand_ins(then) == {}
    none = [*half[:-1], half[-1].with_changes(stands_for=())]
    assert [one.id for one in find_uncovered(none, before=half)] == ["week"]


@table("changed", [{"status": Status.FORGOTTEN}, {"left": (Index.VECTOR,)}, {"derived_from": ()}])
def test_what_has_left_is_found_by_what_stands_in_for_it_and_tells_it_and_is_there(changed: dict[str, Any]) -> None:
    there = {str(one.id): one for one in a_day(40)}
    there["segment"] = there["segment"].with_changes(left=(Index.VECTOR,))
    there["day"] = there["day"].with_changes(stands_for=(SEGMENT,))
    assert find_uncovered(there.values()) == []
    then = {**there, "day": there["day"].with_changes(**changed)}
    assert next(one.id for one in find_uncovered(then.values(), before=there.values())) == "segment"
    alone = [there["segment"], there["day"].with_changes(derived_from=("other",))]
    assert [one.id for one in find_uncovered(alone)] == ["segment"]
    away = {**there, "segment": there["segment"].with_changes(status=Status.ARCHIVED)}
    gone = [one.id for one in find_uncovered(then.values(), before=away.values())]
    assert "segment" not in gone  # it was not there to be found


def test_a_record_does_not_stand_in_for_its_own_level_nor_one_that_is_finer() -> None:
    day = a_record("d1", DAY_, 40, "s", left=(Index.TEXT,))
    grip = a_record("grip", GRIP, 40, left=(Index.TEXT,))
    assert [one.id for one in find_uncovered([day, a_record("d2", DAY_, 40, "d1", stands_for=(DAY_,))])] == ["d1"]
    assert [one.id for one in find_uncovered([grip, a_record("d2", DAY_, 40, stands_for=(GRIP,))])] == ["grip"]


def test_what_was_pinned_or_lost_what_tells_it_comes_back() -> None:
    pinned = [one.with_changes(left=(Index.VECTOR,)) for one in a_day(40, pinned=True)[1:3]] + a_day(40)[3:]
    assert left(age_records(pinned, keeping(restores=True), NOW)) == {"segment": (), "grip": ()}
    alone = [one.with_changes(left=(Index.VECTOR,)) for one in a_day(40, told=False)[1:]]
    assert left(age_records(alone, keeping(restores=True), NOW)) == {"segment": (), "grip": ()}


def test_only_levels_that_are_looked_at_change() -> None:
    found = age_records(a_day(400), [IndexRetention(Index.VECTOR, {GRIP: 10 * DAY})], NOW)
    assert left(found) == {"grip": (Index.VECTOR,)}


@st.composite
def scopes(draw: st.DrawFn) -> list[Memory]:
    """Days of a scope with all that is coarser, of which some are missing, and any of which may have left already."""
    count = draw(st.integers(1, 6))
    ages = draw(st.lists(st.floats(0, 3000), min_size=count, max_size=count))
    found: list[Memory] = []
    for place, age in enumerate(ages):
        found += [a_record(f"e{place}", EVENT, age), a_record(f"s{place}", SEGMENT, age, f"e{place}")]
        found += [a_record(f"g{place}", GRIP, age, f"e{place}"), a_record(f"d{place}", DAY_, age, f"s{place}")]
    days = [f"d{place}" for place in range(count)]
    for level, letter in ((WEEK, "w"), (MONTH, "m")):
        for part, some in enumerate((days[: count // 2], days[count // 2 :])):
            found += [a_record(f"{letter}{part}", level, min(ages), *some)] if some else []
    found.append(a_record("y", YEAR, min(ages), "m0", "m1"))
    kept = [one for one in found if draw(st.integers(0, 9))]

    def marked(one: Memory) -> Memory:
        outside = draw(st.sampled_from([(), (), (Index.TEXT,), (Index.VECTOR,), tuple(Index)]))
        levels = draw(st.lists(st.sampled_from(AGING_LEVELS), max_size=3)) if one.level in CALENDAR_LEVELS else ()
        left = outside if one.level in AGING_LEVELS else ()
        return one.with_changes(pinned=draw(st.integers(0, 5)) == 0, left=left, stands_for=tuple(levels))

    return [marked(one) for one in kept]


retentions = st.fixed_dictionaries(
    dict.fromkeys(AGING_LEVELS, st.none() | st.integers(0, 2000).map(lambda days: timedelta(days=days)))
)


@given(scopes(), retentions, retentions, st.sampled_from(CALENDAR_LEVELS), st.booleans())
def test_nothing_pinned_young_or_untold_leaves_and_doing_it_again_changes_nothing(
    records: Sequence[Memory], one: Mapping[Level, Any], other: Mapping[Level, Any], least: Level, returning: bool
) -> None:
    rules = [IndexRetention(Index.VECTOR, one, least, returning), IndexRetention(Index.TEXT, other, least, returning)]
    found = age_records(records, rules, NOW)
    then = {one.id: one for one in records}
    then |= {one.memory.id: one.memory.with_changes(left=one.left, stands_for=one.stands_for) for one in found.changed}
    for aged in found.changed:
        for index in set(aged.left) - set(aged.memory.left):
            kept = (one if index is Index.VECTOR else other)[aged.memory.level or EVENT]
            assert not aged.memory.pinned
            assert kept is not None
            assert NOW - aged.memory.created_at > kept
            assert aged.stand_ins[index]
            for teller in aged.stand_ins[index]:
                assert index not in then[teller.id].left
                assert aged.memory.level in then[teller.id].stands_for
    for record in then.values():
        assert not record.stands_for or record.level in CALENDAR_LEVELS
    assert age_records(list(then.values()), rules, NOW).changed == ()
    assert find_uncovered(then.values(), before=records) == []
    assert returning is False or find_uncovered(then.values()) == []
    assert age_records(list(reversed(records)), rules, NOW) == found


def test_a_wish_is_for_the_job_that_goes_by_it() -> None:
    assert RetentionOverrides(level=SEGMENT, age_days=3).for_job(Job.PRUNE_VECTORS).age_days == 3
    with pytest.raises(FieldError, match="'level': does not apply to rebuild-index"):
        RetentionOverrides(level=SEGMENT).for_job(Job.REBUILD_INDEX)
    with pytest.raises(FieldError, match="'age_days': is the age for one level"):
        RetentionOverrides(age_days=3)
    with pytest.raises(FieldError, match="'level': 'month' is not one of event, segment, grip, day, week"):
        RetentionOverrides(level=MONTH)
    with pytest.raises(FieldError, match="'min_level': 'grip' is not one of day, week, month, year"):
        RetentionOverrides(min_level=GRIP)
    for wrong in (0, 36_501):
        with pytest.raises(FieldError, match=f"{wrong} days are not within 1..36500"):
            RetentionOverrides(max_age_days=wrong)


@table("policy", [VectorPolicy, Bm25Policy])
def test_how_long_is_said_in_days_or_as_never(policy: Any) -> None:
    kept = retention_of(policy(segment_retention_days=1, day_retention_days="never"))
    assert kept == {EVENT: None, SEGMENT: DAY, GRIP: 30 * DAY, DAY_: None, WEEK: 1825 * DAY}
    for wrong in (-1, 0, 36_501, True, "soon"):
        with pytest.raises(FieldError, match="grip_retention_days"):
            policy(grip_retention_days=wrong)


def test_a_section_is_of_its_own_sort() -> None:
    with pytest.raises(FieldError, match="is not a VectorPolicy"):
        LifecyclePolicy(vector=Bm25Policy())  # type: ignore[arg-type]
    with pytest.raises(FieldError, match="'segment' cannot stand in for other levels"):
        Bm25Policy(min_level_after_rollup="segment")  # type: ignore[arg-type]
