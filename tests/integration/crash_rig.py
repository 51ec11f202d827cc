"""Writers killed at random moments: run as a program, it says what was lost or torn, and ends with 1 if anything was.

Each round forks a child that opens the store and writes from several threads, saying the id of each memory once
`remember` has returned. It is killed (SIGKILL) after a random while. What it said must be there, and whatever is there
must be whole.
"""

import argparse
import os
import random
import select
import signal
import sys
import threading
import time
from pathlib import Path

import apsw
import numpy as np

import recollect
from recollect.retrieval import bm25
from recollect.text import tokenizer

SCOPE = "acme/ana"
THREADS = 3


def write_until_killed(path: Path, round: int, out: int) -> None:
    """Remember, revise and recall for ever, from several threads, and say what was acknowledged."""
    engine = recollect.open(path, embedder="hashing")
    said = threading.Lock()

    def work(name: int) -> None:
        number = 0
        while True:
            receipt = engine.remember(f"seat {round} {name} {number}", scope=SCOPE)
            text = receipt.memory.text
            if number % 3 == 2:
                text += " revised"
                engine.revise(receipt.id, text, scope=SCOPE)
            with said:
                os.write(out, f"{receipt.id}\t{text}\n".encode())
            if number % 4 == 3:
                engine.recall("seat", scope=SCOPE, tokens=200)
            number += 1

    threads = [threading.Thread(target=work, args=(name,), daemon=True) for name in range(THREADS)]
    for thread in threads:
        thread.start()
    threads[0].join()


def one_round(path: Path, round: int, dice: random.Random) -> dict[str, str]:
    """What a child acknowledged before it was killed, as texts by id."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        try:
            write_until_killed(path, round, write)
        finally:
            os._exit(9)
    os.close(write)
    deadline = time.monotonic() + 20.0
    wait_for = dice.choice([0, 0, 1, 1, 5, 20])  # acknowledgements before the clock of the killer starts
    text = b""
    while text.count(b"\n") < wait_for and time.monotonic() < deadline:
        if select.select([read], [], [], 0.05)[0]:
            text += os.read(read, 65536)
    time.sleep(dice.random() * dice.choice([0.002, 0.01, 0.04]))
    os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    if not os.WIFSIGNALED(status):
        raise SystemExit(f"round {round}: the writer ended by itself, with {status}")
    while chunk := os.read(read, 65536):
        text += chunk
    os.close(read)
    whole = text.decode().split("\n")[:-1]
    return dict(line.split("\t") for line in whole)


def problems(path: Path, acknowledged: dict[str, str]) -> list[str]:
    """What was lost, and what is not whole: row, terms and vector of every memory and version."""
    found: list[str] = []
    db = apsw.Connection(str(path))
    if db.execute("PRAGMA integrity_check").fetchall() != [("ok",)]:
        found.append("the file is not sound")
    if db.execute("PRAGMA foreign_key_check").fetchall():
        found.append("something refers to what is not there")
    texts = {}
    for id, text, terms, vector in db.execute(
        """SELECT m.id, c.text, c.terms, v.value FROM memories m
           LEFT JOIN contents c ON c.number = m.content
           LEFT JOIN vectors v ON v.key = 256 * c.number + (SELECT number FROM encoders WHERE present = 1)"""
    ):
        if text is None or terms is None or vector is None:
            found.append(f"{id} is torn: text {text!r}, terms {terms is not None}, vector {vector is not None}")
            continue
        texts[id] = text
        if bm25.encode_terms(tokenizer.count_terms(text)) != terms:
            found.append(f"{id} has the terms of another text")
        if abs(float(np.linalg.norm(np.frombuffer(vector, dtype="<f4"))) - 1.0) > 1e-5:
            found.append(f"{id} has half a vector")
    found += [f"{id} was acknowledged and is lost" for id in acknowledged if id not in texts]
    found += [
        f"{id} says {texts[id]!r}, not {text!r}" for id, text in acknowledged.items() if texts.get(id, text) != text
    ]
    orphans = db.execute(
        """SELECT count(*) FROM contents WHERE number NOT IN (SELECT content FROM memories)
           AND number NOT IN (SELECT content FROM versions)"""
    ).get
    if orphans:
        found.append(f"{orphans} contents belong to nobody")
    db.close()
    return found


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("folder", type=Path)
    arguments.add_argument("--kills", type=int, default=200)
    arguments.add_argument("--seed", type=int, default=0)
    chosen = arguments.parse_args()
    dice = random.Random(chosen.seed)
    path = chosen.folder / "agent.db"
    acknowledged: dict[str, str] = {}
    for round in range(chosen.kills):
        acknowledged |= one_round(path, round, dice)
        if round % 20 == 19 and (found := problems(path, acknowledged)):
            print(f"after {round + 1} kills:", *found[:20], sep="\n")
            sys.exit(1)
    found = problems(path, acknowledged)
    with recollect.open(path) as engine:  # and it goes on as if nothing had been
        engine.remember("the last seat", scope=SCOPE)
        ranking = engine.search("the last seat", scope=SCOPE, limit=1)
    if ranking[0].memory.text != "the last seat":
        found.append("what is remembered after all that is not found")
    print(f"{chosen.kills} kills, {len(acknowledged)} acknowledged, {len(found)} problems", *found[:20], sep="\n")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
