"""Convert between protobuf messages and the JSON shape that all transports share."""

import math
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, TypeVar

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import DecodeError, Message
from google.protobuf.struct_pb2 import Struct, Value
from google.protobuf.unknown_fields import UnknownFieldSet

from recollect.errors import FieldError, InvalidInput

M = TypeVar("M", bound=Message)

MAX_SAFE_INTEGER = 2**53
"""Up to this number a double holds every whole number exactly."""

_STRUCT, _VALUE = Struct.DESCRIPTOR.full_name, Value.DESCRIPTOR.full_name
_LIST_MESSAGES = frozenset({"recollect.v1.Names", "recollect.v1.Vector"})
"""Messages that wrap a list, so that an empty list differs from an absent one."""


def parse_message(kind: type[M], body: bytes) -> M:
    """Return the message in `body`; raise InvalidInput if it is none."""
    try:
        message: M = kind.FromString(body)
    except DecodeError as error:
        name = kind.DESCRIPTOR.full_name
        raise InvalidInput(f"the message is not a {name}: {error}; compile the proto file of this version") from error
    return message


def from_message(message: Message) -> dict[str, Any]:
    """Return the fields that were sent; raise FieldError if one is unknown or not finite."""
    return _read_message(message, "")


def to_message(kind: type[M], answer: Mapping[str, Any]) -> M:
    """Return the answer as a message, without the fields that are null."""
    message: M = kind(**_fit_answer(answer, _find_object_fields(kind.DESCRIPTOR)))
    return message


def _read_message(message: Message, path: str) -> dict[str, Any]:
    unknown = UnknownFieldSet(message)
    if len(unknown):
        number, kind = unknown[0].field_number, message.DESCRIPTOR.full_name
        problem = f"{kind} has no field {number}; leave it out, or upgrade the server"
        raise FieldError(problem, field=f"{path}{number}")
    return {field.name: _read_field(field, value, f"{path}{field.name}") for field, value in message.ListFields()}


def _read_field(field: FieldDescriptor, value: Any, path: str) -> Any:
    read = _field_reader(field)
    if not field.is_repeated:
        return read(value, path)
    if read is _pass_through or (read is _require_finite and all(map(math.isfinite, value))):
        return list(value)
    return [read(one, f"{path}.{place}") for place, one in enumerate(value)]


@cache
def _field_reader(field: FieldDescriptor) -> Callable[[Any, str], Any]:
    """Return the function that reads one value of the field."""
    kind = None if field.message_type is None else field.message_type.full_name
    if kind is None:
        return _require_finite if field.type == FieldDescriptor.TYPE_DOUBLE else _pass_through
    if kind == _STRUCT:
        return _read_struct
    if kind == _VALUE:
        return _read_value
    if kind in _LIST_MESSAGES:
        return lambda value, path: _read_field(value.DESCRIPTOR.fields[0], value.items, path)
    return lambda value, path: _read_message(value, f"{path}.")


def _pass_through(value: Any, _: str) -> Any:
    return value


def _require_finite(value: float, path: str) -> float:
    if not math.isfinite(value):
        raise FieldError(f"{value} is not a finite number; give a finite one", field=path)
    return value


def _read_struct(value: Struct, path: str) -> dict[str, Any]:
    return {name: _read_value(inner, f"{path}.{name}") for name, inner in value.fields.items()}


def _read_value(value: Value, path: str) -> Any:
    match value.WhichOneof("kind"):
        case "null_value":
            return None
        case "number_value":
            number = _require_finite(value.number_value, path)
            return int(number) if number.is_integer() and abs(number) <= MAX_SAFE_INTEGER else number
        case "string_value":
            return value.string_value
        case "bool_value":
            return value.bool_value
        case "struct_value":
            return _read_struct(value.struct_value, path)
        case "list_value":
            return [_read_value(one, f"{path}.{place}") for place, one in enumerate(value.list_value.values)]
        case _:
            raise FieldError("has no value, not even null; set one of its kinds", field=path)


ObjectFields = Mapping[str, "ObjectFields | None"]
"""Fields with JSON objects: None for an object itself, a mapping for a message with some."""


@cache
def _find_object_fields(descriptor: Descriptor) -> ObjectFields:
    """Return the fields of a message that have JSON objects."""
    fields: dict[str, ObjectFields | None] = {}
    for field in descriptor.fields:
        inner = field.message_type
        if inner is None or inner.GetOptions().map_entry:
            continue
        if inner.full_name == _STRUCT:
            fields[field.name] = None
        elif below := _find_object_fields(inner):
            fields[field.name] = below
    return fields


def _fit_answer(answer: Mapping[str, Any], objects: ObjectFields) -> dict[str, Any]:
    """Return the answer with its JSON objects in a form that a message can hold."""
    fitted = dict(answer)
    for name, below in objects.items():
        if value := fitted.get(name):
            fit = _fit_value if below is None else _fit_below(below)
            fitted[name] = [fit(one) for one in value] if isinstance(value, list) else fit(value)
    return fitted


def _fit_below(objects: ObjectFields) -> Callable[[Mapping[str, Any]], dict[str, Any]]:
    return lambda answer: _fit_answer(answer, objects)


def _fit_value(value: Any) -> Any:
    """Return a JSON value; a whole number that no double holds exactly becomes a string."""
    match value:
        case bool():
            return value
        case int() if abs(value) > MAX_SAFE_INTEGER:
            return str(value)
        case Mapping():
            return {name: _fit_value(inner) for name, inner in value.items()}
        case list() | tuple():
            return [_fit_value(inner) for inner in value]
        case _:
            return value
