"""Allocation: what a server does once so that requests spend less on memory."""

import ctypes
import gc
import sys
from typing import Final

M_TRIM_THRESHOLD: Final = -1
M_MMAP_THRESHOLD: Final = -3
"""The names that the C library has for what can be chosen."""

KEPT_HEAP_BYTES: Final = 64 * 1024 * 1024
"""How many bytes at the end of its heap a thread keeps when they are free."""

MMAP_THRESHOLD_BYTES: Final = 32 * 1024 * 1024
"""From how many bytes on an array is a mapping of its own, which is given back as soon as it is free."""


def tune_allocator() -> bool:
    """Have the C library give freed memory back later; whether it does, for only the GNU one can be told so.

    By itself it gives back the end of the heap of every thread but the first after each recall, and takes it again for
    the next one, page by page, which costs a tenth of the recall (docs/adr/0077).
    """
    if not sys.platform.startswith("linux"):
        return False
    choose = getattr(ctypes.CDLL(None), "mallopt", None)
    return choose is not None and all(
        choose(name, size)
        for name, size in ((M_MMAP_THRESHOLD, MMAP_THRESHOLD_BYTES), (M_TRIM_THRESHOLD, KEPT_HEAP_BYTES))
    )


def freeze_garbage_collector() -> None:
    """Have the garbage collector look no more through what is there now: modules, classes and schemas, for good.

    By itself it looks through all of it after some thirty recalls, which takes as long as three of them
    (docs/adr/0077). How often it looks at what is new stays as it is: a body of megabytes may be garbage.
    """
    gc.collect()
    gc.freeze()
