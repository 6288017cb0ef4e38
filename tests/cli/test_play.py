"""A person at the terminal: what is typed, and what comes of it."""

import os
import subprocess
import sys
from typing import Any

import gymnasium as gym
import pytest
from typer.testing import CliRunner, Result

from rollback_gym.cli import app
from rollback_gym.oracles import for_env


def play(*lines: str, options: tuple[str, ...] = (), width: int = 100) -> Result:
    typed = "".join(f"{line}\n" for line in lines)
    return CliRunner().invoke(app, ["play", *options], input=typed, env={"COLUMNS": str(width)})


def solution(seed: int = 0) -> tuple[str, ...]:
    env = gym.make("Rollback-ALFWorld-v0")
    env.reset(seed=seed)
    base: Any = env.unwrapped
    return tuple(for_env(env).plan(base.level, base.state))


def test_a_solution_wins() -> None:
    plan = solution()
    out = play(*plan)
    assert out.exit_code == 0
    assert f"Won in {len(plan)} turns." in out.output


def test_an_action_by_its_number() -> None:
    env = gym.make("Rollback-ALFWorld-v0")
    _, info = env.reset(seed=0)
    out = play("3")
    assert f"[1]  {info['admissible_actions'][2]}" in out.output


def test_a_number_that_is_on_no_action_spends_no_turn() -> None:
    out = play("0", "999", "")
    assert out.output.count("There are actions 1 to") == 2
    assert "Left after 0 turns" in out.output


@pytest.mark.parametrize("typed", ["rollback 1", "rollback(1)", 'ROLLBACK( 1 , "lost" )', "rollback 1 for a reason"])
def test_a_rollback_however_it_is_written(typed: str) -> None:
    first, second, *_ = solution()
    out = play(first, second, typed)
    assert "back to [1]" in out.output
    assert "Left after 3 turns" in out.output
    assert ("for a reason" in out.output) == typed.endswith("for a reason")


def test_undo_goes_back_by_one() -> None:
    first, second, *_ = solution()
    out = play("undo", first, second, "undo", "undo", "undo")
    assert out.output.count("There is nothing to go back to.") == 2
    assert "back to [1]" in out.output
    assert "back to [0]" in out.output


def test_a_refused_rollback_says_why() -> None:
    out = play("rollback 9", "rollback nowhere")
    assert "there is no node 9" in out.output
    assert out.output.count("refused") == 2


def test_an_unknown_command_is_given_to_the_game() -> None:
    out = play("dance")
    assert "Nothing happens." in out.output
    assert "Left after 1 turn." in out.output


def test_hints_and_plan_lead_to_a_win() -> None:
    plan = solution()
    out = play("hint", "plan")
    assert plan[0] in out.output
    assert f"{len(plan)}. {plan[-1]}" in out.output
    assert "Left after 0 turns" in out.output


def test_history_help_and_actions() -> None:
    out = play("look", "history", "?", "actions", "quit", "look")
    assert "[1] look" in out.output
    assert "Left after 1 turn." in out.output
    assert "a whole shortest solution" in out.output


def test_the_game_s_own_help_comes_first() -> None:
    out = play("help")
    assert "Available commands" in out.output
    assert "Left after 1 turn." in out.output


def test_no_oracle() -> None:
    out = play("hint", "plan", "look", "history", options=("--no-oracle",))
    assert out.output.count("No oracle is here") == 2
    assert " L " not in out.output
    assert out.output.rstrip().endswith("Left after 1 turn.")


def test_turns_run_out() -> None:
    out = play("look", "look", "look", options=("--max-turns", "2"))
    assert out.exit_code == 0
    assert "Out of turns after 2 turns. It would have taken" in out.output


def test_ctrl_c_ends_politely(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object, **__: object) -> str:
        raise KeyboardInterrupt

    monkeypatch.setattr("builtins.input", interrupt)
    out = play()
    assert out.exit_code == 0
    assert "Left after 0 turns" in out.output


@pytest.mark.parametrize("width", [40, 80])
def test_no_line_is_wider_than_the_screen(width: int) -> None:
    out = play("look", "rollback 0", "hint", "plan", "history", "?", width=width)
    assert max(map(len, out.output.splitlines())) <= width


def test_without_any_stdin() -> None:
    code = "import sys; sys.stdin = None; from rollback_gym.cli import main; main()"
    out = subprocess.run(
        [sys.executable, "-c", code, "play"], capture_output=True, text=True, timeout=60, encoding="utf-8"
    )
    assert out.returncode == 0, out.stderr
    assert "Left after 0 turns" in out.stdout


@pytest.mark.skipif(os.name != "posix", reason="closes a descriptor in a shell")
def test_a_closed_stdin() -> None:
    command = f"'{sys.executable}' -c 'from rollback_gym.cli import main; main()' play <&-"
    out = subprocess.run(command, shell=True, capture_output=True, text=True, timeout=60, encoding="utf-8")
    assert out.returncode == 0, out.stderr
    assert "Left after 0 turns" in out.stdout


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--env", "Nothing-v0"), "Nothing"),
        (("--env", "CartPole-v1"), "not played here"),
        (("--level", "nowhere"), "nowhere"),
        (("--split", "nowhere"), "nowhere"),
        (("--data", "/nowhere"), "does not exist"),
        (("--max-turns", "0"), "max-turns"),
        (("--seed", "-1"), "seed"),
    ],
)
def test_what_cannot_be_played_is_a_sentence(options: tuple[str, ...], sentence: str) -> None:
    out = play(options=options)
    assert out.exit_code == 2
    assert sentence in out.stderr
    assert "Traceback" not in out.output + out.stderr


def test_a_lost_game_is_revived() -> None:
    env = gym.make("Rollback-MineSweeper-v0")
    _, info = env.reset(seed=0)
    base: Any = env.unwrapped
    oracle = for_env(env)
    safe = set(oracle.optimal_actions(base.level, base.state))
    mine = next(action for action in info["admissible_actions"] if action not in safe)
    options = ("--env", "Rollback-MineSweeper-v0", "--revive")
    out = play(mine, "1", "hint", "undo", *oracle.plan(base.level, base.state), options=options)
    assert "Lost, but going back is still possible." in out.output
    assert "There is no action left but going back" in out.output
    assert "only going back can help" in out.output
    assert "saves the episode" in out.output
    assert "Won in" in out.output
    assert "Lost after 1 turn." in play(mine, options=options[:2]).output
