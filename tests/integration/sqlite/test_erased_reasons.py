"""What a verdict quotes of a memory goes when that memory is erased."""

from datetime import timedelta
from pathlib import Path

import pytest

import recollect
from recollect.testing import NOW

ANA = "acme/ana"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Ana lives in Ravensburg-Quartzington", "Ana lives in Rome"),
        ("Ana walks the quartz dog in Ravensburg", "Ana doesn't walk the quartz cat in Rome"),
    ],
)
def test_a_key_of_what_took_its_place_has_no_words_of_what_was_erased(old: str, new: str, tmp_path: Path) -> None:
    with recollect.open(tmp_path / "a.db", embedder="hashing", clock=lambda: NOW) as memory:
        first = memory.remember(old, scope=ANA, subject="s", at=NOW - timedelta(days=2))
        second = memory.remember(new, scope=ANA, subject="s", key="k", at=NOW - timedelta(days=1))
        assert "Ravensburg" in second.reason
        memory.erase(id=first.id, scope=ANA)
    assert all(b"Ravensburg" not in one.read_bytes() for one in tmp_path.iterdir())
