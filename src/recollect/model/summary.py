"""Summary: what a stretch of time was about, each point of it with what it rests on."""

from dataclasses import dataclass
from datetime import datetime

from recollect.errors import FieldError, show
from recollect.model import validation
from recollect.model.memory import MemoryId

MAX_BULLETS = 12
"""How many points a summary has at most."""

MAX_KEYWORDS = 12

MAX_SUMMARY_TITLE_CHARS = 120
MAX_BULLET_CHARS = 400
"""How many characters a title and a point have at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """What a summariser reads: what somebody said, or a point of a finer summary; and the memories it rests on."""

    text: str
    at: datetime
    cites: tuple[MemoryId, ...]
    speaker: str | None = None

    def __post_init__(self) -> None:
        validation.require_content("text", self.text)
        object.__setattr__(self, "at", validation.require_moment("at", self.at))
        if not self.cites:
            raise FieldError("is empty; a passage rests on at least one memory", field="cites")


@dataclass(frozen=True, slots=True)
class Bullet:
    """One point of a summary, and the memories it rests on."""

    text: str
    cites: tuple[MemoryId, ...]

    def __post_init__(self) -> None:
        validation.require_content("text", self.text)
        if len(self.text) > MAX_BULLET_CHARS:
            raise FieldError(f"{len(self.text)} characters; a point has at most {MAX_BULLET_CHARS}", field="text")
        if not self.cites:
            raise FieldError("is empty; a point rests on at least one memory", field="cites")


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """What a stretch of time was about: a title, points that cite what they rest on, and keywords."""

    title: str
    bullets: tuple[Bullet, ...]
    keywords: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        validation.require_line("title", self.title)
        if len(self.title) > MAX_SUMMARY_TITLE_CHARS:
            raise FieldError(
                f"{len(self.title)} characters; at most {MAX_SUMMARY_TITLE_CHARS} are allowed", field="title"
            )
        if not 1 <= len(self.bullets) <= MAX_BULLETS:
            raise FieldError(f"{len(self.bullets)} of them; give 1 to {MAX_BULLETS}", field="bullets")
        if len(self.keywords) > MAX_KEYWORDS:
            raise FieldError(f"{len(self.keywords)} of them; give at most {MAX_KEYWORDS}", field="keywords")
        for one in self.keywords:
            if not validation.require_line("keywords", one).strip():
                raise FieldError(f"{show(one)} is blank", field="keywords")
