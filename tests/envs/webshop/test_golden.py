"""What the original WebShop said, recorded by `tests.fidelity.webshop`, is what is said here."""

from collections import Counter

import pytest

from rollback_gym.envs.webshop.fidelity import Episode
from rollback_gym.envs.webshop.original import Shown
from rollback_gym.envs.webshop.rules import Compat
from tests.fidelity.webshop import play_here, read


@pytest.mark.parametrize("compat", ["original", "verl-agent"])
def test_recorded_episodes(compat: Compat) -> None:
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


def changed(episode: Episode, **answer: object) -> Episode:
    """The episode, with another answer to its first action."""
    action, shown = episode.steps[0]
    assert shown is not None
    return episode._replace(steps=((action, shown._replace(**answer)), *episode.steps[1:]))


@pytest.mark.parametrize(
    ("what", "other"),
    [("observation", "x"), ("available", {"has_search_bar": True, "clickables": []}), ("reward", 0.1), ("done", True)],
)
def test_any_difference_is_noticed(what: str, other: object) -> None:
    setting, episode = next(read("original"))
    found = play_here(setting, "original", changed(episode, **{what: other}))
    assert found is not None
    assert (found.what, found.theirs) == (what, other)


def test_an_error_of_the_original_must_be_refused_here() -> None:
    setting, episode = next(read("original"))
    found = play_here(setting, "original", episode._replace(steps=(("search[shoes]", None),)))
    assert found is not None
    assert found.what == "error"


def test_a_difference_at_the_start_is_noticed() -> None:
    setting, episode = next(read("original"))
    found = play_here(setting, "original", episode._replace(start=Shown("x", episode.start.available)))
    assert found is not None
    assert (found.what, found.turn) == ("observation", 0)
