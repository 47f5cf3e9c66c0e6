"""Replays of small traces that read and write files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import tisim
from tests.support import write_trace
from tisim.analysis.result import Result
from tisim.platform.deployment import Deployment
from tisim.traces import check, pack

# Two hosts, each with a disk, of 200 and 80 bytes/s, and a third one without.
PLATFORM = """
<platform version="4.1"><zone id="z" routing="Full">
  <host id="a" speed="1Gf"><disk id="d" read_bw="200" write_bw="80">
    <prop id="mount" value="/scratch"/><prop id="size" value="1000B"/></disk></host>
  <host id="b" speed="1Gf"><disk id="d" read_bw="200" write_bw="80">
    <prop id="mount" value="/scratch"/></disk></host>
  <host id="c" speed="1Gf"/>
  <link id="l" bandwidth="1GBps" latency="1us"/>
  <route src="a" dst="b"><link_ctn id="l"/></route>
  <route src="a" dst="c"><link_ctn id="l"/></route>
  <route src="b" dst="c"><link_ctn id="l"/></route>
</zone></platform>
"""

#: Replays the lines of each rank, on the hosts of that name.
Replay = Callable[..., Result]


@pytest.fixture
def replay(tmp_path: Path) -> Replay:
    platform = tmp_path / "platform.xml"
    platform.write_text(PLATFORM)

    def run(*ranks: str, hosts: str = "", **options: object) -> Result:
        placed = list(hosts or "a" * len(ranks))
        return tisim.replay(
            write_trace(tmp_path, *ranks),
            platform=platform,
            deployment=Deployment.cyclic(placed, len(ranks)),
            **options,
        )

    return run


def findings(folder: Path, *ranks: str) -> list[str]:
    """Return the findings of a check of these programs."""
    trace = tisim.Trace.open(write_trace(folder, *ranks))
    return [finding.message for finding in check(trace).findings]


def packed_again(folder: Path, result: Result, **options: object) -> Path:
    """Pack the trace whose replay on host a gave `result`, and assert the same result."""
    packed = folder / "packed.tit"
    pack(folder / "trace.txt", packed)
    hosts = ["a"] * len(result.hosts)
    again = tisim.replay(packed, platform=folder / "platform.xml", hosts=hosts, **options)
    assert again.finish.tolist() == result.finish.tolist()
    assert again.io == result.io
    return packed
