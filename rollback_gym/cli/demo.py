"""`rollback-gym demo`: an agent makes a mistake, the oracle sees it, the agent goes back and wins."""

import io
import math
import random
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer
from rich import box
from rich.console import Console, ConsoleOptions, Group, RenderableType
from rich.padding import Padding
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from rollback_gym.cli import options
from rollback_gym.cli.errors import asked_for, polite
from rollback_gym.cli.making import Env, begin, history_of, make, oracle_of, seen
from rollback_gym.cli.slips import Slip, choose, natural_plan
from rollback_gym.cli.theme import THEME, console, glyphs, sparkline
from rollback_gym.cli.tree import tree
from rollback_gym.cli.view import Turn, verdict
from rollback_gym.core.history import History
from rollback_gym.envs.alfworld import rules
from rollback_gym.envs.alfworld.types import Level, State
from rollback_gym.oracles import Oracle

ENV_ID = "Rollback-ALFWorld-v0"
_SVG_WIDTH = 100
_LIVE_DELAY = 0.6


@polite
def demo(
    seed: options.Seed = 0,
    data: options.Data = None,
    split: options.Split = None,
    level: options.Level = None,
    delay: Annotated[
        float | None,
        typer.Option(
            min=0,
            max=60,
            metavar="SECONDS",
            help="Time between turns; default: a moment on a terminal.",
        ),
    ] = None,
    svg: Annotated[Path | None, typer.Option(metavar="FILE", help="Save the show as a picture, too.")] = None,
) -> None:
    """Watch an agent make a mistake, go back, and win. Needs no data and no model."""
    show = perform(seed, data=data, split=split, level=level)
    out = console()
    if delay is None:
        delay = _LIVE_DELAY if out.is_terminal else 0.0
    out.print(show.opening())
    for turn in show.turns:
        out.print(turn)
        time.sleep(delay)
    out.print(show.closing())
    if svg is not None:
        with asked_for():
            svg.write_text(picture(show), encoding="utf-8")
        console(stderr=True).print(Text(f"The picture is in {svg}."), soft_wrap=True)


class Show(NamedTuple):
    """An episode, ready to be shown."""

    task: str
    level: str
    seed: int
    turns: tuple[Turn, ...]
    history: History
    lengths: dict[int, float]
    """L after each action index."""
    slip: Slip | None
    undone: int | None
    """The action index of the rollback."""

    def opening(self) -> RenderableType:
        """What is played."""
        about = Text.assemble(
            "the fewest turns still needed, known exactly; a mistake that raises it is ", ("pivotal", "pivotal")
        )
        text = Table.grid(padding=(0, 2, 0, 0))
        text.add_column(style="quiet")
        text.add_column(overflow="fold")
        text.add_row("Task", Text(self.task, "bold"))
        text.add_row("Level", Text(self.level, "quiet"))
        text.add_row("L(s)", about)
        title = Text.assemble(("rollback-gym", "bold"), (f"  demo, seed {self.seed}", "quiet"))
        return Padding(
            Panel(text, title=title, title_align="left", box=box.ROUNDED, border_style="quiet"), (0, 0, 1, 0)
        )

    def closing(self) -> RenderableType:
        """What happened, as a tree, a curve and a sentence."""
        return _Closing(self)

    def summary(self) -> Text:
        """The whole story in a line."""
        turns = self.history.index
        won = Text(f"Won in {turns} turns.", "won")
        if self.slip is None or self.undone is None:
            why = " In this world no likely mistake raises L so far that going back would pay, so the agent made none."
            return won.append(why, "not bold default")
        before = self.undone - 1
        without = before + self.lengths[before]
        return won.append(f" Without going back it would have taken {without:.0f}.", "not bold default")


class _Closing:
    def __init__(self, show: Show) -> None:
        self.show = show

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        signs, show = glyphs(options.ascii_only), self.show
        drawn = tree(show.history, signs, lambda node: show.lengths[node.index], won=True)
        curve = Text("L(s) turn by turn  ", "quiet") + sparkline([show.lengths[i] for i in sorted(show.lengths)], signs)
        inside = Group(drawn, Text(), curve, show.summary())
        title = Text("What happened", "bold")
        yield Panel(inside, title=title, title_align="left", box=box.ROUNDED, border_style="quiet")


def perform(seed: int, **options: Any) -> Show:
    """Play an episode with a mistake in it. Raises RollbackGymError for options that there are not."""
    level_id = options.pop("level", None)
    env = make(ENV_ID, **options)
    opening, info = begin(env, seed, level_id)
    oracle, level, state = oracle_of(env), env.unwrapped.level, env.unwrapped.state  # type: ignore[attr-defined]
    assert oracle is not None
    script, slip = _script(level, state, oracle, seed)

    seen_so_far = [("", opening, info)]
    undone = None
    for action in script:
        seen_so_far.append(_act(env, action))
    if slip is not None:
        target = len(script) - len(slip.actions) + slip.pivot
        seen_so_far.append(_act(env, f'rollback({target}, "{slip.reason}")'))
        undone = len(script) + 1
    for action in natural_plan(level, env.unwrapped.state, oracle):  # type: ignore[attr-defined]
        seen_so_far.append(_act(env, action))

    lengths = {info["action_index"]: info["oracle"]["distance"] for _, _, info in seen_so_far}
    scale = max(length for length in lengths.values() if not math.isinf(length))
    turns = tuple(
        Turn(info["action_index"], info["turn"], action, observation, verdict(info), scale, "rollback" in info)
        for action, observation, info in seen_so_far
    )
    return Show(info["task"], info["level"], seed, turns, history_of(env), lengths, slip, undone)


def picture(show: Show) -> str:
    """The show as SVG."""
    recorder = Console(
        theme=THEME,
        highlight=False,
        record=True,
        file=io.StringIO(),
        width=_SVG_WIDTH,
        force_terminal=True,
        color_system="truecolor",
        legacy_windows=False,
        _environ={},
    )
    for drawn in (show.opening(), *show.turns, show.closing()):
        recorder.print(drawn)
    svg = recorder.export_svg(title="rollback-gym demo")
    # Whoever looks at the picture should not be made to fetch a font from somewhere: any monospaced one will do.
    return re.sub(r"@font-face\s*\{.*?\}\s*", "", svg, flags=re.DOTALL)


def _act(env: Env, action: str) -> tuple[str, str, dict[str, Any]]:
    observation, _, _, _, info = env.step(action)
    return action, seen(env, observation), info


def _script(level: Level, state: State, oracle: Oracle, seed: int) -> tuple[tuple[str, ...], Slip | None]:
    """What the agent does before it notices anything: a look where there is nothing, then a plan with a slip in it."""
    looks = _looks_in_vain(level, state, oracle)
    first = (random.Random(f"{level.id} {seed} look").choice(looks),) if looks else ()
    for action in first:
        state = rules.step(level, state, action).state
    slip = choose(level, state, oracle, seed)
    return (first, None) if slip is None else ((*first, *slip.before, *slip.actions), slip)


def _looks_in_vain(level: Level, state: State, oracle: Oracle) -> list[str]:
    """Ways to places that a target may well be at, and is not: turns that are wasted and lose nothing more."""
    length = oracle.distance(level, state)
    target = next((n for n, thing in enumerate(level.things) if thing.type == level.goal.object_type), None)
    if target is None:
        return []
    likely = [place.name for number, place in enumerate(level.receptacles) if level.accepts[target] >> number & 1]
    ways = [f"go to {name}" for name in likely]
    return [way for way in ways if oracle.distance(level, rules.step(level, state, way).state) == length]
