"""What a model is sent: pure functions of the task, of what happened so far, and of settings.

The turns are numbered, `[3]` before what followed action 3, since the observations themselves never are: so a model
knows what it can go back to. After a rollback the dialogue is cut back to where the game is, with a note that tells the
model that it went back, from where, and the reason that it gave itself.
"""

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple, get_args

from rollback_gym.play.parse import without_thoughts
from rollback_gym.play.policies import GoingBack, Turn

Messages = tuple[dict[str, str], ...]
Style = Literal["dialogue", "single"]


class Prompts(NamedTuple):
    """How a model is asked."""

    style: Style = "dialogue"
    """`dialogue`: everything said so far, a message a turn. `single`: one message, written anew each turn."""
    window: int | None = None
    """So many of the last turns are shown; None shows all."""
    admissible: bool = True
    """Whether the admissible actions are listed."""
    think: bool = True
    """Whether the model is asked to think first."""
    rollback: bool = True
    """Whether the model is told that it can go back."""
    system: bool = True
    """Whether the instructions are a system message; else they begin the first of the user's."""
    thoughts: bool = True
    """Whether a dialogue keeps what the model thought on earlier turns."""
    brief: bool = False
    """Whether the task is all that the model is told, for one that learned the rest in training."""


def checked(settings: Prompts) -> Prompts:
    """`settings`, which may come from anywhere. Raises ValueError where one of them is none of its kind."""
    if settings.style not in get_args(Style):
        raise ValueError(f"style must be {' or '.join(get_args(Style))}, got {settings.style!r}.")
    window = settings.window
    if window is not None and (isinstance(window, bool) or not isinstance(window, int) or window < 0):
        raise ValueError(f"window must be null or a whole number of turns of at least 0, got {window!r}.")
    for name, value in settings._asdict().items():
        if name not in ("style", "window") and not isinstance(value, bool):
            raise ValueError(f"{name} must be true or false, got {value!r}.")
    return settings


def prompt(
    env: str,
    task: str,
    turns: Sequence[Turn],
    settings: Prompts = Prompts(),  # noqa: B008  # immutable
    going_back: GoingBack = GoingBack(),  # noqa: B008
    max_turns: int | None = None,
) -> Messages:
    """The messages that ask for the next action.

    Args:
        env: The environment's name, which chooses the instructions; any other than our four gets general ones.
        task: The instruction of the episode.
        turns: Everything so far, from turn 0 on.
        settings: How to ask.
        going_back: What the environment allows.
        max_turns: The turn that cuts the episode off; None says nothing of it.
    """
    told = instructions(env, task, settings, going_back, max_turns)
    shown = branch(turns)
    left_out = 0 if settings.window is None else max(0, len(shown) - 1 - settings.window)
    if settings.style == "single":
        return _split(told, _page(shown, left_out, settings), settings)
    messages: list[dict[str, str]] = []
    for place, remembered in enumerate(shown[left_out:]):
        if place:
            messages.append(_said("assistant", answer(remembered.turn, settings)))
        omitted = f"{_omitted(left_out)}\n" if left_out and not place else ""
        messages.append(_said("user", omitted + message(remembered, settings)))
    first, *rest = messages
    return (*_split(told, first["content"], settings), *rest)


class Remembered(NamedTuple):
    """A turn that the agent still has before it."""

    turn: Turn
    returns: tuple[tuple[Turn, tuple[int, ...]], ...] = ()
    """The rollbacks that led back here, each with the action indices that it undid."""


def branch(turns: Sequence[Turn]) -> tuple[Remembered, ...]:
    """The turns that are left when the dialogue is cut back at every rollback; a refused one is a turn like others."""
    kept: list[Remembered] = []
    for turn in turns:
        if turn.target is None:
            kept.append(Remembered(turn))
            continue
        undone: list[int] = []
        while kept[-1].turn.index > turn.target:
            undone.insert(0, kept.pop().turn.index)
        kept[-1] = kept[-1]._replace(returns=(*kept[-1].returns, (turn, tuple(undone))))
    return tuple(kept)


def message(remembered: Remembered, settings: Prompts = Prompts()) -> str:  # noqa: B008  # immutable
    """What a dialogue tells a model of one turn, and of the rollbacks that led back to it."""
    return _seen(remembered, settings, True)


def instructions(env: str, task: str, settings: Prompts, going_back: GoingBack, max_turns: int | None = None) -> str:
    """What a model is told once: the rules, how to go back, how to answer, and the task."""
    if settings.brief:
        return f"Your task: {task}"
    parts = [rules(env, max_turns)]
    if settings.admissible:
        parts.append("Each turn lists the actions that can be done then.")
    if settings.rollback and going_back.most != 0:
        parts.append(_way_back(going_back))
    parts.append(_THINK if settings.think else _ACT)
    parts.append(f"Your task: {task}")
    return "\n\n".join(parts)


def rules(env: str, max_turns: int | None = None) -> str:
    """The rules of a world alone, without a word on how to answer."""
    told: str = _RULES.get(env, _GENERAL)
    return told if max_turns is None else f"{told} You have {max_turns} turns."


