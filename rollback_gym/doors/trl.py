"""TRL's `environment_factory`: the policy acts and goes back by tool calls, and a stock GRPOTrainer trains it.

TRL (1.16) publishes every public method of an environment's class to the policy as a tool, but for `reset`. So these
classes have no other: `act`, and `rollback` where the environment allows any. Everything else (the oracle, the state,
closing) stays with whoever holds the environment. Nothing that a policy writes raises: a call that cannot be read
spends a turn, and is told what was wrong with it.

    trainer = GRPOTrainer(
        model="Qwen/Qwen3-0.6B",
        reward_funcs=won,
        train_dataset=Dataset.from_list(rows(seeds=range(1000))),
        environment_factory=environment_factory("Rollback-ALFWorld-v0", max_turns=30),
        args=GRPOConfig(num_generations=8, max_completion_length=4096),
    )

TRL has no way to be told that an episode is over: the policy is, and ends its answer. It does not cut the dialogue back
after a rollback either: the policy is told which actions are undone.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from typing import Any

import gymnasium as gym

from rollback_gym.doors.seat import Seat
from rollback_gym.doors.tools import action_of
from rollback_gym.play.prompts import Prompts

_SETTINGS = Prompts()


def _tool(declared: Callable[..., str]) -> Callable[..., str]:
    """A tool that answers whatever it is called with; the signature and docstring of `declared` make its schema."""
    names = declared.__code__.co_varnames[1 : declared.__code__.co_argcount]

    @wraps(declared)
    def tool(self: "ActOnly", *args: Any, **arguments: Any) -> str:
        beyond = {f"value {number}": value for number, value in enumerate(args[len(names) :], len(names) + 1)}
        return self._called(declared.__name__, {**dict(zip(names, args, strict=False)), **beyond, **arguments})

    return tool


class ActOnly:
    """An episode whose policy has the tool `act`.

    Args:
        env: An environment with text actions, in the `Rollback` wrapper.
        prompts: What the policy is told each turn; only `admissible` and `rollback` matter here.
    """

    def __init__(self, env: gym.Env[Any, Any], prompts: Prompts = _SETTINGS) -> None:
        self._seat = Seat(env)
        self._prompts = prompts

    def reset(self, seed: int | None = None, level: str | None = None, **row: Any) -> str:
        """Begin an episode, and return what the policy is told of it; TRL calls this with a row of the dataset.

        Raises:
            ValueError: without a seed or a level: the episodes of a group would begin differently.
        """
        if seed is None and level is None:
            raise ValueError("The dataset needs a column seed or level, so that a group begins alike: see rows().")
        self._seat.begin(None if seed is None else int(seed), None if level is None else {"level": level})
        return self._seat.opening(self._prompts)

    @_tool
    def act(self, action: str) -> str:
        """Do one thing in the world, and see what comes of it.

        Args:
            action: The action, written as it was offered.

        Returns:
            What came of it, with its number, and what can be done next.
        """
        raise NotImplementedError  # see _tool

    def _called(self, tool: str, arguments: dict[str, Any]) -> str:
        seat = self._seat
        if seat.open:
            read = action_of(tool, arguments, seat.going_back.verb)
            seat.act(read.action or "", problem=read.problem)
            return seat.told(self._prompts) if seat.open else f"{seat.told(self._prompts)}\n{_over(seat)}"
        return _over(seat)


class ActAndRollback(ActOnly):
    """An episode whose policy has the tools `act` and `rollback`; see `ActOnly`."""

    @_tool
    def rollback(self, index: int, reason: str = "") -> str:
        """Go back instead of acting.

        Everything is put back to how it stood right after an earlier action, and what was done since is undone. It
        takes a turn, and the turns that were spent stay spent.

        Args:
            index: The number, as in [3], of the last action before the mistake; 0 is the start.
            reason: In a few words, what the mistake was.

        Returns:
            What was to be seen then, and what can be done next.
        """
        raise NotImplementedError  # see _tool


def environment_factory(
    env: str | Callable[[], gym.Env[Any, Any]], *, prompts: Prompts = _SETTINGS, **options: Any
) -> Callable[[], ActOnly]:
    """What GRPOTrainer takes as `environment_factory`.

    Args:
        env: A registered id, or a function that makes an environment.
        prompts: See `ActOnly`.
        options: For `gym.make`, with an id; `max_rollbacks=0` leaves the tool `rollback` out.
    """

    def factory() -> ActOnly:
        made = gym.make(env, **options) if isinstance(env, str) else env()
        forbidden = Seat(made).going_back.most == 0
        return ActOnly(made, prompts) if forbidden else ActAndRollback(made, prompts)

    return factory


def rows(*, seeds: Iterable[int] = (), levels: Sequence[str] = ()) -> list[dict[str, Any]]:
    """A dataset, as `Dataset.from_list` takes it: an episode a row, by its seed or its level."""
    said = [{"role": "user", "content": ""}]
    return [
        *({"prompt": said, "seed": int(seed), "level": None} for seed in seeds),
        *({"prompt": said, "seed": None, "level": level} for level in levels),
    ]


def won(environments: Sequence[ActOnly], **row: Any) -> list[float]:
    """A reward function: 1 for an episode that was won, else 0."""
    return [float(environment._seat.won) for environment in environments]


def episode_return(environments: Sequence[ActOnly], **row: Any) -> list[float]:
    """A reward function: the undiscounted return, which with refunds is that of the active branch minus the costs."""
    return [environment._seat.earned for environment in environments]


def _over(seat: Seat) -> str:
    return f"(The episode is over: {seat.outcome}. Nothing counts any more; answer without calling a tool.)"
