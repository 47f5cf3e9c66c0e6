"""File systems as properties of zones, in new platforms, and used by processes."""

from __future__ import annotations

import math
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

import tisim
from tests.unit.storage.conftest import BANDWIDTH, LATENCY, PLAIN, machine
from tisim.errors import InputError
from tisim.kernel import Environment
from tisim.platform import new
from tisim.platform.new import write_with_deployment
from tisim.platform.report import describe

WHOLE = (
    "type=striped,mount=/p/,servers=c-{4-5} c-7 c-1?,read=2GBps,write=1GBps,stripe=64KiB,count=all,"
    "metadata=c-3,metadata-latency=1ms,metadata-rate=5,request=2MiB,window=3,header=0B,size=1TB"
)


def test_all_words(tmp_path: Path) -> None:
    platform = tisim.Platform.load(machine(tmp_path, 12, scratch=WHOLE))
    (system,) = platform.file_systems
    assert [platform.disks[disk].host for disk in system.servers] == [4, 5, 7, 10, 11]
    assert {disk.read_bandwidth for disk in platform.disks} == {2e9}
    assert (system.name, system.type, system.mount) == ("scratch", "striped", "/p")
    assert (system.stripe, system.count, system.request, system.window) == (65536, 5, 2**21, 3)
    assert (system.metadata, system.metadata_latency, system.metadata_rate) == (3, 1e-3, 5.0)
    assert (system.header, system.size) == (0.0, 1e12)
    text = describe(platform).text()
    assert (
        "files      /p: scratch, striped, 5 servers, stripes of 65.54 kB on 5, holds 1 TB" in text
    )
    assert "reads 10 GB/s, writes 5 GB/s; metadata on c-3: 1 ms, 5 operations/s" in text


def test_words_not_given(tmp_path: Path) -> None:
    rates = "read=2GBps,write=1GBps"
    path = machine(
        tmp_path,
        4,
        a=f"mount=/a,servers=c-1 c-2,{rates}",
        b=f"type=nfs,mount=/b,servers=c-3,{rates}",
    )
    first, second = tisim.Platform.load(path).file_systems
    assert (first.stripe, first.count, first.request, first.window) == (2**20, 1, 2**22, 8)
    assert (first.metadata, first.metadata_latency, first.metadata_rate) == (1, 0.0, math.inf)
    assert (first.header, first.size) == (256.0, math.inf)
    assert (second.metadata, second.request, second.window) == (3, 2**20, 64)


def test_the_longest_mount_point_holds_a_file(tmp_path: Path) -> None:
    lines = {
        name: f"mount={at},servers=c-1,read=1GBps,write=1GBps"
        for name, at in (("a", "/"), ("b", "/data"), ("c", "/data/fast"))
    }
    platform = tisim.Platform.load(machine(tmp_path, 2, **lines))
    disks = len(platform.disks)
    assert [
        platform.disk_of(0, file) - disks for file in ("/x", "/data/x", "/data/fast/x", "x")
    ] == [0, 1, 2, 0]
    alone = tisim.Platform.load(machine(tmp_path, 2, b=lines["b"]))
    with pytest.raises(
        InputError, match="it has none, and the file systems of the platform at /data;"
    ):
        alone.disk_of(0, "/x")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("mount=/p", "needs servers="),
        ("servers=c-1", "needs mount="),
        ("mount=/p,servers=c-1,speed=3", "'speed=3' is none of these"),
        ("mount=p,servers=c-1,read=1,write=1", "mounted at an absolute path, not at 'p'"),
        ("mount=/p,servers=d-1,read=1,write=1", "servers=d-1: the platform has no such host; did"),
        (
            "mount=/p,servers=c-{2-9},read=1,write=1",
            r"servers=c-{2-9}: the platform has no host c-4",
        ),
        ("mount=/p,servers=c-{2-1},read=1,write=1", r"servers=c-{2-1}: the range 2-1 is empty"),
        ("mount=/p,servers=c-1", "the server 'c-1' has no disk; give it a <disk>"),
        ("mount=/p,servers=c-1,disk=ssd", "disk=ssd: the server 'c-1' has no disk with that name"),
        ("mount=/p,servers=c-1,read=1", "separate disks need read= and write="),
        ("mount=/p,servers=c-1,read=0,write=1", "read and write must be above zero"),
        ("mount=/p,servers=c-1,read=1,write=1,count=2", "at most all 1 servers"),
        ("mount=/p,servers=c-1,read=1,write=1,count=0", "count must be a whole number above zero"),
        ("mount=/p,servers=c-1,read=1,write=1,stripe=0B", "stripe must be a whole number of bytes"),
        (
            "mount=/p,servers=c-1,read=1,write=1,request=2TiB",
            "request must be a whole number of bytes",
        ),
        ("mount=/p,servers=c-1,read=1,write=1,metadata=c-*", "4 hosts; only one is possible"),
        ("mount=/p,servers=c-1,read=1,write=1,metadata-rate=0", "operations per second above zero"),
        ("type=nfs,mount=/p,servers=c-*,read=1,write=1", "nfs must have one server, not 4"),
        ("type=xfs,mount=/p,servers=c-1", "the type nfs or striped, not 'xfs'"),
    ],
)
def test_what_is_refused(tmp_path: Path, line: str, message: str) -> None:
    with pytest.raises(InputError, match=r"machine.xml:2: tisim/file-system/p: ") as raised:
        tisim.Platform.load(machine(tmp_path, 4, p=line))
    assert message in raised.value.message


