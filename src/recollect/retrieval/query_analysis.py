"""Asked: whom and which days a question names, and what follows from that for each memory."""

from collections.abc import Collection
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING

from recollect.text import questions

if TYPE_CHECKING:
    from recollect.model.table import Floats, Labels
    from recollect.retrieval.evidence import RecallEvidence

MAX_PHRASINGS = 3
"""From how many sides a question is put at most; the first by name, as each costs an embedding."""


@dataclass(frozen=True, slots=True)
class QueryAnalysis:
    """A question among people: whom it names of all who said something, and whether it is about whoever asks."""

    text: str
    speakers: frozenset[str]
    named_speakers: tuple[str, ...]

    @classmethod
    def of(cls, text: str, speakers: Collection[str]) -> "QueryAnalysis":
        """The question, put where these have said something."""
        everyone = frozenset(speakers)
        return cls(text, everyone, questions.find_named_speakers(text, everyone))

    @property
    def phrasings(self) -> list[str]:
        """The question as it is put: the way that those would put it whom it names, for they said I; or as it is."""
        ways = [questions.rephrase_as_speaker(self.text, name) for name in self.named_speakers[:MAX_PHRASINGS]]
        return list(dict.fromkeys(ways)) or [self.text]

    @property
    def addressed_speakers(self) -> frozenset[str]:
        """Whose words are asked for, if that tells some from others: theirs who are named, or the asker's own."""
        users = [one for one in self.speakers if questions.is_user_label(one)]
        asker = users if not self.named_speakers and questions.is_first_person(self.text) else []
        wanted = frozenset(self.named_speakers or asker)
        return frozenset() if wanted == self.speakers else wanted

    def add_evidence(self, found: "RecallEvidence", at: datetime, read: Collection[str]) -> "RecallEvidence":
        """What was found, with what the question says of who and when, as far as anyone reads these fields."""
        from recollect.text.dates import distances_in_days, find_time_spans

        table = found.table
        spans = find_time_spans(self.text, at) if "days_off" in read else ()
        wanted = self.addressed_speakers if "addressed" in read else frozenset()
        off = distances_in_days(spans, table.dates["created_at"]) if spans else None
        spoken = _match_speakers(wanted, table.labels["speaker"]) if wanted else None
        if off is None and spoken is None:
            return found
        return replace(found, table=table.with_evidence(days_off=off, addressed=spoken))


def _match_speakers(wanted: frozenset[str], speakers: "Labels") -> "Floats":
    """1 for what these said, 0 for what others did, and ½ for what anybody may have said."""
    import numpy as np

    worth = np.array([*(float(name in wanted) for name in speakers.names), 0.5])
    return worth[speakers.codes]
