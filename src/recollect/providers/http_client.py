"""An HTTP client that posts JSON to one address, with retries."""

import json
import random
import re
import ssl
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from email.utils import parsedate_to_datetime
from http.client import HTTPConnection, HTTPException, HTTPMessage, HTTPResponse, HTTPSConnection, IncompleteRead
from typing import Any
from urllib.parse import SplitResult, urlsplit

from recollect.errors import InvalidInput, ProviderBusy, ProviderError, show

DEFAULT_TIMEOUT = timedelta(seconds=30)
"""The time limit of one attempt, from connecting to the last byte of the answer."""

MAX_RESPONSE_BYTES = 64 * 2**20
"""Limit of a response in bytes: more than 64 vectors of 16,384 dimensions take as JSON."""

READ_CHUNK_BYTES = 2**16
MAX_DOUBLINGS = 12
"""Maximum number of times that a pause doubles."""

RETRYABLE_STATUSES = {408, 425, 429, *range(500, 600)}
"""The statuses after which the same request may succeed later."""

REMEDY_BY_STATUS = {
    401: "check the key",
    403: "check the key",
    404: "check the address and the model",
    413: "send shorter texts",
}
VISIBLE_ASCII = re.compile("[!-~]+")


def sleep_with_jitter(pause: timedelta) -> None:
    """Sleep for the pause and up to a quarter longer, so that clients do not retry together."""
    time.sleep(pause.total_seconds() * random.uniform(1.0, 1.25))  # noqa: S311


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """How often a request to a busy server is tried; the pause is `first_pause` and doubles each time.

    A pause that the server asks for is used instead. If it is longer than `max_pause`, the request fails at once.
    `wait` sleeps for a pause, and `clock` is a monotonic clock in seconds.
    """

    attempts: int = 4
    first_pause: timedelta = timedelta(seconds=0.5)
    max_pause: timedelta = timedelta(seconds=20)
    wait: Callable[[timedelta], None] = sleep_with_jitter
    clock: Callable[[], float] = time.monotonic

    def __post_init__(self) -> None:
        if type(self.attempts) is not int or self.attempts < 1:
            raise InvalidInput(f"attempts is {show(self.attempts)}; give a whole number of at least 1")
        if not timedelta(0) <= self.first_pause <= self.max_pause:
            raise InvalidInput(
                f"first_pause is {self.first_pause} and max_pause is {self.max_pause}; "
                "give durations with 0 <= first_pause <= max_pause"
            )

    def pause_after(self, attempt: int) -> timedelta:
        """Return the default pause after this attempt; the first attempt is 1."""
        doubled: int = 2 ** min(attempt - 1, MAX_DOUBLINGS)
        return min(self.first_pause * doubled, self.max_pause)


DEFAULT_RETRY_POLICY = RetryPolicy()


@dataclass(frozen=True, slots=True)
class ErrorResponse:
    """An error response: its status, a description, and the body."""

    status: int
    problem: str
    body: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class _RetryableFailure:
    """A failed attempt that may succeed later, and the pause that the server asks for."""

    reason: str
    pause: timedelta | None = None
    cause: Exception | None = None


