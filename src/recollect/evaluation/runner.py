"""Trial: the memories of a folder are remembered by an engine, and its queries asked of it.

Loaded: what became of a folder's memories in a store, and which of them it has in mind when a query is asked.

Stored: a folder of judgements in a store of its own, which can be asked any number of times.
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
    """One memory of the store: those of the folder that it was made of, and its own versions, both the oldest first.

    Only memories of one topic become one; texts that repeat are not merged.
    """

    sources: tuple[Memory, ...]
    versions: tuple[Memory, ...]

    def version_at(self, at: datetime) -> Memory:
        """What it was at a moment at which it was there."""
        return version_at(self.versions, at) or self.versions[0]

    def sources_until(self, at: datetime) -> dict[str, Memory]:
        """Those that had gone into it by that moment, by their ids."""
        return {one.id: one for one in self.sources if one.created_at <= at}

    def ids_saying(self, at: datetime) -> list[str]:
        """The ids whose words it had at the moment, or others that say the same, out of those that had gone into it."""
        written = self.sources_until(at)
        if len(self.sources) == 1:
            return list(written)
        said = self.version_at(at)
        return [id for id, one in written.items() if _say_the_same(one, said)]

    @property
    def merged_count(self) -> int:
        """How many of those that it was made of say what one before them said."""
        return len(self.sources) - len({paraphrase_key(one) or one.hash for one in self.sources})


def _say_the_same(one: Memory, other: Memory) -> bool:
    return one.hash == other.hash or are_paraphrases(one, other)


@dataclass(frozen=True, slots=True)
class LoadedFolder:
    """The course of the stored memory that each id of the folder went into, by that id."""

    histories: Mapping[str, StoredHistory] = field(hash=False)

    @property
    def merged_count(self) -> int:
        """How many memories of the folder say what an earlier one of their topic does, which is kept in their place."""
        return sum(course.merged_count for id, course in self.histories.items() if id == course.sources[0].id)

    def name_at(self, id: str, at: datetime) -> str:
        """What a stored memory that is found for a moment is called: the first id whose words it has then."""
        return next(iter(self.histories[id].ids_saying(at)), id)

    def find_twins(self, query: JudgedQuery) -> Twins:
        """The judged ids that are found under the name of another one, each with that one."""
        named = {id: self.name_at(id, query.asked_at) for id in self._current_ids(query)}
        return {id: name for id, name in named.items() if id != name}

    def find_replaced(self, query: JudgedQuery) -> tuple[str, ...]:
        """The judged ids that were there, but whose words a later one had replaced when it was asked."""
        said = self._current_ids(query)
        return tuple(id for id in self._earlier_ids(query) if id not in said)

    def find_invisible(self, query: JudgedQuery) -> tuple[str, ...]:
        """The judged ids whose words were there when it was asked, in a memory that the query did not see."""
        return tuple(
            id for id in self._current_ids(query) if not can_see(query, self.histories[id].version_at(query.asked_at))
        )

    def _current_ids(self, query: JudgedQuery) -> list[str]:
        return [id for id in self._earlier_ids(query) if id in self.histories[id].ids_saying(query.asked_at)]

    def _earlier_ids(self, query: JudgedQuery) -> list[str]:
        """The judged ids of the folder that are no later than the query."""
        there = {id: self.histories[id] for id in query.grades if id in self.histories}
        return [id for id, course in there.items() if id in course.sources_until(query.asked_at)]


ProgressCallback = Callable[[int, int], None]
"""Told how much is done, and of how much."""

BATCH_SIZE = 64
"""How many memories are remembered at a time."""

WARM_UP_QUERY = "what is known"
"""Asked once of every scope before time is taken, so that nothing is loaded meanwhile."""

PROMPT_MARKER = "0" * 18
"""As long as a real one; what it costs depends on nothing else."""


def load_folder(engine: Engine, judgements: Judgments, tell: ProgressCallback) -> LoadedFolder:
    """Remember all memories of the folder, unless the store has them, and say what became of each.

    Each is remembered under a key of the folder's content, so what is there already is neither written nor embedded
    again, and a run that was interrupted goes on. A store that has anything else is refused. Texts that repeat are not
    merged: a memory without a topic gets a topic of its own, since the engine merges only within a topic.
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
    """What became of each memory; the store is asked only for the versions of what several went into."""
    made_of: dict[str, list[Memory]] = {}
    for memory, receipt in zip(memories, receipts, strict=True):
        if receipt.kept:
            made_of.setdefault(receipt.id, []).append(memory)

    def course(id: str, several: Sequence[Memory]) -> StoredHistory:
        stored = several if len(several) == 1 else engine.history(id, scope=several[0].scope)
        # without when and where it was taken in, which is another matter in every store
        return StoredHistory(tuple(several), tuple(one.changed(recorded_at=None, commit=None) for one in stored))

    courses = [course(id, several) for id, several in made_of.items()]
    return LoadedFolder({one.id: course for course in courses for one in course.sources})


