"""What other processes with an engine do in these tests: one function each, named on the command line."""

import os
import signal
from collections.abc import Sequence
from itertools import count
from pathlib import Path

import apsw

import recollect
from recollect.factory import re_embed
from recollect.model.encoder import ReembeddingProgress, ReembeddingStage
from recollect.stores.sqlite.verify import SampleMemory, verify
from tests.integration.sqlite.engines import SCOPE
from tests.integration.sqlite.models import FORMER, NEW, Watched
from tests.integration.sqlite.other import obey, say, until_told


def reads(path: str) -> None:
    """Look at the store, and hold on to what was seen until told."""
    db = apsw.Connection(path)
    db.execute("BEGIN")
    say(db.execute("SELECT count(*) FROM memories").get)
    until_told()


def remembers(path: str, scope: str, text: str) -> None:
    """Remember a text, and close the store."""
    with recollect.open(path) as engine:
        say(engine.remember(text, scope=scope).id)


def remembers_and_waits(path: str, scope: str, text: str) -> None:
    """Remember a text, and do not close the store until told."""
    with recollect.open(path) as engine:
        engine.remember(text, scope=scope)
        say("remembered")
        until_told()


def backs_up_when_told(path: str, target: str) -> None:
    """Make a backup, and wait to be told once some of it is copied."""
    told: list[int] = []

    def wait(done: int, _: int) -> None:
        if not told:
            told.append(done)
            say("copying")
            until_told()

    with recollect.open(path) as engine:
        engine.admin.backup(target, progress=wait)


def is_killed_while_verifying(path: str) -> None:
    """Verify a store, and die as soon as it is restored."""

    def die(restored: Path, _: SampleMemory) -> list[str]:
        say(restored)
        os.kill(os.getpid(), signal.SIGKILL)
        return []

    verify(Path(path), die, lambda _, __: None)


def re_embeds_when_told(path: str) -> None:
    """Re-embed, and wait to be told before each batch."""

    def wait(_: Sequence[str]) -> None:
        say("waiting")
        until_told()

    re_embed(path, embedder=Watched(wait))


def is_killed_while_removing(path: str) -> None:
    """Re-embed, and die as soon as the first of the former vectors are gone."""

    def die(progress: ReembeddingProgress) -> None:
        if progress.stage is ReembeddingStage.REMOVING and progress.done:
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
            except recollect.errors.EmbedderMismatch as error:
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
            except recollect.errors.EmbedderMismatch as error:
                say("refused", error)
                return
            if [scored.id for scored in found] != first:
                say("differs")


if __name__ == "__main__":
    obey(
        reads,
        remembers,
        remembers_and_waits,
        backs_up_when_told,
        is_killed_while_verifying,
        re_embeds_when_told,
        is_killed_while_removing,
        writes_until_refused,
        reads_until_refused,
    )
