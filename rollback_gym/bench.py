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
    """`s` for a time, which is printed as s, ms, us or ns; a rate such as `steps/s`; or anything else, such as `MB`."""
    reference: float | None = None
    """The same of the original, measured in the same run."""
    note: str = ""
    """What was measured, and on how much."""

    @property
    def ratio(self) -> float | None:
        """How many times better ours is than the original's: a rate is better for being larger, all else for less."""
        if self.reference is None:
            return None
        return self.value / self.reference if self.unit.endswith("/s") else self.reference / self.value


def seconds(function: Callable[[], object], *, repeat: int, blocks: int = 7) -> float:
    """The time of one call: the median over `blocks` blocks of `repeat` calls each."""
    times = []
    for _ in range(blocks):
        start = time.perf_counter()
        for _ in range(repeat):
            function()
        times.append((time.perf_counter() - start) / repeat)
    return statistics.median(times)


Batch = Callable[[], tuple[int, float]]
"""Does something some times, and returns how often, and how many seconds it took."""


def rate(batch: Batch, budget: float) -> float:
    """How many a second: the best of several batches that take about `budget` seconds in all, after one to warm up."""
    batch()
    rates: list[float] = []
    end = time.process_time() + budget
    while not rates or time.process_time() < end:
        done, spent = batch()
        rates.append(done / spent)
    return max(rates)


def repeated(do: Callable[[], object], times: int) -> tuple[int, float]:
    """One `Batch`: `times`, and the seconds that as many calls took.

    Time is that of the process on its core, so that others on the machine count as little as they can.
    """
    start = time.process_time()
    for _ in range(times):
        do()
    return times, time.process_time() - start


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
