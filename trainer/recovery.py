"""Distillation after a mistake: what the student should say there, and never samples.

From the state right after the mistake, for k = 1 ... K: a teacher names a recovery action; the frozen student, hinted,
writes an answer; it is dropped unless it commits exactly that action and gives nothing of the hint away; it trains the
student without the hint, by

    A_l = log p_frozen(y_l | c, h, y_<l) - log p_frozen(y_l | c, y_<l), cut to [-delta, delta]

and nothing else; then its action is carried out in a restored copy of the environment, which leads to the next moment.
Since the answers are the self-teacher's samples, this covers what it does (the forward-KL side): it is the gradient of
E_q[(log q - log p)^2] / 2 over q = p_frozen(. | c, h), Schulman's second estimate of D(q || p), as long as nothing is
cut. The paper replays the episode for k > 1 (94.2% on top of a step at K = 2); a snapshot is restored here.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from hashlib import blake2b
from typing import Any, NamedTuple

import gymnasium as gym

from rollback_gym.core.snapshot import Snapshot
from rollback_gym.play.parse import parse
from rollback_gym.trainer.chat import Chat
from rollback_gym.trainer.collector import Setup
from rollback_gym.trainer.generator import Ask, Generator, Sample
from rollback_gym.trainer.gold import same
from rollback_gym.trainer.hints import BARE, GOLD, gold_hint, leaks
from rollback_gym.trainer.moments import Moment, Said, followed, is_open, laid_out, moment, text_after, text_on
from rollback_gym.trainer.prevention import Scoring, advantages, unscored
from rollback_gym.trainer.rows import Ids, Kind, Row, Span
from rollback_gym.trainer.teachers import Teacher
from rollback_gym.trainer.trajectory import Trajectory


class Mistake(NamedTuple):
    """A turn to recover from."""

    episode: int
    turn: int
    """The action index."""
    turns: int
    """K: how many recovery turns follow it at most."""
    weight: float = 1.0
    """How far the teacher is to be trusted."""


class Written(NamedTuple):
    """A recovery turn: an answer that was kept."""

    mistake: Mistake
    k: int
    """1 is the turn right after the mistake."""
    first: Ids
    """How the rows of the episode begin."""
    ids: Ids
    """What the student reads."""
    hinted: Ids
    """What the self-teacher read."""
    sample: Sample
    weight: float
    turn: int
    """The action index that it would have had."""


class Recovery(NamedTuple):
    """What came of some mistakes."""

    written: tuple[Written, ...]
    dropped: Mapping[str, int]
    """Turns that came to nothing, by why; see `DROPPED`."""


DROPPED = {
    "over": "the episode was over after the mistake",
    "unnamed": "the teacher named no action",
    "no_room": "the text was too long to be gone on with",
    "cut_off": "the answer was cut off",
    "unread": "no action could be read from the answer",
    "other_action": "the answer commits another action",
    "leak": "the answer gives the hint away",
    "unsound": "what the answer reasons is false",
}
"""Why recovery turns are dropped."""


Sound = Callable[[Moment, str], bool]
"""Whether what an answer reasons at a moment is true. A self-teacher that is told what to do may do it for a false
reason, and who learns from that learns to act against what it thinks. In no paper."""


class Writer:
    """Has recovery turns written. Keeps an environment to carry their actions out in.

    Args:
        setup: How the episodes were played.
        chat: Writes texts.
        words: The hint, with `{action}` for the action; None is the ablation that it names none, which keeps whatever
            was done.
        sound: Whether an answer's reasoning may be learned at a moment, where that can be told; see `Sound`.
        tries: How often an answer is asked for until one is kept.
    """

    def __init__(
        self, setup: Setup, chat: Chat, words: str | None = GOLD, sound: Sound | None = None, tries: int = 1
    ) -> None:
        self._setup, self._chat, self._words, self._sound, self._tries = setup, chat, words, sound, tries
        self._env: gym.Env[Any, Any] | None = None

    def write(
        self,
        trajectories: Sequence[Trajectory],
        mistakes: Sequence[Mistake],
        turns: int,
        teacher: Teacher,
        generator: Generator,
        seed: int,
    ) -> Recovery:
        """The recovery turns after some mistakes.

        The teacher is called `turns` times, and the generator `tries` times as often, with nothing if need be: where
        they are collective, every process calls them equally often.
        """
        dropped: Counter[str] = Counter()
        written: list[Written] = []
        places = [self._place(trajectories[of.episode], of) for of in mistakes]
        dropped["over"] += sum(not is_open(of.here) for of in places)
        places = [of for of in places if is_open(of.here)]
        for k in range(1, turns + 1):
            places = [of for of in places if k <= of.mistake.turns]
            asked = self._named_at(places, teacher, _seed_of(seed, k, "teacher"), dropped)
            kept = self._answered(asked, generator, seed, k, dropped)
            written += [of.written(k, sample) for of, sample in kept]
            places = [self._on(of.place, sample) for of, sample in kept if k < of.place.mistake.turns]
            places = [place for place in places if is_open(place.here)]
        return Recovery(tuple(written), {name: dropped[name] for name in DROPPED})

    def _answered(
        self, asked: Sequence["_Asked"], generator: Generator, seed: int, k: int, dropped: Counter[str]
    ) -> list[tuple["_Asked", Sample]]:
        """The answers that are kept. Whoever gave one that is not is asked again."""
        kept = []
        for left in reversed(range(self._tries)):
            asks = [Ask(of.hinted, of.room, slot) for slot, of in enumerate(asked)]
            student = _seed_of(seed, k, "student" if left == self._tries - 1 else f"student, {left} tries left")
            samples = generator.generate(asks, student) if generator.goes_on(bool(asks)) else []
            problems = [(of, sample, self._problem(of, sample)) for of, sample in zip(asked, samples, strict=True)]
            kept += [(of, sample) for of, sample, problem in problems if not problem]
            if not left:
                dropped.update(problem for *_, problem in problems if problem)
            asked = [of for of, _, problem in problems if problem]
        return kept

    def _place(self, trajectory: Trajectory, mistake: Mistake) -> "_Place":
        here = trajectory.steps[mistake.turn - trajectory.prefix - 1].after
        first = next(row.prompt for row in trajectory.rows for span in row.spans if span.turn == mistake.turn)
        ids = text_after(self._setup, self._chat, trajectory, mistake.turn) if is_open(here) else ()
        return _Place(mistake, first, trajectory, moment(trajectory, mistake.turn), here, ids)

    def _named_at(
        self, places: Sequence["_Place"], teacher: Teacher, seed: int, dropped: Counter[str]
    ) -> list["_Asked"]:
        """The places at which an action is named, and there is room to answer."""
        named = teacher.names([of.moment for of in places], seed)
        limits, asked = self._setup.limits, []
        for place, of in zip(places, named, strict=True):
            if of.action is None:
                dropped["unnamed"] += 1
                continue
            hint = BARE if self._words is None else gold_hint(of.action, self._words)
            hinted = self._chat.hinted(place.ids, hint)
            room = min(limits.answer, limits.text - len(hinted))
            if room < 1:
                dropped["no_room"] += 1
                continue
            asked.append(_Asked(place, of.action, hint, hinted, room, of.weight * place.mistake.weight))
        return asked

    def _problem(self, of: "_Asked", sample: Sample) -> str:
        """Why an answer is dropped; empty where it is not."""
        if not sample.stopped:
            return "cut_off"
        text = self._chat.text(sample.ids)
        action = parse(text, self._setup.parsing).action
        if action is None:
            return "unread"
        if self._words is not None and not same(action, of.action):
            return "other_action"
        may = "" if self._words is None else of.action
        # What the student reads is long, and rarely needed.
        if leaks(text, of.hint, may) and leaks(text, of.hint, may, self._chat.text(of.place.ids)):
            return "leak"
        return "" if self._sound is None or self._sound(of.place.moment, text) else "unsound"

    def _on(self, place: "_Place", sample: Sample) -> "_Place":
        """The moment after a recovery turn."""
        text = self._chat.text(sample.ids)
        action = parse(text, self._setup.parsing).action or ""
        if self._env is None:
            from rollback_gym.play.run import make_env

            self._env = make_env(self._setup.made)
        here, after = followed(self._env, place.here, place.moment.view, action, text)
        said: tuple[Said, ...] = (*place.said, (sample, after.view))
        ids = text_on(self._setup, self._chat, place.trajectory, place.mistake.turn, place.ids, said)
        return place._replace(moment=after, here=here, ids=ids, said=said)


class _Place(NamedTuple):
    """Where a recovery stands."""

    mistake: Mistake
    first: Ids
    trajectory: Trajectory
    moment: Moment
    here: Snapshot
    ids: Ids
    """What the student reads."""
    said: tuple[Said, ...] = ()
    """Since the mistake."""


class _Asked(NamedTuple):
    """A self-teacher that is asked."""

    place: _Place
    action: str
    hint: str
    hinted: Ids
    room: int
    weight: float

    def written(self, k: int, sample: Sample) -> Written:
        """What is kept of an answer."""
        place = self.place
        turn = place.moment.last + 1
        return Written(place.mistake, k, place.first, place.ids, self.hinted, sample, self.weight, turn)


def recovery_rows(
    written: Sequence[Written], weights: Sequence[float], clip: float, scoring: Scoring
) -> tuple[tuple[Row, ...], tuple[float, ...]]:
    """The rows of some recovery turns, and for each the mean of A over its tokens before it is cut.

    `scoring` is called once, with nothing if need be.

    Args:
        written: The turns.
        weights: Of each.
        clip: delta.
        scoring: The frozen student.
    """
    rows, hinted, begins = [], [], []
    for of in written:
        answer = of.sample.ids
        prompt, completion, begin = laid_out(of.first, of.ids, answer)
        logprobs = (*[0.0] * begin, *of.sample.logprobs)
        span = Span(of.turn, begin, len(completion))
        rows.append(Row(prompt, completion, (span,), logprobs, Kind.RECOVERY, of.mistake.episode))
        prompt, completion, begin = laid_out(of.first, of.hinted, answer)
        hinted.append(unscored(prompt, completion, begin))
        begins.append(begin)
    scores = scoring([*rows, *hinted])
    trained, means = [], []
    for row, begin, weight, without, with_it in zip(rows, begins, weights, scores, scores[len(rows) :], strict=False):
        start = row.spans[0].start
        plain, told = without[start:], with_it[begin:]
        more = advantages(told, plain, weight, clip)
        trained.append(row._replace(advantages=(*[0.0] * start, *more)))
        means.append((sum(told) - sum(plain)) / len(more))
    return tuple(trained), tuple(means)


def _seed_of(seed: int, k: int, what: str) -> int:
    return int.from_bytes(blake2b(f"{seed}:{k}:{what}".encode(), digest_size=4).digest(), "big") >> 1
