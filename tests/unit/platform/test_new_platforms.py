"""Platforms built from a few numbers, of known machines, and with changed numbers."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support import load_platform
from tests.unit.command_line import RING, CommandLine, refused
from tisim.errors import InputError
from tisim.platform import Deployment, Platform, new
from tisim.platform.links import LinkTable
from tisim.platform.new.machines import MACHINES
from tisim.platform.new.shapes import dragonfly_shape, fat_tree_shape, torus_sizes

NUMBERS = ("--bandwidth", "100Gbps", "--latency", "1us", "--speed", "3.2Gf")


def test_fat_trees_have_the_fewest_levels() -> None:
    assert fat_tree_shape(20).children == (20,)
    assert fat_tree_shape(512).children == (16, 32)
    assert fat_tree_shape(1024).children == (32, 32)
    assert fat_tree_shape(4096, radix=32).children == (16, 16, 16)
    for nodes, radix in ((512, None), (4096, 32), (65536, None)):
        shape = fat_tree_shape(nodes, radix)
        assert shape.hosts == nodes
        # Switches have as many up cables as down cables.
        assert shape.children[:-1] == shape.parents[1:]


def test_what_does_not_fit_is_refused_with_the_nearest_that_does() -> None:
    with pytest.raises(InputError, match=r"cannot have 1000 hosts; .*: 992 and 1008"):
        fat_tree_shape(1000)
    with pytest.raises(InputError, match=r"cannot have 1000 hosts; .*: 972 and 1296"):
        fat_tree_shape(1000, radix=36)
    with pytest.raises(InputError, match=r"a torus .* cannot have 10 hosts; .*: 8 and 12"):
        torus_sizes(10)
    with pytest.raises(InputError, match=r"4 x 4 x 2 has 32 hosts, not 30"):
        torus_sizes(30, (4, 4, 2))
    with pytest.raises(InputError, match=r"a dragonfly of 7 groups cannot have 100 hosts; .*98"):
        dragonfly_shape(100, groups=7)
    with pytest.raises(InputError, match=r"9 groups needs at least 9 blades per chassis, not 4"):
        dragonfly_shape(72, groups=9, blades=4)
    with pytest.raises(InputError, match=r"ports of a switch cannot be divided 2 to 1"):
        fat_tree_shape(64, radix=32, oversubscription=2)


def test_dragonflies_are_balanced_and_carry_uniform_traffic() -> None:
    shape = dragonfly_shape(4096)
    assert (shape.groups, shape.chassis, shape.blades, shape.nodes) == (16, 4, 16, 4)
    # The 256 hosts of a group send a sixteenth of their traffic to each group.
    assert (shape.blue, shape.black, shape.green) == (16, 4, 1)


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("cluster", []),
        ("fat-tree", ["--radix", "8"]),
        ("torus", ["--dims", "4,4"]),
        ("dragonfly", ["--groups", "2"]),
    ],
)
def test_the_command_writes_three_files_that_replay(
    kind: str, options: list[str], tisim: CommandLine, tmp_path: Path
) -> None:
    file = tmp_path / "x.xml"
    made = tisim(
        "platform", "new", kind, "--nodes", "16", "--cores", "2", *NUMBERS, *options,
        "-o", str(file),
    )  # fmt: skip
    assert made.status == 0
    assert "bisection" in made.out
    assert made.err.splitlines() == [
        f"tisim: wrote {tmp_path / name}" for name in ("x.xml", "x.hosts", "x.deploy.xml")
    ]
    assert len(Platform.load(file).hosts) == 16
    deployment = Deployment.load(tmp_path / "x.deploy.xml")
    assert deployment.hosts[:3] == ("node-0", "node-0", "node-1")
    assert Deployment.from_hostfile(tmp_path / "x.hosts").hosts == deployment.hosts
    assert tisim.replay("--mapping", "cyclic", RING, platform=str(file)).status == 0


def test_a_new_platform_is_written_without_naming_its_links(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Generating the names of a torus's six million links takes most of a minute."""
    torus = new.torus(64, bandwidth="100Gbps", latency="1us", speed="3.2Gf")

    def name(*_: object) -> str:
        raise AssertionError("a link is named")

    monkeypatch.setattr(LinkTable, "name", name)
    assert 'topology="TORUS"' in torus.to_xml()
    with pytest.raises(AssertionError, match="a link is named"):
        torus.scaled(bandwidth="x2").to_xml()


