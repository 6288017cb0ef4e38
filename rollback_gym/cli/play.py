"""`rollback-gym play`: a person plays in the terminal."""

import math
import re
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Annotated, Any

with suppress(ImportError):  # Windows has none
    import readline  # noqa: F401  # input() then edits lines, and remembers them

import typer
from rich.columns import Columns
from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.text import Text

from rollback_gym.cli import options
from rollback_gym.cli.errors import polite
from rollback_gym.cli.making import Env, begin, history_of, make, oracle_of, outcome_of, seen
from rollback_gym.cli.theme import console, glyphs, number
from rollback_gym.cli.tree import tree
from rollback_gym.cli.view import Turn, verdict
from rollback_gym.core.history import Node
from rollback_gym.core.snapshot import Outcome
from rollback_gym.oracles.lookup import Oracle

_ROLLBACK = re.compile(r"rollback\s+(\d+)(?:\s+(.*))?", re.IGNORECASE)
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_HELP = """\
An action: its number in the list, or its text.
rollback 3   go back to right after action 3 (0 is the start); `rollback 3 why` gives a reason
undo         go back by one action
hint         an action of a shortest solution
plan         a whole shortest solution
history      the tree of what was done
actions      the list of actions again
quit         stop"""


@polite
def play(
    env: Annotated[str, typer.Option(metavar="ID", help="What to play; see `rollback-gym list`.")] = (
        "Rollback-ALFWorld-v0"
    ),
    seed: options.Seed = 0,
    data: options.Data = None,
    split: options.Split = None,
    level: options.Level = None,
    max_turns: options.MaxTurns = None,
    revive: Annotated[bool, typer.Option("--revive", help="A lost game may still be rolled back.")] = False,
    oracle: Annotated[bool, typer.Option(help="Show L(s), the turns still needed, and the grade of each turn.")] = True,
) -> None:
    """Play in the terminal; going back is a move like any other."""
    given = {"data": data, "split": split, "max_turns": max_turns, "revive": revive or None}
    made = make(env, oracle=oracle, **given)
    opening, info = begin(made, seed, level)
    out = console()
    session = Session(made, out, oracle_of(made) if oracle else None, opening, info)
    try:
        session.play()
    except KeyboardInterrupt:
        out.print()
    session.leave()


