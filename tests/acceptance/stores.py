"""Choose the stores that a test runs on."""

import pytest

on_both_stores = pytest.mark.parametrize("target", ["sqlite", "postgres"], indirect=True)
"""Runs a test on PostgreSQL by default too: what it proves goes through SQL of the store's own."""