def test_a_file_called_new(tisim: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    platform = new.cluster(2, bandwidth=1e9, latency=1e-6, speed=1e9)
    platform.write(tisim.directory / "new")
    monkeypatch.chdir(tisim.directory)
    assert tisim("platform", "./new").out.splitlines()[1].split()[:2] == ["hosts", "2"]
    assert "cluster" in tisim("platform", "new", "--help").out


def test_a_calibrated_platform_gives_options_and_numbers(tisim: CommandLine) -> None:
    measured = tisim.write(
        "measured.xml",
        '<platform version="4.1"><config><prop id="smpi/os" value="0:1e-6:0"/></config>'
        '<cluster id="c" prefix="c-" suffix="" radical="0-1" speed="2Gf" core="3" bw="5GBps"'
        ' lat="4us" limiter_link="9GBps"><prop id="tisim/burst" value="2kB"/></cluster></platform>',
    )
    same = new.torus(27, calibrated=measured)
    assert same.link("node_link_0_limiter").bandwidth == 9e9
    assert set(same.resources.link_burst.tolist()) == {2000}
    platform = new.torus(27, calibrated=measured, latency="1us")
    link = platform.link("node_link_from_0_to_1_UP")
    assert (link.bandwidth, link.latency) == (5e9, 1e-6)
    assert (platform.hosts[0].speed, platform.hosts[0].cores) == (2e9, 3)
    assert platform.config["smpi/os"] == "0:1e-6:0"


def test_missing_numbers_are_named(tisim: CommandLine) -> None:
    outcome = tisim("platform", "new", "torus", "--nodes", "8", "--speed", "1Gf", "-o", "x.xml")
    assert outcome.status == 2
    assert "needs a bandwidth and a latency" in outcome.err


def simulated(tisim: CommandLine, *options: str) -> str:
    outcome = tisim.replay(*options, RING)
    assert outcome.status == 0, outcome.err
    return outcome.out.splitlines()[0]


def test_a_switch_that_carries_nothing_is_refused(tisim: CommandLine) -> None:
    numbers = ["--nodes", "2", "--bandwidth", "1GBps", "--latency", "1us", "--speed", "1Gf"]
    output = str(tisim.directory / "p.xml")
    said = "the backbone must be above zero, not '0'; omit it for a switch .*"
    refused(
        tisim, tisim("platform", "new", "cluster", *numbers, "--backbone", "0", "-o", output), said
    )


def test_what_if_options_scale_the_platform(tisim: CommandLine, root: Path) -> None:
    scaled = Platform.load(root / "platforms/backbone.xml").scaled(
        bandwidth="x2", latency="x0.5", speed="3.2Gf"
    )
    file = tisim.directory / "scaled.xml"
    scaled.write(file)
    expected = tisim.replay(RING, platform=str(file)).out.splitlines()[0]
    assert simulated(tisim, "--bandwidth", "x2", "--latency", "x0.5", "--speed", "3.2Gf") == (
        expected
    )
    assert simulated(tisim) != expected


def test_mappings_by_rule(tisim: CommandLine) -> None:
    hosts = tisim.write("h.txt", "c-7.me\nc-9.me\n")
    # Two hosts: a ring of 4 ranks has all or half of its messages between hosts.
    cyclic = simulated(tisim, "--hosts", hosts, "--mapping", "cyclic")
    assert cyclic == simulated(tisim, "--hosts", hosts)
    assert cyclic != simulated(tisim, "--hosts", hosts, "--mapping", "block:2")
    assert simulated(tisim, "--mapping", "random:3") == simulated(tisim, "--mapping", "random:3")
    refused = tisim.replay("--mapping", "random", RING)
    assert refused.status == 2
    assert "needs a seed, such as random:7" in refused.err
    assert "host file, --deployment for" in tisim.replay("--mapping", hosts, RING).err
    assert "written x2 or x0.5" in tisim.replay("--speed", "xfast", RING).err


def test_files_that_another_command_wrote_are_not_replaced(tisim: CommandLine) -> None:
    own = tisim.write("own.xml", "<platform/>")
    words = ("platform", "new", "cluster", "--nodes", "2", "--bandwidth", "1GBps")
    words = (*words, "--latency", "1us", "--speed", "1Gf", "-o", own)
    refused = tisim(*words)
    assert refused.status == 2
    assert "own.xml: already exists and was not written by this command; --force" in refused.err
    assert tisim(*words, "--force").status == 0
    assert tisim(*words).status == 0
    rows = "".join(f"pingpong,{size},{size * 1e-8 + 1e-5}\n" for size in (1, 9, 99, 999, 9999))
    measured = tisim.write("m.csv", f"operation,bytes,seconds\n{rows}")
    calibrate = ("calibrate", measured, "--sets", "2", "-o")
    assert tisim(*calibrate, own).status == 2
    assert tisim("calibrate", measured, "--sets", "2", "--force", "-o", own).status == 0
    assert tisim(*calibrate, own).status == 0
    assert tisim(*words).status == 2


def test_a_new_platform_has_the_parameter_sets_of_the_calibrated_one(tisim: CommandLine) -> None:
    rows = "".join(f"pingpong,{size},{size * 1e-8 + 1e-5}\n" for size in (1, 9, 99, 999, 9999))
    measured = tisim.write("m.csv", f"operation,bytes,seconds\n{rows}")
    calibrated, made = (str(tisim.directory / name) for name in ("c.xml", "t.xml"))
    assert tisim("calibrate", measured, "--sets", "3", "-o", calibrated).status == 0
    words = ("platform", "new", "torus", "--nodes", "8", "--calibrated", calibrated, "-o", made)
    assert "wrote" in tisim(*words).err
    outcome = tisim.replay("--uncertainty", "3", RING, platform=made)
    assert outcome.status == 0, outcome.err
    assert "with 3 parameter sets" in outcome.out
    Path(calibrated).with_suffix(".sets.json").write_text("[")
    Path(made).unlink()
    assert tisim(*words).status == 2
    assert not Path(made).exists()


def test_the_list_names_all_machines_with_their_sources(tisim: CommandLine) -> None:
    listed = tisim("platform", "list")
    assert listed.status == 0
    for name, machine in MACHINES.items():
        assert f"{name}\n    {machine.summary}\n    source: {machine.source}\n" in listed.out
    assert listed.out.endswith("To write one: tisim platform new machine NAME -o FILE.xml\n")


@pytest.mark.parametrize("name", [name for name in MACHINES if name != "bluegene-l"])
def test_a_machine_is_written_with_its_source_and_replays(
    name: str, tisim: CommandLine, tmp_path: Path
) -> None:
    file = tmp_path / "machine.xml"
    assert tisim("platform", "new", "machine", name, "-o", str(file)).status == 0
    assert MACHINES[name].comment(name) in file.read_text()
    assert tisim.replay(RING, platform=str(file)).status == 0


def test_the_torus_has_the_nodes_of_its_description() -> None:
    assert sum(1 for _ in MACHINES["bluegene-l"].build().host_names()) == 65536


def test_an_unknown_machine_is_refused_with_a_similar_name(tisim: CommandLine) -> None:
    outcome = tisim("platform", "new", "machine", "groz", "-o", "x.xml")
    assert outcome.status == 2
    assert outcome.err == (
        "tisim: unknown machine 'groz'; did you mean gros?; see 'tisim platform list'\n"
    )


@pytest.fixture(scope="module")
def graphene(root: Path) -> Platform:
    return Platform.load(root / "platforms/graphene.xml")


def test_links_by_pattern(graphene: Platform) -> None:
    faster = graphene.scaled(links="switch-backbone*", bandwidth="x2", latency="1us")
    assert faster.link("switch-backbone1_UP").bandwidth == 2 * 1162.5e6
    assert faster.link("switch-backbone4_DOWN").latency == 1e-6
    assert faster.link("explicit-limiter1") == graphene.link("explicit-limiter1")
    assert graphene.link("switch-backbone1_UP").bandwidth == 1162.5e6
    src, dst = graphene.hosts[0], graphene.hosts[40]
    old, new = graphene.route(src, dst), faster.route(src, dst)
    assert [link.name for link in old.links] == [link.name for link in new.links]
    assert old.latency - new.latency == pytest.approx(1e-6)


def test_half_of_a_split_link(graphene: Platform) -> None:
    changed = graphene.scaled(links=["switch-backbone1", "switch-backbone2_UP"], bandwidth="1GBps")
    names = ["switch-backbone1_UP", "switch-backbone1_DOWN", "switch-backbone2_UP"]
    assert [link.name for link in changed.links if link.bandwidth == 1e9] == names


def test_hosts_by_pattern(graphene: Platform) -> None:
    changed = graphene.scaled(hosts="graphene-1?.*", speed="x0.5", cores=16)
    faster = [host for host in changed.hosts if host.cores == 16]
    assert [host.name for host in faster] == [
        f"graphene-{i}.nancy.grid5000.fr" for i in range(10, 20)
    ]
    assert {host.speed for host in faster} == {1.84e9}
    assert changed.host("graphene-9.nancy.grid5000.fr").speed == 3.68e9
    assert graphene.scaled(speed="1Gf").compiled.host_speed.tolist() == [1e9] * 144


def test_sharing(graphene: Platform) -> None:
    changed = graphene.scaled(links="explicit-limiter?", sharing="FATPIPE")
    assert [link.name for link in changed.links if link.fatpipe and "lim" in link.name] == [
        f"explicit-limiter{i}" for i in range(1, 5)
    ]


def test_the_default_loopback_is_no_link_of_the_platform(tmp_path: Path) -> None:
    platform = load_platform(
        tmp_path,
        '<trace id="t" periodicity="0">1 5e6</trace>'
        '<zone id="z" routing="Full"><host id="a" speed="1"/>'
        '<link id="l" bandwidth="1MBps"/></zone>'
        '<trace_connect trace="t" element="l" kind="BANDWIDTH"/>',
    )
    doubled = platform.scaled(bandwidth="x2")
    assert doubled.link("__loopback__").bandwidth == platform.link("__loopback__").bandwidth
    assert doubled.profiles[0].profile.values == (10e6,)
    assert platform.profiles[0].profile.values == (5e6,)
    assert platform.scaled(bandwidth="3MBps").profiles == ()
    assert platform.scaled(latency="x2").profiles == platform.profiles


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (
            {"links": "swich-backbone1", "bandwidth": "x2"},
            "no link .* did you mean switch-backbone1",
        ),
        ({"hosts": "x*", "speed": "x2"}, r"no host of the platform matches 'x\*'"),
        ({"bandwidth": "x0"}, "must stay above zero;"),
        ({"bandwidth": "-100%"}, "must not be negative"),
        ({"latency": "1ly"}, "unknown unit"),
        ({"speed": "x0"}, "speed must stay above zero;"),
        ({"cores": 0}, "cores must be a whole number"),
        ({"sharing": "SPLITDUPLEX"}, "SHARED or FATPIPE"),
    ],
)
def test_impossible_changes(graphene: Platform, change: dict[str, object], says: str) -> None:
    with pytest.raises(InputError, match=says):
        graphene.scaled(**change)  # type: ignore[arg-type]
