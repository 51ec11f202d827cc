"""What goes through a message comes out as it went in, and what cannot is refused by its name."""

import math
from datetime import datetime
from typing import Any

import pytest
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import Message
from google.protobuf.struct_pb2 import Value
from hypothesis import given as for_all
from hypothesis import settings
from hypothesis import strategies as st

from recollect.errors import FieldError, InvalidInput
from recollect.grpc.v1 import recollect_pb2
from recollect.server.grpc.converters import MAX_SAFE_INTEGER, from_message, parse_message, to_message
from recollect.server.grpc.server import METHODS, RpcMethod
from tests.tables import table

TEXTS = st.text(st.characters(codec="utf-8"), max_size=20)
NUMBERS = st.floats(allow_nan=False, allow_infinity=False)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-MAX_SAFE_INTEGER, MAX_SAFE_INTEGER) | NUMBERS | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)
OBJECTS = st.dictionaries(TEXTS, JSON, max_size=3)
SCALARS: dict[int, st.SearchStrategy[Any]] = {
    FieldDescriptor.TYPE_STRING: TEXTS,
    FieldDescriptor.TYPE_BOOL: st.booleans(),
    FieldDescriptor.TYPE_INT64: st.integers(-(2**63), 2**63 - 1),
    FieldDescriptor.TYPE_DOUBLE: NUMBERS,
}


def values(field: FieldDescriptor) -> st.SearchStrategy[Any]:
    """What a field of a request may say, in the one JSON shape."""
    message = field.message_type
    if message is None:
        one: st.SearchStrategy[Any] = SCALARS[field.type]
    elif message.full_name == "google.protobuf.Struct":
        one = OBJECTS
    elif message.full_name == "google.protobuf.Value":
        one = TEXTS | OBJECTS
    elif message.name in ("Names", "Vector"):
        return st.lists(SCALARS[message.fields[0].type], max_size=3)
    else:
        one = said(message)
    return st.lists(one, min_size=1, max_size=3) if field.is_repeated else one


def said(message: Descriptor) -> st.SearchStrategy[dict[str, Any]]:
    """What a request may say, in the one JSON shape."""
    return st.fixed_dictionaries({}, optional={field.name: values(field) for field in message.fields})


def sent(kind: type[Message], shape: dict[str, Any]) -> Message:
    """The message that a client makes of it."""
    made: Message = kind(**{name: worded(kind.DESCRIPTOR.fields_by_name[name], one) for name, one in shape.items()})
    return made


def framed(number: int, body: bytes) -> bytes:
    """The bytes of a message that has only that field, with a message in it."""
    length, size = bytearray(), len(body)
    while size >= 0x80:
        length.append(size & 0x7F | 0x80)
        size >>= 7
    return bytes((number << 3 | 2, *length, size)) + body


def worded(field: FieldDescriptor, value: Any) -> Any:
    """One value as the constructor of a message takes it."""
    message = field.message_type
    if message is None or message.full_name == "google.protobuf.Struct":
        return value
    if message.full_name == "google.protobuf.Value":
        return Value(string_value=value) if isinstance(value, str) else Value(struct_value=value)
    if message.name in ("Names", "Vector"):
        return {"items": value}
    kind = getattr(recollect_pb2, message.name)
    return [sent(kind, one) for one in value]


@table("method", METHODS.values(), ids=lambda method: method.operation.name)
def test_a_request_says_what_was_sent_and_nothing_else(method: RpcMethod) -> None:
    @settings(max_examples=8)
    @for_all(said(method.request.DESCRIPTOR))
    def check(shape: dict[str, Any]) -> None:
        assert from_message(parse_message(method.request, sent(method.request, shape).SerializeToString())) == shape

    check()


@table("method", METHODS.values(), ids=lambda method: method.operation.name)
def test_a_request_that_says_nothing_gives_nothing(method: RpcMethod) -> None:
    assert from_message(method.request()) == {}


def test_what_is_empty_zero_or_false_is_given_all_the_same() -> None:
    request = recollect_pb2.CompleteEpisodeRequest(scope="", outcome=0.0)
    assert from_message(request) == {"scope": "", "outcome": 0.0}
    assert from_message(recollect_pb2.EraseRequest(dry_run=False)) == {"dry_run": False}
    assert from_message(recollect_pb2.ReviseRequest(tags={"items": []})) == {"tags": []}
    assert from_message(recollect_pb2.RememberRequest(vector={"items": []}, metadata={})) == {
        "vector": [],
        "metadata": {},
    }


