"""Run a program and measure its cost."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
#: The command line of this checkout.
TISIM = (sys.executable, "-m", "tisim")


class ProgramError(Exception):
    """A program that failed."""


@dataclass(frozen=True)
class Run:
    """Cost of a run of a program.

    Parameters
    ----------
    seconds
        Wall-clock time.
    cpu_seconds
        User and system time, including children.
    peak_bytes
        Maximum resident memory of the program or of one child.
    output
        Its output, both streams.
    """

    seconds: float
    cpu_seconds: float
    peak_bytes: int
    output: str


def run(
    command: Sequence[str | os.PathLike[str]],
    *,
    timeout: float = 900.0,
    environment: Mapping[str, str] | None = None,
) -> Run:
    """Run a program to its end.

    Raises
    ------
    ProgramError
        If its exit status is not 0, or it takes longer than `timeout` seconds.
    """
    with tempfile.TemporaryFile() as output:
        start = time.perf_counter()
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            cwd=ROOT,
            # As for an installed package, Python compiles no source at start-up.
            env=os.environ | {"PYTHONDONTWRITEBYTECODE": ""} | (environment or {}),
            start_new_session=True,
        )
        # The whole session: smpirun does not kill its child when it is killed.
        killer = threading.Timer(timeout, os.killpg, (process.pid, 9))
        killer.start()
        try:
            _, status, usage = os.wait4(process.pid, 0)
        except BaseException:
            os.killpg(process.pid, 9)
            raise
        finally:
            killer.cancel()
        seconds = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        text = output.read().decode(errors="replace")
    if process.returncode != 0:
        why = f"was killed after {timeout:g} s" if seconds >= timeout else text.strip()[-500:]
        raise ProgramError(f"{' '.join(map(str, command))}: {why}")
    return Run(seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024, text)
