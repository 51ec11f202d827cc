"""A reader of rendered contexts that shares no code with the writer."""

import re
from dataclasses import dataclass

NAMED = {"amp": "&", "lt": "<", "gt": ">", "quot": '"'}


@dataclass(frozen=True, slots=True)
class Read:
    """What a block says once its references are resolved."""

    id: str
    kind: str
    date: str
    speaker: str | None
    title: str | None
    text: str


def read(rendered: str, marker: str) -> list[Read]:
    """The blocks of a rendered context; anything that is not the preamble or a whole block is an error."""
    preamble, _, rest = rendered.partition("\n")
    assert marker in preamble
    assert "<" not in preamble
    blocks = []
    while rest:
        opening, _, rest = rest.partition(">\n")
        body, closing, rest = rest.partition(f"\n</memory-{marker}>\n")
        assert closing
        assert not set("<>") & set(body)
        head = re.fullmatch(
            rf'<memory-{marker} id="([^"<>]*)" kind="([a-z]+)" date="(\d{{4}}-\d\d-\d\d)"'
            r'(?: speaker="([^"<>]*)")?(?: title="([^"<>]*)")?',
            opening,
        )
        assert head is not None
        named, kind, date, *labels = head.groups()
        speaker, title = (None if label is None else unescape(label) for label in labels)
        blocks.append(Read(unescape(named), kind, date, speaker, title, unescape(body)))
    return blocks


def unescape(text: str) -> str:
    """The text with every reference resolved; a bare ampersand is an error."""
    first, *parts = text.split("&")
    resolved = [first]
    for part in parts:
        name, semicolon, after = part.partition(";")
        assert semicolon
        resolved.append((chr(int(name[1:])) if name.startswith("#") else NAMED[name]) + after)
    return "".join(resolved)
