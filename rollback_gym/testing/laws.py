"""The laws of going back, each a function that raises CheckFailed where an environment breaks it.

A law that has nothing to say of an environment raises Skipped.
"""

import copy
import math
import os
import random
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import cloudpickle
import numpy as np
from gymnasium.spaces import Text

import rollback_gym
from rollback_gym.core.env import SnapshotEnv
from rollback_gym.core.errors import RollbackGymError, SnapshotCorrupt, SnapshotNotPortable
from rollback_gym.core.snapshot import Outcome, Snapshot
from rollback_gym.testing.subject import (
    COMPARED,
    CheckFailed,
    Subject,
    Turn,
    difference,
    game_action,
    host,
    noted_difference,
    rollback_wrapper,
    same,
    short,
    taken,
)

Law = Callable[[Subject], None]
_TURNS = 12
RESTORES = 2_000


class Skipped(Exception):
    """A law does not apply; `str()` says why."""


def spaces(subject: Subject) -> None:
    """Every observation is in the observation space, after going back too."""
    for seed in range(3):
        env = subject.make()
        observation, info = env.reset(seed=seed)
        seen = [("reset", observation)]
        for turn in subject.playing(env, info, seed, subject.turns):
            seen.append((f"step({short(turn.action)})", turn.observation))
        for what, observation in seen:
            if not env.observation_space.contains(observation):
                raise CheckFailed(
                    f"{what} returned {short(observation)}, which is not in {env.observation_space}. Return what the "
                    "space declares: shape, dtype and bounds."
                )


def determinism(subject: Subject) -> None:
    """The same seed and the same actions give the same episode, in one environment twice and in another one."""
    env, info = subject.begun(7)
    first = subject.played(env, info, 7, subject.turns)
    for again, where in ((env, "the same environment"), (subject.make(), "another environment")):
        _, info = subject.begun(7, again)
        _agree(first, subject.played(again, info, 7, subject.turns), f"reset(seed=7) and the same actions in {where}")


def identity(subject: Subject) -> None:
    """A snapshot that is put back at once changes nothing."""
    env, info = subject.somewhere(1, 4)
    here = rollback_gym.snapshot(env)
    digest = host(env).state_digest()
    observation, noted = rollback_gym.restore(env, here)
    if not same(observation, rollback_wrapper(env).history.node.observation):
        raise CheckFailed(f"restore(snapshot) at once returned the observation {short(observation)}, not the last one.")
    told = noted_difference({k: v for k, v in info.items() if k != "invalid_action"}, noted)
    if told:
        raise CheckFailed(f"restore(snapshot) at once: {told}.")
    if rollback_gym.snapshot(env) != here or hash(rollback_gym.snapshot(env)) != hash(here):
        raise CheckFailed("snapshot(), restore() and snapshot() gave two snapshots that are not equal.")
    if host(env).state_digest() != digest:
        raise CheckFailed("restore(snapshot) at once changed state_digest().")


def future(subject: Subject) -> None:
    """After a restore the same actions give the same for long, ten of ten times, whatever else was done meanwhile."""
    env, info = subject.somewhere(2, 6)
    here = rollback_gym.snapshot(env)
    first = subject.played(env, info, 5, subject.turns)
    for time in range(10):
        rollback_gym.restore(env, here)
        subject.played(env, info, 50 + time, subject.turns)
        rollback_gym.restore(env, here)
        again = subject.played(env, info, 5, subject.turns)
        _agree(first, again, f"a snapshot was restored (time {time + 1} of 10) and the same actions were taken")


def isolation(subject: Subject) -> None:
    """Branches from one point or several never touch each other, in whatever order they are visited."""
    env, info = subject.begun(3)
    kept = [(rollback_gym.snapshot(env), info)]
    for turn in subject.playing(env, info, 3, 6):
        if host(env).outcome is Outcome.RUNNING:
            kept.append((rollback_gym.snapshot(env), turn.info))
    branches = {}
    for place, (here, noted) in enumerate(kept):
        for way in (11, 12):
            rollback_gym.restore(env, here)
            branches[place, way] = subject.played(env, noted, way, 6)
    order = [*branches, *branches]
    random.Random(0).shuffle(order)
    for place, way in order:
        here, noted = kept[place]
        rollback_gym.restore(env, here)
        what = f"the snapshot of turn {here.turn} was restored after other branches had been played"
        _agree(branches[place, way], subject.played(env, noted, way, 6), what)


