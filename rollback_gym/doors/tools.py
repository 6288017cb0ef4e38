"""Acting and going back as tool calls, for any API of a chat that knows tools.

`tools` describes them in the format that OpenAI's API brought up; `read_call` makes of a call the text that `env.step`
takes. A model that calls wrongly is told so; nothing that it writes raises.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from rollback_gym.play.parse import Parsed
from rollback_gym.play.policies import SEARCH, GoingBack

_LONGEST = 1_000
_WHERE = {
    "any": "any number that was shown before the last one, and is not undone",
    "previous": "the number before the last one only",
    "start": "0 only, which is the start",
}

ACT = "Do one thing in the world, and see what comes of it."
ACTION = "The action, written as it was offered."
ROLLBACK = (
    "Go back instead of acting. Everything is put back to how it stood right after an earlier action, and what was "
    "done since is undone. It takes a turn, and the turns that were spent stay spent."
)
INDEX = "The number, as in [3], of the last action before the mistake; 0 is the start."
REASON = "In a few words, what the mistake was."


def tools(
    offered: Sequence[str] | None = None,
    targets: Sequence[int] | None = None,
    going_back: GoingBack = GoingBack(),  # noqa: B008  # immutable
) -> list[dict[str, Any]]:
    """The tools `act` and `rollback`, as JSON Schema in the form of `{"type": "function", "function": {...}}`.

    Args:
        offered: The admissible actions, which then are the only ones that the schema allows; None allows any text.
            WebShop offers any search, so that there they only are named.
        targets: Likewise the action indices to go back to; with none there is no `rollback`.
        going_back: What the environment allows; with no rollbacks there is no `rollback`.
    """
    action: dict[str, Any] = {"type": "string", "description": ACTION}
    if offered is not None and SEARCH in offered:
        action["description"] += f" Offered are: {', '.join(offered)}."
    elif offered:
        action["enum"] = list(offered)
    found = [_described("act", ACT, {"action": action}, ["action"])]
    if going_back.most == 0 or (targets is not None and not targets):
        return found
    index: dict[str, Any] = {"type": "integer", "description": f"{INDEX} Allowed: {_WHERE[going_back.targets]}."}
    if targets:
        index["enum"] = list(targets)
    reason = {"type": "string", "description": REASON}
    return [*found, _described("rollback", ROLLBACK, {"index": index, "reason": reason}, ["index"])]


def read_call(call: Any, verb: str = "rollback") -> Parsed:
    """The action in a tool call, or what is wrong with it.

    Args:
        call: `{"name": ..., "arguments": ...}`, such a dict under `"function"`, or the assistant's whole message, with
            one of these in `"tool_calls"`; as dicts, as an object with `model_dump()`, as what the official clients
            return, or as JSON; the arguments as a dict or as JSON.
        verb: The word for a rollback in the environment's actions.
    """
    try:
        call = _function(_read(call))
        arguments = _read(call.get("arguments"))
    except (ValueError, TypeError, RecursionError) as error:
        return Parsed(None, f"that is no tool call: {_line(error)}")
    return action_of(call.get("name"), arguments, verb)


def action_of(name: Any, arguments: Any, verb: str = "rollback") -> Parsed:
    """The action that `name(**arguments)` stands for, or what is wrong with it; see `read_call`."""
    if not isinstance(arguments, Mapping):
        return Parsed(None, f"the arguments must be an object, got {_kind(arguments)}")
    if name == "act":
        return _act(arguments)
    if name == "rollback":
        return _rollback(arguments, verb)
    return Parsed(None, f"there is no tool {_short(name)}; there are act and rollback")


def _described(name: str, purpose: str, properties: dict[str, Any], required: list[str]) -> dict[str, Any]:
    takes = {"type": "object", "properties": properties, "required": required, "additionalProperties": False}
    return {"type": "function", "function": {"name": name, "description": purpose, "parameters": takes}}


def _act(arguments: Mapping[Any, Any]) -> Parsed:
    problem = _unfit(arguments, "act", ("action",), ("action",))
    if problem is not None:
        return Parsed(None, problem)
    action, problem = _text("action", arguments["action"])
    if problem is None and not action:
        problem = "the action is empty"
    return Parsed(None, problem) if problem is not None else Parsed(action)


def _rollback(arguments: Mapping[Any, Any], verb: str) -> Parsed:
    problem = _unfit(arguments, "rollback", ("index",), ("index", "reason"))
    if problem is not None:
        return Parsed(None, problem)
    index, problem = _index(arguments["index"])
    if problem is not None:
        return Parsed(None, problem)
    given = arguments.get("reason")
    reason, problem = _text("reason", "" if given is None else given)
    if problem is not None:
        return Parsed(None, problem)
    reason = " ".join(reason.split())
    return Parsed(f'{verb}({index}, "{reason}")' if reason else f"{verb}({index})")


def _unfit(arguments: Mapping[Any, Any], tool: str, needed: Sequence[str], known: Sequence[str]) -> str | None:
    missing = [name for name in needed if name not in arguments]
    unknown = [name for name in arguments if name not in known]
    if missing:
        return f"{tool} needs {missing[0]}"
    return f"{tool} takes {' and '.join(known)}, not {_short(unknown[0])}" if unknown else None


def _text(name: str, value: Any) -> tuple[str, str | None]:
    """A text, without what no tokenizer takes."""
    if not isinstance(value, str):
        return "", f"{name} must be a text, got {_kind(value)}"
    if len(value) > _LONGEST:
        return "", f"{name} has {len(value):,} letters; {_LONGEST:,} are allowed"
    # JSON can spell half of a surrogate pair.
    return value.encode("utf-8", "replace").decode("utf-8").strip(), None


def _index(value: Any) -> tuple[int, str | None]:
    """A number, also one that a model wrote as a text or with a decimal point."""
    if isinstance(value, str) and value.strip().isdecimal() and len(value) <= 18:
        value = int(value)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        return 0, f"index must be a whole number, got {_kind(value)}"
    if not 0 <= value < 10**18:
        return 0, "index must be a number that was shown, as in [3]"
    return value, None


def _function(call: Any) -> Mapping[Any, Any]:
    """The innermost dict of a call. Raises ValueError where there is none, or more than one."""
    if not isinstance(call, Mapping):
        raise ValueError(f"expected an object with name and arguments, got {_kind(call)}")
    if "tool_calls" in call:
        calls = call["tool_calls"]
        if not isinstance(calls, Sequence) or isinstance(calls, str) or len(calls) != 1:
            count = len(calls) if isinstance(calls, Sequence) and not isinstance(calls, str) else 0
            raise ValueError(f"expected exactly one call a turn, got {count}")
        return _function(_read(calls[0]))
    return _function(_read(call["function"])) if "function" in call else call


def _read(value: Any) -> Any:
    if isinstance(value, str | bytes | bytearray):
        return json.loads(value)
    return value.model_dump() if hasattr(value, "model_dump") else value


def _kind(value: Any) -> str:
    if value is None:
        return "nothing"
    name = {dict: "an object", list: "a list", str: "a text", bool: "true or false", int: "a number", float: "a number"}
    return name.get(type(value), type(value).__name__)


def _short(value: Any) -> str:
    text = repr(value) if isinstance(value, str) else _kind(value)
    return text if len(text) <= 40 else f"{text[:40]}..."


def _line(error: Exception) -> str:
    return " ".join(str(error).split())[:200] or type(error).__name__
