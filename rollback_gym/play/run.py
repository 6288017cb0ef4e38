"""A run: many episodes of one policy in one environment, played by worker processes into one file.

Every episode follows from its job alone (its seeds and its level), whichever worker plays it. A line is written as soon
as its episode is over, in one piece; when all are there, the file is sorted into the order of the jobs. So a run that
was stopped, at whatever moment, goes on with the jobs that the file lacks, and ends in the same file.
"""

import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import IO, Any, NamedTuple

import gymnasium as gym

from rollback_gym.core.errors import RecordCutOff, RunMismatch
from rollback_gym.core.files import whole
from rollback_gym.play import records
from rollback_gym.play.locking import lock
from rollback_gym.play.playing import play
from rollback_gym.play.policies import make_policy
from rollback_gym.play.pool import Done, Failed, work
from rollback_gym.play.records import Episode, Made
from rollback_gym.play.shapes import plain

MOST_FAILURES = 10
"""After so many failed episodes a run stops: something is wrong with all of them."""


class Job(NamedTuple):
    """One episode to be played."""

    id: str
    seed: int
    options: dict[str, Any]
    """For `reset`."""


class Plan(NamedTuple):
    """All that decides what a run's file holds."""

    made: Made
    policy: str
    settings: dict[str, Any]
    """For `make_policy`."""
    episodes: int
    seed: int = 0
    """Of the first episode; the next ones have the next seeds."""
    repeat: int = 1
    """So many episodes in a row have the same seed and level; they differ in what the policy leaves to chance."""
    levels: tuple[str, ...] | None = None
    """Levels to play in turn; None lets the seeds choose."""
    policy_seed: int = 0
    oracle: bool = True
    """Whether L, grades and pivots are recorded."""

    def jobs(self) -> tuple[Job, ...]:
        """The episodes, in the order of the file."""
        return tuple(self._job(*divmod(number, self.repeat)) for number in range(self.episodes))

    def _job(self, place: int, repetition: int) -> Job:
        seed = self.seed + place
        if self.levels is None:
            return Job(f"{seed}-{repetition}", seed, {})
        level = self.levels[place % len(self.levels)]
        return Job(f"{level}-{seed}-{repetition}", seed, {"level": level})


class Standing(NamedTuple):
    """How far a run is."""

    total: int
    done: int = 0
    """Episodes in the file."""
    won: int = 0
    resumed: int = 0
    """How many of them were in the file when the run began."""
    unjudged: int = 0
    """How many of them have no L."""
    failures: tuple[tuple[str, str], ...] = ()
    """Episodes that could not be played: their ids, and why."""
    stopped: bool = False
    """The run gave up: too many failures, or one that all episodes would share."""

    def counted(self, episode: Episode) -> "Standing":
        """With one episode more."""
        return self._replace(
            done=self.done + 1,
            won=self.won + (episode.outcome == "won"),
            unjudged=self.unjudged + (episode.distance is None),
        )


def make_env(made: Made) -> gym.Env[Any, Any]:
    """The environment of a record."""
    return gym.make(made.id, disable_env_checker=True, **made.kwargs)


def made_by(id: str, kwargs: Mapping[str, Any]) -> Made:
    """`gym.make(id, **kwargs)` as records name it: with the data that environment variables stand for.

    Raises:
        TypeError: if an argument is no plain value.
    """
    given = {name: os.fspath(value) if isinstance(value, os.PathLike) else value for name, value in kwargs.items()}
    # A difficulty asks for worlds that are made, whatever the variable says.
    if given.get("data") is None and given.get("difficulty") is None and (data := _data_by_default(id)):
        given["data"] = data
    return Made(id, plain(given))


def _data_by_default(id: str) -> str | None:
    """The data that an environment variable stands for."""
    game = id.rpartition("Rollback-")[2].split("-")[0]
    if game == "ALFWorld":
        from rollback_gym.envs.alfworld.data import chosen_by_environment

        return chosen_by_environment()
    return os.environ.get("WEBSHOP_DATA") if game == "WebShop" else None


def run(
    plan: Plan,
    out: str | os.PathLike[str],
    *,
    workers: int = 1,
    report: Callable[[Standing], None] = lambda standing: None,
) -> Standing:
    """Play what `plan` says and the file lacks.

    Args:
        plan: What to play.
        out: The file of records; made where there is none, continued where there is one.
        workers: How many processes play.
        report: Told how far the run is, at the start and after every episode.

    Raises:
        RunMismatch: if the file was made with other settings, or is being written by another run.
        RecordError: if the file is damaged before its last line.
        OSError: if the file cannot be read or written.
    """
    jobs = plan.jobs()
    with _locked(Path(out)) as file:
        standing, there = _resumed(plan, jobs, Path(out), file)
        report(standing)
        lacking = [job for job in jobs if job.id not in there]
        playing = work(player, plan, lacking, min(workers, len(lacking)))
        try:
            for finished in playing:
                if isinstance(finished, Done):
                    line: bytes = finished.result
                    start = os.fstat(file.fileno()).st_size
                    _write(file, line)
                    there[finished.job.id] = start, start + len(line)
                    standing = standing.counted(records.parse(line.decode("ascii")))
                else:
                    standing = _failed(standing, finished)
                report(standing)
                if standing.stopped:
                    break
        finally:
            playing.close()
        if standing.done == standing.total:
            _sort(Path(out), [there[job.id] for job in jobs])
    return standing


