"""Scope: a path compared by whole parts."""

import unicodedata
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.errors import FieldError, ScopeError
from recollect.model import validation
from recollect.model.scope import ALLOWED_MARKS, MAX_PART_CHARS, MAX_PARTS, Scope, as_scope
from tests.tables import table

PARTS = st.text(st.sampled_from("abzé9-_.@:+=~#"), min_size=1, max_size=8).filter(lambda part: part.strip("."))
SCOPES = st.lists(PARTS, min_size=1, max_size=5).map(lambda parts: Scope.parse("/".join(parts)))


@given(SCOPES)
def test_a_scope_is_what_its_path_says(scope: Scope) -> None:
    assert Scope.parse(str(scope)) == scope
    assert as_scope(scope) is scope
    assert as_scope(str(scope)) == scope


@given(SCOPES, SCOPES)
def test_one_scope_is_within_another_if_it_begins_with_its_parts(one: Scope, other: Scope) -> None:
    assert one.within(other) == (one == other or other in one.ancestors)
    assert Scope((*other.parts, *one.parts)).within(other)


def test_a_longer_name_is_another_scope() -> None:
    assert not Scope.parse("acme-labs").within(Scope.parse("acme"))
    assert Scope.parse("acme/labs").within(Scope.parse("acme"))


def test_ancestors_begin_at_the_root_and_end_above_the_scope() -> None:
    assert [str(one) for one in Scope.parse("acme/team-2/agent-7").ancestors] == ["acme", "acme/team-2"]


def test_case_matters_and_composition_does_not() -> None:
    assert Scope.parse("Acme") != Scope.parse("acme")
    assert Scope.parse("caf\u0065\u0301") == Scope.parse("caf\u00e9")


@table("mark", sorted(ALLOWED_MARKS))
def test_every_mark_of_the_alphabet_is_allowed(mark: str) -> None:
    assert str(Scope.parse(f"a{mark}b")) == f"a{mark}b"


@table(
    ("text", "problem"),
    [
        ("", "the scope is empty"),
        ("/acme", "1 to 128 characters"),
        ("acme//ana", "1 to 128 characters; write the scope without empty parts, as in acme/agent-7"),
        ("acme/", "1 to 128 characters"),
        ("a b", "has ' '"),
        ("a\tb", r"has '\\t'"),
        ("a*", "has '\\*'"),
        ("a%", "has '%'"),
        ("a\u200bb", "has"),
        ("..", "has only dots"),
        ("a/./b", "has only dots"),
        ("a" * (MAX_PART_CHARS + 1), "1 to 128 characters; shorten it"),
        ("/".join("a" * (MAX_PARTS + 1)), "1 to 16 parts"),
        ("a" * 100_000, "100000 characters"),
        ("\ud800", "has"),
        ("acme\ufe0f", r"has an invisible character \(U\+FE0F\); remove it"),
        ("acme/\u3164", r"has an invisible character \(U\+3164"),
    ],
)
def test_a_scope_that_names_nothing_is_refused(text: str, problem: str) -> None:
    with pytest.raises(ScopeError, match=problem):
        Scope.parse(text)


IGNORABLE = [
    *(
        "00AD",
        "034F",
        "061C",
        "115F..1160",
        "17B4..17B5",
        "180B..180F",
        "200B..200F",
        "202A..202E",
        "2060..206F",
        "3164",
    ),
    *("FE00..FE0F", "FEFF", "FFA0", "FFF0..FFF8", "1BCA0..1BCA3", "1D173..1D17A", "E0000..E0FFF"),
]
"""Unicode 17, DerivedCoreProperties.txt: Default_Ignorable_Code_Point."""

BLANK = ["2800", "16FE4", "1D159"]
"""Characters that have a shape, and it is a blank."""


@table("code", [*IGNORABLE, *BLANK])
def test_what_nobody_can_see_tells_no_two_scopes_or_ids_apart(code: str) -> None:
    first, _, last = code.partition("..")
    for point in range(int(first, 16), int(last or first, 16) + 1):
        with pytest.raises(ScopeError):
            Scope.parse(f"acme{chr(point)}")
        with pytest.raises(FieldError, match="control, invisible or broken"):
            validation.require_id("id", f"a{chr(point)}b")


@table("name", ["señor", "ümit", "नमस्ते", "ราชา", "안녕", "日本", "Ελλάδα", "שָׁלוֹם", "أَحْمَد"])
def test_marks_that_belong_to_a_script_are_seen(name: str) -> None:
    assert str(Scope.parse(name)) == unicodedata.normalize("NFC", name)
    assert validation.require_id("id", name) == name


@table("parts", ["acme", ["acme"], 7, None, ("acme", 7)])
def test_a_scope_is_made_of_texts(parts: Any) -> None:
    with pytest.raises(ScopeError, match=r"is not (a tuple|text)"):
        Scope(parts)


@table("value", [None, 7, ["acme"], b"acme"])
def test_what_is_no_text_is_no_scope(value: object) -> None:
    with pytest.raises(ScopeError, match="is not a scope"):
        as_scope(value)  # type: ignore[arg-type]


def test_a_part_that_is_not_composed_is_refused_where_nobody_composes_it() -> None:
    with pytest.raises(ScopeError, match="NFC"):
        Scope(("cafe\u0301",))
