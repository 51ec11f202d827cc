"""The lexicon: its entries fit together, whatever is edited in the file."""

from recollect.text.lexicon import AMERICAN_SPELLINGS, LEXICON, MONTHS, SHORT_MONTHS, SHORT_WEEKDAYS, UNITS, WEEKDAYS


def test_short_names_of_months_and_weekdays_stand_for_known_ones() -> None:
    assert {short[:3] for short in SHORT_MONTHS} == {month[:3] for month in MONTHS if month != "may"}
    assert all(day in WEEKDAYS and day.startswith(short) for short, day in SHORT_WEEKDAYS.items())


def test_an_american_spelling_is_not_replaced_again() -> None:
    assert not AMERICAN_SPELLINGS.keys() & AMERICAN_SPELLINGS.values()


def test_a_unit_is_converted_once_and_between_known_units() -> None:
    factors = {unit: measure.split() for unit, measure in LEXICON.mapping("units.factors").items()}
    bases = {base for _, base in factors.values()}
    assert factors.keys() | bases <= set(UNITS.values())
    assert not factors.keys() & bases


def test_a_spelling_stands_for_one_unit() -> None:
    spellings = [way.strip() for ways in LEXICON.mapping("units.spellings").values() for way in ways.split("|")]
    assert sorted(spellings) == sorted(UNITS)
