"""Pack a ranking into a budget: the context for a model, and what was left out and why."""
