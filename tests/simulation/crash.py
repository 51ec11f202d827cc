"""Crash: a process of its own that is killed in the middle of its work, at the same call whenever it is tried again."""

import os
import signal
import sys
import threading
from collections.abc import Callable
from types import FrameType


def killed(work: Callable[[], None], *, after: int) -> bool:
    """Do the work in a child that is killed at its call of that number, counted over all of its threads; says whether
    it was, or came to its end before.
    """
    child = os.fork()
    if child == 0:
        try:
            _arm(after)
            work()
            os._exit(0)
        except BaseException as error:  # whom else could the child tell?
            os.write(2, f"{type(error).__name__}: {error}\n".encode())
        finally:
            os._exit(1)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        return True
    if status:
        raise RuntimeError(f"the child ended by itself, with {os.waitstatus_to_exitcode(status)}")
    return False


def _arm(calls: int) -> None:
    left = calls

    def count(_: FrameType, event: str, __: object) -> None:
        nonlocal left
        left -= event == "call"
        if left <= 0:
            os.kill(os.getpid(), signal.SIGKILL)

    threading.setprofile(count)
    sys.setprofile(count)
