"""Platforms of GPUs in SimGrid."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

import tisim
from tests.oracle.simgrid_exec import run_oracle
from tisim.gpu import machine
from tisim.gpu.machines_platform import gpu_cluster

pytestmark = pytest.mark.oracle


@pytest.mark.parametrize("name", ["a100", "v100"])
def test_simgrid_reads_them_and_sends_on_the_same_links(
    name: str, root: Path, tmp_path: Path
) -> None:
    platform, hostfile = tmp_path / "g.xml", tmp_path / "hosts"
    gpu_cluster(replace(machine(name, 33), oversubscription=2)).write(platform)
    hosts = ["node-0-gpu-0", "node-0-gpu-5", "node-1-gpu-2", "node-32-gpu-7"]
    hostfile.write_text("\n".join(hosts) + "\n")
    traces = tmp_path / "ring"
    shutil.copytree(root / "traces/ring.4", traces)
    ours = tisim.replay(sorted(traces.glob("rank-*.txt")), platform=platform, hosts=hosts)
    theirs = run_oracle(platform, hostfile, traces)
    assert ours.ranks["finish"].tolist() == pytest.approx(theirs, rel=1e-6)
