"""L(s) in Sokoban: every way to know it against brute force, on every state that small rooms can come to."""

import math
import random
from importlib.util import find_spec
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rollback_gym import OracleBudgetExceeded
from rollback_gym.core.bits import numbers
from rollback_gym.envs.sokoban.data import parse
from rollback_gym.envs.sokoban.generator import Recipe
from rollback_gym.envs.sokoban.rules import Rules
from rollback_gym.envs.sokoban.seeds import GeneratedRooms
from rollback_gym.envs.sokoban.text import LAYOUTS
from rollback_gym.envs.sokoban.types import Level, State
from rollback_gym.oracles import sokoban, sokoban_search
from rollback_gym.oracles.sokoban_search import Searches
from rollback_gym.oracles.sokoban_table import Table, entries, useful
from tests.envs.sokoban import naive

RULES = Rules(LAYOUTS["plain"].describe)
needs_numba = pytest.mark.skipif(find_spec("numba") is None, reason="needs numba: pip install 'rollback-gym[fast]'")


def dense(level: Level) -> Any:
    from rollback_gym.oracles.sokoban_compiled import DenseTable

    return DenseTable(level)


WAYS = [
    pytest.param(Table, id="table"),
    pytest.param(dense, id="compiled", marks=needs_numba),
    pytest.param(Searches, id="search"),
]


def room(seed: int, **changes: Any) -> Level:
    recipe = Recipe("ragen", 6, 6, 2, 20, 100)._replace(**changes)
    return GeneratedRooms(recipe, 100).level(f"train/{seed}")


@pytest.mark.parametrize("way", WAYS)
@settings(max_examples=300, deadline=None)
@given(level=naive.levels())
def test_equal_to_brute_force_on_every_state(way: Any, level: Level) -> None:
    solution = way(level)
    for position, length in naive.distances(level, naive.position(level, level.start)).items():
        assert solution.distance(*naive.state(level, position)) == length


@pytest.mark.parametrize("way", WAYS)
def test_equal_to_brute_force_in_rooms_that_are_played(way: Any) -> None:
    for seed in range(5):
        level = room(seed)
        solution = way(level)
        for position, length in naive.distances(level, naive.position(level, level.start)).items():
            assert solution.distance(*naive.state(level, position)) == length


@pytest.mark.parametrize("way", WAYS[1:])
@settings(max_examples=60, deadline=None)
@given(level=naive.levels(most_boxes=4, most_inside=6), seed=st.integers(0, 2**32))
def test_all_ways_agree_on_any_placement(way: Any, level: Level, seed: int) -> None:
    """Also on placements that no play comes to, and behind walls."""
    rng = random.Random(seed)
    floor = list(numbers(level.floor))
    boxes = level.targets.bit_count()
    table, other = Table(level), way(level)
    for _ in range(20):
        player, *where = rng.sample(floor, boxes + 1)
        here = (player, sum(1 << cell for cell in where))
        assert other.distance(*here) == table.distance(*here)


@settings(max_examples=150, deadline=None)
@given(level=naive.levels())
def test_optimal_actions_are_all_those_that_come_nearer(level: Level) -> None:
    known = naive.distances(level, naive.position(level, level.start))
    floor = naive.places(level, level.floor)
    for position, length in known.items():
        here = naive.state(level, position)
        assert sokoban.distance(level, here) == length
        if length in (0, math.inf):
            assert sokoban.optimal_actions(level, here) == ()
            continue
        nearer = [word for word in naive.MOVES if known[naive.moved(floor, position, word)] == length - 1]
        assert sokoban.optimal_actions(level, here) == tuple(nearer)


def test_plans_win_in_as_many_moves() -> None:
    for seed in range(50):
        level = room(seed)
        plan = sokoban.plan(level, level.start)
        assert len(plan) == sokoban.distance(level, level.start)
        state, won = level.start, False
        for word in plan:
            state, _, won, _, _, invalid = RULES.step(level, state, word)
            assert invalid is None
        assert won
        assert sokoban.plan(level, state) == ()


def test_a_dead_corner_and_two_frozen_boxes() -> None:
    corner = parse(["#####", "#@$ #", "#  .#", "#####"], "corner")
    assert sokoban.distance(corner, corner.start) == math.inf
    assert sokoban.plan(corner, corner.start) == ()
    pair = parse(["######", "#    #", "#@$$ #", "#    #", "# .. #", "######"], "pair")
    assert sokoban.distance(pair, pair.start) == 9
    against_the_wall = State(pair.start.player, 1 << 8 | 1 << 9)
    assert sokoban.distance(pair, against_the_wall) == math.inf


@needs_numba
def test_the_compiled_table_agrees_in_a_large_room() -> None:
    level = room(3, height=10, width=10, boxes=3, steps=34)
    table, compiled = Table(level), dense(level)
    rng = random.Random(0)
    floor = list(numbers(level.floor))
    for _ in range(20_000):
        player, *boxes = rng.sample(floor, 4)
        here = (player, sum(1 << cell for cell in boxes))
        assert compiled.distance(*here) == table.distance(*here)


# --- Rooms that are too large for a table ---------------------------------------------------------------------------

WAREHOUSE = parse(
    [
        "#############",
        *["#           #"] * 3,
        "#  $ $ $ $  #",
        "#  $ $ $ $  #",
        "#     @     #",
        "#........   #",
        "#############",
    ],
    "warehouse",
)


