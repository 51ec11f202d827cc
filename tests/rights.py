"""Programs that heed permissions, whoever runs them: the right to override them is given up first."""

import sys

_GIVE_UP = """
import ctypes, os, sys

if os.getuid() == 0:
    library = ctypes.CDLL(None, use_errno=True)
    for right in (1, 2):  # CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH, out of the set that a program may begin with (24)
        if library.prctl(24, right, 0, 0, 0) != 0:
            sys.exit(f"the right {right} cannot be given up: {os.strerror(ctypes.get_errno())}")
os.execv(sys.executable, [sys.executable, *sys.argv[1:]])
"""


def heeding(*arguments: str) -> list[str]:
    """The command that runs Python with these arguments as somebody to whom permissions apply."""
    return [sys.executable, "-c", _GIVE_UP, *arguments]
