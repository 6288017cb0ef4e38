"""What the benches of all environments share: a measured value, the machine, and how to measure.

>>> from rollback_gym.bench import seconds
>>> seconds(lambda: sum(range(100)), repeat=1000) < 1e-3
True
"""

import gc
import os
import platform
import statistics
import time
from collections.abc import Callable
from typing import NamedTuple


class Measure(NamedTuple):
    """One measured value."""

    name: str
    value: float
    unit: str
    """`s` for a time, which is printed as s, ms, us or ns; anything else is printed as it is."""
    reference: float | None = None
    """The same of the original, measured in the same run."""
    note: str = ""
    """What was measured, and on how much."""

    @property
    def ratio(self) -> float | None:
        """How many times the original's value is ours."""
        return None if self.reference is None else self.reference / self.value


def seconds(function: Callable[[], object], *, repeat: int, blocks: int = 7) -> float:
    """The time of one call: the median over `blocks` blocks of `repeat` calls each."""
    times = []
    for _ in range(blocks):
        start = time.perf_counter()
        for _ in range(repeat):
            function()
        times.append((time.perf_counter() - start) / repeat)
    return statistics.median(times)


def percentile(values: list[float], share: float) -> float:
    """The value that `share` (0 to 1) of `values` do not exceed."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def resident() -> int | None:
    """The bytes of memory that this process holds now; None where the system does not tell (it does on Linux)."""
    gc.collect()
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            pages = int(file.read().split()[1])
    except OSError:
        return None
    return pages * os.sysconf("SC_PAGE_SIZE")


def machine() -> dict[str, str]:
    """What is measured on, and how busy it is: to be asked before measuring, and named beside every number."""
    return {
        "processor": _processor(),
        "cores": str(os.cpu_count()),
        "load": f"{os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else "unknown",
        "system": f"{platform.system()} {platform.machine()}",
        "python": f"{platform.python_implementation()} {platform.python_version()}",
    }


def _processor() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            for line in file:
                if line.startswith("model name"):
                    return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or "unknown"