class Endpoint:
    """Posts JSON to one address; the key is only in a header, never in a message or repr.

    Redirects are not followed and no proxy is used, so the key reaches only the named host.
    """

    def __init__(
        self,
        url: str,
        *,
        key: str | None = None,
        timeout: timedelta = DEFAULT_TIMEOUT,
        patience: RetryPolicy = DEFAULT_RETRY_POLICY,
    ) -> None:
        parts = _parse_url(url)
        if key is not None and not VISIBLE_ASCII.fullmatch(key):
            raise InvalidInput("the key is empty, or has spaces or non-ASCII characters; copy it as it was issued")
        if timeout <= timedelta(0):
            raise InvalidInput(f"timeout is {timeout}; give a duration above zero")
        self._secure = parts.scheme == "https"
        self._host, self._port = parts.hostname or "", parts.port
        self._target = parts._replace(scheme="", netloc="").geturl()
        self._display_url = parts._replace(query="").geturl()
        self._key = key
        self._timeout = timeout.total_seconds()
        self._retry_policy = patience

    def __str__(self) -> str:
        return self._display_url

    def __repr__(self) -> str:
        return f"Endpoint({self._display_url!r})"

    def post(self, body: object) -> Any:
        """Return the server's JSON answer; retry while the server is busy or unreachable."""
        outcome = self.ask(body)
        if isinstance(outcome, ErrorResponse):
            raise ProviderError(outcome.problem)
        return self._parse_json(outcome)

    def ask(self, body: object) -> bytes | ErrorResponse:
        """Return the raw response or the refusal; retry as `post` does."""
        content = json.dumps(body).encode()
        attempt = 0
        while True:
            attempt += 1
            outcome = self._attempt(content)
            if not isinstance(outcome, _RetryableFailure):
                return outcome
            pause = outcome.pause if outcome.pause is not None else self._retry_policy.pause_after(attempt)
            if attempt == self._retry_policy.attempts or pause > self._retry_policy.max_pause:
                attempts = "once" if attempt == 1 else f"{attempt} times"
                wait = f" and asks to wait {pause}" if pause > self._retry_policy.max_pause else ""
                raise ProviderBusy(
                    f"{self} {outcome.reason}{wait}; tried {attempts}, try again later"
                ) from outcome.cause
            self._retry_policy.wait(pause)

    def _attempt(self, content: bytes) -> bytes | ErrorResponse | _RetryableFailure:
        """Try once; return the body, the refusal, or a failure to retry; raise other errors."""
        deadline = self._retry_policy.clock() + self._timeout
        connection = self._connect()
        try:
            connection.request("POST", self._target, content, self._headers())
            with connection.getresponse() as response:
                body = self._read_body(response, deadline)
        except (ssl.SSLEOFError, ssl.SSLZeroReturnError, IncompleteRead) as error:
            return _RetryableFailure("closed the connection early", cause=error)
        except ssl.SSLError as error:
            raise ProviderError(f"{self} cannot be trusted or does not speak TLS: {error}") from error
        except OSError as error:
            return _RetryableFailure(f"cannot be reached ({str(error) or type(error).__name__})", cause=error)
        except HTTPException:  # hidden, even as a cause: the server may echo our headers, and so the key
            raise ProviderError(f"{self} does not speak HTTP; check the address") from None
        finally:
            connection.close()
        return self._classify_response(response, body)

    def _connect(self) -> HTTPConnection:
        if self._secure:
            return HTTPSConnection(self._host, self._port, timeout=self._timeout, context=ssl.create_default_context())
        return HTTPConnection(self._host, self._port, timeout=self._timeout)

    def _headers(self) -> dict[str, str]:
        headers = {"Content-Type": "application/json", "Accept": "application/json", "User-Agent": "recollect"}
        return headers if self._key is None else headers | {"Authorization": f"Bearer {self._key}"}

    def _read_body(self, response: HTTPResponse, deadline: float) -> bytes:
        """Read the whole body; raise if it is too large or later than the deadline."""
        content, part = bytearray(), b"unread"
        while part:
            if len(content) + (response.length or 0) > MAX_RESPONSE_BYTES:
                raise ProviderError(f"{self} returned more than {MAX_RESPONSE_BYTES} bytes; check the address")
            if self._retry_policy.clock() > deadline:
                raise TimeoutError("the response did not end in time")
            part = response.read1(READ_CHUNK_BYTES)
            content += part
        if response.length:
            raise IncompleteRead(bytes(content), response.length)
        return bytes(content)

    def _classify_response(self, response: HTTPResponse, body: bytes) -> bytes | ErrorResponse | _RetryableFailure:
        status = response.status
        if 200 <= status < 300:
            return body
        reason = f"returned {status}{self.describe_error(body)}"
        if status in RETRYABLE_STATUSES:
            return _RetryableFailure(reason, pause=_read_retry_after(response.headers))
        if 300 <= status < 400:
            return ErrorResponse(status, f"{self} returned {status}: it has moved; give the new address", body)
        return ErrorResponse(
            status, f"{self} {reason}; {REMEDY_BY_STATUS.get(status, 'the server rejects the request')}", body
        )

    def describe_error(self, body: bytes) -> str:
        """Return the server's error message, shortened and without the key."""
        try:
            answer = json.loads(body)
        except (ValueError, RecursionError):
            answer = body.decode("utf-8", "replace")
        match answer:
            case {"error": {"message": str(message)}} | {"error": str(message)} | {"message": str(message)}:
                pass
            case _:
                message = answer if isinstance(answer, str) else ""
        if self._key is not None:
            message = message.replace(self._key, "…")
        return f" ({show(message)})" if message else ""

    def _parse_json(self, body: bytes) -> Any:
        try:
            return json.loads(body)
        except (ValueError, RecursionError) as error:
            raise ProviderError(f"{self} returned something other than JSON; check the address") from error


def redact_url(url: str) -> str:
    """Return the address for messages, without credentials and query string."""
    return show(re.sub("//[^/]*@", "//…@", url).partition("?")[0])


def complete_url(url: str, path: str) -> str:
    """Complete an address from the host alone, the `/v1` of a client, or the whole address."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return url  # `Endpoint` refuses it with a reason
    base = parts.path.rstrip("/")
    whole = base if base.endswith(path) else f"{base or '/v1'}{path}"
    return parts._replace(path=whole).geturl()


def _parse_url(url: str) -> SplitResult:
    """Parse an address; raise if it is invalid or contains credentials."""
    if not VISIBLE_ASCII.fullmatch(url):
        raise InvalidInput(f"the address {redact_url(url)} is empty, or has spaces or non-ASCII characters")
    try:
        parts = urlsplit(url)
        valid = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError as error:
        raise InvalidInput(f"{redact_url(url)} is not an address; give one such as https://host/v1") from error
    if not valid:
        raise InvalidInput(f"{redact_url(url)} is not an address; give one such as https://host/v1")
    if "@" in parts.netloc:
        raise InvalidInput(f"the address {redact_url(url)} contains credentials; give the key separately")
    if parts.fragment:
        raise InvalidInput(f"the address {redact_url(url)} has a part after #, which is not sent; remove it")
    return parts


def _read_retry_after(headers: HTTPMessage) -> timedelta | None:
    """Return the pause in `Retry-After`, in seconds or as a date; `None` if it is invalid.

    A date is compared with the server's own `Date`.
    """
    value = headers.get("Retry-After", "").strip()
    if re.fullmatch("[0-9]{1,9}", value):
        return timedelta(seconds=int(value))
    try:
        return max(parsedate_to_datetime(value) - parsedate_to_datetime(headers.get("Date", "")), timedelta(0))
    except (TypeError, ValueError):
        return None
