"""A recording that a signal ends: what the program has called until then is in a trace."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.unit.record.programs import ENVIRONMENT, Mpi, compile_body
from tisim.traces import unpack

# Each rank writes a file named after it, with its process, when its calls have returned.
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

# Each rank writes once a second.
_FLUSHED = 3.0


class Recording:
    """`tisim record` of two ranks that wait for a signal."""

    def __init__(self, directory: Path, mpi: Mpi) -> None:
        self.output = directory / "trace.tit"
        self._texts = directory / "texts"
        program = compile_body(BODY, directory, mpi, headers=("stdio.h",))
        self.process = subprocess.Popen(
            [
                *(sys.executable, "-m", "tisim", "record", "-o", str(self.output)),
                *("--mpicc", mpi.cc, "--", mpi.run, "-n", "2", str(program), str(directory)),
            ],
            env={**os.environ, **ENVIRONMENT},
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
        """Wait until the command ends; returns what it says."""
        return self.process.communicate(timeout=60)[1]

    def calls(self) -> list[list[str]]:
        """What the trace has of each rank, beside computations."""
        unpack(self.output, self._texts)
        texts = [(self._texts / f"rank-{rank}.txt").read_text() for rank in range(2)]
        lines = [[line for line in text.splitlines() if line[0] != "#"] for text in texts]
        return [[line[2:] for line in own if "compute" not in line] for own in lines]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_rank_that_a_signal_ends(number: signal.Signals, mpi: Mpi, tmp_path: Path) -> None:
    """It has written all its calls; the launcher may kill the other one at once."""
    recording = Recording(tmp_path, mpi)
    os.kill(recording.ranks[0], number)
    assert "no MPI_Finalize of rank 0, 1" in recording.wait()
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
    """As sent by `kill`, by a batch system, by a terminal: it packs what the ranks have written."""
    recording = Recording(tmp_path, mpi)
    time.sleep(_FLUSHED)
    (os.killpg if whom == "all" else os.kill)(recording.process.pid, number)
    assert "no MPI_Finalize of rank 0, 1" in recording.wait()
    assert recording.calls() == [CALLS, CALLS]
    assert [*tmp_path.glob("*.parts-*")] == []


def test_a_signal_that_cannot_be_caught(mpi: Mpi, tmp_path: Path) -> None:
    """The command and all ranks are gone at once: the parts are packed later."""
    recording = Recording(tmp_path, mpi)
    time.sleep(_FLUSHED)
    for rank in recording.ranks:
        with contextlib.suppress(ProcessLookupError):  # the launcher kills the others too
            os.kill(rank, signal.SIGKILL)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(recording.process.pid, signal.SIGKILL)
    recording.process.communicate()
    (parts,) = tmp_path.glob("trace.tit.parts-*")
    packed = subprocess.run(
        [sys.executable, "-m", "tisim", "pack", str(parts), "-o", str(recording.output)],
        capture_output=True,
        text=True,
    )
    assert packed.returncode == 0, packed.stderr
    assert "the trace is incomplete: no MPI_Finalize of rank 0, 1" in packed.stderr
    assert recording.calls() == [CALLS, CALLS]
