"""A query, as a text or the last turns of a chat, and the speakers and days it names."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from recollect.errors import FieldError, show
from recollect.model import validation
from recollect.text import questions

if TYPE_CHECKING:
    from recollect.model.table import Floats, Labels
    from recollect.retrieval.evidence import RecallEvidence


MAX_TURNS = 3
"""How many turns are searched for: the current one and those it may refer to."""

QueryTurn = str | Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Query:
    """The turns to search for, oldest first."""

    turns: tuple[str, ...]

    @property
    def text(self) -> str:
        return "\n".join(self.turns)


def parse_query(query: str | Sequence[QueryTurn]) -> Query:
    """Parse a query from a text or from turns: texts, or chat messages with `text` or `content`.

    Only the text of a message counts; a message without text, such as a tool call, is skipped.
    """
    turns = [query] if isinstance(query, str) else _turn_texts(query)
    texts = [validation.require_clean_text("query", turn) for turn in turns if turn.strip()]
    if not texts:
        raise FieldError("is empty; ask something, or use `brief`, which needs no question", field="query")
    return Query(tuple(validation.require_content("query", turn) for turn in texts[-MAX_TURNS:]))


def _turn_texts(query: Sequence[QueryTurn]) -> list[str]:
    if isinstance(query, bytes | Mapping) or not isinstance(query, Sequence):
        raise FieldError(f"{show(query)} is neither a text nor a list of turns", field="query")
    return [turn if isinstance(turn, str) else _message_text(turn) for turn in query]


def _message_text(turn: Any) -> str:
    """Return the text of a message; empty if it has none."""
    if not isinstance(turn, Mapping):
        raise FieldError(f"{show(turn)} is not a turn; give a text or a mapping with `content`", field="query")
    if not any(name in turn for name in ("text", "content", "role", "type")):
        raise FieldError(f"{show(turn)} has neither `text` nor `content`", field="query")
    content = turn.get("content") if turn.get("text") is None else turn["text"]
    match content:
        case None:
            return ""
        case list() | tuple():
            return "\n".join(text for part in content if (text := _part_text(part)))
        case _:
            return validation.require_text("query", content)


def _part_text(part: Any) -> str:
    """Return the text of a part of a message; empty for other parts, such as an image."""
    text = part.get("text") if isinstance(part, Mapping) else part
    return text if isinstance(text, str) else ""


MAX_PHRASINGS = 3
"""The maximum number of speakers whose phrasing of a query is tried; each costs an embedding."""


@dataclass(frozen=True, slots=True)
class QueryAnalysis:
    """A query among known speakers: which of them it names, and whether it is about the caller."""

    text: str
    speakers: frozenset[str]
    named_speakers: tuple[str, ...]

    @classmethod
    def of(cls, text: str, speakers: Collection[str]) -> "QueryAnalysis":
        """Analyze the query given the speakers of the scope."""
        everyone = frozenset(speakers)
        return cls(text, everyone, questions.find_named_speakers(text, everyone))

    @property
    def phrasings(self) -> list[str]:
        """The query as its named speakers would put it, because they said "I"; else as it is."""
        phrasings = [questions.rephrase_as_speaker(self.text, name) for name in self.named_speakers[:MAX_PHRASINGS]]
        return list(dict.fromkeys(phrasings)) or [self.text]

    @property
    def addressed_speakers(self) -> frozenset[str]:
        """The speakers the query asks about: those it names, or the caller; empty if all."""
        users = [one for one in self.speakers if questions.is_user_label(one)]
        caller = users if not self.named_speakers and questions.is_first_person(self.text) else []
        addressed = frozenset(self.named_speakers or caller)
        return frozenset() if addressed == self.speakers else addressed

    def add_evidence(self, found: "RecallEvidence", at: datetime, read: Collection[str]) -> "RecallEvidence":
        """Add the evidence of the dates and speakers in the query, for fields that the profile reads."""
        from recollect.text.dates import distances_in_days, find_time_spans

        table = found.table
        spans = find_time_spans(self.text, at) if "days_off" in read else ()
        speakers = self.addressed_speakers if "addressed" in read else frozenset()
        days_off = distances_in_days(spans, table.dates["created_at"]) if spans else None
        addressed = _match_speakers(speakers, table.labels["speaker"]) if speakers else None
        if days_off is None and addressed is None:
            return found
        return replace(found, table=table.with_evidence(days_off=days_off, addressed=addressed))


def _match_speakers(names: frozenset[str], speakers: "Labels") -> "Floats":
    """Return 1 for rows of these speakers, 0 for others, and ½ where the speaker is unknown."""
    import numpy as np

    worth = np.array([*(float(name in names) for name in speakers.names), 0.5])
    return worth[speakers.codes]
