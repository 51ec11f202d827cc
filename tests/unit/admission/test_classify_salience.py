"""How much a memory stands out: length, kind and pin."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.tables import table

from recollect.admission.classify import compute_salience
from recollect.admission.policy import SaliencePolicy
from recollect.errors import InvalidInput
from recollect.model.enums import Kind

BOOSTED = {Kind.PREFERENCE, Kind.PROCEDURE, Kind.CONSTRAINT, Kind.DEFINITION}
SHARES = st.floats(0, 1)


@table(("length", "worth"), [(0, 0.0), (100, 100 / 500 * 0.45), (250, 0.225), (500, 0.45), (9999, 0.45)])
def test_length_counts_up_to_five_hundred_characters(length: int, worth: float) -> None:
    assert compute_salience("x" * length, Kind.OBSERVATION, pinned=False) == worth


@table("kind", Kind)
def test_a_kind_that_says_how_things_are_to_be_stands_out(kind: Kind) -> None:
    assert compute_salience("", kind, pinned=False) == (0.20 if kind in BOOSTED else 0.0)


def test_a_pin_stands_out() -> None:
    assert compute_salience("", Kind.FACT, pinned=True) == 0.20


def test_the_most_that_stands_out_is_the_sum_of_the_three() -> None:
    assert compute_salience("x" * 500, Kind.PREFERENCE, pinned=True) == 0.45 + 0.20 + 0.20


@table("character", ["a", "é", "語", "🦜"])
def test_characters_are_counted_and_not_bytes(character: str) -> None:
    assert compute_salience(character * 100, Kind.FACT, pinned=False) == 100 / 500 * 0.45


POLICIES = st.builds(
    SaliencePolicy,
    length_density_weight=SHARES,
    kind_boost=SHARES,
    pinned_boost=SHARES,
    full_length=st.integers(1, 1000),
)


@given(st.text(), st.sampled_from(Kind), st.booleans(), POLICIES)
def test_salience_is_within_0_to_1_under_every_policy(
    text: str, kind: Kind, pinned: bool, policy: SaliencePolicy
) -> None:
    stands_out = compute_salience(text, kind, pinned=pinned, policy=policy)
    assert 0.0 <= stands_out <= 1.0
    assert stands_out <= compute_salience(text, kind, pinned=True, policy=policy)
    assert stands_out <= compute_salience(text + "!", kind, pinned=pinned, policy=policy)


def test_every_number_of_a_policy_reaches_the_salience() -> None:
    policy = SaliencePolicy(length_density_weight=0.1, kind_boost=0.02, pinned_boost=0.003, full_length=10)
    assert compute_salience("x" * 5, Kind.PROCEDURE, pinned=True, policy=policy) == 0.5 * 0.1 + 0.02 + 0.003


def test_a_generous_policy_gives_no_more_than_1() -> None:
    policy = SaliencePolicy(length_density_weight=1.0, kind_boost=1.0, pinned_boost=1.0)
    assert compute_salience("x" * 500, Kind.PROCEDURE, pinned=True, policy=policy) == 1.0


@table("field", ["length_density_weight", "kind_boost", "pinned_boost"])
@table("value", [-0.1, 1.1, math.nan, math.inf])
def test_a_weight_outside_0_to_1_is_refused_by_name(field: str, value: float) -> None:
    with pytest.raises(InvalidInput, match=rf"'{field}'.* is not (within 0\.\.1|a finite number)"):
        SaliencePolicy(**{field: value})  # type: ignore[arg-type]


@table("length", [0, -1, math.nan, math.inf])
def test_a_full_length_that_no_text_has_is_refused(length: int) -> None:
    with pytest.raises(InvalidInput, match="full_length is"):
        SaliencePolicy(full_length=length)
