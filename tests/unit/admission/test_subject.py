"""What a text is about: tables of statements with one value at a time, of look-alikes, and of what is about nothing."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.admission.subject import LONGEST, subject_of

ABOUT = [
    ("Ana lives in Berlin", None, "ana: lives in"),
    ("ana lives in Berlin", None, None),  # a word like any other, without its capital
    ("Ana currently lives in Berlin.", None, "ana: lives in"),
    ("Ana resides in Berlin", None, "ana: lives in"),
    ("I live in Berlin", "Ana", "ana: lives in"),
    ("I live in Berlin", None, None),
    ("The user lives in Berlin", None, "user: lives in"),
    ("User works at Acme", None, "user: works at"),
    ("Ana works for Acme Labs", None, "ana: works for"),
    ("Ana works as a nurse", None, "ana: works as"),
    ("Ana is married to Bob", None, "ana: is married to"),
    ("Ana is 34 years old", None, "ana: is old"),
    ("I am 34 years old", "Ana", "ana: is old"),
    ("My favourite colour is blue", "Ana", "ana: favorite color"),
    ("My favorite color is blue", "Ana", "ana: favorite color"),
    ("My favourite colour is blue", None, None),
    ("Ana's favourite colour is blue", None, "ana: favorite color"),
    ("User's email is ana@example.org", None, "user: email"),
    ("The user's email address is ana@example.org", None, "user: email"),
    ("Ana's phone number is 555-1234", None, "ana: phone number"),
    ("The meeting with Bob is at 10:00", None, "meeting with bob: is at"),
    ("The meeting with Bob is at 10am.", None, "meeting with bob: is at"),
    ("The meeting with Bob is on 5 March 2026", None, "meeting with bob: is on"),
    ("The meeting with Bob is on Monday at 10:00", None, "meeting with bob: is at on"),
    ("The deadline of project Y is 2026-03-05", None, "project y: deadline"),
    ("The database port is 5432", None, "database port: is"),
    ("Please note that the database port is 5432", None, "database port: is"),
    ("The default branch is main", None, "default branch: is"),
    ("The project is called Falcon", None, "project: is named"),
    ("Ana's manager is Bob", None, "ana: manager"),
    ("Ana's wife lives in Oslo", None, "ana wife: lives in"),
]

ABOUT_NOTHING = [
    "Ana's sister lives in Rome",
    "Ana lived in Rome",
    "Ana will live in Rome",
    "Ana may live in Rome",
    "Ana does not live in Rome",
    "Ana doesn't live in Rome",
    "Ana no longer lives in Rome",
    "Does Ana live in Rome?",
    "If Ana lives in Rome, she is happy",
    "Maybe Ana lives in Rome",
    "I think Ana lives in Rome",
    "Bob said Ana lives in Rome",
    "Ana lives in Rome and Oslo",
    "Ana lives in Rome. Bob lives in Oslo.",
    "Ana lives in a small flat",
    "Ana lives in Rome in summer",
    "She lives in Rome",
    "Everyone lives in Rome",
    "Ana works in Rome",
    "Ana likes tea",
    "Ana has been to Rome",
    "Ana knows Bob",
    "Ana owns a car",
    "Ana is a nurse",
    "Ana is happy",
    "Ana's email is broken",
    "The database port is closed",
    "Ana's favourite restaurant is closed",
    "Ana's favourite colours are blue and red",
    "Ana's dog is called Rex",
    "Ana's friend is Bob",
    "A meeting with Bob is at 10:00",
    "The meetings with Bob are at 10:00",
    "The meeting with Bob is on Mondays at 10:00",
    "The meeting with Bob was at 10:00",
    "The deadline is tight",
    "Ana was called by Bob",
    "",
    "...",
    "Ana",
    "is",
    "My",
    "Ana's",
    "The",
]

APART = [
    ("Ana lives in Rome", "Bob lives in Rome"),
    ("Ana's email is a@example.org", "Ana's work email is b@example.org"),
    ("The database port is 5432", "The staging database port is 5433"),
    ("Ana works at Acme", "Ana works as a nurse"),
    ("Ana lives in Rome", "Ana's wife lives in Rome"),
    ("The meeting with Bob is at 10:00", "The meeting with Zoe is at 10:00"),
    ("The deadline of project X is 2026-03-05", "The deadline of project Y is 2026-03-05"),
    ("Ana's favourite colour is blue", "Ana's favourite drink is tea"),
]


@pytest.mark.parametrize(("text", "speaker", "subject"), ABOUT)
def test_a_statement_with_one_value_at_a_time_has_a_subject(
    text: str, speaker: str | None, subject: str | None
) -> None:
    assert subject_of(text, speaker) == subject


@pytest.mark.parametrize("text", ABOUT_NOTHING)
def test_what_is_in_doubt_past_plural_or_a_state_is_about_nothing(text: str) -> None:
    assert subject_of(text, "Zoe") is None


@pytest.mark.parametrize(("one", "other"), APART)
def test_look_alikes_are_about_something_else(one: str, other: str) -> None:
    assert subject_of(one, None) is not None
    assert subject_of(one, None) != subject_of(other, None)


WORDS = st.sampled_from(
    [
        *("Ana", "Ana's", "my", "I", "the", "The", "user's", "lives", "works", "in", "at", "as", "is", "called", "a"),
        *("nurse", "Rome", "10:00", "deadline", "of", "on", "Monday", "email", "5"),
    ]
)


@given(st.one_of(st.text(), st.lists(WORDS, max_size=10).map(" ".join)), st.one_of(st.none(), st.text(max_size=300)))
def test_a_subject_is_short_and_the_same_every_time(text: str, speaker: str | None) -> None:
    found = subject_of(text, speaker)
    assert found is None or 0 < len(found) <= LONGEST
    assert subject_of(text, speaker) == found
    assert subject_of(f" {text} ", speaker) == found or len(text) > 190


@pytest.mark.parametrize("part", ["Ana lives in ", "my ", "'s ", "is ", "\u0301", "the of "])
def test_a_megabyte_is_about_nothing(part: str) -> None:
    assert subject_of(part * (1_000_000 // len(part)), "Ana") is None
