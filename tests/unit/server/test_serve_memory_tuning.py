"""Memory that a request has freed is there for the next one, and what stays is not looked through again."""

import subprocess
import sys

from tests.platforms import linux_only

ROUNDS = """
import resource, sys
from concurrent.futures import ThreadPoolExecutor
import numpy as np
from recollect.server.serve import tune_allocator

def pages():
    return resource.getrusage(resource.RUSAGE_THREAD).ru_minflt

def work():
    arrays = [np.ones(size, dtype=np.uint8) for size in (1_000_000, 300_000, 3_000_000)]
    before = pages()
    for _ in range(20):
        del arrays
        arrays = [np.ones(size, dtype=np.uint8) for size in (1_000_000, 300_000, 3_000_000)]
    return pages() - before

if sys.argv[1] == "kept":
    assert tune_allocator()
with ThreadPoolExecutor(1) as one:
    print(one.submit(work).result())
"""


def pages_taken(how: str) -> int:
    """How many pages a thread has to take anew when it does the same twenty times over."""
    done = subprocess.run([sys.executable, "-c", ROUNDS, how], capture_output=True, text=True, check=True)
    return int(done.stdout)


@linux_only
def test_a_thread_that_does_the_same_again_takes_hardly_any_memory_anew() -> None:
    assert pages_taken("kept") * 10 < pages_taken("given back")


GARBAGE = """
import gc
from recollect.server.serve import freeze_garbage_collector

usual, there = gc.get_threshold(), len(gc.get_objects())
freeze_garbage_collector()
assert gc.get_freeze_count() > there / 2
assert len(gc.get_objects()) < there / 100
assert gc.get_threshold() == usual
assert gc.isenabled()
"""


def test_what_is_there_for_good_is_not_looked_through_again_and_what_is_new_is() -> None:
    subprocess.run([sys.executable, "-c", GARBAGE], check=True)