@table("number", [math.nan, math.inf, -math.inf])
@table(
    ("request_of", "field"),
    [
        (lambda n: recollect_pb2.RememberRequest(importance=n), "importance"),
        (lambda n: recollect_pb2.RememberRequest(vector={"items": [0.0, n]}), "vector.1"),
        (lambda n: recollect_pb2.RememberRequest(metadata={"a": [{"b": n}]}), "metadata.a.0.b"),
        (lambda n: recollect_pb2.RememberAllRequest(drafts=[{}, {"confidence": n}]), "drafts.1.confidence"),
        (lambda n: recollect_pb2.RecordActionRequest(input=Value(number_value=n)), "input"),
    ],
)
def test_a_number_that_is_none_is_refused_by_the_name_of_its_field(request_of: Any, field: str, number: float) -> None:
    with pytest.raises(FieldError, match="finite") as refused:
        from_message(request_of(number))
    assert refused.value.field == field


def test_a_field_that_is_not_known_is_refused_by_its_number() -> None:
    later = recollect_pb2.Found(id="a", score=1.0)  # whose score has a number that the request does not have
    with pytest.raises(FieldError, match="has no field 101") as refused:
        from_message(parse_message(recollect_pb2.ForgetRequest, later.SerializeToString()))
    assert refused.value.field == "101"
    with_scope = recollect_pb2.RememberRequest(scope="a").SerializeToString()  # which a draft does not have
    with pytest.raises(FieldError, match="has no field 1;") as refused:
        from_message(parse_message(recollect_pb2.RememberAllRequest, framed(2, with_scope)))
    assert refused.value.field == "drafts.0.1"


def test_a_value_without_a_kind_is_refused() -> None:
    with pytest.raises(FieldError, match="not even null") as refused:
        from_message(recollect_pb2.RecordActionRequest(input=Value()))
    assert refused.value.field == "input"


@table("body", [b"\xff", b"\x0a\x02\xff\xfe", b"\x0a\xff\xff\xff\xff\x0f"])
def test_bytes_that_are_no_message_are_refused(body: bytes) -> None:
    with pytest.raises(InvalidInput, match=r"not a recollect\.v1\.ForgetRequest"):
        parse_message(recollect_pb2.ForgetRequest, body)


def test_a_message_that_is_nested_too_deep_is_refused() -> None:
    value = Value(number_value=1.0).SerializeToString()
    for _ in range(10_000):
        value = framed(Value.LIST_VALUE_FIELD_NUMBER, framed(1, value))
    with pytest.raises(InvalidInput, match="MaxDepth"):
        parse_message(
            recollect_pb2.RecordActionRequest, framed(recollect_pb2.RecordActionRequest.INPUT_FIELD_NUMBER, value)
        )


@table("number", [MAX_SAFE_INTEGER + 1, -(10**18) - 1, 10**400])
def test_a_whole_number_that_a_double_cannot_tell_comes_as_digits(number: int) -> None:
    answer = to_message(recollect_pb2.Receipt, {"memory": {"metadata": {"a": [number], "b": {"c": number}}}})
    assert answer.memory.metadata["a"][0] == str(number)
    assert answer.memory.metadata["b"]["c"] == str(number)


@for_all(OBJECTS)
def test_an_object_of_an_answer_comes_as_it_is(value: dict[str, Any]) -> None:
    sent_back = to_message(recollect_pb2.Context, {"packed": [{"metadata": value}]}).packed[0].metadata
    assert from_message(recollect_pb2.RememberRequest(metadata=sent_back)) == {"metadata": value}


def test_numbers_and_moments_of_an_answer_keep_every_digit() -> None:
    at = datetime.fromisoformat("9999-12-31T23:59:59.999999+00:00").isoformat()
    answer = to_message(
        recollect_pb2.Found, {"score": 0.1 + 0.2, "created_at": at, "commit": 2**62 + 1, "importance": None}
    )
    assert (answer.score, answer.created_at, answer.commit) == (0.1 + 0.2, at, 2**62 + 1)
    assert not answer.HasField("importance")
