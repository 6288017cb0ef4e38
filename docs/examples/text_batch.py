"""Many episodes at once, in texts, as verl-agent's rollout loop calls its environments.

python text_batch.py
"""

import numpy as np

from rollback_gym.doors.batch import TextBatch


def policy(prompts: list[str], turn: int) -> list[str]:
    """Where a model stands: it reads the prompts, and says what to do."""
    said = ["look", "rollback(0)", "inventory"]
    return [f"<think>This is prompt {n}.</think><action>{said[turn % 3]}</action>" for n in range(len(prompts))]


def rollout(env_num: int, group_n: int) -> tuple[np.ndarray, np.ndarray]:
    """The returns of a group, a row each, and who won."""
    batch = TextBatch("Rollback-ALFWorld-v0", env_num=env_num, group_n=group_n, seed=0, max_turns=6)
    observations, _ = batch.reset()
    returns, over, turn = np.zeros(env_num * group_n), np.zeros(env_num * group_n, bool), 0
    while not over.all():
        observations, rewards, over, _ = batch.step(policy(observations["text"], turn))
        returns, turn = returns + rewards, turn + 1
    won = batch.success_evaluator()["success_rate"]
    batch.close()
    return returns.reshape(env_num, group_n), won.reshape(env_num, group_n)


if __name__ == "__main__":
    print(*rollout(4, 8), sep="\n")
