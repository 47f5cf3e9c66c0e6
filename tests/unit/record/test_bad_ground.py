"""Programs that cannot be recorded, that fail, or that are killed by a signal."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.support import BACKBONE, tisim_process
from tests.unit.record.programs import (
    EXAMPLES,
    Mpi,
    Recorder,
    libraries,
    lines_of,
    tisim_record,
)
from tisim import Trace as AnyTrace
from tisim.errors import InputError
from tisim.traces import check, unpack
from tisim.traces.record.elf import Executable
from tisim.traces.record.launch import check_program

BCAST = "int value = 1; MPI_Bcast(&value, 1, MPI_INT, 0, MPI_COMM_WORLD);"


def test_a_link_to_a_trace_stays_a_link(one_recorder: Recorder, tmp_path: Path) -> None:
    """Only regular files are replaced; otherwise recording to /dev/null would delete it."""
    target, link = tmp_path / "target.tit", tmp_path / "trace.tit"
    link.symlink_to(target)
    one_recorder.record(BCAST)
    assert link.is_symlink()
    assert target.stat().st_size > 0


def recorded(
    body: str, recorder: Recorder
) -> tuple[subprocess.CompletedProcess[str], list[list[str]]]:
    """Record two ranks that broadcast first; return the outcome and the lines of each rank."""
    run = recorder.run(*recorder.launched(recorder.compile(BCAST + body)))
    assert [path.name for path in recorder.directory.glob("*parts*")] == []
    return run, lines_of(recorder.directory / "trace.tit")


def test_a_program_that_aborts_leaves_its_trace(recorder: Recorder, tmp_path: Path) -> None:
    body = "if (rank == 1) { sleep(3); MPI_Abort(MPI_COMM_WORLD, 7); } else pause();"
    run, lines = recorded(body, recorder)
    assert run.returncode != 0
    assert "rank 0, 1 did not reach MPI_Finalize" in run.stderr
    assert any(line.startswith("# incomplete: ") for line in lines[0])
    assert [part[-1] for part in lines] == ["0 bcast 1 0 1", "1 bcast 1 0 1"]
    # The calls up to that point can be checked and replayed.
    report = check(AnyTrace.open(tmp_path / "trace.tit"))
    assert report.errors == 0


def test_what_the_cut_leaves_open_is_no_error(one_recorder: Recorder, tmp_path: Path) -> None:
    """Rank 1 aborts before it receives rank 0's message, and before the collective."""
    body = """
    MPI_Request request;
    MPI_Isend(&rank, 1, MPI_INT, 1 - rank, 5, MPI_COMM_WORLD, &request);
    if (rank == 1) { sleep(3); MPI_Abort(MPI_COMM_WORLD, 7); }
    MPI_Barrier(MPI_COMM_WORLD);
    """
    recorded(body, one_recorder)
    packed = AnyTrace.open(tmp_path / "trace.tit")
    unpack(tmp_path / "trace.tit", tmp_path / "text")
    for trace in (packed, AnyTrace.open(tmp_path / "text")):
        report = check(trace)
        assert report.sound
        assert [finding.message.partition(":")[0] for finding in report.findings] == [
            "is incomplete"
        ]


def test_the_exit_status_is_that_of_the_program(recorder: Recorder) -> None:
    run, lines = recorded("MPI_Finalize(); return 3;", recorder)
    assert run.returncode == 3
    assert lines[0][-1] == "0 finalize"


def test_calls_that_a_trace_cannot_express_are_named(recorder: Recorder, tmp_path: Path) -> None:
    body = f"""MPI_File file;
    for (int i = 0; i < 2; ++i) {{
      MPI_File_open(MPI_COMM_WORLD, "{tmp_path}/data", MPI_MODE_CREATE | MPI_MODE_WRONLY,
                    MPI_INFO_NULL, &file);
      MPI_File_close(&file);
    }}"""
    run, lines = recorded(body, recorder)
    assert run.returncode == 0
    assert "4 calls to MPI_File_open are not in the trace" in run.stderr
    assert "4 calls to MPI_File_close are not in the trace" in run.stderr
    assert "0 unsupported MPI_File_open 4" in lines[0]
    # The replay would be wrong; it ignores the missing calls only on request.
    trace = str(tmp_path / "trace.tit")
    refused = tisim_process("replay", "--platform", BACKBONE, trace)
    assert refused.returncode == 2
    assert "the program called MPI_File_" in refused.stderr
    assert "--ignore-unsupported" in refused.stderr
    assert tisim_process("check", trace).returncode == 1
    ignored = tisim_process("replay", "--platform", BACKBONE, "--ignore-unsupported", trace)
    assert ignored.returncode == 0
    assert "simulated time" in ignored.stdout
    assert tisim_process("check", "--ignore-unsupported", trace).returncode == 0


