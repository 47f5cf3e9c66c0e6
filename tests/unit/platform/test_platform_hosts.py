"""Hosts and links: their properties, disks, memory, profiles and bursts."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support import load_platform
from tisim.errors import InputError
from tisim.platform import Platform, PlatformBuilder
from tisim.platform.hosts import Radical
from tisim.platform.profiles import parse_profile
from tisim.studies.calibration import simulate

MANY = (
    '<platform version="4.1"><zone id="w" routing="Full">'
    '<cluster id="c" prefix="node1-" suffix=".a.org" radical="0-99999" speed="1Gf" bw="1GBps"'
    ' lat="1us" bb_bw="1GBps" loopback_bw="1GBps" limiter_link="1GBps" core="4"/>'
    '<cluster id="d" prefix="x" suffix="" radical="7,3,10-12" speed="2Gf" bw="1GBps" lat="1us"'
    ' sharing_policy="SHARED"><prop id="rack" value="9"/></cluster>'
    '<zone id="z" routing="Full"><host id="x1" speed="3Gf"/></zone></zone></platform>'
)


@pytest.fixture(scope="module")
def platform(tmp_path_factory: pytest.TempPathFactory) -> Platform:
    path = tmp_path_factory.mktemp("hosts") / "many.xml"
    path.write_text(MANY)
    return Platform.load(path)


def test_radicals() -> None:
    radical = Radical("0-2, 7 ,5-6")
    assert list(radical) == [0, 1, 2, 7, 5, 6]
    assert [radical[i] for i in range(len(radical))] == list(radical)
    assert [radical.find(n) for n in (7, 5, 3, -1)] == [3, 4, None, None]
    assert list(radical.head(4)) == [0, 1, 2, 7]


def test_hosts_by_index(platform: Platform) -> None:
    assert len(platform.hosts) == 100_006
    names = [platform.hosts[i].name for i in (0, 99999, 100000, 100001, -1)]
    assert names == ["node1-0.a.org", "node1-99999.a.org", "x7", "x3", "x1"]
    assert [host.name for host in platform.hosts[100000:100003]] == ["x7", "x3", "x10"]
    assert platform.hosts[100000].properties == {"rack": "9"}
    with pytest.raises(IndexError):
        platform.hosts[100_006]


def test_hosts_by_name(platform: Platform) -> None:
    for index in (0, 1, 54321, 99999, 100000, 100004, 100005):
        host = platform.hosts[index]
        assert platform.host(host.name) == host
        assert platform.host_index(host) == index
    assert platform.host("x1").zone == "z"
    assert platform.host("x3").zone == "d"
    assert platform.host("node1-5.a.org").cores == 4


@pytest.mark.parametrize("name", ["node1-007.a.org", "node1-100000.a.org", "x13", "", "node1-"])
def test_unknown_hosts(platform: Platform, name: str) -> None:
    with pytest.raises(InputError, match="has no host"):
        platform.host(name)


def test_an_unknown_host_is_told_its_neighbours(platform: Platform) -> None:
    with pytest.raises(
        InputError, match=r"has no host 'node1-1.b.org'; did you mean node1-1.a.org"
    ):
        platform.host("node1-1.b.org")


def test_links_of_clusters(platform: Platform) -> None:
    link = platform.link("c_link_77_limiter")
    assert (link.bandwidth, link.latency, link.fatpipe) == (1e9, 0.0, False)
    assert platform.links[link.index] == link
    assert platform.link("c_link_77_loopback").fatpipe
    assert platform.link("c_backbone").index == 0
    assert platform.link("d_link_12").latency == 1e-6
    with pytest.raises(InputError, match="has no link 'd_link_12_UP'"):
        platform.link("d_link_12_UP")


def test_every_link_has_its_name_once(platform: Platform) -> None:
    tail = platform.links[-8:]
    assert [link.name for link in tail[:-1]] == [
        "c_link_99999_UP",
        "c_link_99999_DOWN",
        *(f"d_link_{number}" for number in (7, 3, 10, 11, 12)),
    ]
    assert tail[-1].name == "__loopback__"


def test_a_platform_does_not_change(platform: Platform) -> None:
    with pytest.raises(ValueError, match="read-only"):
        platform.resources.host_speed[0] = 1.0
    with pytest.raises(AttributeError):
        platform.hosts[0].speed = 1.0  # type: ignore[misc]
    with pytest.raises(TypeError):
        platform.config["a"] = "b"  # type: ignore[index]


def test_router_names(tmp_path: Path) -> None:
    start = '<cluster id="c" prefix="p-" suffix=".s" radical="0-1" speed="1" bw="1" lat="0"'
    for more, name in (("", "p-c_router.s"), (' router_id="gate"', "gate")):
        platform = load_platform(tmp_path, f"{start}{more}/>")
        assert platform.topology.find_point(name) is not None


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
        return load_platform(
            tmp_path,
            '<zone id="z" routing="Full">'
            f'<host id="a" speed="1Gf"/><host id="b" speed="1Gf">{disks}</host></zone>',
        )

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
    with pytest.raises(InputError, match="no disk of host 'a' contains '/x': it has none"):
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
            "a disk must be mounted at an absolute path, not at 'tmp'",
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


CLUSTER = """
<cluster id="c" prefix="c-" suffix="" radical="0-2" speed="1Gf" bw="1GBps" lat="1us">
<prop id="tisim/disk" value="{}"/></cluster>"""


def cluster(tmp_path: Path, text: str) -> Platform:
    return load_platform(tmp_path, CLUSTER.format(text))


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
        (
            "",
            "tisim/disk: a disk must be read=RATE,write=RATE .*; '' is none of these",
        ),
        ("read=1,write=2,speed=3", "'speed=3' is none of these"),
        ("read=0,write=2", "read_bw of disk disk must be above zero"),
        ("read=1,write=2,mount=x", "a disk must be mounted at an absolute path, not at 'x'"),
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
    with pytest.raises(InputError, match="a disk must be two bandwidths and a mount point"):
        PlatformBuilder("no disk").host("a", 1e9, disks={"d": (1, 2)})  # type: ignore[dict-item]


def test_version_3_counts_the_period_from_the_last_date() -> None:
    assert parse_profile("0 1\n20 2", 1.0, loop_after=True).period == 21.0
    assert parse_profile("0 1\n20 2", 25.0).period == 25.0
    assert parse_profile("0 1\n20 2", -1.0).period is None


@pytest.mark.parametrize(
    ("text", "period", "says", "line"),
    [
        ("5 1\n3 2", None, "not decrease, but 3 does not", 2),
        ("-1 1", None, "must", 1),
        ("1 x", None, "'date value', not '1 x'", 1),
        ("1", None, "'date value', not '1'", 1),
        ("# nothing", None, "has no line 'date value'", 1),
        ("0 1\n20 2", 10.0, "cannot repeat every 10 s", 1),
        ("0 1\nLOOPAFTER x", None, "LOOPAFTER needs a number", 2),
        ("0 1\nPERIODICITY 1\nLOOPAFTER 2", None, "PERIODICITY or LOOPAFTER, not both", 1),
        ("STOCHASTIC LOOP\nDET 1 UNIF 2 3", None, "drawn profiles are not supported", 1),
    ],
)
def test_bad_profiles(text: str, period: float | None, says: str, line: int) -> None:
    with pytest.raises(InputError, match=says) as caught:
        parse_profile(text, period, file="p")
    assert caught.value.line == line


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('<trace_connect trace="s" element="a"/>', "no trace 's'"),
        ('<trace_connect trace="t" element="b"/>', "no host 'b'"),
        ('<trace_connect trace="t" element="a" kind="LINK_AVAIL"/>', "no link 'a'"),
        ('<trace_connect trace="t" element="a" kind="COLOUR"/>', "must be one of HOST_AVAIL"),
    ],
)
def test_bad_connections(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(InputError, match=says):
        load_platform(
            tmp_path,
            '<trace id="t" periodicity="0">0 1</trace>'
            f'<zone id="z" routing="Full"><host id="a" speed="1"/></zone>{text}',
        )


def test_a_host_that_is_off_in_version_3(tmp_path: Path) -> None:
    path = tmp_path / "p.xml"
    path.write_text(
        '<platform version="3"><AS id="z" routing="Full"><host id="a" power="1" state="OFF"/></AS>'
        "</platform>"
    )
    (entry,) = Platform.load(path).profiles
    assert (entry.is_link, entry.index, entry.profile.values) == (False, 0, (0.0,))


def test_a_missing_profile(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no file 'nowhere'") as caught:
        load_platform(
            tmp_path,
            '<zone id="z" routing="Full">\n<host id="a" speed="1" speed_file="nowhere"/></zone>',
        )
    assert caught.value.line == 2


BANDWIDTH, BURST = 1e7, 4500.0
PLAIN = {"network/model": "SMPI", "smpi/lat-factor": "0:1", "smpi/bw-factor": "0:1"}
OVERHEADS = {"smpi/os": "0:0:0", "smpi/ois": "0:0:0", "smpi/or": "0:0:0"}


def burst_platform(folder: Path, burst: str | None, links: str = "") -> Platform:
    prop = "" if burst is None else f'<prop id="tisim/burst" value="{burst}"/>'
    return load_platform(
        folder,
        '<cluster id="c" prefix="c-" suffix="" radical="0-3" speed="1Gf"'
        f' bw="10MBps" lat="25us"{links}>{prop}</cluster>',
    )


def one_way(with_burst: Platform, nbytes: int) -> float:
    times = simulate(with_burst, ("c-0", "c-1"), [nbytes], {**PLAIN, **OVERHEADS})
    return float(times["pingpong"].iloc[0])


def test_a_short_message_passes_at_once(tmp_path: Path) -> None:
    with_burst, without = burst_platform(tmp_path, "4500B"), burst_platform(tmp_path, None)
    assert one_way(without, 1000) == pytest.approx(50e-6 + 1016 / BANDWIDTH, rel=1e-6)
    assert one_way(with_burst, 1000) == pytest.approx(50e-6, rel=1e-6)
    # Only the bytes of a longer message that exceed the burst take time.
    saved = one_way(without, 100_000) - one_way(with_burst, 100_000)
    assert saved == pytest.approx(BURST / BANDWIDTH, rel=1e-6)


def test_the_property_is_written_and_survives_changes(tmp_path: Path) -> None:
    original = burst_platform(tmp_path, "4500")
    for changed in (original, original.scaled(links="c_link_2_UP", bandwidth="x2")):
        changed.write(tmp_path / "again.xml")
        again = Platform.load(tmp_path / "again.xml")
        assert set(again.resources.link_burst.tolist()) == {BURST}
        assert one_way(again, 1000) == pytest.approx(50e-6, rel=1e-6)


def test_links_of_all_kinds_may_have_one(tmp_path: Path) -> None:
    found = load_platform(
        tmp_path,
        '<zone id="z" routing="Full"><host id="c-0" speed="1Gf"/>'
        '<host id="c-1" speed="1Gf"/><link id="l" bandwidth="10MBps" latency="25us"'
        ' sharing_policy="SPLITDUPLEX"><prop id="tisim/burst" value="2kB"/></link>'
        '<link id="m" bandwidth="10MBps" latency="25us"><prop id="tisim/burst" value="1kB"/></link>'
        '<link id="n" bandwidth="10MBps" latency="25us"/>'
        '<route src="c-0" dst="c-1"><link_ctn id="l" direction="UP"/></route>'
        "</zone>",
    )
    bursts = {link.name: found.resources.link_burst[link.index] for link in found.links}
    assert [bursts[name] for name in ("l_UP", "l_DOWN", "m", "n")] == [2000, 2000, 1000, 0]
    # A continuous ping-pong moves no more than the bandwidth in each direction.
    assert one_way(found, 2984) == pytest.approx(3000 / (2 * BANDWIDTH), rel=1e-6)


def test_a_limiter_has_the_burst_of_its_cluster(tmp_path: Path) -> None:
    limited = burst_platform(tmp_path, "4500", links=' limiter_link="12MBps"')
    assert one_way(limited, 1000) == pytest.approx(50e-6, rel=1e-6)


def test_a_burst_is_a_size(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="tisim/burst"):
        burst_platform(tmp_path, "fast")
