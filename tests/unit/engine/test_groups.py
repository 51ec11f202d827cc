"""Former members of an engine: each still works, and its warning names the new one."""

from collections.abc import Iterator
from operator import attrgetter

import pytest

import recollect
from recollect.engine.engine import _MOVED
from tests.tables import table


@pytest.fixture
def engine() -> Iterator[recollect.Engine]:
    with recollect.open(":memory:", embedder="hashing-16") as opened:
        yield opened


def function_of(member: object) -> object:
    """The function of a bound method, since each group is made anew; other members as they are."""
    return getattr(member, "__func__", member)


@table(("old", "new"), list(_MOVED.items()))
def test_a_former_member_is_the_new_one_and_warns(old: str, new: str, engine: recollect.Engine) -> None:
    with pytest.warns(DeprecationWarning, match=rf"^Engine\.{old} has moved; use Engine\.{new}$"):
        assert function_of(attrgetter(old)(engine)) == function_of(attrgetter(new)(engine))


def test_topics_can_still_be_called(engine: recollect.Engine) -> None:
    with pytest.warns(DeprecationWarning, match=r"use Engine\.topics\.list\(\)"):
        assert engine.topics(scope="acme/ana") == []


def test_extract_soon_is_extract_in_the_background(engine: recollect.Engine) -> None:
    with pytest.warns(DeprecationWarning, match=r"use Engine\.extract\(…, background=True\)"):
        pending = attrgetter("extract_soon")(engine)(["I prefer a seat by the window"], scope="acme/ana")
    assert len(pending.result(timeout=60).receipts) == 1


def test_an_unknown_member_is_an_attribute_error(engine: recollect.Engine) -> None:
    with pytest.raises(AttributeError, match="'Engine' object has no attribute 'recal'"):
        attrgetter("recal")(engine)