def player(plan: Plan) -> Callable[[Job], bytes]:
    """What a worker does with a job: the line of its episode."""
    env = make_env(plan.made)
    policy = make_policy(plan.policy, **plan.settings)

    def played(job: Job) -> bytes:
        episode = play(
            env,
            policy,
            id=job.id,
            made=plan.made,
            seed=job.seed,
            options=job.options,
            policy_seed=plan.policy_seed,
            oracle=plan.oracle,
        )
        episode = episode._replace(policy={**episode.policy, "name": plan.policy})
        return f"{records.line(episode)}\n".encode("ascii")

    return played


def _failed(standing: Standing, failed: Failed) -> Standing:
    failures = (*standing.failures, (failed.job.id, failed.message))
    return standing._replace(failures=failures, stopped=failed.hopeless or len(failures) >= MOST_FAILURES)


@contextmanager
def _locked(path: Path) -> Iterator[IO[bytes]]:
    """The file, to append to; nobody else can have it so at the same time."""
    if path.exists() and not path.is_file():
        raise RunMismatch(f"{path} is no file that a run can go on with: name a file.")
    with open(path, "ab", buffering=0) as file:
        lock(file, path)
        yield file


_Place = tuple[int, int]
"""Where in the file a line begins and ends."""


def _resumed(plan: Plan, jobs: Sequence[Job], path: Path, file: IO[bytes]) -> tuple[Standing, dict[str, _Place]]:
    """How far the file is, and where the line of each episode is; half a line is taken off."""
    standing, there = Standing(len(jobs)), dict[str, _Place]()
    wanted = _Wanted(
        plan.made,
        plain({"name": plan.policy, "seed": plan.policy_seed, **make_policy(plan.policy, **plan.settings).settings()}),
        {job.id for job in jobs},
    )
    end = 0
    try:
        for episode, line_end in records.read_with_ends(path):
            _check(episode, wanted, there.keys(), path)
            there[episode.id] = end, line_end
            end = line_end
            standing = standing.counted(episode)
    except RecordCutOff:
        file.truncate(end)
    if end and not _ends_with_break(path):
        _write(file, b"\n")
        there[episode.id] = there[episode.id][0], end + 1
    return standing._replace(resumed=standing.done), there


class _Wanted(NamedTuple):
    """What the records of a run must be like."""

    made: Made
    policy: dict[str, Any]
    ids: set[str]


def _check(episode: Episode, wanted: _Wanted, there: Collection[str], path: Path) -> None:
    """Raise RunMismatch where `episode` is none of the run's."""
    differences = [
        *_differences("env", {"id": episode.made.id}, {"id": wanted.made.id}),
        *_differences("option", episode.made.kwargs, wanted.made.kwargs),
        *_differences("policy", episode.policy, wanted.policy),
    ]
    if differences:
        raise RunMismatch(
            f"{path} was made with other settings: {'; '.join(differences)}. Name another file, or run with those."
        )
    if episode.id not in wanted.ids:
        raise RunMismatch(
            f"{path} holds episode {episode.id!r}, which is none of this run's: it was made with another seed, level, "
            "split or number of episodes. Name another file, or run with those."
        )
    if episode.id in there:
        raise RunMismatch(f"{path} holds episode {episode.id!r} twice. Delete one of the lines, or name another file.")


def _differences(kind: str, theirs: Mapping[str, Any], ours: Mapping[str, Any]) -> Iterator[str]:
    for name in sorted(theirs.keys() | ours.keys()):
        if name not in theirs or name not in ours or theirs[name] != ours[name]:
            there, here = (f"{of[name]!r:.80}" if name in of else "not given" for of in (theirs, ours))
            yield f"{kind} {name} is {there} there and {here} here"


def _write(file: IO[bytes], data: bytes) -> None:
    """All of it: an unbuffered file may take less at a time."""
    while data:
        data = data[file.write(data) :]


def _ends_with_break(path: Path) -> bool:
    with open(path, "rb") as file:
        file.seek(-1, os.SEEK_END)
        return file.read() == b"\n"


def _sort(path: Path, places: Sequence[_Place]) -> None:
    """Put the lines of the file into the order of `places`."""
    if all(before[1] == after[0] for before, after in pairwise([(0, 0), *places])):
        return
    with whole(path) as draft, open(path, "rb") as source, open(draft, "wb") as target:
        for start, end in places:
            source.seek(start)
            target.write(source.read(end - start))
