"""Runs an evaluation: loads the memories of a folder into a store and asks its queries.

`LoadedFolder` maps each id of the folder to its stored memory, because memories of one topic are merged.
`JudgmentStore` is a loaded store that can be queried any number of times.
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
from recollect.protocols import ProgressListener, ignore_progress
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
        sources = self.sources_until(at)
        if len(self.sources) == 1:
            return list(sources)
        current = self.version_at(at)
        return [id for id, source in sources.items() if source.hash == current.hash or are_paraphrases(source, current)]

    @property
    def merged_count(self) -> int:
        """How many sources repeat an earlier one."""
        return len(self.sources) - len({paraphrase_key(one) or one.hash for one in self.sources})


@dataclass(frozen=True, slots=True)
class LoadedFolder:
    """The history of the stored memory that each id of the folder became part of."""

    histories: Mapping[str, StoredHistory] = field(hash=False)

    @property
    def merged_count(self) -> int:
        """How many memories of the folder repeat an earlier one of their topic."""
        return sum(one.merged_count for id, one in self.histories.items() if id == one.sources[0].id)

    def name_at(self, id: str, at: datetime) -> str:
        """Return the first source id whose text a stored memory had at that moment."""
        return next(iter(self.histories[id].ids_saying(at)), id)

    def find_twins(self, query: JudgedQuery) -> Twins:
        """Return the judged ids that are found under another id, with that id."""
        names = {id: self.name_at(id, query.asked_at) for id in self._current_ids(query)}
        return {id: name for id, name in names.items() if id != name}

    def find_replaced(self, query: JudgedQuery) -> tuple[str, ...]:
        """Return the judged ids whose text had been replaced by a later one at query time."""
        current = self._current_ids(query)
        return tuple(id for id in self._earlier_ids(query) if id not in current)

    def find_invisible(self, query: JudgedQuery) -> tuple[str, ...]:
        """Return the judged ids whose text was current, in a memory that the query cannot see."""
        return tuple(
            id for id in self._current_ids(query) if not can_see(query, self.histories[id].version_at(query.asked_at))
        )

    def _current_ids(self, query: JudgedQuery) -> list[str]:
        return [id for id in self._earlier_ids(query) if id in self.histories[id].ids_saying(query.asked_at)]

    def _earlier_ids(self, query: JudgedQuery) -> list[str]:
        """Return the judged ids that are no newer than the query."""
        histories = {id: self.histories[id] for id in query.grades if id in self.histories}
        return [id for id, history in histories.items() if id in history.sources_until(query.asked_at)]


BATCH_SIZE = 64
"""How many memories are remembered in one batch."""

WARM_UP_QUERY = "what is known"
"""A query run once in every scope before timing, so that nothing is loaded during it."""

PROMPT_MARKER = "0" * 18
"""A boundary string as long as a real one; token costs depend only on its length."""


def load_folder(engine: Engine, judgments: Judgments, report_progress: ProgressListener) -> LoadedFolder:
    """Remember all memories of the folder unless the store has them, and return their histories.

    Each memory has a retry key made of the folder's content. So memories that exist are neither written nor embedded
    again, and an interrupted run can continue. A store with other memories raises an error. Repeated texts are not
    merged: a memory without a topic gets its own topic, since the engine merges only within a topic.
    """
    drafts = [_prepare_draft(draft, place, judgments.digest) for place, draft in enumerate(judgments.drafts)]
    _refuse_foreign_store(engine, judgments)
    receipts: list[Receipt] = []
    report_progress(0, len(drafts))
    for start in range(0, len(drafts), BATCH_SIZE):
        try:
            receipts += engine.remember_all(drafts[start : start + BATCH_SIZE])
        except Conflict as error:
            raise _wrong_store_error(judgments, "it was loaded from other memories") from error
        report_progress(len(receipts), len(drafts))
    _refuse_changed_store(engine, receipts, judgments)
    return _build_loaded_folder(engine, judgments.memories, receipts)


def _build_loaded_folder(engine: Engine, memories: Sequence[Memory], receipts: Sequence[Receipt]) -> LoadedFolder:
    """Return the history of each memory; versions are read only for merged memories."""
    sources_by_id: dict[str, list[Memory]] = {}
    for memory, receipt in zip(memories, receipts, strict=True):
        if receipt.kept:
            sources_by_id.setdefault(receipt.id, []).append(memory)

    def load_history(id: str, sources: Sequence[Memory]) -> StoredHistory:
        versions = sources if len(sources) == 1 else engine.history(id, scope=sources[0].scope)
        # Time and commit of recording differ between stores.
        return StoredHistory(tuple(sources), tuple(one.with_changes(recorded_at=None, commit=None) for one in versions))

    histories = [load_history(id, sources) for id, sources in sources_by_id.items()]
    return LoadedFolder({source.id: history for history in histories for source in history.sources})


def _prepare_draft(draft: Draft, place: int, digest: str) -> Draft:
    """Return the draft with a retry key, and with its own topic if it has none.

    The topic is not the id: admission screens topics for secrets, and an id may look like one.
    """
    key = hashlib.sha256(f"{digest}/{draft.id}".encode()).hexdigest()
    return replace(draft, key=key, topic_key=draft.topic_key or f"memory {place} of the folder")


def _refuse_foreign_store(engine: Engine, judgments: Judgments) -> None:
    """Raise if the store has memories but not the first one of the folder.

    The first memory has no earlier duplicate, so it is always stored under its own id.
    """
    first, stored = judgments.memories[0], engine.stats().memories
    if not stored:
        return
    try:
        engine.get(first.id, scope=first.scope)
    except NotFound as error:
        raise _wrong_store_error(judgments, f"it has {_count_in_words(stored)}, but not {show(first.id)}") from error


def _refuse_changed_store(engine: Engine, receipts: Iterable[Receipt], judgments: Judgments) -> None:
    """Raise if the store has other memories, or was changed or used after it was loaded."""
    stored, stats = [receipt for receipt in receipts if receipt.kept], engine.stats()
    memories = len({receipt.id for receipt in stored})
    versions = sum(not isinstance(receipt.verdict, Reinforced | Unchanged | Refused) for receipt in stored)
    # Other verdicts may write more than one version.
    is_countable = all(isinstance(receipt.verdict, _SINGLE_VERSION_VERDICTS) for receipt in stored)
    if stats.memories != memories:
        raise _wrong_store_error(judgments, f"it has {_count_in_words(stats.memories)}, but the folder has {memories}")
    if is_countable and (stats.versions != versions or stats.statuses.get(Status.ACTIVE, 0) != memories):
        raise _wrong_store_error(judgments, "memories were changed after loading")
    if stats.contexts or any(stats.uses.get(use) for use in (Use.SERVED, Use.HELPED, Use.MISLED)):
        raise _wrong_store_error(judgments, "memories were recalled after loading, which may change rankings")


_SINGLE_VERSION_VERDICTS = (Created, Updated, Reinforced, Unchanged)
"""Verdicts that write at most one version, of an active memory."""


def _count_in_words(count: int) -> str:
    return format_count(count, "memory", "memories")


def _wrong_store_error(judgments: Judgments, why: str) -> InvalidInput:
    file = str(judgments.folder / MEMORIES_FILE)
    return InvalidInput(f"the store does not match {file!r}: {why}; name another file with --store")


def ask_queries(
    engine: Engine,
    judgments: Judgments,
    loaded: LoadedFolder,
    profile: Profile,
    *,
    depth: int = DEFAULT_DEPTH,
    report_progress: ProgressListener,
) -> list[QueryAnswer]:
    """Run every query as of its own time; nothing is recorded, so queries are independent."""
    queries = judgments.queries
    prompt, costs = Prompt(PROMPT_MARKER), dict[str, int]()
    for scope in dict.fromkeys(query.scope for query in queries):
        engine.search(WARM_UP_QUERY, scope=scope, profile=profile, limit=depth, as_of=judgments.ended_at)

    def answer(query: JudgedQuery) -> QueryAnswer:
        started = time.perf_counter()
        ranking = engine.search(query.text, scope=query.scope, profile=profile, limit=depth, as_of=query.asked_at)
        duration = timedelta(seconds=time.perf_counter() - started)
        found_ids = tuple(loaded.name_at(one.id, query.asked_at) for one in ranking)
        twins = loaded.find_twins(query)
        needed = {twins.get(id, id) for id in query.grades}
        packable = found_ids[: profile.max_items]
        judged = [place for place, id in enumerate(packable) if id in needed]
        return QueryAnswer(
            query=query,
            found_ids=found_ids,
            tokens=_count_tokens(ranking, judged[-1], prompt, costs) if judged else None,
            complete=needed <= set(packable),
            duration=duration,
            exact=ranking.exact,
            twins=twins,
            replaced_ids=loaded.find_replaced(query),
        )

    answers: list[QueryAnswer] = []
    report_progress(0, len(queries))
    for query in queries:
        answers.append(answer(query))
        report_progress(len(answers), len(queries))
    return answers


def _count_tokens(ranking: Ranking, last: int, prompt: Prompt, costs: dict[str, int]) -> int:
    """Return the token budget that packs the ranking up to this place: the frame and each block."""
    blocks: Sequence[str] = [prompt.block(scored) for scored in ranking[: last + 1]]
    for block in blocks:
        if block not in costs:
            costs[block] = prompt.tokens(block)
    return prompt.tokens(prompt.frame) + sum(costs[block] for block in blocks)


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
        """How many memories repeat an earlier one of their topic, which represents them."""
        return self.loaded.merged_count

    @property
    def invisible_count(self) -> int:
        """How many judged memories existed at query time but were not visible to the query.

        They were not in its scope or not valid. What counts is the stored memory at query time, so if one of several
        duplicates was shared or had ended, all of them were.
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
        self, profile: Profile, *, depth: int = DEFAULT_DEPTH, report_progress: ProgressListener = ignore_progress
    ) -> list[QueryAnswer]:
        """Return the answers of a profile to every query."""
        with self.open_engine() as engine:
            return ask_queries(
                engine, self.judgments, self.loaded, profile, depth=depth, report_progress=report_progress
            )


def load_judgment_store(
    judgments: Judgments, opens: StoreOpener, report_progress: ProgressListener = ignore_progress
) -> JudgmentStore:
    """Load the folder into its store, unless the store already has it."""
    written_at = judgments.written_at
    # Use the memories' own time, so that records of the loading never expire.
    with opens(clock=lambda: written_at) as engine:
        loaded = load_folder(engine, judgments, report_progress)
        return JudgmentStore(judgments=judgments, loaded=loaded, embedder=engine.admin.embedder, open_store=opens)
