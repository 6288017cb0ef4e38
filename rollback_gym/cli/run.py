"""`rollback-gym run`: a policy plays many episodes into a file."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.text import Text

from rollback_gym.cli import options
from rollback_gym.cli.errors import Refused, asked_for, polite
from rollback_gym.cli.settings import given
from rollback_gym.cli.theme import console
from rollback_gym.play.run import Plan, Standing

_INTERRUPTED = 130


@polite
def run(
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FILE", help="Where the records go, an episode a line.")],
    env: Annotated[str, typer.Option(metavar="ID", help="What to play; see `rollback-gym list`.")] = (
        "Rollback-ALFWorld-v0"
    ),
    policy: Annotated[
        str,
        typer.Option(metavar="NAME", help="random, scripted, oracle, noisy-oracle, endpoint, local, or module:thing."),
    ] = "oracle",
    episodes: Annotated[int, typer.Option("--episodes", "-n", min=1, metavar="N", help="How many, in all.")] = 100,
    workers: Annotated[int, typer.Option("--workers", "-w", min=1, metavar="W", help="How many processes play.")] = 1,
    seed: options.Seed = 0,
    repeat: Annotated[
        int, typer.Option(min=1, metavar="K", help="Play each level K times in a row, by other chances of the policy.")
    ] = 1,
    policy_seed: Annotated[
        int, typer.Option(min=0, metavar="N", help="For what the policy leaves to chance; the levels stay the same.")
    ] = 0,
    data: options.Data = None,
    split: options.Split = None,
    level: options.Level = None,
    every_level: Annotated[
        bool, typer.Option("--every-level", help="Play the levels (of the split) in turn; by default they are drawn.")
    ] = False,
    option: Annotated[
        list[str] | None, typer.Option("--option", metavar="NAME=VALUE", help="For gym.make; may be repeated.")
    ] = None,
    set_: Annotated[
        list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="For the policy; may be repeated.")
    ] = None,
    max_turns: options.MaxTurns = None,
    oracle: Annotated[bool, typer.Option(help="Record L(s), grades and pivotal mistakes.")] = True,
) -> None:
    """Play episodes into a file; the same command again goes on where it stopped."""
    from rollback_gym.play.run import run as play_all

    if ":" in policy and "" not in sys.path:
        sys.path.insert(0, "")  # as with `python -m`: code of one's own is most often here
    own = {"data": data, "split": split, "max_turns": max_turns}
    kwargs = {**given(option, "--option"), **{name: value for name, value in own.items() if value is not None}}
    if level is not None and every_level:
        raise Refused("--level plays one level and --every-level all of them; choose one.")
    settings = given(set_, "--set")
    plan = _checked(env, kwargs, policy, settings)._replace(
        episodes=episodes, seed=seed, repeat=repeat, policy_seed=policy_seed, oracle=oracle
    )
    if level is not None:
        plan = plan._replace(levels=(_there(plan, level),))
    elif every_level:
        plan = plan._replace(levels=_levels(plan, -(-episodes // repeat)))
    standing = Standing(episodes)
    try:
        with _bar(episodes) as show:

            def report(now: Standing) -> None:
                nonlocal standing
                standing = now
                show(now)

            play_all(plan, out, workers=workers, report=report)
    except KeyboardInterrupt:
        _tell(standing, out, "Interrupted")
        raise typer.Exit(_INTERRUPTED) from None
    _tell(standing, out, "Stopped" if standing.stopped else "Played")
    if standing.failures:
        raise typer.Exit(1)


def _checked(env: str, kwargs: dict[str, Any], policy: str, settings: dict[str, Any]) -> Plan:
    """A plan whose environment and policy can be made: so a mistake is told at once, and once."""
    from rollback_gym.play.playing import Table
    from rollback_gym.play.policies import make_policy
    from rollback_gym.play.run import made_by, make_env

    with asked_for():
        made = made_by(env, kwargs)
        Table(make_env(made))
        make_policy(policy, **settings)
    return Plan(made, policy, settings, 1)


def _there(plan: Plan, level: str) -> str:
    """`level`, if the environment can play it."""
    from rollback_gym.play.run import make_env

    with asked_for():
        make_env(plan.made).reset(options={"level": level})
    return level


def _levels(plan: Plan, most: int) -> tuple[str, ...]:
    """The first levels that the environment can play; of some there is no end."""
    from rollback_gym.registration import levels

    kwargs = plan.made.kwargs
    narrowing = {name: kwargs[name] for name in ("data", "split", "task_types", "difficulty") if name in kwargs}
    with asked_for():
        return tuple(islice(levels(plan.made.id, **narrowing), most))


@contextmanager
def _bar(total: int) -> Iterator[Any]:
    """A function that shows how far a run is, if someone is at the terminal."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda standing: None
        return
    columns = (
        TextColumn("episodes"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[success]}"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("", total=total, success="")

        def show(standing: Standing) -> None:
            success = f"{standing.won / standing.done:.1%} won" if standing.done else ""
            bar.update(task, completed=standing.done, success=success)

        yield show


def _tell(standing: Standing, out: Path, how: str) -> None:
    """Say how far the run came."""
    told = Text.assemble((f"{how}: {standing.done:,} of {standing.total:,} episodes", "bold"), f" are in {out}")
    if standing.done:
        told.append(f"; {standing.won:,} won ({standing.won / standing.done:.1%})")
    if standing.resumed:
        told.append(f"; {standing.resumed:,} were there before")
    told.append(".")
    if standing.done < standing.total:
        told.append(" The same command goes on there.")
    if standing.unjudged:
        told.append(f"\n{standing.unjudged:,} of them have no L(s): no oracle was asked, or it gave up.", "flat")
    console().print(told)
    errors = Console(stderr=True)
    for message, ids in _by_message(standing).items():
        others = f" and {len(ids) - 3} more" if len(ids) > 3 else ""
        errors.print(Text(f"not played: {', '.join(ids[:3])}{others}: {message}", style="bold red"), soft_wrap=True)


def _by_message(standing: Standing) -> dict[str, list[str]]:
    """The episodes that failed, by what went wrong, which is told once."""
    messages: dict[str, list[str]] = {}
    for id, message in standing.failures:
        messages.setdefault(message, []).append(id)
    return messages
