"""World: the store, embedder, clock and dice that a use case is given."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from typing import TYPE_CHECKING

from recollect.admission.phrase_extractor import PhraseExtractor
from recollect.admission.policy import Policy
from recollect.errors import FieldError, ProviderError, show
from recollect.lifecycle.consolidation import ConsolidationPolicy
from recollect.lifecycle.episode_retention import EpisodicPolicy
from recollect.lifecycle.extractive_summarizer import ExtractiveSummariser
from recollect.lifecycle.policy import LifecyclePolicy
from recollect.lifecycle.sessions import SessionsPolicy
from recollect.lifecycle.topics import TopicsPolicy
from recollect.model import validation
from recollect.model.encoder import Encoder
from recollect.model.extraction import MOST_EXTRACTED
from recollect.model.format import not_come_yet
from recollect.model.trust import Provenance
from recollect.packing.tokens import TokenCounter
from recollect.protocols import Embedder, Extractor, Purpose, Store, Summariser
from recollect.ranking.profile import Profile
from recollect.ranking.profile_toml import Document, override

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """What a use case may touch outside of itself."""

    store: Store
    embedder: Embedder
    clock: Callable[[], datetime]
    new_id: Callable[[datetime], str]
    new_marker: Callable[[], str]
    profile_named: Callable[[str], Profile]
    default_profile: Profile
    count: TokenCounter
    policy: Policy = Policy()
    extractor: Extractor = PhraseExtractor()
    most_extracted: int = MOST_EXTRACTED
    lifecycle: LifecyclePolicy = LifecyclePolicy()
    zone: tzinfo = UTC
    consolidation: ConsolidationPolicy = ConsolidationPolicy()
    topics: TopicsPolicy = TopicsPolicy()
    episodic: EpisodicPolicy = EpisodicPolicy()
    sessions: SessionsPolicy = SessionsPolicy()
    summariser: Summariser = ExtractiveSummariser()

    @property
    def encoder(self) -> Encoder:
        """The model that the embedder is."""
        return Encoder(self.embedder.name, self.embedder.dimensions)

    @property
    def summarised_by(self) -> Provenance | None:
        """Who stands between what was said and its summary, if anybody does."""
        return None if self.summariser.verbatim else Provenance.MODEL_INFERENCE

    def now(self) -> datetime:
        """The present moment, in UTC."""
        return validation.a_moment("clock", self.clock())

    def profile(self, given: Profile | str | None, overrides: Document | None = None) -> Profile:
        """The profile itself, the one of that name, or the one that goes without saying; as overridden."""
        named = self.profile_named(given) if isinstance(given, str) else given
        chosen = self.default_profile if named is None else named
        if not isinstance(chosen, Profile):
            raise FieldError(f"{show(chosen)} is neither a profile nor the name of one", field="profile")
        return chosen if overrides is None else override(chosen, overrides)

    def embed(self, texts: Sequence[str], purpose: Purpose) -> "NDArray[np.float32]":
        """A direction for each text."""
        return embed(self.embedder, texts, purpose)


def embed(embedder: Embedder, texts: Sequence[str], purpose: Purpose) -> "NDArray[np.float32]":
    """A direction for each text; an embedder that gives anything else has failed."""
    import numpy as np

    from recollect.retrieval.vectors import directions

    found = np.asarray(embedder.embed(texts, purpose))
    if found.shape != (len(texts), embedder.dimensions):
        wanted = f"({len(texts)}, {embedder.dimensions})"
        raise ProviderError(f"embedder {embedder.name!r} gave numbers of shape {found.shape}; it promised {wanted}")
    try:
        return directions(found) if len(texts) else found.astype(np.float32)
    except FieldError as error:
        raise ProviderError(f"embedder {embedder.name!r} gave a vector that {error.problem}") from error


def not_later(field: str, moment: datetime | None, now: datetime) -> datetime:
    """The moment, or now; refused if it has not come yet."""
    if moment is None:
        return now
    moment = validation.a_moment(field, moment)
    if moment > now:
        raise FieldError(not_come_yet(moment, now), field=field)
    return moment
