"""Policies: what they do, by what chance, and what they may see."""

import gymnasium as gym
import pytest

from rollback_gym.core.errors import PolicyError
from rollback_gym.play.playing import Table, play
from rollback_gym.play.policies import (
    KnowingPolicy,
    OraclePolicy,
    Policy,
    RandomPolicy,
    ScriptedPolicy,
    Turn,
    make_policy,
    policy_names,
    remake_policy,
)
from rollback_gym.play.records import Made, timeless

ENVS = {name: Made(f"Rollback-{name}-v0", {}) for name in ("ALFWorld", "WebShop", "Sokoban", "MineSweeper")}


@pytest.fixture(autouse=True)
def _made_worlds(monkeypatch):
    for variable in ("ALFWORLD_DATA", "WEBSHOP_DATA"):
        monkeypatch.delenv(variable, raising=False)


def make(made):
    return gym.make(made.id, disable_env_checker=True, **made.kwargs)


def played(made, policy, id="0-0", **given):
    return play(make(made), policy, id=id, made=made, seed=0, **given)


@pytest.mark.parametrize("name", ENVS)
def test_the_oracle_wins_in_as_many_turns_as_are_needed(name):
    env = make(ENVS[name])
    for seed in range(5):
        episode = play(env, OraclePolicy(), id=f"{seed}-0", made=ENVS[name], seed=seed)
        assert (episode.outcome, len(episode.acts)) == ("won", episode.distance)
        assert {act.grade for act in episode.acts} == {"optimal"}


def test_ties_are_broken_by_the_seed_and_the_id():
    def actions(**given):
        return [act.action for act in played(ENVS["MineSweeper"], OraclePolicy(), **given).acts]

    assert actions() == actions()
    assert len({tuple(actions(id=f"0-{repetition}")) for repetition in range(5)}) > 1
    assert len({tuple(actions(policy_seed=seed)) for seed in range(5)}) > 1


def test_a_policy_keeps_nothing_from_one_episode_to_the_next():
    policy = RandomPolicy(0.2)
    alone = timeless(played(ENVS["Sokoban"], policy, id="1-0"))
    played(ENVS["Sokoban"], policy, id="2-0")
    assert timeless(played(ENVS["Sokoban"], policy, id="1-0")) == alone


@pytest.mark.parametrize("name", ENVS)
def test_the_random_policy_only_does_what_is_admissible(name):
    made = ENVS[name]._replace(kwargs={"revive": True})
    episode = played(made, RandomPolicy(0.25))
    assert not any(act.invalid for act in episode.acts)
    assert any(act.kind == "rollback" for act in episode.acts)
    assert not any(act.kind == "rollback" for act in played(ENVS[name], RandomPolicy()).acts)


class _Blunder(OraclePolicy):
    """Walks into the first mine, then does as the oracle does."""

    def act_knowing(self, view, truth):
        if len(view.turns) == 2:
            lengths = (
                (a, truth.oracle.distance(truth.level, self._after(truth, a))) for a in view.turns[-1].admissible
            )
            fatal = (action for action, length in lengths if length > 99)
            return super().act_knowing(view, truth)._replace(action=next(fatal))
        return super().act_knowing(view, truth)

    @staticmethod
    def _after(truth, action):
        from rollback_gym.envs.minesweeper import rules

        return rules.step(truth.level, truth.state, action).state


def test_the_oracle_goes_back_where_that_is_nearer():
    made = ENVS["MineSweeper"]._replace(kwargs={"revive": True})
    episode = played(made, _Blunder())
    assert episode.outcome == "won"
    assert [act.kind for act in episode.acts[:4]] == ["game", "game", "rollback", "game"]
    assert (episode.acts[1].failed, episode.acts[2].target) == (True, 1)
    assert episode.pivots == (2,)
    assert len(episode.acts) == episode.distance + 2
    assert played(made, _Blunder(rollbacks=False)).outcome == "lost"


def test_a_script():
    made = ENVS["ALFWorld"]._replace(kwargs={"max_turns": 3})
    episode = played(made, ScriptedPolicy(["look", "rollback(0)"], then="inventory"))
    assert [act.action for act in episode.acts] == ["look", "rollback(0)", "inventory"]
    assert episode.outcome == "truncated"
    with pytest.raises(PolicyError, match="2 actions"):
        played(made, ScriptedPolicy(["look", "rollback(0)"]))
    with pytest.raises(ValueError, match="list of actions"):
        ScriptedPolicy("look")


