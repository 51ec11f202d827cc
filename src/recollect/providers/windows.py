"""Windows: what a model is to read, a few pages at a time, as data that cannot pretend to be anything else."""

import hashlib
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Generic, Protocol, TypeVar

from recollect.errors import FieldError

WINDOW_CHARS = 24_000
"""How many characters are shown at once, as they are written there; a line may be over it."""

MAX_WINDOWS = 64
"""How many windows are read at most."""

PIECE_CHARS = WINDOW_CHARS // 12
"""How long the pieces of an endless text are, so that one is no longer than a window however it is written."""

_UNSAFE_CHARACTER = re.compile(
    "[<>"  # tags, and what some servers take for the end of a message wherever it stands
    "\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\uffa0"
    "\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff0-\ufffb\U000e0000-\U000e0fff"  # what no eye can see
    "]"
    r"|\[(?=/?[A-Z_]{1,32}\])"  # [INST] and its kin
)


class HasText(Protocol):
    """What has a text."""

    @property
    def text(self) -> str: ...


TextT = TypeVar("TextT", bound=HasText)


@dataclass(frozen=True, slots=True)
class Window(Generic[TextT]):
    """Some of what is to be read, in a row, by their places in it, and the lines they are shown as, within a tag."""

    tag: str
    items: Mapping[int, TextT]
    lines: str

    @property
    def marker(self) -> str:
        """What the tags around it carry: made from all that is between them, so nothing there can have been written
        with it in mind; and the same again for the same lines."""
        return hashlib.sha256(self.lines.encode()).hexdigest()[:32]

    @property
    def fenced_text(self) -> str:
        return f"<{self.tag}-{self.marker}>\n{self.lines}</{self.tag}-{self.marker}>\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowFormat(Generic[TextT]):
    """How something is shown: within which tag, and what is told of each besides its text; nothing is said of `None`.

    What does not fit into all windows is refused by the name of its `field`, with a `remedy`.
    """

    tag: str
    describe: Callable[[int, TextT], Mapping[str, object]]
    field: str
    remedy: str


def split_into_windows(things: Sequence[TextT], form: WindowFormat[TextT]) -> list[Window[TextT]]:
    """All of it in as few windows as it fits into, in its order; too many are refused before any is read."""
    found = list(islice(_iterate_windows(things, form), MAX_WINDOWS + 1))
    if len(found) > MAX_WINDOWS:
        raise FieldError(f"more than {MAX_WINDOWS * WINDOW_CHARS} characters; {form.remedy}", field=form.field)
    return found


def to_safe_json(told: object) -> str:
    """The JSON of it, on one line, with nothing in it that is a tag or that no eye can see."""
    return _UNSAFE_CHARACTER.sub(_escape_character, json.dumps(told, ensure_ascii=False))


def _iterate_windows(things: Sequence[TextT], form: WindowFormat[TextT]) -> Iterator[Window[TextT]]:
    lines: list[str] = []
    shown: dict[int, TextT] = {}
    characters = 0
    for place, line in _format_lines(things, form):
        if lines and characters + len(line) > WINDOW_CHARS:
            yield Window(form.tag, shown, "".join(lines))
            lines, shown, characters = [], {}, 0
        lines.append(line)
        shown[place] = things[place]
        characters += len(line)
    if lines:
        yield Window(form.tag, shown, "".join(lines))


def _format_lines(things: Sequence[TextT], form: WindowFormat[TextT]) -> Iterator[tuple[int, str]]:
    """Each as a line of JSON, a long one as several, with its place."""
    for place, thing in enumerate(things):
        told = {name: value for name, value in form.describe(place, thing).items() if value is not None}
        line = _format_line(told, thing.text)
        pieces = (
            [line] if len(line) <= WINDOW_CHARS else [_format_line(told, piece) for piece in _split_text(thing.text)]
        )
        for piece in pieces:
            yield place, piece


def _format_line(told: Mapping[str, object], text: str) -> str:
    return f"{to_safe_json({**told, 'text': text})}\n"


def _escape_character(match: re.Match[str]) -> str:
    """The character as JSON can write any: a model reads the same, and gives the same back when it quotes it."""
    return json.dumps(match[0])[1:-1] if not match[0].isascii() else f"\\u{ord(match[0]):04x}"


def _split_text(text: str) -> Iterator[str]:
    """The text in pieces, cut at a blank where there is one in the second half."""
    start = 0
    while start < len(text):
        end = start + PIECE_CHARS
        blank = text.rfind(" ", start + PIECE_CHARS // 2, end) if end < len(text) else -1
        end = blank + 1 if blank >= 0 else end
        yield text[start:end]
        start = end
