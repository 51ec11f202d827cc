"""Archive contexts: what contexts were made of, as an export has it."""

import re
from collections.abc import Collection, Mapping
from dataclasses import asdict, replace
from typing import Any

from recollect.admission.policy import SecretsPolicy
from recollect.admission.screening import clean
from recollect.engine.archive_values import a_commit, a_list, a_moment, a_vector, maybe_moment, names, plain, the_fields
from recollect.engine.context_records import read_formula
from recollect.errors import FieldError, ProfileError, show
from recollect.model import validation
from recollect.model.context_record import Making, Passed, Placed, Trace
from recollect.model.encoder import Encoder
from recollect.model.level import PLAIN, a_level
from recollect.model.memory import Kind, MemoryId, named
from recollect.model.scope import Scope
from recollect.packing.budget import Budget
from recollect.packing.prompt import MARKER
from recollect.retrieval.query_analysis import MOST_NAMED

_LATER: Mapping[str, Any] = {"past": False, "levels": [], "making": None, "elsewhere": False}
"""What archives of before do not have."""

_UNLESS_USUAL = ("making", "elsewhere")
_SUM = re.compile(r"[0-9a-f]{64}")


def context(trace: Trace) -> dict[str, Any]:
    """The trace as a line has it."""
    values = asdict(trace) | {"scope": str(trace.scope)}
    usual = {name for name in _UNLESS_USUAL if values[name] == _LATER[name]}
    return {"context": {name: plain(value) for name, value in values.items() if name not in usual}}


def read_context(value: Any) -> Trace:
    """The trace of a line."""
    given = {**_LATER, **the_fields(value, {*value} & {*_LATER} | {*names(Trace)} - {*_LATER})}
    trace = Trace(
        id=validation.an_id("context", given["id"]),
        scope=Scope.parse(given["scope"]),
        made_at=a_moment("made_at", given["made_at"]),
        at=a_moment("at", given["at"]),
        commit=a_commit(given["commit"], least=0),
        known_at=maybe_moment("known_at", given["known_at"]),
        question=tuple(validation.a_content("question", turn) for turn in a_list("question", given["question"])),
        kinds=tuple(named("kinds", kind, Kind).value for kind in a_list("kinds", given["kinds"])),
        packed=tuple(_read_placed(one) for one in a_list("packed", given["packed"])),
        omitted=tuple(_read_passed(one) for one in a_list("omitted", given["omitted"])),
        excluded=_read_counts("excluded", given["excluded"]),
        past=validation.a_flag("past", given["past"]),
        levels=tuple(str(a_level("levels", level) or PLAIN) for level in a_list("levels", given["levels"])),
        elsewhere=validation.a_flag("elsewhere", given["elsewhere"]),
        profile=validation.a_clean_text("profile", given["profile"]),
        version=validation.a_clean_text("version", given["version"]),
        formula=_read_formula(given["formula"]),
        tokens=_read_room("tokens", given["tokens"]),
        budget=validation.a_limit("budget", given["budget"]),
        depth=validation.a_limit("depth", given["depth"]),
        marker=_read_marker(given["marker"]),
    )
    return trace if given["making"] is None else replace(trace, making=_read_making(given["making"], trace))


def screened(trace: Trace, policy: SecretsPolicy, reworded: Collection[MemoryId]) -> Trace:
    """The context without what was asked for in secret, and without the sum of a text that memories were in which say
    something else now; questions are never refused.
    """
    question = tuple(clean(turn, policy) for turn in trace.question)
    if trace.making is not None and question != trace.question:
        trace = replace(trace, making=replace(trace.making, directions=None))
    if trace.making is not None and any(one.id in reworded for one in trace.packed):
        trace = replace(trace, making=replace(trace.making, text=None))
    return trace if question == trace.question else replace(trace, question=question)


def _read_making(value: Any, trace: Trace) -> Making:
    given = the_fields(value, names(Making))
    counts = {name: validation.a_count(name, given[name]) for name in ("directed", "packed", "omitted")}
    if counts["packed"] < len(trace.packed) or counts["omitted"] < len(trace.omitted):
        raise FieldError("there are more of them than there were", field="packed")
    reserves = _a_mapping("reserves", given["reserves"])
    budget = Budget(
        trace.budget,
        reserves={named("reserves", kind, Kind): _read_room("reserves", room) for kind, room in reserves.items()},
        items=given["items"],
        pinned_share=validation.a_share("pinned_share", given["pinned_share"]),
    )
    encoder = None if given["encoder"] is None else Encoder(**the_fields(given["encoder"], names(Encoder)))
    return Making(
        present=validation.a_flag("present", given["present"]),
        reserves={kind.value: room for kind, room in budget.reserves.items()},
        items=budget.items,
        pinned_share=budget.pinned_share,
        counter=validation.a_clean_text("counter", given["counter"]),
        analyser=validation.an_id("analyser", given["analyser"]),
        naming=validation.an_id("naming", given["naming"]),
        encoder=encoder,
        directions=_read_directions(given["directions"], encoder),
        text=_read_sum(given["text"]),
        **counts,
    )


def _read_formula(value: Any) -> str:
    """The profile written out; that this version can rank by it is not asked."""
    text = validation.a_clean_text("formula", value)
    try:
        read_formula(text)
    except ProfileError as error:
        raise FieldError(f"cannot be read: {error}; the file was changed", field="formula") from error
    return text


def _read_marker(value: Any) -> str:
    marker = validation.a_clean_text("marker", value)
    if not MARKER.fullmatch(marker):
        raise FieldError(f"{show(marker)} is not 16 to 64 digits of 0-9 and a-f", field="marker")
    return marker


def _read_room(field: str, value: Any) -> int:
    """So many tokens: none, or as many as a budget may have."""
    return 0 if type(value) is int and value == 0 else validation.a_limit(field, value)


def _read_directions(value: Any, encoder: Encoder | None) -> str | None:
    if value is None:
        return None
    if encoder is None:
        raise FieldError("directions without a model that they come from", field="directions")
    a_vector("directions", value, encoder.dimensions, most=MOST_NAMED)
    return str(value)


def _read_sum(value: Any) -> str | None:
    if value is not None and not (isinstance(value, str) and _SUM.fullmatch(value)):
        raise FieldError(f"{show(value)} is no sum", field="text")
    return value


def _read_placed(value: Any) -> Placed:
    given = the_fields(value, names(Placed))
    return Placed(MemoryId(validation.an_id("id", given["id"])), validation.a_number("score", given["score"]))


def _read_passed(value: Any) -> Passed:
    given = the_fields(value, names(Passed))
    id, score = MemoryId(validation.an_id("id", given["id"])), validation.a_number("score", given["score"])
    return Passed(id, score, validation.a_line("reason", given["reason"]), validation.a_count("cost", given["cost"]))


def _read_counts(field: str, value: Any) -> Mapping[str, int]:
    counts = _a_mapping(field, value)
    return {validation.a_line(field, name): validation.a_count(field, count) for name, count in counts.items()}


def _a_mapping(field: str, value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise FieldError(f"{show(value)} is no mapping", field=field)
    return value
