"""How often and how soon `recollect hook` answers with a running server, beside the start of a bare interpreter.

Each round starts three fresh processes in turn, so that all meet the same neighbours: an interpreter that does nothing,
the hook with the time that it has unless told otherwise, and the hook with a minute. Reported are the 50th and the 99th
percentile of the whole process, the ratio of the medians, and how many of the hooks answered within 200 milliseconds.
"""

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

SCOPE = "acme/ana"
SAID = json.dumps({"hook_event_name": "UserPromptSubmit", "prompt": "which seat should I book?"}).encode()
PATIENT = ("--budget-ms", "60000")
IN_TIME = 0.2
"""How many seconds a hook has unless told otherwise."""

OURS = [str(Path(sys.executable).parent / "recollect")]


def environment(home: Path) -> Mapping[str, str]:
    """That of somebody whose home this is, with any port that is free."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "RECOLLECT_", "XDG_"))}
    ports = {"RECOLLECT_SERVER_PORT": "0", "RECOLLECT_SERVER_GRPC_PORT": "0"}
    return {**kept, "HOME": str(home), **ports}


@contextmanager
def serving(home: Path) -> Iterator[str]:
    """The address of a server with something to tell."""
    store = str(home / "recollect.db")
    told = ["remember", "Ana prefers window seats", "--scope", SCOPE]
    subprocess.run([*OURS, "--db", store, *told], env=environment(home), check=True, capture_output=True)
    with subprocess.Popen(
        [*OURS, "--db", store, "serve"],
        env=environment(home),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as server:
        assert server.stdout is not None
        try:
            found = next(filter(None, (re.search(r"MCP at (http://\S+)", line) for line in server.stdout)), None)
            if found is None:
                sys.exit("the server did not start")
            yield found[1]
        finally:
            server.terminate()


def ran(command: Sequence[str], home: Path) -> tuple[float, bool]:
    """How many seconds a process took, and whether it printed anything."""
    start = time.perf_counter()
    done = subprocess.run(command, input=SAID, capture_output=True, env=environment(home), check=True)
    return time.perf_counter() - start, bool(done.stdout)


def line(name: str, took: Sequence[float], bare: float, answered: str = "") -> str:
    """One row: percentiles in milliseconds, the ratio to a bare interpreter, and how many answered."""
    half, most = statistics.median(took), statistics.quantiles(took, n=100, method="inclusive")[98]
    return f"{name:<28} {half * 1e3:>7.0f} {most * 1e3:>7.0f} {half / bare:>8.2f} × {answered:>22}"


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--rounds", type=int, default=100)
    rounds = arguments.parse_args().rounds
    with tempfile.TemporaryDirectory() as folder, serving(Path(folder)) as url:
        home = Path(folder)
        token = str(home / ".config" / "recollect" / "token")
        hook = [*OURS, "hook", "prompt", "--scope", SCOPE, "--server", url, "--key-file", token]
        commands = ([sys.executable, "-c", "pass"], hook, [*hook, *PATIENT])
        made = [[ran(command, home) for command in commands] for _ in range(rounds + 3)][3:]
    bare, usual, patient = ([one[place] for one in made] for place in range(3))
    base = statistics.median(took for took, _ in bare)
    told = sum(said for _, said in usual)
    soon = sum(said and took <= IN_TIME for took, said in patient)
    if not all(said for _, said in patient):
        sys.exit("a hook with a minute did not answer")
    print(f"{'whole process, ms':<28} {'p50':>7} {'p99':>7} {'ratio':>10} {'answered in 200 ms':>22}")
    print(line("bare interpreter", [took for took, _ in bare], base))
    print(line("hook", [took for took, _ in usual], base, f"{told} of {rounds}"))
    print(line("hook --budget-ms 60000", [took for took, _ in patient], base, f"{soon} of {rounds}"))


if __name__ == "__main__":
    main()
