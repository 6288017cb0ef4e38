"""L(s) of single states of a Sokoban level whose table would be too large: A* forwards, by moves.

The bound is the least sum of pushes that could bring each box to a target of its own, other boxes aside, plus the way
to the nearest box. It never exceeds the moves needed, and one move changes it by at most one: so the first solution
found is a shortest one.
"""

import math
from heapq import heappop, heappush

from rollback_gym.core.bits import numbers
from rollback_gym.core.errors import OracleBudgetExceeded
from rollback_gym.envs.sokoban.rules import moved
from rollback_gym.envs.sokoban.types import Level, State

MOST_EFFORT = 3_000_000
"""What one search may cost before it gives up, in units of about 5 us: some 15 s, and 250 MB."""
_LOOKING_ON = 10
"""What it costs to look on from one state."""

_REMEMBERED = 200_000


class Searches:
    """What is known of a level so far. Raises OracleBudgetExceeded for one of far too many cells and boxes."""

    bytes = 300 * _REMEMBERED

    def __init__(self, level: Level) -> None:
        self._level = level
        targets = level.targets.bit_count()
        self._bounding = targets**2 // 3 + targets**3 // 100
        """What a bound costs: a matching."""
        if max(targets * level.floor.bit_count(), self._bounding) > MOST_EFFORT:
            raise self._exceeded("finding out how far boxes are from targets is too long by itself")
        self._pushes = [_pushes(level, target) for target in numbers(level.targets)]
        self._bounds: dict[int, float] = {}
        self._known: dict[State, float] = {}

    def distance(self, player: int, boxes: int) -> float:
        """L of the state. Raises OracleBudgetExceeded where it takes too long to find out."""
        state = State(player, boxes)
        if state not in self._known:
            if len(self._known) >= _REMEMBERED:
                self._known.clear()
            solution = self._solve(state)
            if not solution:
                self._known[state] = math.inf
            for left, passed in enumerate(reversed(solution)):
                self._known[passed] = float(left)
        return self._known[state]

    def _solve(self, start: State) -> list[State]:
        """The states of a shortest solution, `start` included; none where there is no solution."""
        level = self._level
        if math.isinf(self._bound(start)):
            return []
        offsets = tuple(level.offsets.values())
        came_from: dict[State, State | None] = {start: None}
        gone = {start: 0}
        done: set[State] = set()
        # Of equal sums, what is further on comes first.
        queue = [(self._bound(start), 0, start)]
        effort = 0
        while queue:
            _, length, state = heappop(queue)
            if state in done:
                continue
            done.add(state)
            if state.boxes == level.targets:
                return _path(came_from, state)
            effort += _LOOKING_ON
            if effort > MOST_EFFORT:
                raise self._exceeded(f"no solution was found among {len(done):,} states, and there are more")
            length = 1 - length
            for offset in offsets:
                after = moved(level, state, offset)
                if after is state or gone.get(after, math.inf) <= length:
                    continue
                effort += self._bounding if after.boxes not in self._bounds else 0
                bound = self._bound(after)
                if math.isinf(bound):
                    continue
                gone[after] = length
                came_from[after] = state
                heappush(queue, (length + bound, -length, after))
        return []

    def _exceeded(self, why: str) -> OracleBudgetExceeded:
        return OracleBudgetExceeded(
            f"L in level {self._level.id!r} is not known: {why}. Exact answers need a smaller room or fewer boxes."
        )

    def _bound(self, state: State) -> float:
        """Moves that are needed at least."""
        player, boxes = state
        pushes = self._bounds.get(boxes)
        if pushes is None:
            if len(self._bounds) >= _REMEMBERED:
                self._bounds.clear()
            costs = [[from_target[box] for from_target in self._pushes] for box in numbers(boxes)]
            pushes = self._bounds[boxes] = _matching(costs)
        if pushes == 0:
            return 0.0
        row, column = divmod(player, self._level.width)
        way = min(abs(box // self._level.width - row) + abs(box % self._level.width - column) for box in numbers(boxes))
        return pushes + way - 1


def _path(came_from: dict[State, State | None], last: State) -> list[State]:
    path = []
    state: State | None = last
    while state is not None:
        path.append(state)
        state = came_from[state]
    return path[::-1]


def _pushes(level: Level, target: int) -> list[float]:
    """(height * width,) pushes that bring a box from each cell to `target`, if only walls are in the way."""
    pushes = [math.inf] * (level.height * level.width)
    pushes[target] = 0
    pending = [target]
    for cell in pending:  # grows on the way
        for offset in level.offsets.values():
            pulled, player = cell + offset, cell + 2 * offset
            if level.floor >> pulled & 1 and level.floor >> player & 1 and math.isinf(pushes[pulled]):
                pushes[pulled] = pushes[cell] + 1
                pending.append(pulled)
    return pushes


def _matching(costs: list[list[float]]) -> float:
    """The least sum of one cost in each row and column, infinite where there is no finite one.

    The Hungarian method, by shortest augmenting paths (Jonker and Volgenant, 1987).
    """
    count = len(costs)
    row_price, column_price = [0.0] * (count + 1), [0.0] * (count + 1)
    row_of = [count] * (count + 1)
    for row in range(count):
        row_of[count], column = row, count
        least, before, used = [math.inf] * count, [count] * count, [False] * (count + 1)
        while row_of[column] != count:
            used[column] = True
            here, gap, nearest = row_of[column], math.inf, -1
            for other in range(count):
                if used[other]:
                    continue
                slack = costs[here][other] - row_price[here] - column_price[other]
                if slack < least[other]:
                    least[other], before[other] = slack, column
                if least[other] < gap:
                    gap, nearest = least[other], other
            if nearest < 0:
                return math.inf
            for other in range(count):
                if used[other]:
                    row_price[row_of[other]] += gap
                    column_price[other] -= gap
                else:
                    least[other] -= gap
            row_price[row_of[count]] += gap
            column_price[count] -= gap
            column = nearest
        while column != count:
            row_of[column], column = row_of[before[column]], before[column]
    return sum(costs[row_of[column]][column] for column in range(count))
