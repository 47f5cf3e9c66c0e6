"""Small machines with a file system whose times have closed forms."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

import tisim
from tests.support import write_trace
from tisim.analysis.result import Result
from tisim.platform.deployment import Deployment

#: Messages take only their latency and their size over the bandwidth.
PLAIN = {
    "network/model": "CM02",
    "network/crosstraffic": "no",
    "network/TCP-gamma": 0,
    "network/bandwidth-factor": 1,
    "network/latency-factor": 1,
}

#: Hosts ``c-0``, ... with a link of 1 MB/s and 1 ms each; a route has two of these.
CLUSTER = """
<platform version="4.1"><zone id="z" routing="Full">
  {properties}
  <cluster id="c" prefix="c-" suffix="" radical="0-{last}" speed="1Gf" bw="1MBps" lat="1ms"
    sharing_policy="SPLITDUPLEX"/>
</zone></platform>
"""
BANDWIDTH, LATENCY = 1e6, 2e-3

#: Replays the lines of each rank; rank i is on host ``c-i``.
StorageReplay = Callable[..., Result]


def machine(folder: Path, hosts: int, **file_systems: str) -> Path:
    """Return a platform file with file systems of these names and lines."""
    properties = "".join(
        f'<prop id="tisim/file-system/{name}" value="{line}"/>'
        for name, line in file_systems.items()
    )
    path = folder / "machine.xml"
    path.write_text(CLUSTER.format(properties=properties, last=hosts - 1))
    return path


@pytest.fixture
def machine_off(monkeypatch: pytest.MonkeyPatch) -> None:
    """Turn off the hosts c-9 and c-15 from 0.1 s on."""
    off = "".join(
        f'<trace id="t{host}" periodicity="-1">0.1 0</trace>'
        f'<trace_connect trace="t{host}" element="c-{host}"/>'
        for host in (9, 15)
    )
    monkeypatch.setattr(f"{__name__}.CLUSTER", CLUSTER.replace("</zone>", "</zone>" + off))


@pytest.fixture
def store(tmp_path: Path) -> StorageReplay:
    def run(
        line: str,
        *ranks: str,
        hosts: int = 16,
        config: Mapping[str, str] | None = None,
        **options: object,
    ) -> Result:
        return tisim.replay(
            write_trace(tmp_path, *ranks),
            platform=machine(tmp_path, hosts, pfs=line),
            deployment=Deployment.cyclic([f"c-{rank}" for rank in range(len(ranks))], len(ranks)),
            config=PLAIN | dict(config or {}),
            **options,
        )

    return run
