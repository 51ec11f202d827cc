"""A diagnosis, told: as JSON, and to people."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from recollect.model.diagnosis import Check, CheckStatus
from recollect.model.format import format_count, make_printable
from recollect.render.styles import Paint, TextStyle, paint_plain

FINDING_STYLES: Mapping[CheckStatus, TextStyle] = {
    CheckStatus.OK: TextStyle.SCORE,
    CheckStatus.WARNING: TextStyle.TYPED,
    CheckStatus.PROBLEM: TextStyle.STRONG,
}
"""How a finding looks."""


def diagnosis_fields(checks: Sequence[Check]) -> dict[str, Any]:
    """Its JSON."""
    return {
        "ok": all(one.finding is not CheckStatus.PROBLEM for one in checks),
        "checks": [
            {"name": one.name, "finding": one.finding.value, "seen": one.seen, "remedy": one.remedy} for one in checks
        ],
    }


def format_checks(checks: Sequence[Check], paint: Paint = paint_plain) -> Iterator[str]:
    """A line for each check, and one below it that says what to do where it is not well."""
    widest = max(len(one.name) for one in checks)
    deepest = max(len(one.value) for one in CheckStatus)
    for one in checks:
        finding = paint(FINDING_STYLES[one.finding], f"{one.finding.value:<{deepest}}")
        yield f"{finding}  {one.name:<{widest}}  {make_printable(one.seen)}"
        if one.remedy is not None:
            yield f"{'':<{deepest}}  {'':<{widest}}  → {make_printable(one.remedy)}"


def tally_checks(checks: Sequence[Check]) -> str:
    """How many of them are not well."""
    problems, warnings = (
        format_count(sum(one.finding is finding for one in checks), finding.value)
        for finding in (CheckStatus.PROBLEM, CheckStatus.WARNING)
    )
    return f"{format_count(len(checks), 'check')}, {problems}, {warnings}"
