"""What a batch of episodes teaches, and earns: the pure parts of RetroAgent.

Lessons are told, judged by how episodes went that were given them, and written down; R_int and penalties join what
turns earned.
"""

from collections.abc import Sequence
from typing import NamedTuple

from rollback_gym.play.policies import Turn
from rollback_gym.trainer.lessons import Found
from rollback_gym.trainer.reflection import Reflection, kept, subject, transcript
from rollback_gym.trainer.rewards import Rewarding, Scores
from rollback_gym.trainer.trajectory import Start, Trajectory

LESSONS = "Lessons from earlier attempts at tasks like this one. They may not fit here; what you see counts."


class Event(NamedTuple):
    """What a batch of one process teaches the memory and the baselines: plain values, sent to all processes."""

    worth: Sequence[tuple[int, float]]
    """Lessons by id, each with how well an episode went that was given it."""
    lessons: Sequence[tuple[str, str, str, str]]
    """Tasks, texts, transcripts and outcomes."""
    rates: Sequence[tuple[str, float]]
    """Tasks, each with a group's success rate."""


def with_lessons(start: Start) -> bool:
    """Whether an episode is of the half that plays with lessons: every other one of its group."""
    return start.member % 2 == 1


def told(found: Sequence[Found]) -> str:
    """Lessons as they stand in a prompt; empty where there are none."""
    return "\n".join([LESSONS, *(f"- {hit.lesson.text}" for hit in found)]) if found else ""


def scaled(rewarding: Rewarding, factor: float) -> Rewarding:
    """`rewarding`, with what turns earn times a factor; what is measured stays as it was."""

    def of(trajectories: Sequence[Trajectory]) -> Scores:
        scores = rewarding(trajectories)
        return scores._replace(rewards=tuple(tuple(factor * reward for reward in of) for of in scores.rewards))

    return of


def penalised(rewarding: Rewarding, penalty: float = 0.1) -> Rewarding:
    """`rewarding`, less a penalty for every turn that was no admissible action, refused rollbacks among them.

    Args:
        rewarding: What turns earn otherwise.
        penalty: At least 0. (0.1 in the paper and the public ALFWorld script with reflection in context; 0.5 in all
            other public scripts.)
    """
    if not penalty >= 0:
        raise ValueError(f"The penalty must be at least 0, got {penalty!r}.")

    def of(trajectories: Sequence[Trajectory]) -> Scores:
        scores = rewarding(trajectories)
        invalid = [[_inadmissible(step.turn) for step in trajectory.steps] for trajectory in trajectories]
        rewards = tuple(
            tuple(reward - penalty * bad for reward, bad in zip(earned, turns, strict=True))
            for earned, turns in zip(scores.rewards, invalid, strict=True)
        )
        shares = [sum(turns) / max(1, len(turns)) for turns in invalid]
        return Scores(rewards, {**scores.measures, "inadmissible": shares})

    return of


def _inadmissible(turn: Turn) -> bool:
    return turn.invalid is not None or turn.problem is not None


def with_intrinsic(scores: Scores, rewards: Sequence[float]) -> Scores:
    """What turns earned, with R_int on the last turn of each episode: G = sum over t of gamma^t (R_ext + R_int)."""
    added = tuple(
        (*earned[:-1], earned[-1] + more) if earned else earned
        for earned, more in zip(scores.rewards, rewards, strict=True)
    )
    return scores._replace(rewards=added)


def success_rates(trajectories: Sequence[Trajectory]) -> list[tuple[str, float]]:
    """The task of each group, with the share of its episodes that were won, both halves together."""
    groups: dict[tuple[int, str], list[bool]] = {}
    for trajectory in trajectories:
        groups.setdefault((trajectory.start.group, subject(trajectory.view)), []).append(trajectory.won)
    return [(task, sum(won) / len(won)) for (_, task), won in groups.items()]


def worth(
    trajectories: Sequence[Trajectory], given: Sequence[Sequence[Found]], *, outperform: bool = False
) -> list[tuple[int, float]]:
    """How well it went with each lesson that was given, an entry a use: 1 for a won episode, else 0.

    Args:
        trajectories: Whole groups.
        given: What each was given.
        outperform: A win counts only where the episodes of its group that were given lessons won more often than those
            that were given none.
    """
    better = _outperformed(trajectories, given) if outperform else None
    return [
        (hit.lesson.id, float(trajectory.won and (better is None or better[trajectory.start.group])))
        for trajectory, hits in zip(trajectories, given, strict=True)
        for hit in hits
    ]


def _outperformed(trajectories: Sequence[Trajectory], given: Sequence[Sequence[Found]]) -> dict[int, bool]:
    halves: dict[int, tuple[list[bool], list[bool]]] = {}
    for trajectory, hits in zip(trajectories, given, strict=True):
        halves.setdefault(trajectory.start.group, ([], []))[bool(hits)].append(trajectory.won)
    return {group: _rate(helped) > _rate(unhelped) for group, (unhelped, helped) in halves.items()}


def _rate(won: Sequence[bool]) -> float:
    return sum(won) / len(won) if won else 0.0


def learnt(trajectories: Sequence[Trajectory], reflections: Sequence[Reflection]) -> list[tuple[str, str, str, str]]:
    """The lessons of a batch, an entry an episode: those of one reflection belong together."""
    return [
        (subject(of.view), " ".join(one.lessons), kept(transcript(of.view.turns)), outcome_of(of.won))
        for of, one in zip(trajectories, reflections, strict=True)
        if one.lessons
    ]


def outcome_of(won: bool) -> str:
    """How a memory names an ending."""
    return "won" if won else "lost"


def measures(
    trajectories: Sequence[Trajectory],
    given: Sequence[Sequence[Found]],
    said: Sequence[Reflection],
    reflections: Sequence[Reflection],
) -> dict[str, Sequence[float]]:
    """What is logged of a batch: episodes, what each was given, what was said of it, and what of that holds."""
    pairs = list(zip(trajectories, given, strict=True))
    return {
        "retro/won_with_lessons": [float(of.won) for of, hits in pairs if hits],
        "retro/won_without": [float(of.won) for of, hits in pairs if not hits],
        "reflection/phi": [one.phi for one in reflections],
        "reflection/malformed": [float(bool(one.problem)) for one in said],
        "reflection/right": [float(one.right(of.won)) for one, of in zip(said, trajectories, strict=True)],
        "reflection/lessons": [float(len(one.lessons)) for one in reflections],
    }
