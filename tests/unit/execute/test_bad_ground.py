"""Executions that cannot start, that hang, or that are killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from tests.support import RING, open_trace, tisim_process
from tests.unit.command_line import CommandLine, refused
from tests.unit.record.programs import Mpi
from tisim.errors import ExecutionError, InputError
from tisim.studies.execute import execute
from tisim.support.mpi import launching_command
from tisim.traces import Trace


def command(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return tisim_process("execute", *arguments, timeout=120)


def wait_until_all_ranks_run(directory: Path) -> None:
    """Wait for output that rank 0 writes only after all ranks have started."""
    end = time.monotonic() + 60
    while time.monotonic() < end:
        if any("memory" in file.read_text() for file in directory.glob(".tisim-execute-*/results")):
            return
        time.sleep(0.05)
    pytest.fail("the ranks have not started within 60 s")


def test_a_deadlock_is_told_with_its_lines(one_mpi: Mpi, tmp_path: Path) -> None:
    trace = open_trace(tmp_path, "recv 1 0 1; send 1 0 1", "recv 0 0 1; send 0 0 1")
    with pytest.raises(ExecutionError) as caught:
        execute(trace, [one_mpi.run], compiler=one_mpi.cc, time_limit=6)
    text = str(caught.value)
    assert "nothing ended within 6 s, after 0 repetitions" in text
    assert f"rank 0 is in recv ({trace.files[0]}:1)" in text
    assert f"rank 1 is in recv ({trace.files[1]}:3)" in text
    assert list(tmp_path.glob(".tisim-execute-*")) == []


def test_another_number_of_ranks(one_mpi: Mpi, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="the trace has 4 ranks, but 3 were started; start 4"):
        execute(Trace.open(RING), [one_mpi.run, "-n", "3"], compiler=one_mpi.cc)
    with pytest.raises(InputError, match="the trace has 4 ranks, but 5 were started; start 4"):
        execute(Trace.open(RING), [one_mpi.run, "-n", "5"], compiler=one_mpi.cc)
    refused = command("--np", "3", RING, "--", one_mpi.run)
    assert refused.returncode == 2
    assert "has 4 ranks, not 3" in refused.stderr


def test_more_memory_than_there_is(one_mpi: Mpi, tmp_path: Path) -> None:
    huge = "10000000000000"
    trace = open_trace(tmp_path, f"send 1 0 {huge}", f"recv 0 0 {huge}")
    with pytest.raises(InputError, match=r"need 2e\+07 MB of memory, but .* MB are free"):
        execute(trace, [one_mpi.run], compiler=one_mpi.cc)


def test_no_compiler_no_launcher(tmp_path: Path) -> None:
    trace = Trace.open(RING)
    with pytest.raises(InputError, match="nowhere-cc was not found: the executor is compiled by"):
        execute(trace, compiler="nowhere-cc")
    with pytest.raises(InputError, match="no such command: nowhere-run"):
        launching_command(["nowhere-run"], 4, ["program"])


def test_a_custom_action_is_no_call_of_mpi(one_mpi: Mpi, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"trace\.txt:1: unknown action 'checkpoint'"):
        execute(open_trace(tmp_path, "checkpoint 1"), [one_mpi.run], compiler=one_mpi.cc)


def test_a_launcher_that_fails(mpi: Mpi, tmp_path: Path) -> None:
    with pytest.raises(ExecutionError, match="false ended with status 1 before all ranks had"):
        execute(Trace.open(RING), ["false"], compiler=mpi.cc)


def test_killed_ranks(mpi: Mpi, tmp_path: Path) -> None:
    trace = open_trace(tmp_path, "compute 60e9", "recv 0 0 1")
    running = subprocess.Popen(
        [sys.executable, "-m", "tisim", "execute", trace.name, "--mpicc", mpi.cc, "--", mpi.run],
        stderr=subprocess.PIPE,
        text=True,
    )
    wait_until_all_ranks_run(tmp_path)
    (program,) = tmp_path.glob(".tisim-execute-*")
    completed = subprocess.run(
        ["pgrep", "-f", f"^[^ ]*tisim_execute {program}"], capture_output=True, text=True
    )
    os.kill(int(completed.stdout.split()[0]), signal.SIGKILL)
    _, errors = running.communicate(timeout=60)
    assert running.returncode == 1
    assert "after 0 repetitions" in errors
    assert list(tmp_path.glob(".tisim-execute-*")) == []


def test_ctrl_c(mpi: Mpi, tmp_path: Path) -> None:
    trace = open_trace(tmp_path, "compute 60e9")
    running = subprocess.Popen(
        [sys.executable, "-m", "tisim", "execute", trace.name, "--mpicc", mpi.cc, "--", mpi.run],
        stderr=subprocess.PIPE,
        text=True,
    )
    wait_until_all_ranks_run(tmp_path)
    running.send_signal(signal.SIGINT)
    running.communicate(timeout=60)
    assert running.returncode == 130
    assert list(tmp_path.glob(".tisim-execute-*")) == []


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"repeat": 0}, "--repeat must be at least 1"),
        ({"warm_up": -1}, "--warm-up must not be negative"),
        ({"compute": "dream"}, "instructions, none, not 'dream'"),
        ({"speed": 0.0}, "the speed must be positive"),
        ({"time_limit": 0.0}, "the time limit must be positive"),
    ],
)
def test_bad_options(options: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        execute(Trace.open(RING), **options)  # type: ignore[arg-type]


def test_a_timeline_of_no_format_is_refused_before(tisim: CommandLine) -> None:
    outcome = tisim("execute", str(RING), "--timeline", "x.prv", "--", "no-such-launcher")
    refused(tisim, outcome, "x.prv: the suffix of an execution's timeline must be .csv or .tir")


def test_the_command(one_mpi: Mpi, tmp_path: Path) -> None:
    ran = command(
        *("--mpicc", one_mpi.cc, "--repeat", "2", "--json", "ring.json", "--timeline", "ring.csv"),
        *(RING, "--", one_mpi.run),
    )
    assert ran.returncode == 0, ran.stderr
    assert "4 ranks on" in ran.stdout
    result = json.loads((tmp_path / "ring.json").read_text())
    assert len(result["repetitions"]) == 2
    assert result["smallest"] <= result["median"] <= result["largest"]
    rows = (tmp_path / "ring.csv").read_text().splitlines()
    assert rows[0] == "rank,kind,start,end,line"
    kinds = [row.split(",")[1] for row in rows if row.startswith("0,")]
    assert kinds == ["compute", "send", "recv"]
    starts = [float(row.split(",")[2]) for row in rows[1:]]
    assert min(starts) >= 0
    last = max(float(row.split(",")[3]) for row in rows[1:])
    assert last == pytest.approx(result["repetitions"][1]["time"], abs=0.05)


def test_the_time_is_that_of_the_computations(one_mpi: Mpi, tmp_path: Path) -> None:
    trace = open_trace(tmp_path, *["; ".join(["compute 1e5"] * 1000)] * 2)
    for compute in ("sleep", "spin"):
        done = execute(trace, [one_mpi.run], repeat=1, compute=compute, compiler=one_mpi.cc)
        assert done.median >= 0.0999
    assert execute(trace, [one_mpi.run], repeat=1, speed=1e12, compiler=one_mpi.cc).median < 0.1


def test_print_source(tmp_path: Path) -> None:
    ran = command(RING, "--print-source", tmp_path / "source")
    assert ran.returncode == 0, ran.stderr
    names = {path.name for path in (tmp_path / "source").iterdir()}
    assert {"main.c", "vocabulary.h", "README", "scripts"} <= names
    assert len([*(tmp_path / "source" / "scripts").iterdir()]) == 4


# Timeout in seconds on a loaded machine.
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
    words: Sequence[str], one_mpi: Mpi, tmp_path: Path
) -> None:
    started = tmp_path / "started"
    launcher = tmp_path / "launch"
    launcher.write_text(
        f"#!/bin/sh\necho $$ > {started}.new; mv {started}.new {started}\nexec sleep 600\n"
    )
    launcher.chmod(0o755)
    tisim = [sys.executable, "-m", "tisim", *words, "--mpicc", one_mpi.cc]
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
    one_mpi: Mpi, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Like MPICH's ranks in MPI_Finalize, over UCX and TCP."""
    launcher = tmp_path / "launch"
    launcher.write_text(f'#!/bin/sh\n{one_mpi.run} -n 4 "$@"\nexec sleep 600\n')
    launcher.chmod(0o755)
    monkeypatch.setattr("tisim.studies.execute.execution.SECONDS_TO_FINALIZE", 0.3)
    executed = execute(
        Trace.open(RING), [str(launcher)], repeat=2, directory=tmp_path, compiler=one_mpi.cc
    )
    assert len(executed.repetitions) == 2


def _runs(stat: Path) -> bool:
    """Return whether a process exists and is not a zombie."""
    try:
        return stat.read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def _wait_for(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + _PATIENCE
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)
