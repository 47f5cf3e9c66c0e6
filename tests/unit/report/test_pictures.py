"""Gantt charts as files, plots on axes, and the colours of states."""

from __future__ import annotations

import itertools
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib import image

import tisim
from tests.support import GRAPHENE, LU, RING, ROOT, campaign
from tests.unit.command_line import CommandLine
from tisim.analysis.pictures import draw_gantt
from tisim.analysis.pictures.colours import COLOURS, MEANINGS, rgb
from tisim.analysis.pictures.gantt import Lanes, share_image
from tisim.analysis.report import write_report
from tisim.analysis.timeline.columns import STATES
from tisim.errors import InputError
from tisim.platform import new

# Colour vision without one type of cones: Machado, Oliveira and Fernandes (2009), severity 1.
MATRICES = {
    "normal": np.eye(3),
    "protanopia": np.array(
        [
            [0.152286, 1.052583, -0.204868],
            [0.114503, 0.786281, 0.099216],
            [-0.003882, -0.048116, 1.051998],
        ]
    ),
    "deuteranopia": np.array(
        [
            [0.367322, 0.860646, -0.227968],
            [0.280085, 0.672501, 0.047413],
            [-0.011820, 0.042940, 0.968881],
        ]
    ),
    "tritanopia": np.array(
        [
            [1.255528, -0.076749, -0.178779],
            [-0.078411, 0.930809, 0.147602],
            [0.004733, 0.691367, 0.303900],
        ]
    ),
}
TO_XYZ = np.array(
    [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]
) / np.array([[0.9505], [1.0], [1.089]])


def lab(colour: str, seen: np.ndarray) -> np.ndarray:
    """Return CIE L*a*b* of a colour as perceived with a type of colour vision."""
    parts = np.array(rgb(colour)) / 255
    linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    xyz = TO_XYZ @ np.clip(seen @ linear, 0, 1)
    f = np.where(xyz > (6 / 29) ** 3, np.cbrt(xyz), xyz / (3 * (6 / 29) ** 2) + 4 / 29)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def test_every_state_has_a_colour_and_a_meaning() -> None:
    assert tuple(COLOURS) == tuple(MEANINGS) == STATES


def test_no_two_are_one_grey() -> None:
    lightness = {state: lab(colour, np.eye(3))[0] for state, colour in COLOURS.items()}
    lightness["white"] = 100.0
    for one, other in itertools.combinations(lightness, 2):
        assert abs(lightness[one] - lightness[other]) > 5.5, (one, other)


@pytest.mark.parametrize("eyes", MATRICES)
def test_all_can_be_told_apart(eyes: str) -> None:
    """A difference of 2.3 is just noticeable side by side."""
    seen = {state: lab(colour, MATRICES[eyes]) for state, colour in COLOURS.items()}
    for one, other in itertools.combinations(seen, 2):
        assert np.linalg.norm(seen[one] - seen[other]) > 6, (one, other)


@pytest.fixture(scope="module")
def ring() -> tisim.Result:
    return tisim.replay(RING, platform=GRAPHENE, event_log=True)


@pytest.fixture(scope="module")
def lu() -> tisim.Result:
    return tisim.replay(LU, platform=GRAPHENE, event_log=True)


def test_few_actions_are_drawn_one_by_one(ring: tisim.Result, tmp_path: Path) -> None:
    draw_gantt(ring, tmp_path / "ring.svg")
    text = (tmp_path / "ring.svg").read_text()
    assert "ring.4 on graphene.xml: 36.659 ms" in text
    assert "Each bar shows the state of a rank over time. Arrows: all 4 messages" in text
    assert "late sender 39.4%" in text
    for state in ("compute", "transfer", "late sender"):
        assert COLOURS[state].lower() in text
    assert "<image" not in text


def test_a_long_run_is_a_strip_above_its_typical_part(lu: tisim.Result, tmp_path: Path) -> None:
    draw_gantt(lu, tmp_path / "lu.svg")
    text = (tmp_path / "lu.svg").read_text()
    assert len(text) < 500_000
    assert (
        "Below: the framed part. Each bar shows the state of a rank over time. Arrows: all "
    ) in text
    assert text.count("simulated time, ms") == 2
    assert text.count("<image") == 1
    assert len(text) < 300_000


