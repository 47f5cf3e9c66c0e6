"""Flows of hundreds of ranks that are all connected, and out of step: beside SimGrid.

The network solves only a part of such systems at each change (ADR 21); the cases of the campaign
are too small for that.
"""

from __future__ import annotations

from pathlib import Path

import pytest

import tisim
from tests.oracle.simgrid_exec import run_oracle
from tisim.traces.generate import PATTERNS

RANKS = 512
PLATFORM = """<?xml version="1.0"?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
  <cluster id="flat" prefix="node-" suffix="" radical="0-511" speed="1Gf" bw="125MBps" lat="50us"
           sharing_policy="SPLITDUPLEX"/>
</platform>
"""


@pytest.mark.oracle
@pytest.mark.parametrize("imbalance", (0.0, 0.05))
def test_every_rank_of_a_halo_exchange_ends_when_simgrid_says(
    imbalance: float, tmp_path: Path
) -> None:
    platform, hostfile, trace = tmp_path / "flat.xml", tmp_path / "hosts", tmp_path / "halo"
    platform.write_text(PLATFORM)
    hosts = [f"node-{rank}" for rank in range(RANKS)]
    hostfile.write_text("".join(f"{host}\n" for host in hosts))
    halo = PATTERNS["halo3d"](
        ranks=RANKS, grid=(8, 8, 8), iterations=3, allreduce=8, imbalance=imbalance
    )
    halo.write(trace)
    theirs = run_oracle(platform, hostfile, trace)
    ours = tisim.replay(trace, platform=platform, hosts=hosts)
    assert list(ours.finish) == pytest.approx(theirs, rel=1e-6, abs=1e-9)
