"""A key for one scope is refused the same on every face, and what is another's is told like what is not there."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import grpc
import httpx
import pytest

from recollect.api.auth import Right
from recollect.api.operations import OPERATIONS
from recollect.api.problems import ProblemCode
from recollect.server.grpc.server import SERVICE
from tests.contract.clients import ERAS, PATIENCE, Face, Grpc, Http, Refusal, over_http, over_stdio
from tests.contract.served import Served, serving
from tests.contract.story import NOBODY
from tests.tables import check_each
from tests.unit.api.least import least

OWN, THEIRS, NOWHERE = "acme/ana", "acme/bob", "acme/xyz"
"""The scope of the key, one that there is, and one that there is not; as long as each other."""

NAME = "agent"
"""Who asks: what a process that speaks over standard input is called, and the keys of the others."""


def _over_http(mode: str, served: Served, key: str) -> Face:
    return over_http(served, mode, key)


SERVED: Mapping[str, Callable[[Served, str], Face]] = {
    "http": Http,
    "grpc": Grpc,
    **{f"mcp, {era}": partial(_over_http, mode) for era, mode in ERAS.items()},
}
STDIO = {f"mcp over stdio, {era}": mode for era, mode in ERAS.items()}
FACES = [*SERVED, *STDIO]


@dataclass(frozen=True)
class Place:
    """A server of a store in which two have memories, and what there is of the other one by what it is called."""

    store: Path
    served: Served
    owner: Face
    theirs: Mapping[str, Any]
    own: Mapping[str, Any]
    open: ExitStack

    def face(self, name: str, *rights: Right) -> Face:
        """A face for who may do that, and nothing else, in one scope."""
        if name in STDIO:
            limited = ["--read-only"] if rights == (Right.READ,) else []
            made: Face = over_stdio(STDIO[name], self.store, "--scope", OWN, *limited)
        else:
            made = SERVED[name](self.served, self.served.key(NAME, rights, OWN))
        return self.open.enter_context(closing(made))


def there(owner: Face, scope: str) -> dict[str, Any]:
    """Something of everything in a scope."""

    def asked(operation: str, **given: Any) -> Any:
        whose = OPERATIONS[operation].request.scope_field or "scope"
        answer = owner.ask(operation, {whose: scope, **given})
        assert not isinstance(answer, Refusal), answer
        return answer

    memory = asked("remember", text="The budget is nine million")
    return {
        "memory": memory["id"],
        "run": memory["memory"]["commit"],
        "context": asked("recall", query="what is the budget?")["id"],
        "episode": asked("start_episode", task="Spend the budget")["id"],
        "observation": asked("mem_save", content="Money is short", type="fact", title="Money")["id"],
    }


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    folder = tmp_path_factory.mktemp("keys")
    store = folder / "store.db"
    with serving(store, folder) as served, ExitStack() as open:
        owner = open.enter_context(closing(Http(served, served.key("owner", Right))))
        yield Place(store, served, owner, there(owner, THEIRS), there(owner, OWN), open)


@pytest.fixture(scope="module")
def everything(place: Place) -> Callable[[str], Face]:
    """A face by its name, for who may do everything in one scope."""
    return cache(lambda name: place.face(name, *Right))


def refused(face: Face, operation: str, given: Mapping[str, Any]) -> Refusal:
    answer = face.ask(operation, given)
    assert isinstance(answer, Refusal), (face.name, operation, given, answer)
    return answer


def told_alike(one: Refusal, other: Refusal, words: Mapping[str, str]) -> bool:
    """Whether two refusals are the same to the last byte, but for the words that were asked with."""
    (status, sent), (other_status, other_sent) = one.sent, other.sent
    for word, instead in words.items():
        sent = sent.replace(word.encode(), instead.encode())
    return (status, sent) == (other_status, other_sent)


SCOPED = [name for name, one in OPERATIONS.items() if one.request.scope_field is not None]


@pytest.mark.parametrize("name", FACES)
def test_no_operation_tells_whether_there_is_another_scope(name: str, everything: Callable[[str], Face]) -> None:
    face = everything(name)
    for operation in SCOPED:
        whose = OPERATIONS[operation].request.scope_field
        one, other = (refused(face, operation, {**least(operation), whose: scope}) for scope in (THEIRS, NOWHERE))
        assert one.code is ProblemCode.NOT_FOUND
        assert one.message == f"there is no scope '{THEIRS}', or '{NAME}' may not use it", operation
        assert told_alike(one, other, {THEIRS: NOWHERE}), operation


def of_another(named: Mapping[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """Every way to ask in one's own scope for what has an id."""
    id, context, episode, observation = (named[one] for one in ("memory", "context", "episode", "observation"))
    return [
        *((one, {"id": id}) for one in ("get_memory", "get_history", "forget", "restore", "pin", "unpin", "erase")),
        ("erase", {"id": id, "dry_run": False}),
        ("revise", {"id": id, "text": "The budget is one"}),
        ("why", {"id": id, "query": "budget"}),
        ("expand", {"id": id}),
        ("replay", {"context_id": context}),
        ("feedback", {"context_id": context, "helped": [id]}),
        ("get_episode", {"id": episode}),
        ("record_action", {"id": episode, "type": "spend"}),
        ("complete_episode", {"id": episode, "outcome": 1.0}),
        ("mem_get_observation", {"observation_id": observation}),
        ("mem_timeline", {"observation_id": observation}),
    ]


