"""Platform drawings: the positions, numbers and colours of the drawn items."""

from __future__ import annotations

import json
import math
import re
import xml.etree.ElementTree as ET
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import example, given, settings
from hypothesis import strategies as st

import tisim
from tests.support import load_platform
from tisim.commands.platform import platform_command
from tisim.errors import InputError
from tisim.platform import Platform
from tisim.platform.drawing import RunLoad, draw
from tisim.platform.drawing.canvas import pixels_per_point
from tisim.platform.drawing.colouring import CLASSES
from tisim.platform.drawing.dragonfly import draw_dragonfly
from tisim.platform.drawing.fat_tree import draw_fat_tree
from tisim.platform.drawing.layout import Layout, bundles
from tisim.platform.drawing.torus import draw_torus
from tisim.platform.zones.cluster import ClusterZone
from tisim.platform.zones.dragonfly import DragonflyCluster
from tisim.platform.zones.fattree import FatTreeCluster
from tisim.platform.zones.torus import TorusCluster

SVG = "{http://www.w3.org/2000/svg}"
SHAPES = {
    "FAT_TREE": {
        64: "2;8,8;1,4;1,2",
        1024: "2;32,32;1,16;1,1",
        10_000: "3;20,20,25;1,10,10;1,1,1",
    },
    "TORUS": {64: "4,4,4", 1024: "32,32", 10_000: "25,20,20"},
    "DRAGONFLY": {64: "4,1;2,1;4,1;2", 1024: "8,1;4,1;8,1;4", 10_000: "25,1;4,1;25,1;4"},
    "FLAT": {64: "", 1024: "", 10_000: ""},
}


def cluster(directory: Path, kind: str, parameters: str, hosts: int) -> Platform:
    topology = f'topology="{kind}" topo_parameters="{parameters}"' if parameters else ""
    return load_platform(
        directory,
        f'<cluster id="c" prefix="n-" suffix="" radical="0-{hosts - 1}" '
        f'speed="1Gf" bw="10Gbps" lat="1us" {topology}/>',
    )


def shapes(platform: Platform, path: Path, load: RunLoad | None = None) -> ET.Element:
    draw(platform, path, load)
    return ET.parse(path).getroot()


def titles(tree: ET.Element, tag: str) -> list[str]:
    return [
        shape[0].text or "" for shape in tree.iter(f"{SVG}{tag}") if len(shape) and shape[0].text
    ]


@pytest.mark.parametrize("hosts", [64, 1024])
@pytest.mark.parametrize("kind", sorted(SHAPES))
def test_every_host_is_drawn_once(kind: str, hosts: int, tmp_path: Path) -> None:
    platform = cluster(tmp_path, kind, SHAPES[kind][hosts], hosts)
    drawn = titles(shapes(platform, tmp_path / "p.svg"), "circle")
    assert sorted(drawn) == sorted(host.name for host in platform.hosts)


@pytest.mark.parametrize("kind", sorted(SHAPES))
def test_ten_thousand_hosts_become_boxes_that_hold_all(kind: str, tmp_path: Path) -> None:
    platform = cluster(tmp_path, kind, SHAPES[kind][10_000], 10_000)
    tree = shapes(platform, tmp_path / "p.svg")
    assert not titles(tree, "circle")
    boxes = [text for text in titles(tree, "rect") if " hosts, n-" in text]
    assert sum(int(text.split(" hosts")[0].replace(",", "")) for text in boxes) == 10_000
    assert (tmp_path / "p.svg").stat().st_size < 3_000_000
    assert float(tree.get("width", 0)) < 4000


def layout_of(zone: ClusterZone) -> Layout:
    if isinstance(zone, FatTreeCluster):
        return draw_fat_tree(zone)
    if isinstance(zone, TorusCluster):
        return draw_torus(zone)
    assert isinstance(zone, DragonflyCluster)
    return draw_dragonfly(zone)


@st.composite
def topologies(draw: st.DrawFn) -> tuple[str, str, int]:
    small = st.integers(1, 4)
    kind = draw(st.sampled_from(["FAT_TREE", "TORUS", "DRAGONFLY"]))
    if kind == "TORUS":
        sizes = draw(st.lists(st.integers(1, 6), min_size=1, max_size=4))
        return kind, ",".join(map(str, sizes)), int(np.prod(sizes))
    if kind == "FAT_TREE":
        levels = draw(st.integers(1, 3))
        rows = [[draw(small) for _ in range(levels)] for _ in range(3)]
        text = ";".join([str(levels), *(",".join(map(str, row)) for row in rows)])
        return kind, text, int(np.prod(rows[0]))
    groups, chassis, blades, nodes = draw(small), draw(small), draw(st.integers(4, 6)), draw(small)
    text = f"{groups},1;{chassis},1;{blades},1;{nodes}"
    return kind, text, groups * chassis * blades * nodes


