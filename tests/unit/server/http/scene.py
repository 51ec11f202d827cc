"""The HTTP face of a throw-away store, asked without a network."""

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx
from starlette.applications import Starlette

import recollect
from recollect.api.auth import Caller, HostPolicy, create_owner
from recollect.api.dispatcher import Dispatcher, OperationRunner, RequestLimits, RequestOutcome
from recollect.errors import Unauthenticated
from recollect.server.health import Health
from recollect.server.http.app import create_app

PORT = 8765
HERE = f"http://127.0.0.1:{PORT}"
KEY = "owner-key"


@dataclass
class Scene:
    """An app, who may ask it, and all that was heard."""

    app: Starlette
    front: Dispatcher
    callers: dict[str, Caller]
    heard: list[RequestOutcome] = field(default_factory=list)

    def send(self, method: str, path: str, **more: Any) -> httpx.Response:
        """The answer to a request."""
        return asyncio.run(self._sent(method, path, more))

    async def _sent(self, method: str, path: str, more: Mapping[str, Any]) -> httpx.Response:
        transport = httpx.ASGITransport(self.app, raise_app_exceptions=True)
        async with httpx.AsyncClient(transport=transport, base_url=HERE) as client:
            return await client.request(method, path, **more)

    def ask(self, name: str, given: Any, *, key: str | None = KEY, **headers: str) -> httpx.Response:
        """What an operation answers."""
        shown = {} if key is None else {"Authorization": f"Bearer {key}"}
        return self.send("POST", f"/v1/{name}", json=given, headers={**shown, **headers})

    def given(self, name: str, given: Any, *, key: str | None = KEY, **headers: str) -> Any:
        """What an operation gives."""
        answer = self.ask(name, given, key=key, **headers)
        assert answer.status_code == 200, answer.text
        return answer.json()


async def well() -> Health:
    return Health(store=True, embedder="hashing-256")


@contextmanager
def a_scene(limits: RequestLimits | None = None, health: Any = well) -> Iterator[Scene]:
    callers = {KEY: create_owner()}
    heard: list[RequestOutcome] = []

    def authenticate(shown: str | None) -> Caller:
        if shown not in callers:
            raise Unauthenticated("no key that holds")
        return callers[shown]

    with recollect.open(":memory:", embedder="hashing") as engine:
        front = Dispatcher(
            OperationRunner(engine),
            authenticate,
            HostPolicy.for_ports(PORT),
            limits=limits or RequestLimits(),
            on_outcome=heard.append,
        )
        yield Scene(create_app(front, health, lambda: b"recollect_requests_total 1\n"), front, callers, heard)
        front.close()


async def pieces(*given: bytes) -> AsyncIterator[bytes]:
    """A body of which nobody knows beforehand how long it is."""
    for one in given:
        yield one
