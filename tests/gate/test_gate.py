"""The gate: no category of the judgements may fall below its floor, and whatever breaks a signal makes one fall.

After a change of `default` that is meant, `python -m tests.gate --write` makes new floors.
"""

from collections.abc import Iterator

import pytest

from recollect.ranking.profile import Profile
from recollect.ranking.profile_toml import override_profile
from recollect.ranking.profiles import builtin_profile

from . import floors
from .bench import MEASURES, WHOLE, Bench, Figures, bench
from .sabotage import EXEMPT, FACTORS, OTHERS, TERMS, Sabotage

DEFAULT = builtin_profile("default")

CLEARLY = 0.05
"""How much a broken signal must cost its category, in one measure at least."""

ALL = {**{f"{name} is broken": one for name, one in (TERMS | FACTORS).items()}, **OTHERS}


@pytest.fixture(scope="module")
def judged() -> Iterator[Bench]:
    with bench() as judged:
        yield judged


@pytest.fixture(scope="module")
def sound(judged: Bench) -> Figures:
    """What `default` comes to."""
    return judged.figures(DEFAULT)


def told(missed: list[floors.Miss]) -> str:
    return "\n".join(map(str, missed))


def only(signal: str) -> Profile:
    """`default` with one signal alone, and nothing around it."""
    terms: dict[str, object] = {term.signal.name: None for term in DEFAULT.terms}
    terms[signal] = {"weight": 1.0, "missing": 0.0}
    nothing = {"hearing": "alone", "factors": {"newest": None}, "gates": {"relevance": None}}
    return override_profile(DEFAULT, {"terms": terms, **nothing})


def test_default_is_nowhere_below_its_floors(sound: Figures) -> None:
    missed = floors.below(sound, floors.read())
    assert not missed, told(missed)


def test_every_category_has_its_floors_and_no_other_has(sound: Figures) -> None:
    assert sound.keys() == floors.read().keys()
    assert WHOLE in sound


def test_a_miss_names_the_category_the_measure_the_floor_and_the_figure() -> None:
    floor: Figures = {"who": dict.fromkeys(MEASURES, 0.5)}
    missed = floors.below({"who": {MEASURES[0]: 0.25, MEASURES[1]: 0.5}}, floor)
    assert told(missed) == "who: recall@10 is 0.250, below its floor of 0.500"


def test_floors_are_the_margin_below_what_they_were_made_of(sound: Figures) -> None:
    made = floors.floors_of(sound)
    assert not floors.below(sound, made)
    for category, measured in sound.items():
        for name in MEASURES:
            assert made[category][name] == pytest.approx(measured[name] - floors.MARGIN, abs=10**-floors.DIGITS)


def test_no_category_is_solved_by_words_alone_and_by_meaning_alone(judged: Bench) -> None:
    words, meaning = judged.figures(only("lexical")), judged.figures(only("similarity"))
    solved = {
        category for category in words if all(min(words[category][m], meaning[category][m]) == 1.0 for m in MEASURES)
    }
    assert solved == set()


def test_every_term_and_factor_of_default_is_broken_by_some_sabotage() -> None:
    assert {term.signal.name for term in DEFAULT.terms} == TERMS.keys() | EXEMPT
    assert {factor.signal.name for factor in DEFAULT.factors} == FACTORS.keys()


@pytest.mark.parametrize("sabotage", ALL.values(), ids=ALL.keys())
def test_the_gate_closes_in_the_right_category_when(
    sabotage: Sabotage, judged: Bench, sound: Figures, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, instead in sabotage.code.items():
        monkeypatch.setattr(sabotage.inside, name, instead)
    broken = judged.figures(sabotage.profile(DEFAULT), {sabotage.category})
    assert {miss.category for miss in floors.below(broken, floors.read())} == {sabotage.category}
    losses = [sound[sabotage.category][name] - broken[sabotage.category][name] for name in MEASURES]
    assert max(losses) >= CLEARLY
