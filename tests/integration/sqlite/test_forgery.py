"""Whoever changes an export on purpose, and its sum with it, gets a refusal in words, or a store that is whole."""

import json
import tempfile
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import recollect
from recollect.factory import verify
from tests.integration.sqlite.engines import SCOPE, an_engine
from tests.integration.sqlite.test_archive import a_later_engine, a_life, sealed

Where = tuple[str | int, ...]

VALUES: list[Any] = [
    *(None, True, False, 0, -1, 1, 2, 1.5, float("nan"), float("inf"), 2**48 + 1, 2**53, 2**63, 10**30),
    *("", "\ud800", "\0", "x", "y" * 300, "\x1b[2J\u202e", [], [[]], {}, {"a": 1}),
    *("2199-12-31T23:59:59+00:00", "1900-01-01T00:00:00+00:00", "9999-12-31T00:00:00+00:00", "2026-01-01"),
    *("acme", "acme/ana/x", "victim", "..", "active", "forgotten", "superseded", "served", "helped", "Created"),
]
"""What somebody might put in the place of something."""


@pytest.fixture(scope="module")
def told() -> list[Any]:
    """The lines of an export but for the last one, as values."""
    with an_engine(":memory:") as engine:
        ids = a_life(engine)
        engine.remember("Ana sits at the aisle", scope=SCOPE, topic_key="seat", derived_from=[ids["seat"]])
        engine.revise(ids["seat"], "Ana sat at the window", scope=SCOPE, title="Her seat")
        return [json.loads(line) for line in list(engine.export())[:-1]]


def places(value: Any, place: Where = ()) -> Iterator[Where]:
    """Where in a value there is something."""
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
        yield (*place, key)
        if isinstance(inner, dict | list):
            yield from places(inner, (*place, key))


@pytest.mark.parametrize("kind", ["format", "memory", "context"])
@given(data=st.data())
def test_a_forged_export_is_refused_or_makes_a_store_that_is_whole(
    told: list[Any], kind: str, data: st.DataObject
) -> None:
    forged = deepcopy(told)
    for _ in range(data.draw(st.integers(1, 2), label="changes")):
        line = data.draw(st.sampled_from([one for one in forged if kind in one] or forged), label="line")
        if line:
            _change(line, data)
    lines = sealed([json.dumps(value) + "\n" for value in forged])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.db"
        with a_later_engine(path) as engine:
            try:
                engine.import_(lines)
            except recollect.RecollectError:
                assert (engine.stats().memories, engine.stats().encoder) == (0, None)
                return
            exported = list(engine.export())
            assert engine.remember("something new", scope=SCOPE).id
            engine.recall("seat", scope=SCOPE)
        assert verify(path).problems == ()
        with a_later_engine() as engine:
            engine.import_(exported)
            assert list(engine.export()) == exported


def _change(line: Any, data: st.DataObject) -> None:
    """Put something in the place of something, or take it away, or put it there twice."""
    alike: dict[Where, list[Where]] = {}
    for place in places(line):
        alike.setdefault((*(key for key in place[:-1] if isinstance(key, str)), place[-1]), []).append(place)
    *path, last = data.draw(st.sampled_from(alike[data.draw(st.sampled_from(list(alike)))]), label="place")
    inside: Any = line
    for key in path:
        inside = inside[key]
    match data.draw(st.sampled_from(["replace", "replace", "replace", "remove", "repeat"]), label="change"):
        case "replace":
            inside[last] = deepcopy(data.draw(st.sampled_from(VALUES), label="value"))
        case "remove":
            del inside[last]
        case _:
            copied = deepcopy(inside[last])
            if isinstance(inside, list):
                inside.append(copied)
            else:
                inside[f"{last}2"] = copied
