"""A plan is what its hash says, or it is refused."""

import json
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from recollect.errors import FieldError, InvalidInput
from recollect.model.memory import MemoryId
from recollect.model.plan import Act, Job, Plan, Step
from recollect.testing.builders import NOW, SCOPE
from tests.tables import table

MADE, ONE, TWO = MemoryId("made"), MemoryId("one"), MemoryId("two")
STEPS = (
    Step(memory=MADE, act=Act.CREATE, by=ONE, reason="one for two", text="both", state="0" * 64),
    Step(memory=ONE, act=Act.CONSOLIDATE, commit=1, by=MADE, reason="its words", text="both"),
    Step(memory=TWO, act=Act.KEEP, commit=2, by=ONE, reason="it differs", text="one \u2028 two"),
)
PLAN = Plan(
    job=Job.CONSOLIDATE,
    scope=SCOPE,
    made_at=NOW,
    parameters={"embedder": "hashing", "threshold": 0.8, "least": 3},
    counts={"active": 21},
    steps=STEPS,
)


def test_a_plan_is_read_back_as_it_was_written() -> None:
    for given in (PLAN.to_json(), json.dumps(PLAN.to_json()), json.dumps(PLAN.to_json(), indent=1).encode()):
        assert Plan.read(given) == PLAN
    assert Plan.read(PLAN.to_json()).hash == PLAN.hash


def test_when_it_was_made_makes_no_other_plan_of_it_and_everything_else_does() -> None:
    assert replace(PLAN, made_at=NOW + timedelta(days=1)).hash == PLAN.hash
    others = [
        replace(PLAN, counts={"active": 22}),
        replace(PLAN, parameters={}),
        replace(PLAN, steps=STEPS[:2]),
        replace(PLAN, steps=(*STEPS[:2], replace(STEPS[2], commit=3))),
        replace(PLAN, steps=(*STEPS[:2], replace(STEPS[2], reason="another"))),
    ]
    assert len({PLAN.hash, *(one.hash for one in others)}) == 1 + len(others)


@table(
    "changed",
    [
        {"counts": {"active": 22}},
        {"hash": None},
        {"hash": "0" * 64},
        {"scope": "acme/ben"},
        {"steps": []},
        {"steps": [None]},
        {"steps": "all"},
        {"job": "everything"},
        {"job": None},
        {"made_at": "yesterday"},
        {"made_at": "9999-01-01T00:00:00+00:00"},
        {"made_at": "2026-01-01T00:00:00"},
        {"parameters": {"threshold": float("nan")}},
        {"parameters": {"threshold": [0.8]}},
        {"parameters": []},
        {"counts": {"active": -1}},
        {"more": 1},
    ],
)
def test_what_somebody_changed_is_refused(changed: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        Plan.read({**PLAN.to_json(), **changed})


@table("given", ["", "{", "null", "[]", b"\xff\xfe", "[" * 100_000, {}, None, 1, "NaN"])
def test_what_is_no_plan_is_refused(given: Any) -> None:
    with pytest.raises(FieldError):
        Plan.read(given)


@table(
    "given",
    [
        {"commit": None},
        {"by": None},
        {"state": "x"},
        {"memory": ""},
        {"reason": "half \ud800"},
        {"act": "consolidate"},
        {"commit": True},
    ],
)
def test_a_step_that_cannot_be_is_refused(given: dict[str, Any]) -> None:
    with pytest.raises(FieldError):
        replace(STEPS[1], **given)


def test_a_memory_has_one_step() -> None:
    with pytest.raises(FieldError, match="names 1 memory twice"):
        replace(PLAN, steps=(*STEPS, STEPS[1]))
