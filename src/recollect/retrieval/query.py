"""A query, as a text or the last turns of a chat, and what it looks for."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from recollect.errors import FieldError, show
from recollect.model import validation
from recollect.text import questions
from recollect.text.entities import find_candidate_names
from recollect.text.tokenizer import tokenize

if TYPE_CHECKING:
    from recollect.retrieval.snapshot import Snapshot
    from recollect.text import dates


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


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryAnalysis:
    """What a query looks for, as far as a profile reads it.

    `phrasings` are embedded, and the nearest counts. `terms` are for BM25, and `names` for entity links. `days` are the
    days and periods that the query names. `addressed` are the speakers it asks about, none if it may be any. `in_turns`
    matches a memory together with the turns before it in its session.
    """

    phrasings: tuple[str, ...] = ()
    terms: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    days: "tuple[dates.TimeSpan, ...]" = ()
    addressed: frozenset[str] = frozenset()
    in_turns: bool = False


def analyze(query: Query, snapshot: "Snapshot", fields: Collection[str], *, in_turns: bool) -> QueryAnalysis:
    """Analyze a query among the speakers of a snapshot, for the fields of candidates that a profile reads."""
    from recollect.text import dates  # imports NumPy

    text = query.text
    speakers = snapshot.speakers if in_turns or "addressed" in fields else frozenset[str]()
    named = questions.find_named_speakers(text, speakers) if speakers else ()
    return QueryAnalysis(
        phrasings=_rephrase(text, named) if in_turns else (text,),
        terms=tuple(dict.fromkeys(tokenize(text))) if "lexical" in fields else (),
        names=find_candidate_names(text) if "linked" in fields else (),
        days=dates.find_time_spans(text, snapshot.view.at) if "days_off" in fields else (),
        addressed=_find_addressed(text, named, speakers) if "addressed" in fields else frozenset(),
        in_turns=in_turns,
    )


def _rephrase(text: str, named: Sequence[str]) -> tuple[str, ...]:
    """Return the query as its named speakers would put it, because they said "I"; else as it is."""
    phrasings = [questions.rephrase_as_speaker(text, name) for name in named[:MAX_PHRASINGS]]
    return tuple(dict.fromkeys(phrasings)) or (text,)


def _find_addressed(text: str, named: Sequence[str], speakers: frozenset[str]) -> frozenset[str]:
    """Return the speakers that the query names, or the caller; none if these are all."""
    users = [one for one in speakers if questions.is_user_label(one)]
    addressed = frozenset(named or (users if questions.is_first_person(text) else []))
    return frozenset() if addressed == speakers else addressed
