"""Exports of Nsight Systems as graphs."""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest

from tests.unit.command_line import CommandLine
from tisim.errors import InputError
from tisim.gpu.step_machine import STEP_MACHINES
from tisim.gpu.step_nsys import read_nsys
from tisim.gpu.step_run import run_step

A100 = replace(STEP_MACHINES["a100"], launch=0.0)
PROCESS = 7 << 24


def exported(path: Path, *, kernels: bool = True) -> Path:
    """Two GPUs of a process: kernels of two streams and a copy, and one kernel of NCCL."""
    base = sqlite3.connect(path)
    base.execute("CREATE TABLE StringIds (id INTEGER, value TEXT)")
    names = ["gemm", "ncclDevKernel_AllReduce", "cudaLaunchKernel_v7000", "cudaDeviceSynchronize"]
    base.executemany("INSERT INTO StringIds VALUES (?, ?)", enumerate(names))
    if kernels:
        base.execute(
            "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME "
            "(start INTEGER, end INTEGER, globalTid INTEGER, correlationId INTEGER, nameId INTEGER)"
        )
        base.executemany(
            "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (?, ?, ?, ?, ?)",
            [
                (1_000_000, 1_005_000, PROCESS + 1, 1, 2),
                (1_010_000, 1_015_000, PROCESS + 1, 2, 2),
                (1_020_000, 1_400_000, PROCESS + 1, 3, 3),
                (1_450_000, 1_455_000, PROCESS + 1, 4, 2),
                (1_010_000, 1_011_000, PROCESS + 2, 5, 2),
            ],
        )
        columns = "start, end, globalPid, deviceId, streamId, correlationId"
        base.execute(f"CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL ({columns}, shortName)")
        base.executemany(
            "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (?, ?, ?, ?, ?, ?, ?)",
            [
                (1_000_000, 1_300_000, PROCESS, 0, 7, 1, 0),
                (1_301_000, 1_400_000, PROCESS, 0, 9, 2, 1),
                (1_011_000, 1_111_000, PROCESS, 1, 7, 5, 0),
            ],
        )
        base.execute(f"CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY ({columns})")
        base.execute(
            "INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES "
            f"(1450000, 1550000, {PROCESS}, 0, 7, 4), (1600000, 1650000, {PROCESS}, 0, 7, 99)"
        )
    base.commit()
    base.close()
    return path


def test_streams_launches_waits_and_devices(tmp_path: Path, tisim: CommandLine) -> None:
    path = exported(tmp_path / "report.sqlite")
    recording = read_nsys(path)
    assert recording.graph.ranks == 2
    assert recording.seconds == pytest.approx(650e-6)
    assert (recording.kernels, recording.collectives, recording.kept) == (5, 1, 1)
    assert recording.lost == {"kernels whose launch was not recorded": 1}
    result = run_step(recording.graph, A100, logs=True)
    starts = [round(span.start * 1e6, 3) for span in result.spans if span.lane == 0]
    # As recorded but for the microsecond between two kernels.
    assert starts == [0, 300, 449, 599]
    outcome = tisim("step", str(path))
    assert "5 nodes, of which 1 communicate, 1 of them as recorded" in outcome.out


def test_what_is_no_export(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="has no kernels"):
        read_nsys(exported(tmp_path / "empty.sqlite", kernels=False))
    sqlite3.connect(tmp_path / "other.sqlite").execute("CREATE TABLE a (b)")
    with pytest.raises(InputError, match="not an export of Nsight Systems: no such table"):
        read_nsys(tmp_path / "other.sqlite")
    path = exported(tmp_path / "null.sqlite")
    base = sqlite3.connect(path)
    base.execute("UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET start = NULL")
    base.commit()
    base.close()
    with pytest.raises(InputError, match="not an export of Nsight Systems: unsupported operand"):
        read_nsys(path)
