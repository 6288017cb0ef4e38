"""The noisy oracle: it errs where it says, and is the same agent from any history on."""

from itertools import pairwise
from typing import Any

import gymnasium as gym
import pytest

from rollback_gym.core.errors import PolicyError
from rollback_gym.play.noisy import NoisyOraclePolicy
from rollback_gym.play.playing import play
from rollback_gym.play.policies import Choice, OraclePolicy, Truth, View, make_policy, remake_policy
from rollback_gym.play.records import Episode, Made
from rollback_gym.study.inject import Kind

KINDS = [str(kind) for kind in Kind]
CAP = {"max_turns": 30}


def episode(policy: Any, seed: int, id: str = "Rollback-ALFWorld-v0", chance: str = "", **kwargs: Any) -> Episode:
    env = gym.make(id, disable_env_checker=True, **kwargs)
    return play(env, policy, id=f"{seed}{chance}", made=Made(id, kwargs), seed=seed)


class Forced:
    """Takes given actions at some turns, the oracle's at others, and leaves the rest to a policy."""

    name = "forced"

    def __init__(self, policy: NoisyOraclePolicy, actions: dict[int, Any], right: tuple[int, ...] = ()) -> None:
        self.policy, self.actions, self.right = policy, actions, right
        self.oracle = OraclePolicy(rollbacks=False)

    def begin(self, seed: int) -> None:
        self.policy.begin(seed)
        self.oracle.begin(seed)

    def act_knowing(self, view: View, truth: Truth) -> Choice:
        turn = view.turns[-1].index + 1
        if turn in self.right:
            return self.oracle.act_knowing(view, truth)
        return Choice(self.actions[turn]) if turn in self.actions else self.policy.act_knowing(view, truth)

    def settings(self) -> dict[str, Any]:
        return {}


@pytest.mark.parametrize(
    ("id", "kwargs"),
    [
        ("Rollback-ALFWorld-v0", CAP),
        ("Rollback-WebShop-v0", {"revive": True}),
        ("Rollback-Sokoban-v0", {"revive": True}),
        ("Rollback-MineSweeper-v0", {"revive": True, "flags": True}),
    ],
)
@pytest.mark.parametrize("recovers", ["no", "forward", "rollback"])
def test_what_is_marked_is_what_the_oracle_finds(id: str, kwargs: dict[str, Any], recovers: Any) -> None:
    policy, erred = NoisyOraclePolicy(recovers=recovers), 0
    for seed in range(12):
        played = episode(policy, seed, id, **kwargs)
        marked = [act for act in played.acts if act.injected is not None]
        assert tuple(act.index for act in marked) == played.pivots
        assert {act.injected for act in marked} <= set(KINDS)
        erred += bool(marked)
    assert erred >= 3


@pytest.mark.parametrize(("kind", "turn"), [("intent", 3), ("wrong_argument", 2), ("forgotten_context", 3)])
def test_it_errs_at_just_the_turn_that_is_named(kind: str, turn: int) -> None:
    found = 0
    for seed in range(10):
        played = episode(NoisyOraclePolicy(kinds=[kind], at=[turn], recovers="forward"), seed)
        assert played.pivots in ((), (turn,))
        assert played.outcome == "won"
        found += bool(played.pivots)
        if played.pivots:
            assert played.acts[turn - 1].injected == kind
    assert found >= 3


def test_a_failed_call_is_followed_by_what_takes_it_for_granted() -> None:
    policy, found = NoisyOraclePolicy(kinds=["failed_call"], at=[2, 3, 4], recovers="forward"), 0
    for seed in range(10):
        acts = episode(policy, seed).acts
        for call, after in pairwise(acts):
            if after.injected is not None:
                found += 1
                assert call.invalid is not None
                assert (call.injected, after.injected) == (None, "failed_call")
                assert (after.previous, call.previous) == (call.distance, call.distance)
    assert found >= 3


def test_without_a_rate_it_plays_optimally() -> None:
    for seed in range(5):
        played = episode(NoisyOraclePolicy(rate=0), seed)
        assert len(played.acts) == played.distance
        assert not played.pivots


