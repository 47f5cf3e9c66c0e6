"""The programs of published measurements, and how their tables are read."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.public_hpl import Linpack
from benchmarks.public_tables import both_windows, read_imb, read_osu, turns, windows
from tisim import PlatformBuilder, replay


def text(programs: object) -> str:
    """The lines of all ranks."""
    assert isinstance(programs, (list, tuple))
    return "".join(f"{rank} {line}\n" for rank, lines in enumerate(programs) for line in lines)


@pytest.fixture
def platform(tmp_path: Path) -> Path:
    builder = PlatformBuilder()
    builder.cluster("node", 6, speed="1Gf", bandwidth="1e12Bps", latency="1ns")
    builder.build().write(tmp_path / "platform.xml")
    return tmp_path / "platform.xml"


@pytest.mark.parametrize("ahead", [False, True])
@pytest.mark.parametrize(("rows", "columns", "rings"), [(2, 3, 1), (3, 2, 2), (1, 6, 2), (6, 1, 1)])
def test_linpack_computes_what_it_must(
    tmp_path: Path, platform: Path, rows: int, columns: int, rings: int, ahead: bool
) -> None:
    run = Linpack(1000, 20, rows, columns, rings, ahead, a_triple=1e-9)
    program = [list(run.lines(rank)) for rank in range(rows * columns)]
    words = [line.split() for lines in program for line in lines]
    computed = sum(float(word[1]) for word in words if word[0] == "compute")
    # A multiplication and an addition are two of the 2/3 N^3 operations; each row of processes
    # solves the triangular systems of its columns itself.
    assert computed == pytest.approx(1000**3 / 3 + (rows - 1) * 1000**2 * 20 / 4, rel=0.01)
    (tmp_path / "trace").write_text(text(program))
    assert replay(tmp_path / "trace", platform=platform).simulated_time > 1 / 3 / rows / columns


@pytest.mark.parametrize("program", [windows(3, 100), both_windows(100), turns("Bcast", 100, 3)])
def test_programs_of_benchmarks_come_to_their_end(
    tmp_path: Path, platform: Path, program: object
) -> None:
    (tmp_path / "trace").write_text(text(program))
    assert replay(tmp_path / "trace", platform=platform).simulated_time > 0


def test_tables_are_read(tmp_path: Path) -> None:
    assert read_osu("# Size  Latency (us)\n1      2.50\n1024   3\n") == [(1, 2.5), (1024, 3.0)]
    (tmp_path / "imb").write_text(
        "# Benchmarking PingPong\n #bytes #repetitions t[usec] Mbytes/sec\n 8 1000 1.5 5\n"
        "# Benchmarking Bcast\n #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]\n"
        " 8 1000 1.0 3.0 2.0\n"
    )
    assert read_imb(tmp_path / "imb") == {"Bcast": [(8, 2.0)]}
