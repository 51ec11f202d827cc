"""Bars: how far something long has come, for people at a terminal and nobody else."""

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager

import click

from recollect.model.reembedding import Progress, Stage

LABELS: Mapping[Stage, str] = {Stage.EMBEDDING: "embedding", Stage.REMOVING: "removing former vectors"}
"""What a bar says in front of it."""

Show = Callable[[Progress], None]

Tell = Callable[[int, int], None]
"""Told how much is done, and of how much."""


@contextmanager
def bars() -> Iterator[Show]:
    """Shows how far each stage is, in a bar of its own on standard error; nothing where that is no terminal."""
    with ExitStack() as opened:
        begun: dict[Stage, Tell] = {}

        def show(progress: Progress) -> None:
            if progress.stage not in begun and progress.total:
                opened.close()  # which ends the line of the bar before
                begun[progress.stage] = _bar(opened, LABELS[progress.stage], progress.total)
            begun.get(progress.stage, _nothing)(progress.done, progress.total)

        yield show if sys.stderr.isatty() else _unseen


@contextmanager
def bar(label: str, *, wanted: bool = True) -> Iterator[Tell]:
    """Shows how far it is, in a bar on standard error; nothing where that is no terminal, or if it is not wanted."""
    with ExitStack() as opened:
        begun: list[Tell] = []

        def show(done: int, total: int) -> None:
            if not begun and total:
                begun.append(_bar(opened, label, total))
            for one in begun:
                one(done, total)

        yield show if wanted and sys.stderr.isatty() else _nothing


def _bar(opened: ExitStack, label: str, total: int) -> Tell:
    bar = opened.enter_context(click.progressbar(length=total, label=label, file=sys.stderr))

    def show(done: int, total: int) -> None:
        bar.length = total
        bar.update(max(done - bar.pos, 0))

    return show


def _unseen(_: Progress) -> None:
    """Nobody would see it."""


def _nothing(_: int, __: int) -> None:
    """Nobody would see it."""
