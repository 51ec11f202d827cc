"""Token counters whose counts a test can foretell, and some that no packing may rely on."""

import zlib
from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True, slots=True)
class Letters:
    """One token a character, so that costs add up."""

    name: ClassVar[str] = "letters"
    exact: ClassVar[bool] = True

    def __call__(self, text: str) -> int:
        return len(text)


@dataclass(frozen=True, slots=True)
class Swelling:
    """A text counts more than its parts, the more of them the worse."""

    name: ClassVar[str] = "swelling"
    exact: ClassVar[bool] = True

    def __call__(self, text: str) -> int:
        return len(text) + text.count("\n") ** 2


@dataclass(frozen=True, slots=True)
class Shrinking:
    """A text counts less than its parts."""

    name: ClassVar[str] = "shrinking"
    exact: ClassVar[bool] = True

    def __call__(self, text: str) -> int:
        return 40 + len(text) // 4


@dataclass(frozen=True, slots=True)
class Erratic:
    """A count that has nothing to do with what the text is made of."""

    seed: int
    name: ClassVar[str] = "erratic"
    exact: ClassVar[bool] = False

    def __call__(self, text: str) -> int:
        return zlib.crc32(text.encode("utf-8", "surrogatepass"), self.seed) % 250


@dataclass(slots=True)
class Tally:
    """One token a character, and how often it was asked."""

    name: ClassVar[str] = "tally"
    exact: ClassVar[bool] = True
    calls: int = 0

    def __call__(self, text: str) -> int:
        self.calls += 1
        return len(text)
