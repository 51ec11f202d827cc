"""What is said of erasures, of what was taken in, and of what was checked."""

import json
from typing import Any

from recollect.api import schemas
from recollect.cli import admin, formatting, memories, transfer
from recollect.model.archive import (
    UNREACHABLE_COPIES,
    ErasureReceipt,
    ImportReport,
    ResidueSearch,
    Stats,
    SweepReport,
    VerifyReport,
)
from recollect.model.context import Use
from recollect.model.encoder import Encoder
from recollect.model.enums import Kind, Status
from recollect.model.format import QUOTE_CHARS
from recollect.model.memory import MemoryId
from recollect.model.scope import Scope
from recollect.testing import a_memory
from tests.tables import table

ANA = Scope.parse("acme/ana")
EMPTY = Stats(
    memories=0,
    statuses={},
    kinds={},
    scopes=0,
    largest=(),
    versions=0,
    contexts=0,
    uses=dict.fromkeys(Use, 0),
    unembedded=0,
    encoder=None,
    analyser="1",
    schema=3,
    bytes=0,
)


def an_erasure(search: ResidueSearch, ids: int = 1) -> ErasureReceipt:
    names = tuple(MemoryId(f"m{number}") for number in range(ids))
    return ErasureReceipt(scope=ANA, ids=names, versions=ids, contexts=0, search=search)


def told(erasure: ErasureReceipt) -> dict[str, str]:
    """What each line of a receipt says, by its name; of several under one name the first."""
    found: dict[str, str] = {}
    for line in memories.format_erasure(erasure):
        found.setdefault(line[:12].rstrip(), line[13:])
    return found


def test_a_proved_erasure_says_where_was_searched() -> None:
    said = told(an_erasure(ResidueSearch(files=("a.db", "a.db-wal"))))
    assert said["searched"] == "a.db, a.db-wal"
    assert said["proved"] == "nothing of it was found there"
    assert said["out of reach"] == UNREACHABLE_COPIES[0]
    assert not {"left", "not proved", "same bytes"} & said.keys()


def test_an_erasure_that_is_not_proved_never_says_that_it_is() -> None:
    said = told(
        an_erasure(ResidueSearch(files=("a.db",), remains=("a.db (first at byte 7)",), unfinished="somebody reads"))
    )
    assert (said["left"], said["not proved"]) == ("a.db (first at byte 7)", "somebody reads")
    assert "proved" not in said


def test_what_says_the_same_and_stays_is_told() -> None:
    said = told(an_erasure(ResidueSearch(files=("a.db",), elsewhere={"contents": 1, "vectors": 2})))
    assert (
        said["same bytes"] == "in 1 row of contents, 2 rows of vectors, which belong to memories that were not erased"
    )


def test_of_many_ids_some_are_named() -> None:
    said = told(an_erasure(ResidueSearch(), ids=memories.MAX_NAMED_IDS + 5))
    assert said["ids"].endswith(f"m{memories.MAX_NAMED_IDS - 1}, and 5 more")
    assert said["searched"] == "no files: the store has none"


def test_an_erasure_as_json_has_what_the_receipt_has_and_none_of_the_bytes() -> None:
    erasure = ErasureReceipt(
        scope=ANA,
        ids=(MemoryId("a"),),
        versions=1,
        vectors=3,
        uses=4,
        votes=5,
        keys=6,
        checkpoints=7,
        contexts=2,
        restored=(MemoryId("b"),),
        made_of=(MemoryId("c"),),
        search=ResidueSearch(files=("a.db",), rewritten=("memories_3",)),
        pieces=frozenset({b"x"}),
    )
    sent = json.loads(json.dumps(schemas.admin.Erasure.of(erasure, dry_run=False).to_json("dry_run")))
    assert sent == {
        "scope": "acme/ana",
        "ids": ["a"],
        "memories": 1,
        "versions": 1,
        "vectors": 3,
        "uses": 4,
        "votes": 5,
        "keys": 6,
        "checkpoints": 7,
        "contexts": 2,
        "restored": ["b"],
        "made_of": ["c"],
        "proven": True,
        "retryable": False,
        "search": {
            "files": ["a.db"],
            "remains": [],
            "elsewhere": {},
            "unfinished": None,
            "copies": [],
            "rewritten": ["memories_3"],
            "unsearched": None,
        },
        "out_of_reach": list(UNREACHABLE_COPIES),
    }


