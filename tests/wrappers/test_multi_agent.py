"""Going back together: PettingZoo's own tests, and what the documentation promises, case by case."""

import copy
import math
import pickle
import runpy
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.utils.env_checker import data_equivalence
from pettingzoo import ParallelEnv
from pettingzoo.utils import parallel_to_aec

import rollback_gym
from rollback_gym import ReplayDiverged, Snapshot, SnapshotCorrupt, SnapshotMismatch, SnapshotNotPortable
from rollback_gym.envs import sokoban_two
from rollback_gym.envs.sokoban_two.rules import moved
from rollback_gym.oracles import for_env
from rollback_gym.wrappers import MultiAgentRollback
from rollback_gym.wrappers.consensus import Ballot, Proposal, favourite
from tests.envs.sokoban_two.naive import TURNS
from tests.wrappers.multi_agent_toys import Corridors, in_turn

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # of its own examples
    from pettingzoo.test import api_test, parallel_api_test, parallel_seed_test, seed_test

ARRAYS = {"observation": "array", "actions": "discrete", "max_turns": 20}
SHORT = {"max_turns": 40, "max_depth": 4}
BOTH = ("player_0", "player_1")


def classic(name: str) -> Any:
    return pytest.importorskip(f"pettingzoo.classic.{name}", reason="needs pygame")


PARALLEL: dict[str, Callable[[], Any]] = {
    "sokoban": lambda: sokoban_two.parallel_env(**ARRAYS),
    "sokoban, majority": lambda: MultiAgentRollback(sokoban_two.parallel_env(**ARRAYS), cost=0.5),
    "sokoban, any": lambda: MultiAgentRollback(sokoban_two.parallel_env(**ARRAYS), consensus="any"),
    "rock paper scissors": lambda: MultiAgentRollback(classic("rps.rps").parallel_env(), noop=0, **SHORT),
}
AEC: dict[str, Callable[[], Any]] = {
    "sokoban": lambda: sokoban_two.env(**ARRAYS),
    "sokoban, majority": lambda: MultiAgentRollback(sokoban_two.env(**ARRAYS), cost=0.5),
    "sokoban, any": lambda: MultiAgentRollback(sokoban_two.env(**ARRAYS), consensus="any"),
    "sokoban, wrapped, then in turn": lambda: parallel_to_aec(PARALLEL["sokoban, any"]()),
    "tic-tac-toe": lambda: MultiAgentRollback(classic("tictactoe.tictactoe").env(), **SHORT),
    "connect four": lambda: MultiAgentRollback(
        classic("connect_four.connect_four").env(), consensus="any", max_turns=90, max_depth=3
    ),
    "rock paper scissors": lambda: MultiAgentRollback(classic("rps.rps").env(), consensus="any", **SHORT),
}


@pytest.mark.parametrize("case", PARALLEL)
def test_pettingzoos_own_tests_all_at_once(case: str) -> None:
    parallel_api_test(PARALLEL[case](), num_cycles=100)
    parallel_seed_test(PARALLEL[case], num_cycles=30)


@pytest.mark.filterwarnings("ignore:Observation numpy array is all zeros")  # an empty board is
@pytest.mark.parametrize("case", AEC)
def test_pettingzoos_own_tests_one_after_the_other(case: str) -> None:
    api_test(AEC[case](), num_cycles=100)
    seed_test(AEC[case], num_cycles=30)


def steps(env: Any, *texts: str) -> Any:
    """Several steps of two; what the last one answered."""
    for text in texts:
        answer = env.step(dict(zip(BOTH, text.split(" | "), strict=True)))
    return answer


def two(**options: Any) -> Any:
    env = MultiAgentRollback(sokoban_two.parallel_env(), **options)
    env.reset(seed=1)
    return env


# What is decided.


@pytest.mark.parametrize(
    ("targets", "expected"), [([3], 3), ([1, 3], 3), ([3, 1], 3), ([1, 1, 3], 1), ([0, 2, 2, 0], 2), ([0, 4, 2], 4)]
)
def test_the_target_most_propose_and_of_several_the_latest(targets: list[int], expected: int) -> None:
    proposals = tuple(Proposal(f"agent_{n}", target) for n, target in enumerate(targets))
    assert favourite(Ballot(tuple(p.agent for p in proposals), proposals)) == expected


