"""Running the recorded program: the signals that end it, and its exit status."""

from __future__ import annotations

import signal
import subprocess
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import FrameType

from tisim.support.mpi import ending_with_this
from tisim.traces.record.launch import recording_command

# Signals that would end this command, which then could not pack what the ranks have left. SIGINT
# comes from a terminal, which sends it to the program too.
_ENDING = (signal.SIGTERM, signal.SIGHUP)
# Seconds until a signal is passed on. Batch systems send it to the program too; Open MPI's mpirun
# leaves its ranks alone if it gets a second one within 5 seconds.
_DELAY = 6.0


class _EndingSignalError(Exception):
    """A signal has come that would end this command."""


def run_program(command: Sequence[str], recorder: Path, variables: Mapping[str, str]) -> int:
    """Run a program with the recorder, whose settings are `variables`, and return its exit status;
    of a program that a signal has ended, what a shell makes of it.

    A signal that would end this command is passed on to the program, unless that ends by itself.
    """
    words, environment = recording_command(command, recorder, variables)
    with subprocess.Popen(words, env=environment, preexec_fn=ending_with_this()) as process:
        if threading.current_thread() is threading.main_thread():
            status = _wait_despite_signals(process)
        else:
            status = process.wait()
    return 128 - status if status < 0 else status


def _wait_despite_signals(process: subprocess.Popen[bytes]) -> int:
    received: list[int] = []

    def receive(number: int, frame: FrameType | None) -> None:
        received.append(number)
        if len(received) == 1:
            raise _EndingSignalError

    before = {number: signal.signal(number, receive) for number in _ENDING}
    try:
        while True:
            try:
                return process.wait()
            except KeyboardInterrupt:
                continue  # the program has had the signal too
            except _EndingSignalError:
                _pass_on(process, received[0])
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _pass_on(process: subprocess.Popen[bytes], number: int) -> None:
    try:
        process.wait(_DELAY)
    except subprocess.TimeoutExpired:
        process.send_signal(number)
