"""The script that writes `tools.json`: the file is up to date, and its tools hide what models seldom send."""

import mcp_tools

from recollect.api.operations import OPERATIONS
from recollect.server.mcp.catalog import TOOLS_FILE, load_tools


def test_the_tools_file_is_what_the_script_writes() -> None:
    remedy = "run .venv/bin/python scripts/mcp_tools.py"
    assert TOOLS_FILE.read_text(encoding="utf-8") == mcp_tools.render_catalog(), remedy
    assert list(load_tools()) == list(OPERATIONS)


EVERYDAY = [one for one in load_tools().values() if one.toolset in mcp_tools.EVERYDAY_TOOLSETS]


def test_everyday_tools_hide_rare_fields_and_all_tools_hide_those_of_programs() -> None:
    for entry in load_tools().values():
        assert not named(entry.input) & (mcp_tools.RARE_FIELDS if entry in EVERYDAY else mcp_tools.PROGRAM_FIELDS)
    assert named([one.request.model_json_schema() for one in OPERATIONS.values()]) >= mcp_tools.RARE_FIELDS


def named(schema: object) -> set[str]:
    """Every name of a property in a schema."""
    match schema:
        case dict():
            return set(schema.get("properties", ())) | {one for value in schema.values() for one in named(value)}
        case list():
            return {one for value in schema for one in named(value)}
        case _:
            return set()
