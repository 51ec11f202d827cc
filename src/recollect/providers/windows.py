"""Windows: what a model is to read, a few pages at a time, as data that cannot pretend to be anything else."""

import hashlib
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Generic, Protocol, TypeVar

from recollect.errors import FieldError

WINDOW = 24_000
"""How many characters are shown at once, as they are written there; a line may be over it."""

MOST_WINDOWS = 64
"""How many windows are read at most."""

PIECE = WINDOW // 12
"""How long the pieces of an endless text are, so that one is no longer than a window however it is written."""

_ODD = re.compile(
    "[<>"  # tags, and what some servers take for the end of a message wherever it stands
    "\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\uffa0"
    "\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff0-\ufffb\U000e0000-\U000e0fff"  # what no eye can see
    "]"
    r"|\[(?=/?[A-Z_]{1,32}\])"  # [INST] and its kin
)


class Texted(Protocol):
    """What has a text."""

    @property
    def text(self) -> str: ...


T = TypeVar("T", bound=Texted)


@dataclass(frozen=True, slots=True)
class Window(Generic[T]):
    """Some of what is to be read, in a row, by their places in it, and the lines they are shown as, within a tag."""

    tag: str
    shown: Mapping[int, T]
    lines: str

    @property
    def marker(self) -> str:
        """What the tags around it carry: made from all that is between them, so nothing there can have been written
        with it in mind; and the same again for the same lines."""
        return hashlib.sha256(self.lines.encode()).hexdigest()[:32]

    @property
    def fenced(self) -> str:
        return f"<{self.tag}-{self.marker}>\n{self.lines}</{self.tag}-{self.marker}>\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Form(Generic[T]):
    """How something is shown: within which tag, and what is told of each besides its text; nothing is said of `None`.

    What does not fit into all windows is refused by the name of its `field`, with a `remedy`.
    """

    tag: str
    told: Callable[[int, T], Mapping[str, object]]
    field: str
    remedy: str


def in_windows(things: Sequence[T], form: Form[T]) -> list[Window[T]]:
    """All of it in as few windows as it fits into, in its order; too many are refused before any is read."""
    found = list(islice(_windows(things, form), MOST_WINDOWS + 1))
    if len(found) > MOST_WINDOWS:
        raise FieldError(f"more than {MOST_WINDOWS * WINDOW} characters; {form.remedy}", field=form.field)
    return found


def written(told: object) -> str:
    """The JSON of it, on one line, with nothing in it that is a tag or that no eye can see."""
    return _ODD.sub(_coded, json.dumps(told, ensure_ascii=False))


def _windows(things: Sequence[T], form: Form[T]) -> Iterator[Window[T]]:
    lines: list[str] = []
    shown: dict[int, T] = {}
    characters = 0
    for place, line in _lines(things, form):
        if lines and characters + len(line) > WINDOW:
            yield Window(form.tag, shown, "".join(lines))
            lines, shown, characters = [], {}, 0
        lines.append(line)
        shown[place] = things[place]
        characters += len(line)
    if lines:
        yield Window(form.tag, shown, "".join(lines))


def _lines(things: Sequence[T], form: Form[T]) -> Iterator[tuple[int, str]]:
    """Each as a line of JSON, a long one as several, with its place."""
    for place, thing in enumerate(things):
        told = {name: value for name, value in form.told(place, thing).items() if value is not None}
        line = _line(told, thing.text)
        pieces = [line] if len(line) <= WINDOW else [_line(told, piece) for piece in _pieces(thing.text)]
        for piece in pieces:
            yield place, piece


def _line(told: Mapping[str, object], text: str) -> str:
    return f"{written({**told, 'text': text})}\n"


def _coded(match: re.Match[str]) -> str:
    """The character as JSON can write any: a model reads the same, and gives the same back when it quotes it."""
    return json.dumps(match[0])[1:-1] if not match[0].isascii() else f"\\u{ord(match[0]):04x}"


def _pieces(text: str) -> Iterator[str]:
    """The text in pieces, cut at a blank where there is one in the second half."""
    start = 0
    while start < len(text):
        end = start + PIECE
        blank = text.rfind(" ", start + PIECE // 2, end) if end < len(text) else -1
        end = blank + 1 if blank >= 0 else end
        yield text[start:end]
        start = end
