"""How hard Hypothesis looks: HYPOTHESIS_PROFILE names one of these profiles; and which tests are measured."""

import os
from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("default", deadline=None, derandomize=os.environ.get("CI") == "true", max_examples=100)
settings.register_profile("thorough", deadline=None, max_examples=2000)
settings.register_profile("mutation", deadline=None, derandomize=True, database=None, max_examples=15)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))

COVERING = [Path(__file__).parent / "unit" / layer for layer in ("ranking", "packing")]
"""The tests that cover the pure middle by themselves; to measure the others would take them twice as long."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if not any(item.path.is_relative_to(folder) for folder in COVERING):
            item.add_marker(pytest.mark.no_cover)
