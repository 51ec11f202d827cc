"""Evaluation: measures ranking quality from judgments, and tunes profiles."""
