"""Trial: the memories of a folder are remembered by an engine, and its queries asked of it."""

import hashlib
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import timedelta

from recollect.engine.engine import DEFAULT_DEPTH, Engine
from recollect.errors import Conflict, InvalidInput, NotFound, show
from recollect.evaluation.figures import QueryAnswer
from recollect.evaluation.judgments import MEMORIES_FILE, JudgedQuery, Judgments
from recollect.evaluation.loaded_folder import LoadedFolder, StoredHistory
from recollect.model.draft import Draft
from recollect.model.format import format_count
from recollect.model.memory import Memory, Status
from recollect.model.usage import Use
from recollect.model.verdict import Created, Receipt, Refused, Reinforced, Unchanged, Updated
from recollect.packing.prompt import Prompt
from recollect.ranking.profile import Profile
from recollect.ranking.result import Ranking

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
