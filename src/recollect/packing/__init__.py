"""A ranking and a budget make a context: what is handed to a model, and what is left out and why."""
