"""The memory tool of Anthropic's SDK on recollect: what Claude writes into its files has a history, can be recalled,
and holds no passwords.

The commands are those that Claude gives, played by hand, so it needs no key; the extra `anthropic` has to be installed.
With a client it is `client.beta.messages.tool_runner(…, tools=[tool])`. Run from the root of a clone, with
`source .venv/bin/activate`: `python examples/anthropic_memory.py`.
"""

from typing import Any

from anthropic.lib.tools import ToolError

import recollect
from recollect.integrations.anthropic import RecollectMemoryTool

SCOPE = "acme/claude"
ANA = "/memories/people/ana.md"

COMMANDS: tuple[dict[str, Any], ...] = (
    {"command": "view", "path": "/memories"},
    {"command": "create", "path": ANA, "file_text": "# Ana\n- prefers window seats\n"},
    {"command": "str_replace", "path": ANA, "old_str": "window", "new_str": "aisle"},
    {"command": "insert", "path": ANA, "insert_line": 2, "insert_text": "- cannot eat peanuts"},
    {"command": "create", "path": "/memories/login.md", "file_text": "password: tangerine-4711-Boat"},
    {"command": "view", "path": "/memories/../etc/passwd"},
    {"command": "view", "path": "/memories"},
    {"command": "view", "path": ANA, "view_range": [2, 3]},
)


def main() -> None:
    """What Claude does with its memory, and what is left of it."""
    with recollect.open(":memory:") as memory:
        tool = RecollectMemoryTool(memory, SCOPE)
        for command in COMMANDS:
            first, last = command.get("view_range", (None, None))
            print(f"{command['command']} {command['path']}{f', lines {first} to {last}' if first else ''}")
            try:
                said = str(tool.call(command))
            except ToolError as refused:
                said = f"refused: {refused}"
            print("\n".join(f"    {line}" for line in said.splitlines()))

        file = memory.items.get(ANA, scope=SCOPE)
        assert file is not None
        print(f"what {ANA} said:")
        for version in memory.history(file.id, scope=SCOPE):
            print(f"  {version.revisions}. {version.text!r}")
        best = memory.search("which seat should I book for Ana?", scope=SCOPE)[0]
        print(f"asked for her seat, the best memory is {best.memory.title}")


if __name__ == "__main__":
    main()
