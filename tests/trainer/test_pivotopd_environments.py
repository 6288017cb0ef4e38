"""PivotOPD in the environments that there are: mistakes are found, and recovery goes on as the oracle says."""

import pytest

from rollback_gym.oracles.lookup import for_env
from rollback_gym.play.prompts import Prompts
from rollback_gym.play.records import Made
from rollback_gym.play.run import make_env
from rollback_gym.trainer.collector import Collector, Limits, Setup
from rollback_gym.trainer.moments import followed, moment
from rollback_gym.trainer.pivot_settings import Recovering, Settings
from rollback_gym.trainer.pivotopd import PivotOPD, pivots
from rollback_gym.trainer.rewards import environment_rewards
from rollback_gym.trainer.rows import Kind, check_row, with_advantages
from rollback_gym.trainer.scene import Scene
from rollback_gym.trainer.teachers import OracleTeacher
from rollback_gym.trainer.trajectory import start_after
from tests.trainer.pivoting import CHAT, Obeying, Scored
from tests.trainer.scripted import Drawn, act

ENVIRONMENTS = ("Rollback-ALFWorld-v0", "Rollback-WebShop-v0", "Rollback-Sokoban-v0", "Rollback-MineSweeper-v0")


def anything(number, text):
    """One of what is offered."""
    offered = text.rpartition("You can do:\n")[2].partition("<|im_end|>")[0].splitlines()
    action = offered[number % len(offered)].removeprefix("- ")
    return act(action.replace("<your query>", "red shirt"))


def begun(env, seed):
    """On the way already: the first half of a shortest solution has been taken."""
    env.reset(seed=seed)
    plan = for_env(env).plan(env.unwrapped.level, env.unwrapped.state)
    return start_after(env, plan[: len(plan) // 2], seed=seed)


@pytest.mark.parametrize("id", ENVIRONMENTS)
def test_mistakes_of_random_play_are_recovered_from(id):
    made = Made(id, {})
    setup = Setup(made, Prompts(think=False, brief=True, rollback=False), limits=Limits(400, 60_000, turns=12))
    env = make_env(made)
    starts = [begun(env, seed) for seed in range(6)]
    played = Collector(setup, CHAT).play(starts, Drawn(CHAT, anything), 0)
    rows = tuple(with_advantages(row, {span.turn: 0.0 for span in row.spans}) for row in played.rows)
    scene = Scene(played.trajectories, environment_rewards(played.trajectories), rows, Obeying(CHAT), Scored(), 0, 0)
    teacher = OracleTeacher(for_env(env))
    extension = PivotOPD(Settings(recovering=Recovering(2)), setup, CHAT, lambda scene: teacher)(scene)
    found = pivots(played.trajectories, teacher.reports(played.trajectories, 0))
    assert found
    after = [row for row in extension.rows if row.kind is Kind.RECOVERY]
    for row in after:
        check_row(row)
    dropped = {name: of for name, of in extension.measures.items() if name.startswith("recovery/dropped") and any(of)}
    assert set(dropped) <= {"recovery/dropped_over", "recovery/dropped_unnamed"}, "what was named was not done"
    # Where the goal is still within reach, each recovery action brings it nearer by one turn.
    for pivot in found:
        trajectory = played.trajectories[pivot.episode]
        here = moment(trajectory, pivot.turn)
        (named,) = teacher.names([here], 0)
        step = trajectory.steps[pivot.turn - trajectory.prefix - 1]
        if named.action is None or step.after.outcome != "running":
            continue
        assert named.action in here.feasible or "search[" in named.action
        _, later = followed(env, step.after, here.view, named.action, act(named.action))
        distance = teacher.oracle.distance
        assert distance(later.level, later.state) == distance(here.level, here.state) - 1
    assert after or id in ("Rollback-MineSweeper-v0", "Rollback-WebShop-v0")
