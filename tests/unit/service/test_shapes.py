"""Answers look as they are said to: every operation of a small story is held to its shape."""

from dataclasses import fields

import jsonschema
import pytest

import recollect
from recollect.model.memory import Memory
from recollect.service import shapes
from recollect.service.access import owner
from recollect.service.operations import OPERATIONS
from recollect.service.service import Service

from .story import told


def test_every_operation_answers_in_its_shape() -> None:
    with recollect.open(":memory:", embedder="hashing") as engine:
        service = Service(engine)
        answers = list(told(lambda name, given: service.answer(name, given, owner()), engine))
    for name, answer in answers:
        schema = OPERATIONS[name].answer.model_json_schema()
        jsonschema.validate(answer, schema, cls=jsonschema.Draft202012Validator)
    assert {name for name, _ in answers} == set(OPERATIONS)


def test_a_memory_is_told_with_all_of_its_fields() -> None:
    assert set(shapes.Memory.model_fields) == {one.name for one in fields(Memory)} | {"trust"}


@pytest.mark.parametrize("name", OPERATIONS)
def test_an_operation_says_when_to_use_it_and_its_fields_have_limits(name: str) -> None:
    operation = OPERATIONS[name]
    assert operation.about
    assert operation.title
    assert operation.request.model_config.get("extra") == "forbid"
