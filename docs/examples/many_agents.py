"""Two push boxes in one room; one errs, both agree to go back, and they win.

    pip install 'rollback-gym[pettingzoo]'
    python many_agents.py 1

Both follow a plan that is exact. On the way `player_0` leaves it, and makes the game one that cannot be won any more:
`player_1` proposes to go back, which takes two; so it says so again, and now `player_0` agrees.
"""

import math
import sys
from itertools import product

from rollback_gym.envs import sokoban_two
from rollback_gym.oracles import for_env
from rollback_gym.wrappers import MultiAgentRollback

WORDS = ("up", "down", "left", "right", "stay")


def play(seed: int) -> dict[str, float]:
    """An episode in the room of this seed, told on the way."""
    env = MultiAgentRollback(sokoban_two.parallel_env(), consensus="majority", cost=0.5)
    observations, infos = env.reset(seed=seed)
    game, oracle = env.unwrapped, for_env(env)
    earned = dict.fromkeys(env.possible_agents, 0.0)

    def left() -> float:
        return oracle.distance(game.level, game.game_state)

    def step(*actions: str) -> None:
        nonlocal observations, infos
        observations, rewards, _, _, infos = env.step(dict(zip(env.possible_agents, actions, strict=True)))
        for agent, reward in rewards.items():
            earned[agent] += reward
        print(f"[{env.history.index}] {actions[0]:28} {actions[1]:28} L = {left():g}")

    print(infos["player_0"]["task"], observations["player_0"], sep="\n")
    erred = False
    while env.agents:
        if not erred and (fatal := fatal_turn(env, oracle)):
            erred = True
            good = env.history.index
            step(*fatal)
            step("stay", f'rollback({good}, "that box is stuck")')
            print("    player_0 hears:", infos["player_0"]["proposals"])
            step(f"rollback({good})", f"rollback({good})")
            print("    both are told:", infos["player_0"]["rollback"])
        else:
            step(*oracle.plan(game.level, game.game_state)[0])
    print(observations["player_1"])
    return {**earned, "won": float(infos["player_0"]["won"]), "rollbacks": env.rollbacks}


def fatal_turn(env: MultiAgentRollback, oracle) -> tuple[str, str] | None:
    """Two actions after which the game cannot be won, if there are such; tried, and taken back by the researcher."""
    here = env.snapshot()
    for words in product(WORDS, repeat=2):
        env.step(dict(zip(env.possible_agents, words, strict=True)))
        lost = math.isinf(oracle.distance(env.unwrapped.level, env.unwrapped.game_state))
        env.restore(here)
        if lost:
            return words
    return None


if __name__ == "__main__":
    print(play(int(sys.argv[1]) if len(sys.argv) > 1 else 1))
