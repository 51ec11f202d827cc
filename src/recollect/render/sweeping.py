"""A sweep, told: as JSON, and to people."""

from typing import Any

from recollect.model.format import format_count
from recollect.model.sweep_report import SweepReport


def sweep_fields(swept: SweepReport) -> dict[str, Any]:
    """The JSON of one."""
    return {
        "tables": list(swept.tables),
        "before": swept.before,
        "after": swept.after,
        "erasures": swept.erasures,
    }


def describe_sweep(swept: SweepReport) -> str:
    """What was swept, in a sentence."""
    if not swept.erasures:
        return "no file has anything of what was erased"
    size = f"{swept.before / 1e6:,.1f} MB before, {swept.after / 1e6:,.1f} MB now"
    proof = f"nothing of {format_count(swept.erasures, 'erasure')} is in their files any more"
    return f"wrote {format_count(len(swept.tables), 'table')} anew, {size}: {proof}"
