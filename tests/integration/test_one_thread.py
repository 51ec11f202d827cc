"""To look through vectors wakes no thread but the one that asks."""

import os
import subprocess
import sys

ALONE = """
import os, pathlib, time
import numpy as np
from recollect.retrieval.vectors import approximate_cosines

def look():
    here = pathlib.Path("/proc/self/task")
    others = sorted(one for one in here.iterdir() if one.name != str(os.getpid()))
    states = [one.joinpath("stat").read_text().rpartition(")")[2].split()[0] for one in others]
    return [(state, one.joinpath("schedstat").read_text().split()[2]) for one, state in zip(others, states)]

def turns_of_others():
    before, now = None, look()
    while now != before or any(state != "S" for state, _ in now):  # one that began late, or still looks for work
        time.sleep(0.1)
        before, now = now, look()
    return now

matrix = np.ones((20_000, 256), dtype=np.float32)
before = turns_of_others()
approximate_cosines(matrix, matrix[:3])
assert turns_of_others() == before
matrix @ matrix[0]
assert not before or turns_of_others() != before, "BLAS would wake none either, so nothing was shown"
"""


def test_the_fast_cosine_wakes_no_other_thread() -> None:
    subprocess.run([sys.executable, "-c", ALONE], check=True, env={**os.environ, "OPENBLAS_NUM_THREADS": "4"})
