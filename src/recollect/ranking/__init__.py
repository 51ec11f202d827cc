"""Rank candidates by a profile at a moment.

The package is pure arithmetic: no clock, no store, no randomness.
"""
