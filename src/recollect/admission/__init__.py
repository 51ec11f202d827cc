"""Admission: what happens to a draft before it becomes a memory."""
