"""The use cases of the engine: each gathers, decides and commits, in that order."""
