"""Commands that start ranks and are killed leave no launcher behind."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from tests.unit.command_line import RING
from tests.unit.record.programs import libraries
from tisim.studies.execute import execute
from tisim.traces import Trace

# Seconds that something may take on a loaded machine.
_PATIENCE = 120


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="Linux tells of a parent's death")
@pytest.mark.parametrize(
    "words",
    [
        ("execute", RING, "--directory", "."),
        ("benchmark", "--run", "-o", "measured.csv"),
        ("record", "-o", "trace.tit"),
    ],
    ids=lambda words: words[0],
)
def test_a_launcher_ends_with_a_command_that_is_killed(
    words: Sequence[str], tmp_path: Path
) -> None:
    if not libraries():
        pytest.skip("no mpicc and mpirun are installed")
    started = tmp_path / "started"
    launcher = tmp_path / "launch"
    launcher.write_text(
        f"#!/bin/sh\necho $$ > {started}.new; mv {started}.new {started}\nexec sleep 600\n"
    )
    launcher.chmod(0o755)
    tisim = [sys.executable, "-m", "tisim", *words, "--mpicc", libraries()[0].cc]
    command = subprocess.Popen(
        [*tisim, "--", str(launcher)],
        cwd=tmp_path,
        stderr=subprocess.PIPE,
    )
    try:
        _wait_for(started.exists)
        launched = Path("/proc", started.read_text().strip(), "stat")
        assert _runs(launched)
    finally:
        command.kill()
        command.communicate()
    _wait_for(lambda: not _runs(launched))


def test_ranks_that_do_not_end_when_all_is_executed_are_stopped(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As MPICH's in MPI_Finalize, over UCX and TCP."""
    if not libraries():
        pytest.skip("no mpicc and mpirun are installed")
    mpi = libraries()[0]
    launcher = tmp_path / "launch"
    launcher.write_text(f'#!/bin/sh\n{mpi.run} -n 4 "$@"\nexec sleep 600\n')
    launcher.chmod(0o755)
    monkeypatch.setattr("tisim.studies.execute.execution.SECONDS_TO_FINALIZE", 0.3)
    found = execute(
        Trace.open(RING), [str(launcher)], repeat=2, directory=tmp_path, compiler=mpi.cc
    )
    assert len(found.repetitions) == 2


def _runs(stat: Path) -> bool:
    """True if a process is there and is not a zombie that nobody has waited for."""
    try:
        return stat.read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def _wait_for(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + _PATIENCE
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)
