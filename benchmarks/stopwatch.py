"""Seconds and memory of a process."""

from __future__ import annotations

import resource
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path


@dataclass
class Stopwatch:
    """Wall and processor seconds of a ``with`` block; those of all threads and children count."""

    wall: float = 0.0
    cpu: float = 0.0
    _started: tuple[float, float] = field(default=(0.0, 0.0), repr=False)

    def __enter__(self) -> Stopwatch:
        self._started = time.perf_counter(), processor_seconds()
        return self

    def __exit__(self, *_: object) -> None:
        self.wall = time.perf_counter() - self._started[0]
        self.cpu = processor_seconds() - self._started[1]

    def record(self) -> dict[str, float]:
        return {"wall": self.wall, "cpu": self.cpu}


def processor_seconds() -> float:
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def peak_memory() -> int:
    """Most bytes this process ever held, packages included.

    The kernel's own counter where there is one: ``ru_maxrss`` of a process that was forked from a
    larger one starts with the memory of its parent.
    """
    status = Path("/proc/self/status")
    if status.exists():
        for line in status.read_text().splitlines():
            if line.startswith("VmHWM:"):
                return 1024 * int(line.split()[1])
    unit = 1 if sys.platform == "darwin" else 1024
    return unit * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
