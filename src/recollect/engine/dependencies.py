"""World: the store, embedder, clock and dice that a use case is given."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from typing import TYPE_CHECKING

from recollect.admission.phrase_extractor import PhraseExtractor
from recollect.admission.policy import AdmissionPolicy
from recollect.errors import FieldError, ProviderError, show
from recollect.lifecycle.consolidation import ConsolidationPolicy
from recollect.lifecycle.episodes import EpisodicPolicy
from recollect.lifecycle.extractive_summarizer import ExtractiveSummarizer
from recollect.lifecycle.policy import LifecyclePolicy
from recollect.lifecycle.sessions import SessionsPolicy
from recollect.lifecycle.topics import TopicsPolicy
from recollect.model import validation
from recollect.model.conversation import MAX_EXTRACTS
from recollect.model.encoder import Encoder
from recollect.model.enums import Provenance
from recollect.model.format import describe_future
from recollect.packing.tokens import TokenCounter
from recollect.protocols import Embedder, Extractor, Purpose, Store, Summarizer
from recollect.ranking.profile import Profile
from recollect.ranking.profile_toml import ProfileDocument, override_profile

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, kw_only=True)
class Dependencies:
    """What a use case may touch outside of itself."""

    store: Store
    embedder: Embedder
    clock: Callable[[], datetime]
    new_id: Callable[[datetime], str]
    new_marker: Callable[[], str]
    profile_by_name: Callable[[str], Profile]
    default_profile: Profile
    count_tokens: TokenCounter
    policy: AdmissionPolicy = AdmissionPolicy()
    extractor: Extractor = PhraseExtractor()
    max_extracted: int = MAX_EXTRACTS
    lifecycle: LifecyclePolicy = LifecyclePolicy()
    time_zone: tzinfo = UTC
    consolidation: ConsolidationPolicy = ConsolidationPolicy()
    topics: TopicsPolicy = TopicsPolicy()
    episodic: EpisodicPolicy = EpisodicPolicy()
    sessions: SessionsPolicy = SessionsPolicy()
    summarizer: Summarizer = ExtractiveSummarizer()

    @property
    def encoder(self) -> Encoder:
        """The model that the embedder is."""
        return Encoder(self.embedder.name, self.embedder.dimensions)

    @property
    def summary_provenance(self) -> Provenance | None:
        """Who stands between what was said and its summary, if anybody does."""
        return None if self.summarizer.verbatim else Provenance.MODEL_INFERENCE

    def now(self) -> datetime:
        """The present moment, in UTC."""
        return validation.require_moment("clock", self.clock())

    def resolve_profile(self, given: Profile | str | None, overrides: ProfileDocument | None = None) -> Profile:
        """The profile itself, the one of that name, or the one that goes without saying; as overridden."""
        named = self.profile_by_name(given) if isinstance(given, str) else given
        chosen = self.default_profile if named is None else named
        if not isinstance(chosen, Profile):
            raise FieldError(f"{show(chosen)} is neither a profile nor the name of one", field="profile")
        return chosen if overrides is None else override_profile(chosen, overrides)

    def embed(self, texts: Sequence[str], purpose: Purpose) -> "NDArray[np.float32]":
        """A direction for each text."""
        return embed(self.embedder, texts, purpose)


def embed(embedder: Embedder, texts: Sequence[str], purpose: Purpose) -> "NDArray[np.float32]":
    """A direction for each text; an embedder that gives anything else has failed."""
    import numpy as np

    from recollect.retrieval.vectors import normalize_vectors

    found = np.asarray(embedder.embed(texts, purpose))
    if found.shape != (len(texts), embedder.dimensions):
        wanted = f"({len(texts)}, {embedder.dimensions})"
        raise ProviderError(f"embedder {embedder.name!r} gave numbers of shape {found.shape}; it promised {wanted}")
    try:
        return normalize_vectors(found) if len(texts) else found.astype(np.float32)
    except FieldError as error:
        raise ProviderError(f"embedder {embedder.name!r} gave a vector that {error.problem}") from error


def require_not_future(field: str, moment: datetime | None, now: datetime) -> datetime:
    """The moment, or now; refused if it has not come yet."""
    if moment is None:
        return now
    moment = validation.require_moment(field, moment)
    if moment > now:
        raise FieldError(describe_future(moment, now), field=field)
    return moment
