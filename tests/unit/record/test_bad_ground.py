"""Programs that cannot be recorded, that end badly, or that do what a trace cannot express."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.unit.record.programs import (
    ENVIRONMENT,
    EXAMPLES,
    Mpi,
    Trace,
    compile_program,
    libraries,
    record_program,
    tisim_record,
)
from tisim import Trace as AnyTrace
from tisim.errors import InputError
from tisim.support.mpi import find_library
from tisim.traces import check, unpack
from tisim.traces.record.elf import Executable
from tisim.traces.record.launch import check_program
from tisim.traces.record.source import compiled_recorder

BACKBONE = Path(__file__).resolve().parents[3] / "platforms" / "backbone.xml"
PROGRAM = """
#include <mpi.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>
int main(int argc, char **argv) {
  int rank, value = 1, sum;
  (void)sum;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Bcast(&value, 1, MPI_INT, 0, MPI_COMM_WORLD);
  BODY
  MPI_Finalize();
  return 0;
}
"""


def tisim(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "tisim", *arguments], capture_output=True, text=True
    )


def program_of(body: str, directory: Path, mpi: Mpi) -> Path:
    source = directory / "program.c"
    source.write_text(PROGRAM.replace("BODY", body))
    return compile_program(source, directory, mpi)


def test_a_link_to_a_trace_stays_a_link(one_mpi: Mpi, tmp_path: Path) -> None:
    """Nothing but a regular file is replaced: /dev/null would be lost to all."""
    target, link = tmp_path / "target.tit", tmp_path / "trace.tit"
    link.symlink_to(target)
    record_program(program_of("", tmp_path, one_mpi), tmp_path, one_mpi)
    assert link.is_symlink()
    assert target.stat().st_size > 0


def recorded(
    body: str, directory: Path, mpi: Mpi
) -> tuple[subprocess.CompletedProcess[str], list[list[str]]]:
    """The outcome of recording two ranks, and what was written of each."""
    output = directory / "trace.tit"
    run = tisim_record(
        *("-o", output, "--mpicc", mpi.cc, "--"),
        *(mpi.run, "-n", "2", program_of(body, directory, mpi)),
    )
    assert [path.name for path in directory.glob("*parts*")] == []
    unpack(output, directory / "texts")
    files = [directory / "texts" / f"rank-{rank}.txt" for rank in range(2)]
    return run, [file.read_text().splitlines() for file in files]


def test_a_program_that_aborts_leaves_its_trace(mpi: Mpi, tmp_path: Path) -> None:
    body = "if (rank == 1) { sleep(3); MPI_Abort(MPI_COMM_WORLD, 7); } else pause();"
    run, lines = recorded(body, tmp_path, mpi)
    assert run.returncode != 0
    assert "no MPI_Finalize of rank 0, 1" in run.stderr
    assert any(line.startswith("# incomplete: ") for line in lines[0])
    assert [part[-1] for part in lines] == ["0 bcast 1 0 1", "1 bcast 1 0 1"]
    # The ranks' calls until then can be checked and replayed.
    report = check(AnyTrace.open(tmp_path / "trace.tit"))
    assert report.errors == 0


def test_what_the_cut_leaves_open_is_no_error(one_mpi: Mpi, tmp_path: Path) -> None:
    """Rank 1 aborts before it has received what rank 0 sends, and before the collective."""
    body = """
    MPI_Request request;
    MPI_Isend(&rank, 1, MPI_INT, 1 - rank, 5, MPI_COMM_WORLD, &request);
    if (rank == 1) { sleep(3); MPI_Abort(MPI_COMM_WORLD, 7); }
    MPI_Barrier(MPI_COMM_WORLD);
    """
    recorded(body, tmp_path, one_mpi)
    packed = AnyTrace.open(tmp_path / "trace.tit")
    unpack(tmp_path / "trace.tit", tmp_path / "text")
    for trace in (packed, AnyTrace.open(tmp_path / "text")):
        report = check(trace)
        assert report.sound
        assert [one.message.partition(":")[0] for one in report.findings] == ["was cut off"]


def test_the_exit_status_is_that_of_the_program(mpi: Mpi, tmp_path: Path) -> None:
    run, lines = recorded("MPI_Finalize(); return 3;", tmp_path, mpi)
    assert run.returncode == 3
    assert lines[0][-1] == "0 finalize"


def test_calls_that_a_trace_cannot_express_are_named(mpi: Mpi, tmp_path: Path) -> None:
    body = f"""MPI_File file;
    for (int i = 0; i < 2; ++i) {{
      MPI_File_open(MPI_COMM_WORLD, "{tmp_path}/data", MPI_MODE_CREATE | MPI_MODE_WRONLY,
                    MPI_INFO_NULL, &file);
      MPI_File_close(&file);
    }}"""
    run, lines = recorded(body, tmp_path, mpi)
    assert run.returncode == 0
    assert "4 calls of MPI_File_open are not in the trace" in run.stderr
    assert "4 calls of MPI_File_close are not in the trace" in run.stderr
    assert "0 unsupported MPI_File_open 4" in lines[0]
    # So a replay would be wrong; one goes on without these calls only on request.
    trace = str(tmp_path / "trace.tit")
    refused = tisim("replay", "--platform", str(BACKBONE), trace)
    assert refused.returncode == 2
    assert "the program called MPI_File_" in refused.stderr
    assert "--ignore-unsupported" in refused.stderr
    assert tisim("check", trace).returncode == 1
    ignored = tisim("replay", "--platform", str(BACKBONE), "--ignore-unsupported", trace)
    assert ignored.returncode == 0
    assert "simulated time" in ignored.stdout
    assert tisim("check", "--ignore-unsupported", trace).returncode == 0


def test_parts_are_packed_later(one_mpi: Mpi, tmp_path: Path) -> None:
    program = program_of("if (rank == 1) abort(); else pause();", tmp_path, one_mpi)
    library = compiled_recorder(find_library(one_mpi.cc))
    parts = tmp_path / "parts"
    parts.mkdir()
    subprocess.run(
        [one_mpi.run, "-n", "2", "env", f"LD_PRELOAD={library}", program],
        env={**os.environ, **ENVIRONMENT, "TISIM_RECORD_DIRECTORY": str(parts)},
        capture_output=True,
    )
    for _ in range(2):
        run = tisim_record("-o", tmp_path / "later.tit", "--pack", parts)
        assert run.returncode == 0
        assert "no MPI_Finalize of rank 0, 1" in run.stderr
    unpack(tmp_path / "later.tit", tmp_path / "texts")
    lines = (tmp_path / "texts" / "rank-0.txt").read_text().splitlines()
    assert [line.startswith("# incomplete") for line in lines].count(True) == 1
    assert lines[-1] == "0 bcast 1 0 1"
    assert tisim_record("-o", tmp_path / "a.tit", "--pack", tmp_path / "no").returncode == 2
    assert tisim_record("-o", tmp_path / "a.tit", "--pack", tmp_path).returncode == 2


@pytest.mark.parametrize("pause", ["MPI_Pcontrol", "tisim_record"])
def test_pauses_of_the_recording(one_mpi: Mpi, tmp_path: Path, pause: str) -> None:
    body = """MPI_Request request; MPI_Comm copy;
    extern void tisim_record(int active) __attribute__((weak));
    PAUSE(0);
    MPI_Ibarrier(MPI_COMM_WORLD, &request);
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    PAUSE(1);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Barrier(copy);"""
    _, lines = recorded(body.replace("PAUSE", pause), tmp_path, one_mpi)
    calls = [line for line in lines[0] if "compute" not in line and line[0] != "#"]
    assert calls == [
        *("0 init", "0 bcast 1 0 1", "0 comm_dup 0 1", "0 barrier comm=1", "0 finalize"),
    ]


def test_failed_tests_are_kept_on_request(one_mpi: Mpi, tmp_path: Path) -> None:
    body = """MPI_Request request; int done = 0;
    if (rank == 1) { sleep(1); MPI_Send(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD); }
    else {
      MPI_Irecv(&value, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, &request);
      while (!done) { MPI_Test(&request, &done, MPI_STATUS_IGNORE); usleep(1000); }
    }"""
    program = program_of(body, tmp_path, one_mpi)
    trace: Trace = record_program(program, tmp_path, one_mpi, ranks=2, options=("--tests", "all"))
    calls = trace.calls(0)
    assert calls.count("test request=0") > 1
    assert calls[-2:] == ["wait request=0", "finalize"]


def test_a_rank_that_cannot_write_stops_no_other(one_mpi: Mpi, tmp_path: Path) -> None:
    """The ranks communicate when communicators are made: all of them record, or none does."""
    body = "MPI_Comm copy; MPI_Comm_dup(MPI_COMM_WORLD, &copy); MPI_Barrier(copy);"
    program = program_of(body, tmp_path, one_mpi)
    library = compiled_recorder(find_library(one_mpi.cc))
    parts = tmp_path / "parts"
    parts.mkdir()
    (parts / "rank-1.txt").write_text("in the way")
    run = subprocess.run(
        [one_mpi.run, "-n", "2", "env", f"LD_PRELOAD={library}", program],
        env={**os.environ, **ENVIRONMENT, "TISIM_RECORD_DIRECTORY": str(parts)},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert run.returncode == 0
    assert "rank 1 cannot write its part of the trace there: File exists" in run.stderr
    assert (parts / "rank-0.txt").read_text() == ""


def test_no_compiler_of_mpi(tmp_path: Path) -> None:
    run = tisim_record("-o", tmp_path / "a.tit", "--mpicc", "no-such-mpicc", "--", "true")
    assert run.returncode == 2
    assert "there is no no-such-mpicc" in run.stderr


def test_no_such_program(tmp_path: Path) -> None:
    run = tisim_record("-o", tmp_path / "a.tit", "--", "no-such-program")
    assert run.returncode == 2
    assert "there is no command no-such-program" in run.stderr
    run = tisim_record("--", "true")
    assert run.returncode == 2
    assert "-o FILE.tit is missing" in run.stderr


def test_a_program_without_mpi(one_mpi: Mpi, tmp_path: Path) -> None:
    run = tisim_record(
        *("-o", tmp_path / "a.tit", "--mpicc", one_mpi.cc, "--", one_mpi.run, "-n", "2", "true"),
    )
    assert run.returncode == 2
    assert "call MPI_Init" in run.stderr
    assert [*tmp_path.iterdir()] == []


def test_a_static_program(one_mpi: Mpi, tmp_path: Path) -> None:
    source = tmp_path / "static.c"
    source.write_text("int main(void) { return 0; }\n")
    program = tmp_path / "static"
    if subprocess.run(["gcc", "-static", source, "-o", program], capture_output=True).returncode:
        pytest.skip("no static C library is installed")
    run = tisim_record(
        "-o", tmp_path / "a.tit", "--mpicc", one_mpi.cc, "--", one_mpi.run, "-n", "2", program
    )
    assert run.returncode == 2
    assert f"{program}: the program is statically linked" in run.stderr


def test_a_program_of_another_mpi_library(tmp_path: Path) -> None:
    found = libraries()
    if len(found) < 2:
        pytest.skip("one MPI library is installed, not two")
    program = compile_program(EXAMPLES / "task_pool.c", tmp_path, found[0])
    run = tisim_record(
        *("-o", tmp_path / "a.tit", "--mpicc", found[1].cc, "--"),
        *(found[0].run, "-n", "2", program),
    )
    assert run.returncode == 2
    assert f"the program uses {found[0].name}" in run.stderr


@pytest.mark.parametrize(
    ("needed", "library", "fits"),
    [
        ("libmpi.so.40", "Open MPI 4.1.4", True),
        ("libmpi.so.40", "MPICH 4.0.2", False),
        ("libmpi.so.12", "MPICH 5.0.2", True),
        ("libmpich.so.12", "MPICH 4.0.2", True),
        ("libmpi.so.12", "Open MPI 4.1.4", False),
        ("libmpi_abi.so.1", "MPICH 5.0.2", True),
    ],
)
def test_libraries_by_their_names(needed: str, library: str, fits: bool) -> None:
    executable = Executable((needed, "libc.so.6"), is_static=False)
    if fits:
        check_program(Path("program"), executable, library)
        return
    with pytest.raises(InputError, match="the program uses"):
        check_program(Path("program"), executable, library)


def test_the_printed_source_is_standard_c(one_mpi: Mpi, tmp_path: Path) -> None:
    run = tisim_record("--print-source", tmp_path)
    assert run.returncode == 0
    sources = sorted(tmp_path.glob("*.c"))
    options = ["-std=c11", "-pedantic", "-Wall", "-Wextra", "-Werror", "-D_GNU_SOURCE", "-fPIC"]
    command = [one_mpi.cc, *options, "-shared", *sources, "-o", tmp_path / "recorder.so"]
    compiled = subprocess.run(command, capture_output=True, text=True)
    assert compiled.returncode == 0, compiled.stderr
    assert "mpicc -std=c11" in (tmp_path / "README").read_text()
