"""Asked: whom and which days a question names, and what follows from that for each memory."""

from collections.abc import Collection
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING

from recollect.text import questions

if TYPE_CHECKING:
    from recollect.model.table import Floats, Labels
    from recollect.retrieval.evidence import Found

MOST_NAMED = 3
"""From how many sides a question is put at most; the first by name, as each costs an embedding."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A question among people: whom it names of all who said something, and whether it is about whoever asks."""

    text: str
    everyone: frozenset[str]
    named: tuple[str, ...]

    @classmethod
    def of(cls, text: str, speakers: Collection[str]) -> "Asked":
        """The question, put where these have said something."""
        everyone = frozenset(speakers)
        return cls(text, everyone, questions.named(text, everyone))

    @property
    def ways(self) -> list[str]:
        """The question as it is put: the way that those would put it whom it names, for they said I; or as it is."""
        ways = [questions.as_said_by(self.text, name) for name in self.named[:MOST_NAMED]]
        return list(dict.fromkeys(ways)) or [self.text]

    @property
    def addressed(self) -> frozenset[str]:
        """Whose words are asked for, if that tells some from others: theirs who are named, or the asker's own."""
        users = [one for one in self.everyone if questions.is_user(one)]
        asker = users if not self.named and questions.in_first_person(self.text) else []
        wanted = frozenset(self.named or asker)
        return frozenset() if wanted == self.everyone else wanted

    def heard_by(self, found: "Found", at: datetime, read: Collection[str]) -> "Found":
        """What was found, with what the question says of who and when, as far as anyone reads these fields."""
        from recollect.text.dates import days_off, named_spans

        table = found.table
        spans = named_spans(self.text, at) if "days_off" in read else ()
        wanted = self.addressed if "addressed" in read else frozenset()
        off = days_off(spans, table.dates["created_at"]) if spans else None
        spoken = _said_by(wanted, table.labels["speaker"]) if wanted else None
        if off is None and spoken is None:
            return found
        return replace(found, table=table.with_evidence(days_off=off, addressed=spoken))


def _said_by(wanted: frozenset[str], speakers: "Labels") -> "Floats":
    """1 for what these said, 0 for what others did, and ½ for what anybody may have said."""
    import numpy as np

    worth = np.array([*(float(name in wanted) for name in speakers.names), 0.5])
    return worth[speakers.codes]
