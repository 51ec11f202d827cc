"""Relational: what the stores that keep tables have in common, whichever database has them."""
