"""Report: all that one evaluation came to, and what it was made with."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from recollect.evaluation.figures import ProfileComparison, ProfileEvaluation
from recollect.evaluation.judgments import Judgments
from recollect.model.format import format_count


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationReport:
    """The outcomes of a folder, best read with what they were made with.

    `merged_count` ids say what another one of their topic said before; `invisible_count` judged memories are such as
    the query does not see.
    """

    judgments: Judgments
    outcomes: tuple[ProfileEvaluation, ...]
    comparison: ProfileComparison | None
    embedder: str
    merged_count: int
    invisible_count: int
    command: str
    versions: Mapping[str, str] = field(hash=False)
    made_at: datetime

    @property
    def replaced_count(self) -> int:
        """How many judged memories had been replaced by a later one when it was asked; no profile changes that."""
        return sum(len(answer.replaced_ids) for answer in self.outcomes[0].answers)

    @property
    def notes(self) -> list[str]:
        """What a reader of the figures should know of the folder; nothing of what is as it should be."""
        judged = self.judgments
        told = (
            (judged.unjudged_queries, "query", "queries", "without judgements: left out"),
            (judged.absent_pairs, "judged memory", "judged memories", "not in the folder: counted as not found"),
            (judged.late_pairs, "judged memory", "judged memories", "later than the query: counted as not found"),
            (self.replaced_count, "judged memory", "judged memories", "replaced by a later one: counted as not found"),
            (
                self.invisible_count,
                "judged memory",
                "judged memories",
                "out of the query's sight: counted as not found",
            ),
            (judged.blind_queries, "query", "queries", "with no memory in sight: counted as finding nothing"),
            (
                self.merged_count,
                "memory",
                "memories",
                "with the text of an earlier one of the same topic, in whose place it counts",
            ),
        )
        return [f"{format_count(count, one, several)} {what}" for count, one, several, what in told if count]
