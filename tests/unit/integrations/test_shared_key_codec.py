"""Names of others come back as they were, none becomes another's, and values are carried whole."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import recollect
from recollect.integrations.shared import child_scope, decode_value, encode_value, labels_of, name_of, to_topic_key
from recollect.model.scope import Scope
from recollect.model.validation import require_id
from recollect.testing.builders import a_memory
from tests.tables import table

ROOT = Scope.parse("acme/graph")
NAMES = st.text(st.characters() | st.sampled_from("~%. /\u0301\ud800\x00é"), max_size=9)
JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | NAMES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=8,
)


@given(labels=st.lists(NAMES, max_size=3))
def test_labels_come_back_from_the_scope_that_they_name(labels: list[str]) -> None:
    assert labels_of(child_scope(ROOT, *labels), ROOT) == tuple(labels)


@given(name=NAMES)
def test_a_name_comes_back_from_its_key_which_any_memory_can_have(name: str) -> None:
    key = require_id("topic_key", to_topic_key("files:", name))
    assert (name_of("files:", key), name_of("others:", key), name_of("files:", None)) == (name, None, None)


@given(value=JSON, said=NAMES)
def test_a_value_comes_back_from_the_memory_that_carries_it(value: Any, said: str) -> None:
    found = encode_value("mark", value, lambda _: said, note=1)
    assert decode_value("mark", a_memory("one", text=found.text, metadata=found.metadata)) == value


@table(
    ("label", "part"),
    [("ana", "ana"), ("ü x", "ü~20x"), ("", "~"), ("~", "~7E"), ("..", "~2E~2E"), ("e\u0301", "e~CC~81")],
)
def test_what_no_scope_can_spell_is_escaped_byte_by_byte(label: str, part: str) -> None:
    assert child_scope(ROOT, label).parts[-1] == part


@table("label", [None, 7, b"bytes"])
def test_a_label_that_is_no_text_is_refused(label: Any) -> None:
    with pytest.raises(recollect.errors.ScopeError, match="not a text"):
        child_scope(ROOT, label)


def test_a_memory_whose_text_carried_a_value_and_was_revised_says_so() -> None:
    with pytest.raises(recollect.Conflict, match="revised"):
        decode_value("mark", a_memory("one", text="no JSON", metadata={"mark": {}}))