@settings(max_examples=60, deadline=None)
@given(topologies())
@example(("TORUS", "6,6,6,6", 1296))
def test_no_link_and_no_host_is_lost(
    tmp_path_factory: pytest.TempPathFactory, made: tuple[str, str, int]
) -> None:
    kind, text, hosts = made
    platform = cluster(tmp_path_factory.mktemp("platform"), kind, text, hosts)
    (zone,) = [one for one in platform.root.walk() if isinstance(one, ClusterZone)]
    layout, wiring = layout_of(zone), zone.wiring()
    assert set(layout.item_of.tolist()) <= set(range(len(layout.items)))
    made_of = bundles(layout.item_of, wiring.tails, wiring.heads, wiring.links)
    drawn = {link for one in made_of for link in one.links.tolist()}
    assert drawn == set(wiring.links.tolist())
    for one in made_of:
        if one.one == one.other:
            continue  # links inside a box of several hosts are not drawn as lines
        for line in layout.route(layout.items, one.one, one.other).lines:
            assert np.isfinite(line).all()
    places = Counter((item.x, item.y) for item in layout.items)
    assert max(places.values()) == 1


def test_the_busiest_link_of_a_line_decides_its_colour(tmp_path: Path) -> None:
    platform = cluster(tmp_path, "FAT_TREE", "2;4,4;1,2;1,1", 16)
    up = next(link.name for link in platform.links if link.name.startswith("link_from_0_"))
    load = RunLoad(platform, [(up, 0.6)], ["n-0", "n-0", "n-5"])
    tree = shapes(platform, tmp_path / "p.svg", load)
    busy = [path for path in tree.iter(f"{SVG}path") if path.get("stroke") == CLASSES[5].colour]
    assert [len(path) for path in busy if len(path)] == [1]
    (line,) = [path for path in busy if len(path)]
    assert "mean load 60.0%" in (line[0].text or "")
    assert up in (line[0].text or "")
    drawn = titles(tree, "circle")
    assert "n-0: ranks 0 to 1" in drawn
    assert "n-5: rank 2" in drawn
    assert "n-1: no ranks" in drawn
    words = "".join(text.text or "" for text in tree.iter(f"{SVG}text"))
    assert "% of a link's bandwidth" in words
    assert "hosts without ranks" in words


def test_a_run_on_another_platform_is_refused(tmp_path: Path) -> None:
    platform = cluster(tmp_path, "TORUS", "4,4", 16)
    with pytest.raises(InputError, match=r"used the link 'x', which .* lacks"):
        RunLoad(platform, [("x", 0.5)], [])
    with pytest.raises(InputError, match=r"run\.json: the run used the host 'y'"):
        RunLoad(platform, [], ["y"], "run.json")


def test_png_has_two_pixels_a_point(tmp_path: Path) -> None:
    from matplotlib.image import imread

    platform = cluster(tmp_path, "DRAGONFLY", SHAPES["DRAGONFLY"][64], 64)
    tree = shapes(platform, tmp_path / "p.svg")
    draw(platform, tmp_path / "p.png")
    height, width, _ = imread(tmp_path / "p.png").shape
    assert width == pytest.approx(2 * float(tree.get("width", 0)), abs=2)
    assert height == pytest.approx(2 * float(tree.get("height", 0)), abs=2)


def test_large_pngs_have_fewer_pixels_a_point() -> None:
    assert pixels_per_point(1000, 800) == 2
    # Dragonflies of 1,024 hosts can be this large.
    scale = pixels_per_point(2553, 2382)
    assert 2553 * scale * 2382 * scale == pytest.approx(12_000_000)
    assert 10_000 * pixels_per_point(10_000, 100) == 8000


def test_boxes_of_hosts_are_in_the_legend(tmp_path: Path) -> None:
    platform = cluster(tmp_path, "FAT_TREE", SHAPES["FAT_TREE"][10_000], 10_000)
    tree = shapes(platform, tmp_path / "p.svg", RunLoad(platform, [], ["n-0"]))
    words = {text.text: float(text.get("y", 0)) for text in tree.iter(f"{SVG}text")}
    boxes = {float(rect.get("y", 0)) for rect in tree.iter(f"{SVG}rect")}
    assert words["hosts with ranks"] - 9 in boxes
    assert not [*tree.iter(f"{SVG}circle")]


def test_the_load_of_a_replay(root: Path, tmp_path: Path) -> None:
    from tisim.commands.replay import replay_command

    graphene = str(root / "platforms/graphene.xml")
    trace = str(root / "traces/npb.S.tar.xz/lu.S.4")
    run = str(tmp_path / "run.json")
    arguments = ["--platform", graphene, "--breakdown", "--json", run, trace]
    assert CliRunner().invoke(replay_command, arguments).exit_code == 0
    picture = tmp_path / "g.svg"
    arguments = [graphene, "--draw", str(picture), "--load", run]
    assert CliRunner().invoke(platform_command, arguments).exit_code == 0
    tree = ET.parse(picture).getroot()
    written = json.loads(Path(run).read_text())["breakdown"]["links"]
    busiest = max(written, key=lambda row: row["mean"])
    said = [*titles(tree, "path"), *titles(tree, "rect")]
    assert any(busiest["link"] in text and "mean load" in text for text in said)
    assert "graphene-3.nancy.grid5000.fr: rank 3" in titles(tree, "circle")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"ranks": [], "x": 1}', "this is not a result"),
        ("{", "this is not JSON"),
        (None, "contains no link loads; create it with: tisim replay --breakdown --json"),
    ],
)
def test_what_is_no_load(root: Path, tmp_path: Path, text: str | None, said: str) -> None:
    run = tmp_path / "run.json"
    graphene = str(root / "platforms/graphene.xml")
    run.write_text(text or tisim.replay(root / "traces/ring.4", platform=graphene).to_json())
    arguments = [graphene, "--draw", str(tmp_path / "g.svg"), "--load", str(run)]
    outcome = CliRunner().invoke(platform_command, arguments)
    assert isinstance(outcome.exception, InputError)
    assert said in str(outcome.exception)
    outcome = CliRunner().invoke(platform_command, [graphene, "--load", str(run)])
    assert "needs --draw FILE" in str(outcome.exception)


