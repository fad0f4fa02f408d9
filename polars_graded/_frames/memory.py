"""Memory that this process can still use."""

from __future__ import annotations

import os
from pathlib import Path

DEFAULT_FREE_BYTES = 4 << 30
"""Assumed number of free bytes if the system reports no amount of memory."""

CGROUPS = Path("/sys/fs/cgroup")


def find_free_memory() -> int:
    """Return the bytes that this process can still use under all limits."""
    return max(
        0, min([_find_machine_memory(), *_find_container_memory(), *_find_memory_below_limits()])
    )


def _find_machine_memory() -> int:
    try:
        return read_process_entry("/proc/meminfo", "MemAvailable")
    except (OSError, KeyError):
        pass
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2
    except (AttributeError, ValueError, OSError):
        return DEFAULT_FREE_BYTES


def _find_container_memory() -> list[int]:
    """List the bytes that the memory limit of a container leaves.

    Without such a limit, the list is empty.
    """
    try:
        limit, used = (
            (CGROUPS / f"memory.{each}").read_text("utf-8") for each in ("max", "current")
        )
        return [int(limit) - int(used)]
    except (OSError, ValueError):  # no limit: the files do not exist, or the text is "max"
        return []


def _find_memory_below_limits() -> list[int]:
    """List the bytes that `ulimit -v` and `ulimit -d` leave.

    A limit that is not set has no entry in the list.
    """
    try:
        import resource

        return [
            resource.getrlimit(limit)[0] - read_process_entry("/proc/self/status", used)
            for limit, used in ((resource.RLIMIT_AS, "VmSize"), (resource.RLIMIT_DATA, "VmData"))
            if resource.getrlimit(limit)[0] != resource.RLIM_INFINITY
        ]
    except (ImportError, OSError, KeyError):
        return []


def read_process_entry(file: str, name: str) -> int:
    """Return the size that a line of a /proc file states, in bytes.

    For example, the line "VmSize: 12 kB" has the name "VmSize" and results in 12288.
    """
    lines = (line.split() for line in Path(file).read_text(encoding="utf-8").splitlines())
    kilobytes = {words[0].rstrip(":"): words[1] for words in lines if len(words) > 1}
    return 1024 * int(kilobytes[name])
