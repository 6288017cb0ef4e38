"""Train a masked policy from outside, sb3-contrib's MaskablePPO, that may also go back.

    pip install sb3-contrib
    python maskable_ppo.py 20000

The four moves come first in the action space, and after them a rollback of one action, of two, and so on. Which of
them is legal now is what `action_masks()` says, and MaskablePPO asks for it.
"""

import sys

import gymnasium as gym
from sb3_contrib import MaskablePPO

import rollback_gym  # registers the environments


def make() -> gym.Env:
    """One box on 6 x 6 cells. A dead end can be gone back from, by up to five actions."""
    return gym.make(
        "Rollback-Sokoban-v0", boxes=1, observation="array", actions="discrete", revive=True, max_depth=5, cost=0.1
    )


def train(steps: int) -> MaskablePPO:
    """A policy that learned from `steps` steps."""
    model = MaskablePPO("MlpPolicy", make(), n_steps=256, batch_size=64, gamma=0.98, seed=0, device="cpu")
    return model.learn(steps)


def evaluate(model: MaskablePPO, episodes: int) -> dict[str, float]:
    """Play rooms that were not trained on, and count wins, rollbacks, and actions that were not legal."""
    env = make()
    won = went_back = illegal = 0
    for number in range(episodes):
        observation, info = env.reset(options={"level": f"valid/{2**16 + number}"})
        over = False
        while not over:
            action, _ = model.predict(observation, action_masks=info["action_mask"])
            observation, _, terminated, truncated, info = env.step(int(action))
            over = terminated or truncated
            went_back += "rollback" in info
            illegal += "invalid_action" in info
        won += info["won"]
    return {"won": won / episodes, "rollbacks": went_back / episodes, "illegal": illegal / episodes}


if __name__ == "__main__":
    trained = train(int(sys.argv[1]) if len(sys.argv) > 1 else 512)
    print(f"rollback-gym {rollback_gym.__version__}:", evaluate(trained, 50))
