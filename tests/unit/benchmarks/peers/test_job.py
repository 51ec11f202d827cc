"""The protocol between the benchmark and its drivers, with the one that needs nothing."""

import ast
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
from peers import material
from peers.drivers.numpy_scan import Scan
from peers.driving import BATCH, ONES, batches, do
from peers.job import Job, Outcome
from peers.material import Asked, Material, Said
from peers.roster import PEERS
from peers.running import run
from peers.synthetic import synthetic

AT = datetime(2026, 1, 1, tzinfo=UTC)
BENCHMARKS = Path(material.__file__).parents[1]
NUMPY = next(peer for peer in PEERS if peer.name == "numpy")


def a_memory(id: str, *direction: float, scope: str = "acme", days: int = 0) -> Said:
    """A memory in that direction, so many days old."""
    vector = np.array(direction, dtype=np.float32)
    return Said(id=id, scope=scope, text=f"text of {id}", at=AT - timedelta(days=days), vector=vector)


def a_question(*direction: float, days: int | None = 0) -> Asked:
    """A question in that direction, asked so many days ago."""
    vector = np.array(direction, dtype=np.float32)
    at = None if days is None else AT - timedelta(days=days)
    return Asked(id="q", scope="acme", text="which", at=at, vector=vector)


SMALL = Material(
    "by hand",
    [a_memory("far", 0, 1), a_memory("near", 1, 0), a_memory("new", 1, 0), a_memory("theirs", 1, 0, scope="acme-labs")],
    [a_question(0.8, 0.6)],
)


@pytest.fixture
def job(tmp_path: Path) -> Job:
    """A job with four memories and a question."""
    material.write(tmp_path / "material", SMALL)
    (tmp_path / "store").mkdir()
    return Job(
        measure="quality", material=str(tmp_path / "material"), store=str(tmp_path / "store"), packages=("numpy",)
    )


def test_a_job_is_read_as_it_was_written(job: Job, tmp_path: Path) -> None:
    job.write(tmp_path / "job.json")
    assert Job.read(tmp_path / "job.json") == job


@pytest.mark.parametrize("measure", ["speed", "quality"])
def test_an_outcome_is_read_as_it_was_written(measure: str, job: Job, tmp_path: Path) -> None:
    outcome = do(replace(job, measure=measure), Scan)  # type: ignore[arg-type]
    outcome.write(tmp_path / "outcome.json")
    assert Outcome.read(tmp_path / "outcome.json") == outcome
    assert outcome.versions == {"numpy": np.__version__}


def test_material_is_read_as_it_was_written(tmp_path: Path) -> None:
    made = synthetic(5, 2)
    material.write(tmp_path, made)
    read = material.read(tmp_path, rows=3)
    assert [one.id for one in read.memories] == [one.id for one in made.memories[:3]]
    assert [(one.text, one.at) for one in read.questions] == [(one.text, one.at) for one in made.questions]
    assert np.array_equal(read.memories[2].vector, made.memories[2].vector)


def test_a_question_is_answered_from_its_scope_best_first(job: Job) -> None:
    assert do(job, Scan).found == {"q": ["near", "new", "far"]}


def test_a_question_with_a_moment_is_answered_from_what_was_there(tmp_path: Path) -> None:
    scan = Scan(tmp_path, SMALL, "")
    scan.add([a_memory("old", 0, 1, days=3), a_memory("new", 1, 0, days=1)])
    assert scan.search(a_question(1, 0, days=2), 10) == ["old"]
    assert scan.search(a_question(1, 0, days=None), 10) == ["new", "old"]
    assert scan.search(a_question(1, 0, days=None), 1) == ["new"]


def test_every_memory_is_added_and_some_by_themselves(tmp_path: Path) -> None:
    material.write(tmp_path / "material", synthetic(3 * ONES, 8))
    (tmp_path / "store").mkdir()
    job = Job(measure="speed", material=str(tmp_path / "material"), store=str(tmp_path / "store"))
    speed = do(job, Scan).speed
    assert speed is not None
    assert (speed.rows, speed.added, speed.finished) == (3 * ONES, 3 * ONES, True)
    assert speed.p50 is not None


def test_what_takes_too_long_is_not_finished_and_not_searched(tmp_path: Path) -> None:
    material.write(tmp_path / "material", synthetic(BATCH + 2 * ONES, 1))
    job = Job(measure="speed", material=str(tmp_path / "material"), store=str(tmp_path), seconds=0.0)
    speed = do(job, Scan).speed
    assert speed is not None
    assert (speed.added, speed.finished, speed.p50) == (BATCH, False, None)


def test_batches_have_every_memory_once() -> None:
    memories = synthetic(BATCH + 1, 1).memories
    assert [len(batch) for batch in batches(memories)] == [BATCH, 1]


def test_a_driver_runs_in_a_process_of_its_own(job: Job, tmp_path: Path) -> None:
    assert run(NUMPY, replace(job, store="store"), tmp_path).found == {"q": ["near", "new", "far"]}


def test_every_peer_has_a_driver_and_a_name_of_its_own() -> None:
    drivers = Path(material.__file__).parent / "drivers"
    assert [peer.name for peer in PEERS if not (drivers / f"{peer.driver}.py").exists()] == []
    assert len({peer.name for peer in PEERS}) == len(PEERS)


def test_what_runs_in_the_environment_of_another_peer_needs_no_recollect() -> None:
    foreign = sorted({f"peers.drivers.{peer.driver}" for peer in PEERS if peer.requires})
    seen, left = set[str](), foreign
    while left:
        seen |= set(left)
        left = sorted({name for module in left for name in imports(module)} - seen)
    assert {"peers.driving", "peers.material", "peers.job"} <= seen
    assert [name for name in seen if name.split(".")[0] == "recollect"] == []


def imports(module: str) -> set[str]:
    """The modules of the benchmark and of recollect that one of the benchmark imports."""
    tree = ast.parse((BENCHMARKS / f"{module.replace('.', '/')}.py").read_text(encoding="utf-8"))
    found = set[str]()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom):
            whole = node.module or ""
            found |= {f"peers.{name.name}" for name in node.names} if whole == "peers" else {whole}
    return {name for name in found if name.split(".")[0] in ("peers", "recollect")}