def _way_back(allowed: GoingBack) -> str:
    verb = allowed.verb
    where = {
        "any": "You can go back to every number that is shown before the last one.",
        "previous": "You can only go back by one number at a time.",
        "start": "You can only go back to the start.",
    }[allowed.targets]
    example = 0 if allowed.targets == "start" else 3
    lines = [
        "What you see is numbered: [0] is the start, [3] is what came of action 3. If you find that you went wrong, "
        f"you can go back instead of acting: {verb}({example}) puts everything back to how it stood at [{example}], "
        "and what was done since is undone. Choose the last number before your mistake, and say in a few words what it "
        f'was: {verb}({example}, "that was the wrong way"). {where} Going back takes a turn, and the turns that were '
        "spent stay spent."
    ]
    if allowed.most is not None:
        lines.append(f"You can go back {allowed.most} time{'' if allowed.most == 1 else 's'} at most.")
    if allowed.revive:
        lines.append("A game that is lost can still be saved by going back, if you do it at once.")
    return " ".join(lines)


def _page(shown: Sequence[Remembered], left_out: int, settings: Prompts) -> str:
    """All turns in one text."""
    lines = [_omitted(left_out)] if left_out else []
    for place, remembered in enumerate(shown[left_out:]):
        if place:
            turn = remembered.turn
            lines.append(f"Action {turn.index}: {turn.action if turn.problem is None else '(none could be read)'}")
        lines.append(_seen(remembered, settings, left_out + place + 1 == len(shown)))
    return "\n".join(lines)


def _seen(remembered: Remembered, settings: Prompts, offers: bool) -> str:
    """What came of a turn; with `offers` also what can be done then."""
    turn = remembered.turn
    if turn.rollback:  # refused, and no place to go back to: so it has no number, and shows nothing new
        lines = [f"(You did not go back, and are still at [{turn.parent}]: {turn.invalid})"]
    else:
        observation = str(turn.observation)
        lines = [f"[{turn.index}]{chr(10) if chr(10) in observation else ' '}{observation}"]
    if turn.problem is not None:
        lines.append(f"(No action could be read from your answer: {turn.problem}.)")
    elif turn.invalid is not None and not turn.rollback:
        lines.append(f"(That could not be done: {turn.invalid})")
    lines += [
        f"(You are back here since action {back.index}{_why(back)}{_undone(undone)}.)"
        for back, undone in remembered.returns
    ]
    if turn.failed:
        lines.append("(The game is lost unless you go back.)")
    if offers and settings.admissible and turn.admissible:
        lines += ["You can do:", *(f"- {action}" for action in turn.admissible)]
    if offers and settings.rollback and turn.targets:
        lines.append(f"You can go back to: {', '.join(map(str, turn.targets))}")
    return "\n".join(lines)


def _why(back: Turn) -> str:
    return f', for your reason "{back.reason}"' if back.reason else ""


def _undone(indices: tuple[int, ...]) -> str:
    actions = ", ".join(map(str, indices))
    return f"; action{'' if len(indices) == 1 else 's'} {actions} {'is' if len(indices) == 1 else 'are'} undone"


def answer(turn: Turn, settings: Prompts) -> str:
    """What the model said, or would have said, to take a turn."""
    if turn.text is None:
        return f"<action>{turn.action}</action>"
    return turn.text if settings.thoughts else without_thoughts(turn.text)


def _omitted(turns: int) -> str:
    return f"({turns} earlier turn{' is' if turns == 1 else 's are'} left out.)"


def _split(told: str, first: str, settings: Prompts) -> Messages:
    if settings.system:
        return _said("system", told), _said("user", first)
    return (_said("user", f"{told}\n\n{first}"),)


def _said(role: str, content: str) -> dict[str, str]:
    return {"role": role, "content": content}


_THINK = (
    "First think inside <think> </think> about what you have seen and what is left to do. Then give exactly one action "
    "inside <action> </action>."
)
_ACT = "Answer with exactly one action inside <action> </action>, and nothing else."

_GENERAL = "You act in a world that is shown to you in text, one action a turn, to finish a task."
_RULES: dict[str, Any] = {
    "alfworld": (
        "You do a task in a house that is told in text. Each turn you give one command and read what comes of it.\n"
        "go to PLACE; open PLACE; close PLACE; take THING from PLACE; move THING to PLACE; clean THING with SINKBASIN; "
        "heat THING with MICROWAVE; cool THING with FRIDGE; slice THING with KNIFE; use LAMP; examine PLACE or THING; "
        "look; inventory.\n"
        "Names have numbers, as in drawer 2. You see what is in a closed place only when it is open, and you can hold "
        'one thing at a time. "Nothing happens." means that a command cannot be done as things stand.'
    ),
    "webshop": (
        "You shop on a web site for the product that an instruction asks for. Each turn you do one of two things.\n"
        "search[WORDS], where there is a search bar, finds products; click[BUTTON] clicks on what the page shows: a "
        "button, the code of a product, or an option, written as it is there.\n"
        "Choose every option that the instruction names, and watch the price, before you click[buy now]: buying is "
        "final, and is paid by how well the product and its options fit."
    ),
    "sokoban": (
        "You push boxes about a room that you see from above, until every box is on a target. Each turn you take one "
        "step: up, down, left or right.\n"
        "# is a wall, _ floor, O a target, X a box, √ a box on a target, P is you, and S is you on a target. Walking "
        "into a box pushes it if the cell behind it is free. Boxes are never pulled, so one in a corner stays there."
    ),
    "minesweeper": (
        "You clear a board with hidden mines. Each turn you open a closed cell: (ROW, COLUMN), both counted from 1, "
        "from the upper left.\n"
        "? is a closed cell, . an open one with no mine around it, and a digit tells how many of the up to eight cells "
        "around it hold a mine. Opening a mine loses the game; opening every other cell wins it.\n"
        "Some games allow flags: flag (ROW, COLUMN) marks a closed cell, shown as F, or takes the mark off. A marked "
        "cell cannot be opened, and marks on all mines and nowhere else win, too."
    ),
}
