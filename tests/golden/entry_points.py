"""Every internal name and path that the golden tests use: a rename in `src` changes one line here and no other file."""

import inspect
from pathlib import Path

from recollect import errors
from recollect.api.auth import create_owner
from recollect.api.dispatcher import OperationRunner
from recollect.api.operations import OPERATIONS, OPERATIONS_BY_SUBJECT
from recollect.api.problems import problem_of
from recollect.cli.main import cli, exit_code
from recollect.config import OPTIONS
from recollect.integrations.anthropic import RecollectMemoryTool
from recollect.integrations.langgraph import RecollectStore
from recollect.integrations.openai_agents import RecollectSession
from recollect.server.grpc.converters import to_message
from recollect.server.grpc.server import METHODS as GRPC_METHODS
from recollect.server.grpc.server import STATUSES as GRPC_STATUSES
from recollect.server.http import openapi
from recollect.server.http.middleware import STATUSES as HTTP_STATUSES
from recollect.server.mcp.catalog import COMPACT_FIELDS, compact_answer
from tests.upgrades.write import _seed_randomness as seed_randomness

CLOCK_PATH = "recollect.factory._now"
"""The function from which `recollect.open` takes the time when the caller gives no clock."""

ROOT = Path(__file__).parents[2]
PAIRS = ROOT / "src" / "recollect" / "evaluation" / "pairs.jsonl"
GATE = ROOT / "tests" / "gate" / "judgements"

ERRORS = {
    name: kind
    for name, kind in inspect.getmembers(errors, inspect.isclass)
    if issubclass(kind, errors.RecollectError) and kind.__module__ == errors.__name__
}
"""Every exception by its name."""

__all__ = [
    "CLOCK_PATH",
    "COMPACT_FIELDS",
    "ERRORS",
    "GATE",
    "GRPC_METHODS",
    "GRPC_STATUSES",
    "HTTP_STATUSES",
    "OPERATIONS",
    "OPERATIONS_BY_SUBJECT",
    "OPTIONS",
    "PAIRS",
    "OperationRunner",
    "RecollectMemoryTool",
    "RecollectSession",
    "RecollectStore",
    "cli",
    "compact_answer",
    "create_owner",
    "exit_code",
    "openapi",
    "problem_of",
    "seed_randomness",
    "to_message",
]
