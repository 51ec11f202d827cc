"""Runs an evaluation: loads the memories of a folder into a store and asks its queries.

`LoadedFolder` maps each id of the folder to the stored memory it became part of, since memories of one topic are
merged. `JudgmentStore` is a loaded store that can be queried any number of times.
"""

import hashlib
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Protocol

from recollect.engine.engine import DEFAULT_DEPTH, Engine
from recollect.errors import Conflict, InvalidInput, NotFound, show
from recollect.evaluation.judgments import MEMORIES_FILE, JudgedQuery, Judgments, can_see
from recollect.evaluation.measures import Twins
from recollect.evaluation.report import QueryAnswer
from recollect.model.context import Use
from recollect.model.draft import Created, Draft, Receipt, Refused, Reinforced, Unchanged, Updated
from recollect.model.enums import Status
from recollect.model.format import format_count
from recollect.model.memory import Memory
from recollect.packing.prompt import Prompt
from recollect.ranking.profile import Profile
from recollect.ranking.result import Ranking
from recollect.retrieval.eligibility import version_at
from recollect.text.paraphrase import are_paraphrases, paraphrase_key


@dataclass(frozen=True, slots=True)
class StoredHistory:
    """One stored memory: the folder's memories it was made of, and its versions, oldest first.

    Only memories of one topic are merged; repeated texts are not.
    """

    sources: tuple[Memory, ...]
    versions: tuple[Memory, ...]

    def version_at(self, at: datetime) -> Memory:
        """Return the version that was current at a moment."""
        return version_at(self.versions, at) or self.versions[0]

    def sources_until(self, at: datetime) -> dict[str, Memory]:
        """Return the source memories that existed at that moment, by id."""
        return {one.id: one for one in self.sources if one.created_at <= at}

    def ids_saying(self, at: datetime) -> list[str]:
        """Return the source ids whose text, or a paraphrase of it, was current at the moment."""
        written = self.sources_until(at)
        if len(self.sources) == 1:
            return list(written)
        said = self.version_at(at)
        return [id for id, one in written.items() if _say_the_same(one, said)]

    @property
    def merged_count(self) -> int:
        """How many sources repeat an earlier one."""
        return len(self.sources) - len({paraphrase_key(one) or one.hash for one in self.sources})


def _say_the_same(one: Memory, other: Memory) -> bool:
    return one.hash == other.hash or are_paraphrases(one, other)


@dataclass(frozen=True, slots=True)
class LoadedFolder:
    """The history of the stored memory that each id of the folder became part of."""

    histories: Mapping[str, StoredHistory] = field(hash=False)

    @property
    def merged_count(self) -> int:
        """How many memories of the folder repeat an earlier one of their topic."""
        return sum(course.merged_count for id, course in self.histories.items() if id == course.sources[0].id)

    def name_at(self, id: str, at: datetime) -> str:
        """Return the first source id whose text a stored memory had at that moment."""
        return next(iter(self.histories[id].ids_saying(at)), id)

    def find_twins(self, query: JudgedQuery) -> Twins:
        """Return the judged ids that are found under another id, with that id."""
        named = {id: self.name_at(id, query.asked_at) for id in self._current_ids(query)}
        return {id: name for id, name in named.items() if id != name}

    def find_replaced(self, query: JudgedQuery) -> tuple[str, ...]:
        """Return the judged ids whose text had been replaced by a later one at query time."""
        said = self._current_ids(query)
        return tuple(id for id in self._earlier_ids(query) if id not in said)

    def find_invisible(self, query: JudgedQuery) -> tuple[str, ...]:
        """Return the judged ids whose text was current, in a memory that the query cannot see."""
        return tuple(
            id for id in self._current_ids(query) if not can_see(query, self.histories[id].version_at(query.asked_at))
        )

    def _current_ids(self, query: JudgedQuery) -> list[str]:
        return [id for id in self._earlier_ids(query) if id in self.histories[id].ids_saying(query.asked_at)]

    def _earlier_ids(self, query: JudgedQuery) -> list[str]:
        """Return the judged ids that are no newer than the query."""
        there = {id: self.histories[id] for id in query.grades if id in self.histories}
        return [id for id, course in there.items() if id in course.sources_until(query.asked_at)]


ProgressCallback = Callable[[int, int], None]
"""Callback for progress: the count done, and the total."""

BATCH_SIZE = 64
"""How many memories are remembered in one batch."""

