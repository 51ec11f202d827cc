"""The gate: what `default` must find of judgements of our own making, category by category."""
