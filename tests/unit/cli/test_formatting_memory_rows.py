"""Memories in rows."""

from datetime import timedelta

from recollect.cli import formatting
from recollect.model.enums import Kind, Status
from recollect.model.memory import MemoryId
from recollect.testing import NOW, a_memory, a_ranking


def test_what_was_found_is_told_by_score_id_kind_date_and_text() -> None:
    table = formatting.ranking_table(
        a_ranking([a_memory("a", text="two\nlines", kind=Kind.FACT), a_memory("b", title="Days")])
    )
    assert table.names == ("score", "id", "kind", "date", "text")
    assert table.rows == [
        ("1.000", "a", "fact", "2026-01-01", "two lines"),
        ("0.500", "b", "observation", "2026-01-01", "Days: deploys run on Fridays"),
    ]


def test_who_said_something_stands_before_it_and_once() -> None:
    table = formatting.ranking_table(
        a_ranking(
            [
                a_memory("a", text="I went to the lake", speaker="Ana"),
                a_memory("b", text="I went to the lake", speaker="Ben", title="May"),
                a_memory("c", text="Ben: it was cold", speaker="ben"),
                a_memory("d", text="it is deep", speaker="A\u00a0B"),
            ]
        )
    )
    said = [
        "Ana: I went to the lake",
        "May: Ben: I went to the lake",
        "Ben: it was cold",
        "A B: it is deep",
    ]
    assert [row[-1] for row in table.rows] == said
    assert [row[-1] for row in formatting.memory_table([a_memory("a", text="hello", speaker="Ana")]).rows] == [
        "Ana: hello"
    ]
    assert [row[-1] for row in formatting.version_table([a_memory("a", text="hello", speaker="Ana")]).rows] == [
        "Ana: hello"
    ]


def test_a_listed_memory_says_whose_it_is_and_what_sets_it_apart() -> None:
    plain, marked = a_memory("a"), a_memory("b", pinned=True, shared=True, status=Status.FORGOTTEN)
    assert [row[1:5] for row in formatting.memory_table([plain, marked]).rows] == [
        ("acme/ana", "observation", "2026-01-01", ""),
        ("acme/ana", "observation", "2026-01-01", "forgotten, pinned, shared"),
    ]


def test_what_is_over_says_until_when_and_what_took_its_place() -> None:
    end = NOW + timedelta(days=31)
    old = a_memory("a", valid_until=end, status=Status.SUPERSEDED, superseded_by=MemoryId("b"))
    new = a_memory("b", text="deploys run on Mondays")
    said = "[until 2026-02-01] deploys run on Fridays"
    for instead, by in ((None, "b"), ({}, "b"), ({new.id: new}, "b (deploys run on Mondays)")):
        tables = (formatting.memory_table([old], instead), formatting.version_table([old], instead))
        assert [table.rows[0][-1] for table in tables] == [f"{said} [replaced by {by}]"] * 2
    assert formatting.ranking_table(a_ranking([old, new])).rows[0][-1] == f"{said} [replaced by b]"


def test_what_is_kept_apart_says_why() -> None:
    waits = a_memory("a", status=Status.QUARANTINED, remark="who said so?")
    assert formatting.memory_table([waits]).rows[0][-1] == "deploys run on Fridays [who said so?]"
    assert formatting.memory_table([waits.with_changes(status=Status.ACTIVE)]).rows[0][-1] == "deploys run on Fridays"


def test_the_date_is_when_the_present_text_was_observed() -> None:
    memory = a_memory("a", created_at=NOW - timedelta(days=9), observed_at=NOW - timedelta(days=1))
    assert formatting.memory_table([memory]).rows[0][3] == "2025-12-31"


def test_a_version_says_its_revision_when_the_store_took_it_in_and_by_which_run() -> None:
    versions = [a_memory("a", recorded_at=NOW, commit=7), a_memory("a", text="on Mondays", revisions=2)]
    assert formatting.version_table(versions).rows == [
        ("1", "2026-01-01 00:00:00Z", "7", "", "deploys run on Fridays"),
        ("2", "", "", "", "on Mondays"),
    ]
    assert formatting.version_table(versions).names == ("revision", "recorded", "run", "marks", "text")