def test_parts_are_packed_later(one_recorder: Recorder, tmp_path: Path) -> None:
    program = one_recorder.compile(BCAST + "if (rank == 1) abort(); else pause();")
    parts = tmp_path / "parts"
    one_recorder.preload(program, parts=parts)
    for _ in range(2):
        run = tisim_record("-o", tmp_path / "later.tit", "--pack", parts)
        assert run.returncode == 0
        assert "rank 0, 1 did not reach MPI_Finalize" in run.stderr
    lines = lines_of(tmp_path / "later.tit")[0]
    assert [line.startswith("# incomplete") for line in lines].count(True) == 1
    assert lines[-1] == "0 bcast 1 0 1"
    assert tisim_record("-o", tmp_path / "a.tit", "--pack", tmp_path / "no").returncode == 2
    assert tisim_record("-o", tmp_path / "a.tit", "--pack", tmp_path).returncode == 2


@pytest.mark.parametrize("pause", ["MPI_Pcontrol", "tisim_record"])
def test_pauses_of_the_recording(one_recorder: Recorder, pause: str) -> None:
    body = """MPI_Request request; MPI_Comm copy;
    extern void tisim_record(int active) __attribute__((weak));
    PAUSE(0);
    MPI_Ibarrier(MPI_COMM_WORLD, &request);
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    PAUSE(1);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Barrier(copy);"""
    _, lines = recorded(body.replace("PAUSE", pause), one_recorder)
    calls = [line for line in lines[0] if "compute" not in line and line[0] != "#"]
    assert calls == [
        *("0 init", "0 bcast 1 0 1", "0 comm_dup 0 1", "0 barrier comm=1", "0 finalize"),
    ]


def test_failed_tests_are_kept_on_request(one_recorder: Recorder) -> None:
    body = """MPI_Request request; int done = 0;
    if (rank == 1) { sleep(1); MPI_Send(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD); }
    else {
      MPI_Irecv(&value, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, &request);
      while (!done) { MPI_Test(&request, &done, MPI_STATUS_IGNORE); usleep(1000); }
    }"""
    calls = one_recorder.record("int value = 1;" + body, options="--tests all").calls(0)
    assert calls.count("test request=0") > 1
    assert calls[-2:] == ["wait request=0", "finalize"]


def test_a_rank_that_cannot_write_stops_no_other(one_recorder: Recorder, tmp_path: Path) -> None:
    """Ranks communicate when they create communicators: all of them record, or none does."""
    body = "MPI_Comm copy; MPI_Comm_dup(MPI_COMM_WORLD, &copy); MPI_Barrier(copy);"
    parts = tmp_path / "parts"
    parts.mkdir()
    (parts / "rank-1.txt").write_text("in the way")
    run = one_recorder.preload(one_recorder.compile(BCAST + body), parts=parts)
    assert run.returncode == 0
    assert "rank 1 cannot write its part of the trace there: File exists" in run.stderr
    assert (parts / "rank-0.txt").read_text() == ""


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("-o DIR/a.tit --mpicc no-such-mpicc -- true", "no-such-mpicc was not found"),
        ("-o DIR/a.tit -- no-such-program", "no such command: no-such-program"),
        ("-- true", "-o FILE.tit is missing"),
    ],
)
def test_words_that_are_missing_or_wrong(words: str, message: str, tmp_path: Path) -> None:
    run = tisim_record(*words.replace("DIR", str(tmp_path)).split())
    assert run.returncode == 2
    assert message in run.stderr


def test_a_program_without_mpi(one_recorder: Recorder, tmp_path: Path) -> None:
    run = one_recorder.run(*one_recorder.launched("true"))
    assert run.returncode == 2
    assert "call MPI_Init" in run.stderr
    assert [*tmp_path.iterdir()] == []


def test_a_static_program(one_recorder: Recorder, tmp_path: Path) -> None:
    source = tmp_path / "static.c"
    source.write_text("int main(void) { return 0; }\n")
    program = tmp_path / "static"
    if subprocess.run(["gcc", "-static", source, "-o", program], capture_output=True).returncode:
        pytest.skip("no static C library is installed")
    run = one_recorder.run(*one_recorder.launched(program))
    assert run.returncode == 2
    assert f"{program}: the program is statically linked" in run.stderr


def test_a_program_of_another_mpi_library(tmp_path: Path) -> None:
    found = libraries()
    if len(found) < 2:
        pytest.skip("one MPI library is installed, not two")
    one, other = (Recorder(mpi, tmp_path) for mpi in found[:2])
    run = other.run(*one.launched(one.compile(EXAMPLES / "task_pool.c")))
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


