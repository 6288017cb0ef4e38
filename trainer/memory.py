"""The memory of lessons: what was learnt in earlier episodes, found again by similarity, use and curiosity.

RetroAgent's reflection memory (its paper, and `agent_system/memory/memory.py` of its public code, whose numbers are the
defaults where the paper names none).
"""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rollback_gym.trainer.encoders import Encoder, Vectors
from rollback_gym.trainer.lessons import Found, Lesson, Ranking, best, moved, spread
from rollback_gym.trainer.shelf import MemoryMismatch, Shelf, Worth

MILESTONES = (0.25, 0.5, 0.75)
"""The shares of training at which the memory is pruned."""


class Memory:
    """Lessons by task, in this process and, with a path, on disk; every change is on disk when its call returns.

    Args:
        encoder: Turns tasks and lessons into vectors.
        path: The file; None for a memory that ends with the process.
        ranking: How lessons are ranked, which the file is told, too. None: as it says, or `Ranking()` if there is none.
        beta: The weight of one more use in a lesson's utility. (0.05 in the paper, 0.1 in its code.)
        same: Two lessons of which both tasks and texts are more similar than this are one.
        capacity: The most lessons; beyond it the least useful twentieth goes, of equals the oldest. A fuller file that
            is opened for writing, or a fuller checkpoint, is cut down at once.
        write: False only reads, and leaves the file to whoever writes.

    Raises:
        MemoryInUse, MemoryMismatch: see `Shelf`.
        MemoryReadOnly: by whatever would change it, where it only reads, or is closed.
    """

    def __init__(
        self,
        encoder: Encoder,
        path: Path | None = None,
        *,
        ranking: Ranking | None = None,
        beta: float = 0.05,
        same: float = 0.85,
        capacity: int = 100_000,
        write: bool = True,
    ) -> None:
        if not 0 < beta < 1 or not 0 < same <= 1 or capacity < 1:
            raise ValueError(f"Expected 0 < beta < 1, 0 < same <= 1 and capacity >= 1, got {beta}, {same}, {capacity}.")
        self.encoder = encoder
        self.beta = beta
        self.same = same
        self.capacity = capacity
        self._shelf = None if path is None else Shelf(Path(path), encoder.name, write=write)
        noted = None if self._shelf is None else self._shelf.noted("ranking")
        self.ranking = ranking or (Ranking() if noted is None else Ranking(**json.loads(noted)))
        if self._shelf is not None and write:
            self._shelf.note(ranking=json.dumps(self.ranking._asdict()))
        self._lessons: list[Lesson] = []
        self._tasks = self._texts = np.zeros((0, 0), np.float32)
        if self._shelf is not None:
            self._lessons, self._tasks, self._texts = self._shelf.read()
        self._next = 1 + max((lesson.id for lesson in self._lessons), default=0)
        self._index()
        noted = None if self._shelf is None else self._shelf.noted("pruned")
        self._pruned: set[float] = {float(share) for share in (noted or "").split()}
        if write:
            self._make_room()

    def __len__(self) -> int:
        return len(self._lessons)

    def lessons(self) -> tuple[Lesson, ...]:
        """Every lesson, oldest first."""
        return tuple(self._at(place) for place in range(len(self)))

    def add(self, task: str, text: str, trajectory: str, outcome: str, progress: float = 0.0) -> int:
        """Remember a lesson, and return its id: that of an older one that says the same for the same kind of task."""
        self._check_writes()
        task_vector, text_vector = self.encoder.encode([task, text])
        known = self._twin(task_vector, text_vector)
        if known is not None:
            self._judge([(known, 0.5)], given=0)
            return self._lessons[known].id
        lesson = Lesson(self._next, task, text, trajectory, outcome, 0.5, 1, float(progress))
        self._next += 1
        if self._shelf is not None:
            self._shelf.put(lesson, task_vector, text_vector)
        self._append(lesson, task_vector, text_vector)
        self._make_room()
        return lesson.id

    def retrieve(
        self, task: str, k: int = 3, *, outcome: str | None = None, ranking: Ranking | None = None
    ) -> tuple[Found, ...]:
        """The `k` lessons that rank highest for `task`, best first; fewer where fewer are similar enough.

        Args:
            task: The instruction of the episode to come.
            k: How many, at most.
            outcome: Only lessons of episodes that ended so.
            ranking: Another one than the memory's own, such as `memory.ranking.greedy()` for evaluation.
        """
        if not self._lessons or k < 1:
            return ()
        similarity = (self._tasks[: len(self)] @ self.encoder.encode([task])[0]).astype(np.float64)
        scores = (ranking or self.ranking).scores(similarity, self._utility, self._uses)
        if outcome is not None:
            scores[self._outcomes != outcome] = -np.inf
        return tuple(
            Found(self._at(place), float(similarity[place]), float(scores[place])) for place in best(scores, k)
        )

    def learn(self, worth: Iterable[tuple[int, float]]) -> None:
        """Say of lessons, by id, how well an episode went that was given them: 1 for success, 0 for failure.

        Lessons that were pruned meanwhile are passed over.
        """
        self._check_writes()
        self._judge([(self._places[id_], score) for id_, score in worth if id_ in self._places], given=1)

    def reached(self, progress: float, keep: int = 3) -> int:
        """Prune if training passed a milestone that it had not passed before; returns how many lessons went."""
        self._check_writes()
        due = [share for share in MILESTONES if share <= progress and share not in self._pruned]
        before = len(self)
        for share in due:
            self._pruned.add(share)
            self.prune(keep)
        return before - len(self)

    def prune(self, keep: int = 3) -> None:
        """Keep the `keep` most useful lessons of each task; what stays is worth a tenth less, and counts as new."""
        self._check_writes()
        by_task: dict[str, list[int]] = {}
        for place, lesson in enumerate(self._lessons):
            by_task.setdefault(lesson.task, []).append(place)
        kept = sorted(
            place
            for places in by_task.values()
            for place in sorted(places, key=lambda place: (-self._utility[place], place))[:keep]
        )
        self._utility[kept] *= 0.9
        self._uses[kept] = 1
        self._keep(kept, [self._worth(place) for place in kept])

    def spread(self) -> float | None:
        """See `lessons.spread`; of those that are here."""
        return spread(self._given.tolist())

    def state(self) -> dict[str, Any]:
        """All of it, but for the vectors, as JSON can hold it (`scene.Part`)."""
        return {
            "encoder": self.encoder.name,
            "lessons": [list(lesson) for lesson in self.lessons()],
            "next": self._next,
            "pruned": sorted(self._pruned),
        }

    def resume(self, state: Any) -> None:
        """Become what `state` told of, in the file too, whatever was learnt since.

        Raises:
            MemoryMismatch: if another encoder filled it.
        """
        self._check_writes()
        if state["encoder"] != self.encoder.name:
            raise MemoryMismatch(
                f"The checkpoint's memory was filled with the encoder {state['encoder']!r}; here it is "
                f"{self.encoder.name!r}. Use the same."
            )
        self._lessons = [Lesson(*fields) for fields in state["lessons"]]
        self._next, self._pruned = state["next"], set(state["pruned"])
        if self._lessons:
            self._tasks = self.encoder.encode([lesson.task for lesson in self._lessons])
            self._texts = self.encoder.encode([lesson.text for lesson in self._lessons])
        else:
            self._tasks = self._texts = np.zeros((0, 0), np.float32)
        if self._shelf is not None:
            self._shelf.replace(self._lessons, self._tasks, self._texts, pruned=" ".join(map(str, state["pruned"])))
        self._index()
        self._make_room()

    def clear(self) -> None:
        """Forget everything, in the file too."""
        self.resume({"encoder": self.encoder.name, "lessons": [], "next": 1, "pruned": []})

    def close(self) -> None:
        """Let go of the file."""
        if self._shelf is not None:
            self._shelf.close()

    def _check_writes(self) -> None:
        if self._shelf is not None:
            self._shelf.check_writes()

    def _index(self) -> None:
        self._places = {lesson.id: place for place, lesson in enumerate(self._lessons)}
        self._utility = np.array([lesson.utility for lesson in self._lessons], np.float64)
        self._uses = np.array([lesson.uses for lesson in self._lessons], np.int64)
        self._given = np.array([lesson.given for lesson in self._lessons], np.int64)
        self._outcomes = np.array([lesson.outcome for lesson in self._lessons], np.str_)

    def _at(self, place: int) -> Lesson:
        _, utility, uses, given = self._worth(place)
        return self._lessons[place]._replace(utility=utility, uses=uses, given=given)

    def _twin(self, task_vector: Any, text_vector: Any) -> int | None:
        if not self._lessons:
            return None
        near = np.flatnonzero(self._tasks[: len(self)] @ task_vector > self.same)
        alike = self._texts[near] @ text_vector
        return int(near[alike.argmax()]) if len(near) and alike.max() > self.same else None

    def _judge(self, worth: Sequence[tuple[int, float]], *, given: int) -> None:
        for place, score in worth:
            self._utility[place] = moved(float(self._utility[place]), float(score), self.beta)
            self._uses[place] += 1
            self._given[place] += given
        if self._shelf is not None and worth:
            self._shelf.judge([self._worth(place) for place in dict(worth)])

    def _worth(self, place: int) -> Worth:
        return Worth(
            self._lessons[place].id, float(self._utility[place]), int(self._uses[place]), int(self._given[place])
        )

    def _make_room(self) -> None:
        """If it is too full, the least useful go, but never the newest, which had no chance yet."""
        above = len(self) - self.capacity
        if above <= 0:
            return
        order = np.argsort(self._utility[:-1], kind="stable")
        gone = set(order[: max(above, self.capacity // 20)].tolist())
        self._keep([place for place in range(len(self)) if place not in gone])

    def _append(self, lesson: Lesson, task_vector: Any, text_vector: Any) -> None:
        place = len(self._lessons)
        self._tasks = _with_room(self._tasks, place, len(task_vector))
        self._texts = _with_room(self._texts, place, len(text_vector))
        self._tasks[place], self._texts[place] = task_vector, text_vector
        self._places[lesson.id] = place
        self._lessons.append(lesson)
        self._utility = np.append(self._utility, lesson.utility)
        self._uses = np.append(self._uses, lesson.uses)
        self._given = np.append(self._given, lesson.given)
        self._outcomes = np.append(self._outcomes, lesson.outcome)

    def _keep(self, places: Sequence[int], worth: Sequence[Worth] = ()) -> None:
        """Drop all lessons but those at `places`, which are ascending, and write what became of the worth of others."""
        stays = set(places)
        gone = [lesson.id for place, lesson in enumerate(self._lessons) if place not in stays]
        if self._shelf is not None:
            pruned = " ".join(map(str, sorted(self._pruned)))
            self._shelf.drop(gone, worth, pruned=pruned)
        self._lessons = [self._lessons[place] for place in places]
        self._tasks, self._texts = self._tasks[places], self._texts[places]
        self._utility, self._uses, self._given = self._utility[places], self._uses[places], self._given[places]
        self._outcomes = self._outcomes[places]
        self._places = {lesson.id: place for place, lesson in enumerate(self._lessons)}


def _with_room(vectors: Vectors, rows: int, width: int) -> Vectors:
    """`vectors` with a free row after the first `rows`."""
    if rows < len(vectors):
        return vectors
    larger = np.zeros((max(64, 2 * rows), width), np.float32)
    if rows:
        larger[:rows] = vectors[:rows]
    return larger
