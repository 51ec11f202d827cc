"""The proto file and the table of operations say the same, field by field, and the numbers of fields stay."""

import json
import re
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from pydantic import AwareDatetime, BaseModel

from recollect.api.operation import OperationRequest
from recollect.api.operations import OPERATIONS
from recollect.api.problems import Problem
from recollect.grpc.v1 import recollect_pb2
from recollect.server.grpc.server import METHODS, SERVICE
from tests.tables import table

PROTO = Path(__file__).parents[4] / "proto" / "recollect" / "v1" / "recollect.proto"
NUMBERS = PROTO.with_name("numbers.json")
SCALARS = {
    FieldDescriptor.TYPE_STRING: "text",
    FieldDescriptor.TYPE_BOOL: "truth",
    FieldDescriptor.TYPE_INT64: "count",
    FieldDescriptor.TYPE_DOUBLE: "number",
}
LISTS = {"recollect.v1.Names", "recollect.v1.Vector"}


def bare(annotation: Any) -> Any:
    """The type without what is said beside it, and without that it can be null."""
    if get_origin(annotation) is Annotated:
        return bare(get_args(annotation)[0])
    if get_origin(annotation) in (Union, UnionType):
        rest = [one for one in get_args(annotation) if one is not NoneType]
        return bare(rest[0]) if len(rest) == 1 else Union[tuple(rest)]  # noqa: UP007
    return annotation


def nullable(annotation: Any) -> bool:
    """Whether it can be null."""
    if get_origin(annotation) is Annotated:
        return nullable(get_args(annotation)[0])
    return get_origin(annotation) in (Union, UnionType) and NoneType in get_args(annotation)


def wanted(annotation: Any) -> Any:
    """What a type of a model is on the wire: a word, a list of that, or the fields of a message."""
    kind = bare(annotation)
    match get_origin(kind):
        case origin if origin in (list, tuple):
            return [wanted(get_args(kind)[0])]
        case origin if origin is dict:
            inner = get_args(kind)[1]
            return "object" if inner is Any else {"of each": wanted(inner)}
        case origin if origin is Literal:
            return "text"
        case origin if origin is Union:
            assert {wanted(one) for one in get_args(kind)} == {"text", "object"}
            return "value"
        case _ if issubclass(kind, BaseModel):
            return fields_wanted(kind)
        case _:
            plain = {datetime: "text", AwareDatetime: "text", bool: "truth", int: "count", float: "number"}
            return "text" if issubclass(kind, str) else plain[kind]


def fields_wanted(model: type[BaseModel]) -> dict[str, Any]:
    """The fields of a model, with whether each tells absence from nothing."""
    found = {}
    for name, field in model.model_fields.items():
        kind = wanted(field.annotation)
        single = not isinstance(kind, list) and not (isinstance(kind, dict) and "of each" in kind)
        absent = issubclass(model, OperationRequest) or nullable(field.annotation) or not isinstance(kind, str)
        found[field.alias or name] = (kind, single and (absent or kind in ("object", "value")))
    return found


def there(field: FieldDescriptor) -> Any:
    """What a field is on the wire, in the same words."""
    message = field.message_type
    if message is None:
        kind: Any = SCALARS[field.type]
    elif message.GetOptions().map_entry:
        return {"of each": there(message.fields_by_name["value"])}
    elif message.full_name in LISTS:
        return there(message.fields[0])
    else:
        known = {"google.protobuf.Struct": "object", "google.protobuf.Value": "value"}
        kind = known.get(message.full_name) or fields_there(message)
    return [kind] if field.is_repeated else kind


def fields_there(message: Descriptor) -> dict[str, Any]:
    """The fields of a message, with whether each tells absence from nothing."""
    listed = {field.name for field in message.fields if field.message_type and field.message_type.full_name in LISTS}
    return {field.name: (there(field), field.has_presence and field.name not in listed) for field in message.fields}


def every_message() -> Iterator[Descriptor]:
    """Every message of the file."""
    yield from recollect_pb2.DESCRIPTOR.message_types_by_name.values()


def test_every_operation_has_a_call_and_every_call_is_an_operation_with_its_policy() -> None:
    assert [method.name for method in SERVICE.methods] == [one.call_name for one in OPERATIONS.values()]
    assert {f"/{SERVICE.full_name}/{method.name}" for method in SERVICE.methods} == METHODS.keys()
    assert all(method.operation is OPERATIONS[method.operation.name] for method in METHODS.values())


@table("name", OPERATIONS)
def test_a_call_is_described_in_the_words_of_its_operation(name: str) -> None:
    found = re.search(rf"((?:  // [^\n]*\n)+)  rpc {OPERATIONS[name].call_name}\(", PROTO.read_text(encoding="utf-8"))
    assert found is not None
    assert " ".join(line.removeprefix("  // ") for line in found[1].splitlines()) == OPERATIONS[name].about


def test_the_five_calls_of_seed_004_have_its_names() -> None:
    wanted_by_it = {"StartEpisode", "RecordAction", "CompleteEpisode", "GetSimilarEpisodes", "PruneVectorIndex"}
    assert wanted_by_it <= {method.name for method in SERVICE.methods}


@table("name", OPERATIONS)
def test_a_call_takes_and_gives_every_field_of_its_operation_and_no_other(name: str) -> None:
    method = SERVICE.methods_by_name[OPERATIONS[name].call_name]
    assert fields_there(method.input_type) == fields_wanted(OPERATIONS[name].request)
    assert fields_there(method.output_type) == fields_wanted(OPERATIONS[name].answer)


def test_a_request_is_of_its_call_alone_so_that_it_can_grow() -> None:
    assert [method.input_type.name for method in SERVICE.methods] == [
        f"{one.call_name}Request" for one in OPERATIONS.values()
    ]
    assert all(not method.client_streaming and not method.server_streaming for method in SERVICE.methods)


def test_a_problem_has_the_fields_that_every_face_tells() -> None:
    assert set(recollect_pb2.Problem.DESCRIPTOR.fields_by_name) == set(Problem.__dataclass_fields__)


def test_the_number_of_a_field_never_changes() -> None:
    numbers = {one.name: {field.name: field.number for field in one.fields} for one in every_message()}
    known = json.loads(NUMBERS.read_text(encoding="utf-8"))
    changed = [
        f"{message}.{name}"
        for message, fields in known.items()
        for name, number in fields.items()
        if numbers.get(message, {}).get(name) != number
    ]
    assert changed == []
    assert numbers == known, "run scripts/generate"


def test_a_message_that_repeats_another_has_its_numbers() -> None:
    repeated = {
        "Found": "Memory",
        "Shown": "Memory",
        "Extract": "Receipt",
        "Replay": "Context",
        "WholeEpisode": "Episode",
    }
    repeated |= {"CompletedEpisode": "WholeEpisode", "SimilarEpisode": "Episode", "RememberRequest": "Draft"}
    numbers = {one.name: {field.name: field.number for field in one.fields} for one in every_message()}
    assert [
        longer for longer, shorter in repeated.items() if not numbers[shorter].items() <= numbers[longer].items()
    ] == []