def test_a_lost_proposal_is_a_noop_and_everybody_hears_of_it() -> None:
    env, twin = two(), two()
    for one in (env, twin):
        steps(one, "stay | down")
    answer = steps(env, "rollback(0, 'too early') | up")
    plain = steps(twin, "stay | up")
    assert answer[:4] == plain[:4]
    for agent in BOTH:
        assert answer[4][agent]["proposals"] == {"player_0": {"target": 0, "reason": "too early"}}
        assert "rollback" not in answer[4][agent]
        assert "invalid_action" not in answer[4][agent]
    assert env.rollbacks == 0


def test_a_winning_one_replaces_what_everybody_did_and_everybody_is_told() -> None:
    env = two(consensus="any", cost=0.5)
    start = env.history.path[0].observation
    steps(env, "stay | down", "stay | left")
    observations, rewards, terminated, truncated, infos = steps(env, 'down | rollback(0, "wrong way")')
    assert observations == start
    assert rewards == {"player_0": pytest.approx(0.2), "player_1": pytest.approx(0.2 - 0.5)}
    assert not any(terminated.values())
    assert not any(truncated.values())
    for agent in BOTH:
        assert infos[agent]["rollback"] == {
            "target": 0,
            "depth": 2,
            "abandoned": (1, 2),
            "voters": ("player_1",),
            "proposers": ("player_1",),
            "reasons": {"player_1": "wrong way"},
        }
        assert infos[agent]["action_index"] == 3
        assert [one.action_index for one in env.private_history(agent)] == [0]
    assert env.history.rollbacks[0].action == {"player_0": "down", "player_1": 'rollback(0, "wrong way")'}


def test_who_wants_to_go_elsewhere_votes_for_going_back_all_the_same() -> None:
    env = two()
    steps(env, "stay | down", "stay | left")
    told = steps(env, "rollback(0) | rollback(1)")[4]["player_0"]["rollback"]
    assert (told["target"], told["voters"], told["proposers"]) == (1, BOTH, ("player_1",))


@pytest.mark.parametrize(
    ("charge", "cost", "expected"),
    [
        ("voters", 1, {"player_0": -1.0, "player_1": 0.0}),
        ("all", 1, {"player_0": -1.0, "player_1": -1.0}),
        ("all", {"player_1": 2}, {"player_0": 0.0, "player_1": -2.0}),
    ],
)
def test_who_is_charged(charge: Any, cost: Any, expected: dict[str, float]) -> None:
    env = two(consensus="any", charge=charge, cost=cost, refund=False)
    assert steps(env, "stay | down", "rollback(0) | up")[1] == expected


def test_a_rule_of_ones_own() -> None:
    def first_player_decides(ballot: Ballot) -> int | None:
        return next((proposal.target for proposal in ballot.proposals if proposal.agent == "player_0"), None)

    env = two(consensus=first_player_decides)
    steps(env, "stay | down", "stay | rollback(0)")
    assert env.rollbacks == 0
    steps(env, "rollback(0) | rollback(1)")
    assert (env.rollbacks, env.history.node.index) == (1, 0)
    env = two(consensus=lambda ballot: 7)
    steps(env, "stay | down")
    with pytest.raises(ValueError, match="answered 7; expected None or a target that was proposed"):
        steps(env, "rollback(0) | up")


@pytest.mark.parametrize("said", ["rollback(1)", "rollback(7)", "rollback", "rollback(-1)", "rollback(0) now"])
def test_what_cannot_be_followed_is_a_noop_and_its_maker_is_told_why(said: str) -> None:
    env = two(consensus="any")
    steps(env, "stay | down")
    before = env.unwrapped.game_state
    infos = steps(env, f"{said} | stay")[4]
    assert "allowed targets: 0." in infos["player_0"]["invalid_action"]
    assert "invalid_action" not in infos["player_1"]
    assert env.unwrapped.game_state == before
    assert env.history.node.invalid == {"player_0": infos["player_0"]["invalid_action"]}


def test_the_budget_is_everybodys() -> None:
    env = two(consensus="any", max_rollbacks=1)
    steps(env, "stay | down", "rollback(0) | up", "stay | down")
    assert env.legal_targets() == ()
    infos = steps(env, "up | rollback(0)")[4]
    assert infos["player_1"]["invalid_action"].endswith("no rollback is allowed now.")


def test_the_last_turn_goes_back_and_truncates() -> None:
    env = MultiAgentRollback(sokoban_two.parallel_env(max_turns=3), consensus="any")
    env.reset(seed=1)
    start = env.unwrapped.game_state
    observations, _, terminated, truncated, _ = steps(env, "stay | down", "stay | left", "rollback(0) | stay")
    assert (env.unwrapped.game_state, set(observations)) == (start, set(BOTH))
    assert (terminated, truncated) == (dict.fromkeys(BOTH, False), dict.fromkeys(BOTH, True))
    assert env.agents == []
    with pytest.raises(ResetNeeded, match="over"):
        steps(env, "stay | stay")


