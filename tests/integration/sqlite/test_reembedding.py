"""Going over to another model: nothing is lost or missed, whoever reads, writes, erases or dies meanwhile."""

import threading
from collections.abc import Callable, Sequence
from contextlib import closing
from itertools import count
from pathlib import Path

import pytest

import recollect
from recollect.engine import reembed
from recollect.engine.reembed import BATCH_CONTENTS, LIMITED_THREAD_NAME, MAX_PATIENT_ATTEMPTS
from recollect.factory import re_embed
from recollect.model.encoder import Encoder, ReembeddingProgress, ReembeddingReport, ReembeddingStage
from recollect.model.memory import Memory, MemoryId
from recollect.model.scope import Scope
from recollect.providers.hashing import HashingEmbedder
from recollect.stores.sqlite.store import SqliteReembedding
from tests.integration.sqlite.engines import NOW, SCOPE, OtherEngine
from tests.integration.sqlite.models import (
    FORMER,
    NEW,
    Watched,
    a_store,
    answers,
    models,
    present_number,
    renumber,
    strays,
)

SIZE = 300
CONTENTS = SIZE + 10
"""A content for each note, and one for each of the ten that were revised."""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "agent.db"
    a_store(path, size=SIZE)
    return path


def encoder(embedder: HashingEmbedder) -> Encoder:
    return Encoder(embedder.name, embedder.dimensions)


def test_the_answers_are_those_of_a_store_that_had_the_model_from_the_start_also_about_the_past(
    path: Path, tmp_path: Path
) -> None:
    fresh = tmp_path / "fresh.db"
    a_store(fresh, NEW, size=SIZE)
    before = answers(path, FORMER)
    done = re_embed(path, embedder=NEW)
    assert done == ReembeddingReport(encoder=encoder(NEW), former=encoder(FORMER), embedded=CONTENTS, removed=CONTENTS)
    assert answers(path, NEW) == answers(fresh, NEW)
    assert answers(path, NEW) != before
    assert models(path) == {NEW.name: CONTENTS}
    assert strays(path) == 0


def test_an_embedder_can_be_named(path: Path) -> None:
    assert re_embed(path, embedder="hashing-64").encoder == encoder(NEW)
    with recollect.open(path) as engine:
        assert engine.admin.embedder == NEW.name


def test_a_store_that_is_open_with_the_former_model_is_refused_from_the_switch_on(path: Path) -> None:
    with recollect.open(path, embedder=FORMER) as engine:
        engine.search("seat", scope=SCOPE)
        re_embed(path, embedder=NEW)
        told = r"come from hashing-64 \(64 dimensions\), not from hashing-256 .*open it without"
        with pytest.raises(recollect.errors.EmbedderMismatch, match=told):
            engine.search("seat", scope=SCOPE)
        with pytest.raises(recollect.errors.EmbedderMismatch, match=told):
            engine.remember("too late", scope=SCOPE)
        with pytest.raises(recollect.errors.EmbedderMismatch, match=told):
            engine.revise("note-005", "too late", scope=SCOPE)
        assert engine.brief(scope=SCOPE).packed  # which asks for no vector
    with pytest.raises(recollect.errors.EmbedderMismatch, match="recollect admin re-embed"):
        recollect.open(path, embedder=FORMER)


def test_what_a_process_keeps_in_memory_is_not_taken_for_vectors_that_came_back(path: Path) -> None:
    odd = [1.0] + [0.0] * 255
    with recollect.open(path, embedder=FORMER) as engine:
        engine.remember_all([{"text": "a seat of its own", "scope": SCOPE, "id": "own", "vector": odd}])
        before = engine.search("seat", scope=SCOPE, profile="three-signal", limit=400)
        re_embed(path, embedder=NEW)
        re_embed(path, embedder=FORMER)
        after = engine.search("seat", scope=SCOPE, profile="three-signal", limit=400)
    scores = [{scored.id: scored.explanation.parts[0].value for scored in ranking} for ranking in (before, after)]
    assert scores[0].keys() == scores[1].keys()
    assert [id for id in scores[0] if scores[0][id] != scores[1][id]] == ["own"]


