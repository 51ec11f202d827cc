"""The generator of the judgements is among the benchmarks: their folder is put where Python looks."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
