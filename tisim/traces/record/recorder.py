"""Recording of a program: compile the recorder, run the program, pack its ranks' output."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tisim.errors import InputError
from tisim.support.files import check_writable, replacing
from tisim.support.mpi import find_library, mpi_compiler
from tisim.traces.record.counters import TIMES, choose_counters, is_counting
from tisim.traces.record.launch import check_program, emulated, find_program, run_program
from tisim.traces.record.notes import Notes, take_notes
from tisim.traces.record.parts import Recording, add_samples_of, pack_parts, recording_of_trace
from tisim.traces.record.qemu.emulator import emulating_command
from tisim.traces.record.settings import Settings
from tisim.traces.record.source import Variant, compiled_recorder, installed
from tisim.traces.record.table import read_table
from tisim.traces.record.timeline import RecordedTimeline, check_timeline, write_timeline

# Directory in memory for the counts of QEMU's plug-in while a program runs.
_COUNTS = "/dev/shm"
# Names of MPI's profiling interface in a program's symbol table, for C and for Fortran.
_PROFILING = re.compile(rb"\0P(MPI_\w+)(?=\0)|\0p(mpi_\w+?)_(?:f08_|f08ts_)?(?=\0)")


@dataclass(frozen=True)
class Recorded:
    """A recorded run of a program."""

    output: Path
    status: int
    recording: Recording
    #: Why the counter was chosen; empty if it was requested.
    reason: str
    #: Polling; with the counter `register`, the share of the program that does not count.
    notes: Notes
    #: The timeline, if requested.
    timeline: RecordedTimeline | None = None
    #: Functions that the program calls by their `PMPI_` names, which bypass the recorder.
    unseen: tuple[str, ...] = ()


def record(
    command: Sequence[str],
    output: str | os.PathLike[str],
    settings: Settings | None = None,
    *,
    compiler: str | None = None,
) -> Recorded:
    """Run an MPI program and write its time-independent trace. The default compiler is ``$MPICC``
    or ``mpicc``. Raises InputError when the program cannot be recorded, or when no rank called
    ``MPI_Init``.
    """
    settings = settings or Settings()
    output = Path(output)
    _check(command, output, settings)
    library = find_library(mpi_compiler(compiler))
    found = find_program(command)
    if found is not None:
        check_program(*found, library.name)
    program = found[0] if found else None
    counters = choose_counters(settings.counter, program)
    if settings.with_init and counters.volumes not in TIMES:
        raise InputError(
            "--with-init adds a time to the volumes, not available for the counter "
            f"{counters.volumes}; it needs --counter {' or '.join(TIMES)}"
        )
    variant = Variant.of(settings.io, arguments=settings.arguments)
    recorder = compiled_recorder(library, variant)
    parts = Path(tempfile.mkdtemp(prefix=f"{output.name}.parts-", dir=output.absolute().parent))
    merged = parts / "trace.tit"
    variables = {
        **settings.variables(),
        **counters.variables(),
        **_parts_environment(settings, parts),
        "TISIM_RECORD_OUTPUT": str(merged),
        "TISIM_RECORD_LIBRARY": str(installed("libtisim_trace.so")),
    }
    if counters.volumes == "qemu":
        command, more = _under_qemu(command, program, parts)
        variables.update(more)
    status = run_program(command, recorder, variables)
    notes = take_notes(parts)  # text parts must be the only files in the directory
    recording = _finish(parts, merged, output)
    if recording is None:
        shutil.rmtree(parts)
        if settings.gather is not None:
            raise InputError(
                f"rank 0 wrote no trace; parts may be in {settings.gather} on each host, from "
                "which tisim pack creates one"
            )
        failed = f" (its exit status was {status})" if status else ""
        raise InputError(
            f"no rank was recorded{failed}: unless a rank printed a reason, the program did not "
            "call MPI_Init, or looked it up in the MPI library itself (dlsym), or its launcher "
            "does not pass LD_PRELOAD to the ranks"
        )
    timeline = (
        None if settings.timeline is None else write_timeline(parts, settings.timeline, output)
    )
    shutil.rmtree(parts)
    unseen = () if program is None else _unseen(program)
    return Recorded(output, status, recording, counters.reason, notes, timeline, unseen)


def _unseen(program: Path) -> tuple[str, ...]:
    """Return the recorded functions that a program also calls by their names with a P."""
    recorded = {function.name.lower(): f"P{function.name}" for function in read_table()}
    names = {
        (in_c or in_fortran).decode().lower()
        for in_c, in_fortran in _PROFILING.findall(program.read_bytes())
    }
    return tuple(sorted(recorded[name] for name in names & recorded.keys()))


def _parts_environment(settings: Settings, parts: Path) -> dict[str, str]:
    """Choose the ranks' output directory: next to the trace, or on their hosts, without notes."""
    if settings.gather is None:
        return {"TISIM_RECORD_DIRECTORY": str(parts), "TISIM_RECORD_NOTES": "1"}
    own = Path(settings.gather).absolute() / parts.name
    return {"TISIM_RECORD_DIRECTORY": str(own), "TISIM_RECORD_GATHER": "1"}


def _check(command: Sequence[str], output: Path, settings: Settings) -> None:
    """Refuse invalid arguments before anything is started."""
    if not command:
        raise InputError("no program to record: tisim record -o FILE -- mpirun ...")
    if shutil.which(command[0]) is None:
        raise InputError(f"no such command: {command[0]}")
    if settings.timeline is not None:
        check_writable(check_timeline(settings.timeline))
    check_writable(output)


def _under_qemu(
    command: Sequence[str], program: Path | None, parts: Path
) -> tuple[list[str], dict[str, str]]:
    """Return the command with QEMU before each program, and the required variables."""
    prefix = f"{_COUNTS}/{parts.name}"
    counts_itself = program is not None and is_counting(program)
    words = emulated(command, emulating_command(prefix, counts_itself=counts_itself))
    # With lazy binding, the first call of each function would count its symbol lookup.
    return words, {"TISIM_RECORD_QEMU": prefix, "LD_BIND_NOW": "1"}


def _finish(parts: Path, merged: Path, output: Path) -> Recording | None:
    """Move the trace to its destination; return None if nothing was recorded."""
    if not merged.is_file():
        return pack_parts(parts, output)
    recording = recording_of_trace(merged)
    add_samples_of(recording, parts, merged)
    with replacing(output) as made:
        shutil.move(merged, made)
    return recording
