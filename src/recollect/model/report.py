"""Report: what a check of a store or a backup found."""

from dataclasses import dataclass

from recollect.model.encoder import Encoder


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifyReport:
    """What is in a file, and everything that is wrong with it, in words.

    `sealed` says that the file carries the sum of all its bytes, and that it is right: a backup does, a store in use
    cannot. `recalled` says that a recall from the restored copy found what it had to find.
    """

    path: str
    bytes: int
    sealed: bool
    schema: int = 0
    encoder: Encoder | None = None
    memories: int = 0
    versions: int = 0
    contexts: int = 0
    recalled: bool = False
    problems: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong."""
        return not self.problems
