"""Gantt charts."""

from __future__ import annotations

from pathlib import Path

import pytest
from matplotlib import image

import tisim
from tests.unit.command_line import CommandLine
from tisim.analysis.pictures import draw_gantt
from tisim.analysis.pictures.colours import COLOURS, rgb
from tisim.analysis.pictures.gantt import Lanes, share_image
from tisim.analysis.report import write_report

ROOT = Path(__file__).resolve().parents[3]
GRAPHENE = ROOT / "platforms/graphene.xml"
CLUSTER = """<?xml version='1.0'?>
<platform version="4.1">
  <cluster id="c" prefix="c-" suffix="" radical="0-999" speed="1Gf" bw="1GBps" lat="1us"/>
</platform>
"""


@pytest.fixture(scope="module")
def ring() -> tisim.Result:
    return tisim.replay(ROOT / "traces/ring.4", platform=GRAPHENE, event_log=True)


@pytest.fixture(scope="module")
def lu() -> tisim.Result:
    return tisim.replay(ROOT / "traces/npb.S.tar.xz/lu.S.4", platform=GRAPHENE, event_log=True)


def test_few_actions_are_drawn_one_by_one(ring: tisim.Result, tmp_path: Path) -> None:
    draw_gantt(ring, tmp_path / "ring.svg")
    text = (tmp_path / "ring.svg").read_text()
    assert "ring.4 on graphene.xml: 36.659 ms" in text
    assert "Each bar is what a rank is doing. Arrows: all 4 messages" in text
    assert "late sender 39.4%" in text
    for state in ("compute", "transfer", "late sender"):
        assert COLOURS[state].lower() in text
    assert "<image" not in text


def test_many_actions_are_drawn_as_shares(lu: tisim.Result, tmp_path: Path) -> None:
    draw_gantt(lu, tmp_path / "lu.svg")
    text = (tmp_path / "lu.svg").read_text()
    assert "Each column of 66.1 us shows the shares of that time that the rank spends" in text
    assert "Arrows: the 40 of 4,619 messages that were waited for longest." in text
    assert text.count("<image") == 1
    assert len(text) < 300_000


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
    (tmp_path / "p.xml").write_text(CLUSTER)
    traces = tmp_path / "traces"
    traces.mkdir()
    for rank in range(1000):
        (traces / f"r{rank}").write_text(f"{rank} compute {rank + 1}e6\n{rank} barrier\n")
    result = tisim.replay(traces, platform=tmp_path / "p.xml", event_log=True)
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
    ring = str(ROOT / "traces/ring.4")
    picture = tmp_path / "ring.svg"
    assert run.replay("--gantt", str(picture), ring).status == 0
    assert "<svg" in picture.read_text()
    wrong = run.replay("--gantt", str(tmp_path / "ring.pdf"), ring)
    assert wrong.status == 2
    assert "ring.pdf: a Gantt chart's suffix is one of .svg, .png" in wrong.err
    nowhere = run.replay("--gantt", str(tmp_path / "nowhere" / "ring.svg"), ring)
    assert (nowhere.status, "cannot be written" in nowhere.err) == (2, True)


def test_breakdown_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = CommandLine(tmp_path, capsys)
    outcome = run.replay("--breakdown", str(ROOT / "traces/ring.4"), platform=str(GRAPHENE))
    assert outcome.status == 0
    lines = [" ".join(line.split()) for line in outcome.out.splitlines()]
    assert "late sender recv 0 3 18.601 1" in lines
    assert "transfer recv 35.572 97.0% 4" in lines
    assert "faster CPUs 1.087 3.0% 1.031" in lines
    assert "The busiest links" in lines


def test_a_part_of_the_time(lu: tisim.Result, tmp_path: Path) -> None:
    draw_gantt(lu, tmp_path / "part.svg", begin=0.039, end=0.0397)
    text = (tmp_path / "part.svg").read_text()
    assert "Each bar is what a rank is doing. Arrows: all 43 messages" in text
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


def test_without_a_record_there_is_no_picture(tmp_path: Path) -> None:
    result = tisim.replay(ROOT / "traces/ring.4", platform=GRAPHENE)
    with pytest.raises(tisim.TisimError, match="event_log=True"):
        draw_gantt(result, tmp_path / "ring.svg")
    assert not list(tmp_path.iterdir())
