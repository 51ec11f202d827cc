"""The use cases: each gathers, decides and commits, in that order."""
