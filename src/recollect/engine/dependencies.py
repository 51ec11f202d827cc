"""Dependencies: the store, models, clock, id generator and policies that use cases need."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from typing import TYPE_CHECKING

from recollect.admission.extraction import PhraseExtractor
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
    """Everything outside itself that a use case may touch."""

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
        """The embedder's model: its name and dimensions."""
        return Encoder(self.embedder.name, self.embedder.dimensions)

    @property
    def summary_provenance(self) -> Provenance | None:
        """The provenance of summaries: MODEL_INFERENCE if a model writes them, else None."""
        return None if self.summarizer.verbatim else Provenance.MODEL_INFERENCE

    def now(self) -> datetime:
        """Return the current time in UTC."""
        return validation.require_moment("clock", self.clock())

    def resolve_profile(self, profile: Profile | str | None, overrides: ProfileDocument | None = None) -> Profile:
        """Return the given profile, the one with this name, or the default one; with overrides."""
        selected = self.profile_by_name(profile) if isinstance(profile, str) else profile
        chosen = self.default_profile if selected is None else selected
        if not isinstance(chosen, Profile):
            raise FieldError(f"{show(chosen)} is neither a profile nor the name of one", field="profile")
        return chosen if overrides is None else override_profile(chosen, overrides)

    def embed(self, texts: Sequence[str], purpose: Purpose) -> "NDArray[np.float32]":
        """Return a unit vector for each text."""
        return embed(self.embedder, texts, purpose)


def embed(embedder: Embedder, texts: Sequence[str], purpose: Purpose) -> "NDArray[np.float32]":
    """Return a unit vector for each text; raise ProviderError if the embedder returns anything else."""
    import numpy as np

    from recollect.retrieval.vectors import normalize_vectors

    vectors = np.asarray(embedder.embed(texts, purpose))
    expected = len(texts), embedder.dimensions
    if vectors.shape != expected:
        raise ProviderError(f"embedder {embedder.name!r} returned shape {vectors.shape} instead of {expected}")
    try:
        return normalize_vectors(vectors) if len(texts) else vectors.astype(np.float32)
    except FieldError as error:
        raise ProviderError(f"embedder {embedder.name!r} returned a vector that {error.problem}") from error


def require_not_future(field: str, moment: datetime | None, now: datetime) -> datetime:
    """Return the moment, or now if it is None; raise FieldError if it is in the future."""
    if moment is None:
        return now
    moment = validation.require_moment(field, moment)
    if moment > now:
        raise FieldError(describe_future(moment, now), field=field)
    return moment
