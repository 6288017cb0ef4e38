"""What happens in a turn of two."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rollback_gym.core.spaces import AnyText
from rollback_gym.envs.sokoban.rules import moved as moved_alone
from rollback_gym.envs.sokoban.types import Level as Room
from rollback_gym.envs.sokoban.types import State as Alone
from rollback_gym.envs.sokoban_two.rules import Rules, moved
from rollback_gym.envs.sokoban_two.types import WORDS, State
from rollback_gym.envs.sokoban_two.views import Channels, Text
from tests.envs.sokoban_two import naive

RULES = Rules(Text().describe)
joint = st.tuples(st.sampled_from(WORDS), st.sampled_from(WORDS))

CONFLICTS = {
    "both into one cell": ("#######\n#1 2 .#\n#$    #\n#######", ("right", "left"), "#1 2 .#\n#$    #"),
    "change places": ("#######\n#12  .#\n#$    #\n#######", ("right", "left"), "#12  .#\n#$    #"),
    "follow closely": ("#######\n#12  .#\n#$    #\n#######", ("right", "right"), "#1 2 .#\n#$    #"),
    "push one box from both sides": ("#######\n#1$2 .#\n#     #\n#######", ("right", "left"), "#1$2 .#\n#     #"),
    "push one box from two sides": (
        "######\n#    #\n#1$ .#\n# 2  #\n######",
        ("right", "up"),
        "#    #\n#1$ .#\n# 2  #",
    ),
    "push a box into the other": ("#######\n#1$2 .#\n#     #\n#######", ("right", "stay"), "#1$2 .#\n#     #"),
    "push a box into who leaves": ("#######\n#1$2 .#\n#     #\n#######", ("right", "right"), "#1$ 2.#\n#     #"),
    "two boxes to one place": ("########\n#1$ $2.#\n#.     #\n########", ("right", "left"), "#1$ $2.#\n#.     #"),
    "a box to where the other steps": ("######\n#1$ .#\n#  2 #\n######", ("right", "up"), "#1$ .#\n#  2 #"),
    "step where a box was pushed away": ("######\n#1$ .#\n# 2  #\n######", ("right", "stay"), "# 1$.#\n# 2  #"),
    "two boxes side by side": ("######\n#1$ .#\n#2$ .#\n######", ("right", "right"), "# 1$.#\n# 2$.#"),
    "one stands against a wall": ("######\n#1$ .#\n#2   #\n######", ("right", "left"), "# 1$.#\n#2   #"),
}


def drawn(level: naive.Level, state: State) -> str:
    """The inside of the room, as in `CONFLICTS`."""
    width = level.room.width
    symbols = []
    for cell in range(level.room.height * width):
        box, target = state.boxes >> cell & 1, level.room.targets >> cell & 1
        symbol = "1" if cell == state.first else "2" if cell == state.second else "$" if box else "." if target else " "
        symbols.append(symbol if level.room.floor >> cell & 1 else "#")
    rows = ["".join(symbols[start : start + width]) for start in range(0, len(symbols), width)]
    return "\n".join(rows[1:-1])


@pytest.mark.parametrize("case", CONFLICTS)
def test_conflicts(case: str) -> None:
    before, words, after = CONFLICTS[case]
    level = naive.parse(before)
    assert drawn(level, moved(level, level.start, words)) == after


def swapped(state: State) -> State:
    return State(state.second, state.first, state.boxes)


@settings(max_examples=300, deadline=None)
@given(level=naive.levels(most_boxes=3, most_inside=4), turns=st.lists(joint, max_size=20))
def test_equal_to_rules_written_down_plainly_and_nobody_is_first(
    level: naive.Level, turns: list[tuple[str, str]]
) -> None:
    floor = naive.places(level.room, level.room.floor)
    state, plain = level.start, naive.position(level, level.start)
    for words in turns:
        mirrored = moved(level, swapped(state), words[::-1])
        state, plain = moved(level, state, words), naive.moved(floor, plain, words)
        assert naive.position(level, state) == plain
        assert mirrored == swapped(state)
        assert RULES.decode(level, RULES.encode(level, state)) == state


@settings(max_examples=200, deadline=None)
@given(level=naive.levels(), words=st.lists(st.sampled_from(WORDS[:4]), max_size=20))
def test_who_is_alone_in_moving_plays_sokoban_with_a_wall_more(level: naive.Level, words: list[str]) -> None:
    room = level.room
    floor = room.floor & ~(1 << level.second)
    walled = Room("", (), room.height, room.width, floor, room.targets, room.start)
    state, alone = level.start, Alone(level.start.first, level.start.boxes)
    for word in words:
        state = moved(level, state, (word, "stay"))
        alone = moved_alone(walled, alone, walled.offsets[word])
        assert (state.first, state.boxes) == tuple(alone)
        assert state.second == level.second


def test_the_reward_is_sokobans_by_what_became_better() -> None:
    level = naive.parse("######\n#1$. #\n#2$. #\n######")
    both = RULES.step(level, level.start, ("right", "right"))
    assert (both.reward, both.terminated, both.won) == (pytest.approx(-0.1 + 2 + 10), True, True)
    one = RULES.step(level, level.start, ("right", "stay"))
    assert (one.reward, one.terminated) == (pytest.approx(0.9), False)
    off = RULES.step(level, one.state, ("right", "stay"))
    assert off.reward == pytest.approx(-1.1)
    away = RULES.step(level, one.state, ("right", "right"))
    assert away.reward == pytest.approx(-0.1), "one box came onto its target, one left it"


def test_what_is_no_action_is_to_stay() -> None:
    level = naive.parse("######\n#1$. #\n#2$. #\n######")
    done = RULES.step(level, level.start, ("jump", "right"))
    assert done.state == moved(level, level.start, ("stay", "right"))
    assert done.invalid == "'jump' is none of up, down, left, right, stay"


@pytest.mark.parametrize(
    "data", [None, (1, 2), (1, 2, 3, 4), (1.0, 2, 3), (7, 7, 0), (0, 8, 0), (-1, 8, 0), (7, 10**9, 0), (7, 8, 1 << 99)]
)
def test_no_state_is_read_from_what_is_none(data: object) -> None:
    level = naive.parse("######\n#1$. #\n#2$. #\n######")
    with pytest.raises(ValueError, match="expected"):
        RULES.decode(level, data)


def test_each_sees_itself() -> None:
    level = naive.parse("#####\n#1$ #\n#. 2#\n#####")
    here = State(level.start.first, 2 * 5 + 1, level.start.boxes)  # player_1 on the target
    assert Text().describe(level, here) == {
        "player_0": "#####\n#PX_#\n#R__#\n#####",
        "player_1": "#####\n#QX_#\n#S__#\n#####",
    }
    arrays = Channels(4, 5).describe(level, here)
    for agent, me, other in (("player_0", (1, 1), (2, 1)), ("player_1", (2, 1), (1, 1))):
        room = arrays[agent]
        assert Channels(4, 5).space.contains(room)
        assert [tuple(place) for place in zip(*room[..., 3].nonzero(), strict=True)] == [me]
        assert [tuple(place) for place in zip(*room[..., 4].nonzero(), strict=True)] == [other]
        assert (room[..., :3] == arrays["player_0"][..., :3]).all()
    assert isinstance(Text().space, AnyText)
