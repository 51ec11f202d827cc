"""Extraction, said: what conversations left behind, for people and as JSON."""

import shlex
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from recollect.model.extraction import Extraction
from recollect.model.format import counted, printable, shortened
from recollect.model.verdict import Receipt
from recollect.render import json_values, text
from recollect.render.styles import Look, Paint, plain

Found = Sequence[tuple[Sequence[Receipt], Extraction]]
"""What became of each conversation, and how it was understood."""


def told(found: Found, paint: Paint = plain) -> Iterator[str]:
    """Each memory with its verdict and the words it rests on, then what it all came to."""
    yield from each(found, paint)
    yield f"{counted(len(found), 'session')}: {tally(found)}"


def each(found: Found, paint: Paint = plain) -> Iterator[str]:
    """Each memory with its verdict and the words it rests on."""
    for receipts, extraction in found:
        for receipt, extract in zip(receipts, extraction.extracts, strict=True):
            yield f"{paint(Look.STRONG, extract.kind.value)}  {printable(shortened(extract.text))}"
            yield paint(Look.FAINT, f"  {printable(text.verdict(receipt.verdict))}")
            if (way := text.remedy(receipt)) is not None:
                yield paint(Look.FAINT, f"  {way[0]}: recollect {shlex.join(way[1])}")
        for one in extraction.rejected:
            yield paint(Look.FAINT, f"not taken: {printable(shortened(one.text))} ({one.reason.value})")


def tally(found: Found) -> str:
    """How many memories by verdict, and what it took."""
    verdicts = Counter(type(one.verdict).__name__.lower() for receipts, _ in found for one in receipts)
    said = ", ".join(f"{count} {verdict}" for verdict, count in verdicts.items()) or "nothing to remember"
    spent = _spent(found)
    if not spent["calls"]:
        return said
    tokens = f"{spent['prompt_tokens']} and {spent['completion_tokens']} tokens"
    cost = "" if spent["cost"] is None else f", cost {spent['cost']:g}"
    return f"{said} ({counted(spent['calls'], 'call')}, {tokens}{cost})"


def data(found: Found) -> dict[str, Any]:
    """The same as JSON has it."""
    return {
        "sessions": len(found),
        "extracts": [
            {**json_values.receipt(receipt), "quote": extract.quote, "turn": extract.turn}
            for receipts, extraction in found
            for receipt, extract in zip(receipts, extraction.extracts, strict=True)
        ],
        "rejected": [
            {"text": one.text, "reason": one.reason.value} for _, extraction in found for one in extraction.rejected
        ],
        **_spent(found),
    }


def _spent(found: Found) -> dict[str, Any]:
    each = [extraction for _, extraction in found]
    costs = [one.cost for one in each if one.cost is not None]
    return {
        **{name: sum(getattr(one, name) for one in each) for name in _COUNTED},
        "cost": sum(costs) if costs else None,
    }


_COUNTED = ("calls", "prompt_tokens", "completion_tokens", "uncounted")
