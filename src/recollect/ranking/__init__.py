"""Candidates + profile + moment → ranking. Arithmetic: no clock, no store, no randomness."""
