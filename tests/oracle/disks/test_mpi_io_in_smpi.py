"""Calls of MPI-IO on one disk end when SimGrid 3.32's own MPI_File functions do."""

from __future__ import annotations

import random
import shutil
import subprocess
from pathlib import Path

import pytest

import tisim

pytestmark = [
    pytest.mark.oracle,
    pytest.mark.skipif(shutil.which("smpicc") is None, reason="smpicc is not installed"),
]
MPI_IO_SOURCE = Path(__file__).with_name("run_mpi_io.c")
RANKS, CALLS, MPI_IO_CASES = 4, 8, 10
# SMPI ends in a segmentation fault where the platform does not say what is on the disk.
LENGTH = 10**12
PLATFORM = f"""<?xml version="1.0"?><!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1"><zone id="z" routing="Full">
  <host id="a" speed="1Gf" core="{RANKS}"><disk id="d" read_bw="200MBps" write_bw="80MBps">
    <prop id="mount" value="/scratch"/><prop id="size" value="5000GiB"/>
    <prop id="content" value="content.txt"/></disk></host>
</zone></platform>
"""


def draw(seed: int) -> list[tuple[int, str, int, int]]:
    """Rank, call, bytes or flops, and offset of each call, in an order that each rank follows.

    No rank reads after it has written: in SMPI a write cuts the file behind it. Collective calls
    have parts of one size in the order of ranks: SMPI redistributes others before it writes them.
    """
    rng = random.Random(seed)
    together = rng.choice((None, "write", "read"))
    kinds = [together or rng.choice(("write", "read")) for _ in range(RANKS)]
    lines = []
    for _ in range(CALLS):
        if together and rng.random() < 0.3:
            size = rng.randint(1, 40_000_000)
            lines += [(rank, f"{together}_at_all", size, rank * size) for rank in range(RANKS)]
            continue
        for rank, kind in enumerate(kinds):
            call = rng.choice(("compute", f"{kind}_at", kind))
            most = 2_000_000_000 if call == "compute" else 60_000_000
            lines.append((rank, call, rng.randint(1, most), rng.randint(0, 10**9)))
    return lines


def action(call: str, size: int, offset: int) -> str:
    if call == "compute":
        return f"compute {size}"
    return f"file_{call} 0 {size}" + (f" {offset}" if "at" in call.split("_") else "")


def simulated_by_smpi(directory: Path, mpi_io_program: Path) -> list[float]:
    run = subprocess.run(
        [
            *("smpirun", "-np", str(RANKS), "-platform", "platform.xml", "-hostfile", "hosts"),
            *("--cfg=smpi/simulate-computation:no", mpi_io_program, "script"),
        ],
        cwd=directory,
        capture_output=True,
        text=True,
        check=True,
    )
    ends = dict(line.split() for line in run.stdout.splitlines() if line[:1].isdigit())
    return [float(ends[str(rank)]) for rank in range(RANKS)]


@pytest.fixture(scope="module")
def mpi_io_program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("smpi") / "run_mpi_io"
    subprocess.run(["smpicc", "-O1", MPI_IO_SOURCE, "-o", made], check=True, capture_output=True)
    return made


@pytest.mark.parametrize("seed", range(MPI_IO_CASES))
def test_random_programs_end_when_smpi_says(
    seed: int, mpi_io_program: Path, tmp_path: Path
) -> None:
    lines = draw(seed)
    (tmp_path / "platform.xml").write_text(PLATFORM)
    (tmp_path / "content.txt").write_text(f"/f {LENGTH}\n")
    (tmp_path / "hosts").write_text("a\n" * RANKS)
    (tmp_path / "script").write_text("".join(f"{r} {c} {n} {o}\n" for r, c, n, o in lines))
    opened = "".join(f"{rank} file_open 0 /scratch/f rwc size={LENGTH}\n" for rank in range(RANKS))
    trace = tmp_path / "trace.txt"
    trace.write_text(opened + "".join(f"{r} {action(c, n, o)}\n" for r, c, n, o in lines))
    result = tisim.replay(trace, platform=tmp_path / "platform.xml", hosts=["a"] * RANKS)
    expected = simulated_by_smpi(tmp_path, mpi_io_program)
    assert result.finish.tolist() == pytest.approx(expected, rel=1e-6, abs=1e-9)
