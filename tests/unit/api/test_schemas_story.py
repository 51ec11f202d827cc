"""Answers look as they are said to: every operation of a small story is held to its shape."""

from collections.abc import Iterator
from dataclasses import fields
from typing import Any

import jsonschema

import recollect
from recollect.api import schemas
from recollect.api.auth import create_owner
from recollect.api.dispatcher import OperationRunner
from recollect.api.operations import OPERATIONS
from recollect.model.memory import Memory
from tests.tables import table

from .story import told


def test_every_operation_answers_in_its_shape() -> None:
    with recollect.open(":memory:", embedder="hashing") as engine:
        service = OperationRunner(engine)
        answers = list(told(lambda name, given: service.run(name, given, create_owner()), engine))
    for name, answer in answers:
        schema = OPERATIONS[name].answer.model_json_schema()
        jsonschema.validate(answer, schema, cls=jsonschema.Draft202012Validator)
    assert {name for name, _ in answers} == set(OPERATIONS)


def test_a_memory_is_told_with_all_of_its_fields() -> None:
    assert set(schemas.memories.Memory.model_fields) == {one.name for one in fields(Memory)} | {"trust"}


OBJECTS = {"metadata", "overrides", "input", "output"}
"""Fields that take any JSON, of which the engine bounds how deep and how large it is."""


def unbounded(schema: dict[str, Any], path: str, known: dict[str, Any]) -> Iterator[str]:
    """The places in a schema at which a text, a list or a number may be as large as anybody likes."""
    if (reference := schema.get("$ref")) is not None:
        yield from unbounded(known[reference.rpartition("/")[2]], path, known)
    for one in schema.get("anyOf", ()):
        yield from unbounded(one, path, known)
    match schema.get("type"):
        case "string" if not {"maxLength", "enum", "format"} & schema.keys():
            yield path
        case "array":
            yield from () if "maxItems" in schema else (path,)
            yield from unbounded(schema["items"], f"{path}[]", known)
        case "integer" | "number" if not {"maximum", "minimum"} <= schema.keys() and not path.endswith(".vector[]"):
            yield path  # of a vector only the direction counts
        case "object":
            for name, inner in schema.get("properties", {}).items():
                if name not in OBJECTS:
                    yield from unbounded(inner, f"{path}.{name}", known)


@table("name", OPERATIONS)
def test_an_operation_says_when_to_use_it_and_its_fields_have_limits(name: str) -> None:
    operation = OPERATIONS[name]
    schema = operation.request.model_json_schema()
    assert operation.title
    assert operation.about.endswith(".")
    assert operation.request.model_config.get("extra") == "forbid"
    assert list(unbounded(schema, name, schema.get("$defs", {}))) == []
