"""Carries out the scenarios of a sweep in this process, or in several on this machine."""

from __future__ import annotations

import contextlib
import multiprocessing.connection
import os
import subprocess
import sys
from collections import deque
from collections.abc import Iterator, Sequence
from multiprocessing.connection import Connection
from pathlib import Path

from tisim.errors import TisimError
from tisim.studies.sweep.scenario import Answer, Inputs, Job, Message, Outcome
from tisim.studies.sweep.worker import Worker

#: A scenario to carry out, and the key that its outcome is handed back with.
Task = tuple[str, Job]

# A process whose last scenario took less than this (in seconds) is given another one while it is
# still busy, so that it need not wait for this process; longer ones go to the first idle one.
_SHORT_SCENARIO = 0.05
# How often a scenario may take its process with it.
_MOST_ATTEMPTS = 2
# Seconds that a process has to end by itself.
_SECONDS_TO_EXIT = 2.0


def run_here(inputs: Inputs, tasks: Sequence[Task]) -> Iterator[tuple[str, Outcome]]:
    """Carry out tasks one after the other in this process."""
    worker = Worker(inputs)
    for key, job in tasks:
        yield key, worker.run(job)


def run_in_processes(
    inputs: Inputs, tasks: Sequence[Task], processes: int
) -> Iterator[tuple[str, Outcome]]:
    """Carry out tasks in processes of their own.

    Yields the outcomes as they come. A process that dies is replaced; the scenario that it was at
    is tried once more. When the iterator is closed, the processes end.

    Raises
    ------
    TisimError
        If a process cannot even start.
    """
    pool = _Pool(inputs, tasks)
    try:
        pool.start(processes)
        while pool.busy:
            yield from pool.collect()
    finally:
        pool.stop()


class _Process:
    """A process, and the tasks that it has."""

    def __init__(self, inputs: Inputs) -> None:
        ours, theirs = multiprocessing.connection.Pipe()
        self.channel: Connection[Message, Answer] = ours
        self.tasks: deque[int] = deque()
        self.ready = False
        self.most_tasks = 1
        self._inputs = inputs
        path = os.pathsep.join(part or str(Path.cwd()) for part in sys.path)
        with theirs:
            self.child = subprocess.Popen(
                [sys.executable, "-P", "-m", "tisim.studies.sweep.process", str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                process_group=0,  # out of reach of Ctrl-C: the sweep decides what becomes of it
                env={**os.environ, "PYTHONPATH": path},
            )

    def send(self, message: Message) -> None:
        # A process that has died is noticed when its connection is read.
        with contextlib.suppress(ConnectionError):
            self.channel.send(message)

    def send_inputs(self) -> None:
        self.send(self._inputs)

    def end(self) -> str:
        """Wait for its end; return how that came about."""
        self.channel.close()
        try:
            status = self.child.wait(_SECONDS_TO_EXIT)
        except subprocess.TimeoutExpired:
            self.child.kill()
            status = self.child.wait()
        return f"signal {-status}" if status < 0 else f"status {status}"


class _Pool:
    """Processes, what they do, and what is left to do."""

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
        self._processes = [_Process(self._inputs) for _ in range(count)]
        for process in self._processes:
            process.send_inputs()
            self._assign_tasks(process)

    def stop(self) -> None:
        for process in self._processes:
            process.child.terminate()
        for process in self._processes:
            process.end()

    def collect(self) -> Iterator[tuple[str, Outcome]]:
        """Wait for processes to answer, and give them more to do."""
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
                self._note_ready(process, answer)
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

    def _note_ready(self, process: _Process, problem: Answer) -> None:
        if problem is not None:
            raise TisimError(f"a worker process cannot start: {problem}")
        process.ready = True

    def _replace(self, process: _Process) -> Iterator[tuple[str, Outcome]]:
        """Deal with a process that has died."""
        self._processes.remove(process)
        how = process.end()
        if not process.ready:
            raise TisimError(f"a worker process cannot start: it ended with {how}")
        if process.tasks:
            current = process.tasks.popleft()
            self._waiting.extendleft(reversed(process.tasks))
            self._attempts[current] += 1
            if self._attempts[current] < _MOST_ATTEMPTS:
                self._waiting.append(current)
            else:
                text = f"WorkerDied: its process ended {_MOST_ATTEMPTS} times, with {how}"
                yield self._tasks[current][0], {"error": text, "wall_time": None}
        if self._waiting:
            successor = _Process(self._inputs)
            self._processes.append(successor)
            successor.send_inputs()
            self._assign_tasks(successor)
