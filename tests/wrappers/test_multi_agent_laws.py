"""The laws on a toy in which agents die one by one, on Sokoban for two, and on games of PettingZoo's own."""

from typing import Any

import pytest
from hypothesis.stateful import run_state_machine_as_test

from rollback_gym.envs import sokoban_two
from rollback_gym.wrappers import MultiAgentRollback
from tests.laws import law_settings
from tests.wrappers.multi_agent_laws import aec_laws, parallel_laws
from tests.wrappers.multi_agent_toys import WORDS, Corridors, in_turn


def numbered(env: Any, agent: str, choice: int) -> int:
    return choice % 3


def worded(env: Any, agent: str, choice: int) -> str:
    return WORDS[choice % 3]


def pushing(env: Any, agent: str, choice: int) -> str:
    return sokoban_two_words[choice % 5]


def legal(env: Any, agent: str, choice: int) -> int:
    """A legal move in a game that masks them."""
    seen = env.env.observe(agent)["action_mask"].nonzero()[0]
    return int(seen[choice % len(seen)])


sokoban_two_words = ("up", "down", "left", "right", "stay")
CORRIDORS: dict[str, tuple[dict[str, Any], dict[str, Any], Any]] = {
    "majority": ({}, {"consensus": "majority", "noop": 2, "max_turns": 30}, numbered),
    "any": ({}, {"consensus": "any", "noop": 2, "max_turns": 12, "max_depth": 3}, numbered),
    "all": ({"text": True}, {"consensus": "all", "noop": "wait", "max_turns": 30, "max_rollbacks": 2}, worded),
    "masked": ({"masked": True}, {"consensus": "any", "noop": 0, "max_turns": 20, "max_rollbacks": 3}, numbered),
}


@pytest.mark.parametrize("case", CORRIDORS)
def test_all_at_once(case: str) -> None:
    made, options, act = CORRIDORS[case]
    laws = parallel_laws(
        lambda: MultiAgentRollback(Corridors(**made), cost=0.25, **options),
        act,
        cost=0.25,
        consensus=options["consensus"],
    )
    run_state_machine_as_test(laws, settings=law_settings(20, 25))


@pytest.mark.parametrize("case", CORRIDORS)
def test_one_after_the_other(case: str) -> None:
    made, options, act = CORRIDORS[case]
    options = {**options, "max_turns": 2 * options["max_turns"]}
    laws = aec_laws(
        lambda: MultiAgentRollback(in_turn(**made), cost=0.25, **options),
        act,
        cost=0.25,
        consensus=options["consensus"],
    )
    run_state_machine_as_test(laws, settings=law_settings(20, 30))


@pytest.mark.parametrize("consensus", ["any", "majority"])
def test_who_has_no_noop_speaks_and_moves(consensus: Any) -> None:
    laws = aec_laws(
        lambda: MultiAgentRollback(in_turn(), cost=0.25, consensus=consensus, max_turns=60),
        numbered,
        cost=0.25,
        consensus=consensus,
        moves=True,
    )
    run_state_machine_as_test(laws, settings=law_settings(20, 30))


def test_sokoban_for_two() -> None:
    laws = parallel_laws(
        lambda: MultiAgentRollback(sokoban_two.parallel_env(max_turns=20), cost=0.5),
        pushing,
        cost=0.5,
        consensus="majority",
        portable=True,
    )
    run_state_machine_as_test(laws, settings=law_settings(20, 25))


def test_sokoban_for_two_one_after_the_other() -> None:
    laws = aec_laws(
        lambda: MultiAgentRollback(sokoban_two.env(max_turns=20), cost=0.5),
        pushing,
        cost=0.5,
        consensus="majority",
    )
    run_state_machine_as_test(laws, settings=law_settings(20, 25))


def test_tic_tac_toe() -> None:
    tictactoe = pytest.importorskip("pettingzoo.classic.tictactoe.tictactoe", reason="needs pygame")
    laws = aec_laws(
        lambda: MultiAgentRollback(tictactoe.env(), consensus="majority", cost=0.25, max_turns=40),
        legal,
        cost=0.25,
        consensus="majority",
        moves=True,
    )
    run_state_machine_as_test(laws, settings=law_settings(15, 20))
