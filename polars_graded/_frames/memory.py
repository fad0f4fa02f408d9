"""Memory that this process can still use."""

from __future__ import annotations

import os
from pathlib import Path

WITHOUT_A_WORD = 4 << 30
"""Bytes that are taken to be free where the system does not say."""

CGROUPS = Path("/sys/fs/cgroup")


def memory_at_hand() -> int:
    """Return the free bytes of this process: of the machine, its container and its limits."""
    return max(0, min([_of_machine(), *_of_container(), *_of_limits()]))


def _of_machine() -> int:
    try:
        return of_process("/proc/meminfo", "MemAvailable")
    except (OSError, KeyError):
        pass
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2
    except (AttributeError, ValueError, OSError):
        return WITHOUT_A_WORD


def _of_container() -> list[int]:
    """Return the memory that the limits of a container leave."""
    try:
        most, used = (
            (CGROUPS / f"memory.{each}").read_text("utf-8") for each in ("max", "current")
        )
        return [int(most) - int(used)]
    except (OSError, ValueError):  # there is none, or "max"
        return []


def _of_limits() -> list[int]:
    """Return the memory that `ulimit -v` and `ulimit -d` leave."""
    try:
        import resource

        return [
            resource.getrlimit(limit)[0] - of_process("/proc/self/status", used)
            for limit, used in ((resource.RLIMIT_AS, "VmSize"), (resource.RLIMIT_DATA, "VmData"))
            if resource.getrlimit(limit)[0] != resource.RLIM_INFINITY
        ]
    except (ImportError, OSError, KeyError):
        return []


def of_process(file: str, name: str) -> int:
    """Return the bytes in an entry of /proc."""
    lines = (line.split() for line in Path(file).read_text(encoding="utf-8").splitlines())
    kilobytes = {words[0].rstrip(":"): words[1] for words in lines if len(words) > 1}
    return 1024 * int(kilobytes[name])
