"""Extras: what a dialect needs of the framework that it speaks for, and how whoever lacks it is told."""

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def requires_extra(extra: str) -> Iterator[None]:
    """What is imported inside is brought by an extra; whoever has not installed it, or another version, is told so."""
    try:
        yield
    except ImportError as error:
        remedy = f"install recollect with its extra {extra} (in its folder: pip install '.[{extra}]')"
        raise ImportError(f"{error}; {remedy}", name=error.name, path=error.path) from error