def test_re_embedding_with_the_present_model_does_nothing(path: Path) -> None:
    heard: list[ReembeddingProgress] = []
    done = re_embed(path, embedder=FORMER, progress=heard.append)
    assert done == ReembeddingReport(encoder=encoder(FORMER), former=encoder(FORMER), embedded=0, removed=0)
    assert not done.changed
    assert models(path) == {FORMER.name: CONTENTS}
    assert [progress.total for progress in heard] == [0]


def test_re_embedding_with_the_present_model_embeds_what_lacks_a_vector_and_readers_notice(path: Path) -> None:
    late = Memory(id=MemoryId("late"), scope=Scope.parse(SCOPE), text="a late seat", created_at=NOW)
    with recollect.open(path, embedder=FORMER) as engine:
        engine._deps.store.write(lambda writing: writing.put(late, None))
        assert similarity_of("late", engine) is None
        assert re_embed(path, embedder=FORMER).embedded == 1
        found = similarity_of("late", engine)
    assert found == pytest.approx(
        float(FORMER.embed(["a late seat"], "memory")[0] @ FORMER.embed(["late?"], "query")[0])
    )
    assert strays(path) == 0


def similarity_of(id: str, engine: recollect.Engine) -> float | None:
    """How near a memory is to a question; nothing if that is only assumed."""
    ranking = engine.search("late?", scope=SCOPE, profile="five-signal", limit=400)
    (part,) = [one.explanation.parts[0] for one in ranking if one.id == id]
    return None if part.assumed else part.value


def test_a_store_without_memories_just_gets_the_model(tmp_path: Path) -> None:
    path = tmp_path / "new.db"
    recollect.open(path, embedder=FORMER).close()
    assert re_embed(path, embedder=NEW) == ReembeddingReport(encoder=encoder(NEW), former=None, embedded=0, removed=0)
    with pytest.raises(recollect.errors.EmbedderMismatch):
        recollect.open(path, embedder=FORMER)


def test_progress_is_told_from_the_first_to_the_last(path: Path) -> None:
    heard: list[ReembeddingProgress] = []
    re_embed(path, embedder=NEW, progress=heard.append)
    embedding = [one.done for one in heard if one.stage is ReembeddingStage.EMBEDDING]
    assert embedding == [BATCH_CONTENTS, 2 * BATCH_CONTENTS, CONTENTS]
    assert [(one.done, one.total) for one in heard if one.stage is ReembeddingStage.REMOVING] == [(CONTENTS, CONTENTS)]
    assert {one.total for one in heard} == {CONTENTS}


def test_after_a_kill_the_next_run_goes_on_where_the_last_one_stopped(path: Path, tmp_path: Path) -> None:
    other = OtherEngine("re_embeds_when_told", path)
    assert other.hear() == "waiting"
    other.tell()
    assert other.hear() == "waiting"  # for the second batch, so the first is kept
    other.kill()
    assert models(path) == {FORMER.name: CONTENTS, NEW.name: BATCH_CONTENTS}
    former = answers(path, FORMER)  # goes on as if nothing had been

    done = re_embed(path, embedder=NEW)
    assert done.embedded == CONTENTS - BATCH_CONTENTS
    assert models(path) == {NEW.name: CONTENTS}
    a_store(tmp_path / "fresh.db", NEW, size=SIZE)
    assert answers(path, NEW) == answers(tmp_path / "fresh.db", NEW) != former


def test_after_a_kill_behind_the_switch_the_next_run_removes_what_is_left(path: Path) -> None:
    a_store(path.with_name("large.db"), size=3 * 512)
    path = path.with_name("large.db")
    other = OtherEngine("is_killed_while_removing", path)
    assert other.hear() == ""
    other.kill()
    expected = answers(path, NEW)  # the switch is done
    left = {name: count for name, count in models(path).items() if name != NEW.name}
    assert len(left) == 1
    assert 0 < sum(left.values()) < 3 * 512

    done = re_embed(path, embedder=NEW)
    assert done == ReembeddingReport(encoder=encoder(NEW), former=encoder(NEW), embedded=0, removed=sum(left.values()))
    assert models(path) == {NEW.name: 3 * 512 + 10}
    assert strays(path) == 0
    assert answers(path, NEW) == expected


