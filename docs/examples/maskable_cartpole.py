"""Train sb3-contrib's MaskablePPO on CartPole, an environment of others, in which it may go back; four at a time.

    pip install sb3-contrib
    python maskable_cartpole.py 20000

`Snapshots` makes CartPole one that can be gone back in, and `Rollback` adds the actions: 0 and 1 push the cart, 2 to 5
go back one to four actions. `action_masks()` says which are legal now. A fall ends the episode, so that only
one that is seen to come can be gone back from.
"""

import sys

import gymnasium as gym
import numpy as np
from sb3_contrib import MaskablePPO
from stable_baselines3.common.vec_env import DummyVecEnv

from rollback_gym.wrappers import Rollback, Snapshots


def make() -> gym.Env:
    """A pole of at most 200 turns, rollbacks among them; what a rollback undoes is paid back, and it costs a turn."""
    return Rollback(Snapshots(gym.make("CartPole-v1"), max_turns=200), max_depth=4, max_rollbacks=10, cost=1.0)


def train(steps: int) -> MaskablePPO:
    """A policy that learned from `steps` steps."""
    model = MaskablePPO("MlpPolicy", DummyVecEnv([make] * 4), n_steps=64, batch_size=64, seed=0, device="cpu")
    return model.learn(steps)


def evaluate(model: MaskablePPO, episodes: int) -> dict[str, float]:
    """The mean return, rollbacks an episode, and actions that were not legal."""
    env = make()
    returns, went_back, illegal = np.zeros(episodes), 0, 0
    for number in range(episodes):
        observation, info = env.reset(seed=number)
        over = False
        while not over:
            action, _ = model.predict(observation, action_masks=info["action_mask"])
            observation, reward, terminated, truncated, info = env.step(int(action))
            over = terminated or truncated
            returns[number] += reward
            went_back += "rollback" in info
            illegal += "invalid_action" in info
    return {"return": float(returns.mean()), "rollbacks": went_back / episodes, "illegal": illegal / episodes}


if __name__ == "__main__":
    trained = train(int(sys.argv[1]) if len(sys.argv) > 1 else 512)
    print(evaluate(trained, 20))
