"""Extraction, said: what conversations left behind, for people and as JSON."""

import shlex
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from recollect.model.extraction import Extraction
from recollect.model.format import format_count, make_printable, shorten
from recollect.model.verdict import Receipt
from recollect.render import json_values, text
from recollect.render.styles import Paint, TextStyle, paint_plain

Extractions = Sequence[tuple[Sequence[Receipt], Extraction]]
"""What became of each conversation, and how it was understood."""


def format_extractions(found: Extractions, paint: Paint = paint_plain) -> Iterator[str]:
    """Each memory with its verdict and the words it rests on, then what it all came to."""
    yield from format_each_extraction(found, paint)
    yield f"{format_count(len(found), 'session')}: {tally_extractions(found)}"


def format_each_extraction(found: Extractions, paint: Paint = paint_plain) -> Iterator[str]:
    """Each memory with its verdict and the words it rests on."""
    for receipts, extraction in found:
        for receipt, extract in zip(receipts, extraction.extracts, strict=True):
            yield f"{paint(TextStyle.STRONG, extract.kind.value)}  {make_printable(shorten(extract.text))}"
            yield paint(TextStyle.FAINT, f"  {make_printable(text.describe_verdict(receipt.verdict))}")
            if (way := text.suggest_remedy(receipt)) is not None:
                yield paint(TextStyle.FAINT, f"  {way[0]}: recollect {shlex.join(way[1])}")
        for one in extraction.rejected:
            yield paint(TextStyle.FAINT, f"not taken: {make_printable(shorten(one.text))} ({one.reason.value})")


def tally_extractions(found: Extractions) -> str:
    """How many memories by verdict, and what it took."""
    verdicts = Counter(type(one.verdict).__name__.lower() for receipts, _ in found for one in receipts)
    said = ", ".join(f"{count} {verdict}" for verdict, count in verdicts.items()) or "nothing to remember"
    spent = sum_model_usage(found)
    if not spent["calls"]:
        return said
    tokens = f"{spent['prompt_tokens']} and {spent['completion_tokens']} tokens"
    cost = "" if spent["cost"] is None else f", cost {spent['cost']:g}"
    return f"{said} ({format_count(spent['calls'], 'call')}, {tokens}{cost})"


def extraction_fields(found: Extractions) -> dict[str, Any]:
    """The same as JSON has it."""
    return {
        "sessions": len(found),
        "extracts": [
            {**json_values.receipt_fields(receipt), "quote": extract.quote, "turn": extract.turn}
            for receipts, extraction in found
            for receipt, extract in zip(receipts, extraction.extracts, strict=True)
        ],
        "rejected": [
            {"text": one.text, "reason": one.reason.value} for _, extraction in found for one in extraction.rejected
        ],
        **sum_model_usage(found),
    }


def sum_model_usage(found: Extractions) -> dict[str, Any]:
    each = [extraction for _, extraction in found]
    costs = [one.cost for one in each if one.cost is not None]
    return {
        **{name: sum(getattr(one, name) for one in each) for name in _USAGE_COUNTS},
        "cost": sum(costs) if costs else None,
    }


_USAGE_COUNTS = ("calls", "prompt_tokens", "completion_tokens", "uncounted")