def test_lines_end_at_the_sides_of_boxes(tmp_path: Path) -> None:
    platform = cluster(tmp_path, "FAT_TREE", SHAPES["FAT_TREE"][10_000], 10_000)
    tree = shapes(platform, tmp_path / "p.svg")
    ends = {
        float(end.split(" ")[1])
        for path in tree.iter(f"{SVG}path")
        if len(path)  # those of the legend have no tooltip
        for end in path.get("d", "")[1:].split("L")
    }
    sides = set()
    for box in tree.iter(f"{SVG}rect"):
        if box.get("y"):
            top = float(box.get("y", 0))
            sides |= {top, round(top + float(box.get("height", 0)), 1)}
    assert ends <= sides


def test_boxes_say_which_switches_they_hold(tmp_path: Path) -> None:
    platform = cluster(tmp_path, "FAT_TREE", SHAPES["FAT_TREE"][10_000], 10_000)
    words = {one.text for one in shapes(platform, tmp_path / "p.svg").iter(f"{SVG}text")}
    assert {"level 1 and", "10,000 hosts,", "400 below 20 switches a box"} <= words


def test_blocks_that_do_not_fill_a_torus_are_smaller(tmp_path: Path) -> None:
    platform = cluster(tmp_path, "TORUS", SHAPES["TORUS"][10_000], 10_000)
    assert "A box is up to 3 x 2 x 2 hosts." in shapes(platform, tmp_path / "p.svg").itertext()


def test_the_legend_has_the_widths_of_the_lines(tmp_path: Path) -> None:
    platform = cluster(tmp_path, "FAT_TREE", SHAPES["FAT_TREE"][1024], 1024)
    paths = list(shapes(platform, tmp_path / "p.svg").iter(f"{SVG}path"))
    (legend,) = [float(path.get("stroke-width", 0)) for path in paths if not len(path)]
    assert legend == max(float(path.get("stroke-width", 0)) for path in paths if len(path)) < 0.6


def test_names_of_groups_can_be_read_where_lines_cross_them(tmp_path: Path) -> None:
    platform = cluster(tmp_path, "DRAGONFLY", SHAPES["DRAGONFLY"][10_000], 10_000)
    words = list(shapes(platform, tmp_path / "p.svg").iter(f"{SVG}text"))
    names = [word for word in words if (word.text or "").startswith("group ")]
    assert len(names) == 25
    assert {name.get("paint-order") for name in names} == {"stroke"}
    draw(platform, tmp_path / "p.png")


def test_a_zone_with_routes_is_drawn_as_they_lie(tmp_path: Path) -> None:
    """A grid of routes is drawn as a grid with lines of equal length."""
    builder = tisim.PlatformBuilder()
    with builder.zone("z", routing="Dijkstra"):
        for host in range(9):
            builder.host(f"h{host}", speed=1e9)
        builder.link("l", 1e9)
        for host in range(9):
            if host % 3 < 2:
                builder.route(f"h{host}", f"h{host + 1}", ["l"])
            if host < 6:
                builder.route(f"h{host}", f"h{host + 3}", ["l"])
    draw(builder.build(), tmp_path / "p.svg")
    lines = re.findall(
        r'<path d="M([\d.]+) ([\d.]+)L([\d.]+) ([\d.]+)"', (tmp_path / "p.svg").read_text()
    )
    lengths = [math.dist((float(a), float(b)), (float(c), float(d))) for a, b, c, d in lines][:12]
    assert max(lengths) < 1.2 * min(lengths)


@pytest.mark.parametrize("parameters", ["3;4,4,4;1,4,4;1,1,1", "2;16,4;1,4;1,4", "2;8,8;1,8;1,1"])
def test_a_fat_tree_of_64_hosts_fits_a_page(tmp_path: Path, parameters: str) -> None:
    tree = shapes(cluster(tmp_path, "FAT_TREE", parameters, 64), tmp_path / "p.svg")
    assert float(tree.get("width", 0)) < 595  # points: the width of A4
    hosts = [
        (element.get("cx"), element.get("cy"))
        for element in tree.iter()
        if element.tag.endswith("circle")
    ]
    assert len(set(hosts)) == len(hosts) == 64
