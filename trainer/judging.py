"""A language model as a teacher: any model that answers messages, the student among them.

Every answer is read strictly. Asked several times, it votes, and what few of its answers name weighs less.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from hashlib import blake2b

from rollback_gym.core.errors import PolicyError
from rollback_gym.play.models import Chat as Model
from rollback_gym.play.parse import parse
from rollback_gym.play.policies import Turn, View
from rollback_gym.play.prompts import Messages, rules
from rollback_gym.trainer.chat import Chat
from rollback_gym.trainer.generator import Ask, Generator
from rollback_gym.trainer.gold import resolve
from rollback_gym.trainer.moments import Moment, feasible, known
from rollback_gym.trainer.teacher_reports import MOST_CANDIDATES, MalformedReport, Report, read_report, resolved, voted
from rollback_gym.trainer.teachers import Named
from rollback_gym.trainer.trajectory import Trajectory

Answering = Callable[[Sequence[Messages], int], Sequence[str | None]]
"""Answers to messages, by a seed; None for one that there is no answer to."""


def by_model(model: Model, workers: int = 1) -> Answering:
    """Asks a model that answers one dialogue at a time, several at once where it may be asked from threads."""

    def one(messages: Messages, seed: int) -> str | None:
        try:
            return model.answer(messages, seed).text
        except PolicyError:
            return None

    def answering(asked: Sequence[Messages], seed: int) -> Sequence[str | None]:
        with ThreadPoolExecutor(workers) as pool:
            return list(pool.map(one, asked, [_seed_of(seed, place) for place in range(len(asked))]))

    return answering


def by_generator(chat: Chat, generator: Generator, most: int = 1024, longest: int = 8192) -> Answering:
    """Asks the model that is trained: the teacher is the student itself (PivotOPD, Figure 3).

    Args:
        chat: Writes its messages.
        generator: Samples from it.
        most: Tokens of an answer; one that is cut off there is none.
        longest: Tokens of all that it reads and writes; it has no answer to more.
    """

    def answering(asked: Sequence[Messages], seed: int) -> Sequence[str | None]:
        texts = [chat.opening(messages) for messages in asked]
        fits = [place for place, ids in enumerate(texts) if len(ids) < longest]
        asks = [Ask(texts[at], min(most, longest - len(texts[at])), slot) for slot, at in enumerate(fits)]
        samples = generator.generate(asks, _seed_of(seed, 0)) if generator.goes_on(bool(asks)) else []
        answers: list[str | None] = [None] * len(asked)
        for at, sample in zip(fits, samples, strict=True):
            answers[at] = chat.text(sample.ids) if sample.stopped else None
        return answers

    return answering


class LLMTeacher:
    """Asks a model to read episodes and to name actions.

    Args:
        answering: The model.
        samples: How often it is asked the same; the paper asks once.
        most: How many turns of an episode it may name.
    """

    def __init__(self, answering: Answering, *, samples: int = 1, most: int = MOST_CANDIDATES) -> None:
        if samples < 1 or most < 1:
            raise ValueError(f"samples and most must be at least 1, got {samples} and {most}.")
        self._answering, self._samples, self._most = answering, samples, most

    def reports(self, trajectories: Sequence[Trajectory], seed: int) -> Sequence[Report]:
        """See `Teacher.reports`."""
        answers = self._asked([report_messages(of, self._most) for of in trajectories], seed)
        return [
            voted([self._report(trajectory, answer) for answer in of], self._most)
            for trajectory, of in zip(trajectories, answers, strict=True)
        ]

    def names(self, moments: Sequence[Moment], seed: int) -> Sequence[Named]:
        """See `Teacher.names`."""
        answers = self._asked([action_messages(moment) for moment in moments], seed)
        return [self._named(moment, of) for moment, of in zip(moments, answers, strict=True)]

    def _asked(self, messages: Sequence[Messages], seed: int) -> list[Sequence[str | None]]:
        """For each of them, the answers of all samples."""
        size = self._samples
        answers = self._answering([of for of in messages for _ in range(size)], seed)
        return [answers[start : start + size] for start in range(0, len(answers), size)]

    def _report(self, trajectory: Trajectory, answer: str | None) -> Report:
        if answer is None:
            return Report(asked=1, malformed=("there is no answer",))
        try:
            report = read_report(answer, self._most)
        except MalformedReport as error:
            return Report(asked=1, malformed=(str(error),))
        view, first = trajectory.view, trajectory.prefix + 1
        every = known(view)

        def find(turn: int, action: str) -> str | None:
            if not first <= turn < len(view.turns):
                return None
            return _found(action, view.turns[turn - 1], view, every)

        return resolved(report._replace(asked=1), find)

    def _named(self, moment: Moment, answers: Sequence[str | None]) -> Named:
        view = moment.view
        read = [parse(answer).action if answer is not None else None for answer in answers]
        found = [None if action is None else _found(action, view.turns[-1], view, known(view)) for action in read]
        votes = Counter(action for action in found if action is not None)
        if not votes:
            return Named(None)
        ((action, count),) = votes.most_common(1)
        return Named(action, count / len(answers))


def report_messages(trajectory: Trajectory, most: int = MOST_CANDIDATES) -> Messages:
    """What asks a model for a report about an episode that is over."""
    view = trajectory.view
    told = (
        f"You judge how an agent did a task. What it was told of its world:\n\n{rules(view.env, view.max_turns)}\n\n"
        "You read all that it did and saw, and how it ended. Find the turns that decided: those after which more was "
        "left to do than before. For each say what should have been done on that turn instead, with what the agent "
        "had seen by then."
    )
    first = trajectory.prefix + 1
    asked = (
        f"Task: {view.task}\n\n{transcript(view)}\n\nThe task was {'done' if trajectory.won else 'not done'}.\n\n"
        "Answer with one JSON object and nothing else, with exactly these fields:\n"
        '{"summary": "what happened, in two sentences",\n'
        ' "lesson": "what to do otherwise in such tasks, in one sentence",\n'
        ' "turns": [{"turn": 4, "lesson": "what this turn teaches"}],\n'
        ' "candidates": [{"turn": 4, "action": "what should have been done on turn 4"}]}\n'
        f"Name at most {most} candidates, only turns from {first} to {len(view.turns) - 1}, each once; leave the list "
        "empty if no turn decided. Write an action as the agent would."
    )
    return _messages(told, asked)


def action_messages(moment: Moment) -> Messages:
    """What asks a model what should be done at a moment."""
    view = moment.view
    told = (
        f"You help an agent to do a task. What it was told of its world:\n\n{rules(view.env, view.max_turns)}\n\n"
        "It may have made a mistake that cannot be unmade by wishing. Say what is best to be done now, with what the "
        "agent has seen."
    )
    offered = "\n".join(f"- {action}" for action in moment.feasible)
    can = f"\n\nWhat can be done now:\n{offered}" if offered else ""
    asked = f"Task: {view.task}\n\n{transcript(view)}{can}\n\nAnswer with exactly one action inside <action> </action>."
    return _messages(told, asked)


def transcript(view: View) -> str:
    """All that was done and seen, abandoned branches included."""
    first, *rest = view.turns
    return "\n".join([f"[0] {first.observation}", *(line for turn in rest for line in _told(turn))])


def _told(turn: Turn) -> list[str]:
    done = "(none could be read)" if turn.problem is not None else turn.action
    lines = [f"Action {turn.index}: {done}"]
    if turn.target is not None:
        return [*lines, f"(The game went back to [{turn.target}].)"]
    if turn.invalid is not None:
        lines.append(f"(That could not be done: {turn.invalid})")
    if not turn.rollback:
        lines.append(f"[{turn.index}] {turn.observation}")
    if turn.failed:
        lines.append("(The game is lost unless it goes back.)")
    return lines


def _found(action: str, last: Turn, view: View, every: frozenset[str]) -> str | None:
    """The feasible action; where nothing was offered, whatever was said."""
    offered = feasible(last, view)
    if not last.admissible:
        return action.strip() or None
    return resolve(action, offered, every).action


def _messages(told: str, asked: str) -> Messages:
    return {"role": "system", "content": told}, {"role": "user", "content": asked}


def _seed_of(seed: int, place: int) -> int:
    return int.from_bytes(blake2b(f"{seed}:{place}".encode(), digest_size=4).digest(), "big") >> 1