def test_a_long_part_is_drawn_as_shares(lu: tisim.Result, tmp_path: Path) -> None:
    draw_gantt(lu, tmp_path / "lu.svg", end=0.079)
    text = (tmp_path / "lu.svg").read_text()
    assert "Each column of 65.8 us shows the shares of that time that the rank spends" in text
    assert "Arrows: the 40 of 4," in text
    assert text.count("<image") == 1


def test_colours_take_as_much_room_as_states_take_time(lu: tisim.Result) -> None:
    lanes = Lanes.at_most(4, 64)
    drawing = share_image(lu.require_event_log(), lanes, 0.0, lu.simulated_time)
    by_rank = lu.breakdown.by_rank
    for lane in range(4):
        drawn = {
            state: int((drawing[lane] == rgb(colour)).all(axis=2).sum())
            for state, colour in COLOURS.items()
        }
        whole = sum(drawn.values())
        for state, pixels in drawn.items():
            share = by_rank[state][lane] / lu.simulated_time
            assert pixels / whole == pytest.approx(share, abs=0.005), (lane, state)


def test_a_png_is_one(lu: tisim.Result, tmp_path: Path) -> None:
    draw_gantt(lu, tmp_path / "lu.PNG")
    pixels = image.imread(tmp_path / "lu.PNG", format="png")
    assert pixels.shape[0] > 300
    assert pixels.shape[1] > 1000


def test_the_same_result_gives_the_same_picture(ring: tisim.Result, tmp_path: Path) -> None:
    for name in ("a.svg", "b.svg"):
        draw_gantt(ring, tmp_path / name)
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()


def test_many_ranks_share_lanes(tmp_path: Path) -> None:
    platform = new.cluster(1000, bandwidth="1GBps", latency="1us", speed="1Gf")
    traces = tmp_path / "traces"
    traces.mkdir()
    for rank in range(1000):
        (traces / f"r{rank}").write_text(f"{rank} compute {rank + 1}e6\n{rank} barrier\n")
    result = tisim.replay(traces, platform=platform, event_log=True)
    draw_gantt(result, tmp_path / "many.svg")
    text = (tmp_path / "many.svg").read_text()
    assert "that the 20 ranks of a lane spend in each state" in text
    assert ">60-79<" in text
    assert len(text) < 300_000


def test_lanes() -> None:
    assert (Lanes.at_most(4, 64).size, Lanes.at_most(64, 64).size) == (1, 1)
    lanes = Lanes.at_most(10_001, 64)
    assert (lanes.size, lanes.count) == (200, 51)
    assert (lanes.label(0), lanes.label(50)) == ("0-199", "10000")
    assert lanes.sizes.tolist() == [200] * 50 + [1]


def test_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = CommandLine(tmp_path, capsys)
    ring = str(RING)
    picture = tmp_path / "ring.svg"
    assert run.replay("--gantt", str(picture), ring).status == 0
    assert "<svg" in picture.read_text()
    wrong = run.replay("--gantt", str(tmp_path / "ring.pdf"), ring)
    assert wrong.status == 2
    assert "ring.pdf: the suffix of a Gantt chart must be one of .svg, .png" in wrong.err
    nowhere = run.replay("--gantt", str(tmp_path / "nowhere" / "ring.svg"), ring)
    assert (nowhere.status, "cannot be written" in nowhere.err) == (2, True)


def test_a_part_of_the_time(lu: tisim.Result, tmp_path: Path) -> None:
    draw_gantt(lu, tmp_path / "part.svg", begin=0.039, end=0.0397)
    text = (tmp_path / "part.svg").read_text()
    assert "Each bar shows the state of a rank over time. Arrows: all 43 messages" in text
    with pytest.raises(tisim.InputError, match=r"lasts from 0 to 0\.0793505345 s"):
        draw_gantt(lu, tmp_path / "none.svg", begin=1.0)
    assert [file.name for file in tmp_path.iterdir()] == ["part.svg"]


def test_a_trace_of_no_duration(tmp_path: Path) -> None:
    (tmp_path / "r0").write_text("0 init\n0 finalize\n")
    result = tisim.replay(tmp_path / "r0", platform=GRAPHENE, event_log=True)
    draw_gantt(result, tmp_path / "nothing.svg")
    assert "No messages." in (tmp_path / "nothing.svg").read_text()
    assert result.critical_path.gains["speedup"].tolist() == [1.0] * 4
    write_report(result, tmp_path / "nothing.html")
    assert "NaN" not in (tmp_path / "nothing.html").read_text().split("<script>")[0]


