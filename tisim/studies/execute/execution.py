"""Execute a trace: compile the executor, write scripts, start ranks, read results."""

from __future__ import annotations

import contextlib
import os
import shutil
import struct
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.resources import files
from pathlib import Path

from tisim.analysis.measured import is_run_file, read_calls, write_measured_run
from tisim.errors import ExecutionError, InputError
from tisim.studies.execute.result import Execution, Report
from tisim.support import mpi
from tisim.support.files import write_file
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
from tisim.traces import Trace
from tisim.traces.script import name_of_instruction, vocabulary_header, write_scripts

_README = """\
The executor of tisim, for machines without Python. The scripts of a trace are in `scripts`, if
there was one; tisim execute TRACE --print-source DIR writes them (with --scratch, if the trace
works on files).

    {compile}
    mpirun -n RANKS ./tisim_execute scripts repeat=5 compute=sleep speed=1e9

It prints for each repetition when each rank ended, in seconds after the common start. All hosts
need the directory.

compute    sleep (the default), spin, instructions or none: what stands for computations
speed      so many units of computation take a second, 1e9 by default
repeat     repetitions that are reported, 5 by default
warm_up    repetitions before, 1 by default
scratch    the directory for the files of the trace, if it works on any
"""


def executor_code() -> SourceCode:
    """Return the executor's source, and how it is compiled."""
    program = files("tisim.studies.execute").joinpath("program")
    texts = {
        file.name: file.read_text(encoding="utf-8")
        for file in program.iterdir()
        if file.name.endswith((".c", ".h"))
    }
    texts["vocabulary.h"] = vocabulary_header()
    return SourceCode(
        name="executor",
        product="tisim_execute",
        files=dict(sorted(texts.items())),
        options=("-std=c11", "-D_GNU_SOURCE", "-O2"),
        readme=_README,
    )


def print_source(directory: Path, trace: Trace | None, *, files: bool = False) -> None:
    """Write the executor's source into a directory, and the scripts of a trace into `scripts`.

    Raises `InputError` if the directory cannot be written, or the trace is invalid.
    """
    mpi.write_source(executor_code(), directory)
    if trace is not None:
        scripts = directory / "scripts"
        scripts.mkdir(exist_ok=True)
        write_scripts(trace, scripts, files=files)


# Row of the executor's files: start, end, line, kind, operation.
_ROW = struct.Struct("=ddIHH")
_ROWS_AT_ONCE = 4096


def write_timeline(directory: Path, trace: Trace, output: Path) -> None:
    """Write the calls of all ranks as CSV: ``rank,kind,start,end,line``, times in seconds.

    If `output` is a run file, they are written in that format. Raises `InputError` if it cannot be
    written.
    """
    if not is_run_file(output):
        write_file(output, _lines(directory, trace.ranks))
        return
    table = directory / "calls.csv"
    write_file(table, _lines(directory, trace.ranks))
    write_measured_run(trace, read_calls(table, trace.ranks), output)


