"""A Pydantic AI toolset on an engine: an agent remembers, recalls, and gives feedback."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any

from pydantic import Field

from recollect.engine.engine import Engine
from recollect.errors import Conflict, InvalidInput, NotFound
from recollect.integrations.shared import requires_extra
from recollect.model.draft import Receipt
from recollect.model.enums import Kind, Provenance, parse_choice
from recollect.model.memory import Memory
from recollect.model.scope import Scope, as_scope
from recollect.ranking.profile import Profile
from recollect.ranking.why import describe_change, describe_fate

with requires_extra("pydantic-ai"):
    from pydantic_ai import FunctionToolset
    from pydantic_ai.exceptions import ToolFailed

DEFAULT_TOKENS = 1200
"""The default budget of a recall, in tokens."""

MAX_RESULTS = 50
"""The highest limit of a search."""

UnitInterval = Annotated[float, Field(ge=0, le=1)]
Limit = Annotated[int, Field(ge=1, le=MAX_RESULTS)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """What became of a memory: its id, if there is one; the verdict, and why; and what was taken out of it."""

    id: str | None
    verdict: str
    reason: str
    redacted: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """A memory that was found, and how well."""

    id: str
    text: str
    kind: str
    observed_at: datetime
    score: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """The memories that fit a query, the best first; none if none does."""

    memories: tuple[Shown, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Recalled:
    """Memories for the question, as a text to read, and their ids; `context` is for feedback on them."""

    context: str | None
    text: str
    ids: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reason:
    """Where a memory stands or fell when the question is asked, its score part by part, and what would change it."""

    step: str
    score: float
    explanation: str
    changes: tuple[str, ...]


class MemoryToolset(FunctionToolset[Any]):
    """The tools remember, recall, search, why, feedback and forget, all for one fixed scope.

    No model can change the scope. Errors are reported to the model as failures of the tool. The engine removes or
    rejects a secret, and the result says so.
    """

    def __init__(
        self,
        engine: Engine,
        scope: str | Scope,
        *,
        tokens: int = DEFAULT_TOKENS,
        profile: Profile | str | None = None,
        provenance: Provenance | str = Provenance.MODEL_INFERENCE,
        id: str = "recollect",
    ) -> None:
        self._engine = engine
        self._scope = as_scope(scope)
        self._tokens = tokens
        self._profile = profile
        self._provenance = parse_choice("provenance", provenance, Provenance)
        super().__init__((self.remember, self.recall, self.search, self.why, self.feedback, self.forget), id=id)

    def remember(
        self, text: str, kind: Kind | None = None, importance: UnitInterval | None = None, topic_key: str | None = None
    ) -> Written:
        """Remember one thing that is worth knowing later, in a sentence that can be understood by itself.

        Args:
            text: What to remember.
            kind: What sort of thing it is.
            importance: How much it matters, from 0 to 1.
            topic_key: A name for what it is about; what was remembered under that name before is replaced.
        """
        with _translate_errors():
            receipt = self._engine.remember(
                text,
                scope=self._scope,
                kind=kind,
                importance=importance,
                topic_key=topic_key,
                provenance=self._provenance,
            )
        return _to_remember_result(receipt)

    def recall(self, question: str) -> Recalled:
        """Recall what is known that helps to answer a question, ready to be read.

        Args:
            question: What you want to know.
        """
        with _translate_errors():
            context = self._engine.recall(question, scope=self._scope, tokens=self._tokens, profile=self._profile)
        return Recalled(context=context.id, text=context.text, ids=tuple(one.id for one in context.packed))

    def search(self, query: str, limit: Limit = 10) -> Found:
        """List the memories that fit a query best, the best first, with their ids.

        Args:
            query: What to look for.
            limit: How many at most.
        """
        with _translate_errors():
            ranking = self._engine.search(query, scope=self._scope, limit=limit, profile=self._profile)
            self._engine.contexts.count_served(ranking, scope=self._scope)
        return Found(memories=tuple(_to_search_hit(one.memory, float(one.score)) for one in ranking))

    def why(self, id: str, question: str) -> Reason:
        """Say why a memory is recalled for a question, or why it is not, and what would change that.

        Args:
            id: The id of the memory.
            question: The question that is asked.
        """
        with _translate_errors():
            why = self._engine.why(id, question, scope=self._scope, tokens=self._tokens, profile=self._profile)
        return Reason(
            step=f"it {describe_fate(why.fate, why.candidate.memory)}",
            score=why.explanation.score,
            explanation=str(why.explanation),
            changes=tuple(map(describe_change, why.changes)),
        )

    def feedback(
        self, context: str, helped: tuple[str, ...] = (), misled: tuple[str, ...] = (), answer: str | None = None
    ) -> str:
        """Say which memories of a recall helped with the answer and which misled, so that better ones come first.

        Args:
            context: The context that the recall gave.
            helped: Ids of the memories that helped.
            misled: Ids of the memories that misled.
            answer: The answer that was given.
        """
        with _translate_errors():
            self._engine.feedback(context, scope=self._scope, helped=helped, misled=misled, answer=answer)
        return f"noted: {len(helped)} helped, {len(misled)} misled"

    def forget(self, id: str) -> Written:
        """Forget a memory that is wrong or no longer wanted; it is not recalled any more.

        Args:
            id: The id of the memory.
        """
        with _translate_errors():
            return _to_remember_result(self._engine.forget(id, scope=self._scope, provenance=self._provenance))


@contextmanager
def _translate_errors() -> Iterator[None]:
    """Turn errors of the engine into tool failures the model sees; other errors end the run."""
    try:
        yield
    except (InvalidInput, NotFound, Conflict) as error:
        raise ToolFailed(str(error)) from error


def _to_remember_result(receipt: Receipt) -> Written:
    return Written(
        id=receipt.id if receipt.kept else None,
        verdict=type(receipt.verdict).__name__.lower(),
        reason=receipt.reason,
        redacted=receipt.redacted,
    )


def _to_search_hit(memory: Memory, score: float) -> Shown:
    observed = memory.observed_at or memory.created_at
    return Shown(id=memory.id, text=memory.text, kind=memory.kind.value, observed_at=observed, score=score)
