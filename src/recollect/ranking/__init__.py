"""Rank candidates by a profile at a moment, and explain every score.

The package is pure arithmetic: no clock, no store, no randomness.
"""
