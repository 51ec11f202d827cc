"""Marks for tests of what only some systems have; on Linux every test runs."""

import os
import sys

import pytest

posix_only = pytest.mark.skipif(os.name != "posix", reason="needs fork, file locks, named pipes or permission bits")
linux_only = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs the memory allocator of Linux")
