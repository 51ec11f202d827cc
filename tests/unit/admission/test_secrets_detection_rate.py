"""The detector of secrets, judged by a generator that shares no code or pattern with it."""

import json
import os
import sysconfig
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random

from tests.tables import table
from tests.unit.admission.password_sentences import ORDINARY
from tests.unit.admission.secret_makers import DRESSINGS, KINDS, MAKERS, Dressed, dressed, ordinary

from recollect.admission.policy import SecretsPolicy
from recollect.admission.screening import Screened, screen
from recollect.admission.secrets import redact
from recollect.model.draft import read_draft
from recollect.testing.builders import SCOPE

ROOT = Path(__file__).parents[3]
SECRETS = 5_000
TEXTS = 5_000
LINES = 50_000
FOUND, FOUND_OF_A_KIND, FALSE = 0.99, 0.90, 0.002
PURE = (
    "asyncio",
    "collections",
    "concurrent",
    "email",
    "html",
    "http",
    "importlib",
    "json",
    "logging",
    "urllib",
    "xml",
)
SINGLE = "[a-z]*.py"


@dataclass(frozen=True, slots=True)
class Trial:
    """One secret in a text, and what redaction left of the two."""

    kind: str
    way: str
    dressed: Dressed
    left: str

    def found(self) -> bool:
        """Nothing of the confidential part stands there as a whole line."""
        return not any(needle in self.left for needle in self.dressed.needles)

    def halved(self) -> bool:
        """Half of a long line of it is left, which is enough to guess by or to know it again."""
        long = [needle for needle in self.dressed.needles if len(needle) >= 24]
        halves = [half for each in long for half in (each[: len(each) // 2], each[len(each) // 2 :])]
        return any(half in self.left for half in halves)


@cache
def trials() -> tuple[Trial, ...]:
    return tuple(
        Trial(kind, way, each, redact(each.text).text) for kind, way, each in dressed(Random(20_260_304), SECRETS)
    )


def missed(judged: Iterable[Trial]) -> str:
    """The kinds and dressings of those not found, most frequent first: names only, never the secret."""
    return ", ".join(
        f"{kind} in {way}: {n}" for (kind, way), n in Counter((t.kind, t.way) for t in judged).most_common()
    )


def test_the_judge_knows_fifty_kinds_and_every_way_to_dress_them() -> None:
    assert len(MAKERS) >= 50
    assert {trial.kind for trial in trials()} == set(KINDS)
    assert {trial.way for trial in trials()} == set(DRESSINGS)


def test_every_secret_of_the_judge_stands_in_its_text() -> None:
    assert all(needle and needle in t.dressed.text for t in trials() for needle in t.dressed.needles)


def test_ninety_nine_of_a_hundred_secrets_are_found() -> None:
    lost = [trial for trial in trials() if not trial.found()]
    assert SECRETS - len(lost) >= FOUND * SECRETS, missed(lost)


@table("kind", KINDS)
def test_nine_of_ten_secrets_of_every_kind_are_found(kind: str) -> None:
    judged = [trial for trial in trials() if trial.kind == kind]
    lost = [trial for trial in judged if not trial.found()]
    assert len(judged) - len(lost) >= FOUND_OF_A_KIND * len(judged), missed(lost)


@table("way", DRESSINGS)
def test_nine_of_ten_secrets_in_every_dressing_are_found(way: str) -> None:
    judged = [trial for trial in trials() if trial.way == way]
    lost = [trial for trial in judged if not trial.found()]
    assert len(judged) - len(lost) >= FOUND_OF_A_KIND * len(judged), missed(lost)


def test_no_half_of_a_secret_is_left() -> None:
    left = [trial for trial in trials() if trial.halved()]
    assert SECRETS - len(left) >= FOUND * SECRETS, missed(left)


def test_ordinary_texts_are_left_alone() -> None:
    lost = [(family, text) for family, text in ordinary(Random(20_260_305), TEXTS) if redact(text).text != text]
    assert len(lost) <= FALSE * TEXTS, lost[:20]


def test_kinds_are_named_if_and_only_if_something_was_taken_out() -> None:
    texts = [text for _, text in ordinary(Random(20_260_306), 300)]
    texts += [each.text for _, _, each in dressed(Random(20_260_306), 300)]
    assert all(bool(redact(text).kinds) == (redact(text).text != text) for text in texts)


def library() -> Iterator[str]:
    """Modules of the standard library, in the order of their names, until there are enough lines."""
    where = Path(sysconfig.get_path("stdlib"))
    files = [*sorted(where.glob(SINGLE)), *(file for name in PURE for file in sorted((where / name).rglob("*.py")))]
    count = 0
    for file in files:
        text = file.read_text(encoding="utf-8")
        count += text.count("\n")
        yield text
        if count >= LINES:
            return


def own() -> Iterator[str]:
    return (file.read_text(encoding="utf-8") for file in sorted((ROOT / "src").rglob("*.py")))


def documentation() -> Iterator[str]:
    """What people wrote about software: the pages of this project."""
    return (file.read_text(encoding="utf-8") for file in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))))


def taken(texts: Iterable[str]) -> tuple[list[str], int]:
    """The lines that redaction did not leave as they were, and the number of all lines."""
    lines = [line for text in texts for line in text.splitlines()]
    return [line for line in lines if redact(line).text != line], len(lines)


def test_every_line_of_the_standard_library_is_left_alone() -> None:
    lines, count = taken(library())
    assert count >= LINES
    assert len(lines) <= FALSE * count, lines[:20]


def test_every_line_of_the_source_of_this_project_is_left_alone() -> None:
    lines, count = taken(own())
    assert len(lines) <= FALSE * count, lines[:20]


def test_every_line_of_the_documentation_is_left_alone() -> None:
    lines, count = taken(documentation())
    assert len(lines) <= FALSE * count, lines[:20]


def test_whole_files_are_left_alone_as_their_lines_are() -> None:
    files = list(own())[::10]
    kinds = [kind for text in files for kind in redact(text).kinds]
    assert len(kinds) <= FALSE * sum(text.count("\n") for text in files), kinds


def test_no_sentence_about_passwords_is_taken_for_one() -> None:
    assert len(set(ORDINARY)) >= 200
    assert [text for text in ORDINARY if redact(text).kinds] == []


FOLDERS = [
    ROOT / "tests" / "gate" / "judgements",
    *map(Path, filter(None, os.environ.get("RECOLLECT_JUDGEMENTS", "").split(os.pathsep))),
]
"""What recall is measured on: the folder of the tests, and those that RECOLLECT_JUDGEMENTS names."""


def lines(file: Path) -> list[dict[str, str]]:
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


@table("folder", FOLDERS, ids=lambda folder: folder.name)
def test_what_recall_is_measured_on_is_left_alone(folder: Path) -> None:
    names = ("text", "title", "speaker", "session")
    memories = lines(folder / "memories.jsonl")
    drafts = [read_draft({name: one[name] for name in names if name in one}, SCOPE) for one in memories]
    questions = [one["text"] for one in lines(folder / "queries.jsonl")]
    taken = [draft.text for draft in drafts if screen(draft, SecretsPolicy()) != Screened(draft, ())]
    taken += [question for question in questions if redact(question).kinds]
    assert len(drafts) >= 1_000
    assert len(taken) <= FALSE * (len(drafts) + len(questions)), taken[:20]
