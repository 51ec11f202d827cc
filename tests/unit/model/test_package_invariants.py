"""The nouns hold their own invariants."""

import math
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from recollect.errors import FieldError, InvalidInput, show
from recollect.model import validation
from recollect.model.candidate import Candidate
from recollect.model.enums import Kind
from recollect.testing import NOW, a_candidate, a_memory
from tests.tables import table


@table(
    ("given", "field"),
    [
        ({"similarity": math.nan}, "similarity"),
        ({"similarity": math.inf}, "similarity"),
        ({"importance": math.nan}, "importance"),
        ({"salience": -0.1}, "salience"),
        ({"served": -1}, "served"),
        ({"words": -1}, "words"),
        ({"words": 1.0}, "words"),
        ({"addressed": 1.1}, "addressed"),
        ({"addressed": math.nan}, "addressed"),
        ({"setting": -0.1}, "setting"),
        ({"days_off": -1e-9}, "days_off"),
        ({"days_off": 1e7 + 1.0}, "days_off"),
        ({"days_off": math.inf}, "days_off"),
        ({"days_off": math.nan}, "days_off"),
        ({"days_off": True}, "days_off"),
        ({"days_off": timedelta(days=1)}, "days_off"),
        ({"session": ""}, "session"),
        ({"session": 5}, "session"),
        ({"speaker": " Ana"}, "speaker"),
        ({"speaker": "A" * 257}, "speaker"),
        ({"revisions": 2**54}, "revisions"),
        ({"created_at": datetime(2026, 1, 1)}, "created_at"),
        ({"served": 2.5}, "served"),
        ({"served": True}, "served"),
        ({"importance": "high"}, "importance"),
        ({"importance": True}, "importance"),
        ({"similarity": "high"}, "similarity"),
        ({"created_at": "2026-01-01"}, "created_at"),
        ({"kind": "fact"}, "kind"),
        ({"vector": ()}, "vector"),
        ({"vector": 3}, "vector"),
        ({"vector": ["x"]}, "vector"),
        ({"vector": "123"}, "vector"),
        ({"vector": (True,)}, "vector"),
        ({"vector": (10**400,)}, "vector"),
        ({"similarity": 10**5000}, "similarity"),
        ({"served": 10**5000}, "served"),
        ({"kind": 10**5000}, "kind"),
        ({"id": "a\u202eb"}, "id"),
        ({"id": "a\u2028b"}, "id"),
        ({"id": 5}, "id"),
        ({"vector": (1.0, math.nan)}, "vector"),
        ({"vector": (1.0, math.inf)}, "vector"),
        ({"id": "b", "valid_from": NOW.replace(year=1899)}, "valid_from"),
    ],
)
def test_a_candidate_that_cannot_be_cannot_be_made(given: dict[str, Any], field: str) -> None:
    with pytest.raises(FieldError) as refusal:
        a_candidate(**given)
    assert refusal.value.field == field


def test_what_a_question_and_a_session_tell_of_a_candidate_is_kept_as_it_is() -> None:
    known: dict[str, Any] = {
        "addressed": 1,
        "days_off": 3,
        "setting": 0.5,
        "words": 7,
        "session": "s",
        "speaker": "Ana",
    }
    candidate = a_candidate(**known)
    assert {name: getattr(candidate, name) for name in known} == known
    assert (type(candidate.addressed), type(candidate.days_off), type(candidate.words)) == (float, float, int)
    assert {getattr(a_candidate(), name) for name in known} == {None}


def test_a_distance_in_days_is_at_least_0_and_at_most_farther_than_any_two_dates() -> None:
    assert 2 * (validation.LATEST_DATETIME - validation.EARLIEST_DATETIME).days < validation.MAX_DAYS_OFF
    for days in (0.0, 1e-300, validation.MAX_DAYS_OFF):
        assert validation.require_days_off("days_off", days) == days
    assert str(validation.require_days_off("days_off", -0.0)) == "0.0"
    with pytest.raises(FieldError, match=r"field 'days_off': -0\.5 is not within 0\.\.1e\+07 days"):
        validation.require_days_off("days_off", -0.5)


def test_a_candidate_shows_its_own_memory() -> None:
    with pytest.raises(FieldError, match="has the id 'a', but its candidate has the id 'b'"):
        Candidate(id=a_memory("b").id, memory=a_memory("a"))


@table("arm", ["similarity", "lexical", "relevance"])
def test_a_question_leaves_evidence(arm: str) -> None:
    evidence: dict[str, Any] = {arm: 0.0}
    assert a_candidate(**evidence).questioned
    assert not a_candidate(importance=0.5).questioned


@table(
    "given",
    [
        {"text": " \n"},
        {"text": None},
        {"id": ""},
        {"id": 5},
        {"created_at": datetime(2026, 1, 1)},
        {"kind": 'fact"> <x'},
        {"title": 5},
        {"pinned": "false"},
    ],
)
def test_a_memory_says_something_has_a_name_and_a_date(given: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        a_memory(**given)


def test_a_memory_is_an_observation_unless_said_otherwise() -> None:
    assert (a_memory().kind, a_memory().title, a_memory().pinned) == (Kind.OBSERVATION, None, False)


def test_there_are_sixteen_kinds() -> None:
    assert len(Kind) == 16


@table("moment", [NOW.replace(year=1900, month=1, day=1), NOW.replace(year=2199, month=12, day=31)])
def test_the_first_and_the_last_day_are_dates(moment: datetime) -> None:
    assert a_candidate(created_at=moment).created_at == moment


def test_an_error_says_where_it_was_found() -> None:
    assert str(FieldError("no")) == "no"
    assert str(FieldError("no", field="f")) == "field 'f': no"
    assert str(FieldError("no", field="f").at_line(3)) == "line 3, field 'f': no"
    assert str(FieldError("no", line=3)) == "line 3: no"


def test_dates_are_kept_in_utc_and_vectors_as_tuples() -> None:
    tokyo = datetime(2026, 1, 1, 9, tzinfo=timezone(timedelta(hours=9)))
    kept = a_candidate(created_at=tokyo, vector=[1, 2])
    assert (kept.created_at, kept.vector) == (NOW, (1.0, 2.0))
    assert kept.created_at is not None
    assert kept.created_at.tzinfo is UTC
    assert a_memory(created_at=tokyo).created_at.tzinfo is UTC


def test_what_is_shown_as_a_memory_is_one() -> None:
    with pytest.raises(FieldError, match="'x' is not a memory"):
        Candidate(id=a_memory("b").id, memory="x")  # type: ignore[arg-type]


def test_minus_zero_and_whole_numbers_are_the_floats_they_equal() -> None:
    kept = a_candidate(similarity=-0.0, importance=1)
    assert (str(kept.similarity), str(kept.importance)) == ("0.0", "1.0")


@table(
    ("value", "shown"),
    [
        ("x" * 200, "'xxx"),
        ([[[[1]]]], "[[[...]]]"),
        pytest.param(10**5000, "a very long int", id="endless"),
        ("a\x1b", "'a\\x1b'"),
    ],
)
def test_a_message_shows_a_value_in_a_few_words_whatever_it_is(value: object, shown: str) -> None:
    assert show(value).startswith(shown)
    assert len(show(value)) <= 80
