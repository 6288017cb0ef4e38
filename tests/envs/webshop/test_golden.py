"""What the original WebShop said, recorded by `tests.fidelity.webshop`, is what is said here."""

from collections import Counter

import pytest

from tests.fidelity.webshop import play_here, read


@pytest.mark.parametrize("compat", ["original", "verl-agent"])
def test_recorded_episodes(compat: str) -> None:
    counts: Counter[str] = Counter()
    for setting, episode in read(compat):
        assert play_here(setting, compat, episode) is None, setting
        counts["episodes"] += 1
        counts["steps"] += len(episode.steps)
        for _, shown in episode.steps:
            counts["purchases"] += shown is not None and shown.done
            counts["wins"] += shown is not None and shown.reward == 1.0
            counts["errors"] += shown is None
    assert counts["episodes"] >= 300
    assert min(counts.values()) > 0
    assert len(counts) == 5