def test_a_receipt_lists_what_went_with_the_memories() -> None:
    counts: dict[str, Any] = {"vectors": 2, "uses": 1, "votes": 0, "keys": 3, "checkpoints": 1}
    said = told(
        ErasureReceipt(scope=ANA, ids=(MemoryId("a"),), versions=1, contexts=0, search=ResidueSearch(), **counts)
    )
    assert said["with it"] == "its words in the text index, 2 vectors, 1 use, 0 votes, 3 keys, 1 checkpoint"


def test_the_receipt_of_a_database_names_what_was_written_anew_and_who_may_read_its_files() -> None:
    said = told(an_erasure(ResidueSearch(rewritten=("contents_3", "memories_3"), unsearched="a superuser may")))
    assert said["rewritten"] == "contents_3, memories_3"
    assert said["searched"] == "no files: a superuser may"
    assert said["proved"] == "nothing of it was found there"
    files = tuple(f"base/1/{number}" for number in range(memories.MAX_NAMED_IDS + 2))
    assert told(an_erasure(ResidueSearch(files=files)))["searched"].endswith(
        f"base/1/{memories.MAX_NAMED_IDS - 1}, and 2 more"
    )


@table(
    ("swept", "told"),
    [
        (SweepReport(), "no file has erased data"),
        (
            SweepReport(tables=("contents_3", "memories_3"), before=2_500_000, after=1_040_000, erasures=1),
            "rewrote 2 tables, 2.5 MB before, 1.0 MB now: their files no longer have data of 1 erasure",
        ),
    ],
)
def test_a_sweep_says_what_it_wrote_anew(swept: SweepReport, told: str) -> None:
    assert memories.describe_sweep(swept) == told
    assert memories.sweep_fields(swept).keys() == {"tables", "before", "after", "erasures"}


def test_a_long_memory_is_quoted_by_its_beginning() -> None:
    assert formatting.quote_memory(a_memory("a", text="short")) == "a (short)"
    assert formatting.quote_memory(a_memory("a", text="x" * (QUOTE_CHARS + 1))) == f"a ({'x' * QUOTE_CHARS}…)"


def test_what_was_taken_in_is_counted_and_vectors_made_anew_are_told() -> None:
    assert list(transfer.describe_import(ImportReport(memories=1, contexts=2, skipped=3))) == [
        "added 1 memory and 2 contexts; skipped 3 that were there already"
    ]
    assert list(transfer.describe_import(ImportReport(memories=0, contexts=1, skipped=1))) == [
        "added 0 memories and 1 context; skipped 1 that was there already"
    ]
    foreign = ImportReport(memories=0, contexts=0, skipped=0, re_embedded=Encoder("m", 8))
    assert (
        list(transfer.describe_import(foreign))[1]
        == "re-embedded: the vectors of the export were from m (8 dimensions)"
    )
    assert schemas.admin.Imported.of(foreign).to_json()["re_embedded"] == {"name": "m", "dimensions": 8}


def test_a_report_says_ok_only_without_problems() -> None:
    fine = VerifyReport(path="a.db", bytes=1, sealed=True, memories=1, recalled=True)
    assert list(transfer.format_report(fine))[1].startswith("ok  restored")
    empty = VerifyReport(path="a.db", bytes=1, sealed=False)
    assert list(transfer.format_report(empty))[1].endswith("the store has no checksum; there was nothing to recall")
    bad = VerifyReport(path="a.db", bytes=1, sealed=True, problems=("torn\x1b page", "lost row"))
    assert list(transfer.format_report(bad))[1:] == ["problem  torn\\x1b page", "problem  lost row"]
    assert (
        schemas.admin.Verification.of(fine).to_json()["ok"],
        schemas.admin.Verification.of(bad).to_json()["ok"],
    ) == (True, False)


def test_figures_come_one_a_row() -> None:
    assert ("schema", "3", "analyser 1") in admin.stats_table(EMPTY).rows
    assert "dimensions" not in [row[0] for row in admin.stats_table(EMPTY).rows]
    full = Stats(
        memories=2,
        statuses={Status.ACTIVE: 2},
        kinds={Kind.FACT: 2},
        scopes=1,
        largest=((ANA, 2),),
        versions=2,
        contexts=0,
        uses={Use.SERVED: 5},
        unembedded=1,
        encoder=Encoder("m", 8),
        analyser="1",
        schema=3,
        bytes=9,
    )
    rows = admin.stats_table(full).rows
    for row in [("status", "2", "active"), ("kind", "2", "fact"), ("scope", "2", "acme/ana"), ("dimensions", "8", "m")]:
        assert row in rows
    assert schemas.admin.Stats.of(full, scope=None).to_json()["largest"] == [{"scope": "acme/ana", "memories": 2}]
    assert schemas.admin.Stats.of(EMPTY, scope=None).to_json()["embedder"] is None
