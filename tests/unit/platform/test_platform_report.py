"""What `tisim platform` says and draws."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from click.testing import CliRunner

from tisim.commands.platform import platform_command
from tisim.errors import InputError
from tisim.platform import Platform
from tisim.platform.drawing import draw
from tisim.platform.report import describe


@pytest.fixture(scope="module")
def graphene(root: Path) -> Platform:
    return Platform.load(root / "platforms/graphene.xml")


def test_graphene(graphene: Platform) -> None:
    report = describe(graphene)
    assert (report.hosts, report.cores, report.links) == (144, 144, 588)
    assert report.speeds == (3.68e9, 3.68e9)
    assert [zone.hosts for zone in report.zones] == [0, 39, 35, 30, 40]
    assert (report.exact, report.diameter, report.unconnected) == (True, 8, 0)
    assert report.longest_latency == pytest.approx(33e-6)
    # The first half is cabinet 1 and 33 hosts of cabinet 2; most of what they send goes to the 40
    # hosts of cabinet 4, through its switch.
    assert report.bisection_bandwidth == pytest.approx(1162.5e6 / (72 * 40) * 72 * 72)


@pytest.mark.parametrize(
    ("topology", "hosts", "diameter", "bisection"),
    [
        ('topology="TORUS" topo_parameters="4,2"', 8, 3, None),
        ('topology="FAT_TREE" topo_parameters="1;8;1;1"', 8, 2, 4e9),
        ('bb_bw="3GBps"', 8, 3, 3e9),
        ("", 8, 2, 4e9),
    ],
)
def test_small_clusters(
    tmp_path: Path, topology: str, hosts: int, diameter: int, bisection: float | None
) -> None:
    path = tmp_path / "p.xml"
    path.write_text(
        f'<platform version="4.1"><cluster id="c" prefix="n" suffix="" radical="0-{hosts - 1}"'
        f' speed="1Gf" bw="1GBps" lat="1us" {topology}/></platform>'
    )
    report = describe(Platform.load(path))
    assert report.diameter == diameter
    if bisection is not None:
        assert report.bisection_bandwidth == pytest.approx(bisection)


def test_what_is_not_connected(tmp_path: Path) -> None:
    path = tmp_path / "p.xml"
    path.write_text(
        '<platform version="4.1"><zone id="z" routing="Full"><host id="a" speed="1"/>'
        '<host id="b" speed="2Gf" core="4"/></zone></platform>'
    )
    report = describe(Platform.load(path))
    assert (report.unconnected, report.farthest, report.bisection_bandwidth) == (2, None, None)
    assert "2 pairs of hosts have no route" in report.text()
    assert "2 with 5 cores, 1 flop/s to 2 Gflop/s a core" in report.text()


def test_large_platforms_are_sampled(tmp_path: Path) -> None:
    path = tmp_path / "p.xml"
    path.write_text(
        '<platform version="4.1"><cluster id="c" prefix="n" suffix="" radical="0-999" speed="1Gf"'
        ' bw="1GBps" lat="1us" bb_bw="10GBps"/></platform>'
    )
    report = describe(Platform.load(path))
    assert not report.exact
    assert report.bisection_bandwidth == pytest.approx(10e9)
    assert "at least 3 links" in report.text()


def test_drawings_are_svg(graphene: Platform, root: Path, tmp_path: Path) -> None:
    for platform in (graphene, Platform.load(root / "platforms/fattree.xml")):
        draw(platform, tmp_path / "out.svg")
        tree = ET.parse(tmp_path / "out.svg").getroot()
        dots = tree.findall("{http://www.w3.org/2000/svg}circle")
        assert len(dots) == len(platform.hosts)
        titles = {dot[0].text for dot in dots}
        assert titles == {host.name for host in platform.hosts}
        right = max(float(dot.get("cx", 0)) for dot in dots)
        assert right < float(tree.get("width", 0))
    assert list(tmp_path.iterdir()) == [tmp_path / "out.svg"]


def test_a_drawing_that_cannot_be_written(graphene: Platform, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"call the file out\.svg or out\.png"):
        draw(graphene, tmp_path / "out.pdf")
    with pytest.raises(InputError, match="cannot be written: No such file"):
        draw(graphene, tmp_path / "nowhere" / "out.svg")


def test_the_command(root: Path, tmp_path: Path) -> None:
    file = str(root / "platforms/graphene.xml")
    run = CliRunner().invoke(platform_command, [file])
    assert "144 with 144 cores" in run.output
    hosts = ["graphene-0.nancy.grid5000.fr", "graphene-143.nancy.grid5000.fr"]
    drawing = tmp_path / "g.svg"
    run = CliRunner().invoke(platform_command, [file, "--route", *hosts, "--draw", str(drawing)])
    assert "explicit-limiter4" in run.output
    assert "latency 33 us, bandwidth 125 MB/s" in run.output
    assert drawing.exists()
    run = CliRunner().invoke(platform_command, [file, "--json", "-"])
    assert json.loads(run.output)["hosts"] == 144
    run = CliRunner().invoke(platform_command, [file, "--route", "a", hosts[0]])
    assert isinstance(run.exception, InputError)
    assert "Examples:" in CliRunner().invoke(platform_command, ["--help"]).output
