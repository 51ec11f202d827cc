"""The benchmarks are no package of ours: their folder is put where Python looks."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[3] / "benchmarks"))