WARM_UP_QUERY = "what is known"
"""A query run once in every scope before timing, so that nothing is loaded during it."""

PROMPT_MARKER = "0" * 18
"""A boundary string as long as a real one; token costs depend only on its length."""


def load_folder(engine: Engine, judgements: Judgments, tell: ProgressCallback) -> LoadedFolder:
    """Remember all memories of the folder unless the store has them, and return their histories.

    Each memory has a retry key made of the folder's content. So memories that exist are neither written nor embedded
    again, and an interrupted run can continue. A store with other memories is refused. Repeated texts are not merged: a
    memory without a topic gets one of its own, since the engine merges only within a topic.
    """
    drafts = [_prepare_draft(draft, place, judgements.digest) for place, draft in enumerate(judgements.drafts)]
    _refuse_foreign_store(engine, judgements)
    receipts: list[Receipt] = []
    tell(0, len(drafts))
    for begun in range(0, len(drafts), BATCH_SIZE):
        try:
            receipts += engine.remember_all(drafts[begun : begun + BATCH_SIZE])
        except Conflict as error:
            raise _wrong_store_error(judgements, "it was loaded from other memories") from error
        tell(len(receipts), len(drafts))
    _refuse_changed_store(engine, receipts, judgements)
    return _build_loaded_folder(engine, judgements.memories, receipts)


def _build_loaded_folder(engine: Engine, memories: Sequence[Memory], receipts: Sequence[Receipt]) -> LoadedFolder:
    """Return the history of each memory; versions are read only for merged memories."""
    made_of: dict[str, list[Memory]] = {}
    for memory, receipt in zip(memories, receipts, strict=True):
        if receipt.kept:
            made_of.setdefault(receipt.id, []).append(memory)

    def course(id: str, several: Sequence[Memory]) -> StoredHistory:
        stored = several if len(several) == 1 else engine.history(id, scope=several[0].scope)
        # drop when and in which commit it was recorded, which differs between stores
        return StoredHistory(tuple(several), tuple(one.changed(recorded_at=None, commit=None) for one in stored))

    courses = [course(id, several) for id, several in made_of.items()]
    return LoadedFolder({one.id: course for course in courses for one in course.sources})


def _prepare_draft(draft: Draft, place: int, digest: str) -> Draft:
    """Return the draft with a retry key, and with a topic of its own if it has none.

    The topic is not the id: admission screens topics for secrets, and an id may look like one.
    """
    key = hashlib.sha256(f"{digest}/{draft.id}".encode()).hexdigest()
    return replace(draft, key=key, topic_key=draft.topic_key or f"memory {place} of the folder")


def _refuse_foreign_store(engine: Engine, judgements: Judgments) -> None:
    """Refuse a store that has memories but not the first one of the folder.

    The first memory has no earlier duplicate, so it is always stored under its own id.
    """
    first, there = judgements.memories[0], engine.stats().memories
    if not there:
        return
    try:
        engine.get(first.id, scope=first.scope)
    except NotFound as error:
        raise _wrong_store_error(judgements, f"it has {_count_in_words(there)}, and not {show(first.id)}") from error


def _refuse_changed_store(engine: Engine, receipts: Iterable[Receipt], judgements: Judgments) -> None:
    """Refuse a store with other memories, or one changed or used after it was loaded."""
    given, stats = [receipt for receipt in receipts if receipt.kept], engine.stats()
    memories = len({receipt.id for receipt in given})
    written = sum(not isinstance(receipt.verdict, Reinforced | Unchanged | Refused) for receipt in given)
    plain = all(
        isinstance(receipt.verdict, _SINGLE_VERSION_VERDICTS) for receipt in given
    )  # other verdicts may write more than one version
    if stats.memories != memories:
        raise _wrong_store_error(judgements, f"it has {_count_in_words(stats.memories)}, and the folder {memories}")
    if plain and (stats.versions != written or stats.statuses.get(Status.ACTIVE, 0) != memories):
        raise _wrong_store_error(judgements, "some were changed since")
    if stats.contexts or any(stats.uses.get(use) for use in (Use.SERVED, Use.HELPED, Use.MISLED)):
        raise _wrong_store_error(judgements, "some were recalled since, which a ranking may take into account")


_SINGLE_VERSION_VERDICTS = (Created, Updated, Reinforced, Unchanged)
"""Verdicts that write at most one version, of an active memory."""


def _count_in_words(count: int) -> str:
    return format_count(count, "memory", "memories")


