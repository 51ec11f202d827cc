"""Rendering of values: JSON fields and tables, shared by the CLI, the servers and reports."""
