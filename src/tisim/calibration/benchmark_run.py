"""Compiling and running the benchmark: what it prints becomes a file."""

from __future__ import annotations

import contextlib
import os
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tisim.calibration.benchmark import benchmark_code
from tisim.errors import ExecutionError, InputError
from tisim.files import OutputFile
from tisim.mpi_compiler import compiled, compiler_of_user, find_library
from tisim.mpi_launcher import launching_command, stop

#: Is told the seconds since the start and how many times were measured.
MeasuringProgress = Callable[[float, int], None]

# Ranks, where the command does not say how many.
_RANKS = 2
_INTERVAL = 0.2


@dataclass(frozen=True)
class BenchmarkSize:
    """How much is measured.

    Attributes
    ----------
    largest
        Bytes of the largest message.
    sizes
        How many sizes up to it.
    repetitions
        How often each, at least.
    seconds
        How long sizes are repeated until their medians are known, at most. A few more measurements
        follow.
    """

    largest: int = 1 << 22
    sizes: int = 100
    repetitions: int = 10
    seconds: int = 300

    @property
    def time_limit(self) -> float:
        """Seconds after which the ranks are stopped."""
        return 2.0 * self.seconds + 60

    def words(self) -> list[str]:
        """The arguments of the program."""
        return [
            str(number) for number in (self.largest, self.sizes, self.repetitions, self.seconds)
        ]


def run_benchmark(
    command: Sequence[str],
    output: str | os.PathLike[str],
    size: BenchmarkSize | None = None,
    *,
    compiler: str | None = None,
    progress: MeasuringProgress | None = None,
) -> int:
    """Compile the benchmark, run it, and write what it has measured.

    Parameters
    ----------
    command
        What starts ranks, such as ``["mpirun", "-n", "4", "--host", "a,b,c,d"]``; the program is
        added, and ``-n 2`` where the number of ranks is missing.
    output
        The CSV file to write, for `read_measurements`.
    size
        How much is measured.
    compiler
        The compiler of the MPI library; ``$MPICC`` or ``mpicc`` by default.
    progress
        Is told now and then how far it is.

    Returns
    -------
    int
        How many times were measured.

    Raises
    ------
    InputError
        When it cannot be compiled or started, or when the file cannot be written.
    ExecutionError
        When it does not come to its end in time.
    """
    size = size or BenchmarkSize()
    library = find_library(compiler_of_user(compiler), "benchmark")
    program = compiled(benchmark_code(), library)
    words = launching_command(command, _RANKS, [str(program), *size.words()])
    with OutputFile(output) as file:
        rows = _run(words, file, size.time_limit, progress)
        if rows < 1:
            raise InputError(
                "nothing was measured: what starts the ranks has not passed on what they print"
            )
    return rows


def _run(
    words: Sequence[str], file: OutputFile, limit: float, progress: MeasuringProgress | None
) -> int:
    begin = time.monotonic()
    lines = 0
    with subprocess.Popen(
        words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, start_new_session=True
    ) as process:
        assert process.stdout is not None
        os.set_blocking(process.stdout.fileno(), False)
        try:
            ended = False
            while not ended:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(_INTERVAL)
                ended = process.returncode is not None  # what it has printed is there then
                while data := process.stdout.read(1 << 16):
                    file.write(data)
                    lines += data.count(b"\n")
                elapsed = time.monotonic() - begin
                if progress is not None:
                    progress(elapsed, max(lines - 1, 0))
                if not ended and elapsed > limit:
                    raise ExecutionError(
                        f"the benchmark did not end within {limit:g} s; --seconds gives more time, "
                        "and smaller --largest and --sizes need less"
                    )
        finally:
            stop(process)
    if process.returncode != 0:
        raise ExecutionError(
            f"{words[0]} ended with status {process.returncode}; it says why above"
        )
    return lines - 1
