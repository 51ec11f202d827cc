"""Write `proto/recollect/v1/recollect.proto` and its `numbers.json` from the operations.

The numbers of fields that `numbers.json` has never change: a new field of a message gets the next number, and a new
message begins at 1. The part of the file above `GENERATED` is written by hand.
"""

import json
import textwrap
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import AwareDatetime, BaseModel
from pydantic.fields import FieldInfo

from recollect.api.operation import Operation, OperationRequest
from recollect.api.operations import OPERATIONS, memories, recall

FOLDER = Path(__file__).parents[1] / "proto" / "recollect" / "v1"
PROTO, NUMBERS = FOLDER / "recollect.proto", FOLDER / "numbers.json"
GENERATED = "// ---- Everything below is generated from the operations by scripts/generate"
COMMENT_COLUMNS = 118

REQUEST_PARTS: Mapping[type[BaseModel], str] = {recall.Turn: "AskedTurn", memories.Said: "Draft"}
"""Messages inside requests that are not called like their class, whose name an answer or another request has."""

SCALARS: Mapping[Any, str] = {str: "string", bool: "bool", int: "int64", float: "double"}

LISTS: Mapping[str, str] = {"repeated string": "Names", "repeated double": "Vector"}
"""Messages for a list in a request where an empty list differs from none."""

Numbers = dict[str, dict[str, int]]


def render_proto(numbers: Numbers) -> str:
    """Return the proto file; add the numbers of new fields to `numbers`."""
    head = PROTO.read_text(encoding="utf-8").partition(GENERATED)[0]
    messages: dict[str, type[BaseModel]] = {}
    for one in OPERATIONS.values():
        _collect(one.request, f"{one.call_name}Request", messages)
        _collect(one.answer, one.answer.__name__, messages)
    calls = "\n\n".join(_render_call(one) for one in OPERATIONS.values())
    bodies = "\n".join(_render_message(name, model, numbers.setdefault(name, {})) for name, model in messages.items())
    return f"{head}{GENERATED}\n\nservice Recollect {{\n{calls}\n}}\n\n{bodies}"


def render_numbers(numbers: Numbers) -> str:
    """Return the numbers as JSON, a line for each message."""
    return "{\n" + ",\n".join(f' "{name}": {json.dumps(fields)}' for name, fields in numbers.items()) + "\n}\n"


def _collect(model: type[BaseModel], name: str, found: dict[str, type[BaseModel]]) -> None:
    """Add the model and those inside it to the messages."""
    if name in found:
        return
    found[name] = model
    for field in model.model_fields.values():
        for inner in _inner_models(field.annotation):
            _collect(inner, _message_name(inner), found)


def _inner_models(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for one in get_args(annotation):
        yield from _inner_models(one)


def _message_name(model: type[BaseModel]) -> str:
    return REQUEST_PARTS.get(model, model.__name__)


def _render_call(one: Operation[Any, Any]) -> str:
    call, answer = one.call_name, one.answer.__name__
    answer = f"recollect.v1.{answer}" if answer == call else answer  # else it would be read as the call
    return f"{_comment(one.about, '  ')}  rpc {call}({call}Request) returns ({answer});"


def _render_message(name: str, model: type[BaseModel], numbers: dict[str, int]) -> str:
    fields = {field.alias or key: field for key, field in model.model_fields.items()}
    for key in fields:
        numbers.setdefault(key, max(numbers.values(), default=0) + 1)
    lines = (_render_field(key, fields[key], number, model) for key, number in numbers.items() if key in fields)
    about = (model.__doc__ or "").partition("\n\n")[0]
    body = "".join(lines)
    return f"{_comment(about, '')}message {name} {{{f'{chr(10)}{body}' if body else ''}}}\n"


def _render_field(name: str, field: FieldInfo, number: int, model: type[BaseModel]) -> str:
    kind, nullable = _strip(field.annotation)
    in_request = issubclass(model, OperationRequest)
    wire = _wire_type(kind)
    if wire in LISTS and in_request and nullable and "minItems" not in json.dumps(_list_schema(model, name)):
        wire = LISTS[wire]
    is_scalar = wire in SCALARS.values()
    label = "optional " if is_scalar and (in_request or nullable) else ""
    return f"{_comment(field.description or '', '  ')}  {label}{wire} {name} = {number};\n"


def _list_schema(model: type[BaseModel], name: str) -> Any:
    return model.model_json_schema()["properties"][name]


def _strip(annotation: Any) -> tuple[Any, bool]:
    """Return the type without what is said beside it, and whether it can be null."""
    if get_origin(annotation) is Annotated:
        return _strip(get_args(annotation)[0])
    if get_origin(annotation) in (Union, UnionType):
        kinds = [one for one in get_args(annotation) if one is not NoneType]
        nullable = len(kinds) < len(get_args(annotation))
        return (_strip(kinds[0])[0] if len(kinds) == 1 else dict | str), nullable
    return annotation, False


def _wire_type(kind: Any) -> str:
    origin, inner = get_origin(kind), get_args(kind)
    if origin in (list, tuple):
        return f"repeated {_wire_type(_strip(inner[0])[0])}"
    if origin is dict:
        value = _strip(inner[1])[0]
        return "google.protobuf.Struct" if value is Any else f"map<string, {_wire_type(value)}>"
    if origin in (Union, UnionType):
        return "google.protobuf.Value"
    if origin is Literal or kind in (datetime, AwareDatetime):
        return "string"
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        return _message_name(kind)
    return next(wire for base, wire in SCALARS.items() if issubclass(kind, base))


def _comment(text: str, indent: str) -> str:
    lines = textwrap.wrap(" ".join(text.split()), COMMENT_COLUMNS - len(indent) - 3)
    return "".join(f"{indent}// {line}\n" for line in lines)


def main() -> None:
    """Write both files."""
    numbers: Numbers = json.loads(NUMBERS.read_text(encoding="utf-8"))
    PROTO.write_text(render_proto(numbers), encoding="utf-8")
    NUMBERS.write_text(render_numbers(numbers), encoding="utf-8")


if __name__ == "__main__":
    main()
