"""Whatever the OpenAPI document allows, and more, is asked of a live server: it never breaks and answers as it says."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis import Case, GenerationMode
from schemathesis.checks import (
    content_type_conformance,
    not_a_server_error,
    response_schema_conformance,
    status_code_conformance,
)

from recollect.api.operations import OPERATIONS, OPERATIONS_BY_SUBJECT
from recollect.server.http.openapi import build_document

from .serving import LONG, Serving, served

pytestmark = pytest.mark.thorough

CHECKS: list[Any] = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
]
SCHEMA = schemathesis.openapi.from_dict(dict(build_document(OPERATIONS_BY_SUBJECT)))
EXAMPLES = 6
BOUNDED = settings(
    max_examples=EXAMPLES,
    deadline=None,
    derandomize=True,
    database=None,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)
"""As many as one can wait for: the same each time."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    folder: Path = tmp_path_factory.mktemp("served")
    with served(":memory:", folder / "own") as made:
        made.given("remember", {"scope": "acme/ana", "text": "Ana likes tea"})
        yield made


@pytest.fixture(scope="module")
def session(server: Serving) -> Iterator[requests.Session]:
    token = server.token.read_text(encoding="utf-8").strip()
    with requests.Session() as made:
        made.headers["Authorization"] = f"Bearer {token}"
        yield made


WATCHING = ("/metrics", "/health/live", "/health/ready", "/openapi.json")


@pytest.mark.parametrize(
    ("path", "mode"),
    [
        *((f"/v1/{name}", mode) for name in OPERATIONS for mode in (GenerationMode.POSITIVE, GenerationMode.NEGATIVE)),
        *((path, GenerationMode.POSITIVE) for path in WATCHING),
    ],
)
def test_whatever_is_asked_it_answers_as_it_says_and_never_breaks(
    path: str, mode: GenerationMode, server: Serving, session: requests.Session
) -> None:
    asked = OPERATIONS.get(path.removeprefix("/v1/"))
    whose = None if asked is None else asked.request.scope_field
    operation = SCHEMA[path]["POST" if path.startswith("/v1/") else "GET"]

    @BOUNDED
    @given(case=operation.as_strategy(generation_mode=mode))
    def asking(case: "Case[Any]") -> None:
        if mode is GenerationMode.POSITIVE and isinstance(case.body, dict) and whose in case.body:
            case.body[whose] = "acme/ana"  # few texts are scopes, and it is what comes after that is looked at
        case.call_and_validate(base_url=server.url, session=session, checks=CHECKS)

    asking()
    assert [one for one in server.events() if one["level"] not in ("info", "warning")] == []


def test_the_document_that_is_asked_by_is_the_one_that_the_server_gives(server: Serving) -> None:
    assert httpx.get(f"{server.url}/openapi.json", timeout=LONG).json() == json.loads(json.dumps(SCHEMA.raw_schema))
