"""Who is killed while importing or erasing leaves a store that is whole, and the next one does what was to be done."""

from collections.abc import Iterator
from pathlib import Path

import pytest

import recollect
from recollect.factory import verify
from recollect.model.archive import ImportReport
from tests.integration.sqlite.engines import SCOPE, an_engine, content
from tests.integration.sqlite.scene import Other
from tests.integration.sqlite.test_archive import a_later_engine

pytestmark = pytest.mark.thorough

MEMORIES = 20
TOLD = "nobody but her doctor may know about number"


class Killed(Other):
    """Another process, which has children that are killed."""

    acts = "tests.integration.sqlite.kill_rig"


def kills(*command: object) -> Iterator[Path]:
    """The store after each kill; the last child must have come to its end."""
    rig = Killed(*command)
    while (said := rig.hear()) not in ("ended", ""):
        yield Path(said)
        rig.tell()
    assert said == "ended"
    rig.end()


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """A store with memories of two scopes, former versions, contexts, votes and keys."""
    path = tmp_path / "whole" / "a.db"
    path.parent.mkdir()
    with an_engine(path) as engine:
        for number in range(MEMORIES):
            engine.remember(f"{TOLD} {number} of hers", scope=SCOPE, key=f"key {number}", topic_key=f"topic {number}")
        first, second, *_ = engine.memories(scope=SCOPE)
        engine.revise(first.id, f"{TOLD} which is another now", scope=SCOPE)
        engine.forget(second.id, scope=SCOPE)
        context = engine.recall("what may her doctor know?", scope=SCOPE)
        engine.feedback(context.id or "", scope=SCOPE, helped=[first.id])
        engine.remember("we meet on Mondays", scope="acme", shared=True)
    return path


def test_an_import_that_is_killed_took_in_nothing_or_all_and_the_next_one_takes_in_the_rest(
    store: Path, tmp_path: Path
) -> None:
    with an_engine(store) as engine:
        lines = list(engine.export())
    (tmp_path / "export.jsonl").write_text("".join(lines))
    empty = tmp_path / "empty" / "b.db"
    empty.parent.mkdir()
    an_engine(empty).close()
    everything = MEMORIES + 2  # with the one above, and the context
    taken: list[int] = []
    for path in kills("imports", empty, 15, tmp_path / "export.jsonl"):
        assert verify(path).problems == ()
        with a_later_engine(path) as engine:
            found = engine.stats()
            taken.append(found.memories + found.contexts)
            imported = engine.import_(lines)
            if taken[-1]:
                assert imported == ImportReport(memories=0, contexts=0, skipped=everything)
            else:
                assert imported == ImportReport(memories=MEMORIES + 1, contexts=1, skipped=0)
            assert list(engine.export()) == lines
        assert verify(path).problems == ()
    assert set(taken) == {0, everything}
    assert len(taken) > 12


def test_an_erasure_that_is_killed_erased_nothing_or_all_and_the_next_one_erases_the_rest(store: Path) -> None:
    left: list[int] = []
    for path in kills("erases", store, 10):
        assert verify(path).problems == ()
        with an_engine(path) as engine:
            left.append(engine.stats(scope=SCOPE).memories)
            assert engine.stats().memories == left[-1] + 1
            if left[-1]:
                assert engine.erase(scope=SCOPE, everything=True).proven
                assert TOLD.encode() not in content(path.parent)
            else:  # nobody knows any more what to look for, so the store is made anew, as the docs say
                with pytest.raises(recollect.NotFound):
                    engine.erase(scope=SCOPE, everything=True)
            lines = list(engine.export())
        assert verify(path).problems == ()
        anew = path.parent / "anew" / "a.db"
        anew.parent.mkdir()
        with a_later_engine(anew) as engine:
            assert engine.import_(lines).memories == 1
            assert TOLD.encode() not in content(anew.parent)
    assert set(left) == {0, MEMORIES}
    assert len(left) > 12
