"""Accesses of SimPy processes beside a trace: in the sums of servers, not in habits of ranks."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path

import simpy

import tisim
from tests.unit.storage.conftest import machine
from tisim.kernel import Environment

LINE = "mount=/p,servers=c-9,read=2MBps,write=500kBps,header=0B"


def test_servers_count_what_processes_do(tmp_path: Path) -> None:
    env = Environment(tisim.Platform.load(machine(tmp_path, 16, pfs=LINE)))
    trace = tmp_path / "trace.txt"
    trace.write_text("0 open 3 /p/f wc\n0 write 3 1e5\n0 sleep 10\n")
    results = []

    def run() -> Generator[simpy.Event, None, None]:
        yield env.write("c-1", "/p/other", 3e5) & env.read("c-2", "/p/f", 2e5)

    def job() -> Generator[simpy.Event, None, None]:
        results.append((yield env.replay(trace, ["c-0"])))

    env.process(run())
    env.process(job())
    env.run()
    (result,) = results
    servers = result.io["file_systems"]["pfs"]
    assert sum(servers["bytes_written"]) == 4e5
    assert sum(servers["bytes_read"]) == 2e5
    assert [(use["name"], use["writes"]["bytes"]) for use in result.io["files"]] == [("/p/f", 1e5)]
