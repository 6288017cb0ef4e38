"""All counterfactual replays of a run, by several processes into a file.

An episode's replays are written as soon as they are played, a line for each arm, and when all are there the file is
sorted. So what was interrupted goes on where it stopped, and the file is the same whatever the number of workers.
"""

import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from functools import cache, partial
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple

import gymnasium as gym

from rollback_gym.core.errors import RecordError, RollbackGymError, RunMismatch
from rollback_gym.core.files import whole
from rollback_gym.play import shapes
from rollback_gym.play.policies import AnyPolicy, remake_policy
from rollback_gym.play.pool import Done, Failed, work
from rollback_gym.play.records import Episode, Made, line, timeless
from rollback_gym.play.run import MOST_FAILURES
from rollback_gym.play.trust import check_policies, made_again
from rollback_gym.study.branches import Arm
from rollback_gym.study.counterfactual import Replay, eligible, replays

SCHEMA = "rollback-gym/replays/1"


class ReplayFailed(RollbackGymError, RuntimeError):
    """Some episodes could not be replayed."""


class Plan(NamedTuple):
    """What is to be replayed."""

    arms: tuple[Arm, ...] = tuple(Arm)
    samples: int = 8
    """Of every arm, from every first pivotal mistake; the paper has 8."""
    seed: int = 0
    policy: dict[str, Any] | None = None
    """`{"name": ..., **settings}`: who plays on; None for the policy that each episode names."""
    trusted: bool = False
    """Whether what the episodes name may run, whatever it is: see `play.trust`."""


class _Job(NamedTuple):
    """An episode, and the samples of each arm that are still to be played."""

    episode: Episode
    origin: str
    """A hash of all that decides what comes of a sample."""
    wanted: dict[Arm, tuple[int, ...]]
    seed: int
    policy: dict[str, Any]


class _Line(NamedTuple):
    """A line of the file: what an episode has of an arm; no replay where it has no place for it."""

    schema: str
    episode: str
    origin: str
    arm: str
    replays: tuple[Replay, ...]


_Found = dict[tuple[str, str], _Line]
"""By episode and arm."""


def replay_all(
    episodes: Iterable[Episode],
    out: str | os.PathLike[str],
    plan: Plan | None = None,
    *,
    workers: int = 1,
    report: Callable[[int, int], None] = lambda done, total: None,
) -> tuple[Replay, ...]:
    """Replay every eligible episode from its first pivotal mistake, as far as the file has not got it already.

    Args:
        episodes: The records; those that do not fail after a pivotal mistake are left out.
        out: The file of replays, continued where there is one.
        plan: What to replay.
        workers: How many processes play.
        report: Told how many episodes are done, and of how many.

    Returns:
        The replays that the plan asks for, in the order of episodes, arms and samples.

    Raises:
        RunMismatch: if the file has replays of other records, of another policy, or by another seed.
        RecordError: if the file is damaged before its last line; and where the episodes name a policy that runs only
            if they are trusted.
        ReplayFailed: if episodes could not be replayed; the others are in the file.
        OSError: if the file cannot be read or written.
    """
    plan, path = plan or Plan(), Path(out)
    jobs = [_job(episode, plan) for episode in episodes if eligible(episode)]
    if plan.policy is None and not plan.trusted:
        check_policies(job.policy for job in jobs)
    origins = {job.episode.id: job.origin for job in jobs}
    if len(origins) < len(jobs):
        raise RunMismatch("Two of these episodes have the same id: replay each run by itself, into a file of its own.")
    found = _read(path, origins)
    lacking = [job._replace(wanted=wanted) for job in jobs if (wanted := _lacking(job, found))]
    done = len(jobs) - len(lacking)
    report(done, len(jobs))
    failures: list[Failed] = []
    with closing(work(_player, plan.trusted, lacking, min(workers, len(lacking)))) as playing:
        for finished in playing:
            if isinstance(finished, Done):
                _keep(finished.job, finished.result, found, path)
                done += 1
                report(done, len(jobs))
                continue
            failures.append(finished)
            if finished.hopeless or len(failures) >= MOST_FAILURES:
                break
    if failures:
        raise ReplayFailed(
            f"{done} of {len(jobs)} episodes are replayed; {len(failures)} could not be. {failures[0].job.episode.id}: "
            f"{failures[0].message} The same command goes on with what is missing."
        )
    if jobs:
        _write(path, [found[job.episode.id, str(arm)] for job in jobs for arm in Arm if (job.episode.id, arm) in found])
    asked = [found[job.episode.id, str(arm)] for job in jobs for arm in plan.arms]
    return tuple(one for line in asked for one in line.replays if one.sample < plan.samples)