def test_it_goes_back_to_before_the_mistake_after_the_delay() -> None:
    for delay in (1, 3):
        found = 0
        for seed in range(20):
            policy = NoisyOraclePolicy(kinds=["intent"], at=[3], recovers="rollback", delay=delay, lost_rate=1.0)
            played = episode(policy, seed)
            if played.pivots[:1] != (3,):
                continue
            found += 1
            back = next(act for act in played.acts if act.kind == "rollback")
            assert (back.index, back.target) == (3 + delay, 2)
            assert "action 3" in back.reason
            assert played.outcome == "won"
        assert found >= 5


def test_it_does_not_recover_by_itself_unless_it_is_helped_twice_in_a_row() -> None:
    policy = NoisyOraclePolicy(lost_rate=1.0)
    failed = [played for seed in range(40) if (played := episode(policy, seed, **CAP)).pivots]
    assert len(failed) >= 12
    assert not any(played.outcome == "won" for played in failed)
    helped = {"correct the pivot": 0, "two right turns": 0, "one later turn": 0}
    for played in failed:
        pivot = played.pivots[0]
        until = {act.index: act.action for act in played.acts if act.index <= pivot}
        for name, actions, right in (
            ("correct the pivot", until, (pivot,)),
            ("two right turns", until, (pivot + 1, pivot + 2)),
            ("one later turn", until, (pivot + 3,)),
        ):
            again = episode(Forced(policy, actions, right), played.seed, **CAP)
            helped[name] += again.outcome == "won"
    assert helped["one later turn"] == 0
    assert helped["correct the pivot"] >= len(failed) // 3
    assert helped["two right turns"] >= len(failed) // 3


def test_a_blind_spot_stays_one_when_it_is_sampled_again() -> None:
    policy = NoisyOraclePolicy(stubborn=1.0)
    for seed in range(20):
        played = episode(policy, seed, **CAP)
        if not played.pivots or played.acts[played.pivots[0] - 1].injected == "failed_call":
            continue
        pivot = played.pivots[0]
        before = {act.index: act.action for act in played.acts if act.index < pivot}
        for chance in ("a", "b", "c"):
            again = episode(Forced(policy, before), played.seed, chance=chance, **CAP)
            # Its mistake here may be a refused call now, which raises L one turn later.
            assert again.pivots[0] in (pivot, pivot + 1)


def test_it_goes_on_from_any_history_as_if_it_had_been_there() -> None:
    policy = NoisyOraclePolicy(recovers="rollback")
    for seed in range(8):
        whole = episode(policy, seed, **CAP)
        for cut in range(0, len(whole.acts), 3):
            taken = {act.index: act.action for act in whole.acts if act.index <= cut}
            again = episode(Forced(policy, taken), seed, **CAP)
            assert [act.action for act in again.acts] == [act.action for act in whole.acts]


def test_settings_make_the_same_policy_again() -> None:
    policy = make_policy("noisy-oracle", kinds=["intent"], rate=0.5, at=[2, 4], recovers="rollback", delay=3, spots=7)
    assert remake_policy({"name": "noisy-oracle", **policy.settings()}).settings() == policy.settings()
    assert policy.settings()["kinds"] == ("intent",)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"kinds": ["typo"]}, r"kinds must be some of intent, .*got \['typo'\]"),
        ({"kinds": []}, "kinds must be some of"),
        ({"rate": 1.5}, "rate must be a number from 0 to 1"),
        ({"recovers": "never"}, "recovers must be one of no, forward, rollback, got 'never'"),
        ({"at": [0]}, "at must be a whole number of at least 1, got 0"),
        ({"regain": 0}, "regain must be a whole number of at least 1"),
        ({"lost_rate": -1}, "lost_rate must be"),
    ],
)
def test_settings_that_there_are_not(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        NoisyOraclePolicy(**settings)


def test_actions_must_be_text() -> None:
    with pytest.raises(PolicyError, match="try another policy"):
        episode(NoisyOraclePolicy(), 0, "Rollback-Sokoban-v0", actions="discrete")
