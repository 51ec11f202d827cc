"""The extractor that needs no model: phrase rules."""

from collections.abc import Sequence
from dataclasses import dataclass

from recollect.admission.policy import ConfidencePolicy, ImportancePolicy
from recollect.model.conversation import ConversationTurn, Extraction


@dataclass(frozen=True, slots=True, kw_only=True)
class PhraseExtractor:
    """Understands what is said outright, by rules that are narrow enough to be right."""

    importance: ImportancePolicy = ImportancePolicy()
    confidence: ConfidencePolicy = ConfidencePolicy()
    name: str = "phrases"
    verbatim: bool = True

    def extract(self, turns: Sequence[ConversationTurn], *, most: int) -> Extraction:
        """At most so many memories to be, each in the words of the conversation."""
        from recollect.admission.phrase_rules import extract_phrases  # hundreds of patterns, for those who extract

        found = extract_phrases(turns, most=most, importance=self.importance, confidence=self.confidence)
        return Extraction(extracts=found)
