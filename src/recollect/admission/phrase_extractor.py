"""The extractor that needs no model: it uses phrase rules."""

from collections.abc import Sequence
from dataclasses import dataclass

from recollect.admission.policy import ConfidencePolicy, ImportancePolicy
from recollect.model.conversation import ConversationTurn, Extraction


@dataclass(frozen=True, slots=True, kw_only=True)
class PhraseExtractor:
    """Extracts explicit statements, by rules that are narrow enough to be right."""

    importance: ImportancePolicy = ImportancePolicy()
    confidence: ConfidencePolicy = ConfidencePolicy()
    name: str = "phrases"
    verbatim: bool = True

    def extract(self, turns: Sequence[ConversationTurn], *, most: int) -> Extraction:
        """Return at most `most` extracts, in the words of the conversation."""
        from recollect.admission.phrase_rules import extract_phrases  # hundreds of patterns, loaded only for extraction

        found = extract_phrases(turns, most=most, importance=self.importance, confidence=self.confidence)
        return Extraction(extracts=found)
