"""The benchmark of ageing measures what it says: records leave, nothing is left to do, and all of them come back."""

import re
from pathlib import Path

import ageing
import pytest


def test_what_leaves_comes_back(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ageing.measure(50, tmp_path)
    told = capsys.readouterr().out
    for job in ("prune-vectors", "rebuild-index"):
        assert re.search(rf"^{job}: .* [1-9]\d* records", told, re.MULTILINE)
        assert re.search(rf"^{job} again: .* nothing to do$", told, re.MULTILINE)
    assert len(re.findall(r"^undo: .* [1-9]\d* records", told, re.MULTILINE)) == 2
