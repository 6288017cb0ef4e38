"""Play by tool calls, with whatever API of a chat: `tools` goes into its request, and `read_call` reads its answer.

python tool_calls.py
"""

import json
from typing import Any

import gymnasium as gym

from rollback_gym.doors.seat import Seat
from rollback_gym.doors.tools import read_call, tools


def scripted(messages: list[dict[str, Any]], offered: list[dict[str, Any]], turn: int) -> dict[str, Any]:
    """Where a client of an API stands: `client.chat.completions.create(..., messages=messages, tools=offered)`."""
    said = [
        {"name": "act", "arguments": json.dumps({"action": "up"})},
        {"name": "rollback", "arguments": json.dumps({"index": 0, "reason": "down was better"})},
        {"name": "act", "arguments": "{not even JSON"},
        {"name": "act", "arguments": json.dumps({"action": "down"})},
    ]
    return {"role": "assistant", "tool_calls": [{"id": f"call-{turn}", "type": "function", "function": said[turn]}]}


def play() -> list[dict[str, Any]]:
    """The messages of an episode."""
    seat = Seat(gym.make("Rollback-Sokoban-v0", max_turns=4))
    seat.begin(seed=0)
    messages: list[dict[str, Any]] = [{"role": "user", "content": seat.opening()}]
    while seat.open:
        now = seat.turns[-1]
        answer = scripted(messages, tools(now.admissible, now.targets, seat.going_back), now.index)
        read = read_call(answer)
        seat.act(read.action or "", problem=read.problem)
        call = answer["tool_calls"][0]["id"]
        messages += [answer, {"role": "tool", "tool_call_id": call, "content": seat.told()}]
    return messages


if __name__ == "__main__":
    for message in play():
        print(f"{message['role']}: {message.get('content') or message['tool_calls'][0]['function']}\n")
