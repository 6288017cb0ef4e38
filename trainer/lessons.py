"""A lesson, and how lessons are ranked for a task: SimUtil-UCB."""

import math
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import numpy as np

Rule = Literal["ucb", "utility", "similarity"]
Floats = np.ndarray[Any, np.dtype[np.float64]]
Whole = np.ndarray[Any, np.dtype[np.int64]]


class Lesson(NamedTuple):
    """What was learnt from one episode."""

    id: int
    task: str
    text: str
    trajectory: str
    outcome: str
    """`"won"` or `"lost"`: how the episode ended that taught it."""
    utility: float
    """In [0, 1]: a moving average of how well episodes went that were given it; 0.5 at birth."""
    uses: int
    """The n of its exploration term: 1 at birth and after a pruning, and 1 more for every time that it was judged, be
    it by an episode that was given it or by one that taught the same."""
    progress: float
    """In [0, 1]: how far training was when it was learnt."""
    given: int = 0
    """How many episodes were given it, ever."""


class Found(NamedTuple):
    """A lesson that was retrieved."""

    lesson: Lesson
    similarity: float
    """The cosine between the two tasks."""
    score: float


class Ranking(NamedTuple):
    """How lessons are ranked (RetroAgent, section on SimUtil-UCB; the numbers of its public code).

    S(m | x) = alpha * similarity + (1 - alpha) * (utility + kappa * sqrt(ln N / n)), N the uses of all lessons and n
    those of this one, over lessons whose task is similar enough. `rule` switches parts off: `"utility"` leaves the
    exploration term out (which is also what greedy evaluation does), `"similarity"` all but the first.
    """

    rule: Rule = "ucb"
    alpha: float = 0.6
    kappa: float = 1.0
    floor: float = 0.4
    """The least similarity."""

    def greedy(self) -> "Ranking":
        """This ranking without curiosity, for evaluation."""
        return self._replace(rule="utility") if self.rule == "ucb" else self

    def scores(self, similarity: Floats, utility: Floats, uses: Whole) -> Floats:
        """(n,) one score a lesson, -inf where the task is too different.

        Args:
            similarity: (n,) cosines.
            utility: (n,) in [0, 1].
            uses: (n,) whole numbers of at least 1.
        """
        if self.rule == "similarity":
            scores = similarity.copy()
        else:
            worth = utility
            if self.rule == "ucb":
                worth = utility + self.kappa * np.sqrt(np.log(max(1, int(uses.sum()))) / uses)
            scores = self.alpha * similarity + (1 - self.alpha) * worth
        scores[similarity < self.floor] = -np.inf
        return scores


def best(scores: Floats, k: int) -> list[int]:
    """The places of the `k` highest finite scores, best first; of equals the older lesson first."""
    finite = np.flatnonzero(np.isfinite(scores))
    if len(finite) > 4 * k > 0:
        # Everything that the k-th highest is not above, so that ties at the edge are still ranked by age.
        edge = np.partition(scores[finite], len(finite) - k)[len(finite) - k]
        finite = finite[scores[finite] >= edge]
    order = np.lexsort((finite, -scores[finite]))
    return [int(place) for place in finite[order[:k]]]


def spread(given: Sequence[int]) -> float | None:
    """How evenly lessons are given to agents: the entropy of their shares over that of equal ones.

    1 where all were given alike often, 0 where only one was; None where none was, or where there is no choice.
    """
    total = sum(given)
    if len(given) < 2 or not total:
        return None
    shares = [of / total for of in given if of]
    return max(0.0, -sum(share * math.log(share) for share in shares) / math.log(len(given)))


def moved(utility: float, score: float, beta: float) -> float:
    """The moving average after one more use that was worth `score`."""
    return (1 - beta) * utility + beta * score
