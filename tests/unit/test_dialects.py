"""Modules that have moved are found under their old paths for one release."""

import importlib
import sys

import pytest

from recollect.dialects import NEW_PATHS
from tests.tables import table


@pytest.fixture(autouse=True)
def not_loaded_yet(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in NEW_PATHS:
        monkeypatch.delitem(sys.modules, f"recollect.dialects.{name}", raising=False)


@table("name", NEW_PATHS)
def test_an_old_path_gives_the_module_at_the_new_one_and_warns(name: str) -> None:
    with pytest.warns(DeprecationWarning, match=f"dialects.{name} has moved; import {NEW_PATHS[name]}"):
        old = importlib.import_module(f"recollect.dialects.{name}")
    assert old is importlib.import_module(NEW_PATHS[name])
    assert old.__name__ == NEW_PATHS[name]
    assert old.__spec__ is not None
    assert old.__spec__.name == NEW_PATHS[name]


def test_an_unknown_old_path_is_not_found() -> None:
    with pytest.raises(ModuleNotFoundError, match=r"recollect\.dialects\.nothing"):
        importlib.import_module("recollect.dialects.nothing")
