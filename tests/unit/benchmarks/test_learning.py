"""Simulated people over a real engine: what they want is learned from what they say, and from noise nothing is."""

import learning
import numpy as np
import pytest
from learning import START, WANTED, Life, People

from recollect.evaluation.feedback_data import PositionBias
from recollect.evaluation.training_set import TunableNumbers
from tests.tables import table


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fewer fresh questions than a benchmark asks."""
    monkeypatch.setattr(learning, "FRESH", 30)


@table("steepness", [0.0, 1.0])
@pytest.mark.thorough
def test_what_people_want_is_learned_and_serves_them_better_on_fresh_questions(steepness: float) -> None:
    life = Life(People(1, steepness))
    life.ask(150)
    learned = life.learned()
    numbers = learned.tuning.numbers
    with life.engine:
        before, after, best = (values.mean() for values in life.content([START, numbers.apply_to(START), WANTED]))
    assert learned.tuning.carries_over
    assert learned.position_bias.steepness == pytest.approx(steepness, abs=0.35)
    assert numbers.weights[2] > 2 * START.terms[2].weight  # importance, of which they want more
    assert numbers.weights[0] < START.terms[0].weight
    assert before + 0.1 < after < best == pytest.approx(1.0)


@pytest.mark.thorough
def test_without_making_up_for_places_less_is_learned() -> None:
    gained = []
    for seed in range(2):
        life = Life(People(seed, 1.5))
        life.ask(150)
        ways = [life.learned().tuning, life.learned(PositionBias()).tuning]
        with life.engine:
            gained.append([values.mean() for values in life.content([way.numbers.apply_to(START) for way in ways])])
    corrected, naive = np.mean(gained, axis=0)
    assert corrected > naive + 0.02


@table("seed", range(3))
@pytest.mark.thorough
def test_from_noise_nothing_is_learned(seed: int) -> None:
    life = Life(People(seed, 1.0, matters=False))
    life.ask(100)
    with life.engine:
        tuning = life.learned().tuning
    assert not tuning.carries_over
    assert tuning.numbers.distance_to(TunableNumbers.of(START)) < 0.35


@pytest.mark.thorough
def test_it_tells_what_it_measured(capsys: pytest.CaptureFixture[str]) -> None:
    learning.measure(1.0, 60, 1)
    learning.again(0.0, 60, 1)
    learning.noise(0.0, 60, 1)
    measured, before, once, twice, noise = capsys.readouterr().out.splitlines()
    assert before.startswith("again, steepness 0, 60 contexts each, 1 seeds: before nDCG@10 0.")
    assert before.endswith("; weights 0.60, 0.20, 0.10, 0.10; written 0/1")
    assert [line.split(": ")[1].split()[0] for line in (once, twice)] == ["once", "twice"]
    assert measured.startswith("steepness 1, 60 contexts, 1 seeds: nDCG@10 0.")
    assert noise.startswith("noise, steepness 0, 60 contexts: written 0 of 1, ")