def test_what_another_process_writes_meanwhile_is_not_missed(path: Path) -> None:
    writer = OtherEngine("writes_until_refused", path)
    assert writer.hear() == "wrote"
    heard: list[str] = []  # of the first few texts alone: while the models are switched, nobody can write
    done = re_embed(path, embedder=Watched(lambda _: heard.append(writer.hear()) if len(heard) < 3 else None))
    *_, last = writer.end()
    assert last.startswith("refused")
    assert "come from hashing-64 (64 dimensions)" in last
    written = int(last.split()[1])
    assert written >= 3
    assert done.embedded >= CONTENTS + written
    assert strays(path) == 0
    assert models(path).keys() == {NEW.name}
    with recollect.open(path) as engine:
        assert len(engine.memories(scope=SCOPE)) >= written


def test_a_process_that_reads_meanwhile_finds_what_it_always_found(path: Path) -> None:
    reader = OtherEngine("reads_until_refused", path)
    assert reader.hear() == "found"
    re_embed(path, embedder=NEW)
    said = reader.end()
    assert [line.split()[0] for line in said] == ["refused"]


def test_writers_that_never_pause_are_held_up_once_and_caught_up_with(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reembed, "MAX_WAIT_SECONDS", 60.0)  # on a slow machine, it would be tried again
    held_up: list[bool] = []
    with recollect.open(path, embedder=FORMER) as engine:

        def one_more(_: Sequence[str]) -> None:
            held_up.append(threading.current_thread().name == LIMITED_THREAD_NAME)  # while everybody else has to wait
            if not held_up[-1]:
                engine.remember(f"{len(held_up)} and one more", scope=SCOPE)

        re_embed(path, embedder=Watched(one_more))
    batches = -(-CONTENTS // BATCH_CONTENTS)
    assert held_up == [False] * (batches + MAX_PATIENT_ATTEMPTS) + [True]
    assert strays(path) == 0
    assert models(path).keys() == {NEW.name}


def test_writers_are_not_held_up_by_an_embedder_that_hangs(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reembed, "MAX_WAIT_SECONDS", 0.05)
    hung: list[str] = []
    number = count()
    with recollect.open(path, embedder=FORMER) as engine:

        def hang(_: Sequence[str]) -> None:
            if threading.current_thread().name != LIMITED_THREAD_NAME:
                engine.remember(f"{next(number)} while there is time", scope=SCOPE)
            elif len(hung) < 3:  # until somebody else has written, which needs that we are not waited for
                hung.append(engine.remember(f"{len(hung)} meanwhile", scope=SCOPE).id)

        done = re_embed(path, embedder=Watched(hang))
    assert len(hung) == 3
    assert done.embedded > CONTENTS + len(hung)
    assert strays(path) == 0
    assert models(path).keys() == {NEW.name}


def test_who_fails_while_others_wait_is_told_so(path: Path) -> None:
    with recollect.open(path, embedder=FORMER) as engine:

        def fail(_: Sequence[str]) -> None:
            if threading.current_thread().name == LIMITED_THREAD_NAME:
                raise recollect.ProviderError("no more")
            engine.remember(f"one more than {engine.stats().memories}", scope=SCOPE)

        with pytest.raises(recollect.ProviderError, match="no more"):
            re_embed(path, embedder=Watched(fail))
    answers(path, FORMER)


def test_what_is_erased_meanwhile_is_not_embedded_again_and_its_number_may_be_another_ones(path: Path) -> None:
    with recollect.open(path, embedder=FORMER) as engine:
        last = engine.remember("the last one, soon to be erased", scope=SCOPE).id
        todo: list[Callable[[], object]] = [
            lambda: engine.erase(scope=SCOPE, id=last),
            lambda: engine.remember("took its number", scope=SCOPE),
        ]

        def replace(texts: Sequence[str]) -> None:
            while todo and any("soon to be erased" in text for text in texts):
                todo.pop(0)()

        re_embed(path, embedder=Watched(replace))
    assert not todo
    assert strays(path) == 0
    with recollect.open(path, embedder=NEW) as engine:
        (best,) = engine.search("took its number", scope=SCOPE, profile="three-signal", limit=1)
        assert best.memory.text == "took its number"
        similarity = {part.signal: part.value for part in best.explanation.parts}["similarity"]
        assert similarity == pytest.approx(1.0)


def test_the_first_of_two_re_embeddings_to_finish_calls_the_other_off(path: Path) -> None:
    third = HashingEmbedder(32)
    with pytest.raises(recollect.Conflict, match="another re-embedding has replaced the one with hashing-64"):
        re_embed(path, embedder=Watched(lambda _: re_embed(path, embedder=third)))
    assert models(path) == {third.name: CONTENTS}
    assert strays(path) == 0


def test_two_processes_that_re_embed_with_the_same_model_do_it_together(path: Path) -> None:
    other = OtherEngine("re_embeds_when_told", path)
    assert other.hear() == "waiting"
    done = re_embed(path, embedder=NEW)
    other.tell()
    while other.hear() == "waiting":
        other.tell()
    other.end()
    assert done.embedded == CONTENTS
    assert models(path) == {NEW.name: CONTENTS}
    assert strays(path) == 0


def test_re_embedding_with_the_present_model_calls_off_what_was_begun(path: Path) -> None:
    other = OtherEngine("re_embeds_when_told", path)
    assert other.hear() == "waiting"
    other.tell()
    assert other.hear() == "waiting"
    other.kill()
    expected = answers(path, FORMER)
    assert re_embed(path, embedder=FORMER).removed == BATCH_CONTENTS
    assert models(path) == {FORMER.name: CONTENTS}
    assert answers(path, FORMER) == expected
    assert re_embed(path, embedder=NEW).embedded == CONTENTS


def test_a_store_that_was_begun_with_a_model_before_it_had_memories_may_still_adopt_it(tmp_path: Path) -> None:
    path = tmp_path / "new.db"
    recollect.open(path, embedder=FORMER).close()
    with closing(SqliteReembedding(path)) as begun:
        begun.begin(encoder(NEW))
    with recollect.open(path, embedder=NEW) as engine:
        engine.remember("a seat", scope=SCOPE)
        assert engine.search("seat", scope=SCOPE)
    assert models(path) == {NEW.name: 1}


def test_the_number_of_a_model_comes_again_only_after_all_others(tmp_path: Path) -> None:
    path = tmp_path / "small.db"
    with recollect.open(path, embedder=HashingEmbedder(9)) as engine:
        engine.remember("a seat", scope=SCOPE)
    assert [number_after(path, HashingEmbedder(8 + turn % 2)) for turn in range(3)] == [2, 3, 4]
    renumber(path, 254)
    assert [number_after(path, HashingEmbedder(9 - turn % 2)) for turn in range(3)] == [255, 1, 2]
    assert strays(path) == 0


def number_after(path: Path, embedder: HashingEmbedder) -> int:
    re_embed(path, embedder=embedder)
    return present_number(path)


def test_an_embedder_that_fails_leaves_no_trace(path: Path) -> None:
    class Broken:
        name = "broken"
        dimensions = 4

        def embed(self, texts: Sequence[str], purpose: str) -> "object":
            raise recollect.errors.ProviderBusy("not now; try again")

    with pytest.raises(recollect.errors.ProviderBusy):
        re_embed(path, embedder=Broken())  # type: ignore[arg-type]
    assert models(path) == {FORMER.name: CONTENTS}


def test_there_must_be_a_store(tmp_path: Path) -> None:
    with pytest.raises(recollect.NotFound, match="does not exist"):
        re_embed(tmp_path / "nowhere.db", embedder=NEW)
    with pytest.raises(recollect.NotFound, match="does not exist"):
        re_embed(":memory:", embedder=NEW)
    with pytest.raises(recollect.InvalidInput, match="is not a store"):
        re_embed("mysql://host/db", embedder=NEW)
    assert list(tmp_path.iterdir()) == []
