"""Two processes that say the same at once: one memory, and every one of them hears of it."""

import multiprocessing
from collections import Counter
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pytest

import recollect

ANA = "acme/ana"
TIMES = 1_000
SEAT = "Ana prefers window seats"


def _remember(pipe: Connection, path: str, drafts: list[dict[str, Any]]) -> None:
    """Open the store, wait for the word, and remember one after the other."""
    with recollect.open(path, embedder="hashing") as engine:
        pipe.send("ready")
        pipe.recv()
        receipts = [engine.remember(scope=ANA, **draft) for draft in drafts]
        pipe.send([(type(one.verdict).__name__, one.id) for one in receipts])


def at_once(path: Path, *sayings: list[dict[str, Any]]) -> list[list[tuple[str, str]]]:
    """What each of several processes heard that began at the same moment."""
    context = multiprocessing.get_context("spawn")
    recollect.open(path, embedder="hashing").close()
    pipes, processes = [], []
    for drafts in sayings:
        ours, theirs = context.Pipe()
        processes.append(context.Process(target=_remember, args=(theirs, str(path), drafts), daemon=True))
        processes[-1].start()
        theirs.close()
        pipes.append(ours)
    for pipe in pipes:
        assert pipe.recv() == "ready"
    for pipe in pipes:
        pipe.send("go")
    heard = [pipe.recv() for pipe in pipes]
    for process in processes:
        process.join()
    return heard


def test_the_same_text_a_thousand_times_from_each_of_two_processes_is_one_memory(tmp_path: Path) -> None:
    path = tmp_path / "agent.db"
    heard = at_once(path, *[[{"text": SEAT}] * TIMES] * 2)
    assert [len(one) for one in heard] == [TIMES, TIMES]
    receipts = [receipt for one in heard for receipt in one]
    assert len({id for _, id in receipts}) == 1
    assert Counter(verdict for verdict, _ in receipts) == {"Created": 1, "Reinforced": 2 * TIMES - 1}
    with recollect.open(path) as engine:
        (memory,) = engine.memories(scope=ANA, statuses=list(recollect.Status))
        assert (memory.text, memory.revisions) == (SEAT, 1)
        assert engine.contexts.usage(memory.id, scope=ANA).echoed == 2 * TIMES - 1
    assert recollect.verify(path).ok


@pytest.mark.parametrize("given", [{"topic_key": "home"}, {"subject": "ana: lives in"}], ids=["topic", "subject"])
@pytest.mark.thorough
def test_what_two_processes_contend_about_has_one_truth_in_the_end(tmp_path: Path, given: dict[str, Any]) -> None:
    path, times = tmp_path / "agent.db", 40
    sayings = [[{"text": f"Ana lives in {city} {n}", **given} for n in range(times)] for city in ("Rome", "Milan")]
    heard = at_once(path, *sayings)
    assert not {verdict for one in heard for verdict, _ in one} - {"Created", "Updated", "Superseded"}
    with recollect.open(path) as engine:
        (memory,) = engine.memories(scope=ANA)
        assert memory.text.endswith(f" {times - 1}")
        assert memory.text in {said["text"] for one in sayings for said in one}
    assert recollect.verify(path).ok
