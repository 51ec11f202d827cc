"""What goes with a memory that is erased: all that was derived from it, however far."""

from hypothesis import given
from hypothesis import strategies as st

from recollect.engine.erase import find_descendants
from recollect.model.archive import Lineage
from recollect.model.memory import MemoryId

names = st.sampled_from("abcdefgh").map(MemoryId)
lineages = st.lists(st.builds(Lineage, names, st.none(), st.lists(names, max_size=3).map(tuple)), max_size=12)


def comes_from(id: str, *origins: str) -> Lineage:
    return Lineage(MemoryId(id), None, origins)


def test_what_was_derived_goes_and_what_was_derived_from_that() -> None:
    lineage = [comes_from("b", "a"), comes_from("c", "b", "x"), comes_from("d", "y"), comes_from("e", "d")]
    assert find_descendants(lineage, ["a"]) == ["a", "b", "c"]


def test_the_origin_itself_stays_when_what_was_derived_from_it_goes() -> None:
    assert find_descendants([comes_from("b", "a")], ["b"]) == ["b"]


def test_two_that_name_each_other_go_together() -> None:
    assert find_descendants([comes_from("a", "b"), comes_from("b", "a")], ["a"]) == ["a", "b"]


@given(lineages, st.lists(names, max_size=3))
def test_the_descent_is_closed_and_nothing_is_in_it_without_a_reason(
    lineage: list[Lineage], origins: list[MemoryId]
) -> None:
    found = find_descendants(lineage, origins)
    assert len(found) == len(set(found))
    children = {one.id for one in lineage if set(one.derived_from) & set(found)}
    assert set(found) == set(origins) | children