class Session:
    """One person plays one episode: reads what is typed, and prints what comes of it."""

    def __init__(self, env: Env, out: Console, oracle: Oracle | None, opening: str, info: dict[str, Any]) -> None:
        self.env = env
        self.out = out
        self.oracle = oracle
        self.info = info
        self.highest = self._distance() or 1.0
        """The greatest finite L so far, which fills the bar."""
        self._print_turn("", opening)

    @property
    def over(self) -> bool:
        """Whether the episode has ended."""
        return outcome_of(self.env) not in (Outcome.RUNNING, Outcome.FAILED)

    def play(self) -> None:
        """Until the episode is over, or the person has had enough."""
        self._print_actions()
        self._say("A number or a text acts; `rollback 3`, `undo` and `hint` help; `?` shows all, `quit` stops.")
        while not self.over:
            line = self._read()
            if line is None or not self._obey(line):
                return

    def leave(self) -> None:
        """Say how it ended."""
        history = history_of(self.env)
        turns = f"{history.index} turn{'' if history.index == 1 else 's'}"
        won = outcome_of(self.env) is Outcome.WON
        if history.rollbacks or self.over:
            self.out.print(self._tree())
        endings = {
            Outcome.WON: (f"Won in {turns}.", "won"),
            Outcome.LOST: (f"Lost after {turns}.", "rising"),
            Outcome.TRUNCATED: (f"Out of turns after {turns}.", "rising"),
        }
        text, style = endings.get(outcome_of(self.env), (f"Left after {turns}.", "quiet"))
        distance = self._distance()
        if not won and distance is not None:
            far = "The goal was out of reach." if math.isinf(distance) else f"It would have taken {distance:.0f} more."
            text += f" {far}"
        self.out.print(Text(text, style))

    def _read(self) -> str | None:
        """A line from the person; None when there will be none."""
        try:
            line = input(self._prompt())
        except (EOFError, RuntimeError):  # RuntimeError: there is no stdin at all
            self.out.print()
            return None
        if not _typed():
            self.out.print(Text(line))  # so that the transcript of piped input can be read
        return line.strip()

    def _prompt(self) -> str:
        signs = glyphs(self.out.options.ascii_only)
        distance = self._distance()
        prompt = Text(f"[{history_of(self.env).index + 1}]", "index")
        if distance is not None:
            prompt.append(f" L {number(distance, signs)}", "quiet")
        prompt.append(f" {signs.prompt} ", "bold")
        with self.out.capture() as captured:
            self.out.print(prompt, end="")
        # Line editing must be told which signs take no room.
        return _COLOUR.sub("\001\\g<0>\002", captured.get()) if _typed() else captured.get()

    def _obey(self, line: str) -> bool:
        """Do what was typed; False to stop."""
        offered = self.info["admissible_actions"]
        if not line:
            return True
        if line in offered:
            self._act(line)
        elif line.isdecimal():
            if 1 <= int(line) <= len(offered):
                self._act(offered[int(line) - 1])
            elif offered:
                self._say(f"There are actions 1 to {len(offered)}; `actions` lists them.")
            else:
                self._say("There is no action left but going back: rollback 0, say.")
        elif match := _ROLLBACK.fullmatch(line):
            self._act(f"rollback({match[1]}, {match[2]})" if match[2] else f"rollback({match[1]})")
        elif line.lower() in ("quit", "exit", "q"):
            return False
        elif (command := self._commands().get(line.lower())) is not None:
            command()
        else:
            self._act(line)
        return True

    def _commands(self) -> dict[str, Any]:
        return {
            "undo": self._undo,
            "hint": self._hint,
            "plan": self._plan,
            "history": lambda: self.out.print(self._tree()),
            "actions": self._print_actions,
            "?": lambda: self._say(_HELP),
            "help": lambda: self._say(_HELP),
        }

    def _act(self, action: str) -> None:
        observation, _, _, _, self.info = self.env.step(action)
        distance = self._distance()
        if distance is not None and not math.isinf(distance):
            self.highest = max(self.highest, distance)
        self._print_turn(action, seen(self.env, observation))
        if not self.over:
            self._print_actions()

    def _undo(self) -> None:
        targets = self.info["rollback_targets"]
        if targets:
            self._act(f"rollback({targets[-1]})")
        else:
            self._say("There is nothing to go back to.")

    def _hint(self) -> None:
        base = self.env.unwrapped
        self._advise(lambda oracle: oracle.optimal_actions(base.level, base.state), _hinted)  # type: ignore[attr-defined]

    def _plan(self) -> None:
        base = self.env.unwrapped
        self._advise(lambda oracle: oracle.plan(base.level, base.state), _numbered)  # type: ignore[attr-defined]

    def _advise(self, ask: Callable[[Oracle], Sequence[Any]], put: Callable[[Sequence[Any]], str]) -> None:
        """Say what the oracle advises, if it can."""
        if self.oracle is None:
            self._say("No oracle is here to be asked.")
            return
        advice = ask(self.oracle) if outcome_of(self.env) is Outcome.RUNNING else ()
        self._say(put(advice) if advice else "From here the goal is out of reach; only going back can help.")

    def _distance(self) -> float | None:
        note = self.info.get("oracle")
        return None if note is None else float(note["distance"])

    def _tree(self) -> RenderableType:
        oracle, base = self.oracle, self.env.unwrapped

        def length(node: Node) -> float:
            return oracle.distance(base.level, node.point.state)  # type: ignore[attr-defined, union-attr]

        signs = glyphs(self.out.options.ascii_only)
        won = outcome_of(self.env) is Outcome.WON
        drawn = tree(history_of(self.env), signs, None if oracle is None else length, won)
        return Padding(drawn, (0, 0, 1, 0))

    def _print_turn(self, action: str, observation: str) -> None:
        info = self.info
        remark = info.get("invalid_action", "Lost, but going back is still possible." if info.get("failed") else "")
        went_back, index, turn = "rollback" in info, info["action_index"], info["turn"]
        self.out.print(Turn(index, turn, action, observation, verdict(info), self.highest, went_back, remark))

    def _print_actions(self) -> None:
        offered = self.info["admissible_actions"]
        width = len(str(len(offered)))
        listed = [
            Text.assemble((f"{index:>{width}} ", "index"), (action, "quiet"))
            for index, action in enumerate(offered, start=1)
        ]
        self.out.print(Padding(Columns(listed, padding=(0, 2), column_first=True), (0, 0, 1, 0)))

    def _say(self, text: str) -> None:
        self.out.print(Padding(Text(text, "italic"), (0, 0, 1, 2)))


def _typed() -> bool:
    """Whether a person types, with line editing."""
    return sys.stdin is not None and sys.stdin.isatty() and sys.stdout.isatty() and "readline" in sys.modules


def _hinted(best: Sequence[Any]) -> str:
    others = len(best) - 1
    return f"{best[0]}" + (f"  ({others} other{'' if others == 1 else 's'} as good)" if others else "")


def _numbered(plan: Sequence[Any]) -> str:
    return "\n".join(f"{step}. {action}" for step, action in enumerate(plan, start=1))
