"""The OpenAPI document, generated from the table of operations."""

from collections.abc import Iterable, Iterator, Mapping
from http import HTTPStatus
from typing import Any

from recollect.api.operation import Effect, Operation
from recollect.server.http.middleware import (
    HTTP_ONLY_STATUSES,
    IDEMPOTENCY_KEY_HEADER,
    JSON_MEDIA_TYPE,
    PROBLEM_MEDIA_TYPE,
    PROBLEM_SCHEMA,
    STATUSES,
)
from recollect.version import __version__

OPENAPI_VERSION = "3.1.0"
COMPONENTS_PREFIX = "#/components/schemas/"
PATH_PREFIX = "/v1/"
"""The prefix of every operation's path."""

ERROR_STATUSES = sorted({*STATUSES.values(), *HTTP_ONLY_STATUSES} - {HTTPStatus.METHOD_NOT_ALLOWED})
"""Error statuses that any operation may answer with."""

_KEY_PARAMETER = {
    "name": IDEMPOTENCY_KEY_HEADER,
    "in": "header",
    "required": False,
    "description": "Makes a retry harmless, as the field `key` does, which may be given instead.",
    "schema": {"type": "string", "minLength": 1, "maxLength": 256},
}


def build_document(subjects: Mapping[str, Iterable[Operation[Any, Any]]]) -> Mapping[str, Any]:
    """Return the OpenAPI document of the operations, grouped by subject."""
    operations = [(subject, one) for subject, group in subjects.items() for one in group]
    return {
        "openapi": OPENAPI_VERSION,
        "info": {
            "title": "recollect",
            "version": __version__,
            "description": "Memories for agents: kept, found, ranked, explained and packed.",
        },
        "security": [{"key": []}],
        "tags": [{"name": subject} for subject in subjects],
        "paths": {
            **{f"{PATH_PREFIX}{one.name}": {"post": _describe_operation(subject, one)} for subject, one in operations},
            **_MONITORING_PATHS,
        },
        "components": {
            "schemas": {
                **dict(_collect_schemas(one for _, one in operations)),
                "Problem": dict(PROBLEM_SCHEMA),
                "Health": _HEALTH_SCHEMA,
            },
            "responses": {status.name: _describe_problem(status) for status in ERROR_STATUSES},
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer", "description": "`recollect keys add`"}},
        },
    }


def request_name(operation: Operation[Any, Any]) -> str:
    """Return the name of an operation's request among the components."""
    return f"{operation.name.title().replace('_', '')}Request"


def _describe_operation(subject: str, one: Operation[Any, Any]) -> dict[str, Any]:
    does = {Effect.NONE: "only looks", Effect.ADDS: "adds or changes", Effect.REMOVES: "may remove for good"}
    again = "the same again changes nothing more" if one.repeatable else "the same again is done again"
    policy = f"Needs the right to {one.right.value}. It {does[one.effect]}; {again}."
    return {
        "operationId": one.name,
        "summary": one.title,
        "description": f"{one.about}\n\n{policy}",
        "tags": [subject],
        **({"parameters": [_KEY_PARAMETER]} if one.takes_key else {}),
        "requestBody": {"required": True, "content": {JSON_MEDIA_TYPE: {"schema": _ref(request_name(one))}}},
        "responses": {
            "200": {"description": "Done.", "content": {JSON_MEDIA_TYPE: {"schema": _ref(one.answer.__name__)}}},
            **{str(status.value): {"$ref": f"#/components/responses/{status.name}"} for status in ERROR_STATUSES},
        },
    }


def _collect_schemas(operations: Iterable[Operation[Any, Any]]) -> Iterator[tuple[str, Any]]:
    """Yield all schemas by name; definitions inside a request have its name as a prefix."""
    for one in operations:
        name = request_name(one)
        yield from _split_definitions(
            name, one.request.model_json_schema(ref_template=f"{COMPONENTS_PREFIX}{name}_{{model}}"), f"{name}_"
        )
        answer = one.answer.model_json_schema(ref_template=f"{COMPONENTS_PREFIX}{{model}}")
        yield from _split_definitions(one.answer.__name__, answer, "")


def _split_definitions(name: str, schema: dict[str, Any], prefix: str) -> Iterator[tuple[str, Any]]:
    inside = schema.pop("$defs", {})
    yield name, schema
    yield from ((f"{prefix}{one}", inside[one]) for one in inside)


def _ref(name: str) -> dict[str, str]:
    return {"$ref": f"{COMPONENTS_PREFIX}{name}"}


def _describe_problem(status: HTTPStatus) -> dict[str, Any]:
    headers = {"Retry-After": {"schema": {"type": "string"}}} if status is HTTPStatus.SERVICE_UNAVAILABLE else {}
    content = {PROBLEM_MEDIA_TYPE: {"schema": _ref("Problem")}}
    return {"description": status.phrase, **({"headers": headers} if headers else {}), "content": content}


_HEALTH_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "ready": {"type": "boolean"},
        "store": {"type": "string"},
        "embedder": {"type": ["string", "null"]},
        "degraded": {"type": "array", "items": {"type": "string"}},
    },
    "required": ["ready", "store", "embedder", "degraded"],
    "additionalProperties": False,
}


def _describe_endpoint(summary: str, *answers: tuple[HTTPStatus, str, dict[str, Any]], **more: Any) -> dict[str, Any]:
    responses = {
        str(status.value): {"description": status.phrase, "content": {kind: {"schema": schema}}}
        for status, kind, schema in answers
    }
    refused = {str(HTTPStatus.FORBIDDEN.value): {"$ref": f"#/components/responses/{HTTPStatus.FORBIDDEN.name}"}}
    return {"get": {"summary": summary, "responses": {**refused, **responses}, **more}}


_OBJECT_SCHEMA = {"type": "object"}
_UNAUTHORIZED = (HTTPStatus.UNAUTHORIZED, PROBLEM_MEDIA_TYPE, _ref("Problem"))

_MONITORING_PATHS: Mapping[str, Any] = {
    "/health/live": _describe_endpoint(
        "Whether it answers", (HTTPStatus.OK, JSON_MEDIA_TYPE, _OBJECT_SCHEMA), security=[], operationId="live"
    ),
    "/health/ready": _describe_endpoint(
        "Whether it can do its work",
        (HTTPStatus.OK, JSON_MEDIA_TYPE, _ref("Health")),
        (HTTPStatus.SERVICE_UNAVAILABLE, JSON_MEDIA_TYPE, _ref("Health")),
        security=[],
        operationId="ready",
    ),
    "/metrics": _describe_endpoint(
        "What was asked, for Prometheus",
        (HTTPStatus.OK, "text/plain", {"type": "string"}),
        _UNAUTHORIZED,
        (HTTPStatus.INTERNAL_SERVER_ERROR, PROBLEM_MEDIA_TYPE, _ref("Problem")),
        operationId="metrics",
    ),
    "/openapi.json": _describe_endpoint(
        "This document", (HTTPStatus.OK, JSON_MEDIA_TYPE, _OBJECT_SCHEMA), security=[], operationId="openapi"
    ),
}
"""Paths that are not operations."""
