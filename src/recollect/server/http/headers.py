"""Headers: what a request over HTTP says beside its body, once each; others may take the other one of two."""

from collections.abc import Callable, Iterable, Sequence

from recollect.api.host_policy import HostPolicy
from recollect.errors import InvalidInput, Overdue, TooLarge, show

GetHeaderValues = Callable[[str], Sequence[str]]
"""Every value that a header of that name has."""

IDEMPOTENCY_KEY_HEADER = "Idempotency-Key"
"""The header that may say the key which makes a retry harmless."""

MAX_LENGTH_DIGITS = 20
"""How many digits a length has at most; whatever has more is no length."""


class BodyTimeout(Overdue):
    """The body of a request did not come in time; nothing was asked yet."""


def read_single_header(said: GetHeaderValues, name: str) -> str | None:
    """What a header says; refused if it is there twice."""
    values = said(name)
    if len(values) > 1:
        raise InvalidInput(f"the header {name} is there {len(values)} times; send it once")
    return values[0] if values else None


def refuse_duplicate_headers(said: GetHeaderValues, names: Iterable[str]) -> None:
    """Refuse a request that has any of these headers twice."""
    for name in names:
        read_single_header(said, name)


def require_allowed_host(gate: HostPolicy, said: GetHeaderValues) -> None:
    """Refuse who calls by a name that is not ours, or by several, and a page of another origin."""
    hosts, origins = said("host"), said("origin")
    gate.require_allowed(hosts[0] if len(hosts) == 1 else None, ", ".join(origins) if origins else None)


def refuse_encoded_body(said: GetHeaderValues) -> None:
    """Refuse a body that is said to be compressed: a small one could turn out to be of any size."""
    encoding = read_single_header(said, "content-encoding")
    if encoding is not None and encoding.strip().lower() not in ("", "identity"):
        raise InvalidInput(f"the body is said to be encoded as {show(encoding)}; send it as it is")


def refuse_large_body(said: GetHeaderValues, most: int) -> None:
    """Refuse a body that is said to be larger than it may be, before any of it is read."""
    length = read_single_header(said, "content-length") or ""
    if length.isdecimal() and (len(length) > MAX_LENGTH_DIGITS or int(length) > most):
        raise body_too_large_error(most)


def body_too_large_error(most: int) -> TooLarge:
    """What is said of a body that has more bytes than it may."""
    return TooLarge(f"the body has more than {most} bytes; send less at once, or raise server.body_bytes")


def body_timeout_error(seconds: float) -> BodyTimeout:
    """What is said of a body that nobody waits for any longer."""
    return BodyTimeout(f"the body did not come within {seconds:g} seconds; send it without waiting")