def _prepare_draft(draft: Draft, place: int, digest: str) -> Draft:
    """The draft with a retry key, and with a topic of its own if it has none.

    The topic is not the id: admission screens topics for secrets, and an id may look like one.
    """
    key = hashlib.sha256(f"{digest}/{draft.id}".encode()).hexdigest()
    return replace(draft, key=key, topic_key=draft.topic_key or f"memory {place} of the folder")


def _refuse_foreign_store(engine: Engine, judgements: Judgments) -> None:
    """Refuse a store with memories of which the folder's first, which has no twin before it, is none."""
    first, there = judgements.memories[0], engine.stats().memories
    if not there:
        return
    try:
        engine.get(first.id, scope=first.scope)
    except NotFound as error:
        raise _wrong_store_error(judgements, f"it has {_count_in_words(there)}, and not {show(first.id)}") from error


def _refuse_changed_store(engine: Engine, receipts: Iterable[Receipt], judgements: Judgments) -> None:
    """Refuse a store that has more than the folder, or whose memories were changed or used since they were loaded."""
    given, stats = [receipt for receipt in receipts if receipt.kept], engine.stats()
    memories = len({receipt.id for receipt in given})
    written = sum(not isinstance(receipt.verdict, Reinforced | Unchanged | Refused) for receipt in given)
    plain = all(
        isinstance(receipt.verdict, _SINGLE_VERSION_VERDICTS) for receipt in given
    )  # by others more than one may be written
    if stats.memories != memories:
        raise _wrong_store_error(judgements, f"it has {_count_in_words(stats.memories)}, and the folder {memories}")
    if plain and (stats.versions != written or stats.statuses.get(Status.ACTIVE, 0) != memories):
        raise _wrong_store_error(judgements, "some were changed since")
    if stats.contexts or any(stats.uses.get(use) for use in (Use.SERVED, Use.HELPED, Use.MISLED)):
        raise _wrong_store_error(judgements, "some were recalled since, which a ranking may take into account")


_SINGLE_VERSION_VERDICTS = (Created, Updated, Reinforced, Unchanged)
"""The verdicts after which at most one version was written, of an active memory."""


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
    """Ask every query for its moment, and nothing is kept of it: no query knows of another."""
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
    """The budget with which packing takes all of the ranking up to this place: the frame, and block by block."""
    blocks: Sequence[str] = [prompt.block(scored) for scored in ranking[: last + 1]]
    for block in blocks:
        if block not in costs:
            costs[block] = prompt.tokens(block)
    return prompt.tokens(prompt.frame) + sum(costs[block] for block in blocks)


def ignore_progress(done: int, total: int) -> None:
    """Nobody is told how far it is."""


class StoreOpener(Protocol):
    """Opens the store of a folder, by the clock that it is given."""

    def __call__(self, *, clock: Callable[[], datetime]) -> AbstractContextManager[Engine]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgmentStore:
    """A folder that is loaded: what became of its memories, the model of their vectors, and how it is opened."""

    judgments: Judgments
    loaded: LoadedFolder
    embedder: str
    open_store: StoreOpener

    @property
    def merged_count(self) -> int:
        """How many memories say what an earlier one of their topic does, which is kept in their place."""
        return self.loaded.merged_count

    @property
    def invisible_count(self) -> int:
        """How many judged memories were written when it was asked, but are not the scope's to see or were not valid.

        What counts is the stored memory as it was then: what one of two twins shares or ends, the other does.
        """
        return sum(len(self.loaded.find_invisible(query)) for query in self.judgments.queries)

    @contextmanager
    def open_engine(self) -> Iterator[Engine]:
        """The store at the end of all that the folder tells.

        An engine of its own for whoever asks: what one has embedded already would make the next one look faster.
        """
        ended_at = self.judgments.ended_at
        with self.open_store(clock=lambda: ended_at) as engine:
            yield engine

    def ask(
        self, profile: Profile, *, depth: int = DEFAULT_DEPTH, tell: ProgressCallback = ignore_progress
    ) -> list[QueryAnswer]:
        """What the profile answers to every query."""
        with self.open_engine() as engine:
            return ask_queries(engine, self.judgments, self.loaded, profile, depth=depth, tell=tell)


def load_judgment_store(
    judgements: Judgments, opens: StoreOpener, tell: ProgressCallback = ignore_progress
) -> JudgmentStore:
    """Load the folder into its store, unless that has it already, and say what is there to be asked."""
    written_at = judgements.written_at
    # by a clock of the memories' own time, so that what is kept of loading them is never too old
    with opens(clock=lambda: written_at) as engine:
        loaded = load_folder(engine, judgements, tell)
        return JudgmentStore(judgments=judgements, loaded=loaded, embedder=engine.embedder, open_store=opens)
