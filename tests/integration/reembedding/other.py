"""What other processes do in these tests: one function each, named on the command line."""

import os
import signal
import sys
from collections.abc import Callable, Sequence
from itertools import count

import recollect
from recollect.model.reembedding import Progress, Stage
from recollect.wiring import re_embed
from tests.integration.reembedding.scene import FORMER, NEW, SCOPE, Watched


def say(*words: object) -> None:
    print(*words, flush=True)  # noqa: T201 — how it talks to the test


def until_told(_: Sequence[str] = ()) -> None:
    say("waiting")
    sys.stdin.readline()


def re_embeds_when_told(path: str) -> None:
    """Re-embed, and wait to be told before each batch."""
    re_embed(path, embedder=Watched(until_told))


def is_killed_while_removing(path: str) -> None:
    """Re-embed, and die as soon as the first of the former vectors are gone."""

    def die(progress: Progress) -> None:
        if progress.stage is Stage.REMOVING and progress.done:
            os.kill(os.getpid(), signal.SIGKILL)

    re_embed(path, embedder=NEW, progress=die)


def writes_until_refused(path: str) -> None:
    """Remember, revise and recall with the former model until that is refused, and say how."""
    with recollect.open(path, embedder=FORMER) as engine:
        for number in count():
            try:
                receipt = engine.remember(f"written meanwhile, number {number}", scope=SCOPE)
                if number % 3 == 0:
                    engine.revise(receipt.id, f"revised meanwhile, number {number}", scope=SCOPE)
                engine.recall("seat", scope=SCOPE)
            except recollect.EmbedderMismatch as error:
                say("refused", number, error)
                return
            say("wrote")


def reads_until_refused(path: str) -> None:
    """Search with the former model until that is refused; say whenever an answer differs from the first."""
    with recollect.open(path, embedder=FORMER) as engine:
        first = [scored.id for scored in engine.search("seat", scope=SCOPE)]
        say("found")
        while True:
            try:
                found = engine.search("seat", scope=SCOPE)
            except recollect.EmbedderMismatch as error:
                say("refused", error)
                return
            if [scored.id for scored in found] != first:
                say("differs")


COMMANDS: dict[str, Callable[..., None]] = {
    command.__name__: command
    for command in (re_embeds_when_told, is_killed_while_removing, writes_until_refused, reads_until_refused)
}

if __name__ == "__main__":
    COMMANDS[sys.argv[1]](*sys.argv[2:])