@pytest.mark.parametrize("name", FACES)
def test_what_is_anothers_is_told_like_what_is_not_there(
    name: str, place: Place, everything: Callable[[str], Face]
) -> None:
    face, theirs = everything(name), place.theirs
    nobodys = dict.fromkeys(theirs, NOBODY)
    ids = {str(id): NOBODY for id in theirs.values() if isinstance(id, str)}
    for (operation, given), (_, nothing) in zip(of_another(theirs), of_another(nobodys), strict=True):
        one, other = refused(face, operation, given), refused(face, operation, nothing)
        assert one.code is ProblemCode.NOT_FOUND, (operation, one)
        assert told_alike(one, other, ids), (operation, one, other)
    own = {"context_id": place.own["context"]}
    one, other = (refused(face, "feedback", {**own, "helped": [id]}) for id in (theirs["memory"], NOBODY))
    assert told_alike(one, other, ids)
    assert refused(face, "undo", {"run": theirs["run"]}).code is ProblemCode.NOT_FOUND


@pytest.mark.parametrize("name", FACES)
def test_who_may_only_read_is_refused_all_else_in_the_same_words_but_for_why(name: str, place: Place) -> None:
    face = place.face(name, Right.READ)
    why = "recollect mcp was started with --read-only" if name in STDIO else "use a key that has it"
    for operation, one in OPERATIONS.items():
        scope_field = one.request.scope_field
        given = least(operation) if scope_field is None else {**least(operation), scope_field: OWN}
        answer = face.ask(operation, given)
        if one.right is Right.READ:
            assert not isinstance(answer, Refusal) or answer.code is ProblemCode.NOT_FOUND, (operation, answer)
            continue
        told = f"'{NAME}' lacks the right '{one.right.value}' in '{OWN}'; {why}"
        assert answer == Refusal(ProblemCode.FORBIDDEN, told), operation


@pytest.mark.parametrize("name", FACES)
def test_what_is_another_ones_is_as_it_was(name: str, place: Place, everything: Callable[[str], Face]) -> None:
    face = everything(name)
    own = face.ask("stats", {})
    assert not isinstance(own, Refusal)
    assert (own["scope"], own.get("bytes")) == (OWN, None)
    told = place.owner.ask("get_memory", {"scope": THEIRS, "id": place.theirs["memory"]})
    assert not isinstance(told, Refusal)
    assert (told["text"], told["status"], told["usage"]["helped"]) == ("The budget is nine million", "active", 0)
    episode = place.owner.ask("get_episode", {"scope": THEIRS, "id": place.theirs["episode"]})
    assert not isinstance(episode, Refusal)
    assert (episode["finished"], episode["actions"]) == (False, [])


FORGED: Mapping[str, tuple[str, str | None, str]] = {
    "host": ("evil.example", None, "host 'evil.example'"),
    "origin": ("", "https://evil.example", "origin 'https://evil.example' is not allowed"),
}


def test_who_calls_by_another_name_or_from_another_page_is_refused_alike_by_every_face(place: Place) -> None:
    check_each(FORGED, partial(check_forged, place))


def check_forged(place: Place, forged: str) -> None:
    """A forged header is refused over HTTP, MCP and gRPC with the same words."""
    host, origin, told = FORGED[forged]
    key = place.served.key("forger", Right)
    headers = {
        "Authorization": f"Bearer {key}",
        **({"Host": host} if host else {}),
        **({"Origin": origin} if origin else {}),
    }
    plain = httpx.post(f"{place.served.web}/v1/stats", json={}, headers=headers, timeout=PATIENCE).json()
    spoken = httpx.post(f"{place.served.web}/mcp", json={}, headers=headers, timeout=PATIENCE).json()
    options = [("grpc.default_authority", host)] if host else []
    sent = (("authorization", f"Bearer {key}"), *([("origin", origin)] if origin else []))
    with grpc.insecure_channel(place.served.rpc, options=options) as channel, pytest.raises(grpc.RpcError) as refused:
        channel.unary_unary(f"/{SERVICE.full_name}/Stats")(b"", metadata=sent, timeout=PATIENCE)
    call: Any = refused.value
    assert plain["code"] == spoken["code"] == "forbidden"
    assert call.code() is grpc.StatusCode.PERMISSION_DENIED
    assert plain["detail"] == spoken["detail"] == call.details()
    assert told in call.details()
