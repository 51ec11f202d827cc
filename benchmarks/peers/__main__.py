"""recollect beside what one would pick instead.

Each peer gets an environment of its own with the versions in constraints.txt, the same texts and the same vectors, and
runs alone, in a process of its own, with one thread. Speed is measured with synthetic memories; quality with folders of
judgements (memories.jsonl, queries.jsonl, qrels.tsv), which are not part of this repository. What was measured goes to
results.json, where figures that are not measured anew stay, and from there into docs/explanation/benchmarks.md:

    scripts/bench peers --data judgements/locomo judgements/realmem
    scripts/bench peers --only recollect --data judgements/locomo judgements/realmem --rows
    scripts/bench peers --only numpy recollect --rows 1000
    scripts/bench peers --page
"""

import argparse
import os
import tempfile
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from peers import judgements, material, page, plot, results
from peers.environments import NotInstalled
from peers.job import Job, Outcome
from peers.judgements import Judgements
from peers.machine import this_machine
from peers.metrics import quality
from peers.results import Measured, Record
from peers.roster import PEERS, Peer
from peers.running import Failed, run
from peers.synthetic import synthetic
from recollect.config import Settings
from recollect.wiring import named_embedder

ROOT = Path(__file__).parents[2]
RESULTS = Path(__file__).with_name("results.json")
PAGE = ROOT / "docs" / "explanation" / "benchmarks.md"
PLOT = PAGE.with_name("benchmarks-search.svg")
SIZES = (1_000, 10_000, 100_000)
QUESTIONS = 103


def main() -> None:
    chosen = arguments().parse_args()
    known = results.read(chosen.results)
    if not chosen.page:
        with ExitStack() as stack:
            folder = chosen.material or Path(stack.enter_context(tempfile.TemporaryDirectory()))
            judged = [judgements.read(one) for one in chosen.data]
            prepare(folder, judged, chosen.rows)
            for peer in PEERS:
                if not chosen.only or peer.name in chosen.only:
                    print(f"{peer.name}", flush=True)
                    known[peer.name] = measure(peer, known.get(peer.name, Record()), folder, judged, chosen)
                    results.write(chosen.results, known)
    ordered = {peer.name: known[peer.name] for peer in PEERS if peer.name in known}
    results.write(chosen.results, ordered)
    PLOT.write_text(plot.search(ordered), encoding="utf-8")
    PAGE.write_text(page.page(ordered), encoding="utf-8")


def arguments() -> argparse.ArgumentParser:
    """What may be said on the command line."""
    known = argparse.ArgumentParser(
        prog="scripts/bench peers", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    known.add_argument("--data", type=Path, nargs="*", default=[], metavar="DIR", help="folders of judgements")
    known.add_argument("--rows", type=int, nargs="*", default=SIZES, metavar="N", help="sizes to measure speed with")
    known.add_argument("--only", nargs="+", choices=[peer.name for peer in PEERS], help="measure only these peers")
    known.add_argument("--seconds", type=float, default=180.0, help="how long adding may take")
    known.add_argument("--page", action="store_true", help="measure nothing, only write the page anew")
    known.add_argument("--results", type=Path, default=RESULTS, help="where the figures are kept")
    known.add_argument("--material", type=Path, metavar="DIR", help="keep texts and vectors there for the next run")
    known.add_argument(
        "--envs", type=Path, metavar="DIR", default=Path.home() / ".cache" / "recollect-peers", help="environments"
    )
    return known


def prepare(folder: Path, judged: Iterable[Judgements], rows: Iterable[int]) -> None:
    """Write the material that is not there yet: the synthetic one of the largest size, and one for each folder."""
    largest = max(rows, default=0)
    if largest:
        _unless_there(folder / f"synthetic-{max(rows)}", lambda: synthetic(largest, QUESTIONS))
    minilm = named_embedder("minilm", Settings())
    for one in judged:
        _unless_there(folder / one.name, lambda one=one: judgements.embedded(one, minilm))  # type: ignore[misc]


def _unless_there(folder: Path, make: Callable[[], material.Material]) -> None:
    if not folder.exists():
        print(f"preparing {folder.name}", flush=True)
        material.write(folder, make())


def measure(
    peer: Peer, record: Record, folder: Path, judged: Iterable[Judgements], chosen: argparse.Namespace
) -> Record:
    """The record of a peer with all that is measured now."""
    plain = Job(measure="quality", material="", variant=peer.variant, seconds=chosen.seconds, packages=peer.packages)
    for rows in sorted(chosen.rows) if "speed" in peer.measures else ():
        source = str(folder / f"synthetic-{max(chosen.rows)}")
        outcome = tried(peer, replace(plain, measure="speed", material=source, rows=rows), chosen)
        if isinstance(outcome, str):
            record = record.with_problem(f"speed {rows}", outcome)
        elif outcome.speed:
            record = record.with_speed(rows, outcome.speed, measured(outcome, chosen))
            print(f"  {outcome.speed}", flush=True)
            if not outcome.speed.finished:
                break  # nor would more be
    for one in judged:
        outcome = tried(peer, replace(plain, material=str(folder / one.name)), chosen)
        if isinstance(outcome, str):
            record = record.with_problem(f"quality {one.name}", outcome)
        elif outcome.found is not None:
            record = record.with_quality(one.name, quality(outcome.found, one.grades), measured(outcome, chosen))
            print(f"  {one.name}: {record.quality[one.name]}", flush=True)
    return record


def tried(peer: Peer, job: Job, chosen: argparse.Namespace) -> Outcome | str:
    """The outcome of a job, or why there is none."""
    try:
        return run(peer, replace(job, material=str(Path(job.material).resolve())), chosen.envs)
    except (Failed, NotInstalled) as problem:
        print(f"  {problem}", flush=True)
        return str(problem)


def measured(outcome: Outcome, chosen: argparse.Namespace) -> Measured:
    """When, where and with what it was measured; of folders, only their names."""
    only = ["--only", *chosen.only] if chosen.only else []
    rows = ["--rows", *map(str, chosen.rows)]
    data = ["--data", *(one.resolve().name for one in chosen.data)] if chosen.data else []
    return Measured(
        date=datetime.now(UTC).date().isoformat(),
        command=" ".join(["scripts/bench peers", *only, *rows, *data]),
        machine=this_machine(),
        load=os.getloadavg()[0],
        python=outcome.python,
        versions=outcome.versions,
    )


if __name__ == "__main__":
    main()
