"""Marks: what many statements have in common, written in them as `{mark}` or `{mark:table}` and filled in once."""

import re
from collections.abc import Callable, Mapping

from recollect.stores.sql.rows import STATE_COLUMNS

Macro = Callable[[str], str]
"""What a mark stands for, of the table that it names or of none."""

_MACRO = re.compile(r"\{(\w+)(?::(\w*))?\}")


def state_columns(table: str) -> str:
    """The columns of STATE."""
    return ", ".join(f"{table}.{name}" if table else name for name in STATE_COLUMNS)


def constant_macro(text: str) -> Macro:
    """A mark that stands for the same wherever it is."""
    return lambda _: text


def expand_macros(statements: Mapping[str, str], marks: Mapping[str, Macro]) -> dict[str, str]:
    """The statements with these marks and `{state:…}` filled in."""
    known = {"state": state_columns, **marks}
    return {name: _MACRO.sub(lambda match: known[match[1]](match[2] or ""), text) for name, text in statements.items()}
