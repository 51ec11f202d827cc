"""The place: which SQLite, model and room will do."""

import pytest

from recollect.config import Settings
from recollect.diagnosis.place import LITTLE_ROOM, NO_ROOM, model, room, sqlite_of, unfinished
from recollect.model.diagnosis import Finding
from recollect.model.encoder import Encoder
from recollect.stores.sqlite.stats import Glance

HASHING = Encoder("hashing-64", 64)
SERVED = Encoder("http:some-model", 512)


@pytest.mark.parametrize(
    ("library", "finding"),
    [
        ("3.40.1", Finding.PROBLEM),
        ("3.51.2", Finding.PROBLEM),
        ("3.51.3", Finding.OK),
        ("3.100.0", Finding.OK),
        ("4.0", Finding.OK),
    ],
)
def test_a_sqlite_that_may_lose_what_was_written_is_a_problem(library: str, finding: Finding) -> None:
    check = sqlite_of(library, "3.50.1.0")
    assert check.finding is finding
    assert check.seen.startswith(f"{library}, by apsw 3.50.1.0")


@pytest.mark.parametrize(
    ("free", "used", "finding"),
    [
        (NO_ROOM - 1, 0, Finding.PROBLEM),
        (NO_ROOM, 0, Finding.WARNING),
        (LITTLE_ROOM - 1, 0, Finding.WARNING),
        (LITTLE_ROOM, 0, Finding.OK),
        (LITTLE_ROOM, LITTLE_ROOM + 1, Finding.WARNING),
        (LITTLE_ROOM + 1, LITTLE_ROOM + 1, Finding.OK),
    ],
)
def test_room_is_measured_by_what_is_needed_to_build_the_store_anew(free: int, used: int, finding: Finding) -> None:
    assert room(free, used).finding is finding


@pytest.mark.parametrize(
    ("encoder", "configured", "finding", "seen"),
    [
        (HASHING, None, Finding.OK, "which is installed"),
        (HASHING, "hashing-64", Finding.OK, "as the settings say"),
        (HASHING, "hashing", Finding.PROBLEM, "and the settings name hashing-256"),
        (HASHING, "hashin", Finding.PROBLEM, "no embedder is called 'hashin'"),
        (SERVED, None, Finding.WARNING, "which is behind an address"),
        (SERVED, "https://nobody.invalid/v1#some-model", Finding.OK, "as the settings say"),
        (SERVED, "https://nobody.invalid/v1#other", Finding.PROBLEM, "and the settings name http:other"),
        (Encoder("of-my-own", 3), None, Finding.WARNING, "which is none of recollect's own"),
    ],
)
def test_a_store_s_model_must_be_to_be_had(
    encoder: Encoder, configured: str | None, finding: Finding, seen: str
) -> None:
    check = model(encoder, Settings(embedder=configured))
    assert check.finding is finding
    assert seen in check.seen


def test_a_model_behind_an_address_is_to_be_named_by_it() -> None:
    assert model(SERVED, Settings()).remedy == "set RECOLLECT_EMBEDDER to https://host/v1#some-model"


def test_every_model_that_a_store_is_on_its_way_to_is_named() -> None:
    assert list(unfinished(Glance(schema=1, latest=1, encoder=HASHING))) == []
    both = Glance(schema=1, latest=1, encoder=HASHING, begun=(SERVED, Encoder("x", 1)), dismissed=2)
    assert [check.seen for check in unfinished(both)] == [
        "begun with http:some-model (512 dimensions), and not finished",
        "begun with x (1 dimension), and not finished",
        "vectors of a former model are still to be removed",
    ]
