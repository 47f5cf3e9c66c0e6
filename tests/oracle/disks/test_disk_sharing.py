"""Reads and writes that share disks, and MPI-IO on a disk, end at the times of SimGrid 3.32."""

from __future__ import annotations

import math
import random
import shutil
import subprocess
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
import simpy

import tisim
from tests.oracle.simgrid_exec import missing_s4u, s4u_program
from tisim.kernel import Environment

# Seconds: a sleep that ends within this time after an event ends with it (precision/timing).
_PRECISION = 1e-9

#: Bandwidths of reads and writes, in bytes/s, by host and disk.
Bandwidths = dict[tuple[str, str], tuple[float, float]]


def rates(read: float, write: float, reads: int, writes: int) -> tuple[float, float]:
    """Return the rates of each read and each write of a disk: max-min fair shares."""
    both = max(read, write)
    fair = both / (reads + writes)
    of_read = read / reads if reads else math.inf
    of_write = write / writes if writes else math.inf
    if fair <= min(of_read, of_write):
        return fair, fair
    if of_read < of_write:
        return of_read, min(of_write, (both - read) / writes) if writes else 0.0
    return min(of_read, (both - write) / reads) if reads else 0.0, of_write


def rounded_ends(accesses: Sequence[Access], bandwidths: Bandwidths) -> list[float]:
    """Return the time at which each access ends."""
    ends = [math.nan] * len(accesses)
    waiting = sorted(range(len(accesses)), key=lambda i: accesses[i].start, reverse=True)
    left: dict[int, float] = {}
    now = 0.0
    while waiting or left:
        rate = _rate_of_each(accesses, bandwidths, left)
        delta = min((left[i] / rate[i] for i in left), default=math.inf)
        if waiting:
            delta = min(delta, accesses[waiting[-1]].start - now)
        now += delta
        for i in list(left):
            left[i] -= round(rate[i] * delta)  # half to even, as rint
            if left[i] <= 0:
                ends[i] = now
                del left[i]
        while waiting and accesses[waiting[-1]].start - now < _PRECISION:
            i = waiting.pop()
            left[i] = float(accesses[i].nbytes)
    return ends


def _rate_of_each(
    accesses: Sequence[Access], bandwidths: Bandwidths, active: dict[int, float]
) -> dict[int, float]:
    users = {disk: [0, 0] for disk in bandwidths}
    for i in active:
        users[accesses[i].host, accesses[i].disk][accesses[i].writes] += 1
    shares = {
        disk: rates(*bandwidths[disk], *counts) for disk, counts in users.items() if any(counts)
    }
    return {i: shares[accesses[i].host, accesses[i].disk][accesses[i].writes] for i in active}


pytestmark = [
    pytest.mark.oracle,
    pytest.mark.skipif(missing_s4u() is not None, reason=str(missing_s4u())),
]
SOURCE = Path(__file__).with_name("run_disks.cpp")
RUNS, CASES_A_RUN = 10, 30


@dataclass(frozen=True)
class Access:
    """One read or write: its start time, disk and number of bytes."""

    start: float
    host: str
    disk: str
    writes: bool
    nbytes: int


@dataclass(frozen=True)
class Machine:
    """Hosts with disks, each a separate case, and their accesses."""

    xml: str
    accesses: tuple[Access, ...]
    bandwidths: Bandwidths


def draw(seed: int, least: int = 10**12, most: int = 10**13, multiple: int = 2) -> Machine:
    """Draw hosts with one or two disks, each shared by up to twelve accesses.

    The disks are fast: SimGrid rounds the progress of an access to whole bytes at every event of
    the simulation, an error of up to half a byte's time each (docs/adr/0033). Bandwidths are
    between `least` and `most` bytes/s, and no access moves more than `most`. A disk may read
    `multiple` times as fast as it writes.
    """
    rng = random.Random(seed)
    hosts, accesses = [], []
    bandwidths: Bandwidths = {}
    for number in range(CASES_A_RUN):
        host = f"h{number}"
        disks = []
        for disk in ("a", "b")[: rng.choice((1, 1, 2))]:
            write = rng.randint(least, most)
            read = rng.choice((write, multiple * write, rng.randint(least, most)))
            bandwidths[host, disk] = float(read), float(write)
            disks.append(
                f'<disk id="{disk}" read_bw="{read}Bps" write_bw="{write}Bps">'
                f'<prop id="mount" value="/{disk}"/></disk>'
            )
            share = rng.choice((0.0, 0.5, 0.5, 1.0))
            for _ in range(rng.randint(1, 12)):
                start = rng.choice((0.0, rng.uniform(0, 3), 0.5 * rng.randint(0, 4)))
                nbytes = rng.choice((0, least, rng.randint(1, least), rng.randint(1, most)))
                accesses.append(Access(start, host, disk, rng.random() < share, nbytes))
        hosts.append(f'<host id="{host}" speed="1Gf">{"".join(disks)}</host>')
    body = "".join(hosts)
    xml = f'<platform version="4.1"><zone id="z" routing="Full">{body}</zone></platform>'
    head = '<?xml version="1.0"?><!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">'
    return Machine(head + xml, tuple(accesses), bandwidths)


def simgrid_ends(machine: Machine, platform: Path) -> list[float]:
    lines = [
        f"{a.start!r} {a.host} {a.disk} {'write' if a.writes else 'read'} {a.nbytes}"
        for a in machine.accesses
    ]
    run = subprocess.run(
        [s4u_program(SOURCE), str(platform), "--log=root.thres:critical"],
        input="\n".join(lines),
        capture_output=True,
        text=True,
        check=True,
    )
    return [float(word) for word in run.stdout.split()]


