"""What a caller may do: each right in each reach, and nothing is learned of what is not one's own."""

from itertools import product

import pytest

import recollect
from recollect.api.auth import WHOLE_STORE, Caller, Grant, Reach, Right, create_owner, parse_reach, parse_right
from recollect.api.dispatcher import OperationRunner
from recollect.errors import AccessDenied, FieldError, NotFound
from recollect.model.enums import Provenance
from recollect.model.scope import Scope
from tests.tables import table

REACHES: dict[str, Reach] = {
    "own": Scope.parse("acme/ana"),
    "below": Scope.parse("acme/ana/notes"),
    "sibling": Scope.parse("acme/bo"),
    "ancestor": Scope.parse("acme"),
    "longer name": Scope.parse("acme/ana-labs"),
    "whole store": WHOLE_STORE,
}
WITHIN = {"own", "below"}


def a_caller(*rights: Right, reach: str = "acme/ana") -> Caller:
    return Caller(name="key", grants=(Grant(frozenset(rights), parse_reach(reach)),))


@table(("held", "wanted"), list(product(Right, Right)))
@table("where", REACHES)
def test_a_right_is_good_for_itself_alone_and_within_its_scope(held: Right, wanted: Right, where: str) -> None:
    caller = a_caller(held)
    if held is wanted and where in WITHIN:
        caller.require_right(wanted, REACHES[where])
        return
    refusal = AccessDenied if where in WITHIN or where == "whole store" else NotFound
    with pytest.raises(refusal):
        caller.require_right(wanted, REACHES[where])


@table("where", REACHES)
def test_a_key_for_the_whole_store_reaches_everywhere(where: str) -> None:
    a_caller(Right.READ, reach=WHOLE_STORE).require_right(Right.READ, REACHES[where])


def test_rights_of_one_scope_are_not_those_of_another() -> None:
    ana, bo = (
        Grant(frozenset({Right.READ}), parse_reach("acme/ana")),
        Grant(frozenset({Right.WRITE}), parse_reach("acme/bo")),
    )
    caller = Caller(name="both", grants=(ana, bo))
    with pytest.raises(AccessDenied):
        caller.require_right(Right.WRITE, Scope.parse("acme/ana"))
    assert caller.scope is None


def test_what_is_of_no_scope_needs_the_right_somewhere() -> None:
    a_caller(Right.READ).require_right_anywhere(Right.READ)
    with pytest.raises(AccessDenied, match="lacks the right 'admin'; "):
        a_caller(Right.READ).require_right_anywhere(Right.ADMIN)


def test_the_scope_of_a_key_goes_without_saying() -> None:
    assert a_caller(Right.READ).scope == Scope.parse("acme/ana")
    assert create_owner().scope is None


@table("said", Provenance)
def test_nobody_is_believed_more_than_the_key(said: Provenance) -> None:
    tool = Caller(name="tool", grants=create_owner().grants, provenance=Provenance.TOOL_EXTERNAL)
    assert tool.cap_provenance(said) is Provenance.TOOL_EXTERNAL
    assert create_owner().cap_provenance(said) is said


def test_a_grant_of_nothing_and_a_right_that_is_none_are_refused() -> None:
    with pytest.raises(FieldError, match="needs at least one right"):
        Grant(frozenset(), WHOLE_STORE)
    with pytest.raises(FieldError, match="known are read, write, admin, erase"):
        parse_right("own")


def refusal(service: OperationRunner, caller: Caller, name: str, **given: object) -> str:
    with pytest.raises(NotFound) as raised:
        service.run(name, given, caller)
    return str(raised.value)


def test_what_is_not_yours_is_answered_like_what_is_not_there() -> None:
    with recollect.open(":memory:", embedder="hashing") as engine:
        service, ana = OperationRunner(engine), a_caller(Right.READ, Right.WRITE)
        told = engine.remember("Bo likes tea", scope="acme/bo")
        context = engine.recall("tea?", scope="acme/bo").id
        for name, given in (("recall", {"query": "tea?"}), ("list_memories", {}), ("stats", {})):
            there = refusal(service, ana, name, scope="acme/bo", **given)
            assert there == refusal(service, ana, name, scope="acme/xy", **given).replace("acme/xy", "acme/bo")
        for name in ("get_memory", "get_history", "forget", "pin"):
            there = refusal(service, ana, name, scope="acme/ana", id=told.id)
            assert there.replace(str(told.id), "x") == refusal(service, ana, name, scope="acme/ana", id="x")
        for name in ("replay", "feedback"):
            there = refusal(service, ana, name, scope="acme/ana", context_id=context)
            assert there.replace(str(context), "x") == refusal(service, ana, name, scope="acme/ana", context_id="x")


def test_who_has_no_key_is_told_why_a_right_is_missing() -> None:
    ana: Reach = Scope.parse("acme/ana")
    reads = Caller(
        name="agent", grants=(Grant(frozenset({Right.READ}), WHOLE_STORE),), missing_right_hint="it was started so"
    )
    told = r"lacks the right 'write'.*; it was started so$"
    for reach in (ana, WHOLE_STORE):
        with pytest.raises(AccessDenied, match=told):
            reads.require_right(Right.WRITE, reach)
    with pytest.raises(AccessDenied, match=told):
        reads.require_right_anywhere(Right.WRITE)
