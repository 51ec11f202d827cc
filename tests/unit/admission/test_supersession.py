"""What is said of a memory that takes the place of another."""

from hypothesis import given
from hypothesis import strategies as st
from tests.tables import table

from recollect.admission.policy import AdmissionPolicy
from recollect.admission.supersession import is_exclusive, quote_difference, superseded_verdict
from recollect.model.draft import Superseded
from recollect.model.enums import Level
from recollect.testing import a_memory


def test_a_record_of_what_happened_ends_nothing() -> None:
    told = a_memory(text="Ana lives in Rome", subject="ana: lives in")
    assert is_exclusive(told, AdmissionPolicy())
    assert [is_exclusive(told.with_changes(level=level), AdmissionPolicy()) for level in Level] == [False] * len(Level)


def reason(old: str, new: str) -> str:
    """Why the one took the place of the other."""
    replaced, memory = a_memory("a", text=old), a_memory("b", text=new, subject="s")
    return quote_difference(superseded_verdict(replaced, memory), replaced, memory).reason


@table(
    ("old", "new", "told"),
    [
        ("Ana lives in Rome.", "Ana lives in Lisbon!", "'Rome' → 'Lisbon'"),
        ("The TTL is (60 s).", "The TTL is (90 s).", "'60 s' → '90 s'"),
        ("The deadline is 2026-01-31", "The deadline is 2026-02-28", "'2026-01-31' → '2026-02-28'"),
        ("Ana prefers tabs", "Ana prefers spaces", "'tabs' → 'spaces'"),
        ("Rome is where Ana lives", "Lisbon is where Ana lives", "'Rome' → 'Lisbon'"),
    ],
)
def test_values_that_say_something_by_themselves_are_shown(old: str, new: str, told: str) -> None:
    assert reason(old, new) == f"both are of the subject 's': {told}"


@table(
    ("old", "new"),
    [
        ("I like cilantro", "I don't like cilantro"),
        ("User is not married", "User is married"),
        ("Ana has a dog", "Ana has two dogs"),
        ("The gate is an exit", "The gate is exit"),
        ("Call Ana at 555-0018", "Call Ana at 555-0999"),
        ("Call Ana at +351 555 0018.", "Call Ana at +351 555 0999."),
        ("0018 555 calls Ana", "0999 555 calls Ana"),
        ("The API is at v1.2.3", "The API is at v1.2.4"),
    ],
)
def test_where_the_difference_says_nothing_by_itself_both_texts_are_shown(old: str, new: str) -> None:
    assert reason(old, new) == f"both are of the subject 's': {old!r} → {new!r}"


def test_texts_that_begin_alike_are_not_shown_twice() -> None:
    long = "Ana is one of those who, whenever anybody asks them about it, say that they"
    assert reason(f"{long} like tea", f"{long} don't like tea") == "both are of the subject 's'"


def test_what_is_kept_with_a_memory_has_no_words_of_what_it_ended() -> None:
    by = a_memory("b", text="Ana lives in Lisbon", subject="s")
    said = superseded_verdict(a_memory("a", text="Ana lives in Rome"), by)
    assert said == Superseded(said.old, "both are of the subject 's'")


TEXTS = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1).filter(str.strip)


@given(TEXTS, TEXTS)
def test_whatever_two_texts_say_no_value_is_empty(old: str, new: str) -> None:
    told, _, values = reason(old, new).partition(": ")
    assert told == "both are of the subject 's'"
    assert values == "" or "''" not in values.split(" → ")
