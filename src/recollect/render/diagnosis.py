"""A diagnosis, told: as JSON, and to people."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from recollect.model.diagnosis import Check, Finding
from recollect.model.format import counted, printable
from recollect.render.styles import Look, Paint, plain

LOOKS: Mapping[Finding, Look] = {
    Finding.OK: Look.SCORE,
    Finding.WARNING: Look.TYPED,
    Finding.PROBLEM: Look.STRONG,
}
"""How a finding looks."""


def fields(checks: Sequence[Check]) -> dict[str, Any]:
    """Its JSON."""
    return {
        "ok": all(one.finding is not Finding.PROBLEM for one in checks),
        "checks": [
            {"name": one.name, "finding": one.finding.value, "seen": one.seen, "remedy": one.remedy} for one in checks
        ],
    }


def lines(checks: Sequence[Check], paint: Paint = plain) -> Iterator[str]:
    """A line for each check, and one below it that says what to do where it is not well."""
    widest = max(len(one.name) for one in checks)
    deepest = max(len(one.value) for one in Finding)
    for one in checks:
        finding = paint(LOOKS[one.finding], f"{one.finding.value:<{deepest}}")
        yield f"{finding}  {one.name:<{widest}}  {printable(one.seen)}"
        if one.remedy is not None:
            yield f"{'':<{deepest}}  {'':<{widest}}  → {printable(one.remedy)}"


def tally(checks: Sequence[Check]) -> str:
    """How many of them are not well."""
    problems, warnings = (
        counted(sum(one.finding is finding for one in checks), finding.value)
        for finding in (Finding.PROBLEM, Finding.WARNING)
    )
    return f"{counted(len(checks), 'check')}, {problems}, {warnings}"