def test_the_record_of_an_episode():
    made = ENVS["Sokoban"]._replace(kwargs={"max_turns": 6})
    script = ["right", "left", 'rollback(1, "wrong way")', "rollback(9)", "dance", "up"]
    episode = played(made, ScriptedPolicy(script))
    assert [act.index for act in episode.acts] == [1, 2, 3, 4, 5, 6]
    assert [act.kind for act in episode.acts] == ["game", "game", "rollback", "rollback", "game", "game"]
    assert [act.parent for act in episode.acts] == [0, 1, 2, 1, 1, 5]
    assert [act.target for act in episode.acts] == [None, None, 1, None, None, None]
    assert [bool(act.invalid) for act in episode.acts] == [False, False, False, True, True, False]
    back = episode.acts[2]
    assert (back.reason, back.abandoned, back.observation) == ("wrong way", (2,), episode.acts[0].observation)
    assert [(act.previous, act.distance) for act in episode.acts] == [(5, 4), (4, 5), (5, 4), (4, 4), (4, 4), (4, 3)]
    assert episode.pivots == (2,)
    assert episode.wasted == 4
    assert episode.total == pytest.approx(-0.3)  # the refund gave the second back
    assert (episode.kind, episode.outcome, episode.max_turns, episode.distance) == ("sokoban", "truncated", 6, 5)
    assert all(act.seconds > 0 for act in episode.acts)


def test_the_task_type_of_alfworld():
    assert played(ENVS["ALFWorld"], OraclePolicy()).kind == "pick_heat_then_place_in_recep"


class _Looking:
    """Notes what it is shown."""

    name = "looking"

    def begin(self, seed):
        self.views = []

    def act(self, view):
        self.views.append(view)
        return ScriptedPolicy(["look"], then="look").act(view)

    def settings(self):
        return {}


def test_what_an_agent_sees():
    made = ENVS["ALFWorld"]._replace(kwargs={"max_turns": 3, "oracle": True, "max_rollbacks": 2, "verb": "rewind"})
    policy = _Looking()
    episode = played(made, policy)
    assert len(policy.views) == 3
    view = policy.views[-1]
    assert "oracle" not in view.info
    assert view.observation == episode.acts[1].observation
    assert (view.task, view.env, view.max_turns) == (episode.task, "alfworld", 3)
    assert [turn.index for turn in view.turns] == [0, 1, 2]
    assert [turn.targets for turn in view.turns] == [(), (0,), (0, 1)]
    assert view.turns[0] == Turn(0, None, episode.observation, admissible=view.turns[0].admissible)
    assert view.turns[1].admissible == view.info["admissible_actions"]
    assert (view.going_back.verb, view.going_back.most) == ("rewind", 2)
    assert view.go_back(1, "so") == 'rewind(1, "so")'
    assert view.go_back(1, "") == "rewind(1)"


def test_knowing_is_another_type():
    knowing = {name: isinstance(make_policy(name), KnowingPolicy) for name in ("random", "oracle", "noisy-oracle")}
    assert knowing == {"random": False, "oracle": True, "noisy-oracle": True}
    assert not isinstance(OraclePolicy(), Policy)


def test_an_environment_without_a_history_is_refused():
    env = gym.make("Rollback-Sokoban-v0", rollback=False, disable_env_checker=True)
    with pytest.raises(TypeError, match="max_rollbacks=0"):
        Table(env)


def test_names_and_settings():
    assert set(policy_names()) == {"random", "scripted", "oracle", "noisy-oracle", "endpoint", "local"}
    made = played(ENVS["Sokoban"], make_policy("random", rollbacks=0.5)).policy
    assert made == {"name": "random", "seed": 0, "rollbacks": 0.5}
    assert remake_policy(made).settings() == {"rollbacks": 0.5}
    assert make_policy("tests.play.test_policies:_Looking").name == "looking"


@pytest.mark.parametrize(
    ("name", "settings", "told"),
    [
        ("rnadom", {}, "there are random, scripted"),
        ("random", {"rate": 1}, "'rate'; it takes rollbacks"),
        ("random", {"rollbacks": 2}, "from 0 to 1"),
        ("oracle", {"rollbacks": 1}, "true or false"),
        ("scripted", {}, "'actions'"),
        ("no.such.module:thing", {}, "No policy"),
        ("tests.play.test_policies:nothing", {}, "No policy"),
        ("tests.play.test_policies:make", {"made": Made("Rollback-Sokoban-v0", {})}, "is no policy"),
    ],
)
def test_mistakes_are_told(name, settings, told):
    with pytest.raises(ValueError, match=told):
        make_policy(name, **settings)


@pytest.mark.parametrize("name", ENVS)
def test_the_empty_text_does_nothing_anywhere(name):
    """It is what a model's nonsense comes to."""
    env = make(ENVS[name])
    env.reset(seed=0)
    before = env.unwrapped.state
    assert "invalid_action" in env.step("")[4]
    assert env.unwrapped.state == before


def test_an_answer_that_is_no_choice():
    class Speaks(RandomPolicy):
        def act(self, view):
            return "look"

    with pytest.raises(TypeError, match=r"must answer with a play\.policies\.Choice, got 'look'"):
        played(ENVS["ALFWorld"], Speaks())
