"""Indexes of the nearest, told: as JSON, and to people."""

from collections.abc import Sequence
from typing import Any

from recollect.model.format import format_count
from recollect.model.vector_index import ScopeVectorIndex
from recollect.render.table import TextTable


def index_fields(one: ScopeVectorIndex) -> dict[str, Any]:
    """The JSON of one."""
    return {
        "name": one.name,
        "scope": one.scope,
        "model": one.model,
        "vectors": one.vectors,
        "bytes": one.bytes,
        "valid": one.valid,
        "present": one.present,
    }


def index_table(indexes: Sequence[ScopeVectorIndex]) -> TextTable:
    """All of them, one a row."""
    rows = [
        (
            one.name,
            one.scope or "",
            one.model or "",
            str(one.vectors),
            _format_index_size(one),
            describe_index_state(one),
        )
        for one in indexes
    ]
    return TextTable(("index", "scope", "model", "vectors", "size", "state"), rows)


def describe_index_state(one: ScopeVectorIndex) -> str:
    """How it stands with an index."""
    if one.scope is None:
        return "of a scope that was erased"
    if not one.present:
        return "of a former model"
    return "in use" if one.valid else "being built, or interrupted"


def describe_built_index(built: ScopeVectorIndex) -> str:
    """What became of a build, in a sentence."""
    what = f"{format_count(built.vectors, 'vector')} of {built.model}, {_format_index_size(built)}"
    return f"{built.scope} has an index {'now' if built.built else 'already'}: {what}"


def describe_dropped_indexes(indexes: Sequence[ScopeVectorIndex]) -> str:
    """What was dropped, in a sentence."""
    if not indexes:
        return "there was no index to drop"
    room = sum(one.bytes for one in indexes) / 1e6
    return f"dropped {', '.join(one.name for one in indexes)}: {room:,.1f} MB are free"


def suggest_index_command(indexes: Sequence[ScopeVectorIndex]) -> str:
    """What an operator may want to do next."""
    if not indexes:
        return "no scope has an index of its own; `recollect admin index --scope SCOPE` builds one"
    useless = [one for one in indexes if not one.is_usable]
    if useless:
        return f"{len(useless)} of no use, unless it is being built; `recollect admin index --drop` drops what is"
    return f"{format_count(len(indexes), 'index', 'indexes')}, all in use"


def _format_index_size(one: ScopeVectorIndex) -> str:
    return f"{one.bytes / 1e6:,.1f} MB"
