"""Shared code of the integrations: escaped names, encoded values, extras, and a TTL sweeper.

Names of a framework become parts of scopes and topic keys; its values are stored in memories and come back unchanged.
"""

import json
import logging
import re
import threading
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, InvalidStateError
from contextlib import contextmanager, suppress
from copy import deepcopy
from dataclasses import dataclass
from datetime import timedelta
from functools import lru_cache
from typing import Any, TypeVar

from recollect.errors import Conflict, FieldError, RecollectError, ScopeError, list_frames, show
from recollect.fork_safety import ForkSafeLock
from recollect.model import validation
from recollect.model.memory import Memory, require_metadata
from recollect.model.scope import Scope

T = TypeVar("T")

MAX_NESTING = 100
"""How many levels a value may be nested."""


def child_scope(root: Scope, *labels: str) -> Scope:
    """Return the scope below a root with these labels as parts; invalid characters are escaped."""
    return Scope((*root.parts, *map(_to_scope_part, labels)))


def labels_of(scope: Scope, root: Scope) -> tuple[str, ...]:
    """Return the labels of a scope below the root."""
    return tuple(_unescape(part, "~") for part in scope.parts[len(root.parts) :])


def to_topic_key(prefix: str, name: str) -> str:
    """Return the topic key for a name: the prefix, and the name with invalid characters escaped."""
    validation.require_text("key", name)
    ends = {0, len(name) - 1}
    outer_spaces = {index for index in ends if name and name[index].isspace()}
    return prefix + "".join(
        _escape(one, "%") if one == "%" or index in outer_spaces or validation.find_invisible_character(one) else one
        for index, one in enumerate(name)
    )


def name_of(prefix: str, topic_key: str | None) -> str | None:
    """Return the name in a topic key; `None` if it has another prefix or is invalid."""
    if topic_key is None or not topic_key.startswith(prefix):
        return None
    try:
        return _unescape(topic_key.removeprefix(prefix), "%")
    except UnicodeDecodeError:  # not made by this module
        return None


@lru_cache(maxsize=4096)
def _to_scope_part(label: str) -> str:
    if not isinstance(label, str):
        raise ScopeError(f"{show(label)} is not a text; a part of a scope must be a text")
    part = _escape_matching(label, lambda one: not _is_valid_in_scope_part(one))
    if not unicodedata.is_normalized("NFC", part):
        part = _escape_matching(label, lambda one: not one.isascii() or not _is_valid_in_scope_part(one))
    if not part.strip("."):
        return part.replace(".", _escape(".", "~")) or "~"
    return part


def _escape_matching(label: str, matches: Callable[[str], bool]) -> str:
    return "".join(_escape(one, "~") if matches(one) else one for one in label)


@lru_cache(maxsize=4096)
def _is_valid_in_scope_part(one: str) -> bool:
    if one == "~":
        return False
    try:
        Scope((f"a{one}",))
    except ScopeError:
        return False
    return True


def _escape(one: str, mark: str) -> str:
    return "".join(f"{mark}{byte:02X}" for byte in one.encode("utf-8", "surrogatepass"))


def _unescape(text: str, mark: str) -> str:
    """Decode a name escaped with the mark; the mark alone is the empty text."""
    if text == mark:
        return ""
    pieces = re.sub(re.escape(mark.encode()) + rb"([0-9A-F]{2})", _decode_byte, text.encode("utf-8", "surrogatepass"))
    return pieces.decode("utf-8", "surrogatepass")


def _decode_byte(match: re.Match[bytes]) -> bytes:
    return bytes([int(match[1], 16)])


@dataclass(frozen=True, slots=True)
class EncodedValue:
    """A value encoded for a memory: its text for search, and metadata to restore it."""

    text: str
    metadata: Mapping[str, Any]


def encode_value(metadata_key: str, value: T, to_text: Callable[[T], str], **notes: Any) -> EncodedValue:
    """Encode a value under a metadata key, with notes, and with the text that `to_text` returns.

    Metadata cannot hold a value that is too long, too deep, or has characters that no store keeps. Such a value becomes
    the memory's text as JSON.
    """
    as_json = _to_json(value)
    metadata = {metadata_key: {**notes, "value": value}}
    try:
        require_metadata("value", metadata)
    except FieldError:
        return EncodedValue(as_json, {metadata_key: notes})
    text = to_text(value)
    blank = not text or text.isspace() or not validation.is_storable(text)
    return EncodedValue(as_json if blank else text, metadata)