def _lines(directory: Path, ranks: int) -> Iterator[str]:
    yield "rank,kind,start,end,line\n"
    for rank in range(ranks):
        with (directory / f"calls-{rank}").open("rb") as file:
            while data := file.read(_ROW.size * _ROWS_AT_ONCE):
                whole = data[: len(data) // _ROW.size * _ROW.size]
                for start, end, line, kind, operation in _ROW.iter_unpack(whole):
                    name = name_of_instruction(kind, operation)
                    yield f"{rank},{name},{start:.9f},{end:.9f},{line}\n"


COMPUTE_MODES = ("sleep", "spin", "instructions", "none")
#: Called with the number of finished repetitions, including warm-ups, and the total number.
RepetitionProgress = Callable[[int, int], None]
# Default time limit of a repetition in seconds, in addition to its computations.
_USUAL_LIMIT = 300.0
# Seconds between two polls of the results.
_INTERVAL = 0.05
# Maximum number of ranks that are named if an execution hangs.
_MAX_NAMED = 8


def execute(
    trace: Trace,
    command: Sequence[str] = (),
    *,
    repeat: int = 5,
    warm_up: int = 1,
    compute: str = "sleep",
    speed: float = 1e9,
    time_limit: float | None = None,
    timeline: str | os.PathLike[str] | None = None,
    directory: str | os.PathLike[str] = ".",
    scratch: str | os.PathLike[str] | None = None,
    compiler: str | None = None,
    variables: Mapping[str, str] | None = None,
    progress: RepetitionProgress | None = None,
) -> Execution:
    """Execute a trace with the calls of a real MPI library.

    Parameters
    ----------
    trace
        The trace.
    command
        Command that starts ranks, such as ``["mpirun", "--host", "a,b"]``; the number of ranks and
        the program are added. ``mpirun`` by default.
    repeat
        Number of timed executions.
    warm_up
        Number of executions before these.
    compute
        Substitute for computations: ``sleep`` or ``spin`` for the volume divided by `speed`,
        ``instructions`` for a loop of that many instructions, or ``none``.
    speed
        Units of computation per second.
    time_limit
        Maximum seconds of the start and of each repetition; by default 300, plus twice the time of
        the rank with the longest computations.
    timeline
        A file to write, CSV or a run file (``.tir``), with begin and end of each call of the last
        repetition.
    directory
        Directory for scripts and results during the execution; all hosts must share it.
    scratch
        Directory below which the files of the trace are created during the execution, including
        those with absolute names; required if the trace accesses files.
    compiler
        The compiler of the MPI library; ``$MPICC`` or ``mpicc`` by default.
    variables
        Additional environment variables of the command.
    progress
        Called with the number of finished repetitions.

    Returns
    -------
    Execution

    Raises
    ------
    InputError
        If the trace, the command or an option cannot be used, memory is insufficient, or the ranks
        could not be started.
    ExecutionError
        If the ranks were killed or did not end in time.
    """
    _check_options(repeat, warm_up, compute, speed, time_limit)
    library = find_library(mpi_compiler(compiler), "executor")
    program = compiled(executor_code(), library)
    with contextlib.ExitStack() as stack:
        made = stack.enter_context(_directory(Path(directory)))
        write_scripts(trace, made, files=scratch is not None)
        files = [] if scratch is None else [stack.enter_context(_directory(Path(scratch)))]
        words = launching_command(
            command,
            trace.ranks,
            [
                str(program),
                str(made),
                f"results={made}",
                f"repeat={repeat}",
                f"warm_up={warm_up}",
                f"compute={compute}",
                f"speed={speed!r}",
                f"timeline={int(timeline is not None)}",
                *(f"scratch={file}" for file in files),
            ],
        )
        report = Report(made)
        environment = {**os.environ, **(variables or {})}
        _run(words, environment, report, trace, repeat + warm_up, time_limit, progress)
        if timeline is not None:
            write_timeline(made, trace, Path(timeline))
    return Execution(
        trace=trace.name,
        mpi=library.name,
        command=tuple(command) or ("mpirun",),
        compute=compute,
        speed=speed,
        repetitions=tuple(report.repetitions),
        clock_error=report.values.get("clock_error", 0.0),
        memory=int(report.values.get("memory", 0)),
    )


def _check_options(
    repeat: int, warm_up: int, compute: str, speed: float, time_limit: float | None
) -> None:
    if repeat < 1:
        raise InputError(f"--repeat must be at least 1, not {repeat}")
    if warm_up < 0:
        raise InputError(f"--warm-up must not be negative, not {warm_up}")
    if compute not in COMPUTE_MODES:
        modes = ", ".join(COMPUTE_MODES)
        raise InputError(f"compute must be one of {modes}, not '{compute}'")
    if not 0 < speed < float("inf"):
        raise InputError(f"the speed must be positive, not {speed!r}")
    if time_limit is not None and not time_limit > 0:
        raise InputError(f"the time limit must be positive, not {time_limit!r}")


@contextlib.contextmanager
def _directory(directory: Path) -> Iterator[Path]:
    """Create a temporary directory next to the user's files, which all hosts see."""
    try:
        made = tempfile.mkdtemp(prefix=".tisim-execute-", dir=directory.absolute())
    except OSError as error:
        raise InputError(
            f"cannot be written: {error.strerror}; use --directory for scripts and results (shared "
            "by all hosts), --scratch for files",
            file=directory,
        ) from None
    try:
        yield Path(made)
    finally:
        shutil.rmtree(made, ignore_errors=True)


def _run(
    words: Sequence[str],
    environment: Mapping[str, str],
    report: Report,
    trace: Trace,
    steps: int,
    time_limit: float | None,
    progress: RepetitionProgress | None,
) -> None:
    """Start the ranks and wait until they have ended; stop them after a timeout."""
    with subprocess.Popen(
        words,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=2,
        start_new_session=True,
        preexec_fn=die_with_parent(),
    ) as process:
        try:
            finalized = _watch(process, report, trace, steps, time_limit, progress)
        finally:
            stop(process)
    error = report.error()
    if error is not None:
        raise InputError(error, file=trace.name)
    if (finalized and process.returncode != 0) or not report.done:
        raise ExecutionError(_ended_early(words[0], process.returncode, report))


def _watch(
    process: subprocess.Popen[bytes],
    report: Report,
    trace: Trace,
    steps: int,
    time_limit: float | None,
    progress: RepetitionProgress | None,
) -> bool:
    """Wait until the ranks have ended, or hang after all is done; return whether they ended."""
    began = time.monotonic()
    last_steps = 0
    first = None
    while True:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_INTERVAL)
        report.read()
        if report.steps > last_steps:
            last_steps, began = report.steps, time.monotonic()
            if first is None and "memory" in report.values:
                first = report.steps
            if progress is not None and first is not None:
                progress(min(report.steps - first, steps), steps)
        if process.returncode is not None:
            return True
        waited = time.monotonic() - began
        if report.done and waited > SECONDS_TO_FINALIZE:
            return False
        limit = time_limit or _USUAL_LIMIT + 2 * report.values.get("computing", 0.0)
        if not report.done and waited > limit:
            states = report.states(trace.ranks)
            raise ExecutionError(_hangs(trace, report, states, limit))


def _hangs(
    trace: Trace, report: Report, states: Sequence[tuple[int, str, int]], limit: float
) -> str:
    files = trace.files
    where = "; ".join(
        f"rank {rank} is in {action} ({files[rank]}:{line})"
        for rank, action, line in states[:_MAX_NAMED]
    )
    more = f"; and {len(states) - _MAX_NAMED} more" if len(states) > _MAX_NAMED else ""
    ended = len(report.repetitions)
    return (
        f"{trace.name}: nothing ended within {limit:g} s, after {ended} repetitions: "
        f"{where or 'no rank has started'}{more}; 'tisim check' finds deadlocks; --time-limit "
        "raises the limit"
    )


def _ended_early(launcher: str, status: int, report: Report) -> str:
    how = f"was killed by signal {-status}" if status < 0 else f"ended with status {status}"
    if not report.values:
        return f"{launcher} {how} before all ranks had started; see its messages above"
    return f"{launcher} {how} after {len(report.repetitions)} repetitions"