def test_a_team_errs_goes_back_and_wins() -> None:
    env = two()
    oracle = for_env(env)
    base = env.unwrapped
    total = 0.0
    while True:
        here = base.game_state
        fatal = [words for words in TURNS if math.isinf(oracle.distance(base.level, moved(base.level, here, words)))]
        words = (fatal or oracle.plan(base.level, here))[0]
        total += env.step(dict(zip(BOTH, words, strict=True)))[1]["player_0"]
        if fatal:
            break
    assert math.isinf(oracle.distance(base.level, base.game_state))
    good = env.history.path[-2].index
    total += steps(env, f"rollback({good}) | rollback({good})")[1]["player_0"]
    for words in oracle.plan(base.level, base.game_state):
        _, rewards, terminated, _, infos = env.step(dict(zip(BOTH, words, strict=True)))
        total += rewards["player_0"]
    assert terminated == dict.fromkeys(BOTH, True)
    assert infos["player_1"]["won"]
    branch = len(env.history.path) - 1
    assert branch == oracle.distance(base.level, base.level.start)
    assert total == pytest.approx(-0.1 * branch + 2 + 10)


# Who died.


def test_who_died_since_is_alive_again() -> None:
    env = MultiAgentRollback(Corridors(), noop=2, max_turns=30)
    env.reset(seed=0)
    env.step(dict.fromkeys(env.agents, 2))
    dying = {"walker_0": 0, "walker_1": 2, "walker_2": 2}
    env.step(dying)
    _, lost, terminated, _, _ = env.step(dying)
    assert terminated["walker_0"]
    assert env.agents == ["walker_1", "walker_2"]
    history = env.history
    back = {agent: env.encoding(agent).write(1, history) for agent in env.agents}
    observations, rewards, terminated, _, infos = env.step(back)
    assert env.agents == list(observations) == ["walker_0", "walker_1", "walker_2"]
    assert rewards["walker_0"] == -sum(node.reward["walker_0"] for node in history.path[2:])
    assert lost["walker_0"] != 0
    assert infos["walker_0"]["rollback"]["voters"] == ("walker_1", "walker_2")
    env.step(dict.fromkeys(env.agents, 1))


def test_who_died_and_was_buried_is_alive_again_in_turn() -> None:
    env = MultiAgentRollback(in_turn(), noop=2, max_turns=60, consensus="any")
    env.reset(seed=0)
    for _ in range(2):
        for action in (0, 2, 2):
            env.step(action)
    assert env.terminations["walker_0"]
    env.step(None)
    assert env.agents == ["walker_1", "walker_2"]
    env.step(env.encoding("walker_1").write(0, env.history))
    assert env.agents == ["walker_0", "walker_1", "walker_2"]
    assert env.agent_selection == "walker_0"
    assert not any(env.terminations.values())
    assert env.rewards["walker_0"] == -sum(n.reward.get("walker_0", 0.0) for n in env.history.nodes[1:])


# One after the other.


def test_in_turn_proposals_of_one_cycle_count_together() -> None:
    env = MultiAgentRollback(sokoban_two.env())
    env.reset(seed=1)
    for action in ("stay", "down", "rollback(0, why not)"):
        env.step(action)
    assert env.agent_selection == "player_1"
    assert env.last()[4]["proposals"] == {"player_0": {"target": 0, "reason": "why not"}}
    env.step("rollback(1)")
    told = env.last()[4]["rollback"]
    assert (told["target"], told["voters"], told["abandoned"]) == (1, BOTH, (2, 3))
    assert env.agent_selection == "player_1", "as it was after action 1"


def test_in_turn_a_proposal_is_over_with_the_next_turn_of_its_maker() -> None:
    env = MultiAgentRollback(sokoban_two.env())
    env.reset(seed=1)
    for action in ("stay", "down", "rollback(0)", "stay", "stay", "rollback(0)"):
        env.step(action)
    assert env.rollbacks == 0
    env.step("rollback(1)")
    assert env.rollbacks == 1