def endings(subject: Subject) -> None:
    """From the end of an episode a restore brings it back to life, and the end itself can be kept too."""
    for seed in range(12):
        env, info = subject.begun(seed)
        before = rollback_gym.snapshot(env)
        happened = subject.played(env, info, seed, subject.turns)
        if host(env).outcome in (Outcome.RUNNING, Outcome.FAILED):
            continue
        over = rollback_gym.snapshot(env)
        rollback_gym.restore(env, before)
        what = "the first snapshot was restored after the end of the episode"
        _agree(happened, subject.played(env, info, seed, subject.turns), what)
        observation, _ = rollback_gym.restore(env, over)
        if not same(observation, happened[-1].observation) or host(env).outcome is not over.outcome:
            raise CheckFailed(f"The snapshot of the end was restored, and showed {short(observation)}.")
        return
    raise Skipped(f"no episode of at most {subject.turns} random actions came to an end")


def revival(subject: Subject) -> None:
    """With `revive`, a lost game goes back: it runs on as before it was lost."""
    if not rollback_wrapper(subject.make()).revive:
        raise Skipped("revive is off")
    for seed in range(40):
        env, info = subject.begun(seed)
        happened = subject.played(env, info, seed, subject.turns)
        if host(env).outcome is not Outcome.FAILED:
            continue
        wrapper = rollback_wrapper(env)
        target = wrapper.legal_targets()[-1]
        back = taken(env, wrapper.encoding.write(target, wrapper.history))
        if back.terminated or host(env).outcome is Outcome.FAILED:
            raise CheckFailed(f"A lost game went back to {target}, and was still lost.")
        if not back.truncated:
            again = [taken(env, happened[-1].action)]
            _agree([happened[-1]._replace(info={})], [again[0]._replace(info={})], "going back and losing once more")
        return
    raise Skipped("no random episode was lost where a rollback was still possible")