def test_two_file_systems_at_one_place(tmp_path: Path) -> None:
    line = "mount=/p,servers=c-1,read=1,write=1"
    with pytest.raises(InputError, match=r"'a' and 'b' are both mounted at /p"):
        tisim.Platform.load(machine(tmp_path, 4, a=line, b=line))


def test_a_cluster_has_no_file_system(tmp_path: Path) -> None:
    builder = tisim.PlatformBuilder("wrong")
    with pytest.raises(InputError, match="must be in a <zone>, not in a <cluster>"):
        builder.cluster(
            "c",
            2,
            speed=1e9,
            bandwidth=1e9,
            latency=0.0,
            properties={"tisim/file-system/p": "mount=/p"},
        )


@pytest.mark.parametrize("kind", [new.cluster, new.fat_tree])
def test_new_platforms(kind: Any, tmp_path: Path) -> None:
    hardware = {"bandwidth": "10Gbps", "latency": "1us", "speed": "1Gf"}
    platform = kind(12, pfs="servers=4,read=5GBps,write=3GBps,count=2,name=work", **hardware)
    files = write_with_deployment(platform, tmp_path / "p.xml")
    read = tisim.Platform.load(files[0])
    (system,) = read.file_systems
    assert system == platform.file_systems[0]
    assert (system.name, system.mount, system.count, system.metadata) == ("work", "/work", 2, 11)
    assert [read.disks[disk].host for disk in system.servers] == [7, 8, 9, 10]
    assert files[1].read_text().split() == [f"node-{number}" for number in range(7)]
    for words, message in (
        ("read=1,write=1", "it needs servers="),
        ("servers=11,read=1,write=1", "12 hosts; at least one more is needed for ranks"),
        ("servers=x,read=1,write=1", "servers must be a whole number above zero"),
    ):
        with pytest.raises(InputError, match="^pfs: .*" + message):
            kind(12, pfs=words, **hardware)


def test_processes(tmp_path: Path) -> None:
    line = "mount=/p,servers=c-2 c-3,read=2MBps,write=500kBps,stripe=100kB,count=2,header=0B"
    env = Environment(tisim.Platform.load(machine(tmp_path, 4, p=line)), config=PLAIN)
    ends = []

    def job(host: str, offset: float) -> Generator[Any, Any, Any]:
        yield env.write(host, "/p/f", 1e5, offset)
        ends.append(env.now)
        yield env.read(host, "/p/f", 1e5, offset)
        ends.append(env.now)

    env.process(job("c-0", 0))
    env.process(job("c-1", 1e5))
    env.run()
    written = 2 * LATENCY + 1e5 / BANDWIDTH + 1e5 / 5e5
    read = 2 * LATENCY + 1e5 / BANDWIDTH + 1e5 / 2e6
    assert ends == pytest.approx([written] * 2 + [written + read] * 2, rel=1e-12)
    with pytest.raises(InputError, match="whole numbers of bytes and offsets"):
        env.write("c-0", "/p/f", 1.5)
