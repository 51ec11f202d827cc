"""How long an agent waits for the list of tools: `recollect mcp` beside a bare server of the same SDK.

Each round starts both as fresh processes, in turn, so that both meet the same neighbours, and takes the time from the
start of the process to the answer to the first `tools/list`, for each revision of the protocol. The bare server has one
tool and nothing behind it. Reported are medians and their ratio; byte code is written before the first round counts.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

MOST = 1.3
"""How many times as long as a bare server ours may take at the median."""

BARE = """
import anyio
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp_types import ListToolsResult, Tool

async def tools(context, page):
    return ListToolsResult(tools=[Tool(name="nothing", input_schema={"type": "object"})])

async def main():
    server = Server("bare", on_list_tools=tools)
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())

anyio.run(main)
"""
WHO: Mapping[str, Any] = {"name": "benchmark", "version": "1"}
PRESENT: Sequence[Mapping[str, Any]] = [
    {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/list",
        "params": {
            "_meta": {
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientInfo": WHO,
                "io.modelcontextprotocol/clientCapabilities": {},
            }
        },
    }
]
PREVIOUS: Sequence[Mapping[str, Any]] = [
    {
        "jsonrpc": "2.0",
        "id": 0,
        "method": "initialize",
        "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": WHO},
    },
    {"jsonrpc": "2.0", "method": "notifications/initialized"},
    {"jsonrpc": "2.0", "id": 1, "method": "tools/list"},
]


def waited(command: Sequence[str], said: Sequence[Mapping[str, Any]], place: Path) -> float:
    """How many seconds passed from the start of the process to its list of tools."""
    environ = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "RECOLLECT_"))}
    start = time.perf_counter()
    with subprocess.Popen(
        command, cwd=place, env=environ, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(b"".join(json.dumps(one).encode() + b"\n" for one in said))
        process.stdin.flush()
        while (line := process.stdout.readline()) and json.loads(line).get("id") != 1:
            pass
        took = time.perf_counter() - start
        if not line or not json.loads(line)["result"]["tools"]:
            process.kill()
            sys.exit(f"{' '.join(command)}: no list of tools; {process.communicate()[1].decode()}")
        process.stdin.close()
        process.wait()
    return took


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--rounds", type=int, default=15)
    rounds = arguments.parse_args().rounds
    ours = [sys.executable, "-m", "recollect", "--db", "memories.db", "mcp", "--scope", "acme/ana"]
    print(f"{'start to tools/list, ms':<28} {'bare':>9} {'recollect':>9} {'ratio of medians':>17}")
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        (place / "bare.py").write_text(BARE, encoding="utf-8")
        bare = [sys.executable, "bare.py"]
        worst = 0.0
        for name, said in (("2026-07-28", PRESENT), ("2025-11-25", PREVIOUS)):
            both = [(waited(bare, said, place), waited(ours, said, place)) for _ in range(rounds + 1)][1:]
            theirs, mine = (statistics.median(one) for one in zip(*both, strict=True))
            worst = max(worst, mine / theirs)
            print(f"{name:<28} {theirs * 1e3:>9.0f} {mine * 1e3:>9.0f} {mine / theirs:>15.2f} ×", flush=True)
    if worst > MOST:
        sys.exit(f"recollect takes more than {MOST} times as long as a bare server")


if __name__ == "__main__":
    main()
