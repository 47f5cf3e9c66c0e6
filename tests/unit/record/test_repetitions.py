"""Programs that are recorded several times, and how much their counters differ."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import tisim
from tests.unit.record.programs import Mpi, Trace, compile_body, record_program, tisim_record
from tisim.errors import InputError
from tisim.traces.record.repetitions import record_repeatedly
from tisim.traces.record.settings import Settings
from tisim.traces.spread import deviation_of

# Computes for a while before each of three barriers.
BODY = """
  for (int round = 0; round < 3; ++round) {
    volatile double sum = 0;
    for (int i = 0; i < 1000000; ++i) sum += 0.5 * i;
    MPI_Barrier(MPI_COMM_WORLD);
  }
"""


def repeated(program: Path, directory: Path, mpi: Mpi, *options: str) -> Trace:
    return record_program(program, directory, mpi, ranks=2, options=("--repeat", "3", *options))


def test_the_spread_of_processor_time(one_mpi: Mpi, tmp_path: Path) -> None:
    program = compile_body(BODY, tmp_path, one_mpi)
    trace = repeated(program, tmp_path, one_mpi, "--counter", "time,page-faults")
    assert "volumes (time): over 3 runs, the deviation of their sum is" in trace.run.stderr
    assert "; that of one computation " in trace.run.stderr
    assert "page-faults: " in trace.run.stderr
    assert "whose sum of volumes is the median" in trace.run.stderr
    assert trace.calls(0).count("barrier") == 3
    assert deviation_of(tisim.Trace.open(trace.file)) is not None
    assert "not in the trace, mean over ranks: MPI_Init " in trace.run.stderr
    assert " for a processor " in trace.run.stderr
    # Nothing is left of the other runs.
    assert [path.name for path in tmp_path.iterdir() if ".runs-" in path.name] == []


def test_instructions_do_not_differ(
    one_mpi: Mpi, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TISIM_CC", one_mpi.cc)
    compile_body(BODY, tmp_path, one_mpi)
    program = tmp_path / "counting"
    command = [sys.executable, "-m", "tisim", "cc", tmp_path / "program.c", "-o", program]
    subprocess.run(command, check=True, capture_output=True)
    trace = repeated(program, tmp_path, one_mpi, "--counter", "register")
    assert "volumes (register): the same in all 3 runs" in trace.run.stderr
    assert "median" not in trace.run.stderr


def test_runs_with_different_calls(one_mpi: Mpi, tmp_path: Path) -> None:
    """Each run makes one barrier more than the one before."""
    body = f"""FILE *const file = fopen("{tmp_path}/runs", "a+");
    if (rank == 0) fputc('.', file);
    fseek(file, 0, SEEK_END);
    long runs = ftell(file);
    fclose(file);
    MPI_Bcast(&runs, 1, MPI_LONG, 0, MPI_COMM_WORLD);
    while (runs-- > 0) MPI_Barrier(MPI_COMM_WORLD);"""
    program = compile_body(body, tmp_path, one_mpi, headers=("stdio.h",))
    trace = repeated(program, tmp_path, one_mpi, "--counter", "time")
    assert "the runs have different numbers of calls" in trace.run.stderr
    assert "that of one computation" not in trace.run.stderr


def test_a_run_that_fails_is_the_last_one(one_mpi: Mpi, tmp_path: Path) -> None:
    program = compile_body("MPI_Finalize(); return 3;", tmp_path, one_mpi)
    output = tmp_path / "trace.tit"
    run = tisim_record(
        *(
            "-o",
            output,
            "--repeat",
            "3",
            "--mpicc",
            one_mpi.cc,
            "--",
            one_mpi.run,
            "-n",
            "1",
            program,
        ),
    )
    assert run.returncode == 3
    assert "run 1 failed, so no more were made" in run.stderr
    assert output.is_file()


def test_a_timeline_is_of_one_run(tmp_path: Path) -> None:
    settings = Settings(times=True, timeline=tmp_path / "a.csv")
    with pytest.raises(InputError, match="--timeline and --repeat exclude each other"):
        record_repeatedly(["true"], tmp_path / "a.tit", settings, times=2)
