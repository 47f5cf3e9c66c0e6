"""Execution of file accesses: recording an execution reproduces the trace."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.unit.record.programs import Mpi, Recorder
from tisim.errors import InputError
from tisim.studies.execute import execute
from tisim.studies.execute.execution import print_source
from tisim.traces import Trace

MPI_IO = """\
init
file_open 0 out/shared.dat rwc
file_preallocate 0 4096
file_write_at_all 0 1000 {offset}
file_write_at 0 10 {behind}
file_sync 0
file_seek 0 {offset}
file_read 0 100
file_read_all 0 50
file_read_at 0 10 {offset}
file_read_at_all 0 20 {offset}
file_sync 0
file_seek 0 {behind}
file_write 0 5
file_write_all 0 5
file_write_shared 0 7
file_write_ordered 0 3
file_seek_shared 0 0
file_read_ordered 0 2
file_write_all_begin 0 12
file_write_all_end 0
file_write_at_all_begin 0 12 {behind}
file_write_at_all_end 0
file_write_ordered_begin 0 12
file_write_ordered_end 0
file_sync 0
file_read_at_all_begin 0 10 {offset}
file_read_at_all_end 0
file_seek_shared 0 0
file_read_ordered_begin 0 2
file_read_ordered_end 0
file_seek 0 {offset}
file_read_all_begin 0 10
file_read_all_end 0
file_read_shared 0 2
barrier
file_set_view 0 {offset} 8 3 16 64
file_write_all 0 40
file_seek 0 16
file_read 0 20
file_write_at 0 8 100
file_set_view 0
file_iwrite_at 0 10 {behind} request=0
file_iread_at 0 10 {offset} request=1
wait request=1
wait request=0
file_iwrite_all 0 8 request=0
file_iwrite_at_all 0 8 {offset} request=1
waitall requests=0,1
barrier
file_set_size 0 5000
file_close 0
finalize
"""
POSIX = """\
init
mkdir results
open 0 results/out.%03d rwct
write 0 1000
lseek 0 -10 cur
pwrite 0 50 2000
pread 0 20 100
read 0 10
fsync 0
stat results/out.%03d
close 0
open 0 /data/input r
read 0 4096
lseek 0 1000000
read 0 10
close 0
unlink results/out.%03d
barrier
finalize
"""


def _write(directory: Path, program: str, ranks: int = 2) -> Trace:
    lines = [
        f"{rank} {line}\n"
        for rank in range(ranks)
        for line in program.format(offset=1000 * rank + 500, behind=3000 + 100 * rank).splitlines()
    ]
    (directory / "trace.txt").write_text("".join(lines))
    return Trace.open(directory / "trace.txt")


def _recorded(
    trace: Trace, directory: Path, mpi: Mpi, io: str, monkeypatch: pytest.MonkeyPatch
) -> Sequence[Sequence[str]]:
    """Return the calls of each rank of a recorded execution, without the executor's own."""
    print_source(directory / "source", trace, files=True)
    program = directory / "tisim_execute"
    sources = [*map(str, (directory / "source").glob("*.c"))]
    subprocess.run(
        [mpi.cc, "-std=c11", "-D_GNU_SOURCE", "-O1", "-o", program, *sources], check=True
    )
    scratch = directory / "scratch"
    scratch.mkdir()
    monkeypatch.chdir(directory)
    arguments = ("source/scripts", "repeat=1", "warm_up=0", f"scratch={scratch}")
    recorded = Recorder(mpi, directory).record(program, *arguments, options=f"--io {io}")
    assert [*scratch.rglob("*.*")] == []  # files have been removed
    return [recorded.calls(rank) for rank in range(2)]


def test_recording_an_execution_of_mpi_io(
    one_mpi: Mpi, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trace = _write(tmp_path, MPI_IO)
    for rank, calls in enumerate(_recorded(trace, tmp_path, one_mpi, "mpi", monkeypatch)):
        expected = MPI_IO.format(offset=1000 * rank + 500, behind=3000 + 100 * rank).splitlines()
        opened = next(call for call in calls if call.startswith("file_open"))
        assert opened.endswith("out/shared.dat rwc")
        assert [call for call in calls if call != opened] == [
            call for call in expected if not call.startswith("file_open")
        ]


def test_recording_an_execution_of_posix(
    one_mpi: Mpi, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trace = _write(tmp_path, POSIX)
    for calls in _recorded(trace, tmp_path, one_mpi, "posix", monkeypatch):
        # The executor reads its script and writes its results with the same functions.
        first = next(at for at, call in enumerate(calls) if call.startswith("mkdir"))
        last = next(at for at, call in enumerate(calls) if call.startswith("unlink"))
        handle = next(call.split()[1] for call in calls[first:] if call.startswith("open "))
        kept = [
            call.split()
            for call in calls[first : last + 1]
            if call.split()[0] in ("mkdir", "stat", "unlink") or call.split()[1] == handle
        ]
        expected = [line.split() for line in POSIX.splitlines()[1:-2]]
        assert [words[0] for words in kept] == [words[0] for words in expected]
        for found, wanted in zip(kept, expected, strict=True):
            if wanted[0] not in ("mkdir", "open", "stat", "unlink"):
                assert found[2:] == wanted[2:], found


def test_files_are_read_that_were_there_before(one_mpi: Mpi, tmp_path: Path) -> None:
    trace = _write(tmp_path, POSIX)
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    done = execute(
        trace, [one_mpi.run], repeat=3, compiler=one_mpi.cc, time_limit=120, scratch=scratch
    )
    assert len(done.repetitions) == 3
    assert [*scratch.iterdir()] == []


def test_a_directory_for_files_is_needed(one_mpi: Mpi, tmp_path: Path) -> None:
    trace = _write(tmp_path, POSIX)
    with pytest.raises(InputError, match="give a directory for files with --scratch"):
        execute(trace, [one_mpi.run], compiler=one_mpi.cc)
    with pytest.raises(InputError, match="cannot be written:"):
        execute(trace, [one_mpi.run], compiler=one_mpi.cc, scratch=tmp_path / "missing")
