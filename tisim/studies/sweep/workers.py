"""Workers for the scenarios of a sweep: this process, other processes, or a Dask cluster."""

from __future__ import annotations

import contextlib
import importlib.util
import multiprocessing.connection
import os
import pickle
import subprocess
import sys
from collections import deque
from collections.abc import Generator, Iterator, Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias, cast

from tisim.actions.registry import default_registry
from tisim.errors import InputError, TisimError
from tisim.studies.sweep.scenario import Answer, Inputs, Message, Outcome, Task
from tisim.studies.sweep.worker import Worker

if TYPE_CHECKING:
    from distributed import Client

    from tisim.actions.registry import Registry

# A process whose last scenario took fewer seconds than this is given another one while it is still
# busy, so that it need not wait for this process; longer scenarios go to the first idle process.
_SHORT_SCENARIO = 0.05
# Maximum number of attempts of a scenario whose process dies.
_MAX_ATTEMPTS = 2
# Seconds granted to a process to end by itself.
_SECONDS_TO_EXIT = 2.0


def run_here(inputs: Inputs, tasks: Sequence[Task]) -> Iterator[tuple[str, Outcome]]:
    """Execute tasks one after the other in this process."""
    worker = Worker(inputs)
    for key, job in tasks:
        yield key, worker.run(job)


def run_in_processes(
    inputs: Inputs, tasks: Sequence[Task], processes: int
) -> Iterator[tuple[str, Outcome]]:
    """Execute tasks in separate processes.

    Yields the outcomes as they finish. A process that dies is replaced; its scenario is retried
    once. When the iterator is closed, the processes end. Raises `TisimError` if a process cannot
    start.
    """
    pool = _Pool(inputs, tasks)
    try:
        pool.start(processes)
        while pool.busy:
            yield from pool.collect()
    finally:
        pool.stop()


