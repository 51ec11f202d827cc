"""Which heavy packages a start of recollect loads: users wait for each of them."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

import recollect
from tests.golden.command_line import ENVIRONMENT

HEAVY_PACKAGES = (
    *("Stemmer", "agents", "anthropic", "anyio", "apsw", "asyncio", "click", "cronsim", "google", "grpc", "h11"),
    *("httpx", "jsonschema", "langgraph", "mcp", "mcp_types", "numpy", "onnx", "onnxruntime", "openai", "psycopg"),
    *("prometheus_client", "psycopg_pool", "pydantic", "pydantic_ai", "pydantic_core", "pydantic_settings", "rich"),
    *("starlette", "tokenizers", "tzdata", "uvicorn", "yaml"),
)
"""Packages outside of the standard library that we or our dependencies may load, and asyncio."""

STARTS: Mapping[str, str | list[str]] = {
    "import recollect": "import recollect",
    "recollect --help": ["--help"],
    "recollect search": ["--db", "store.db", "search", "tea", "--scope", "acme"],
    "recollect search --json": ["--db", "store.db", "search", "tea", "--scope", "acme", "--json"],
    "recollect hook, asking a server": ["hook", "prompt", "--scope", "acme", "--server", "http://127.0.0.1:9/mcp"],
    "recollect hook, asking a store": ["--db", "store.db", "hook", "prompt", "--scope", "acme", "--budget-ms", "60000"],
    "recollect mcp": ["--db", "store.db", "mcp", "--scope", "acme"],
}
"""Ways to start: a line of Python, or the arguments of the command."""

SCRIPT = """
import json, os, runpy, sys
before, answer, leave = set(sys.modules), os.dup(1), os._exit

def report(code=0):
    loaded = {name.partition(".")[0] for name in set(sys.modules) - before}
    os.write(answer, ("\\n" + json.dumps(sorted(loaded))).encode())
    leave(0)

os._exit = report
os.fork = lambda: 0  # a hook answers in a child: do the child's work here
start = json.loads(sys.argv[1])
sys.argv = ["recollect", *start]
try:
    exec(start) if isinstance(start, str) else runpy.run_module("recollect", run_name="__main__")
except SystemExit:
    pass
report()
"""


def dump_packages() -> str:
    """Return the heavy packages that each way to start loads."""
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, **ENVIRONMENT}
        with recollect.open(Path(folder, "store.db"), embedder=ENVIRONMENT["RECOLLECT_EMBEDDER"]) as engine:
            engine.remember("Ana likes tea", scope="acme")
        packages = {name: _find_packages(start, Path(folder), environment) for name, start in STARTS.items()}
    return json.dumps(packages, indent=1) + "\n"


def _find_packages(start: str | list[str], folder: Path, environment: dict[str, str]) -> list[str]:
    answer = subprocess.run(
        [sys.executable, "-c", SCRIPT, json.dumps(start)],
        input='{"prompt": "tea?"}\n',
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return sorted(set(json.loads(answer.stdout.splitlines()[-1])) & set(HEAVY_PACKAGES))
