"""The machine that was measured on: what matters for speed, and nothing that tells which one it is."""

import os
import platform
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """Processor, cores, memory and system."""

    processor: str
    cores: int
    memory: int
    """In GiB."""

    system: str

    def __str__(self) -> str:
        return f"{self.cores} cores of {self.processor}, {self.memory} GiB, {self.system}"


def this_machine() -> Machine:
    """The machine this runs on."""
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return Machine(processor=_processor(), cores=os.cpu_count() or 1, memory=round(pages / 2**30), system=_system())


def _processor() -> str:
    known = Path("/proc/cpuinfo")
    lines = known.read_text(encoding="utf-8").splitlines() if known.exists() else []
    named = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "")
    return named or platform.processor() or platform.machine()


def _system() -> str:
    try:
        named = platform.freedesktop_os_release()["PRETTY_NAME"]
    except (OSError, KeyError):
        named = platform.system()
    return f"{named}, {platform.machine()}"
