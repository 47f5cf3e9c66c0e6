"""How ranks that compute side by side share the memory of their node."""

from __future__ import annotations

from pathlib import Path

import pytest

import tisim
from tests.unit.command_line import CommandLine
from tests.unit.record.programs import ENVIRONMENT, libraries
from tisim.errors import InputError
from tisim.platform import Platform
from tisim.platform.host_properties import memory_speeds
from tisim.studies.calibration.host import MemoryDemand, Scan, read_scan
from tisim.studies.calibration.platform_file import PlatformFile

NODE = """<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
 <cluster id="c" prefix="n" suffix="" radical="0-1" speed="2Gf" core="4" bw="1GBps" lat="1us">
  {}
 </cluster>
</platform>
"""
MEMORY = (
    '<prop id="tisim/memory-bandwidth" value="9GBps"/><prop id="tisim/memory-demand" value="3"/>'
)
SCAN = """what,ranks,amount,seconds
triad,1,24e6,0.004
triad,1,24e6,0.003
arithmetic,1,1e6,0.001
triad,2,24e6,0.004
arithmetic,2,1e6,0.001
# end 1
"""


def platform_of(directory: Path, properties: str) -> Platform:
    path = directory / "node.xml"
    path.write_text(NODE.format(properties))
    return Platform.load(path)


@pytest.mark.parametrize(
    ("properties", "ends"),
    [
        ("", [1.0, 1.5, 2.0, 0.5]),
        # All cores of a host together at 3 Gflop/s: three at 1 Gflop/s each for 2 s, two at 1.5 for
        # 2/3 s, the last at the speed of its core.
        (MEMORY, [2.0, 2.0 + 2 / 3, 2.0 + 2 / 3 + 0.5, 0.5]),
    ],
    ids=["alone", "shared"],
)
def test_computations_share_the_memory_of_a_host(
    properties: str, ends: list[float], tmp_path: Path
) -> None:
    platform = platform_of(tmp_path, properties)
    for rank, flops in enumerate((2e9, 3e9, 4e9, 1e9)):
        (tmp_path / f"rank{rank}").write_text(f"{rank} compute {flops:g}\n")
    trace = [tmp_path / f"rank{rank}" for rank in range(4)]
    hosts = ["n0", "n0", "n0", "n1"]
    for kernel in ("core", "simpy"):
        found = tisim.replay(trace, platform=platform, hosts=hosts, kernel=kernel)
        assert [*found.finish] == pytest.approx(ends, rel=1e-12), kernel


@pytest.mark.parametrize(
    ("properties", "message"),
    [
        ('<prop id="tisim/memory-bandwidth" value="9GBps"/>', "needs tisim/memory-demand beside"),
        (MEMORY.replace('"3"', '"0"'), "are above zero"),
        (MEMORY.replace('"3"', '"many"'), "are above zero"),
    ],
)
def test_wrong_properties_are_refused(properties: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=message):
        memory_speeds(platform_of(tmp_path, properties))


def test_the_demand_of_a_program() -> None:
    scan = read_scan(SCAN)
    assert scan.bandwidth == {1: 8e9, 2: 12e9}  # of the fastest repetition
    assert scan.arithmetic == {1: 1e9, 2: 2e9}
    assert scan.warning() is None
    busy = Scan(scan.bandwidth, {1: 1e9, 2: 2e9, 3: 1.5e9})
    assert "3 ranks computed less in registers than fewer" in (busy.warning() or "")
    demand = MemoryDemand(3e9, 2e9, 4, scan.most)
    assert demand.bytes_per_unit == 1.5
    assert demand.properties()["tisim/memory-demand"] == "1.5"
    unhindered = MemoryDemand(3e9, 2.95e9, 4, scan.most, 0.1234)
    assert unhindered.properties() == {"tisim/speed-deviation": "0.123"}
    with pytest.raises(InputError, match="nothing was measured"):
        read_scan("hello\n")


def test_properties_replace_those_of_the_file(tmp_path: Path) -> None:
    platform_of(tmp_path, MEMORY)
    file = PlatformFile.read(tmp_path / "node.xml")
    file.set_host_properties(MemoryDemand(3e9, 2e9, 4, 12e9).properties())
    file.write(tmp_path / "new.xml")
    assert [*memory_speeds(Platform.load(tmp_path / "new.xml"))] == [8e9, 8e9]


def test_the_command(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    if not libraries():
        pytest.skip("no mpicc and mpirun are installed")
    monkeypatch.chdir(tmp_path)
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    tisim_ = CommandLine(tmp_path, capsys)
    mpi = libraries()[0]
    outcome = tisim_("calibrate", "host", "--mpicc", mpi.cc, "--", mpi.run, "-n", "2")
    assert outcome.status == 0, outcome.err
    assert [line.split()[0] for line in outcome.out.splitlines()] == ["ranks", "1", "2"]
    outcome = tisim_("calibrate", "host", "--platform", "x.xml", "-o", "y.xml")
    assert outcome.status == 2
    assert "both --alone and --together" in outcome.err
