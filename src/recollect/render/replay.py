"""A recorded context that was made again, told: as JSON, and to people."""

from collections import Counter
from collections.abc import Collection, Iterator
from typing import Any

from recollect.model.format import format_count, make_printable
from recollect.model.replay_diff import DifferenceKind, ReplayDifference
from recollect.packing.replay import Replay
from recollect.render import json_values

IDENTICAL_MESSAGE = "identical to what was recorded, to the last bit"


def replay_fields(replay: Replay) -> dict[str, Any]:
    """The JSON of a replay: the context as `recall` has it, whether it is identical, and what differs."""
    differences = [
        {"what": one.what.value, "name": one.name, "was": one.was, "again": one.again} for one in replay.differences
    ]
    return {**json_values.context_fields(replay.context), "identical": replay.identical, "differences": differences}


def describe_replay(replay: Replay) -> Iterator[str]:
    """Whether it is identical; or how much is not, and what has changed that it was made of."""
    if replay.identical:
        yield IDENTICAL_MESSAGE
        return
    effects = Counter(one.what for one in replay.differences if one.what.is_effect)
    counts = ", ".join(_count_places(what, effects[what]) for what in DifferenceKind if what in effects)
    yield f"not identical: {counts}"
    causes = [one for one in replay.differences if not one.what.is_effect]
    yield from (f"because {_describe_cause(one)}" for one in causes)
    if not causes:
        yield "nothing that was kept with it tells why"


def list_differences(replay: Replay) -> Iterator[str]:
    """Every part of the context that is not as it was."""
    causes = {one.what for one in replay.differences}
    for one in replay.differences:
        if one.what is DifferenceKind.TEXT:
            yield f"text: {_describe_text_change(one, causes)}"
        elif one.what.is_effect:
            name = "" if one.name is None else f" {make_printable(one.name)}"
            yield f"{one.what.value}{name}: was {one.was or 'not there'}, is {one.again or 'not there'}"


def _describe_text_change(one: ReplayDifference, causes: Collection[DifferenceKind]) -> str:
    """What is known of a text that is another; the sum of it says nothing to people."""
    if one.was is not None:
        return "is not what it was"
    if DifferenceKind.NOT_RECORDED in causes:
        return "what it was has not been noted"
    return "what it was is no longer known, since something in it was erased"


def _count_places(what: DifferenceKind, count: int) -> str:
    match what:
        case DifferenceKind.PACKED | DifferenceKind.OMITTED | DifferenceKind.EXCLUDED:
            return f"{what.value} in {format_count(count, 'place')}"
        case _:
            return f"the {what.value}"


def _describe_cause(one: ReplayDifference) -> str:
    was, now = make_printable(one.was or ""), make_printable(one.again or "")
    return {
        DifferenceKind.ELSEWHERE: (
            "it came from another store, whose commits say nothing here: it was made of what is known now"
        ),
        DifferenceKind.NOT_RECORDED: (
            "it was kept by an older version, which did not note the whole budget nor the sum of the text"
        ),
        DifferenceKind.ERASED: (
            f"of {was} memories that there were to see only {now} are here; the others have been erased"
        ),
        DifferenceKind.MISSING: f"the memory {make_printable(one.name or '')} is not here",
        DifferenceKind.FORMULA: (
            f"this version reads the formula of the profile {make_printable(one.name or '')} otherwise"
        ),
        DifferenceKind.ENCODER: f"the model is {now} now, and was {was}",
        DifferenceKind.QUESTION: "the question is asked in other directions now",
        DifferenceKind.RESTORED_VECTORS: f"the directions of {now} memories had left their index, and were made again",
        DifferenceKind.VECTOR_COUNT: f"{now} memories have a direction now, and {was} had one",
        DifferenceKind.ANALYZER: f"words are told by version {now} now, and were by version {was}",
        DifferenceKind.NAMING: f"names are found by version {now} now, and were by version {was}",
        DifferenceKind.COUNTER: f"tokens are counted by {now} now, and were by {was}",
    }[one.what]
