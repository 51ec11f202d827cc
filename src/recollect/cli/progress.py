"""Bars: how far something long has come, for people at a terminal and nobody else."""

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager

import click

from recollect.model.reembedding import ReembeddingProgress, ReembeddingStage

STAGE_LABELS: Mapping[ReembeddingStage, str] = {
    ReembeddingStage.EMBEDDING: "embedding",
    ReembeddingStage.REMOVING: "removing former vectors",
}
"""What a bar says in front of it."""

ShowProgress = Callable[[ReembeddingProgress], None]

ReportProgress = Callable[[int, int], None]
"""Told how much is done, and of how much."""


@contextmanager
def stage_bars() -> Iterator[ShowProgress]:
    """Shows how far each stage is, in a bar of its own on standard error; nothing where that is no terminal."""
    with ExitStack() as opened:
        begun: dict[ReembeddingStage, ReportProgress] = {}

        def show(progress: ReembeddingProgress) -> None:
            if progress.stage not in begun and progress.total:
                opened.close()  # which ends the line of the bar before
                begun[progress.stage] = _open_bar(opened, STAGE_LABELS[progress.stage], progress.total)
            begun.get(progress.stage, _ignore_progress)(progress.done, progress.total)

        yield show if sys.stderr.isatty() else _ignore_stage


@contextmanager
def progress_bar(label: str, *, wanted: bool = True) -> Iterator[ReportProgress]:
    """Shows how far it is, in a bar on standard error; nothing where that is no terminal, or if it is not wanted."""
    with ExitStack() as opened:
        begun: list[ReportProgress] = []

        def show(done: int, total: int) -> None:
            if not begun and total:
                begun.append(_open_bar(opened, label, total))
            for one in begun:
                one(done, total)

        yield show if wanted and sys.stderr.isatty() else _ignore_progress


def _open_bar(opened: ExitStack, label: str, total: int) -> ReportProgress:
    bar = opened.enter_context(click.progressbar(length=total, label=label, file=sys.stderr))

    def show(done: int, total: int) -> None:
        bar.length = total
        bar.update(max(done - bar.pos, 0))

    return show


def _ignore_stage(_: ReembeddingProgress) -> None:
    """Nobody would see it."""


def _ignore_progress(_: int, __: int) -> None:
    """Nobody would see it."""
