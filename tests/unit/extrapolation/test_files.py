"""Calls of MPI-IO are extrapolated as any others: offsets, counts, names and handles."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.extrapolation.test_solvers import Program, written
from tisim.traces.extrapolation import extrapolate
from tisim.traces.packed_program import PackedTrace

FIELD = 1 << 24


def checkpoints(rank: int, ranks: int) -> list[str]:
    """All ranks share a field; each has a file of its own; rank 0 keeps a log of them."""
    part = FIELD // ranks
    lines = [
        "file_open 0 field.dat wc",
        f"file_set_size 0 {FIELD + 64 * ranks}",
        *[f"file_write_at_all 0 {part} {rank * part}", "file_sync 0"] * 3,
        f"file_write_at 0 64 {FIELD + 64 * (ranks - 1 - rank)}",
        "file_write_ordered 0 512",
        "file_close 0",
    ]
    if rank == 0:
        lines += ["open 1 log.txt wc", f"write 1 {80 * ranks}", "close 1"]
    return lines


def strides(rank: int, ranks: int) -> list[str]:
    """Blocks of all ranks in turn; the first and the last have headers of their own."""
    lines = ["file_open 0 blocks.dat rwc"]
    lines += [f"file_write_at 0 4096 {4096 * (ranks * block + rank)}" for block in range(4)]
    if rank in (0, ranks - 1):
        lines += [f"file_seek 0 {4096 * 4 * ranks} set", "file_write 0 128"]
    return [*lines, "file_seek_shared 0 0 set", "file_read_shared 0 1024", "file_close 0"]


def views(rank: int, ranks: int) -> list[str]:
    """Blocks of all ranks in turn by a view, and the rows of each rank's tile."""
    part = FIELD // ranks
    return [
        "file_open 0 blocks.dat rwc",
        f"file_set_view 0 {4096 * rank} 4096 {4096 * ranks}",
        *["file_write_all 0 16384", f"file_write_at_all_begin 0 {part} 65536"] * 2,
        "file_write_at_all_end 0",
        f"file_set_view 0 {64 * rank} 64 {ranks} {64 * ranks} {64 * ranks * ranks}",
        "file_read_all 0 512",
        "file_close 0",
    ]


def groups(rank: int, ranks: int) -> list[str]:
    """A file for four ranks and one for a quarter of all, and one for each of two steps."""
    names = [f"of-{rank // 4:03d}.dat", f"{4 * rank // ranks}.dat", "chk-001.h5", "chk-002.h5"]
    return [line for name in names for line in (f"open 3 {name} wc", "write 3 512", "close 3")]


def shares(rank: int, ranks: int) -> list[str]:
    """Blocks of a field of 4,096, dealt in turn, so that the number of ranks says how many each
    writes; they are read from the last to the first.
    """
    count = 4096 // ranks
    lines = ["file_open 0 field.dat rwc", "open 1 log.txt wc"]
    lines += [f"file_write_at 0 64 {64 * (ranks * i + rank)} layer=mpi" for i in range(count)]
    for i in reversed(range(count)):
        lines += [f"file_read_at 0 64 {64 * (ranks * i + rank)}", f"pwrite 1 8 {8 * (count - i)}"]
    return [*lines, "close 1", "file_close 0"]


@pytest.mark.parametrize("program", [checkpoints, strides, views, groups, shares])
def test_calls_on_files_are_exact_at_many_times_the_ranks(program: Program, tmp_path: Path) -> None:
    traces = [written(program, ranks, tmp_path) for ranks in (4, 8, 16)]
    made = tmp_path / "made.tit"
    extrapolate(traces, 1024, made)
    expected = PackedTrace(written(program, 1024, tmp_path))
    found = PackedTrace(made)
    for rank in range(1024):
        assert list(found.lines(rank)) == list(expected.lines(rank)), rank
