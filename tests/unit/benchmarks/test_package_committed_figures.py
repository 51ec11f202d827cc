"""The figures in this repository are of the profile in this repository."""

import json
from pathlib import Path

import ablation
from peers import page, results
from peers.roster import PEERS

from recollect.ranking.profiles import builtin_profile
from recollect.ranking.tuning_report_check import fingerprint
from tests.tables import table

ROOT = Path(__file__).parents[3]
RESULTS = results.read(ROOT / "benchmarks" / "peers" / "results.json")
PRESENT = fingerprint(builtin_profile("default"))
OURS = [peer.name for peer in PEERS if peer.driver == page.DRIVER]


@table("name", OURS)
def test_recollect_was_measured_beside_others_with_the_present_default_profile(name: str) -> None:
    assert name in RESULTS, "measure again: scripts/bench peers"
    others = {what: one.fingerprint for what, one in RESULTS[name].measured.items() if one.fingerprint != PRESENT}
    assert others == {}, "measure again: scripts/bench peers"


def test_the_page_beside_others_is_written_from_the_results() -> None:
    written = (ROOT / "docs" / "explanation" / "benchmarks.md").read_text(encoding="utf-8")
    assert written == page.page(RESULTS, PRESENT), "write it anew: scripts/bench peers --page"


def test_the_parts_were_left_out_of_the_present_default_profile() -> None:
    told = ablation.measured_with(ablation.PAGE.read_text(encoding="utf-8"))
    assert told == PRESENT[: ablation.STAMP], "measure again: scripts/bench ablation"


@table(("row", "embedder"), [("built-in table", "wordllama"), ("extra `minilm`", "minilm")])
def test_the_figures_of_the_readme_are_those_of_the_metrics(row: str, embedder: str) -> None:
    recorded = json.loads((ROOT / "benchmarks" / "metrics.json").read_text(encoding="utf-8"))
    cells = []
    for dataset in ("locomo", "realmem"):
        figures = [recorded[f"quality.{dataset}.{embedder}.{measure}"]["value"] for measure in ablation.MEASURES]
        cells.append(" / ".join(f"{figure:.3f}".removeprefix("0") for figure in figures))
    assert f"| **recollect**, {row} | {' | '.join(cells)} |" in (ROOT / "README.md").read_text(encoding="utf-8")
