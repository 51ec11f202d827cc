"""Index: by what a memory is found when somebody asks."""

from enum import StrEnum


class Index(StrEnum):
    """The ways to find a memory: by its words, and by its direction."""

    TEXT = "text"
    VECTOR = "vector"