def _job(episode: Episode, plan: Plan) -> _Job:
    policy = dict(episode.policy if plan.policy is None else plan.policy)
    decisive = json.dumps([line(timeless(episode)), policy, plan.seed])
    origin = blake2b(decisive.encode("ascii"), digest_size=12).hexdigest()
    return _Job(episode, origin, {arm: tuple(range(plan.samples)) for arm in plan.arms}, plan.seed, policy)


def _lacking(job: _Job, found: _Found) -> dict[Arm, tuple[int, ...]]:
    """The samples that the file has not got; none of an arm that the episode is known to have no place for."""
    lacking = {}
    for arm, samples in job.wanted.items():
        there = found.get((job.episode.id, arm))
        have = {one.sample for one in there.replays} if there else set()
        if there is None or (have and not have.issuperset(samples)):
            lacking[arm] = tuple(sample for sample in samples if sample not in have)
    return lacking


def _player(trusted: bool) -> Callable[[_Job], tuple[Replay, ...]]:
    """What a worker does with a job."""
    env, policy = cache(partial(_env, trusted=trusted)), cache(_policy)

    def make(made: Made) -> gym.Env[Any, Any]:
        return env(json.dumps(made))

    def played(job: _Job) -> tuple[Replay, ...]:
        return tuple(replays(job.episode, policy(json.dumps(job.policy)), make, job.wanted, seed=job.seed))

    return played


def _env(made: str, trusted: bool) -> gym.Env[Any, Any]:
    return made_again(Made(*json.loads(made)), trusted=trusted)


def _policy(made: str) -> AnyPolicy:
    named = json.loads(made)
    try:
        return remake_policy(named)
    except RollbackGymError:
        raise
    except (ValueError, TypeError) as error:
        name = f"{named.get('name')!r:.80}"
        raise RecordError(f"The policy {name} cannot be made as the record has it: {error}") from error


def _keep(job: _Job, played: Sequence[Replay], found: _Found, path: Path) -> None:
    """Write what a job gave, with what there was of the same arms."""
    lines = []
    for arm in job.wanted:
        key = job.episode.id, str(arm)
        before = found[key].replays if key in found else ()
        new = (one for one in played if one.arm == arm)
        found[key] = _Line(SCHEMA, job.episode.id, job.origin, str(arm), tuple(sorted((*before, *new))))
        lines.append(_written(found[key]))
    with path.open("a", encoding="ascii", newline="\n") as file:
        file.write("".join(lines))


def _written(one: _Line) -> str:
    return json.dumps(shapes.to_json(one, _Line), allow_nan=False, separators=(",", ":")) + "\n"


def _write(path: Path, lines: Iterable[_Line]) -> None:
    with whole(path) as draft:
        draft.write_text("".join(map(_written, lines)), encoding="ascii", newline="\n")


def _read(path: Path, origins: Mapping[str, str]) -> _Found:
    """What the file has; half a line at its end is taken off. Of an episode's lines for an arm the last has all."""
    found: _Found = {}
    if not path.exists():
        return found
    raw = path.read_bytes()
    whole = raw[: raw.rfind(b"\n") + 1]
    for number, text in enumerate(whole.splitlines(), 1):
        try:
            one: _Line = shapes.from_json(json.loads(text), _Line)
        except ValueError as error:
            raise RecordError(f"{path}, line {number}: no replays: {error}. Choose another file.") from None
        if one.schema != SCHEMA:
            raise RecordError(f"{path}, line {number}: expected {SCHEMA!r}, got {one.schema!r:.60}.")
        if origins.get(one.episode) != one.origin:
            raise RunMismatch(
                f"{path} has replays of episode {one.episode} that came of another record, policy or seed. Delete it, "
                "or choose another file."
            )
        found[one.episode, one.arm] = one
    if len(whole) < len(raw):
        with path.open("r+b") as file:
            file.truncate(len(whole))
    return found
