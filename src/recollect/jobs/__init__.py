"""Scheduled maintenance jobs of a whole store, each run once per due time."""
