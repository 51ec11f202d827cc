"""Read the exports of other programs as drafts: a module for each format, and here the list of all."""

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from recollect.errors import FieldError
from recollect.importers.base import ImportFormat, parse_record, read_records
from recollect.importers.chat import CHAT_FORMAT
from recollect.importers.mcp_memory import MCP_MEMORY_FORMAT
from recollect.importers.mem0 import MEM0_FORMAT

FORMATS: Mapping[str, ImportFormat] = MappingProxyType(
    {one.name: one for one in (CHAT_FORMAT, MCP_MEMORY_FORMAT, MEM0_FORMAT)}
)


def recognize_format(lines: Iterable[str]) -> ImportFormat | None:
    """Return the format that the first record looks like, or `None`."""
    try:
        number, text = next(iter(read_records(lines)), (1, ""))
        record = parse_record(text, number)
    except FieldError:
        return None
    return next((one for one in FORMATS.values() if one.recognizes(record)), None)
