"""Trial: the memories of a folder are remembered by an engine, and its queries asked of it."""

import hashlib
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import timedelta

from recollect.engine.engine import DEPTH, Engine
from recollect.errors import Conflict, InvalidInput, NotFound, show
from recollect.evaluation.figures import Answer
from recollect.evaluation.judgments import MEMORIES, Judgements, Query
from recollect.evaluation.loaded_folder import Course, Loaded
from recollect.model.draft import Draft
from recollect.model.format import counted
from recollect.model.memory import Memory, Status
from recollect.model.usage import Use
from recollect.model.verdict import Created, Receipt, Refused, Reinforced, Unchanged, Updated
from recollect.packing.prompt import Prompt
from recollect.ranking.profile import Profile
from recollect.ranking.result import Ranking

Tell = Callable[[int, int], None]
"""Told how much is done, and of how much."""

BATCH = 64
"""How many memories are remembered at a time."""

WARMING = "what is known"
"""Asked once of every scope before time is taken, so that nothing is loaded meanwhile."""

MARKER = "0" * 18
"""As long as a real one; what it costs depends on nothing else."""


def load(engine: Engine, judgements: Judgements, tell: Tell) -> Loaded:
    """Remember all memories of the folder, unless the store has them, and say what became of each.

    Each is remembered under a key of the folder's content, so what is there already is neither written nor embedded
    again, and a run that was interrupted goes on. A store that has anything else is refused. Texts that repeat are not
    merged: a memory without a topic gets a topic of its own, since the engine merges only within a topic.
    """
    drafts = [_prepared(draft, place, judgements.digest) for place, draft in enumerate(judgements.drafts)]
    _refuse_stranger(engine, judgements)
    receipts: list[Receipt] = []
    tell(0, len(drafts))
    for begun in range(0, len(drafts), BATCH):
        try:
            receipts += engine.remember_all(drafts[begun : begun + BATCH])
        except Conflict as error:
            raise _other(judgements, "it was loaded from other memories") from error
        tell(len(receipts), len(drafts))
    _refuse_changed(engine, receipts, judgements)
    return _loaded(engine, judgements.memories, receipts)


def _loaded(engine: Engine, memories: Sequence[Memory], receipts: Sequence[Receipt]) -> Loaded:
    """What became of each memory; the store is asked only for the versions of what several went into."""
    made_of: dict[str, list[Memory]] = {}
    for memory, receipt in zip(memories, receipts, strict=True):
        if receipt.kept:
            made_of.setdefault(receipt.id, []).append(memory)

    def course(id: str, several: Sequence[Memory]) -> Course:
        stored = several if len(several) == 1 else engine.history(id, scope=several[0].scope)
        # without when and where it was taken in, which is another matter in every store
        return Course(tuple(several), tuple(one.changed(recorded_at=None, commit=None) for one in stored))

    courses = [course(id, several) for id, several in made_of.items()]
    return Loaded({one.id: course for course in courses for one in course.made_of})


def _prepared(draft: Draft, place: int, digest: str) -> Draft:
    """The draft with a retry key, and with a topic of its own if it has none.

    The topic is not the id: admission screens topics for secrets, and an id may look like one.
    """
    key = hashlib.sha256(f"{digest}/{draft.id}".encode()).hexdigest()
    return replace(draft, key=key, topic_key=draft.topic_key or f"memory {place} of the folder")


def _refuse_stranger(engine: Engine, judgements: Judgements) -> None:
    """Refuse a store with memories of which the folder's first, which has no twin before it, is none."""
    first, there = judgements.memories[0], engine.stats().memories
    if not there:
        return
    try:
        engine.get(first.id, scope=first.scope)
    except NotFound as error:
        raise _other(judgements, f"it has {_memories(there)}, and not {show(first.id)}") from error


def _refuse_changed(engine: Engine, receipts: Iterable[Receipt], judgements: Judgements) -> None:
    """Refuse a store that has more than the folder, or whose memories were changed or used since they were loaded."""
    given, stats = [receipt for receipt in receipts if receipt.kept], engine.stats()
    memories = len({receipt.id for receipt in given})
    written = sum(not isinstance(receipt.verdict, Reinforced | Unchanged | Refused) for receipt in given)
    plain = all(isinstance(receipt.verdict, _PLAIN) for receipt in given)  # by others more than one may be written
    if stats.memories != memories:
        raise _other(judgements, f"it has {_memories(stats.memories)}, and the folder {memories}")
    if plain and (stats.versions != written or stats.statuses.get(Status.ACTIVE, 0) != memories):
        raise _other(judgements, "some were changed since")
    if stats.contexts or any(stats.uses.get(use) for use in (Use.SERVED, Use.HELPED, Use.MISLED)):
        raise _other(judgements, "some were recalled since, which a ranking may take into account")


_PLAIN = (Created, Updated, Reinforced, Unchanged)
"""The verdicts after which at most one version was written, of an active memory."""


def _memories(count: int) -> str:
    return counted(count, "memory", "memories")


def _other(judgements: Judgements, why: str) -> InvalidInput:
    what = f"the store is not what loading {str(judgements.folder / MEMORIES)!r} gives"
    return InvalidInput(f"{what}: {why}; name another file with --store")


def ask(
    engine: Engine, judgements: Judgements, loaded: Loaded, profile: Profile, *, depth: int = DEPTH, tell: Tell
) -> list[Answer]:
    """Ask every query for its moment, and nothing is kept of it: no query knows of another."""
    queries = judgements.queries
    prompt, costs = Prompt(MARKER), dict[str, int]()
    for scope in dict.fromkeys(query.scope for query in queries):
        engine.search(WARMING, scope=scope, profile=profile, limit=depth, as_of=judgements.ended_at)

    def answer(query: Query) -> Answer:
        begun = time.perf_counter()
        ranking = engine.search(query.text, scope=query.scope, profile=profile, limit=depth, as_of=query.asked_at)
        took = timedelta(seconds=time.perf_counter() - begun)
        found, together = tuple(loaded.name(one.id, query.asked_at) for one in ranking), loaded.twins(query)
        needed = {together.get(id, id) for id in query.grades}
        within = found[: profile.max_items]
        judged = [place for place, id in enumerate(within) if id in needed]
        return Answer(
            query=query,
            found=found,
            tokens=_tokens(ranking, judged[-1], prompt, costs) if judged else None,
            complete=needed <= set(within),
            took=took,
            exact=ranking.exact,
            twins=together,
            replaced=loaded.replaced(query),
        )

    answers: list[Answer] = []
    tell(0, len(queries))
    for query in queries:
        answers.append(answer(query))
        tell(len(answers), len(queries))
    return answers


def _tokens(ranking: Ranking, last: int, prompt: Prompt, costs: dict[str, int]) -> int:
    """The budget with which packing takes all of the ranking up to this place: the frame, and block by block."""
    blocks: Sequence[str] = [prompt.block(scored) for scored in ranking[: last + 1]]
    for block in blocks:
        if block not in costs:
            costs[block] = prompt.tokens(block)
    return prompt.tokens(prompt.frame) + sum(costs[block] for block in blocks)


def unheard(done: int, total: int) -> None:
    """Nobody is told how far it is."""
