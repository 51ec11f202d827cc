"""Reading: what a face was given becomes a request, or a refusal that names the field."""

from collections.abc import Mapping
from typing import Any, TypeVar

from pydantic import ValidationError
from pydantic_core import ErrorDetails, from_json

from recollect.api.operation import OperationRequest
from recollect.errors import FieldError, InvalidInput, show, suggest

R = TypeVar("R", bound=OperationRequest)


def read_json(body: bytes | str) -> Mapping[str, Any]:
    """The object that a text of JSON is; numbers that are none, and what is nested too deeply, are refused."""
    try:
        found = from_json(body, allow_inf_nan=False)
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"the body is not JSON: {error}") from error
    if not isinstance(found, dict):
        raise InvalidInput(f'the body is {show(found)}; give a JSON object, such as {{"scope": "acme/ana"}}')
    return found


def read_request(model: type[R], given: Mapping[str, Any]) -> R:
    """The request; the first thing that is wrong with it is told, with its field and the remedy."""
    try:
        return model.model_validate(given)
    except ValidationError as error:
        found = error.errors(include_url=False)
        unknown = (one for one in found if one["type"] == "extra_forbidden")  # which often is what is missing, misspelt
        raise _to_field_error(model, next(unknown, found[0])) from error


def _to_field_error(model: type[OperationRequest], found: ErrorDetails) -> FieldError:
    field = ".".join(str(part) for part in found["loc"])
    cause = found.get("ctx", {}).get("error")
    match found["type"]:
        case "extra_forbidden":
            known = list(model.model_fields) if len(found["loc"]) == 1 else []
            told = f"; {suggest(str(found['loc'][-1]), known)}" if known else ""
            return FieldError(f"there is no such field{told}", field=field)
        case "missing" if field == model.scope_field:
            return FieldError(
                "is missing; say whose memory it is, ask by a key for one scope, or start `recollect mcp` with --scope",
                field=field,
            )
        case "missing":
            return FieldError("is missing", field=field)
        case _ if isinstance(cause, FieldError):
            return FieldError(cause.problem, field=_refused_field(found["loc"], cause))
        case _ if cause is not None:
            return FieldError(str(cause), field=field)
        case _:
            return FieldError(
                f"{show(found['input'])} does not fit: {found['msg'][0].lower()}{found['msg'][1:]}", field=field
            )


def _refused_field(path: tuple[int | str, ...], cause: FieldError) -> str | None:
    """The field that is refused: of a list the list, as everywhere, and of a whole request the one that is named."""
    named = path[:-1] if path and isinstance(path[-1], int) else path
    return ".".join(str(part) for part in named) or cause.field