def decode_value(metadata_key: str, memory: Memory) -> Any:
    """Return a copy of the value in the memory's metadata, or else in its text."""
    notes = notes_of(metadata_key, memory) or {}
    if "value" in notes:
        return deepcopy(notes["value"])
    try:
        return json.loads(memory.text)
    except (ValueError, RecursionError) as error:
        problem = f"memory {show(memory.id)} of {memory.scope} was revised, and its text is no longer JSON"
        raise Conflict(f"{problem}; revise it again, or forget it") from error


def notes_of(metadata_key: str, memory: Memory) -> Mapping[str, Any] | None:
    """Return the notes under the metadata key; `None` if they are missing or not a mapping."""
    notes = memory.metadata.get(metadata_key)
    return notes if isinstance(notes, Mapping) else None


def is_too_deep(value: Any) -> bool:
    """Whether a JSON value is nested too deep to be encoded."""
    try:
        _refuse_unencodable(value, MAX_NESTING)
    except FieldError:
        return True
    return False


def _to_json(value: Any) -> str:
    """Return the value as JSON, escaped where a store cannot hold it; raise if JSON cannot."""
    _refuse_unencodable(value, MAX_NESTING)
    try:
        plain = json.dumps(value, ensure_ascii=False, allow_nan=False)
        return plain if validation.is_storable(plain) else json.dumps(value, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise FieldError(f"{show(value)} cannot be written as JSON", field="value") from error


def _refuse_unencodable(value: Any, levels: int) -> None:
    """Raise FieldError for deep nesting, and for keys that are not texts, because JSON would convert some of them."""
    if levels == 0:
        raise FieldError(f"is nested more than {MAX_NESTING} levels deep; flatten it", field="value")
    match value:
        case Mapping():
            for name, inner in value.items():
                if not isinstance(name, str):
                    raise FieldError(f"has the key {show(name)}; every key must be a text", field="value")
                _refuse_unencodable(inner, levels - 1)
        case list() | tuple():
            for inner in value:
                _refuse_unencodable(inner, levels - 1)
        case _:
            pass


@contextmanager
def requires_extra(extra: str) -> Iterator[None]:
    """Add to an ImportError which extra to install."""
    try:
        yield
    except ImportError as error:
        remedy = f"install recollect with its extra {extra} (in its folder: pip install '.[{extra}]')"
        raise ImportError(f"{error}; {remedy}", name=error.name, path=error.path) from error


_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _SweepThread:
    """A sweeping thread, the event that stops it, and the future that is done when it ends."""

    thread: threading.Thread
    stop_event: threading.Event
    done: Future[None]


class TtlSweeper:
    """Runs a sweep periodically in a single background thread.

    A failed sweep is tried again at the next interval, unless `is_over` returns true. A forked child has no such thread
    until it starts one.
    """

    def __init__(self, sweep: Callable[[], object], is_over: Callable[[], bool]) -> None:
        self._sweep = sweep
        self._is_over = is_over
        self._lock = ForkSafeLock()
        self._running: _SweepThread | None = None

    def start(self, every: timedelta) -> Future[None]:
        """Start sweeping, or return the future of the running thread; canceling the future stops it."""
        with self._lock.rlock:
            if self._running is None or self._running.stop_event.is_set() or not self._running.thread.is_alive():
                self._running = self._start_thread(every)
            return self._running.done

    def stop(self, timeout: float | None) -> bool:
        """Stop sweeping; return whether the thread ended within the timeout (without one, wait)."""
        with self._lock.rlock:
            latest = self._running
        if latest is None or not latest.thread.is_alive():
            return True
        latest.stop_event.set()
        latest.thread.join(timeout)
        return not latest.thread.is_alive()

    def _start_thread(self, every: timedelta) -> _SweepThread:
        stop_event, done = threading.Event(), Future[None]()
        args = (every, stop_event, done)
        thread = threading.Thread(target=self._run, args=args, name="recollect-sweeper", daemon=True)
        done.add_done_callback(lambda _: stop_event.set())
        thread.start()
        return _SweepThread(thread, stop_event, done)

    def _run(self, every: timedelta, stop_event: threading.Event, done: Future[None]) -> None:
        problem: Exception | None = None
        try:
            self._sweep_until(stop_event, every)
        except Exception as error:  # outermost edge of the thread: no caller would see the error
            problem = error
            _LOG.error("sweeper_stopped", extra={"error": type(error).__name__, "frames": list_frames(error)})
        with suppress(InvalidStateError):  # canceled by the caller that stopped it
            done.set_result(None) if problem is None else done.set_exception(problem)

    def _sweep_until(self, stop_event: threading.Event, every: timedelta) -> None:
        while not stop_event.wait(every.total_seconds()) and not self._is_over():
            try:
                self._sweep()
            except RecollectError as error:  # the store may be back the next time
                if not self._is_over():
                    _LOG.warning("sweep_failed", extra={"error": type(error).__name__})
