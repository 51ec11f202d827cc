"""Formats: every one that can be read, and which one a file is of."""

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from recollect.errors import FieldError
from recollect.importers.chat import CHAT
from recollect.importers.mcp_memory import MCP_MEMORY
from recollect.importers.mem0 import MEM0
from recollect.importers.reader import Format
from recollect.importers.records import parsed, records

FORMATS: Mapping[str, Format] = MappingProxyType({one.name: one for one in (CHAT, MCP_MEMORY, MEM0)})


def recognised(lines: Iterable[str]) -> Format | None:
    """The format that the first record looks like; none if it is of no format that is known."""
    try:
        number, text = next(iter(records(lines)), (1, ""))
        record = parsed(text, number)
    except FieldError:
        return None
    return next((one for one in FORMATS.values() if one.recognises(record)), None)
