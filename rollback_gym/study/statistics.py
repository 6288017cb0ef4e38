"""Shares and medians with bootstrap intervals, the same from the same numbers, whatever was computed before.

Episodes are what is drawn again: turns and replays of one episode are not independent, so they go together.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

CONFIDENCE = 0.95
RESAMPLES = 2000
_CELLS = 4_000_000
"""How many drawn numbers are held at a time."""


class Estimate(NamedTuple):
    """A share, with its confidence interval."""

    value: float | None
    """None where there was nothing to count."""
    low: float | None
    """The interval's ends; None where fewer than two episodes leave nothing to draw from."""
    high: float | None
    size: int
    """What it is a share of: the sum of the denominators."""


class Distribution(NamedTuple):
    """A few numbers of a sample."""

    size: int
    """How many values."""
    mean: float | None
    """None of an empty sample, as all that follow."""
    median: float | None
    low: float | None
    """The confidence interval of the median; None for fewer than two values."""
    high: float | None
    lower: float | None
    """The lower quartile."""
    upper: float | None
    """The upper quartile."""


Counts = tuple[Sequence[float], Sequence[float]]
"""Of every episode a numerator and a denominator; both 0 where it has no say."""


def shares(counts: Mapping[str, Counts], *, seed: int = 0, resamples: int = RESAMPLES) -> dict[str, Estimate]:
    """How many in all, out of how many in all, each with its percentile bootstrap interval.

    All of `counts` must have as many episodes; a share's interval depends on its own numbers only. Where every
    episode with a say has the same all (1) or nothing (0), drawing again could only repeat it and would feign
    certainty: there the interval is Clopper and Pearson's, for as many independent trials as there are such episodes.
    """
    if not counts:
        return {}
    over = np.array([numerators for numerators, _ in counts.values()], dtype=np.float64)
    under = np.array([denominators for _, denominators in counts.values()], dtype=np.float64)
    lows, highs = _resampled(over, under, seed, resamples)
    return {name: _estimate(over[row], under[row], lows[row], highs[row]) for row, name in enumerate(counts)}


def distribution(values: Sequence[float], *, seed: int = 0, resamples: int = RESAMPLES) -> Distribution:
    """Mean, median and quartiles (interpolated linearly), and the median's bootstrap interval.

    The values, finite all, are one an episode. The k-th smallest of n values drawn again is the one at place ceil(n U),
    where U is the k-th smallest of n uniform numbers, which is Beta distributed; so the medians of the bootstrap are
    drawn themselves, and no samples.
    """
    n = len(values)
    if n == 0:
        return Distribution(0, None, None, None, None, None, None)
    ordered = np.sort(np.asarray(values, dtype=np.float64))
    lower, median, upper = (float(q) for q in np.quantile(ordered, (0.25, 0.5, 0.75)))
    low = high = None
    if n > 1:
        rng = np.random.default_rng(seed)
        first = (n + 1) // 2
        at = rng.beta(first, n - first + 1, resamples)
        medians = _place(ordered, at)
        if n % 2 == 0:
            after = at + (1 - at) * rng.beta(1, n - first, resamples)
            medians = (medians + _place(ordered, after)) / 2
        low, high = (float(q) for q in np.quantile(medians, _ends()))
    return Distribution(n, float(ordered.mean()), median, low, high, lower, upper)


def _ends() -> tuple[float, float]:
    return (1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2


def _place(ordered: Floats, at: Floats) -> Floats:
    n = len(ordered)
    taken: Floats = ordered[np.clip(np.ceil(n * at).astype(np.int64) - 1, 0, n - 1)]
    return taken


def _resampled(over: Floats, under: Floats, seed: int, resamples: int) -> tuple[Floats, Floats]:
    """The ends of each row's interval, NaN where no resample had a denominator."""
    rows, n = over.shape
    drawn = np.full((rows, resamples), np.nan)
    if n > 1:
        rng = np.random.default_rng(seed)
        step = max(1, _CELLS // n)
        for start in range(0, resamples, step):
            size = min(step, resamples - start)
            picks = rng.integers(n, size=(size, n))
            picks += np.arange(size)[:, None] * n
            weights = np.bincount(picks.ravel(), minlength=size * n).reshape(size, n).astype(np.float64)
            above, below = weights @ over.T, weights @ under.T
            part = np.divide(above, below, out=np.full_like(above, np.nan), where=below > 0)
            drawn[:, start : start + size] = part.T
    lows, highs = np.full(rows, np.nan), np.full(rows, np.nan)
    for row in range(rows):
        kept = drawn[row][~np.isnan(drawn[row])]
        if len(kept):
            lows[row], highs[row] = np.quantile(kept, _ends())
    return lows, highs


def _estimate(over: Floats, under: Floats, low: float, high: float) -> Estimate:
    total = float(under.sum())
    if total == 0:
        return Estimate(None, None, None, 0)
    value, heard = float(over.sum()) / total, under > 0
    trials = int(heard.sum())
    margin = ((1 - CONFIDENCE) / 2) ** (1 / trials)
    if not over.any():
        return Estimate(value, 0.0, 1 - margin, round(total))
    if np.array_equal(over, under):
        return Estimate(value, margin, 1.0, round(total))
    if trials < 2:
        return Estimate(value, None, None, round(total))
    return Estimate(value, float(low), float(high), round(total))
