"""The script that writes the proto file: the file is up to date, and new fields get new numbers."""

import json

import proto

from recollect.grpc.v1 import recollect_pb2


def test_the_proto_file_and_its_numbers_are_what_the_script_writes() -> None:
    numbers = json.loads(proto.NUMBERS.read_text(encoding="utf-8"))
    assert proto.PROTO.read_text(encoding="utf-8") == proto.render_proto(numbers), "run scripts/generate"
    assert proto.NUMBERS.read_text(encoding="utf-8") == proto.render_numbers(numbers)


def test_the_compiled_messages_have_the_numbers_of_the_file() -> None:
    messages = recollect_pb2.DESCRIPTOR.message_types_by_name
    compiled = {name: {field.name: field.number for field in one.fields} for name, one in messages.items()}
    assert compiled == json.loads(proto.NUMBERS.read_text(encoding="utf-8")), "run scripts/setup"


def test_a_new_field_gets_the_next_number_and_a_new_message_begins_at_1() -> None:
    numbers = json.loads(proto.NUMBERS.read_text(encoding="utf-8"))
    taken = numbers["Receipt"]
    del taken["memory"]
    last = max(taken.values())
    del numbers["Noted"]
    text = proto.render_proto(numbers)
    assert numbers["Receipt"]["memory"] == last + 1
    assert sorted(numbers["Noted"].values()) == list(range(1, len(numbers["Noted"]) + 1))
    assert f"optional string reason = {taken['reason']};" in text


def test_a_field_that_is_gone_keeps_its_number() -> None:
    numbers = json.loads(proto.NUMBERS.read_text(encoding="utf-8"))
    numbers["Noted"]["gone"] = 99
    text = proto.render_proto(numbers)
    assert numbers["Noted"]["gone"] == 99
    assert " gone = " not in text.partition("message Noted {")[2].partition("}")[0]
