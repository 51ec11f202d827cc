"""Report: all that one evaluation came to, and what it was made with."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from recollect.evaluation.figures import Comparison, Outcome
from recollect.evaluation.judgments import Judgements
from recollect.model.format import counted


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """The outcomes of a folder, best read with what they were made with.

    `merged` ids say what another one of their topic said before; `outside` judged memories are such as the query does
    not see.
    """

    judgements: Judgements
    outcomes: tuple[Outcome, ...]
    comparison: Comparison | None
    embedder: str
    merged: int
    outside: int
    command: str
    versions: Mapping[str, str] = field(hash=False)
    made_at: datetime

    @property
    def replaced(self) -> int:
        """How many judged memories had been replaced by a later one when it was asked; no profile changes that."""
        return sum(len(answer.replaced) for answer in self.outcomes[0].answers)

    @property
    def notes(self) -> list[str]:
        """What a reader of the figures should know of the folder; nothing of what is as it should be."""
        judged = self.judgements
        told = (
            (judged.unjudged, "query", "queries", "without judgements: left out"),
            (judged.absent, "judged memory", "judged memories", "not in the folder: counted as not found"),
            (judged.later, "judged memory", "judged memories", "later than the query: counted as not found"),
            (self.replaced, "judged memory", "judged memories", "replaced by a later one: counted as not found"),
            (self.outside, "judged memory", "judged memories", "out of the query's sight: counted as not found"),
            (judged.blind, "query", "queries", "with no memory in sight: counted as finding nothing"),
            (
                self.merged,
                "memory",
                "memories",
                "with the text of an earlier one of the same topic, in whose place it counts",
            ),
        )
        return [f"{counted(count, one, several)} {what}" for count, one, several, what in told if count]
