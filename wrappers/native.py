"""What is known of well-known environments: how the Atari emulator and MuJoCo's physics are asked for their state, and
which tables never change.
"""

import copy
from typing import Any

from rollback_gym.core.attributes import NotCopyable, register_fixed, register_native, register_renderer


def _take_atari(ale: Any) -> Any:
    if ale.getFloat("repeat_action_probability") > 0:
        # Measured on ale-py 0.12: after restoreState the action that may be repeated is the one taken last, whenever.
        raise NotCopyable(
            "the Atari emulator's state leaves out the action that sticky actions repeat: make the environment with "
            "repeat_action_probability=0, or use strategy='replay'"
        )
    return ale.cloneState(include_rng=True)


def _put_atari(ale: Any, state: Any) -> None:
    ale.restoreState(state)


def _take_physics(data: Any) -> Any:
    # Everything, and not positions and velocities alone: derived quantities enter the next reward.
    return copy.copy(data)


def _put_physics(data: Any, state: Any) -> None:
    import mujoco

    mujoco.mj_copyData(data, data.model, state)


def _take_nothing(model: Any) -> None:
    """A model stays as it is."""


def _leave(model: Any, state: None) -> None:
    pass


def _no_window() -> None:
    pass


def _same(model: Any) -> Any:
    return model


def register() -> None:
    """Make these hooks known."""
    register_native("ale_py._ale_py.ALEInterface", _take_atari, _put_atari)
    register_native("mujoco._structs.MjData", _take_physics, _put_physics, copy.copy)
    register_native("mujoco._structs.MjModel", _take_nothing, _leave, _same)
    register_renderer("gymnasium.envs.mujoco.mujoco_rendering.MujocoRenderer", _viewers=dict, viewer=_no_window)
    for place in ("taxi.TaxiEnv", "frozen_lake.FrozenLakeEnv", "cliffwalking.CliffWalkingEnv"):
        register_fixed(f"gymnasium.envs.toy_text.{place}", "P", "initial_state_distrib", "desc", "locs")
