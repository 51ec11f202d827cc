"""Floors: what every category must come to at least, and which of them are missed."""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from .bench import MEASURES, Figures

FLOORS = Path(__file__).parent / "floors.json"
MARGIN = 0.02
"""How far below what was measured a floor is: less than one question of a category going wrong altogether."""

DIGITS = 3


@dataclass(frozen=True, slots=True)
class Miss:
    """A measure of a category that is below its floor."""

    category: str
    measure: str
    floor: float
    figure: float

    def __str__(self) -> str:
        return f"{self.category}: {self.measure} is {self.figure:.3f}, below its floor of {self.floor:.3f}"


def below(figures: Figures, floors: Figures) -> list[Miss]:
    """All that is below its floor."""
    return [
        Miss(category, measure, floors[category][measure], measured[measure])
        for category, measured in figures.items()
        for measure in MEASURES
        if measured[measure] < floors[category][measure]
    ]


def floors_of(figures: Figures) -> Figures:
    """The floors that these figures pass, rounded down."""
    scale = 10**DIGITS
    return {
        category: {name: max(math.floor((figure - MARGIN) * scale) / scale, 0.0) for name, figure in measured.items()}
        for category, measured in figures.items()
    }


def read() -> Figures:
    """The floors that are held."""
    found: Mapping[str, Mapping[str, float]] = json.loads(FLOORS.read_text(encoding="utf-8"))
    return found


def write(floors: Figures) -> None:
    """Hold these floors from now on."""
    FLOORS.write_text(json.dumps(floors, indent=2) + "\n", encoding="utf-8")