def test_a_large_room_is_searched(monkeypatch: pytest.MonkeyPatch) -> None:
    assert entries(WAREHOUSE) > sokoban.MOST_ENTRIES
    assert isinstance(sokoban.solve(WAREHOUSE), Searches)
    few = parse(["#" * 12, *["#          #"] * 6, "#  $ @     #", "#  . *     #", "#" * 12], "few")
    monkeypatch.setattr(sokoban, "MOST_ENTRIES", 10)
    assert isinstance(sokoban.solve(few), Searches)
    assert sokoban.solve(few).distance(*few.start) == Table(few).distance(*few.start)


def test_what_takes_too_long_is_said_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sokoban_search, "MOST_EFFORT", 10_000)
    with pytest.raises(OracleBudgetExceeded, match=r"no solution was found among [0-9]+ states"):
        sokoban.distance(WAREHOUSE, WAREHOUSE.start)


def full(size: int, boxes: int) -> Level:
    """An open room with that many boxes, none at the wall."""
    inside = size - 2
    rows = [["#", *" " * inside, "#"] for _ in range(inside)]
    apart = [(row, column) for row in range(1, inside - 1) for column in range(2, inside) if (row + column) % 2]
    for row, column in apart[:boxes]:
        rows[row][column] = "$"
    for place in range(boxes):
        row, column = divmod(place, inside)
        rows[row][column + 1] = "." if rows[row][column + 1] == " " else "*"
    rows[-1][1] = "@"
    return parse(["#" * size, *map("".join, rows), "#" * size], "full")


def test_many_boxes_count_as_much_as_they_cost(monkeypatch: pytest.MonkeyPatch) -> None:
    """A bound takes longer the more boxes there are: a number of states alone would be no bound of the time."""
    monkeypatch.setattr(sokoban_search, "MOST_EFFORT", 300_000)
    with pytest.raises(OracleBudgetExceeded, match=r"among [0-9]{1,3} states"):
        sokoban.distance(full(20, 60), full(20, 60).start)
    with pytest.raises(OracleBudgetExceeded, match="too long by itself"):
        sokoban.distance(full(60, 1000), full(60, 1000).start)


@needs_numba
def test_the_compiled_table_of_a_crowded_room() -> None:
    """Between few ways to place the boxes lie binomials of more than 64 bits."""
    rows = [["#", *"*" * 10, "#"] for _ in range(10)]
    rows[4][4], rows[4][5], rows[5][7], rows[3][7] = "+", "$", "$", "."
    level = parse(["#" * 12, *map("".join, rows), "#" * 12], "crowded")
    table, compiled = Table(level), dense(level)
    for boxes in (level.start.boxes, level.targets):
        for player in numbers(level.floor & ~boxes):
            assert compiled.distance(player, boxes) == table.distance(player, boxes)


def test_a_search_knows_the_way_it_found() -> None:
    level = room(3)
    searches = Searches(level)
    length = searches.distance(*level.start)
    known = dict(searches._known)
    assert sorted(known.values()) == [float(left) for left in range(int(length) + 1)]


@given(
    costs=st.integers(1, 5).flatmap(
        lambda n: st.lists(
            st.lists(st.sampled_from([0.0, 1.0, 2.0, 5.0, math.inf]), min_size=n, max_size=n), min_size=n, max_size=n
        )
    )
)
def test_the_cheapest_matching(costs: list[list[float]]) -> None:
    from itertools import permutations

    best = min(sum(costs[row][column] for row, column in enumerate(order)) for order in permutations(range(len(costs))))
    assert sokoban_search._matching(costs) == best


# --- What is kept ---------------------------------------------------------------------------------------------------


@pytest.fixture
def empty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sokoban, "_kept", type(sokoban._kept)())
    monkeypatch.setattr(sokoban, "_kept_bytes", 0)
    monkeypatch.setattr(sokoban, "_last", (None, None))


@pytest.mark.usefixtures("empty")
def test_tables_are_forgotten_when_they_take_too_much(monkeypatch: pytest.MonkeyPatch) -> None:
    levels = [room(seed) for seed in range(20)]
    monkeypatch.setattr(sokoban, "CACHE_BYTES", 2 * max(Table(level).bytes for level in levels))
    for level in levels:
        sokoban.distance(level, level.start)
    assert levels[-1].digest in sokoban._kept
    assert levels[0].digest not in sokoban._kept
    assert sum(solution.bytes for solution in sokoban._kept.values()) == sokoban._kept_bytes <= sokoban.CACHE_BYTES


@pytest.mark.usefixtures("empty")
def test_equal_levels_share_a_table() -> None:
    one, other = room(4), Level(*room(4).__reduce__()[1])
    assert one is not other
    assert sokoban.distance(one, one.start) == sokoban.distance(other, other.start)
    assert len(sokoban._kept) == 1


@given(level=naive.levels(most_inside=5))
def test_useful_cells_are_those_that_one_box_can_be_pushed_from(level: Level) -> None:
    spots = set(numbers(useful(level)))
    for cell in numbers(level.floor):
        alone = [
            Table(Level("", (), level.height, level.width, level.floor, 1 << target, level.start))
            for target in numbers(level.targets)
        ]
        can = any(
            table.distance(player, 1 << cell) < math.inf
            for table in alone
            for player in numbers(level.floor & ~(1 << cell))
        )
        assert not can or cell in spots