def test_in_turn_who_has_no_noop_speaks_and_moves_all_the_same() -> None:
    env = MultiAgentRollback(classic("tictactoe.tictactoe").env(), **SHORT)
    env.reset()
    env.step(4)
    env.step(0)
    env.step(9 + 1)  # two back
    assert env.agent_selection == "player_1"
    assert env.history.node.index == 2
    env.step(8)
    assert env.agent_selection == "player_2"
    mask = env.last()[0]["action_mask"]
    assert mask.tolist() == [0, 1, 1, 1, 0, 1, 1, 1, 0, 1, 1, 1, 0]
    env.step(9 + 2)  # to the start, as the first one proposed
    assert env.last()[4]["rollback"]["voters"] == ("player_1", "player_2")
    assert env.last()[4]["rollback"]["abandoned"] == (1, 2, 4)
    assert env.observe("player_1")["observation"].sum() == 0
    assert env.agent_selection == "player_1"


# Snapshots.


def test_snapshots_of_ours_go_to_another_process() -> None:
    env = two(cost=0.5)
    steps(env, "stay | down", "rollback(0) | rollback(0)", "stay | down")
    data = env.snapshot().to_bytes()
    code = (
        "import sys; from rollback_gym import Snapshot; from rollback_gym.envs import sokoban_two\n"
        "from rollback_gym.wrappers import MultiAgentRollback\n"
        "env = MultiAgentRollback(sokoban_two.parallel_env(), cost=0.5)\n"
        "env.restore(Snapshot.from_bytes(sys.stdin.buffer.read()))\n"
        "print(env.step({'player_0': 'rollback(0)', 'player_1': 'rollback(0)'}))"
    )
    there = subprocess.run([sys.executable, "-c", code], input=data, capture_output=True, check=True).stdout.decode()
    assert there.strip() == str(steps(env, "rollback(0) | rollback(0)"))


def test_a_snapshot_of_ours_is_a_reference() -> None:
    env = two()
    for _ in range(30):
        steps(env, "stay | stay")
    here = env.snapshot()
    assert here.state is env.unwrapped.game_state
    assert here.history is env.history
    assert pickle.loads(pickle.dumps(env)).snapshot() == here


