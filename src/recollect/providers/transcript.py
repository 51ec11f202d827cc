"""Transcript: a conversation as a model is shown it, in windows, as data that cannot pretend to be anything else."""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from recollect.errors import FieldError
from recollect.model.conversation import Said

WINDOW = 24_000
"""How many characters of a conversation are shown at once, as they are written there; a line may be over it."""

MOST_WINDOWS = 64
"""In how many windows a conversation is read at most."""

PIECE = WINDOW // 12
"""How long the pieces of an endless turn are, so that one is no longer than a window however it is written."""

_ODD = re.compile(
    "[<>"  # tags, and what some servers take for the end of a message wherever it stands
    "\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\uffa0"
    "\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff0-\ufffb\U000e0000-\U000e0fff"  # what no eye can see
    "]"
    r"|\[(?=/?[A-Z_]{1,32}\])"  # [INST] and its kin
)


@dataclass(frozen=True, slots=True)
class Window:
    """Some turns of a conversation in a row, by their places in it, and the lines they are shown as."""

    turns: Mapping[int, Said]
    lines: str

    @property
    def marker(self) -> str:
        """What the tags around it carry: made from all that is between them, so nothing there can have been written
        with it in mind; and the same again for the same turns."""
        return hashlib.sha256(self.lines.encode()).hexdigest()[:32]

    @property
    def fenced(self) -> str:
        return f"<conversation-{self.marker}>\n{self.lines}</conversation-{self.marker}>\n"


def windows(turns: Sequence[Said]) -> list[Window]:
    """The conversation in as few windows as it fits into, in its order; too many are refused before any is read."""
    found: list[Window] = []
    lines: list[str] = []
    shown: dict[int, Said] = {}
    characters = 0
    for place, line in _lines(turns):
        if lines and characters + len(line) > WINDOW:
            found.append(Window(shown, "".join(lines)))
            lines, shown, characters = [], {}, 0
        if len(found) == MOST_WINDOWS:
            raise FieldError(
                f"a conversation of more than {MOST_WINDOWS * WINDOW} characters; extract from its parts one by one",
                field="turns",
            )
        lines.append(line)
        shown[place] = turns[place]
        characters += len(line)
    return [*found, Window(shown, "".join(lines))] if lines else found


def _lines(turns: Sequence[Said]) -> Iterator[tuple[int, str]]:
    """Each turn as a line of JSON, a long one as several, with its place."""
    for place, turn in enumerate(turns):
        line = _line(place, turn, turn.text)
        pieces = [line] if len(line) <= WINDOW else [_line(place, turn, piece) for piece in _pieces(turn.text)]
        for piece in pieces:
            yield place, piece


def _line(place: int, turn: Said, text: str) -> str:
    told = {
        "turn": place,
        "role": turn.role.value,
        "speaker": turn.speaker,
        "date": None if turn.at is None else turn.at.date().isoformat(),
        "text": text,
    }
    written = json.dumps({name: value for name, value in told.items() if value is not None}, ensure_ascii=False)
    return f"{_ODD.sub(_coded, written)}\n"


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