def _wrong_store_error(judgements: Judgments, why: str) -> InvalidInput:
    what = f"the store is not what loading {str(judgements.folder / MEMORIES_FILE)!r} gives"
    return InvalidInput(f"{what}: {why}; name another file with --store")


def ask_queries(
    engine: Engine,
    judgements: Judgments,
    loaded: LoadedFolder,
    profile: Profile,
    *,
    depth: int = DEFAULT_DEPTH,
    tell: ProgressCallback,
) -> list[QueryAnswer]:
    """Run every query as of its own time; nothing is recorded, so queries are independent."""
    queries = judgements.queries
    prompt, costs = Prompt(PROMPT_MARKER), dict[str, int]()
    for scope in dict.fromkeys(query.scope for query in queries):
        engine.search(WARM_UP_QUERY, scope=scope, profile=profile, limit=depth, as_of=judgements.ended_at)

    def answer(query: JudgedQuery) -> QueryAnswer:
        begun = time.perf_counter()
        ranking = engine.search(query.text, scope=query.scope, profile=profile, limit=depth, as_of=query.asked_at)
        took = timedelta(seconds=time.perf_counter() - begun)
        found, together = tuple(loaded.name_at(one.id, query.asked_at) for one in ranking), loaded.find_twins(query)
        needed = {together.get(id, id) for id in query.grades}
        within = found[: profile.max_items]
        judged = [place for place, id in enumerate(within) if id in needed]
        return QueryAnswer(
            query=query,
            found_ids=found,
            tokens=_count_tokens(ranking, judged[-1], prompt, costs) if judged else None,
            complete=needed <= set(within),
            duration=took,
            exact=ranking.exact,
            twins=together,
            replaced_ids=loaded.find_replaced(query),
        )

    answers: list[QueryAnswer] = []
    tell(0, len(queries))
    for query in queries:
        answers.append(answer(query))
        tell(len(answers), len(queries))
    return answers


def _count_tokens(ranking: Ranking, last: int, prompt: Prompt, costs: dict[str, int]) -> int:
    """Return the token budget that packs the ranking up to this place: the frame and each block."""
    blocks: Sequence[str] = [prompt.block(scored) for scored in ranking[: last + 1]]
    for block in blocks:
        if block not in costs:
            costs[block] = prompt.tokens(block)
    return prompt.tokens(prompt.frame) + sum(costs[block] for block in blocks)


def ignore_progress(done: int, total: int) -> None:
    """Ignore progress."""


class StoreOpener(Protocol):
    """Opens the store of a folder with a given clock."""

    def __call__(self, *, clock: Callable[[], datetime]) -> AbstractContextManager[Engine]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgmentStore:
    """A loaded folder: its histories, the model of its vectors, and how to open the store."""

    judgments: Judgments
    loaded: LoadedFolder
    embedder: str
    open_store: StoreOpener

    @property
    def merged_count(self) -> int:
        """How many memories repeat an earlier one of their topic, which is kept in their place."""
        return self.loaded.merged_count

    @property
    def invisible_count(self) -> int:
        """How many judged memories existed at query time but were not visible to the query.

        They were not in its scope or not valid. The stored memory counts as it was then, so duplicates share what one
        of them shares or ends.
        """
        return sum(len(self.loaded.find_invisible(query)) for query in self.judgments.queries)

    @contextmanager
    def open_engine(self) -> Iterator[Engine]:
        """Open the store as of the end of the folder.

        Every call opens a new engine, since cached embeddings would make later runs look faster.
        """
        ended_at = self.judgments.ended_at
        with self.open_store(clock=lambda: ended_at) as engine:
            yield engine

    def ask(
        self, profile: Profile, *, depth: int = DEFAULT_DEPTH, tell: ProgressCallback = ignore_progress
    ) -> list[QueryAnswer]:
        """Return the answers of a profile to every query."""
        with self.open_engine() as engine:
            return ask_queries(engine, self.judgments, self.loaded, profile, depth=depth, tell=tell)


def load_judgment_store(
    judgements: Judgments, opens: StoreOpener, tell: ProgressCallback = ignore_progress
) -> JudgmentStore:
    """Load the folder into its store, unless it is there already."""
    written_at = judgements.written_at
    # use the memories' own time, so that records of the loading never expire
    with opens(clock=lambda: written_at) as engine:
        loaded = load_folder(engine, judgements, tell)
        return JudgmentStore(judgments=judgements, loaded=loaded, embedder=engine.embedder, open_store=opens)
