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
    odd = {place for place in ends if name and name[place].isspace()}
    return prefix + "".join(
        _escape(one, "%") if one == "%" or place in odd or validation.find_invisible_character(one) else one
        for place, one in enumerate(name)
    )


def name_of(prefix: str, topic_key: str | None) -> str | None:
    """Return the name in a topic key; `None` for another prefix or an invalid key."""
    if topic_key is None or not topic_key.startswith(prefix):
        return None
    try:
        return _unescape(topic_key.removeprefix(prefix), "%")
    except UnicodeDecodeError:  # not made by this module
        return None


@lru_cache(maxsize=4096)
def _to_scope_part(label: str) -> str:
    if not isinstance(label, str):
        raise ScopeError(f"{show(label)} is no text, so no part of a scope can be called so")
    part = _escape_matching(label, lambda one: not _can_be_in_a_part(one))
    if not unicodedata.is_normalized("NFC", part):
        part = _escape_matching(label, lambda one: not one.isascii() or not _can_be_in_a_part(one))
    if not part.strip("."):
        return part.replace(".", _escape(".", "~")) or "~"
    return part


def _escape_matching(label: str, odd: Callable[[str], bool]) -> str:
    return "".join(_escape(one, "~") if odd(one) else one for one in label)


@lru_cache(maxsize=4096)
def _can_be_in_a_part(one: str) -> bool:
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


def encode_value(mark: str, value: T, say: Callable[[T], str], **notes: Any) -> EncodedValue:
    """Encode a value under a metadata key, with notes, and with the text that `say` returns.

    A value that metadata cannot hold, because it is too long, too deep or has characters that no store keeps, becomes
    the memory's text as JSON.
    """
    written = _to_json(value)
    metadata = {mark: {**notes, "value": value}}
    try:
        require_metadata("value", metadata)
    except FieldError:
        return EncodedValue(written, {mark: notes})
    said = say(value)
    blank = not said or said.isspace() or not validation.is_storable(said)
    return EncodedValue(written if blank else said, metadata)


def decode_value(mark: str, memory: Memory) -> Any:
    """Return a copy of the value in the memory's metadata, or else in its text."""
    notes = notes_of(mark, memory) or {}
    if "value" in notes:
        return deepcopy(notes["value"])
    try:
        return json.loads(memory.text)
    except (ValueError, RecursionError) as error:
        what = f"the memory {show(memory.id)} of {memory.scope} was revised, and its text is no JSON any more"
        raise Conflict(f"{what}; revise it again, or forget it") from error


def notes_of(mark: str, memory: Memory) -> Mapping[str, Any] | None:
    """Return the notes under the metadata key; `None` if they are missing or no mapping."""
    notes = memory.metadata.get(mark)
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
    """Raise FieldError for deep nesting, and for keys that are no texts.

    JSON would convert some of those keys.
    """
    if levels == 0:
        raise FieldError(f"is nested more than {MAX_NESTING} levels deep", field="value")
    match value:
        case Mapping():
            for name, inner in value.items():
                if not isinstance(name, str):
                    raise FieldError(f"the name {show(name)} in it is no text", field="value")
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

    A failed sweep is tried again at the next interval, unless `is_over`. A forked child has no such thread until it
    starts one.
    """

    def __init__(self, sweep: Callable[[], object], is_over: Callable[[], bool]) -> None:
        self._sweep = sweep
        self._is_over = is_over
        self._lock = ForkSafeLock()
        self._round: _SweepThread | None = None

    def start(self, every: timedelta) -> Future[None]:
        """Start sweeping, or return the future of the running thread; canceling the future stops it."""
        with self._lock.rlock:
            if self._round is None or self._round.stop_event.is_set() or not self._round.thread.is_alive():
                self._round = self._start_thread(every)
            return self._round.done

    def stop(self, timeout: float | None) -> bool:
        """Stop sweeping; return whether the thread ended within the timeout (without one, wait)."""
        with self._lock.rlock:
            latest = self._round
        if latest is None or not latest.thread.is_alive():
            return True
        latest.stop_event.set()
        latest.thread.join(timeout)
        return not latest.thread.is_alive()

    def _start_thread(self, every: timedelta) -> _SweepThread:
        stopping, ended = threading.Event(), Future[None]()
        given = (every, stopping, ended)
        thread = threading.Thread(target=self._run, args=given, name="recollect-sweeper", daemon=True)
        ended.add_done_callback(lambda _: stopping.set())
        thread.start()
        return _SweepThread(thread, stopping, ended)

    def _run(self, every: timedelta, stopping: threading.Event, ended: Future[None]) -> None:
        problem: Exception | None = None
        try:
            self._sweep_until(stopping, every)
        except Exception as error:  # an error of this thread reaches no caller
            problem = error
            _LOG.error("sweeper_ended", extra={"error": type(error).__name__, "frames": list_frames(error)})
        with suppress(InvalidStateError):  # canceled by the caller that stopped it
            ended.set_result(None) if problem is None else ended.set_exception(problem)

    def _sweep_until(self, stopping: threading.Event, every: timedelta) -> None:
        while not stopping.wait(every.total_seconds()) and not self._is_over():
            try:
                self._sweep()
            except RecollectError as error:  # the store may be back the next time
                if not self._is_over():
                    _LOG.warning("sweep_failed", extra={"error": type(error).__name__})