mpl.use("agg")


@pytest.fixture(autouse=True)
def closed() -> Iterator[None]:
    yield
    import matplotlib.pyplot as plt

    plt.close("all")


def test_the_gantt_chart_has_the_time_and_every_rank(lu: tisim.Result) -> None:
    axes = lu.plot.gantt(begin=0.0385, end=0.0402)
    assert axes.get_xlabel() == "simulated time, ms"
    assert axes.get_xlim() == pytest.approx((38.5, 40.2))
    assert [text.get_text() for text in axes.get_yticklabels()] == ["0", "1", "2", "3"]
    legend = axes.get_legend()
    assert legend is not None
    assert any("late sender" in text.get_text() for text in legend.get_texts())
    with pytest.raises(InputError, match="draw a part of that"):
        lu.plot.gantt(begin=1.0)


def test_bars_of_the_breakdown_add_up(lu: tisim.Result) -> None:
    import matplotlib.pyplot as plt

    _, given = plt.subplots()
    axes = lu.plot.breakdown(given)
    assert axes is given
    ends = [0.0] * 4
    for bars in axes.containers:
        for rank, bar in enumerate(bars):
            ends[rank] += bar.get_width()
    assert ends == pytest.approx([1e3 * end for end in lu.finish])


def test_the_matrix_has_what_was_sent(lu: tisim.Result) -> None:
    for what in ("bytes", "messages"):
        (image,) = lu.plot.matrix(what=what).get_images()
        data = image.get_array()
        assert data is not None
        assert float(data.sum()) == lu.matrix[what].sum()
    with pytest.raises(InputError, match="bytes or messages"):
        lu.plot.matrix(what="flops")


def test_links_and_path(lu: tisim.Result) -> None:
    axes = lu.plot.links()
    assert "graphene-0.nancy.grid5000.fr, up" in [t.get_text() for t in axes.get_yticklabels()]
    (line,) = lu.plot.path().get_lines()
    assert max(line.get_xdata()) == pytest.approx(1e3 * lu.simulated_time)


def test_notebooks_show_objects_as_tables(lu: tisim.Result, tmp_path: Path) -> None:
    assert '<td style="text-align:left">0.0793505 s</td>' in lu._repr_html_()
    assert ">hosts<" in tisim.Platform.load(GRAPHENE)._repr_html_()
    trace = tmp_path / "a<b.txt"
    trace.write_text("0 compute 1\n")
    shown = tisim.Trace.open(trace)._repr_html_()
    assert "a&lt;b.txt" in shown and "a<b.txt" not in shown


def test_a_result_without_events_has_pictures_that_say_so() -> None:
    """Completion in notebooks accesses every attribute."""
    result = tisim.replay(RING, platform=GRAPHENE)
    plot = result.plot
    assert "plot" in dir(result)
    with pytest.raises(tisim.TisimError, match="replay with event_log=True"):
        plot.gantt()


def test_the_numbers_of_a_report_are_larger_than_their_names(
    ring: tisim.Result, tmp_path: Path
) -> None:
    write_report(ring, tmp_path / "ring.html")
    text = (tmp_path / "ring.html").read_text()
    assert "<b>36.659 ms</b><span>simulated time</span>" in text
    assert (
        "How far to trust it: no measurements or real runs are stored next to graphene.xml"
    ) in text


def test_every_state_is_explained() -> None:
    text = (ROOT / "docs" / "results.md").read_text()
    for state in STATES:
        assert f"`{state}`" in text


@pytest.mark.skipif(not campaign(0, 1), reason="takes long; `make nightly` runs it")
def test_the_pictures_of_the_documents_are_drawn_again(tmp_path: Path) -> None:
    script = ROOT / "docs" / "pictures" / "results.py"
    subprocess.run([sys.executable, str(script), str(tmp_path)], check=True, timeout=300)
    text = (ROOT / "docs" / "results.md").read_text()
    for name in ("lu-gantt.svg", "lu-gantt-part.svg"):
        assert (tmp_path / name).read_text().startswith("<?xml")
        assert f"(pictures/{name})" in text
