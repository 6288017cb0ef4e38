"""Records that are played again: nothing differs, and what was changed is found."""

import gymnasium as gym
import pytest

from rollback_gym.play.playing import play
from rollback_gym.play.policies import OraclePolicy, RandomPolicy
from rollback_gym.play.records import Made, line, parse
from rollback_gym.play.replay import replay

ENVS = {
    "alfworld": Made("Rollback-ALFWorld-v0", {"max_turns": 12, "shuffle_numbers": True, "cost": 0.5}),
    "webshop": Made("Rollback-WebShop-v0", {"revive": True}),
    "sokoban": Made("Rollback-Sokoban-v0", {"revive": True, "dead_end": True}),
    "arrays": Made("Rollback-Sokoban-v0", {"observation": "array", "actions": "discrete"}),
    "minesweeper": Made("Rollback-MineSweeper-v0", {"revive": True, "flags": True}),
    "board": Made("Rollback-MineSweeper-v0", {"observation": "array", "actions": "discrete", "revive": True}),
}


def played(made, policy=None, seed=3, **given):
    env = gym.make(made.id, disable_env_checker=True, **made.kwargs)
    episode = play(env, policy or RandomPolicy(0.3), id="a", made=made, seed=seed, **given)
    return parse(line(episode))


@pytest.fixture(autouse=True)
def _made_worlds(monkeypatch):
    for variable in ("ALFWORLD_DATA", "WEBSHOP_DATA"):
        monkeypatch.delenv(variable, raising=False)


@pytest.mark.parametrize("name", ENVS)
def test_every_record_plays_again(name):
    for seed in range(4):
        episode = played(ENVS[name], seed=seed)
        assert episode.distance is not None
        assert replay(episode, oracle=True) is None
    assert any(act.kind == "rollback" for act in episode.acts)


def test_with_a_level_and_shuffled_numbers():
    """The numbers are drawn after the level, unless it was given."""
    level = played(ENVS["alfworld"], seed=9).level
    episode = played(ENVS["alfworld"], options={"level": level})
    assert episode.options == {"level": level}
    assert replay(episode) is None
    assert replay(episode._replace(options={})) is not None


CHANGES = {
    "observation": lambda act: act._replace(observation=f"{act.observation} "),
    "reward": lambda act: act._replace(reward=act.reward + 1e-9),
    "invalid": lambda act: act._replace(invalid="because"),
    "failed": lambda act: act._replace(failed=True),
    "parent": lambda act: act._replace(parent=0),
    "kind": lambda act: act._replace(kind="rollback"),
}


@pytest.mark.parametrize("field", CHANGES)
def test_the_first_difference_is_told(field):
    episode = played(ENVS["alfworld"], OraclePolicy())
    acts = list(episode.acts)
    for place in (3, 4):
        acts[place] = CHANGES[field](acts[place])
    difference = replay(episode._replace(acts=tuple(acts)))
    assert (difference.index, difference.what) == (4, field)
    assert f"action 4: {field} was {difference.recorded!r}, and is {difference.replayed!r} now" in str(difference)


@pytest.mark.parametrize("field", ["level", "task", "kind", "observation", "max_turns", "outcome", "total"])
def test_differences_of_the_whole(field):
    episode = played(ENVS["alfworld"], OraclePolicy())
    value = getattr(episode, field)
    changed = episode._replace(**{field: value + 1 if isinstance(value, int | float) else f"{value} "})
    assert replay(changed).what == field


def test_an_episode_that_goes_on_or_ends_early():
    episode = played(ENVS["alfworld"], OraclePolicy())
    assert replay(episode._replace(acts=episode.acts[:-1])).what == "outcome"
    more = episode.acts[-1]._replace(index=len(episode.acts) + 1)
    assert replay(episode._replace(acts=(*episode.acts, more))).what == "the number of actions"


def test_what_the_oracle_said_is_compared_where_asked_for():
    episode = played(ENVS["alfworld"])
    act = episode.acts[0]._replace(distance=99.0)
    changed = episode._replace(acts=(act, *episode.acts[1:]))
    assert replay(changed) is None
    assert replay(changed, oracle=True).what == "distance"
    assert replay(episode._replace(wasted=99), oracle=True).what == "wasted"
