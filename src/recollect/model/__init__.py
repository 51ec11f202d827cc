"""The domain values: frozen dataclasses that check their own invariants."""
