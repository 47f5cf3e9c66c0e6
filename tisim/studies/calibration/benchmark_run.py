"""Run the MPI benchmark that measures the input of a calibration, and save its output."""

from __future__ import annotations

import contextlib
import os
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.resources import files

from tisim.errors import ExecutionError, InputError
from tisim.support.files import OutputFile
from tisim.support.mpi import (
    SECONDS_TO_FINALIZE,
    SourceCode,
    compiled,
    die_with_parent,
    find_library,
    launching_command,
    mpi_compiler,
    stop,
)

#: Callback with the seconds since the start and the number of measured times.
MeasuringProgress = Callable[[float, int], None]

# Number of ranks if the command does not specify it.
_RANKS = 2
_INTERVAL = 0.2
_LAST_LINE = b"# end"


_README = """\
The benchmark of tisim: times of point-to-point messages, for tisim calibrate.

    {compile}
    mpirun -n 2 --host hostA,hostB ./benchmark > measured.csv

A comment at the top of benchmark.c says more.
"""


# Parts of the program; each uses those before it. They are printed as one file, so that one command
# compiles it.
_PARTS = ("messages.c", "patterns.c", "network.c", "main.c")


def benchmark_source() -> str:
    """Return the C source of the benchmark; its top comment explains how to compile and run it."""
    folder = files("tisim.studies.calibration").joinpath("program")
    return "\n".join(folder.joinpath(part).read_text(encoding="utf-8") for part in _PARTS)


def benchmark_code() -> SourceCode:
    """Return the benchmark's source, and how it is compiled."""
    return SourceCode(
        name="benchmark",
        product="benchmark",
        files={"benchmark.c": benchmark_source()},
        options=("-O2",),
        link_options=("-lm",),
        readme=_README,
    )


@dataclass(frozen=True)
class BenchmarkSize:
    """Extent of the measurements."""

    largest: int = 1 << 22  # bytes of the largest message
    sizes: int = 100  # number of sizes up to it
    repetitions: int = 10  # minimum number of repetitions of each
    # Maximum time of repeating sizes until their medians are known. A few more measurements follow.
    seconds: int = 300

    @property
    def time_limit(self) -> float:
        """Seconds after which the ranks are stopped."""
        return 2.0 * self.seconds + 60

    def words(self) -> list[str]:
        """Return the arguments of the program."""
        return [
            str(number) for number in (self.largest, self.sizes, self.repetitions, self.seconds)
        ]


@dataclass(frozen=True)
class BenchmarkRun:
    """Outcome of a run of the benchmark."""

    times: int  # number of measured times
    ended: bool  # whether all was measured before the time limit
    finalized: bool = True  # whether the ranks then ended, or had to be stopped in MPI_Finalize


def run_benchmark(
    command: Sequence[str],
    output: str | os.PathLike[str],
    size: BenchmarkSize | None = None,
    *,
    compiler: str | None = None,
    progress: MeasuringProgress | None = None,
) -> BenchmarkRun:
    """Compile the benchmark, run it, and write its measurements.

    `command` starts ranks, such as ``["mpirun", "-n", "4", "--host", "a,b,c,d"]``; the program is
    added, and ``-n 2`` if the number of ranks is missing. `output` is a CSV file for
    `read_measurements`, `compiler` by default ``$MPICC`` or ``mpicc``. Measurements before the time
    limit are kept. Raises `InputError` if it cannot be compiled or started, or the file cannot be
    written, `ExecutionError` if it fails or measures nothing in time.
    """
    size = size or BenchmarkSize()
    library = find_library(mpi_compiler(compiler), "benchmark")
    program = compiled(benchmark_code(), library)
    words = launching_command(command, _RANKS, [str(program), *size.words()])
    with OutputFile(output) as file:
        found = _run(words, file, size.time_limit, progress)
        if found.times < 1:
            if not found.ended:
                raise ExecutionError(
                    f"nothing was measured within {size.time_limit:g} s; raise --seconds"
                )
            raise InputError(
                "nothing was measured: the launcher did not forward the output of the ranks"
            )
    return found


def _run(
    words: Sequence[str], file: OutputFile, limit: float, progress: MeasuringProgress | None
) -> BenchmarkRun:
    begin = time.monotonic()
    rows, cut, stopped = 0, b"", False
    complete = None  # when it reported that all is measured
    with subprocess.Popen(
        words,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        start_new_session=True,
        preexec_fn=die_with_parent(),
    ) as process:
        assert process.stdout is not None
        os.set_blocking(process.stdout.fileno(), False)
        try:
            ended = False
            while not (ended or stopped):
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(_INTERVAL)
                ended = process.returncode is not None  # its output is complete then
                while data := process.stdout.read(1 << 16):
                    whole, end, cut = (cut + data).rpartition(b"\n")
                    file.write(whole + end)
                    lines = whole.splitlines()
                    rows += sum(not line.startswith(b"#") for line in lines)
                    if lines[-1:] == [_LAST_LINE]:
                        complete = time.monotonic()
                elapsed = time.monotonic() - begin
                if progress is not None:
                    progress(elapsed, max(rows - 1, 0))
                if complete is not None:
                    stopped = not ended and time.monotonic() - complete > SECONDS_TO_FINALIZE
                else:
                    stopped = not ended and elapsed > limit
        finally:
            stop(process)
    if process.returncode != 0 and not stopped:
        raise ExecutionError(
            f"{words[0]} ended with status {process.returncode}; see its messages above"
        )
    return BenchmarkRun(max(rows - 1, 0), complete is not None or not stopped, not stopped)
