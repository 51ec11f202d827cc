"""The OpenAPI document says what the table says."""

import json
import re
from typing import Any

import jsonschema

from recollect.api.operations import OPERATIONS, OPERATIONS_BY_SUBJECT
from recollect.server.http.middleware import STATUSES
from recollect.server.http.openapi import build_document
from tests.tables import table

DOCUMENT: Any = json.loads(json.dumps(build_document(OPERATIONS_BY_SUBJECT)))


@table("name", OPERATIONS)
def test_every_operation_is_there_with_its_right_and_its_problems(name: str) -> None:
    told = DOCUMENT["paths"][f"/v1/{name}"]["post"]
    assert told["operationId"] == name
    assert OPERATIONS[name].about in told["description"]
    assert f"Needs the right to {OPERATIONS[name].right.value}." in told["description"]
    assert {str(status.value) for status in STATUSES.values()} | {"200"} <= set(told["responses"])
    assert "security" not in told  # that of the document holds
    assert ("parameters" in told) is OPERATIONS[name].takes_key


def test_operations_are_told_by_what_they_are_about_whoever_is_offered_them_as_tools() -> None:
    assert [one["name"] for one in DOCUMENT["tags"]] == list(OPERATIONS_BY_SUBJECT)
    for subject, several in OPERATIONS_BY_SUBJECT.items():
        assert {*several} == {one for one in OPERATIONS.values() if tags(one.name) == [subject]}
    assert tags("remember") == tags("remember_all") == tags("pin") == ["memories"]


def tags(name: str) -> list[str]:
    found: list[str] = DOCUMENT["paths"][f"/v1/{name}"]["post"]["tags"]
    return found


def test_everything_that_is_referred_to_is_there() -> None:
    for path in set(re.findall(r'"\$ref": "#/([^"]+)"', json.dumps(DOCUMENT))):
        found = DOCUMENT
        for part in path.split("/"):
            found = found[part]
        assert found


def test_every_schema_is_one() -> None:
    for schema in DOCUMENT["components"]["schemas"].values():
        jsonschema.Draft202012Validator.check_schema(schema)


def test_requests_and_answers_of_the_same_name_are_told_apart() -> None:
    schemas = DOCUMENT["components"]["schemas"]
    assert "query" in schemas["WhyRequest"]["properties"]
    assert "fate" in schemas["Why"]["properties"]
    assert "content" in schemas["RecallRequest_Turn"]["properties"]
    assert "speaker" in schemas["ExtractRequest_Turn"]["properties"]
