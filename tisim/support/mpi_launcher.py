"""The command that starts the ranks of a program, and their end."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path

from tisim.errors import InputError

_LAUNCHERS = ("mpirun", "mpiexec", "orterun", "prterun")
_RANKS = ("-n", "-np", "--np", "-c", "--n")
# Seconds that ranks have to end when they are told to.
_GRACE = 5.0


def launching_command(command: Sequence[str], ranks: int, program: Sequence[str]) -> list[str]:
    """A command of the user's with the number of ranks, if it lacks one, and the program.

    `command` is what starts ranks, ``["mpirun", "--host", "a,b"]``, by default ``mpirun``;
    `program`, with its arguments, is put at the end. Raises `InputError` if there is no such
    command.
    """
    words = [*command] or ["mpirun"]
    if shutil.which(words[0]) is None:
        raise InputError(
            f"there is no command {words[0]}; behind -- stands what starts the ranks, such as "
            "mpirun with its options"
        )
    is_launcher = Path(words[0]).name.partition(".")[0] in _LAUNCHERS
    if is_launcher and not any(word in _RANKS for word in words):
        words[1:1] = ["-n", str(ranks)]
    return [*words, *program]


def stop(process: subprocess.Popen[bytes]) -> None:
    """End what is still running: the launcher ends its ranks."""
    if process.poll() is not None:
        return
    process.terminate()
    try:
        process.wait(_GRACE)
    except subprocess.TimeoutExpired:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
