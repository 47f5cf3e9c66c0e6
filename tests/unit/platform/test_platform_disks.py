"""Disks of hosts in platform files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tisim.errors import InputError
from tisim.platform import Platform, PlatformBuilder

Load = Callable[[str], Platform]
TWO_DISKS = """
<disk id="ssd" read_bw="2GBps" write_bw="1GBps">
  <prop id="mount" value="/scratch"/><prop id="size" value="500GiB"/>
</disk>
<disk id="hdd" read_bw="200MBps" write_bw="80MBps"><prop id="mount" value="/"/></disk>
"""


@pytest.fixture
def load(tmp_path: Path) -> Load:
    def load_disks(disks: str) -> Platform:
        path = tmp_path / "platform.xml"
        path.write_text(
            '<platform version="4.1"><zone id="z" routing="Full">'
            f'<host id="a" speed="1Gf"/><host id="b" speed="1Gf">{disks}</host></zone></platform>'
        )
        return Platform.load(path)

    return load_disks


def test_a_platform_lists_its_disks(load: Load) -> None:
    ssd, hdd = load(TWO_DISKS).disks
    assert (ssd.name, ssd.host, ssd.index) == ("ssd", 1, 0)
    assert (ssd.read_bandwidth, ssd.write_bandwidth) == (2e9, 1e9)
    assert (ssd.mount, ssd.size) == ("/scratch", 500 * 2**30)
    assert (hdd.mount, hdd.size) == ("/", float("inf"))
    assert dict(hdd.properties) == {"mount": "/"}


def test_the_longest_mount_point_holds_a_file(load: Load) -> None:
    platform = load(TWO_DISKS)
    assert platform.disk_of(1, "/scratch/x") == 0
    assert platform.disk_of(1, "/scratches/x") == 1
    assert platform.disk_of(1, "x") == 0


def test_a_file_without_a_disk_is_refused(load: Load) -> None:
    with pytest.raises(InputError, match="no disk of host 'a' holds '/x': it has none"):
        load(TWO_DISKS).disk_of(0, "/x")
    only = load('<disk id="d" read_bw="1" write_bw="1"><prop id="mount" value="/d"/></disk>')
    with pytest.raises(InputError, match="its disks are mounted at /d"):
        only.disk_of(1, "/x")


def test_disks_are_written_as_they_were_read(load: Load, tmp_path: Path) -> None:
    platform = load(TWO_DISKS)
    platform.write(tmp_path / "again.xml")
    assert Platform.load(tmp_path / "again.xml").disks == platform.disks


@pytest.mark.parametrize(
    ("disks", "message"),
    [
        ('<disk id="d" write_bw="1"/>', "<disk> needs the attribute read_bw"),
        ('<disk id="d" read_bw="0" write_bw="1"/>', "read_bw of disk d must be above zero"),
        ('<disk read_bw="1" write_bw="1"/>' * 2, "the host has two disks named '/'"),
        (
            '<disk id="d" read_bw="1" write_bw="1"><prop id="mount" value="tmp"/></disk>',
            "a disk is mounted at a path from the root, not at 'tmp'",
        ),
        (
            "".join(
                f'<disk id="{name}" read_bw="1" write_bw="1"><prop id="mount" value="/t"/></disk>'
                for name in "ab"
            ),
            "the disks 'a' and 'b' are both mounted at /t",
        ),
        (
            '<disk id="d" read_bw="1" write_bw="1"><prop id="size" value="big"/></disk>',
            "size of disk d",
        ),
    ],
)
def test_disks_that_make_no_sense_are_refused(load: Load, disks: str, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        load(disks)
    assert caught.value.line == 1


CLUSTER = """<platform version="4.1">
<cluster id="c" prefix="c-" suffix="" radical="0-2" speed="1Gf" bw="1GBps" lat="1us">
<prop id="tisim/disk" value="{}"/></cluster></platform>"""


def cluster(tmp_path: Path, text: str) -> Platform:
    path = tmp_path / "cluster.xml"
    path.write_text(CLUSTER.format(text))
    return Platform.load(path)


def test_each_host_of_a_cluster_has_the_disk_of_its_property(tmp_path: Path) -> None:
    platform = cluster(tmp_path, "read=2GBps, write=1GBps, mount=/scratch, size=1kB")
    assert [(disk.name, disk.host) for disk in platform.disks] == [("disk", i) for i in range(3)]
    disk = platform.disks[2]
    assert (disk.read_bandwidth, disk.write_bandwidth, disk.mount, disk.size) == (
        2e9, 1e9, "/scratch", 1000,
    )  # fmt: skip
    assert platform.disk_of(1, "/scratch/x") == 1
    platform.write(tmp_path / "again.xml")
    assert Platform.load(tmp_path / "again.xml").disks == platform.disks


def test_a_host_may_describe_a_disk_too(tmp_path: Path) -> None:
    builder = PlatformBuilder("one disk")
    with builder.zone("z"):
        builder.host("a", 1e9, properties={"tisim/disk": "read=2,write=1,id=ssd"})
    assert [(disk.name, disk.read_bandwidth) for disk in builder.build().disks] == [("ssd", 2.0)]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("read=1", "tisim/disk: a disk needs write=RATE"),
        ("", "tisim/disk: a disk is read=RATE,write=RATE and perhaps .*; '' is none of these"),
        ("read=1,write=2,speed=3", "'speed=3' is none of these"),
        ("read=0,write=2", "read_bw of disk disk must be above zero"),
        ("read=1,write=2,mount=x", "a disk is mounted at a path from the root, not at 'x'"),
    ],
)
def test_properties_that_describe_no_disk(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        cluster(tmp_path, text)
    assert caught.value.line == 2


def test_disks_are_made_in_python() -> None:
    builder = PlatformBuilder("two disks")
    with builder.zone("z"):
        builder.host("a", 1e9, disks={"d": ("2GBps", 1e9, "/scratch"), "raw": (1, 2, "")})
    disks = builder.build().disks
    assert [(d.name, d.read_bandwidth, d.mount) for d in disks] == [
        ("d", 2e9, "/scratch"),
        ("raw", 1.0, ""),
    ]
    with pytest.raises(InputError, match="a disk is its two bandwidths and its mount point"):
        PlatformBuilder("no disk").host("a", 1e9, disks={"d": (1, 2)})  # type: ignore[dict-item]
