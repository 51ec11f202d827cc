"""Kept: what is remembered of a call that came with an idempotency key, so that a retry is harmless."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol

from recollect.model.memory import MemoryId
from recollect.model.scope import Scope
from recollect.model.verdict import Verdict

IDEMPOTENCY_KEY_LIFETIME = timedelta(days=30)
"""How long a key is remembered."""


class HasIdempotencyKey(Protocol):
    """What is said under a key, if it has one; `body` tells it from all else that may be said."""

    @property
    def key(self) -> str | None: ...

    @property
    def body(self) -> str: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class IdempotencyRecord:
    """A key, what was said under it, and what became of it."""

    scope: Scope
    key: str
    body: str
    memory: MemoryId
    verdict: Verdict
    at: datetime
