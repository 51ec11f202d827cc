"""The nouns, as frozen values that hold their own invariants."""