def tisim_ends(machine: Machine, platform: Path) -> list[float]:
    env = Environment(tisim.Platform.load(platform))
    ends = [-1.0] * len(machine.accesses)

    def run(number: int, access: Access) -> Generator[simpy.Event, None, None]:
        yield env.timeout(access.start)
        start = env.write if access.writes else env.read
        yield start(access.host, f"/{access.disk}/file", access.nbytes)
        ends[number] = env.now

    for number, access in enumerate(machine.accesses):
        env.process(run(number, access))
    env.run()
    return ends


@pytest.mark.parametrize("seed", range(RUNS))
def test_disks_are_shared_as_in_simgrid(seed: int, tmp_path: Path) -> None:
    machine = draw(seed)
    platform = tmp_path / "platform.xml"
    platform.write_text(machine.xml)
    theirs = simgrid_ends(machine, platform)
    assert tisim_ends(machine, platform) == pytest.approx(theirs, rel=0, abs=1e-9)


@pytest.mark.parametrize("seed", range(RUNS))
def test_what_differs_on_slower_disks_is_the_rounding(seed: int, tmp_path: Path) -> None:
    """With SimGrid's rounding, the same shares give SimGrid's times.

    Not for disks that read twice as fast as they write: the last bit of a rate decides how half a
    byte is rounded.
    """
    machine = draw(seed, 10**8, 10**9, multiple=1)
    platform = tmp_path / "platform.xml"
    platform.write_text(machine.xml)
    theirs = simgrid_ends(machine, platform)
    rounded = rounded_ends(machine.accesses, machine.bandwidths)
    assert rounded == pytest.approx(theirs, rel=0, abs=1e-9)
    assert tisim_ends(machine, platform) == pytest.approx(theirs, rel=0, abs=1e-6)


pytestmark = [
    pytest.mark.oracle,
    pytest.mark.skipif(shutil.which("smpicc") is None, reason="smpicc is not installed"),
]
MPI_IO_SOURCE = Path(__file__).with_name("run_mpi_io.c")
MPI_IO_RANKS, CALLS, MPI_IO_CASES = 4, 8, 10
# SMPI crashes (segmentation fault) if the platform does not list the content of the disk.
LENGTH = 10**12
ONE_DISK = f"""<?xml version="1.0"?><!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1"><zone id="z" routing="Full">
  <host id="a" speed="1Gf" core="{MPI_IO_RANKS}"><disk id="d" read_bw="200MBps" write_bw="80MBps">
    <prop id="mount" value="/scratch"/><prop id="size" value="5000GiB"/>
    <prop id="content" value="content.txt"/></disk></host>
</zone></platform>
"""


def draw_calls(seed: int) -> list[tuple[int, str, int, int]]:
    """Draw calls (rank, call, bytes or flops, offset) in an order that each rank follows.

    No rank reads after it has written: in SMPI, a write truncates the file after it. Collective
    calls have parts of one size in rank order: SMPI redistributes others before writing them.
    """
    rng = random.Random(seed)
    together = rng.choice((None, "write", "read"))
    kinds = [together or rng.choice(("write", "read")) for _ in range(MPI_IO_RANKS)]
    lines = []
    for _ in range(CALLS):
        if together and rng.random() < 0.3:
            size = rng.randint(1, 40_000_000)
            lines += [
                (rank, f"{together}_at_all", size, rank * size) for rank in range(MPI_IO_RANKS)
            ]
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
            *(
                "smpirun",
                "-np",
                str(MPI_IO_RANKS),
                "-platform",
                "platform.xml",
                "-hostfile",
                "hosts",
            ),
            *("--cfg=smpi/simulate-computation:no", mpi_io_program, "script"),
        ],
        cwd=directory,
        capture_output=True,
        text=True,
        check=True,
    )
    ends = dict(line.split() for line in run.stdout.splitlines() if line[:1].isdigit())
    return [float(ends[str(rank)]) for rank in range(MPI_IO_RANKS)]


@pytest.fixture(scope="module")
def mpi_io_program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("smpi") / "run_mpi_io"
    subprocess.run(["smpicc", "-O1", MPI_IO_SOURCE, "-o", made], check=True, capture_output=True)
    return made


@pytest.mark.parametrize("seed", range(MPI_IO_CASES))
def test_random_programs_end_when_smpi_says(
    seed: int, mpi_io_program: Path, tmp_path: Path
) -> None:
    lines = draw_calls(seed)
    (tmp_path / "platform.xml").write_text(ONE_DISK)
    (tmp_path / "content.txt").write_text(f"/f {LENGTH}\n")
    (tmp_path / "hosts").write_text("a\n" * MPI_IO_RANKS)
    (tmp_path / "script").write_text("".join(f"{r} {c} {n} {o}\n" for r, c, n, o in lines))
    opened = "".join(
        f"{rank} file_open 0 /scratch/f rwc size={LENGTH}\n" for rank in range(MPI_IO_RANKS)
    )
    trace = tmp_path / "trace.txt"
    trace.write_text(opened + "".join(f"{r} {action(c, n, o)}\n" for r, c, n, o in lines))
    result = tisim.replay(trace, platform=tmp_path / "platform.xml", hosts=["a"] * MPI_IO_RANKS)
    expected = simulated_by_smpi(tmp_path, mpi_io_program)
    assert result.finish.tolist() == pytest.approx(expected, rel=1e-6, abs=1e-9)
