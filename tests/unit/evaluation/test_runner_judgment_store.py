"""A folder in a store: loaded by the time of its memories, asked at the end of all, and only as often as it is."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import recollect
from recollect import factory
from recollect.errors import InvalidInput
from recollect.evaluation import runner
from recollect.evaluation.judgments import Judgments, read_judgments
from recollect.ranking.profiles import builtin_profile

from .folder import a_memory, a_query, write_folder
from .test_training_set import untold


@pytest.fixture
def judgements(tmp_path: Path) -> Judgments:
    memories = [a_memory("m"), a_memory("twin"), a_memory("n", "the aisle", created_at="2026-01-02T00:00:00+00:00")]
    return read_judgments(write_folder(tmp_path / "f", memories, [a_query("q")], [("q", "twin", 1)]))


def test_a_folder_is_loaded_and_asked_as_trials_do_it_by_hand(judgements: Judgments, tmp_path: Path) -> None:
    there = runner.load_judgment_store(judgements, partial(factory.open, tmp_path / "kept.db", embedder="hashing"))
    assert (there.embedder, there.merged_count) == ("hashing-256", 0)
    with recollect.open(":memory:", embedder="hashing", clock=lambda: judgements.ended_at) as engine:
        loaded = runner.load_folder(engine, judgements, untold)
        by_hand = runner.ask_queries(engine, judgements, loaded, builtin_profile("salience"), report_progress=untold)
    assert there.loaded == loaded
    assert [one.found_ids for one in there.ask(builtin_profile("salience"))] == [one.found_ids for one in by_hand]


def test_it_is_opened_by_the_time_of_its_memories_and_then_at_the_end_of_all(
    judgements: Judgments, tmp_path: Path
) -> None:
    moments: list[datetime] = []

    def opens(*, clock: Callable[[], datetime]) -> AbstractContextManager[recollect.Engine]:
        moments.append(clock())
        return factory.open(tmp_path / "kept.db", embedder="hashing", clock=clock)

    there = runner.load_judgment_store(judgements, opens)
    there.ask(builtin_profile("salience"))
    with there.open_engine():
        pass
    assert moments == [judgements.written_at, judgements.ended_at, judgements.ended_at]


def test_whoever_wants_to_know_is_told_how_far_it_is(judgements: Judgments, tmp_path: Path) -> None:
    told: list[tuple[int, int]] = []

    def tell(done: int, total: int) -> None:
        told.append((done, total))

    there = runner.load_judgment_store(
        judgements, partial(factory.open, tmp_path / "kept.db", embedder="hashing"), tell
    )
    there.ask(builtin_profile("salience"), depth=1, report_progress=tell)
    assert told == [(0, 3), (3, 3), (0, 1), (1, 1)]


def test_a_store_of_something_else_is_refused(judgements: Judgments, tmp_path: Path) -> None:
    opens = partial(factory.open, tmp_path / "kept.db", embedder="hashing")
    with opens() as engine:
        engine.remember("Ana has a dog", scope="acme/ana")
    with pytest.raises(InvalidInput, match="name another file with --store"):
        runner.load_judgment_store(judgements, opens)


def outside(folder: Path, memories: list[dict[str, Any]], *qrels: str) -> tuple[runner.JudgmentStore, list[str]]:
    """The folder in a store, and which of the judged memories are found."""
    judgements = read_judgments(write_folder(folder, memories, qrels=[("q", id, 1) for id in qrels]))
    there = runner.load_judgment_store(judgements, partial(factory.open, folder / "kept.db", embedder="hashing"))
    (answer,) = there.ask(builtin_profile("salience"))
    return there, [id for id in qrels if answer.find_place(id) is not None]


def test_judged_memories_that_the_scope_does_not_see_are_counted_each_for_one_reason(tmp_path: Path) -> None:
    memories = [
        a_memory("own"),
        a_memory("shared", "tea at five", scope="acme", shared=True),
        a_memory("not shared", "no tea", scope="acme"),
        a_memory("a sibling's", scope="acme/ben", shared=True),
        a_memory("below", scope="acme/ana/child"),
        a_memory("outside and later", scope="acme/ben", text="later", created_at="2026-03-01T00:00:00+00:00"),
    ]
    there, found = outside(tmp_path, memories, *(memory["id"] for memory in memories), "nowhere")
    assert found == ["own", "shared"]
    assert (there.invisible_count, there.judgments.late_pairs, there.judgments.absent_pairs) == (3, 1, 1)


def test_judged_memories_that_are_not_valid_when_it_is_asked_are_counted_each_for_one_reason(tmp_path: Path) -> None:
    memories = [
        a_memory("valid", valid_from="2026-01-15T00:00:00+00:00", valid_until="2026-02-15T00:00:00+00:00"),
        a_memory("over", "tea at four", valid_until="2026-01-15T00:00:00+00:00"),
        a_memory("not yet", "tea at six", valid_from="2026-02-15T00:00:00+00:00"),
        a_memory("over and a sibling's", "no tea", scope="acme/ben", valid_until="2026-01-15T00:00:00+00:00"),
    ]
    there, found = outside(tmp_path, memories, *(memory["id"] for memory in memories))
    assert found == ["valid"]
    assert (there.invisible_count, there.judgments.late_pairs, there.judgments.absent_pairs) == (3, 0, 0)


def test_what_a_twin_says_again_after_it_ended_is_seen(tmp_path: Path) -> None:
    memories = [
        a_memory("a", topic_key="seat", valid_until="2026-01-15T00:00:00+00:00"),
        a_memory("b", topic_key="seat", created_at="2026-01-20T00:00:00+00:00"),
    ]
    there, found = outside(tmp_path, memories, "a", "b")
    assert (there.merged_count, there.invisible_count, found) == (1, 0, ["a", "b"])


@pytest.mark.parametrize(("one", "other"), [(True, False), (False, True), (False, False)])
def test_what_a_twin_shares_is_seen_and_not_said_to_be_outside(one: bool, other: bool, tmp_path: Path) -> None:
    memories = [
        a_memory(id, scope="acme", topic_key="seat", shared=shared) for id, shared in (("a", one), ("b", other))
    ]
    there, found = outside(tmp_path, memories, "a", "b")
    assert len(found) + there.invisible_count == 2
    assert found == (["a", "b"] if one or other else [])
