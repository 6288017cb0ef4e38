"""Worker processes that do one job at a time, so that one which dies can be told by its job, and replaced."""

import multiprocessing
import signal
import threading
import traceback
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection, wait
from typing import Any, NamedTuple

from rollback_gym.core.errors import RollbackGymError, RunStopped

Work = Callable[[Any], Any]
"""Does a job. What comes of it must be picklable, as must the job."""


class Done(NamedTuple):
    """A job that was done."""

    job: Any
    result: Any


class Failed(NamedTuple):
    """A job that was not done."""

    job: Any
    message: str
    """What went wrong; of a bug, the traceback."""
    hopeless: bool = False
    """Other jobs would fare no better (`RunStopped`)."""


def work(
    make: Callable[[Any], Work], given: Any, jobs: Sequence[Any], workers: int
) -> Generator[Done | Failed, None, None]:
    """Do all jobs, and give what comes of each as it is ready, in no fixed order.

    Closing the iterator ends the workers. A worker that dies fails its job; another one takes its place.

    Args:
        make: Called with `given` once in every worker: gives the function that does the jobs. Must be importable.
        given: Picklable.
        jobs: One after the other, to whichever worker is free.
        workers: How many processes.
    """
    waiting = list(reversed(jobs))
    busy: dict[Connection, tuple[Any, Any]] = {}
    try:
        while waiting or busy:
            while waiting and len(busy) < workers:
                process, pipe = _started(make, given)
                busy[pipe] = process, _hand(pipe, waiting.pop())
            for ready in wait(list(busy)):
                assert isinstance(ready, Connection)
                process, job = busy[ready]
                try:
                    finished = ready.recv()
                except (EOFError, OSError):
                    process.join()
                    del busy[ready]
                    ready.close()
                    yield Failed(job, f"its process died ({_death(process.exitcode)})")
                    continue
                if waiting:
                    busy[ready] = process, _hand(ready, waiting.pop())
                else:
                    del busy[ready]
                    ready.close()  # which tells the worker that there is nothing left
                    process.join()
                yield Done(job, finished[0]) if len(finished) == 1 else Failed(job, *finished)
    finally:
        for process, _ in busy.values():
            process.terminate()
        for pipe, (process, _) in busy.items():
            process.join()
            pipe.close()


def _started(make: Callable[[Any], Work], given: Any) -> tuple[Any, Connection]:
    # Not forked: a process with threads must not be, and the end of a pipe must be known to one process only.
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_worker, args=(theirs, make, given), daemon=True)
    with _uninterrupted():
        process.start()
    theirs.close()
    return process, ours


def _hand(pipe: Connection, job: Any) -> Any:
    with suppress(OSError):  # the worker is dead already, which reading from it will tell
        pipe.send(job)
    return job


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """What is started in here ignores Ctrl-C from its first moment: to end it is for the one who started it."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _worker(pipe: Connection, make: Callable[[Any], Work], given: Any) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    do: Work | None = None
    while True:
        try:
            job = pipe.recv()
        except (EOFError, OSError):
            return
        finished: tuple[Any, ...]
        try:
            if do is None:
                do = make(given)
            finished = (do(job),)
        except RollbackGymError as error:
            finished = str(error), isinstance(error, RunStopped)
        except Exception:
            finished = traceback.format_exc(), False
        try:
            pipe.send(finished)
        except OSError:
            return


def _death(code: int | None) -> str:
    if code is not None and code < 0:
        return f"killed by {signal.Signals(-code).name}"
    return f"exit code {code}"
