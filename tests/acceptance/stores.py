"""Where a story is told."""

import pytest

on_both_stores = pytest.mark.parametrize("target", ["sqlite", "postgres"], indirect=True)
"""Runs a story on PostgreSQL in every run: what it proves goes through SQL of the store's own."""
