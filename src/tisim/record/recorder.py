"""Recording a program: compile the recorder, run the program, pack what its ranks wrote."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tisim.errors import InputError
from tisim.files import check_writable
from tisim.mpi_compiler import compiler_of_user, find_library
from tisim.record.compiler import compiled_recorder
from tisim.record.counters import choose_counter, is_counting
from tisim.record.launch import check_program, emulated, find_program, recording_command
from tisim.record.limits import Limits
from tisim.record.notes import Uncounted, read_notes
from tisim.record.parts import Recording, pack_parts, recording_of_trace
from tisim.record.qemu.emulator import emulating_command
from tisim.record.timeline import RecordedTimeline, check_timeline, write_timeline
from tisim.record.trace_library import library_file

# Where the counts of QEMU's plug-in lie while a program runs: memory.
_COUNTS = "/dev/shm"


@dataclass(frozen=True)
class Recorded:
    """A program's run that was recorded.

    Attributes
    ----------
    output
        The trace.
    status
        The program's exit status.
    recording
        What its ranks wrote.
    reason
        Why the counter was chosen, if it was.
    uncounted
        With the counter `register`: how much of the program does not count.
    timeline
        The timeline, if one was asked for.
    """

    output: Path
    status: int
    recording: Recording
    reason: str
    uncounted: Uncounted
    timeline: RecordedTimeline | None = None


def record(
    command: Sequence[str],
    output: str | os.PathLike[str],
    *,
    counter: str = "auto",
    reference_speed: float = 1e9,
    failed_tests: bool = False,
    call_sites: bool = False,
    times: bool = False,
    timeline: str | os.PathLike[str] | None = None,
    limits: Limits | None = None,
    compiler: str | None = None,
) -> Recorded:
    """Run an MPI program and write its time-independent trace.

    Parameters
    ----------
    command
        What starts the program: ``["mpirun", "-n", "8", "./program"]``.
    output
        The trace to write, packed.
    counter
        What measures computations: ``perf``, ``register``, ``qemu``, ``time`` or ``auto``.
    reference_speed
        Of the counter `time`: so many units are a second of processor time.
    failed_tests
        Whether tests that fail are recorded too.
    call_sites
        Whether calls say where in the program they are made.
    times
        Whether calls say how long they took.
    timeline
        Where to write when each call began and ended, ``.csv`` or ``.parquet``; needs `times`.
    limits
        What of the run is recorded; all of it by default.
    compiler
        The compiler of the MPI library that the program uses; ``$MPICC`` or ``mpicc`` by default.

    Raises
    ------
    InputError
        When the program cannot be recorded, or when no rank has called ``MPI_Init``.
    """
    if not command:
        raise InputError("there is no program to record: tisim record -o FILE -- mpirun ...")
    if shutil.which(command[0]) is None:
        raise InputError(f"there is no command {command[0]}")
    if timeline is not None:
        if not times:
            raise InputError("a timeline says when something happened, which needs times: --times")
        check_writable(check_timeline(timeline))
    output = Path(output)
    check_writable(output)
    library = find_library(compiler_of_user(compiler))
    found = find_program(command)
    if found is not None:
        check_program(*found, library.name)
    chosen, reason = choose_counter(counter, found[0] if found else None)
    variables = {
        "TISIM_RECORD_COUNTER": chosen,
        "TISIM_RECORD_SPEED": repr(reference_speed),
        "TISIM_RECORD_TESTS": "all" if failed_tests else "successful",
    }
    if times:
        variables["TISIM_RECORD_TIMES"] = "1"
    if timeline is not None:
        variables["TISIM_RECORD_TIMELINE"] = "1"
    if call_sites:
        variables["TISIM_RECORD_CALL_SITES"] = "1"
    if limits is not None:
        variables.update(limits.variables())
    recorder = compiled_recorder(library)
    parts = Path(tempfile.mkdtemp(prefix=f"{output.name}.parts-", dir=output.absolute().parent))
    merged = parts / "trace.tit"
    variables["TISIM_RECORD_DIRECTORY"] = str(parts)
    variables["TISIM_RECORD_OUTPUT"] = str(merged)
    variables["TISIM_RECORD_LIBRARY"] = str(library_file())
    if chosen == "qemu":
        prefix = f"{_COUNTS}/{parts.name}"
        counts_itself = found is not None and is_counting(found[0])
        command = emulated(command, emulating_command(prefix, counts_itself=counts_itself))
        # The first call of each function would count the search for it.
        variables.update({"TISIM_RECORD_QEMU": prefix, "LD_BIND_NOW": "1"})
    status = _run(command, recorder, variables)
    recording = _finish(parts, merged, output)
    if recording is None:
        shutil.rmtree(parts)
        failed = f" (its exit status was {status})" if status else ""
        raise InputError(
            f"no rank was recorded{failed}: unless a rank has said why, either the program did not "
            "call MPI_Init, or what starts it does not pass LD_PRELOAD on to its ranks"
        )
    written = None if timeline is None else write_timeline(parts, timeline)
    uncounted = read_notes(parts)
    shutil.rmtree(parts)
    return Recorded(output, status, recording, reason, uncounted, written)


def _finish(parts: Path, merged: Path, output: Path) -> Recording | None:
    """Put the trace where it belongs; None if nothing was recorded."""
    if not merged.is_file():
        return pack_parts(parts, output)
    recording = recording_of_trace(merged)
    merged.replace(output)
    return recording


def _run(command: Sequence[str], recorder: Path, variables: Mapping[str, str]) -> int:
    words, environment = recording_command(command, recorder, variables)
    with subprocess.Popen(words, env=environment) as process:
        while True:
            try:
                status = process.wait()
                break
            except KeyboardInterrupt:
                continue  # the program has had the signal too, and its parts are wanted
    return 128 - status if status < 0 else status
