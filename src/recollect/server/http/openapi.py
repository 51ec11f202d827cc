"""The OpenAPI document: what the table of operations says, for programs that make clients of it."""

from collections.abc import Iterable, Iterator, Mapping
from http import HTTPStatus
from typing import Any

from recollect.api.operation import Effect, Operation
from recollect.server.http import problems
from recollect.server.http.headers import RETRY_KEY
from recollect.server.http.request import JSON
from recollect.version import __version__

VERSION = "3.1.0"
COMPONENTS = "#/components/schemas/"
PREFIX = "/v1/"
"""What the path of every operation begins with."""

TOLD = sorted({*problems.STATUSES.values(), *problems.OF_HTTP} - {HTTPStatus.METHOD_NOT_ALLOWED})
"""The statuses that any operation may answer with, beside that of success."""

_KEY = {
    "name": RETRY_KEY,
    "in": "header",
    "required": False,
    "description": "Makes a retry harmless, as the field `key` does, which may be given instead.",
    "schema": {"type": "string", "minLength": 1, "maxLength": 256},
}


def document(subjects: Mapping[str, Iterable[Operation[Any]]]) -> Mapping[str, Any]:
    """Every operation with what it takes and gives, and all that can go wrong, by what it is about."""
    known = [(subject, one) for subject, several in subjects.items() for one in several]
    return {
        "openapi": VERSION,
        "info": {
            "title": "recollect",
            "version": __version__,
            "description": "Memories for agents: kept, found, ranked, explained and packed.",
        },
        "security": [{"key": []}],
        "tags": [{"name": subject} for subject in subjects],
        "paths": {**{f"{PREFIX}{one.name}": {"post": _operation(subject, one)} for subject, one in known}, **_WATCHING},
        "components": {
            "schemas": {**dict(_schemas(one for _, one in known)), "Problem": dict(problems.SCHEMA), "Health": _HEALTH},
            "responses": {status.name: _problem(status) for status in TOLD},
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer", "description": "`recollect keys add`"}},
        },
    }


def request_name(operation: Operation[Any]) -> str:
    """The name of what the operation takes, among the components."""
    return f"{operation.name.title().replace('_', '')}Request"


def _operation(subject: str, one: Operation[Any]) -> dict[str, Any]:
    return {
        "operationId": one.name,
        "summary": one.title,
        "description": f"{one.about}\n\n{_policy(one)}",
        "tags": [subject],
        **({"parameters": [_KEY]} if one.keyed else {}),
        "requestBody": {"required": True, "content": {JSON: {"schema": _ref(request_name(one))}}},
        "responses": {
            "200": {"description": "Done.", "content": {JSON: {"schema": _ref(one.answer.__name__)}}},
            **{str(status.value): {"$ref": f"#/components/responses/{status.name}"} for status in TOLD},
        },
    }


def _policy(one: Operation[Any]) -> str:
    does = {Effect.NONE: "only looks", Effect.ADDS: "adds or changes", Effect.REMOVES: "may remove for good"}
    again = "the same again changes nothing more" if one.repeatable else "the same again is done again"
    return f"Needs the right to {one.right.value}. It {does[one.effect]}; {again}."


def _schemas(operations: Iterable[Operation[Any]]) -> Iterator[tuple[str, Any]]:
    """Every schema by its name; what requests are made of has the name of its request before its own."""
    for one in operations:
        name = request_name(one)
        yield from _named(name, one.request.model_json_schema(ref_template=f"{COMPONENTS}{name}_{{model}}"), f"{name}_")
        answer = one.answer.model_json_schema(ref_template=f"{COMPONENTS}{{model}}")
        yield from _named(one.answer.__name__, answer, "")


def _named(name: str, schema: dict[str, Any], prefix: str) -> Iterator[tuple[str, Any]]:
    inside = schema.pop("$defs", {})
    yield name, schema
    yield from ((f"{prefix}{one}", inside[one]) for one in inside)


def _ref(name: str) -> dict[str, str]:
    return {"$ref": f"{COMPONENTS}{name}"}


def _problem(status: HTTPStatus) -> dict[str, Any]:
    headers = {"Retry-After": {"schema": {"type": "string"}}} if status is HTTPStatus.SERVICE_UNAVAILABLE else {}
    content = {problems.MEDIA_TYPE: {"schema": _ref("Problem")}}
    return {"description": status.phrase, **({"headers": headers} if headers else {}), "content": content}


_HEALTH: dict[str, Any] = {
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


def _watched(summary: str, *answers: tuple[HTTPStatus, str, dict[str, Any]], **more: Any) -> dict[str, Any]:
    told = {
        str(status.value): {"description": status.phrase, "content": {kind: {"schema": schema}}}
        for status, kind, schema in answers
    }
    refused = {str(HTTPStatus.FORBIDDEN.value): {"$ref": f"#/components/responses/{HTTPStatus.FORBIDDEN.name}"}}
    return {"get": {"summary": summary, "responses": {**refused, **told}, **more}}


_OBJECT = {"type": "object"}
_UNAUTHORISED = (HTTPStatus.UNAUTHORIZED, problems.MEDIA_TYPE, _ref("Problem"))

_WATCHING: Mapping[str, Any] = {
    "/health/live": _watched("Whether it answers", (HTTPStatus.OK, JSON, _OBJECT), security=[], operationId="live"),
    "/health/ready": _watched(
        "Whether it can do its work",
        (HTTPStatus.OK, JSON, _ref("Health")),
        (HTTPStatus.SERVICE_UNAVAILABLE, JSON, _ref("Health")),
        security=[],
        operationId="ready",
    ),
    "/metrics": _watched(
        "What was asked, for Prometheus",
        (HTTPStatus.OK, "text/plain", {"type": "string"}),
        _UNAUTHORISED,
        (HTTPStatus.INTERNAL_SERVER_ERROR, problems.MEDIA_TYPE, _ref("Problem")),
        operationId="metrics",
    ),
    "/openapi.json": _watched("This document", (HTTPStatus.OK, JSON, _OBJECT), security=[], operationId="openapi"),
}
"""What is not asked of memories."""
