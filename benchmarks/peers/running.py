"""Running: a driver in a process of its own, with the same settings for all, and an end if it takes too long."""

import os
import subprocess
import tempfile
from pathlib import Path

from peers.environments import python_of
from peers.job import Job, Outcome
from peers.roster import Peer

ONE_THREAD = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS", "TOKIO_WORKER_THREADS"), "1"
)
QUIET = {"TOKENIZERS_PARALLELISM": "false", "ANONYMIZED_TELEMETRY": "False", "HF_HUB_OFFLINE": "1"}
PATIENCE = 4.0
"""How many times the seconds of a job a process may take in all, before it is ended."""


class Failed(Exception):
    """A driver gave no outcome; says why."""


def run(peer: Peer, job: Job, environments: Path) -> Outcome:
    """The outcome of a job, from a process that has a folder of its own for all it writes."""
    python = python_of(peer, environments)
    with tempfile.TemporaryDirectory(prefix="peer-") as scratch:
        folder = Path(scratch)
        folder.chmod(0o755)  # a server may run as another user
        for name in ("home", job.store):
            (folder / name).mkdir()
        settings = {"PYTHONPATH": str(Path(__file__).parents[1]), "PEERS_SCRATCH": str(folder / "home")}
        job.write(folder / "job.json")
        command = [str(python), "-m", f"peers.drivers.{peer.driver}", "job.json", "outcome.json"]
        try:
            done = subprocess.run(
                command,
                cwd=folder,
                env={**os.environ, **ONE_THREAD, **QUIET, **settings},
                capture_output=True,
                text=True,
                timeout=PATIENCE * job.seconds,
                check=False,
            )
        except subprocess.TimeoutExpired as late:
            raise Failed(f"ended after {late.timeout:.0f} s") from late
        if done.returncode:
            said = done.stderr.strip().splitlines()
            raise Failed(said[-1] if said else f"ended with {done.returncode}")
        return Outcome.read(folder / "outcome.json")