class _Process:
    """A worker process, and its assigned tasks."""

    def __init__(self) -> None:
        ours, theirs = multiprocessing.connection.Pipe()
        self.channel: Connection[Message, Answer] = ours
        self.tasks: deque[int] = deque()
        self.ready = False
        self.most_tasks = 1
        path = os.pathsep.join(part or str(Path.cwd()) for part in sys.path)
        with theirs:
            self.child = subprocess.Popen(
                [sys.executable, "-P", "-m", "tisim.studies.sweep.worker", str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                process_group=0,  # shielded from Ctrl-C: the sweep ends it
                env={**os.environ, "PYTHONPATH": path},
            )

    def send(self, message: Message) -> None:
        # A dead process is noticed when its connection is read.
        with contextlib.suppress(ConnectionError):
            self.channel.send(message)

    def end(self) -> str:
        """Wait for the process to end; return how it ended."""
        self.channel.close()
        try:
            status = self.child.wait(_SECONDS_TO_EXIT)
        except subprocess.TimeoutExpired:
            self.child.kill()
            status = self.child.wait()
        return f"signal {-status}" if status < 0 else f"status {status}"


class _Pool:
    """Worker processes, their tasks, and the remaining tasks."""

    def __init__(self, inputs: Inputs, tasks: Sequence[Task]) -> None:
        self._inputs = inputs
        self._tasks = tasks
        self._waiting = deque(range(len(tasks)))
        self._attempts = [0] * len(tasks)
        self._processes: list[_Process] = []

    @property
    def busy(self) -> bool:
        return bool(self._waiting) or any(process.tasks for process in self._processes)

    def start(self, count: int) -> None:
        self._processes = [_Process() for _ in range(count)]
        for process in self._processes:
            process.send(self._inputs)
            self._assign_tasks(process)

    def stop(self) -> None:
        for process in self._processes:
            process.child.terminate()
        for process in self._processes:
            process.end()

    def collect(self) -> Iterator[tuple[str, Outcome]]:
        """Wait for answers of processes, and assign more tasks to them."""
        by_channel = {process.channel: process for process in self._processes}
        for channel in multiprocessing.connection.wait(list(by_channel)):
            assert isinstance(channel, Connection)
            process = by_channel[channel]
            try:
                answer = channel.recv()
            except (EOFError, ConnectionError):
                yield from self._replace(process)
                continue
            if not process.ready:
                if answer is not None:
                    raise TisimError(f"a worker process cannot start: {answer}")
                process.ready = True
                continue
            assert answer is not None
            assert not isinstance(answer, str)
            number, outcome = answer
            process.tasks.remove(number)
            process.most_tasks = 2 if outcome["wall_time"] < _SHORT_SCENARIO else 1
            self._assign_tasks(process)
            yield self._tasks[number][0], outcome

    def _assign_tasks(self, process: _Process) -> None:
        while self._waiting and len(process.tasks) < process.most_tasks:
            number = self._waiting.popleft()
            process.tasks.append(number)
            process.send((number, self._tasks[number][1]))

    def _replace(self, process: _Process) -> Iterator[tuple[str, Outcome]]:
        """Replace a process that has died."""
        self._processes.remove(process)
        how = process.end()
        if not process.ready:
            raise TisimError(f"a worker process cannot start: it ended with {how}")
        if process.tasks:
            current = process.tasks.popleft()
            self._waiting.extendleft(reversed(process.tasks))
            self._attempts[current] += 1
            if self._attempts[current] < _MAX_ATTEMPTS:
                self._waiting.append(current)
            else:
                text = f"WorkerDied: its process ended {_MAX_ATTEMPTS} times, with {how}"
                yield self._tasks[current][0], {"error": text, "wall_time": None}
        if self._waiting:
            successor = _Process()
            self._processes.append(successor)
            successor.send(self._inputs)
            self._assign_tasks(successor)


#: Number of processes, or address or client of a Dask scheduler.
Workers: TypeAlias = "int | str | Client | None"


def check_workers(workers: Workers, registry: Registry | None) -> None:
    """Raise an error if the workers are invalid, before anything is done."""
    if workers is None:
        return
    if isinstance(workers, int):
        if workers < 1:
            raise InputError(f"workers must be at least 1, not {workers}")
        problem = _in_process_reason(registry) if workers > 1 else None
        if problem is not None:
            raise InputError(problem)
        return
    if isinstance(workers, str) and not workers.startswith("dask://"):
        raise InputError(
            f"workers must be a number, or dask://host:port of a Dask scheduler, not {workers!r}"
        )
    if importlib.util.find_spec("distributed") is None:
        raise InputError(
            "Dask needs more packages: pip install 'tisim[dask]'; or give a number of workers"
        )


def run_tasks(
    inputs: Inputs, tasks: Sequence[Task], workers: Workers
) -> Generator[tuple[str, Outcome], None, None]:
    """Execute tasks; yields the key and the outcome of each, as they finish."""
    if workers is None or isinstance(workers, int):
        count = _count(workers, len(tasks), inputs.registry)
        outcomes = run_here(inputs, tasks) if count == 1 else run_in_processes(inputs, tasks, count)
    else:
        from tisim.studies.sweep.cluster import run_on_cluster

        outcomes = run_on_cluster(inputs, tasks, workers)
    return cast("Generator[tuple[str, Outcome], None, None]", outcomes)


def _in_process_reason(registry: Registry | None) -> str | None:
    """Return why other processes cannot have the functions of a registry; None if they can."""
    if "__main__" in (default_registry if registry is None else registry).modules():
        return (
            "worker processes cannot access actions and algorithms defined in a script or "
            "notebook: put them into a module and import it, or use workers=1"
        )
    if registry is None:  # importing their modules fills their default registry
        return None
    try:
        pickle.dumps(registry)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        return (
            f"worker processes cannot import a function of the registry ({error}): define it at "
            "the top level of a module, or use workers=1"
        )
    return None


def _count(workers: int | None, tasks: int, registry: Registry | None) -> int:
    if workers is None:
        if _in_process_reason(registry) is not None:
            workers = 1
        elif hasattr(os, "sched_getaffinity"):  # not on macOS
            workers = len(os.sched_getaffinity(0))
        else:
            workers = os.cpu_count() or 1
    return min(tasks, workers)
