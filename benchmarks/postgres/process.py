"""Process: what the first search costs a process of its own, in time and memory."""

import json
import subprocess
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from postgres.material import Material, Question
from postgres.report import Report, stretch
from postgres.ways import BEST, open_engine
from recollect.model.scope import Scope


@dataclass(frozen=True, slots=True)
class Cold:
    """The milliseconds of the first and the second search, and the MiB that the process had more at its peak."""

    first: float
    second: float
    memory: float


def cold(url: str, material: Material, question: Question, options: dict[str, Any]) -> Cold:
    """What it costs, found in a child."""
    given = {
        "url": url,
        "material": asdict(material),
        "text": question.text,
        "scope": str(question.scope),
        "vector": question.vector.tolist(),
        "options": options,
    }
    command = [sys.executable, "-m", "postgres.process"]
    said = subprocess.run(command, input=json.dumps(given), check=True, stdout=subprocess.PIPE, text=True).stdout
    return Cold(**json.loads(said))


def tell(name: str, found: Cold, material: Material, report: Report) -> None:
    """One line; the vectors alone are what the memory is compared with."""
    vectors = material.rows * material.dimensions * 4 / 2**20
    report.note("process", name, **asdict(found), vectors=vectors)
    report.say(
        f"{name}, in a new process: first search {found.first:,.0f} ms, second {found.second:,.1f} ms; "
        f"{found.memory:,.0f} MiB more at its peak (vectors alone {vectors:,.0f} MiB)"
    )


def _peak() -> float:
    status = Path("/proc/self/status").read_text(encoding="ascii")  # getrusage would tell of the parent's too
    return next(int(row.split()[1]) for row in status.splitlines() if row.startswith("VmHWM:")) / 1024.0


def _searched(given: dict[str, Any]) -> Cold:
    vector = np.array(given["vector"], dtype=np.float32)
    question = Question(given["text"], Scope.parse(given["scope"]), vector)
    with open_engine(given["url"], Material(**given["material"]), [question]) as engine:
        engine.search(question.text, scope="nobody/here")  # which loads what searching needs
        before = _peak()
        spent = []
        for _ in range(2):
            with stretch() as taken:
                engine.search(
                    question.text, scope=question.scope, profile="three-signal", limit=BEST, **given["options"]
                )
            spent.append(1000.0 * taken.seconds)
        return Cold(spent[0], spent[1], _peak() - before)


if __name__ == "__main__":
    print(json.dumps(asdict(_searched(json.load(sys.stdin)))))
