"""A simulated year: a life day by day, with crashes and restarts, and what must hold after every day."""
