"""What a text is worth by what it says of itself: the rubric, rung by rung."""

from hypothesis import given
from hypothesis import strategies as st
from tests.tables import table

from recollect.admission.classify import RECURRING_KINDS, detect_importance
from recollect.admission.policy import ImportancePolicy
from recollect.model.enums import Kind

POLICY = ImportancePolicy()
OTHER = ImportancePolicy(stated=0.5, critical=0.4, business=0.3, preference=0.2, casual=0.1)


@table(
    ("text", "rung"),
    [
        ("It is important that the door stays shut", "stated"),
        ("Family is very important to me", "stated"),
        ("Important: the key is under the mat", "stated"),
        ("Please remember the gate", "stated"),
        ("Don't forget to water the ferns", "stated"),
        ("Punctuality matters a lot to me", "stated"),
        ("I'm allergic to peanuts", "critical"),
        ("Takes insulin before meals", "critical"),
        ("Was diagnosed with asthma", "critical"),
        ("The solvent is flammable", "critical"),
        ("This is a mission-critical path", "critical"),
        ("The client pays in euros", "business"),
        ("The deadline is in March", "business"),
        ("I work at a bakery", "business"),
        ("Our API is versioned by date", "business"),
        ("Ana always takes the train", "preference"),
        ("The choir meets every Tuesday", "preference"),
        ("He swims twice a week", "preference"),
    ],
)
def test_the_words_of_a_text_tell_the_rung(text: str, rung: str) -> None:
    assert detect_importance(text, Kind.FACT, POLICY) == getattr(POLICY, rung)
    assert detect_importance(text, Kind.FACT, OTHER) == getattr(OTHER, rung)


@table(
    "text",
    [
        "",
        "Ana has a blue bicycle",
        "It is not important",
        "That isn't really important to me",
        "An unimportant detail",
        "He rode past the apiary",
        "They contracted the muscle",
        "A toxicologist and an allergologist met",
        "The everyday bustle",
    ],
)
def test_a_text_that_says_nothing_of_itself_is_not_judged(text: str) -> None:
    assert detect_importance(text, Kind.FACT, POLICY) is None


@table("kind", Kind)
def test_what_recurs_by_its_kind_is_worth_what_a_preference_is(kind: Kind) -> None:
    worth = detect_importance("Tea, no sugar", kind, POLICY)
    assert worth == (POLICY.preference if kind in RECURRING_KINDS else None)


def test_a_decision_in_business_is_critical() -> None:
    text = "We decided to drop the vendor"
    assert detect_importance(text, Kind.DECISION, POLICY) == POLICY.critical
    assert detect_importance(text, Kind.FACT, POLICY) == POLICY.business


@table(
    "text",
    [
        "Important: my password is hunter2",
        "Remember that the API key is abc",
        "The client's access token is secret",
        "My pin code is very important",
    ],
)
@table("kind", Kind)
def test_credentials_are_never_important(text: str, kind: Kind) -> None:
    assert detect_importance(text, kind, POLICY) is None


@given(st.text(), st.sampled_from(Kind))
def test_any_text_is_worth_a_rung_or_nothing(text: str, kind: Kind) -> None:
    rungs = {POLICY.stated, POLICY.critical, POLICY.business, POLICY.preference, None}
    assert detect_importance(text, kind, POLICY) in rungs


@table("unit", ["a", "a ", "not ", "is ", "had a ", "pass ", " ", "every ", "my "])
def test_a_megabyte_of_the_same_ends(unit: str) -> None:
    assert detect_importance(unit * (1_000_000 // len(unit)), Kind.FACT, POLICY) is None