def processes(subject: Subject) -> None:
    """The same seed gives the same episode in another process, whatever its PYTHONHASHSEED is."""
    try:
        task = cloudpickle.dumps((subject, 5))
    except Exception as error:  # whatever a foreign factory holds
        raise Skipped(f"the environment cannot be made in another process: {error}") from error
    env, info = subject.begun(5)
    mine = [turn._replace(info={}) for turn in subject.played(env, info, 5, subject.turns)]
    digest = host(env).state_digest()
    for hash_seed in ("1", "2"):
        code = "from rollback_gym.testing.laws import _elsewhere; _elsewhere()"
        done = subprocess.run(
            [sys.executable, "-c", code],
            input=task,
            capture_output=True,
            env={**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            check=False,
        )
        if done.returncode:
            raise CheckFailed(f"Another process could not play it: {done.stderr.decode(errors='replace')[-300:]}")
        theirs, their_digest = cloudpickle.loads(done.stdout[done.stdout.rindex(_MARK) + len(_MARK) :])
        _agree(mine, theirs, f"seed 5 was played in another process with PYTHONHASHSEED={hash_seed}")
        if their_digest != digest:
            raise CheckFailed(
                f"state_digest() after the same episode is {their_digest[:12]} in another process with "
                f"PYTHONHASHSEED={hash_seed}, and {digest[:12]} here. Encode states in a fixed order."
            )


def restores(subject: Subject) -> None:
    """Two thousand restores wear nothing out."""
    env, info = subject.somewhere(4, 2)
    here = rollback_gym.snapshot(env)
    first = subject.played(env, info, 6, _TURNS)
    for _ in range(RESTORES):
        rollback_gym.restore(env, here)
    _agree(first, subject.played(env, info, 6, _TURNS), f"a snapshot was restored {RESTORES} times")


def serialisation(subject: Subject) -> None:
    """A snapshot goes through bytes into an environment that was never reset; damaged bytes are refused."""
    for seed in range(8):
        env, info = subject.somewhere(seed, 2 * seed)
        here = rollback_gym.snapshot(env)
        try:
            data = here.to_bytes()
        except SnapshotNotPortable as error:
            raise Skipped(f"its snapshots stay in the process: {error}") from error
        again = Snapshot.from_bytes(data)
        if again != here or again.to_bytes() != data:
            raise CheckFailed("Snapshot.from_bytes(snapshot.to_bytes()) is not equal to the snapshot.")
        first = subject.played(env, info, 8, _TURNS)
        fresh = subject.make()
        rollback_gym.restore(fresh, again)
        what = "a snapshot from bytes was restored into another environment"
        if rollback_gym.snapshot(fresh) != here:
            raise CheckFailed(f"{what}, and the snapshot of that is not equal. Does decode undo encode?")
        _agree(first, subject.played(fresh, info, 8, _TURNS), what)
    for damaged in (data[:-1], data[:20], data[:-1] + bytes([data[-1] ^ 1]), b""):
        try:
            Snapshot.from_bytes(damaged)
        except SnapshotCorrupt:
            continue
        raise CheckFailed("Damaged bytes were read as a snapshot.")


def copies(subject: Subject) -> None:
    """A copy is equal and free: what is done to it is not done to the original."""
    env, info = subject.somewhere(8, 3)
    here = rollback_gym.snapshot(env)
    try:
        twin = rollback_gym.fork(env, 1)[0]
    except (RollbackGymError, TypeError) as error:
        raise Skipped(f"it cannot be copied: {error}") from error
    theirs = subject.played(twin, info, 9, _TURNS)
    if rollback_gym.snapshot(env) != here:
        raise CheckFailed("fork(env) was played, and env itself changed.")
    _agree(theirs, subject.played(env, info, 9, _TURNS), "the original was played after its copy")


def refunds(subject: Subject) -> None:
    """The return of an episode is that of its active branch, minus the costs of rollbacks."""
    wrapper = rollback_wrapper(subject.make())
    if not wrapper.refund:
        raise Skipped("refund is off")
    for env, turns in _wandering(subject):
        wrapper = rollback_wrapper(env)
        earned = math.fsum(turn.reward for turn in turns)
        branch = math.fsum(node.reward for node in wrapper.history.path)
        expected = branch - wrapper.cost * wrapper.rollbacks
        if not math.isclose(earned, expected, rel_tol=1e-9, abs_tol=1e-6):
            raise CheckFailed(
                f"{len(turns)} turns with {wrapper.rollbacks} rollbacks earned {earned}; the active branch earned "
                f"{branch}, which leaves {expected} after the costs."
            )


def budget(subject: Subject) -> None:
    """Every action spends one turn, a rollback and an invalid one too, and gets the next action index."""
    for env, turns in _wandering(subject):
        for number, turn in enumerate(turns, start=1):
            spent, index = turn.info.get("turn"), turn.info.get("action_index")
            if spent != number or index != number:
                raise CheckFailed(
                    f"Action {number} ({short(turn.action)}) was reported as turn {spent}, action index {index}. A "
                    "rollback gives back the game, never the turn."
                )
        wrapper = rollback_wrapper(env)
        if wrapper.max_rollbacks is not None and wrapper.rollbacks > wrapper.max_rollbacks:
            raise CheckFailed(f"{wrapper.rollbacks} rollbacks were carried out; {wrapper.max_rollbacks} are allowed.")


def going_back(subject: Subject) -> None:
    """A rollback shows what its target showed, and the game goes on from there as it did."""
    env, info = subject.begun(10)
    before, noted = host(env).state_digest(), info
    start = rollback_wrapper(env).history.node.observation
    happened = subject.played(env, info, 10, 5)
    wrapper = rollback_wrapper(env)
    if 0 not in wrapper.legal_targets():
        raise Skipped("after five random actions no rollback to the start was allowed")
    back = taken(env, wrapper.encoding.write(0, wrapper.history))
    if not same(back.observation, start):
        raise CheckFailed(f"rollback(0) showed {short(back.observation)}; at the start it was {short(start)}.")
    if host(env).state_digest() != before:
        raise CheckFailed("rollback(0) left another state_digest() than there was at the start.")
    again = [taken(env, turn.action) for turn in happened[: 1 if back.truncated else None] if not back.truncated]
    shorter = [turn._replace(info={}, truncated=False) for turn in happened[: len(again)]]
    what = f"rollback(0) and the same actions ({short(noted.get('task'))})"
    _agree(shorter, [turn._replace(info={}, truncated=False) for turn in again], what)


def aliasing(subject: Subject) -> None:
    """What was returned belongs to whoever got it: scribbling on it changes nothing."""
    plain, info = subject.begun(12)
    first = subject.played(plain, info, 12, _TURNS)
    env = subject.make()
    observation, info = env.reset(seed=12)
    _scribble(observation)
    draw, again = random.Random(12), []
    for _ in first:
        action = game_action(env, info, draw)
        observation, reward, terminated, truncated, info = env.step(action)
        handed_out = (observation, info)
        observation, info = copy.deepcopy((observation, {key: info[key] for key in COMPARED if key in info}))
        again.append(Turn(action, observation, float(reward), bool(terminated), bool(truncated), info))
        _scribble(handed_out)
    _agree(first, again, "the arrays that were returned had been written over")


def simulator(subject: Subject) -> None:
    """A simulator is pure: states are hashable values that no step changes, and encode has an inverse."""
    env, info = subject.begun(13)
    base = env.unwrapped
    if not isinstance(base, SnapshotEnv):
        raise Skipped("it has no simulator of its own")
    game, level = base.simulator, base.level
    for turn in subject.playing(env, info, 13, _TURNS):
        state = base.state
        try:
            hash(state)
        except TypeError as error:
            raise CheckFailed(f"The state cannot be hashed ({error}): make it of tuples and frozensets.") from error
        written = game.encode(level, state)
        if game.decode(level, written) != state:
            raise CheckFailed(f"decode(encode(state)) is {short(game.decode(level, written))}, not {short(state)}.")
        action = base.read_action(turn.action) if not isinstance(turn.action, tuple) else None
        if action is None:
            continue
        one, other = game.step(level, state, action), game.step(level, state, action)
        if one.state != other.state or one.reward != other.reward or not same(one.feedback, other.feedback):
            raise CheckFailed(f"step(level, state, {short(action)}) gave two different answers: it is not pure.")
        if game.encode(level, state) != written:
            raise CheckFailed(f"step(level, state, {short(action)}) changed the state that it was given.")


def admissible(subject: Subject) -> None:
    """No admissible action is refused."""
    env, info = subject.begun(14)
    named = info.get("admissible_actions") and isinstance(env.action_space, Text)
    if not named and "action_mask" not in host(env).info():
        raise Skipped("it names no admissible actions, in words or by a mask")
    for turn in subject.playing(env, info, 14, subject.turns):
        if "invalid_action" in turn.info:
            raise CheckFailed(
                f"{short(turn.action)} was among the admissible actions, and refused: {turn.info['invalid_action']}"
            )


LAWS: dict[str, Law] = {
    law.__name__: law
    for law in (
        spaces,
        determinism,
        simulator,
        identity,
        future,
        isolation,
        endings,
        going_back,
        revival,
        refunds,
        budget,
        aliasing,
        admissible,
        serialisation,
        copies,
        restores,
        processes,
    )
}


def _agree(mine: list[Turn], theirs: list[Turn], what: str) -> None:
    told = difference(mine, theirs)
    if told:
        raise CheckFailed(f"It was expected that {what} would give the same episode; {told}.")


def _wandering(subject: Subject) -> Any:
    """Episodes in which an agent acts and goes back at random."""
    for seed in range(4):
        env, info = subject.begun(seed)
        draw = random.Random(seed)
        turns: list[Turn] = []
        while host(env).outcome in (Outcome.RUNNING, Outcome.FAILED) and len(turns) < subject.turns:
            targets = info["rollback_targets"]
            wrapper = rollback_wrapper(env)
            if targets and (draw.random() < 0.3 or host(env).outcome is Outcome.FAILED):
                action = wrapper.encoding.write(targets[draw.randrange(len(targets))], wrapper.history)
            else:
                action = game_action(env, info, draw)
            turns.append(taken(env, action))
            info = turns[-1].info
        yield env, turns


def _scribble(value: Any) -> None:
    if isinstance(value, np.ndarray) and value.flags.writeable:
        value[...] = value.dtype.type(1)
    elif isinstance(value, dict):
        for item in value.values():
            _scribble(item)
    elif isinstance(value, tuple):
        for item in value:
            _scribble(item)
    elif isinstance(value, list):
        value.clear()


_MARK = b"\0rollback_gym.testing\0"


def _elsewhere() -> None:
    """Play an episode in another process, for `processes`."""
    subject, seed = cloudpickle.loads(sys.stdin.buffer.read())
    env, info = subject.begun(seed)
    turns = [turn._replace(info={}) for turn in subject.played(env, info, seed, subject.turns)]
    sys.stdout.buffer.write(_MARK + cloudpickle.dumps((turns, host(env).state_digest())))
