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
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from peers import making, page, results
from peers.environments import NotInstalled
from peers.job import Job, Outcome
from peers.machine import this_machine
from peers.quality import quality
from peers.results import Measured, Record
from peers.roster import PEERS, Peer
from peers.running import Failed, run
from recollect.config import Settings
from recollect.evaluation.judgments import Judgments, read_judgments
from recollect.factory import find_named_embedder
from recollect.ranking.profiles import builtin_profile
from recollect.ranking.tuning_report_check import fingerprint

ROOT = Path(__file__).parents[2]
RESULTS = Path(__file__).with_name("results.json")
PAGE = ROOT / "docs" / "explanation" / "benchmarks.md"
SIZES = (1_000, 10_000, 100_000)
QUESTIONS = 103


def main() -> None:
    chosen = arguments().parse_args()
    known = results.read(chosen.results)
    if not chosen.page:
        with ExitStack() as stack:
            folder = chosen.material or Path(stack.enter_context(tempfile.TemporaryDirectory()))
            prepared = prepare(folder, chosen.data, chosen.rows)
            for peer in PEERS:
                if not chosen.only or peer.name in chosen.only:
                    print(f"{peer.name}", flush=True)
                    known[peer.name] = measure(peer, known.get(peer.name, Record()), prepared, chosen)
                    results.write(chosen.results, known)
        results.write(chosen.results, {peer.name: known[peer.name] for peer in PEERS if peer.name in known})
        known = results.read(chosen.results)  # as the page is written from it another time
    written = PAGE if chosen.results.resolve() == RESULTS.resolve() else chosen.results.with_name(PAGE.name)
    written.write_text(page.page(known, fingerprint(builtin_profile("default"))), encoding="utf-8")


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
    known.add_argument(
        "--results",
        type=Path,
        default=RESULTS,
        help="where the figures are kept, and beside them the page, if elsewhere",
    )
    known.add_argument("--material", type=Path, metavar="DIR", help="keep texts and vectors there for the next run")
    known.add_argument(
        "--envs", type=Path, metavar="DIR", default=Path.home() / ".cache" / "recollect-peers", help="environments"
    )
    return known


@dataclass(frozen=True, slots=True)
class Prepared:
    """Where the material is: the synthetic one, if it is asked for, and that of each folder of judgements."""

    synthetic: Path | None
    judged: Sequence[tuple[Judgments, Path]]


def prepare(folder: Path, data: Sequence[Path], rows: Sequence[int]) -> Prepared:
    """The material, made where it is not there: the synthetic one of the largest size, and one for each folder."""
    read = [read_judgments(one.resolve()) for one in data]
    minilm = find_named_embedder("minilm", Settings())
    return Prepared(
        making.for_speed(folder, max(rows), QUESTIONS) if rows else None,
        [(one, making.for_quality(folder, one, minilm)) for one in read],
    )


def measure(peer: Peer, record: Record, prepared: Prepared, chosen: argparse.Namespace) -> Record:
    """The record of a peer with all that is measured now."""
    plain = Job(measure="quality", material="", variant=peer.variant, seconds=chosen.seconds, packages=peer.packages)
    for rows in sorted(chosen.rows) if "speed" in peer.measures else ():
        outcome = tried(peer, replace(plain, measure="speed", material=str(prepared.synthetic), rows=rows), chosen)
        if isinstance(outcome, str):
            record = record.with_problem(f"speed {rows}", outcome)
        elif outcome.speed:
            record = record.with_speed(rows, outcome.speed, measured(outcome, chosen))
            print(f"  {outcome.speed}", flush=True)
            if not outcome.speed.finished:
                break  # nor would more be
    for one, source in prepared.judged:
        name = one.folder.name
        outcome = tried(peer, replace(plain, material=str(source)), chosen)
        if isinstance(outcome, str):
            record = record.with_problem(f"quality {name}", outcome)
        elif outcome.found is not None:
            record = record.with_quality(name, quality(outcome.found, one.queries), measured(outcome, chosen))
            print(f"  {name}: {record.quality[name]}", flush=True)
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
        fingerprint=outcome.fingerprint,
    )


if __name__ == "__main__":
    main()
