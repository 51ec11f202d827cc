"""A recorded context that was made again, told: as JSON, and to people."""

from collections import Counter
from collections.abc import Collection, Iterator
from typing import Any

from recollect.model.format import counted, printable
from recollect.model.replay_diff import Difference, What
from recollect.packing.replay import Replay
from recollect.render import json_values

IDENTICAL = "identical to what was recorded, to the last bit"


def fields(replay: Replay) -> dict[str, Any]:
    """The JSON of a replay: the context as `recall` has it, whether it is identical, and what differs."""
    differences = [
        {"what": one.what.value, "name": one.name, "was": one.was, "again": one.again} for one in replay.differences
    ]
    return {**json_values.context(replay.context), "identical": replay.identical, "differences": differences}


def told(replay: Replay) -> Iterator[str]:
    """Whether it is identical; or how much is not, and what has changed that it was made of."""
    if replay.identical:
        yield IDENTICAL
        return
    effects = Counter(one.what for one in replay.differences if one.what.effect)
    yield f"not identical: {', '.join(_counted(what, effects[what]) for what in What if what in effects)}"
    causes = [one for one in replay.differences if not one.what.effect]
    yield from (f"because {_sentence(one)}" for one in causes)
    if not causes:
        yield "nothing that was kept with it tells why"


def each(replay: Replay) -> Iterator[str]:
    """Every part of the context that is not as it was."""
    causes = {one.what for one in replay.differences}
    for one in replay.differences:
        if one.what is What.TEXT:
            yield f"text: {_text(one, causes)}"
        elif one.what.effect:
            name = "" if one.name is None else f" {printable(one.name)}"
            yield f"{one.what.value}{name}: was {one.was or 'not there'}, is {one.again or 'not there'}"


def _text(one: Difference, causes: Collection[What]) -> str:
    """What is known of a text that is another; the sum of it says nothing to people."""
    if one.was is not None:
        return "is not what it was"
    if What.UNNOTED in causes:
        return "what it was has not been noted"
    return "what it was is no longer known, since something in it was erased"


def _counted(what: What, count: int) -> str:
    match what:
        case What.PACKED | What.OMITTED | What.EXCLUDED:
            return f"{what.value} in {counted(count, 'place')}"
        case _:
            return f"the {what.value}"


def _sentence(one: Difference) -> str:
    was, now = printable(one.was or ""), printable(one.again or "")
    return {
        What.ELSEWHERE: "it came from another store, whose commits say nothing here: it was made of what is known now",
        What.UNNOTED: "it was kept by an older version, which did not note the whole budget nor the sum of the text",
        What.ERASED: f"of {was} memories that there were to see only {now} are here; the others have been erased",
        What.MISSING: f"the memory {printable(one.name or '')} is not here",
        What.FORMULA: f"this version reads the formula of the profile {printable(one.name or '')} otherwise",
        What.ENCODER: f"the model is {now} now, and was {was}",
        What.QUESTION: "the question is asked in other directions now",
        What.DEPARTED: f"the directions of {now} memories had left their index, and were made again",
        What.DIRECTED: f"{now} memories have a direction now, and {was} had one",
        What.ANALYSER: f"words are told by version {now} now, and were by version {was}",
        What.NAMING: f"names are found by version {now} now, and were by version {was}",
        What.COUNTER: f"tokens are counted by {now} now, and were by {was}",
    }[one.what]
