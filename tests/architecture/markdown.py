"""A page of documentation, as the tests read it: headings, sections, links and fenced blocks."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Self

FENCE = re.compile(r"\s*```(\w*)")
HEADING = re.compile(r"(#{1,6})\s+(.+?)\s*#*$")
LINK = re.compile(r"(?<!!)\[[^\]]*\]\(<?([^)\s>]+)>?\)|^\[[^\]]+\]:\s*(\S+)")


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a page; `fence` is the language of the block it is in, and `None` in prose."""

    number: int
    text: str
    fence: str | None


@dataclass(frozen=True, slots=True)
class Page:
    """A Markdown file, with each line told apart: prose or code."""

    path: Path
    lines: tuple[Line, ...]

    @classmethod
    def read(cls, path: Path) -> Self:
        """The page in that file."""
        return cls(path, tuple(_told_apart(path.read_text(encoding="utf-8"))))

    def text(self) -> str:
        """All of it, without the marks of fences."""
        return "\n".join(line.text for line in self.lines)

    def headings(self) -> list[tuple[Line, int, str]]:
        """Every heading with its line, its depth and its words, without the marks of code."""
        found = ((line, HEADING.match(line.text)) for line in self.lines if line.fence is None)
        return [(line, len(match[1]), match[2].replace("`", "")) for line, match in found if match]

    def titles(self) -> list[str]:
        """The words of every heading."""
        return [title for _, _, title in self.headings()]

    def section(self, title: str) -> str:
        """What stands under that heading, deeper headings included; nothing if there is no such heading."""
        inside: int | None = None
        kept: list[str] = []
        starts = {line.number: (depth, words) for line, depth, words in self.headings()}
        for line in self.lines:
            depth, words = starts.get(line.number, (None, ""))
            if depth is not None and inside is not None and depth <= inside:
                inside = None
            if words == title and inside is None:
                inside = depth
            if inside is not None:
                kept.append(line.text)
        return "\n".join(kept)

    def anchors(self) -> set[str]:
        """What a link may name after `#`: each heading in lower case, with hyphens for blanks."""
        seen: Counter[str] = Counter()
        found = set()
        for title in self.titles():
            slug = re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")
            found.add(f"{slug}-{seen[slug]}" if seen[slug] else slug)
            seen[slug] += 1
        return found

    def links(self) -> list[str]:
        """Every link in prose, as written."""
        prose = (re.sub(r"`[^`]*`", "", line.text) for line in self.lines if line.fence is None)
        return [match[1] or match[2] for text in prose for match in LINK.finditer(text)]

    def code(self, language: str) -> str:
        """All blocks of that language as one text, each line at its number in the page, the rest blank."""
        return "\n".join(line.text if line.fence == language else "" for line in self.lines)

    def blocks(self, language: str) -> list[list[str]]:
        """The lines of each block of that language."""
        found: list[list[str]] = []
        last = -1
        for line in self.lines:
            if line.fence == language:
                if line.number != last + 1:
                    found.append([])
                found[-1].append(line.text)
                last = line.number
        return found


def _told_apart(text: str) -> Iterator[Line]:
    fence: str | None = None
    for number, line in enumerate(text.split("\n"), 1):
        mark = FENCE.match(line)
        if mark:
            yield Line(number, "", "fence")
            fence = mark[1] if fence is None else None
        else:
            yield Line(number, line, fence)


def says(text: str, name: str) -> bool:
    """Whether the text names it as code, alone or within."""
    whole = re.compile(rf"(?<![\w-]){re.escape(name)}(?![\w-])")
    return any(whole.search(code) for code in re.findall(r"`([^`\n]+)`", text))


def unsaid(text: str, names: Iterable[str]) -> list[str]:
    """Those of the names that the text leaves out."""
    return [name for name in names if not says(text, name)]