def test_the_printed_source_is_standard_c(one_recorder: Recorder, tmp_path: Path) -> None:
    run = tisim_record("--print-source", tmp_path)
    assert run.returncode == 0
    sources = sorted(tmp_path.glob("*.c"))
    options = ["-std=c11", "-pedantic", "-Wall", "-Wextra", "-Werror", "-D_GNU_SOURCE", "-fPIC"]
    command = [one_recorder.mpi.cc, *options, "-shared", *sources, "-o", tmp_path / "recorder.so"]
    compiled = subprocess.run(command, capture_output=True, text=True)
    assert compiled.returncode == 0, compiled.stderr
    assert "mpicc -std=c11" in (tmp_path / "README").read_text()


# Once its calls have returned, each rank writes its process ID to a file named after the rank.
BODY = """
  int value = rank, sum;
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  char name[4096], whole[4096];
  sprintf(name, "%s/new-%d", argv[1], rank);
  sprintf(whole, "%s/rank-%d", argv[1], rank);
  FILE *file = fopen(name, "w");
  fprintf(file, "%ld", (long)getpid());
  fclose(file);
  rename(name, whole);
  for (;;) pause();
"""
CALLS = ["init", "barrier", "allreduce 1 0 1"]

# Seconds after which all calls are in the files; each rank writes once a second.
_FLUSHED = 3.0


class Recording:
    """`tisim record` of two ranks that wait for a signal."""

    def __init__(self, directory: Path, mpi: Mpi) -> None:
        self.output = directory / "trace.tit"
        program = Recorder(mpi, directory).compile(BODY)
        self.process = subprocess.Popen(
            [
                *(sys.executable, "-m", "tisim", "record", "-o", str(self.output)),
                *("--mpicc", mpi.cc, "--", mpi.run, "-n", "2", str(program), str(directory)),
            ],
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        files = [directory / f"rank-{rank}" for rank in range(2)]
        while not all(file.exists() for file in files):
            assert self.process.poll() is None, self.process.communicate()[1]
            time.sleep(0.01)
        self.ranks = [int(file.read_text()) for file in files]

    def wait(self) -> str:
        """Wait until the command ends, and return its error output."""
        return self.process.communicate(timeout=60)[1]

    def calls(self) -> list[list[str]]:
        """Return the trace's actions of each rank, without computations."""
        return [
            [line[2:] for line in lines if line[0] != "#" and "compute" not in line]
            for lines in lines_of(self.output)
        ]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_rank_that_a_signal_ends(number: signal.Signals, mpi: Mpi, tmp_path: Path) -> None:
    """All of its calls are in the trace; the launcher may kill the other rank at once."""
    recording = Recording(tmp_path, mpi)
    os.kill(recording.ranks[0], number)
    assert "rank 0, 1 did not reach MPI_Finalize" in recording.wait()
    first, second = recording.calls()
    assert first == CALLS
    assert second == CALLS[: len(second)]


@pytest.mark.parametrize(
    ("number", "whom"),
    [(signal.SIGTERM, "command"), (signal.SIGTERM, "all"), (signal.SIGINT, "all")],
)
def test_a_command_that_a_signal_ends(
    number: signal.Signals, whom: str, mpi: Mpi, tmp_path: Path
) -> None:
    """A signal from `kill`, a batch system or a terminal: the command packs the recorded calls."""
    recording = Recording(tmp_path, mpi)
    time.sleep(_FLUSHED)
    (os.killpg if whom == "all" else os.kill)(recording.process.pid, number)
    assert "rank 0, 1 did not reach MPI_Finalize" in recording.wait()
    assert recording.calls() == [CALLS, CALLS]
    assert [*tmp_path.glob("*.parts-*")] == []


def test_a_signal_that_cannot_be_caught(mpi: Mpi, tmp_path: Path) -> None:
    """The command and all ranks are killed: the parts can be packed later."""
    recording = Recording(tmp_path, mpi)
    time.sleep(_FLUSHED)
    for rank in recording.ranks:
        with contextlib.suppress(ProcessLookupError):  # the launcher kills the other ranks, too
            os.kill(rank, signal.SIGKILL)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(recording.process.pid, signal.SIGKILL)
    recording.process.communicate()
    (parts,) = tmp_path.glob("trace.tit.parts-*")
    packed = tisim_process("pack", parts, "-o", recording.output)
    assert packed.returncode == 0, packed.stderr
    assert "the trace is incomplete: rank 0, 1 did not reach MPI_Finalize" in packed.stderr
    assert recording.calls() == [CALLS, CALLS]