def test_damaged_and_foreign_snapshots_are_refused_and_change_nothing() -> None:
    env = two()
    steps(env, "stay | down")
    here = env.snapshot()
    data = bytearray(here.to_bytes())
    data[len(data) // 2] ^= 1
    with pytest.raises(SnapshotCorrupt):
        Snapshot.from_bytes(bytes(data))
    foreign = {
        "cost": two(cost=2).snapshot(),
        "max_turns": MultiAgentRollback(sokoban_two.parallel_env(max_turns=9)),
        "corridors": MultiAgentRollback(Corridors(), noop=2, max_turns=9),
        "AEC": MultiAgentRollback(sokoban_two.env()),
    }
    for name, other in foreign.items():
        if not isinstance(other, Snapshot):
            other.reset(seed=1)
            other = other.snapshot()
        with pytest.raises(SnapshotMismatch):
            env.restore(other)
        assert env.snapshot() == here, name
    with pytest.raises(SnapshotMismatch, match="without MultiAgentRollback"):
        env.restore(env.unwrapped.snapshot())
    with pytest.raises(TypeError, match="from_bytes"):
        env.restore(here.to_bytes())


def test_snapshots_of_others_stay_in_the_process() -> None:
    env = MultiAgentRollback(Corridors(), noop=2, max_turns=9)
    env.reset(seed=0)
    with pytest.raises(SnapshotNotPortable):
        env.snapshot().to_bytes()
    with pytest.raises(SnapshotNotPortable, match="deepcopy"):
        pickle.dumps(env)


def test_a_copy_of_what_copies_by_its_constructor_is_where_it_was() -> None:
    env = MultiAgentRollback(Corridors(), noop=2, max_turns=30)
    env.reset(seed=5)
    env.step(dict.fromkeys(env.agents, 1))
    assert not hasattr(copy.deepcopy(env.env), "rng"), "the toy proves nothing"
    (twin,) = rollback_gym.fork(env, 1)
    answers = [[one.step(dict.fromkeys(one.agents, action)) for action in (2, 0, 2)] for one in (env, twin)]
    assert data_equivalence(*answers)


@pytest.mark.filterwarnings("ignore:.*render method without specifying")  # it does so itself
@pytest.mark.parametrize("name", ["cooperative_pong.cooperative_pong", "knights_archers_zombies"])
def test_games_that_pygame_holds_are_put_back(name: str) -> None:
    pytest.importorskip("pygame", reason="needs pygame")
    module = pytest.importorskip(f"pettingzoo.butterfly.{name}", reason="needs pygame")
    if not hasattr(module, "parallel_env"):
        module = pytest.importorskip(f"pettingzoo.butterfly.{name}.{name}")
    env = MultiAgentRollback(module.parallel_env(), noop=0, max_turns=500, max_depth=5)
    env.reset(seed=0)
    spaces = {agent: env.env.action_space(agent) for agent in env.agents}
    env.step(dict.fromkeys(env.agents, 1))
    here = env.snapshot()
    futures = []
    for _ in range(2):
        future = []
        for space in spaces.values():
            space.seed(7)
        while env.agents and len(future) < 25:
            _, rewards, terminated, truncated, _ = env.step({agent: spaces[agent].sample() for agent in env.agents})
            future.append((rewards, terminated, truncated, np.array(env.state()).sum()))
        futures.append(future)
        env.restore(here)
    assert data_equivalence(*futures)


class Lottery(Corridors):
    """Draws from a generator that is nowhere in it."""

    metadata = {**Corridors.metadata, "name": "lottery_v0"}  # noqa: RUF012
    drawn = np.random.default_rng(0)

    def step(self, actions: dict[str, Any]) -> Any:
        observations, rewards, *rest = super().step(actions)
        return (observations, {agent: reward + Lottery.drawn.random() for agent, reward in rewards.items()}, *rest)


def test_what_cannot_be_put_back_is_refused() -> None:
    with pytest.raises(ReplayDiverged, match="answers the same actions differently"):
        MultiAgentRollback(Lottery(), noop=2, max_turns=9).reset(seed=0)


# How it is made.


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: MultiAgentRollback(Corridors(), max_turns=9), ValueError, "pass noop="),
        (lambda: MultiAgentRollback(Corridors(), noop=7, max_turns=9), ValueError, "noop must be an action of"),
        (lambda: MultiAgentRollback(Corridors(), noop=2), ValueError, "needs a bound"),
        (lambda: two(consensus="most"), ValueError, "'any', 'majority', 'all' or a function"),
        (lambda: two(charge="nobody"), ValueError, "charge must be"),
        (lambda: two(cost=float("nan")), ValueError, "cost must be a finite number"),
        (lambda: two(max_rollbacks=-1), ValueError, "max_rollbacks"),
        (lambda: two(max_turns=3), ValueError, "pass max_turns to it"),
        (lambda: MultiAgentRollback(two()), TypeError, "once is enough"),
        (lambda: MultiAgentRollback("corridors"), TypeError, "a ParallelEnv or an AECEnv"),
    ],
)
def test_what_makes_no_sense_is_said_so(make: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        make()


def test_no_step_before_reset_and_none_of_strangers() -> None:
    for made in (sokoban_two.parallel_env, sokoban_two.env):
        env = MultiAgentRollback(made())
        with pytest.raises(ResetNeeded):
            env.step({})
        with pytest.raises(ResetNeeded):
            env.snapshot()
    with pytest.raises(ValueError, match="There are actions of"):
        two().step({"player_7": "up"})


def test_nothing_of_pettingzoo_is_imported_unasked() -> None:
    code = (
        "import sys, rollback_gym.wrappers, rollback_gym.oracles.sokoban_two\n"
        "from rollback_gym.envs.sokoban_two import rules\n"
        "assert 'pettingzoo' not in sys.modules\n"
        "from rollback_gym.wrappers import MultiAgentRollback"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_what_was_given_back_can_be_changed() -> None:
    env = MultiAgentRollback(Corridors(masked=True), noop=0, max_turns=9, consensus="any")
    observations, _ = env.reset(seed=0)
    for seen in observations.values():
        seen["observation"][:] = 7
        seen["action_mask"][:] = 0
    env.step(dict.fromkeys(env.agents, 1))
    answer = env.step({**dict.fromkeys(env.agents, 1), "walker_0": env.encoding("walker_0").write(0, env.history)})
    for seen in answer[0].values():
        assert seen["observation"].tolist() == [0, 0, 0]
        assert seen["action_mask"].tolist() == [1, 1, 1] + [0] * 9
    assert isinstance(env, ParallelEnv)


def test_the_example_wins(capsys: pytest.CaptureFixture[str]) -> None:
    """As it is shown in docs/many-agents.md."""
    example = runpy.run_path(str(Path(__file__).parents[2] / "docs" / "examples" / "many_agents.py"))
    for seed in (1, 3):
        told = example["play"](seed)
        assert (told["won"], told["rollbacks"]) == (1.0, 1)
    assert "player_0 hears: {'player_1': {'target': 2, 'reason': 'that box is stuck'}}" in capsys.readouterr().out
